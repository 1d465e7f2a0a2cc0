"""What a program hands to other processes arrives there: cities, problems, policies, departments, and errors."""

import copy
import multiprocessing
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from tests.departments import grid_department
from tests.weeks import with_days

import runcard
from runcard import DispatchProblem, Policy
from runcard.city import City
from runcard.errors import CityError
from runcard.plan.plan import Plan, solve
from runcard.plan.situation import Situation
from runcard.policy.by_function import FunctionPolicy
from runcard.policy.run_card import make_run_cards
from runcard.policy.solve import POLICY_NAMES

CITY = runcard.generate_grid(side=4, num_stations=4, load=0.3, seed=2)
COPIES: dict[str, Callable[[Any], Any]] = {
    **{f"pickle {n}": lambda one, n=n: pickle.loads(pickle.dumps(one, n)) for n in (2, 4, 5)},  # type: ignore[misc]
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.fixture(scope="module")
def problem() -> DispatchProblem:
    """A problem with everything that a problem can have, and that was used."""
    problem = runcard.dispatch_problem(CITY, arrivals=True)
    runcard.evaluate(runcard.solve_problem(problem, "closest-first"))
    return problem


def of_name(problem: DispatchProblem, name: str) -> Policy:
    """The policy of a name, with all that it finds out when it is asked."""
    policy: Policy
    if name == "run cards":
        policy = make_run_cards(runcard.solve_problem(problem, "optimal"))
    elif name == "function":
        policy = FunctionPolicy(name=name, problem=problem, choose=first_team)
    else:
        policy = runcard.solve_problem(problem, name)
    policy.in_bulk(1e9)
    policy.prices(problem.trucks, np.array([1]))
    return policy


def first_team(idle: np.ndarray, point: int, teams: np.ndarray) -> int:  # type: ignore[type-arg]
    """The team with the lowest number."""
    return int(teams[0])


def says_the_same(one: Policy, other: Policy) -> bool:
    """Whether two policies decide alike in every fifth state, are worth the same, and keep the same in a file."""
    trucks = one.problem.trucks
    states = [np.array(idle) for idle in np.ndindex(tuple(trucks + 1))][::5]
    alike = all(repr(one.decide(idle, j)) == repr(other.decide(idle, j)) for idle in states for j in (0, 5, 15))
    return alike and runcard.evaluate(one).late_fraction == runcard.evaluate(other).late_fraction


@pytest.mark.parametrize("way", COPIES)
def test_a_problem_arrives_as_it_was(problem: DispatchProblem, way: str) -> None:
    """Its arrays, which still nobody can write to, its measures, its source and fingerprint, and its percentiles."""
    again = COPIES[way](problem)
    assert (again.fingerprint, again.source) == (problem.fingerprint, problem.source)
    assert again.measures["late"] is again.cost
    for name in ("trucks", "incidents_per_day", "trucks_needed", "cost", "order"):
        np.testing.assert_array_equal(getattr(again, name), getattr(problem, name))
        with pytest.raises(ValueError, match="read-only"):
            getattr(again, name)[...] = 0
    for mine, theirs in ((again.measures, problem.measures), (again.p90_minutes, problem.p90_minutes)):
        assert list(mine) == list(theirs)
        assert all(np.array_equal(mine[name], theirs[name]) for name in theirs)
        with pytest.raises(TypeError):
            mine["late"] = None
    expected = runcard.evaluate(runcard.solve_problem(problem)).p90_minutes
    assert runcard.evaluate(runcard.solve_problem(again)).p90_minutes == expected


def test_a_problem_made_by_hand_arrives_without_a_source(problem: DispatchProblem) -> None:
    """Where nobody knows what it was made from, it is told by its arrays, there as here."""
    other = replace(problem, returns_per_day=30.0)
    again = pickle.loads(pickle.dumps(other))
    assert again.source is None
    assert again.fingerprint == other.fingerprint


@pytest.mark.parametrize("name", [*POLICY_NAMES, "run cards", "function"])
def test_a_policy_arrives_as_it_was(problem: DispatchProblem, name: str) -> None:
    """Every policy decides and is worth the same there, with the same certificate and the same problem."""
    policy = of_name(problem, name)
    for copied in COPIES.values():
        again = copied(policy)
        assert (type(again), again.name, again.reason) == (type(policy), policy.name, policy.reason)
        assert again.certificate == policy.certificate
        assert again.problem.fingerprint == problem.fingerprint
        assert says_the_same(policy, again)


@pytest.mark.parametrize("policy", ["closest-first", "one-step-mean-field"])
def test_plans_arrive_as_they_were(policy: str) -> None:
    """A plan of days and nights that has decided, also at an address with a unit on the road, decides alike there."""
    plan = solve(with_days(grid_department(side=4, engines=4, ladders=2)), policy)
    situations = [
        Situation(at="n5", type="fire", idle={"E02", "T01"}, time=3),
        Situation(at="n5", type="fire", idle={"E01"}, time=12),
        Situation(at=(1.2, 0.1), type="fire", idle=set(plan.unit_ids), moved={"E02": (0.3, 1.1)}, time=12),
    ]
    expected = [plan.decide(situation) for situation in situations]
    for copied in COPIES.values():
        again: Plan = copied(plan)
        found = [again.decide(situation) for situation in situations]
        assert [answer.units for answer in found] == [answer.units for answer in expected]
        for one, other in zip(found[:2], expected[:2], strict=True):
            assert [kind.decision for kind in one.kinds] == [kind.decision for kind in other.kinds]
        assert [copied(answer).units for answer in expected] == [answer.units for answer in expected]
        fleet, other_fleet = plan.fleet("engine"), copied(plan.fleet("engine"))
        assert all(says_the_same(fleet.at_hour(hour), other_fleet.at_hour(hour)) for hour in (3, 12))


def test_what_was_loaded_from_a_file_goes_on(tmp_path: Path) -> None:
    """A department of a file, which knows its city only when it is asked for a place, decides the same elsewhere."""
    department = runcard.solve(grid_department(side=4, engines=4, ladders=2), "one-step-mean-field")
    loaded = runcard.load(department.save(tmp_path / "town.policy"))
    again = pickle.loads(pickle.dumps(loaded))
    expected = department.decide(Situation(at=(1.2, 0.1), type="fire", idle={"E01", "T02"}))
    found = again.decide(Situation(at=(1.2, 0.1), type="fire", idle={"E01", "T02"}))
    assert [kind.decision for kind in found.kinds] == [kind.decision for kind in expected.kinds]


def worth(policy: Policy) -> tuple[Policy, float]:
    """What a worker does: the policy, there and back, and what it is worth."""
    return policy, runcard.evaluate(policy, threads=1).late_fraction


def wrong_city(city: City) -> City:
    """What a worker does that meets a mistake."""
    return replace(city, busy_minutes=-1.0)


Map = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Does some work on each of some items, in order."""


@contextmanager
def executor() -> Iterator[Map]:
    """A `ProcessPoolExecutor`."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield lambda work, items: [*pool.map(work, items, timeout=120.0)]


@contextmanager
def pool() -> Iterator[Map]:
    """A `multiprocessing.Pool`, which waited for ever for an error that could not be made again."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield lambda work, items: pool.map_async(work, items).get(timeout=120.0)


@contextmanager
def jobs() -> Iterator[Map]:
    """The processes of joblib, where larger arrays arrive as mapped files: here the costs."""
    yield lambda work, items: joblib.Parallel(2, max_nbytes=1000)(joblib.delayed(work)(item) for item in items)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [executor, pool, jobs])
def test_other_processes_work_with_policies_and_report_mistakes(problem: DispatchProblem, workers: Any) -> None:
    """Policies go there and come back worth the same, and a `CityError` comes back with its faults."""
    policies = [runcard.solve_problem(problem, name) for name in ("closest-first", "optimal", "one-step-mean-field")]
    with workers() as each:
        for policy, (again, late) in zip(policies, each(worth, policies), strict=True):
            assert late == runcard.evaluate(policy).late_fraction
            assert says_the_same(policy, again)
        with pytest.raises(CityError) as caught:
            each(wrong_city, [CITY])
    assert caught.value.faults == ("expected busy_minutes > 0, got -1.0",)
