"""Small cities, their policies, and the records of a simulation, for the tests of this folder."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import runcard
from runcard.city import City, DemandPoint, Driving, Link, Node, Station
from runcard.city.model import Standard, Unit
from runcard.plan.fleet import Fleet, fleet_of
from runcard.plan.plan import Plan
from runcard.policy.base import Policy
from runcard.simulate.engine import simulate_plans
from runcard.simulate.result import Batch, KindSimulation, SimulatedPolicy, interval_of
from runcard.simulate.scenario import Scenario, built_in_names, read_scenario

POLICIES = ("closest-first", "one-step", "optimal", "fixed-card")
PLAIN_NAMES = tuple(name for name in built_in_names() if name != "busy-by-type")
"""The built-in scenarios that a city without incident types allows."""
CLOCKWORK = Driving(model="gamma", cv=0.0)
"""Driving times without randomness."""


def small_city(seed: int = 1, **given: Any) -> City:
    """A random grid of 25 nodes with four trucks, late often enough to be precise soon."""
    return runcard.generate_grid(
        **{"side": 5, "num_stations": 4, "load": 0.2, "gamma": 0.4, "shared_delay": 0.5, "seed": seed} | given
    )


def policies_of(city: City, names: Sequence[str] = ("closest-first",)) -> list[Policy]:
    """Policies for a city, by their names."""
    problem = runcard.dispatch_problem(city)
    return [runcard.solve_problem(problem, name, threads=1) for name in names]


STANDARDS = (
    Standard("fire", "engine", 2, 1, 4.0, busy_minutes=90.0),
    Standard("fire", "ladder", 1, 1, 6.0, weight=2.0),
    Standard("alarm", "engine", 1, 1, 5.0),
    Standard("fire", "engine", 2, 2, 7.0, weight=0.5),
    Standard("alarm", "ladder", 1, 1, 8.0, busy_minutes=20.0),
    Standard("medical", "engine", 1, 1, 4.0, busy_minutes=40.0),
)
"""Those of fires are not in one piece on purpose."""


def department_of(seed: int = 1, **given: Any) -> City:
    """A small city with five engines and two ladders, fires (engines and ladders), alarms (both) and medical calls."""
    plain = small_city(seed)
    types = ("fire", "alarm", "medical")
    first = plain.demand[0]
    # One node has all three types.
    demand = [replace(first, type=one, incidents_per_day=first.incidents_per_day / 3.0) for one in types]
    demand += [replace(point, type=types[n % 3]) for n, point in enumerate(plain.demand[1:])]
    homes = {"E1": "s0", "T1": "s2", "E2": "s1", "E3": "s2", "E4": "s3", "T2": "s0", "E5": "s0"}
    settings = {"busy_minutes": {"engine": 60.0, "ladder": 80.0}, "target_minutes": None, "standards": STANDARDS}
    units = tuple(Unit(one, home, "engine" if one[0] == "E" else "ladder") for one, home in homes.items())
    return replace(plain, **{**settings, "units": units, "demand": tuple(demand)} | given)


def department_policies(city: City, names: Sequence[str] = ("closest-first",)) -> list[dict[str, Policy]]:
    """Policies for every kind of a city, by their names."""
    problems = {kind: runcard.dispatch_problem(city, kind=kind) for kind in city.kinds}
    return [{kind: runcard.solve_problem(one, name, threads=1) for kind, one in problems.items()} for name in names]


def plan_by_kind(policies: Mapping[str, Policy]) -> Plan:
    """The plan of policies by kind."""
    return Plan(fleets=tuple(fleet_of(policy, kind=kind) for kind, policy in policies.items()))


def simulated(
    city: City, policies: Sequence[Policy | Fleet], scenario: Scenario | str = "paper", **options: Any
) -> KindSimulation:
    """What the units of a city of one kind do under policies, on one thread."""
    fleets = [policy if isinstance(policy, Fleet) else fleet_of(policy) for policy in policies]
    plans = [Plan(fleets=(replace(fleet, kind=city.kinds[0]),)) for fleet in fleets]
    return simulate_plans(city, plans, scenario, **{"threads": 1} | options).first


def department_records(
    city: City,
    policy: Mapping[str, Policy],
    scenario: Scenario | str = "paper",
    *,
    incidents: int = 3_200,
    seed: int = 1,
) -> list[dict[str, NDArray[np.void]]]:
    """[batch] the records of each kind under one policy."""
    kept: list[dict[str, NDArray[np.void]]] = []

    def keep(name: str, number: int, records: NDArray[np.void]) -> None:
        if len(kept) == number:
            kept.append({})
        kind = city.kinds[len(kept[number])]
        assert (records["kind"] == city.kinds.index(kind)).all()
        kept[number][kind] = records.copy()

    simulate_plans(city, [plan_by_kind(policy)], scenario, incidents=incidents, seed=seed, threads=1, keep_records=keep)
    return kept


def scenario_of(folder: Path, text: str) -> Scenario:
    """The scenario of a file with that text."""
    path = folder / "case.toml"
    path.write_text(text)
    return read_scenario(str(path))


def records_of(
    city: City,
    policies: Sequence[Policy | Fleet],
    scenario: Scenario | str = "paper",
    *,
    incidents: int,
    **options: Any,
) -> dict[str, NDArray[np.void]]:
    """The records of each policy, all batches in one array."""
    found: dict[str, list[NDArray[np.void]]] = {policy.name: [] for policy in policies}

    def keep(name: str, number: int, records: NDArray[np.void]) -> None:
        assert len(found[name]) == number
        found[name].append(records.copy())

    simulated(city, policies, scenario, incidents=incidents, keep_records=keep, **options)
    return {name: np.concatenate(parts) for name, parts in found.items()}


def holds(values: Sequence[float] | NDArray[np.float64], exact: float, level: float = 0.9999) -> bool:
    """Whether the interval of a mean of independent values has a number in it."""
    found = interval_of(values, level)
    return found.low <= exact <= found.high


def assert_same_batches(one: SimulatedPolicy, other: SimulatedPolicy) -> None:
    """Assert that two results are of the same batches, bit for bit."""
    assert len(one.batches) == len(other.batches)
    for left, right in zip(one.batches, other.batches, strict=True):
        for field in fields(Batch):
            assert np.array_equal(getattr(left, field.name), getattr(right, field.name)), field.name


def late_fractions(result: SimulatedPolicy) -> NDArray[np.float64]:
    """[batch] the part of the incidents that is late."""
    return np.array([batch.late / batch.incidents for batch in result.batches])


def street(
    minutes: Sequence[float],
    stations: Sequence[int],
    demand: Sequence[int],
    *,
    incidents_per_day: float = 1.0,
    **given: Any,
) -> City:
    """A street of links of these minutes, with trucks and demand points at some of its nodes."""
    trucks = given.pop("trucks", [1] * len(stations))
    return City(
        **{"name": "street", "busy_minutes": 60.0, "target_minutes": 5.0} | given,
        nodes=tuple(Node(f"n{place}", float(place), 0.0) for place in range(len(minutes) + 1)),
        links=tuple(Link(f"e{place}", f"n{place}", f"n{place + 1}", False, mean) for place, mean in enumerate(minutes)),
        stations=tuple(Station(f"s{i}", f"n{place}", trucks[i]) for i, place in enumerate(stations)),
        demand=tuple(DemandPoint(f"n{place}", incidents_per_day) for place in demand),
    )
