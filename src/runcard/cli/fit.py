"""`runcard fit`: a city's numbers from a department's own log; `runcard generate-log`: a log of a known city."""

from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runcard.cli.parameters import AsJson, CityFolder, Seed, option, path_option, whole_option

if TYPE_CHECKING:
    from runcard.calibrate.backtest import Backtest, Dispatch
    from runcard.calibrate.fit import Fit
    from runcard.calibrate.log import Log


def fit(
    city: CityFolder,
    log: Annotated[Path, path_option("FILE", "The log: a CSV file with a row for each unit that was sent.", "--log")],
    mapping: Annotated[
        str,
        option(
            "NAME|FILE", "What its columns are: san-francisco, london, neris, runcard, or a TOML file.", "--mapping"
        ),
    ],
    output: Annotated[
        Path | None,
        path_option("DIR", "The folder to write the fitted city to, with a page on how well it fits.", "-o"),
    ] = None,
    incidents: Annotated[
        Path | None, path_option("FILE", "The second file of a log whose incidents are in one of their own.")
    ] = None,
    periods: Annotated[
        str, option("WORD", "Periods of the week: find them in the log, keep those of the city, or none.")
    ] = "find",
    overrule: Annotated[
        list[str] | None,
        option("NAME=X", "Put a number of your own in place of a fitted one; may be repeated.", "--set"),
    ] = None,
    target_minutes: Annotated[
        float | None, option("X", "Target of the first unit, where the city has no standard for a type and kind.")
    ] = None,
    standards: Annotated[
        Path | None, path_option("FILE", "Standards, in the form of incident_type.csv, in place of those of the city.")
    ] = None,
    fit_part: Annotated[
        float, option("X", "Part of the log to fit on, by time; with less than 1 policies are replayed on the rest.")
    ] = 1.0,
    policy: Annotated[
        str | None,
        option(
            "NAME",
            "The policy to replay on the rest, or KIND=NAME with commas between; one-step-mean-field if left out, or "
            "one-step-neighbourhoods where units are often busy.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a city that is there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a city to a department's own log.

    Rates by area and type, periods of the week, what is sent, busy times, turnout, driving and shared delay, each with
    its interval. Rows that cannot be used are counted by reason.
    """
    from runcard.assess.policy_choice import best_policy, policy_of_kinds
    from runcard.calibrate.backtest import LEAST_INCIDENTS, split_log
    from runcard.calibrate.fit import fit_city
    from runcard.calibrate.goodness import judge_fit
    from runcard.calibrate.log import read_log
    from runcard.calibrate.mapping import read_mapping
    from runcard.calibrate.page import fit_page
    from runcard.city.files import read_city
    from runcard.city.importers.build import read_standards
    from runcard.cli.progress import ShownSteps
    from runcard.cli.show_fit import show_fit
    from runcard.errors import InputError
    from runcard.outputs.fit_file import write_fit
    from runcard.policy.solve_options import SolveOptions

    known, overrules = read_mapping(mapping), _overrules(overrule or [])
    if policy is not None and "=" not in policy:
        policy_of_kinds(policy, [], SolveOptions())  # a name that is none is refused before anything is read
    before = read_city(city)
    if target_minutes is not None and not 0.0 < target_minutes < inf:
        raise InputError(f"--target-minutes: expected a number > 0, got {target_minutes:g}")
    if periods not in ("find", "city", "none"):
        raise InputError(f"--periods: expected find, city or none, got {periods!r}")
    if not 0.0 < fit_part <= 1.0:
        raise InputError(f"--fit-part: expected a part from above 0 to 1, got {fit_part:g}")
    rules = () if standards is None else read_standards(standards)
    wanted = before.periods if periods == "city" else periods
    if periods == "city" and not before.has_periods:
        raise InputError(f"--periods city: {before.name} has no periods")
    if output is not None:
        _check_output(output, overwrite=overwrite)
        if log.resolve().parent == output.resolve():
            raise InputError(f"{log}: expected a log outside the folder that is written, {output}")
    backtest: Backtest | None = None
    with ShownSteps() as report:
        report.begin("reading the log")
        whole = read_log(log, known, incidents=incidents, progress=lambda rows: report.begin(f"reading: {rows:,} rows"))
        own, rest = split_log(whole, fit_part) if fit_part < 1.0 else (whole, None)
        if rest is not None and len(rest.incidents) < LEAST_INCIDENTS:
            raise InputError(
                f"--fit-part: expected at least {LEAST_INCIDENTS} incidents to replay, got {len(rest.incidents)} of "
                f"{len(whole.incidents):,}"
            )
        found = fit_city(
            before,
            own,
            home_pattern=known.home_pattern,
            periods=wanted,
            overrule=overrules,
            target_minutes=target_minutes,
            standards=rules,
            progress=report.begin,
        )
        report.begin("judging the fit")
        goodness = judge_fit(found)
        if rest is not None:
            best = best_policy(*map(found.city.of_kind, found.city.kinds), exact=False)
            backtest = _replayed(found, rest, policy or best, report)
        document = {**found.document(), "goodness": goodness.document()}
        if backtest is not None:
            document["backtest"] = backtest.document()
        if output is not None:
            report.begin("writing")
            page, rejected = fit_page(found, goodness, backtest), found.log.rejected.csv_text()
            write_fit(output, found.city, document, page, rejected, overwrite=overwrite)
    show_fit(found, goodness, backtest, document if as_json else None, output)


def _check_output(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that cannot be written to before the work, not after it."""
    from runcard.city.files import refuse_occupied
    from runcard.errors import InputError

    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: expected the name of a folder, got a file")
    if folder.is_dir():
        refuse_occupied(folder, overwrite=overwrite)


def _overrules(given: list[str]) -> dict[str, float]:
    from runcard.calibrate.numbers import check_ranges
    from runcard.errors import InputError

    found = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise InputError(f"--set: expected NAME=NUMBER, such as shared_delay=0.1, got {text!r}")
    if len(found) < len(given):
        raise InputError("--set: expected each name once, got one several times")
    check_ranges(found)
    return found


def _replayed(found: "Fit", rest: "Log", words: str, report: Any) -> "Backtest":
    """Closest-first and a policy on the rest of the log."""
    from runcard.calibrate.backtest import backtest

    policies = {name: _dispatch(found, name, report) for name in dict.fromkeys(("closest-first", words))}
    report.begin("replaying the rest of the log")
    return backtest(found, rest, policies, progress=report.part)


def _dispatch(found: "Fit", words: str, report: Any) -> "Dispatch":
    from runcard.assess.policy_choice import policy_of_kinds
    from runcard.plan.plan import solve
    from runcard.policy.solve_options import SolveOptions

    report.begin(f"solving {words}")
    return solve(found.city, policy_of_kinds(words, found.city.sent_kinds, SolveOptions())).at


def write_made_up_log(
    city: CityFolder,
    output: Annotated[Path, path_option("FILE", "The log to write.", "-o")],
    mapping: Annotated[
        str, option("NAME|FILE", "Its format: san-francisco, london, neris, runcard, or a TOML file.", "--mapping")
    ] = "san-francisco",
    incidents_file: Annotated[
        Path | None,
        path_option("FILE", "The second file of a format that has one, such as london.", "--incidents-file"),
    ] = None,
    incidents: Annotated[int, whole_option("Number of incidents.", least=1, most=10_000_000)] = 30_000,
    dirt: Annotated[float, option("X", "Part of the rows that is spoilt as in real logs, 0 to 0.5.")] = 0.0,
    seed: Seed = 1,
) -> None:
    """Write a made-up log of a city.

    Its truth is known, so it shows what a fit can find. It is drawn under closest-first.
    """
    from runcard.calibrate.generator import generate_log
    from runcard.calibrate.mapping import read_mapping
    from runcard.city.files import read_city
    from runcard.cli.progress import ShownSteps
    from runcard.cli.terminal import make_console
    from runcard.errors import InputError
    from runcard.output_file import check_output_file, write_whole

    known, found = read_mapping(mapping), read_city(city)
    if not 0.0 <= dirt <= 0.5:
        raise InputError(f"--dirt: expected a part from 0 to 0.5, got {dirt:g}")
    if known.incident_columns and incidents_file is None:
        raise InputError(f"{known.name}: expected --incidents-file: this format has a second file")
    if incidents_file is not None and incidents_file.resolve() == output.resolve():
        raise InputError("--incidents-file: expected another file than that of the log")
    for path in (output, incidents_file):
        if path is not None:
            check_output_file(path)
    with ShownSteps() as report:
        report.begin("making up incidents")
        made = generate_log(found, known, incidents=incidents, seed=seed, dirt=dirt)
    content, second = made.contents()
    write_whole(output, content)
    if incidents_file is not None and second is not None:
        write_whole(incidents_file, second)
    console = make_console()
    console.print(f"Wrote {output}: {len(made.sent):,} responses to {incidents:,} incidents", soft_wrap=True)
    for reason, number in made.dirt.items():
        console.print(f"  {number:,} spoilt rows: {reason}", soft_wrap=True)
