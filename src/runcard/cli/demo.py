"""`runcard demo`: the built-in city solved, compared and drawn, with files to try the other commands on."""

import shutil
import sys
from os.path import relpath
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated

from runcard.cli.parameters import path_option
from runcard.errors import InputError

if TYPE_CHECKING:
    from runcard.outputs.compare import Comparison


def demo(
    output: Annotated[Path, path_option("FOLDER", "Where the map and the city are written.", "--output", "-o")] = Path(
        "runcard-demo"
    ),
) -> None:
    """Solve the built-in city and draw its map.

    The folder also gets the city and its policy file, to try the other commands on.
    """
    from runcard.city.demo import demo_city
    from runcard.city.files import write_city
    from runcard.cli.progress import Report
    from runcard.cli.show_comparison import print_comparison
    from runcard.cli.terminal import make_console
    from runcard.outputs.compare import DEFAULT_POLICIES, compare_policies
    from runcard.outputs.map import draw_map
    from runcard.outputs.policy_file import save_policy
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
        closest, optimal = (comparison.result(name) for name in ("closest-first", "optimal"))
        maps, folder, file = (output / "map.png", output / "map.svg"), output / "city", output / "optimal.policy"
        write_city(city, folder, overwrite=True)
        save_policy(optimal.policy, file)
        draw_map(city, [closest.policy, optimal.policy], *maps, results=[closest.evaluation, optimal.evaluation])
    called, node_id = Path(sys.argv[0]), _telling_node(comparison)
    # This program may be in a virtual environment that is not active.
    program = relpath(called) if called.name == "runcard" and not shutil.which("runcard") else "runcard"
    commands = (
        ("decide", str(file), "--at", node_id, "--idle", "all"),
        ("lateness", str(folder), "--at", node_id),
        ("compare", str(folder), "--policies", "closest-first,optimal", "--json"),
        ("map", str(folder), "--policies", "fixed-card", "-o", str(output / "fixed-card.png")),
    )
    written, lines = [f"  {one}" for one in (*maps, folder, file)], [f"  {join([program, *one])}" for one in commands]
    console.print("Written:", *written, "", "Try next:", *lines, sep="\n", soft_wrap=True)


def _telling_node(comparison: "Comparison") -> str:
    """The node where the optimal team of all idle trucks differs from closest-first and most incidents start."""
    problem = comparison.problem
    optimal, closest = (comparison.result(name).policy for name in ("optimal", "closest-first"))
    differing = (
        point
        for point in range(problem.num_points)
        if optimal.decide(problem.trucks, point).team != closest.decide(problem.trucks, point).team
    )
    return problem.point_ids[max(differing, key=problem.incidents_per_day.__getitem__, default=0)]
