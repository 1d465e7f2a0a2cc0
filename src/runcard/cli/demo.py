"""`runcard demo`: the built-in city solved, compared, drawn and reported, with files to try the other commands on."""

import shutil
import sys
from os.path import relpath
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated

from runcard.cli.parameters import path_option
from runcard.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from runcard.assess.assessment import Assessment


def demo(
    output: Annotated[
        Path, path_option("FOLDER", "Where the report, the maps and the city are written.", "--output", "-o")
    ] = Path("runcard-demo"),
) -> None:
    """Solve the built-in city, draw its maps and write its report and run cards.

    The folder also gets the city and its policy file, to try the other commands on.
    """
    from runcard.assess.exact import assess_exactly
    from runcard.city.demo import demo_city
    from runcard.city.files import write_city
    from runcard.cli.progress import ShownSteps
    from runcard.cli.show_comparison import print_assessment
    from runcard.cli.terminal import make_console
    from runcard.outputs.cards.book import make_book
    from runcard.outputs.cards.write import write_cards
    from runcard.outputs.report import REPORTED, write_report
    from runcard.plan.plan import plan_of
    from runcard.policy.solve_options import SolveOptions

    if output.exists() and not output.is_dir():
        raise InputError(f"{output}: expected a folder for the demonstration, got a file")
    output.mkdir(parents=True, exist_ok=True)
    city = demo_city()
    console = make_console()
    console.print(f"Solving {city.name}, a made-up town, exactly; the first run compiles for some seconds.")
    console.print()
    with ShownSteps() as report:
        comparison = assess_exactly(city, REPORTED, SolveOptions(progress=report.bounds), steps=report)
    print_assessment(comparison)
    folder, file, maps, lacking = output / "city", output / "optimal.policy", list[Path](), ""
    with ShownSteps() as report:
        report.begin("the report, the cards and the maps")
        optimal = {kind: fleet.policy for kind, fleet in comparison["optimal"].fleets.items()}
        write_city(city, folder, overwrite=True)
        plan = plan_of(city, optimal)
        plan.save(file)
        cards = write_cards(make_book(plan), (), output / "cards.csv")
        page = output / "report.html"
        write_report(
            city, page, comparison=comparison, command=join(["runcard", "report", str(folder), "-o", str(page)])
        )
        try:
            maps = _draw_maps(comparison, output)
        except MissingExtraError as error:  # a plain install shows everything else
            lacking = f"No maps as pictures: {error}"
    called, (node_id, incident_type) = Path(sys.argv[0]), _telling_call(comparison)
    # This program may be in a virtual environment that is not active.
    program = relpath(called) if called.name == "runcard" and not shutil.which("runcard") else "runcard"
    commands = [
        ("decide", str(file), "--at", node_id, "--type", incident_type, "--idle", "all"),
        ("lateness", str(folder), "--at", node_id),
        ("compare", str(folder), "--policies", "closest-first,optimal", "--json"),
    ]
    if maps:
        picture = str(output / "fixed-card.png")
        commands.append(("map", str(folder), "--policies", "fixed-card", "--kind", "engine", "-o", picture))
    lines = [f"  {join([program, *one])}" for one in commands]
    written = [f"  {page}: open it in a browser", *(f"  {one}" for one in (cards, *maps, folder, file))]
    written += [lacking] if lacking else []
    console.print("Written:", *written, "", "Try next:", *lines, sep="\n", soft_wrap=True)


def _draw_maps(comparison: "Assessment", output: Path) -> list[Path]:
    """The pictures of the maps of every kind, closest-first beside optimal."""
    from runcard.outputs.map import draw_map, path_of_kind

    drawn: list[Path] = []
    for kind in comparison.city.kinds:
        paths = [path_of_kind(output / name, kind, len(comparison.city.kinds)) for name in ("map.png", "map.svg")]
        shown = [comparison[name].fleets[kind] for name in ("closest-first", "optimal")]
        results = [fleet.evaluation for fleet in shown]
        draw_map(shown[0].city, [fleet.policy for fleet in shown], *paths, results=results)
        drawn += paths
    return drawn


def _telling_call(comparison: "Assessment") -> tuple[str, str]:
    """The node, and the first type, where optimal differs most often from closest-first with every unit idle."""
    fleets = [next(iter(comparison[name].fleets.values())) for name in ("optimal", "closest-first")]
    problem, demand = fleets[0].problem, fleets[0].city.demand
    optimal, closest = (fleet.policy for fleet in fleets)
    differing = (
        point
        for point in range(problem.num_points)
        if demand[point].type == demand[0].type
        and optimal.decide(problem.trucks, point).team != closest.decide(problem.trucks, point).team
    )
    point = max(differing, key=problem.incidents_per_day.__getitem__, default=0)
    return demand[point].node_id, demand[point].type
