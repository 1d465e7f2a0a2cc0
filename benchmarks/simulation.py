"""How quickly policies are simulated, beside SimPy in the same run, and whether exact late fractions are found."""

import statistics
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from tests.simulate.cases import simulated
from tests.simulate.reference_simpy import Department, closest_first

import runcard
from benchmarks.cases import GRID_SEED, THREADS, Row
from benchmarks.heuristics import peak_gib
from runcard.city.model import City
from runcard.policy.ahead import AheadPolicy
from runcard.policy.base import Policy
from runcard.simulate.engine import expected_decisions
from runcard.simulate.result import interval_of, ratio_interval

CITIES = 20
POLICIES = ("closest-first", "one-step", "optimal", "fixed-card")


def large_city() -> City:
    """13 trucks and 400 demand points."""
    return runcard.generate_grid(side=20, num_stations=13, load=0.1, seed=GRID_SEED)


def speed(incidents: int = 2_000_000, tries: int = 5) -> Iterator[Row]:
    """Incidents per second on one thread, and SimPy beside it."""
    city = large_city()
    problem = runcard.dispatch_problem(city, minutes=False)
    rates = {}
    for name in ("closest-first", "optimal"):
        policy = runcard.solve_problem(problem, name)
        simulated(city, [policy], incidents=3200, threads=1)
        found = []
        for _ in range(tries):
            began = time.perf_counter()
            simulated(city, [policy], incidents=incidents, threads=1)
            found.append(incidents / (time.perf_counter() - began))
        rates[name] = statistics.median(found)
        yield Row(
            f"simulated incidents of {name}, 13 x 400, one thread",
            f"{rates[name] / 1e6:.2f} million a second (best {max(found) / 1e6:.2f})",
            ">= 1 million a second",
            rates[name] >= 1e6,
        )
    short, long = (_simpy_seconds(city, num) for num in (1000, 6000))  # both find the routes first
    rate = 5000 / (long - short)
    times = rates["closest-first"] / rate
    yield Row("  SimPy beside it", f"{rate:,.0f} a second: {times:,.0f} times", ">= 100 times", times >= 100)


def city_of_engines() -> City:
    """44 engines, as many as in San Francisco, and 540 demand rows: 180 nodes whose incidents need 1, 2 or 3."""
    city = runcard.generate_grid(side=14, num_stations=44, load=0.1, gamma=0.12, shared_delay=0.0, seed=GRID_SEED)
    nodes = city.demand[:180]
    scale = city.incidents_per_day / sum(point.incidents_per_day for point in nodes) / 3
    rows = (
        replace(point, type=f"{needed} engines", trucks=needed, incidents_per_day=scale * point.incidents_per_day)
        for point in nodes
        for needed in (1, 2, 3)
    )
    return replace(city, demand=tuple(rows))


class AskedPolicy(AheadPolicy):
    """One-step-mean-field that has to be asked for each decision."""

    def in_bulk(self, decisions: float) -> None:
        """There is no rule."""


def looking_ahead(incidents: int = 40_000, asked_incidents: int = 640, tries: int = 5) -> Iterator[Row]:
    """Incidents per second of a policy that computes every decision, and that each is the one of `decide`."""
    city = city_of_engines()
    problem = runcard.dispatch_problem(city, minutes=False)
    policy = runcard.solve_problem(problem, "one-step-mean-field", threads=THREADS)
    assert isinstance(policy, AheadPolicy)
    records: list[list[NDArray[np.void]]] = []
    seconds = 0.0
    for one in (policy, AskedPolicy(name="asked", problem=problem, values=policy.values)):
        kept: list[NDArray[np.void]] = []
        simulated(city, [one], incidents=1, threads=1)
        began = time.perf_counter()
        simulated(
            city,
            [one],
            incidents=asked_incidents,
            keep_records=lambda name, number, found, to=kept: to.append(found.copy()),
        )
        seconds = time.perf_counter() - began
        records.append(kept)
    for left, right in zip(*records, strict=True):
        for found in (left, right):
            found["stations"].sort(axis=1)  # a team is the same in any order
        assert np.array_equal(left, right)
    asked = expected_decisions(city, asked_incidents, None) / seconds
    rates = []
    for _ in range(tries):
        began = time.perf_counter()
        simulated(city, [policy], incidents=incidents, threads=THREADS)
        rates.append(incidents / (time.perf_counter() - began))
    rate = statistics.median(rates)
    yield Row(
        f"simulated incidents of one-step-mean-field, 44 x {problem.num_points}, {THREADS} threads",
        f"{rate:,.0f} a second (best {max(rates):,.0f}; asked one by one {asked:,.0f}: {rate / asked:.0f} times)",
        ">= 5,000 a second",
        rate >= 5000,
    )


def _simpy_seconds(city: City, num_incidents: int) -> float:
    """The seconds that SimPy takes for some incidents, and before them."""
    began = time.perf_counter()
    Department(city, closest_first(city), 1).run(num_batches=1, batch_incidents=num_incidents, warm_incidents=0)
    return time.perf_counter() - began


def small_city(seed: int) -> City:
    """A random grid of the paper, of another size, load and sharing for each seed."""
    rng = np.random.default_rng(seed)
    return runcard.generate_grid(
        side=int(rng.integers(5, 8)),
        num_stations=int(rng.integers(3, 8)),
        load=float(rng.choice([0.1, 0.2, 0.4])),
        seed=seed,
        shared_delay=float(rng.choice([0.0, 0.5, 1.0])),
    )


def exact_ones() -> Iterator[Row]:
    """How many exact late fractions lie inside the 99 % intervals, and how wide those are."""
    inside, widest, incidents = 0, 0.0, 0
    for seed in range(CITIES):
        city = small_city(seed)
        problem = runcard.dispatch_problem(city)
        policies: list[Policy] = [runcard.solve_problem(problem, name) for name in POLICIES]
        found = simulated(city, policies, precision=0.007, seed=seed, threads=THREADS)
        for policy, result in zip(policies, found.policies, strict=True):
            interval = ratio_interval(result.late, result.incidents, level=0.99)
            inside += interval.low <= runcard.evaluate(policy).late_fraction <= interval.high
            widest = max(widest, interval.half / interval.value)
            incidents += result.num_incidents
    num = CITIES * len(POLICIES)
    yield Row(
        f"exact late fractions inside the 99 % interval, {CITIES} cities x {len(POLICIES)} policies",
        f"{inside} of {num}; intervals within {100 * widest:.2f} %, {incidents / 1e6:.0f} million incidents",
        f">= {num - 4} of {num}, within 1 %",
        inside >= num - 4 and widest <= 0.01,
    )


def memory() -> Iterator[Row]:
    """Peak memory of a short and of a long simulation."""
    short, long = (peak_gib(f"c.run_for({num})", "simulation") for num in (100_000, 10_000_000))
    yield Row(
        "memory of 0.1 and 10 million incidents, 13 x 400",
        f"{short:.3f} and {long:.3f} GiB",
        "within 0.01 GiB",
        abs(long - short) <= 0.01,
    )


def run_for(incidents: int) -> None:
    """Simulate the large city."""
    city = large_city()
    policy = runcard.solve_problem(runcard.dispatch_problem(city, minutes=False), "closest-first")
    simulated(city, [policy], incidents=incidents, threads=1)


def paired() -> Iterator[Row]:
    """How much narrower the interval of a difference is for being paired."""
    city = small_city(1)
    problem = runcard.dispatch_problem(city)
    found = simulated(
        city, [runcard.solve_problem(problem, name) for name in ("closest-first", "optimal")], incidents=640_000,
        threads=THREADS,
    )  # fmt: skip
    first, other = found.policies
    alone = [interval_of(result.late / result.incidents).half for result in (first, other)]
    times = float(np.hypot(*alone)) / found.fewer_late(1).half
    yield Row("interval of a difference, unpaired over paired", f"{times:.1f}", "told", True)


def simulation_cases(*, quick: bool) -> Iterator[Row]:
    """Every figure of the simulation; `quick` leaves out the 80 exact late fractions."""
    yield from speed()
    yield from looking_ahead()
    yield from memory()
    yield from paired()
    if not quick:
        yield from exact_ones()
