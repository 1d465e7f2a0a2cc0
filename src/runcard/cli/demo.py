"""`runcard demo`: the built-in city solved, compared and drawn, with files to try the other commands on."""

from pathlib import Path
from typing import Annotated

from runcard.cli.parameters import path_option


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
    from runcard.outputs.demo import make_folder, next_commands, write_demo
    from runcard.policy.solve_options import SolveOptions

    make_folder(output)
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
    console.print("Written:")
    for path in written:
        console.print(f"  {path}", soft_wrap=True)
    console.print()
    console.print("Try next:")
    for command in next_commands(comparison, output):
        console.print(f"  {command}", soft_wrap=True)
