"""`runcard simulate` and `runcard stress`: policies in one scenario, or in every one."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from runcard.cli.parameters import (
    Address,
    AsJson,
    Backend,
    CityFolder,
    Horizon,
    Seed,
    Threads,
    Tolerance,
    option,
    path_option,
    some_words,
    whole_option,
    words_of,
)
from runcard.errors import NotConvergedError

if TYPE_CHECKING:
    from runcard.assess.policy_choice import PolicyChoice
    from runcard.assess.workers import Workers
    from runcard.city.model import City
    from runcard.policy.solve_options import SolveOptions
    from runcard.simulate.result import Simulation
    from runcard.simulate.scenario import Scenario


Policies = Annotated[
    str | None,
    option(
        "NAMES",
        "Policies by name, paper label (CF, OSI, OSIA, OPT) or policy file, commas between; gains are over the first. "
        "closest-first,optimal if left out, and optimal/week between them in a city with periods.",
    ),
]
Incidents = Annotated[
    int | None, whole_option("Incidents to simulate for each policy, instead of a precision.", least=1)
]
Precision = Annotated[
    float | None,
    option(
        "X", "Simulate until each late fraction is known to this part; 0.01 if left out, 0.05 in large departments."
    ),
]


def simulate(
    city: CityFolder,
    policies: Policies = None,
    scenario: Annotated[
        str, option("NAME", "A built-in scenario or a TOML file, or several with + between.")
    ] = "paper",
    incidents: Incidents = None,
    precision: Precision = None,
    seed: Seed = 1,
    records: Annotated[Path | None, path_option("FILE", "Write a Parquet file with a row for each incident.")] = None,
    as_json: AsJson = False,
    tolerance: Tolerance = 1e-9,
    horizon_busy_times: Horizon = None,
    threads: Threads = None,
) -> None:
    """Simulate policies in a scenario.

    Shows the late fraction and the arrivals of the first and the last truck, with intervals, and what stations do.
    """
    from runcard.assess.plans import default_policies
    from runcard.assess.policy_choice import policy_choices
    from runcard.city.files import read_city
    from runcard.cli.show_simulation import print_periods, print_simulation
    from runcard.cli.terminal import print_care, print_json, print_written
    from runcard.outputs.simulate import document_of, hour_gains
    from runcard.policy.solve_options import SolveOptions
    from runcard.simulate.engine import check_scenario
    from runcard.simulate.scenario import read_scenario

    options = SolveOptions(tolerance=tolerance, horizon_busy_times=horizon_busy_times, threads=threads)
    choices = None if policies is None else policy_choices(words_of(policies), options)
    happens, given = read_scenario(scenario), read_city(city)
    check_scenario(given, happens)
    choices = policy_choices(default_policies(given), options) if choices is None else choices
    (found,) = _simulated(given, choices, [happens], options, incidents, precision, seed, records)
    if as_json:
        print_json(document_of(given, found) | hour_gains(given, found, choices))
    else:
        print_care(city)
        print_simulation(given, found)
        print_periods(given, [found], choices)
        print_written(records)
    _check_precise(given, [found])


def stress(
    city: CityFolder,
    policies: Policies = None,
    scenarios: Annotated[
        str | None, option("NAMES", "Scenarios, commas between; all built-in ones if left out.")
    ] = None,
    log: Annotated[Path | None, path_option("FILE", "Also replay this incident log.")] = None,
    incidents: Incidents = None,
    precision: Precision = None,
    seed: Seed = 1,
    as_json: AsJson = False,
    tolerance: Tolerance = 1e-9,
    horizon_busy_times: Horizon = None,
    threads: Threads = None,
    backend: Backend = "threads",
    address: Address = None,
) -> None:
    """Simulate policies in every scenario: does the gain survive?"""
    from runcard.assess.plans import default_policies
    from runcard.assess.policy_choice import policy_choices
    from runcard.assess.workers import Workers
    from runcard.city.files import read_city
    from runcard.cli.show_simulation import print_periods, print_stress
    from runcard.cli.terminal import print_care, print_json
    from runcard.outputs.simulate import stress_document
    from runcard.policy.solve_options import SolveOptions
    from runcard.simulate.engine import check_scenario, possible_scenarios
    from runcard.simulate.scenario import Scenario, built_in_names, read_scenario

    options = SolveOptions(tolerance=tolerance, horizon_busy_times=horizon_busy_times, threads=threads)
    choices = None if policies is None else policy_choices(words_of(policies), options)
    asked_for = [] if scenarios is None else [read_scenario(name) for name in some_words(scenarios, "--scenarios")]
    if log is not None:
        asked_for.append(Scenario(name=f"replay of {log.name}", title=f"The incidents of {log.name}", log=log))
    given, not_possible = read_city(city), list[tuple[str, str]]()
    for one in asked_for:
        check_scenario(given, one)
    if scenarios is None:
        every = [one for one in map(read_scenario, built_in_names()) if not given.plain or not one.busy.by_type]
        built_in, not_possible = possible_scenarios(given, every)
        asked_for = [*built_in, *asked_for]
    choices = policy_choices(default_policies(given), options) if choices is None else choices
    workers = Workers(backend=backend, address=address)
    found = _simulated(given, choices, asked_for, options, incidents, precision, seed, workers=workers)
    if as_json:
        print_json(stress_document(given, found, not_possible))
    else:
        print_care(city)
        print_stress(given, found, not_possible)
        print_periods(given, found, choices)
    _check_precise(given, found)


def _simulated(
    city: "City",
    choices: "Sequence[PolicyChoice]",
    scenarios: "Sequence[Scenario]",
    options: "SolveOptions",
    incidents: int | None,
    precision: float | None,
    seed: int,
    records: Path | None = None,
    workers: "Workers | None" = None,
) -> "list[Simulation]":
    """What policies do in each scenario; `records` is a file for the records of all incidents."""
    from runcard.assess.plans import plans_for
    from runcard.assess.workers import HERE
    from runcard.cli.progress import ShownSteps
    from runcard.outputs.records import RecordFile
    from runcard.simulate.engine import prepare_policies, simulate_plans

    workers, times = workers or HERE, len(scenarios)
    with ShownSteps(city.objective) as report, RecordFile(records, city) if records else nullcontext() as file:
        watched = replace(options, progress=report.bounds)
        plans = list(plans_for(city, choices, watched, report).values())
        for kind in city.kinds:
            fleets = [plan.fleet(kind) for plan in plans]
            prepare_policies(
                city, fleets, incidents=incidents, precision=precision, times=times, begin=report.begin, kind=kind
            )
        work = partial(
            simulate_plans,
            city,
            plans,
            incidents=incidents,
            precision=precision,
            seed=seed,
            names=[choice.label for choice in choices],
            threads=options.threads if workers.here else 1,
            progress=report.simulated if workers.here else None,
            keep_records=None if file is None else file.keeper(scenarios[0].name),
        )

        def begin(number: int) -> None:
            report.begin(scenarios[number].name + ("" if times == 1 else f", {number + 1} of {times}"))

        if not workers.here:  # they name a scenario when it is done
            report.begin("simulating on the workers")
        found = workers.each(work, scenarios, begin)
        report.begin("writing the records")
    return found


def _check_precise(city: "City", found: "Sequence[Simulation]") -> None:
    """Raise an error if a late fraction is not as precise as was asked for."""
    vague = [one.scenario.name for one in found if not one.precise]
    if vague:
        raise NotConvergedError(
            f"{city.name}: not as precise as asked for after as many incidents as are simulated at most: "
            f"{', '.join(vague)}; the intervals still hold"
        )
