"""A department of several kinds: two exact problems, decisions that name units, and the simulation of all kinds."""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import runcard
from benchmarks.cases import Row
from benchmarks.simulation import large_city
from runcard.city import City, Standard, Unit
from runcard.plan.file import load, save
from runcard.plan.plan import plan_of
from runcard.plan.situation import Situation
from runcard.simulate.engine import simulate_plans
from runcard.simulate.result import ratio_interval

TRIES = 9


def department_cases(*, quick: bool = False) -> Iterator[Row]:
    """Every figure of a department of 13 engines and 7 ladders with 400 demand points."""
    yield from exact_ones()
    yield decisions()
    if not quick:
        yield from departments()


def department_city() -> City:
    """13 engines, 7 ladders and 400 demand points: two engines and a ladder go to each incident, by three standards."""
    city = large_city()
    assert city.target_minutes is not None
    target, homes = city.target_minutes, [station.station_id for station in city.stations]
    units = [Unit(f"E{home}", home, "engine") for home in homes] + [
        Unit(f"L{one}", one, "ladder") for one in homes[::2]
    ]
    return replace(
        city,
        target_minutes=None,
        units=tuple(units),
        stations=tuple(replace(station, trucks=0) for station in city.stations),
        demand=tuple(replace(point, type="fire") for point in city.demand),
        standards=(
            Standard("fire", "engine", 2, 1, target),
            Standard("fire", "engine", 2, 2, 2.0 * target),
            Standard("fire", "ladder", 1, 1, 1.5 * target),
        ),
    )


def departments(incidents: int = 2_000_000, tries: int = 3) -> Iterator[Row]:
    """Incidents per second on one thread, each with both kinds simulated, and exact means inside their intervals."""
    city = department_city()
    problems = {kind: runcard.dispatch_problem(city, kind=kind, minutes=False) for kind in city.kinds}
    for name in ("closest-first", "optimal"):
        policy = {kind: runcard.solve_problem(problem, name) for kind, problem in problems.items()}
        plan = plan_of(city, policy)
        simulate_plans(city, [plan], incidents=3200, threads=1)
        rates = []
        for _ in range(tries):
            began = time.perf_counter()
            found = simulate_plans(city, [plan], incidents=incidents, threads=1)
            rates.append(incidents / (time.perf_counter() - began))
        for kind, simulation in found.kinds.items():
            misses = simulation.policies[0].misses
            interval = ratio_interval(misses.weights, misses.incidents, level=0.9999)
            assert interval.low <= runcard.evaluate(policy[kind]).cost <= interval.high, (name, kind)
        rate = statistics.median(rates)
        yield Row(
            f"simulated incidents of {name}, 13 engines + 7 ladders x 400, one thread",
            f"{rate / 1e6:.2f} million a second (best {max(rates) / 1e6:.2f})",
            ">= 0.7 million a second",
            rate >= 7e5,
        )


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def exact_ones() -> Iterator[Row]:
    """Two exact problems one after the other beside each alone, in turns; their bounds add up to the department's."""
    city = department_city()
    problems = {kind: runcard.dispatch_problem(city, kind=kind) for kind in city.kinds}
    alone: dict[str, list[float]] = {kind: [] for kind in problems}
    both = []
    for _ in range(TRIES):
        for kind, problem in problems.items():
            alone[kind].append(_seconds(lambda problem=problem: runcard.solve_problem(problem)))
        both.append(_seconds(lambda: [runcard.solve_problem(problem) for problem in problems.values()]))
    ratio = min(both) / sum(min(times) for times in alone.values())
    certificates = [runcard.solve_problem(problem).certificate for problem in problems.values()]
    assert all(one is not None and one.converged for one in certificates)
    yield Row(
        "13 engines and 7 ladders x 400, both exact problems",
        f"{1000.0 * min(both):.0f} ms, {ratio:.3f} times the sum of each alone",
        "<= 1.05 times",
        ratio <= 1.05,
    )


def decisions() -> Row:
    """Microseconds for a decision with two kinds, from a file; the same units as before it was written."""
    city = department_city()
    solved = {
        kind: runcard.solve_problem(runcard.dispatch_problem(city, kind=kind, arrivals=True)) for kind in city.kinds
    }
    before = plan_of(city, solved)
    with tempfile.TemporaryDirectory() as folder:
        loaded = load(save(before, Path(folder) / "city.policy"))
    idle = frozenset(loaded.unit_ids[1:])
    nodes = [point.node_id for point in city.demand]
    assert all(
        loaded.decide(Situation(at=one, type="fire", idle=idle)).units
        == before.decide(Situation(at=one, type="fire", idle=idle)).units
        for one in nodes
    )
    times = [
        _seconds(lambda: [loaded.decide(Situation(at=one, type="fire", idle=idle)) for one in nodes]) / len(nodes)
        for _ in range(TRIES)
    ]
    middle = 1e6 * statistics.median(times)
    return Row("a decision of 13 engines and 7 ladders, loaded", f"{middle:.0f} µs", "<= 95 µs", middle <= 95.0)
