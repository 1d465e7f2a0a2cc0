"""`runcard map`: which stations send trucks to each area."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from runcard.cli.parameters import Threads, option, path_argument, path_option, some_words
from runcard.errors import InputError


def draw_map(
    path: Annotated[Path, path_argument("CITY|FILE", "A city folder, or a policy file.")],
    output: Annotated[Path, path_option("FILE", "The map to write: .png, .svg or .pdf.", "--output", "-o")] = Path(
        "map.png"
    ),
    policies: Annotated[
        str | None,
        option(
            "NAMES",
            "Policies by name, paper label or policy file, commas between; closest-first,optimal if left out, with "
            "one-step-mean-field for optimal in a large department.",
            "--policies",
            "--policy",
        ),
    ] = None,
    city: Annotated[Path | None, path_option("CITY", "The city folder of a policy file.")] = None,
    threads: Threads = None,
) -> None:
    """Draw which stations send trucks to each area.

    Every truck is idle. Each policy has a map for the first truck and one for the second.
    """
    from runcard.city.files import read_city
    from runcard.cli.progress import Report
    from runcard.cli.tables import city_line
    from runcard.cli.terminal import make_console
    from runcard.outputs.files import size_in_words
    from runcard.outputs.map import check_picture_file, draw_map, policies_to_draw
    from runcard.outputs.policy_choice import policies_for, policy_choices
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
    words, exact = policies_to_draw(given, asked if city is None else ["closest-first", str(path.absolute())])
    choices = policy_choices(words, options)
    with Report(given.objective) as report:
        shown = policies_for(given, choices, replace(options, progress=report.bounds), report)
        report.begin("evaluating the policies")
        results = [evaluate(policy, threads=threads) if exact else None for policy in shown]
        report.begin("drawing the map")
        draw_map(given, shown, output, results=results)
    console = make_console()
    console.print(city_line(given), style="bold")
    if not asked and city is None and not exact:
        console.print(
            "To solve so many states exactly takes long, so one-step-mean-field is drawn instead of optimal; "
            "--policies closest-first,optimal solves them all the same."
        )
    names = " and ".join(policy.name for policy in shown)
    console.print(f"Wrote {output} ({size_in_words(output)}): {names}", soft_wrap=True)
