"""What each command of the command line does: read, work, print. `cli.py` only parses the arguments."""

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from runcard.city.files import read_city, write_city
from runcard.city.grid import generate_grid
from runcard.city.model import LATE, City, Objective
from runcard.errors import InputError, NotConvergedError
from runcard.mdp.fingerprint import city_fingerprint
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.memory import check_states
from runcard.outputs.compare import Comparison, compare_policies
from runcard.outputs.curve import check_curve_file, draw_curve
from runcard.outputs.explain import explain
from runcard.outputs.files import check_output_file, size_in_words
from runcard.outputs.lateness import lateness_at
from runcard.outputs.policy_file import load_policy, save_policy
from runcard.outputs.progress import BoundBar, SimulationBar
from runcard.outputs.records import RecordFile
from runcard.outputs.simulate import Stress, simulation_document, solved_policies, survives
from runcard.outputs.simulation_tables import simulation_line, simulation_table, stress_table, work_table
from runcard.outputs.situation import find_point, idle_trucks
from runcard.outputs.tables import (
    city_line,
    class_line,
    comparison_table,
    decision_table,
    gap_line,
    lateness_table,
    limit_line,
    rule_table,
    station_table,
    weight_table,
)
from runcard.outputs.terminal import make_console, print_json
from runcard.outputs.weights import WeightComparison, compare_weights
from runcard.outputs.words import proven_words
from runcard.policy.base import Policy
from runcard.policy.solve import EXACT_NAMES, policy_name, solve
from runcard.simulate.engine import check_scenario, simulate_policies
from runcard.simulate.result import Simulation
from runcard.simulate.scenario import Scenario, built_in_names, read_scenario

MANY_STATES = 1 << 26
LONG_STATES = 1 << 21


def run_generate(folder: Path, *, overwrite: bool, **settings: Any) -> None:
    """Write one of the paper's random cities, with the settings of `generate_grid`, to a folder and say what it is."""
    city = generate_grid(**settings)
    write_city(city, folder, overwrite=overwrite)
    console = make_console()
    console.print(city_line(city))
    console.print(f"Wrote {folder}", soft_wrap=True)


def run_compare(
    folder: Path,
    policies: Sequence[str],
    *,
    as_json: bool,
    tolerance: float,
    horizon_busy_times: float | None,
    threads: int | None,
) -> None:
    """Print how policies do in the city of a folder."""
    city = read_city(folder)
    _warn_of_many_states(city)
    with BoundBar(city.objective) as bar:
        comparison = compare_policies(
            city,
            policies,
            tolerance=tolerance,
            horizon_busy_times=horizon_busy_times,
            threads=threads,
            begin=bar.begin,
            progress=bar.update,
        )
    if as_json:
        print_json(comparison.document())
    else:
        print_comparison(comparison)
    failed = [result.name for result in comparison.results if not result.converged]
    if failed:
        raise NotConvergedError(f"{city.name}: not converged: {', '.join(failed)}; the proven intervals still hold")


def _warn_of_many_states(city: City) -> None:
    """Say that it takes a while, where it does."""
    num_states = math.prod(station.trucks + 1 for station in city.stations)
    if LONG_STATES < num_states < MANY_STATES:
        make_console(stderr=True).print(f"{city.name}: {num_states:,} states are compared exactly; this takes a while.")


def run_compare_weights(
    folder: Path,
    weights: Sequence[float],
    policies: Sequence[str],
    *,
    curve: Path | None,
    as_json: bool,
    tolerance: float,
    horizon_busy_times: float | None,
    threads: int | None,
) -> None:
    """Print what each weight of a minute costs in late fraction, and draw the curve if a file is named."""
    if curve is not None:
        check_curve_file(curve)
        check_output_file(curve)
    city = read_city(folder)
    _warn_of_many_states(city)
    with BoundBar(Objective("late+minutes")) as bar:
        comparison = compare_weights(
            city,
            weights,
            policies,
            tolerance=tolerance,
            horizon_busy_times=horizon_busy_times,
            threads=threads,
            begin=bar.begin,
            progress=bar.update,
        )
    if curve is not None:
        draw_curve(comparison, curve)
    if as_json:
        print_json(comparison.document())
    else:
        print_weights(comparison)
        if curve is not None:
            make_console().print(f"Wrote {curve}", soft_wrap=True)
    if comparison.failed:
        raise NotConvergedError(
            f"{city.name}: not converged: {', '.join(comparison.failed)}; the proven intervals still hold"
        )


def print_weights(comparison: WeightComparison) -> None:
    """Print the weights of each policy."""
    console = make_console()
    console.print(city_line(replace(comparison.city, objective=LATE)), style="bold")
    for curve in comparison.curves:
        console.print(f"\n{curve.policy} for late + weight × minutes:", style="bold")
        console.print(weight_table(curve))
    console.print("Weight: how many late incidents a minute of mean response counts as. With 0 only late ones count.")


def print_comparison(comparison: Comparison) -> None:
    """Print the policies side by side, and then the stations."""
    console = make_console()
    console.print(city_line(comparison.city), style="bold")
    console.print(comparison_table(comparison))
    if any(result.name == "optimal" for result in comparison.results):
        console.print(limit_line(comparison))
        console.print(f"{gap_line(comparison)}\n")
    if comparison.results[0].late_by_rule:
        console.print("Late, %, by how many trucks must be there and when:", style="bold")
        console.print(rule_table(comparison))
    console.print("Share of all trucks sent, and how much of the time a truck is busy:", style="bold")
    console.print(station_table(comparison))


def run_lateness(folder: Path, node_id: str, *, top: int, as_json: bool) -> None:
    """Print P(late) of every team at a node of the city of a folder."""
    lateness = lateness_at(read_city(folder), node_id)
    if as_json:
        print_json(lateness.document())
        return
    console = make_console()
    for number, one in enumerate(lateness.classes, start=1):
        of_several = f" (incident class {number} of {len(lateness.classes)})" if len(lateness.classes) > 1 else ""
        console.print(f"{node_id}{of_several}: {class_line(one)}", style="bold")
        console.print(lateness_table(one, top=top))
        if len(one.teams) > top:
            console.print(f"The first {top} of {len(one.teams)} teams; --top shows more.")


def run_solve(
    folder: Path,
    policy: str,
    path: Path,
    *,
    tolerance: float,
    horizon_busy_times: float | None,
    threads: int | None,
) -> None:
    """Write the file of a policy for the city of a folder, and say what was proven."""
    name = policy_name(policy)
    check_output_file(path)
    city = read_city(folder)
    began = time.perf_counter()
    if name in EXACT_NAMES:
        check_states(station.trucks for station in city.stations)  # before the costs, which take long for many trucks
    with BoundBar(city.objective) as bar:
        # The mean minutes are for evaluation in every state, which a large department never has.
        problem = dispatch_problem(
            city, minutes=math.prod(station.trucks + 1 for station in city.stations) <= MANY_STATES
        )
        bar.begin(name)
        solved = solve(
            problem,
            name,
            tolerance=tolerance,
            horizon_busy_times=horizon_busy_times,
            threads=threads,
            progress=bar.update,
        )
    seconds = time.perf_counter() - began
    certificate = solved.certificate
    if certificate is not None and not certificate.converged:
        raise NotConvergedError(
            f"{city.name}: {name} did not converge: "
            f"{proven_words(city.objective, certificate.lower, certificate.upper)}; nothing was written"
        )
    save_policy(solved, path)
    console = make_console()
    console.print(city_line(city), style="bold")
    if certificate is not None:
        console.print(f"{name}: {proven_words(city.objective, certificate.lower, certificate.upper)}")
    states = f", {problem.num_states:,} states" if problem.num_states < 10**9 else ""
    console.print(f"Wrote {path} ({size_in_words(path)}{states}) in {seconds:.1f} s", soft_wrap=True)


def run_decide(
    path: Path, node_id: str, idle: str, *, incident_class: int | None, city_folder: Path | None, as_json: bool
) -> None:
    """Print which trucks to send, why, and what else could be sent."""
    policy = load_policy(path, None if city_folder is None else city_fingerprint(read_city(city_folder)))
    point = find_point(policy.problem, node_id, incident_class)
    explanation = explain(policy, idle_trucks(policy.problem, idle), point)
    if as_json:
        print_json(explanation.document())
        return
    console = make_console()
    console.print(explanation.headline, style="bold green")
    for reason in explanation.reasons:
        console.print(reason)
    if explanation.decision.alternatives:
        console.print(decision_table(explanation))
        console.print(explanation.price_words)
        if explanation.truck_words:
            console.print(f"Price of each truck that goes, alone: {explanation.truck_words}.")


def run_simulate(
    folder: Path,
    policies: Sequence[str],
    scenario: str,
    *,
    incidents: int | None,
    precision: float | None,
    seed: int,
    records: Path | None,
    as_json: bool,
    tolerance: float,
    horizon_busy_times: float | None,
    threads: int | None,
) -> None:
    """Print what policies do in one scenario in the city of a folder, and write records if a file is named."""
    given = read_scenario(scenario)
    city = read_city(folder)
    check_scenario(city, given)
    with ExitStack() as stack:
        file = None if records is None else stack.enter_context(RecordFile(records, city))
        solved = _solved(city, policies, tolerance, horizon_busy_times, threads)
        with SimulationBar() as bar:
            bar.begin(given.name)
            found = simulate_policies(
                city,
                solved,
                given,
                incidents=incidents,
                precision=precision,
                seed=seed,
                threads=threads,
                progress=bar.update,
                keep_records=None if file is None else file.keeper(given.name),
            )
    if as_json:
        print_json(simulation_document(city, found))
    else:
        console = make_console()
        console.print(city_line(city), style="bold")
        console.print(simulation_line(found))
        console.print(simulation_table(found))
        console.print("How much of the time trucks are away, and how often they are sent:", style="bold")
        console.print(work_table(found))
        if records is not None:
            console.print(f"Wrote {records} ({size_in_words(records)})", soft_wrap=True)
    _check_precise(city, [found])


def run_stress(
    folder: Path,
    policies: Sequence[str],
    scenarios: Sequence[str],
    *,
    log: Path | None,
    incidents: int | None,
    precision: float | None,
    seed: int,
    as_json: bool,
    tolerance: float,
    horizon_busy_times: float | None,
    threads: int | None,
) -> None:
    """Print what policies do in every scenario in the city of a folder: does the gain survive?"""
    given = [read_scenario(name) for name in scenarios or built_in_names()]
    if log is not None:
        given.append(Scenario(name=f"replay of {log.name}", title=f"The incidents of {log.name}", log=log))
    city = read_city(folder)
    not_possible = []
    for one in given:
        try:
            check_scenario(city, one)
        except InputError as error:
            if scenarios or one.log is not None:  # somebody asked for it
                raise
            not_possible.append((one.name, str(error)))
    given = [one for one in given if one.name not in dict(not_possible)]
    solved = _solved(city, policies, tolerance, horizon_busy_times, threads)
    found = []
    with SimulationBar() as bar:
        for one in given:
            bar.begin(one.name)
            found.append(
                simulate_policies(
                    city, solved, one, incidents=incidents, precision=precision, seed=seed, threads=threads,
                    progress=bar.update,
                )
            )  # fmt: skip
    stress = Stress(city, tuple(found), tuple(not_possible))
    if as_json:
        print_json(stress.document())
    else:
        print_stress(stress)
    _check_precise(city, found)


def print_stress(stress: Stress) -> None:
    """Print the scenarios side by side, and what they are."""
    console, first = make_console(), stress.simulations[0]
    console.print(city_line(stress.city), style="bold")
    console.print(f"Does the gain over {first.policies[0].name} survive?", style="bold")
    console.print(stress_table(stress))
    for one in stress.simulations:
        console.print(f"{one.scenario.name}: {one.scenario.title}.")
    for name, reason in stress.not_possible:
        console.print(f"{name}: not possible here: {reason}.")
    console.print(
        "± is half of a 95 % interval; every policy met the same incidents and delays. "
        "Per cent beside yes: what is left of the gain in the paper's model."
    )
    others = range(1, len(first.policies))
    if any(survives(one.improvement(number)) == "not clear" for one in stress.simulations for number in others):
        console.print("Not clear: the gain is smaller than its error; more --incidents may tell.")


def _solved(
    city: City, policies: Sequence[str], tolerance: float, horizon_busy_times: float | None, threads: int | None
) -> list[Policy]:
    """The policies to simulate, with a bar while they are solved."""
    with BoundBar(city.objective) as bar:
        return solved_policies(
            city,
            policies,
            tolerance=tolerance,
            horizon_busy_times=horizon_busy_times,
            threads=threads,
            begin=bar.begin,
            progress=bar.update,
        )


def _check_precise(city: City, found: Sequence[Simulation]) -> None:
    """Raise an error if a late fraction is not as precise as was asked for."""
    vague = [one.scenario.name for one in found if not one.precise]
    if vague:
        raise NotConvergedError(
            f"{city.name}: not as precise as asked for after as many incidents as are simulated at most: "
            f"{', '.join(vague)}; the intervals still hold"
        )
