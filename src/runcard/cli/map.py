"""`runcard map`: which stations send trucks to each area."""

from pathlib import Path
from typing import Annotated

from runcard.cli.parameters import OfWeek, Threads, option, path_argument, path_option, read_kind, some_words
from runcard.errors import InputError


def map_policies(
    path: Annotated[Path, path_argument("CITY|FILE", "A city folder, or a policy file.")],
    output: Annotated[Path, path_option("FILE", "The map to write: .png, .svg or .pdf.", "--output", "-o")] = Path(
        "map.png"
    ),
    policies: Annotated[
        str | None,
        option(
            "NAMES",
            "Policies by name, paper label or policy file, commas between; closest-first,optimal if left out, with "
            "one-step-mean-field for optimal in a large department, or one-step-neighbourhoods in a busy one.",
            "--policies",
            "--policy",
        ),
    ] = None,
    city: Annotated[Path | None, path_option("CITY", "The city folder of a policy file.")] = None,
    kind: Annotated[
        str | None, option("KIND", "Only this kind of units; a map of each, in a file of its own, if left out.")
    ] = None,
    incident_type: Annotated[
        str | None, option("TYPE", "The type of incident to show; if left out, that with the most units.", "--type")
    ] = None,
    period: OfWeek = None,
    threads: Threads = None,
) -> None:
    """Draw which stations send trucks to each area.

    Every truck is idle. Each policy has a map for the first truck and one for the second. Each kind of units has a
    picture of its own.
    """
    from runcard.cli.progress import ShownSteps
    from runcard.cli.terminal import make_console
    from runcard.outputs.map import draw_maps
    from runcard.page.picture import check_picture_file
    from runcard.plan.file import load
    from runcard.plan.words import city_line
    from runcard.policy.solve_options import SolveOptions

    asked = [] if policies is None else some_words(policies, "--policies")
    check_picture_file(output, "map")
    is_city = path.is_dir()
    for wrong, reason in (
        (not path.exists(), "expected a city folder or a policy file, found none"),
        (is_city and city, "expected --city only with a policy file, got a city folder and --city"),
        (not is_city and not city, "a policy file does not say where its city lies: name the city folder with --city"),
        (not is_city and asked, "expected --policies only with a city folder; they may be policy files, too"),
    ):
        if wrong:
            raise InputError(f"{path}: {reason}")
    given = read_kind(path if city is None else city, kind)
    of_means = given.has_periods and period is None
    if not is_city and period is None and (plan := load(path)).knows_hour:
        names = ", ".join(one.name for one in plan.periods)
        raise InputError(f"{path}: it holds a policy for each period ({names}): choose one with --period")
    given = given.of_week if period is None else given.in_period(period)
    with ShownSteps(given.objective) as report:
        options = SolveOptions(threads=threads, progress=report.bounds)
        named = asked or None if city is None else ["closest-first", str(path.absolute())]
        lines = draw_maps(given, output, options, report, named=named, incident_type=incident_type)
    lines += ["Rates are the means of the week; --period draws a period."] if of_means else []
    console = make_console()
    console.print(city_line(given), style="bold")
    for line in lines:
        console.print(line, soft_wrap=True)
