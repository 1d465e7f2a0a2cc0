"""`runcard simulate` and `runcard stress`: policies in one scenario, or in every one."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runcard.cli.parameters import (
    AsJson,
    CityFolder,
    Horizon,
    Seed,
    Threads,
    Tolerance,
    named_path,
    solve_options,
    some_words,
    words_of,
)
from runcard.errors import NotConvergedError

if TYPE_CHECKING:
    from runcard.city.model import City
    from runcard.policy.base import Policy
    from runcard.policy.solve_options import SolveOptions
    from runcard.simulate.result import Simulation


Policies = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Policies by name or paper label (CF, OSI, OSIA, OPT), commas between; gains are over the first.",
    ),
]
Incidents = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Incidents to simulate for each policy, instead of a precision.", show_default=False
    ),
]
Precision = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Simulate until each late fraction is known to this part; 0.01 if left out, 0.05 in large departments.",
        show_default=False,
    ),
]


def simulate(
    city: CityFolder,
    policies: Policies = "closest-first,optimal",
    scenario: Annotated[
        str, typer.Option(metavar="NAME", help="A built-in scenario or a TOML file, or several with + between.")
    ] = "paper",
    incidents: Incidents = None,
    precision: Precision = None,
    seed: Seed = 1,
    records: Annotated[
        Path | None,
        typer.Option(
            parser=named_path,
            metavar="FILE",
            help="Write a Parquet file with a row for each incident.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    tolerance: Tolerance = 1e-9,
    horizon_busy_times: Horizon = None,
    threads: Threads = None,
) -> None:
    """Simulate policies in a scenario.

    Shows the late fraction and the arrivals of the first and the last truck, with intervals, and what stations do.
    """
    from runcard.city.files import read_city
    from runcard.cli.progress import SimulationBar
    from runcard.cli.show_simulation import print_simulation
    from runcard.cli.terminal import make_console, print_json
    from runcard.outputs.files import size_in_words
    from runcard.outputs.records import RecordFile
    from runcard.outputs.simulate import simulation_document
    from runcard.simulate.engine import check_scenario, simulate_policies
    from runcard.simulate.scenario import read_scenario

    options = solve_options(tolerance, horizon_busy_times, threads)
    happens, given = read_scenario(scenario), read_city(city)
    check_scenario(given, happens)
    with ExitStack() as stack:
        file = None if records is None else stack.enter_context(RecordFile(records, given))
        solved = _solved(given, words_of(policies), options)
        with SimulationBar() as bar:
            bar.begin(happens.name)
            found = simulate_policies(
                given,
                solved,
                happens,
                incidents=incidents,
                precision=precision,
                seed=seed,
                threads=threads,
                progress=bar.update,
                keep_records=None if file is None else file.keeper(happens.name),
            )
    if as_json:
        print_json(simulation_document(given, found))
    else:
        print_simulation(given, found)
        if records is not None:
            make_console().print(f"Wrote {records} ({size_in_words(records)})", soft_wrap=True)
    _check_precise(given, [found])


def stress(
    city: CityFolder,
    policies: Policies = "closest-first,optimal",
    scenarios: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Scenarios, commas between; all built-in ones if left out.", show_default=False
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(parser=named_path, metavar="FILE", help="Also replay this incident log.", show_default=False),
    ] = None,
    incidents: Incidents = None,
    precision: Precision = None,
    seed: Seed = 1,
    as_json: AsJson = False,
    tolerance: Tolerance = 1e-9,
    horizon_busy_times: Horizon = None,
    threads: Threads = None,
) -> None:
    """Simulate policies in every scenario: does the gain survive?"""
    from runcard.city.files import read_city
    from runcard.cli.progress import SimulationBar
    from runcard.cli.show_simulation import print_stress
    from runcard.cli.terminal import print_json
    from runcard.outputs.simulate import Stress
    from runcard.simulate.engine import check_scenario, possible_scenarios, simulate_policies
    from runcard.simulate.scenario import Scenario, built_in_names, read_scenario

    options = solve_options(tolerance, horizon_busy_times, threads)
    asked_for = [] if scenarios is None else [read_scenario(name) for name in some_words(scenarios, "--scenarios")]
    if log is not None:
        asked_for.append(Scenario(name=f"replay of {log.name}", title=f"The incidents of {log.name}", log=log))
    given, not_possible = read_city(city), list[tuple[str, str]]()
    for one in asked_for:
        check_scenario(given, one)
    if scenarios is None:
        built_in, not_possible = possible_scenarios(given, [read_scenario(name) for name in built_in_names()])
        asked_for = [*built_in, *asked_for]
    solved, found = _solved(given, words_of(policies), options), []
    with SimulationBar() as bar:
        for one in asked_for:
            bar.begin(one.name)
            found.append(
                simulate_policies(
                    given, solved, one, incidents=incidents, precision=precision, seed=seed, threads=threads,
                    progress=bar.update,
                )
            )  # fmt: skip
    stressed = Stress(given, tuple(found), tuple(not_possible))
    if as_json:
        print_json(stressed.document())
    else:
        print_stress(stressed)
    _check_precise(given, found)


def _solved(city: "City", policies: Sequence[str], options: "SolveOptions") -> "list[Policy]":
    """The policies to simulate, with a bar while they are solved."""
    from runcard.cli.progress import BoundBar
    from runcard.outputs.simulate import solved_policies

    with BoundBar(city.objective) as bar:
        return solved_policies(city, policies, replace(options, progress=bar.update), begin=bar.begin)


def _check_precise(city: "City", found: "Sequence[Simulation]") -> None:
    """Raise an error if a late fraction is not as precise as was asked for."""
    vague = [one.scenario.name for one in found if not one.precise]
    if vague:
        raise NotConvergedError(
            f"{city.name}: not as precise as asked for after as many incidents as are simulated at most: "
            f"{', '.join(vague)}; the intervals still hold"
        )
