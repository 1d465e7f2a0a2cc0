"""`runcard demo`: the built-in city solved, compared and drawn, with files to try the other commands on."""

from pathlib import Path
from typing import Annotated

from runcard.cli.parameters import path_option
from runcard.errors import InputError


def demo(
    output: Annotated[Path, path_option("FOLDER", "Where the map and the city are written.", "--output", "-o")] = Path(
        "runcard-demo"
    ),
) -> None:
    """Solve the built-in city and draw its map.

    The folder also gets the city and its policy file, to try the other commands on.
    """
    from runcard.city.demo import demo_city
    from runcard.cli.progress import Report
    from runcard.cli.show_comparison import print_comparison
    from runcard.cli.terminal import make_console
    from runcard.outputs.compare import DEFAULT_POLICIES, compare_policies
    from runcard.outputs.demo import next_commands, write_demo
    from runcard.policy.solve_options import SolveOptions

    if output.exists() and not output.is_dir():
        raise InputError(f"{output}: expected a folder for the demonstration, got a file")
    output.mkdir(parents=True, exist_ok=True)
    city = demo_city()
    console = make_console()
    console.print(f"Solving {city.name}, a made-up town, exactly; the first run compiles for some seconds.")
    console.print()
    with Report() as report:
        comparison = compare_policies(city, DEFAULT_POLICIES, SolveOptions(progress=report.bounds), steps=report)
    print_comparison(comparison)
    with Report() as report:
        report.begin("drawing the map")
        written = write_demo(comparison, output)
    files, commands = ([f"  {one}" for one in lines] for lines in (written, next_commands(comparison, output)))
    console.print("Written:", *files, "", "Try next:", *commands, sep="\n", soft_wrap=True)
