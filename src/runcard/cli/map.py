"""`runcard map`: which stations send trucks to each area."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from runcard.cli.parameters import Threads, option, path_argument, path_option, some_words
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
    period: Annotated[
        str | None, option("PERIOD", "The period of the week, where the city has periods; if left out, the mean rates.")
    ] = None,
    threads: Threads = None,
) -> None:
    """Draw which stations send trucks to each area.

    Every truck is idle. Each policy has a map for the first truck and one for the second. Each kind of units has a
    picture of its own.
    """
    from runcard.assess.plans import plans_for
    from runcard.assess.policy_choice import policy_choices
    from runcard.city.files import read_city
    from runcard.cli.progress import ShownSteps
    from runcard.cli.terminal import make_console
    from runcard.output_file import size_in_words
    from runcard.outputs.map import compared_policies, draw_map, path_of_kind, policies_to_draw
    from runcard.page.picture import check_picture_file
    from runcard.plan.file import load
    from runcard.plan.words import city_line, expected_one_of
    from runcard.policy.solve import evaluate
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
    options = SolveOptions(threads=threads)
    given = read_city(path if city is None else city)
    given = given if kind is None else given.of_kind(kind)
    notes = (
        ["Rates are the means of the week; --period draws a period."] if given.has_periods and period is None else []
    )
    if not is_city and period is None and (plan := load(path)).knows_hour:
        names = ", ".join(one.name for one in plan.periods)
        raise InputError(f"{path}: it holds a policy for each period ({names}): choose one with --period")
    given = given.of_week if period is None else given.in_period(period)
    lines = []
    with ShownSteps(given.objective) as report:
        for one in given.kinds:
            seen, file = given.of_kind(one), path_of_kind(output, one, len(given.kinds))
            if incident_type is not None and incident_type not in {standard.type for standard in seen.standards}:
                continue  # such incidents do not need this kind
            words, exact = policies_to_draw(seen, asked if city is None else ["closest-first", str(path.absolute())])
            choices, note = policy_choices(words, options), ""
            watched = replace(options, progress=report.bounds)
            by_itself = not asked and city is None and not exact
            if by_itself:
                shown, note = compared_policies(seen, words, watched, report)
            else:
                plans = plans_for(seen, choices, watched, report, arrivals=exact)
                shown = [plan.fleets[0].policy for plan in plans.values()]
            report.begin("evaluating the policies")
            results = [evaluate(policy, threads=threads) if exact else None for policy in shown]
            report.begin("drawing the map")
            draw_map(seen, shown, file, results=results, incident_type=incident_type)
            if by_itself:
                to = f"{one}: to" if given.said(one) else "To"
                lines.append(
                    f"{to} solve so many states exactly takes long, so {shown[-1].name} is drawn instead of optimal;"
                    " --policies closest-first,optimal solves them all the same, if they fit in memory."
                )
            if note:
                lines.append(f"{one}: {note}" if given.said(one) else note)
            names = " and ".join(policy.name for policy in shown)
            lines.append(f"Wrote {file} ({size_in_words(file)}): {names}")
    if not lines:
        found = "it has no incident types"
        if given.types:
            found = expected_one_of("type of incident", given.types, str(incident_type))
        raise InputError(f"{given.name}: {found}")
    console = make_console()
    console.print(city_line(given), style="bold")
    for line in [*lines, *notes]:
        console.print(line, soft_wrap=True)
