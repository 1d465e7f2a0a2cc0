"""The simulation of the paper's model (with `kernels/run` and `rules`) against the exact solver, SimPy and formulas."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import stdtrit
from tests.weeks import with_days

import runcard
from runcard.city import City, Objective
from runcard.errors import InputError
from runcard.plan.plan import solve
from runcard.policy.ahead_rule import AheadRule
from runcard.policy.base import Policy
from runcard.policy.by_function import FunctionPolicy
from runcard.simulate import engine, rules
from runcard.simulate.engine import simulate_plans
from runcard.simulate.result import SimulatedPolicy
from runcard.simulate.rules import ArrayRule, HourlyAhead
from runcard.simulate.scenario import Scenario, read_scenario

from .cases import (
    POLICIES,
    assert_same_batches,
    department_of,
    department_policies,
    holds,
    late_fractions,
    plan_by_kind,
    policies_of,
    records_of,
    simulated,
    small_city,
    street,
)
from .reference_simpy import Decide, Department

NUM_CITIES = 5


def random_city(number: int) -> City:
    """A city of 3 to 6 trucks at a load of 0.05 to 0.4; every fifth has two trucks at each of its stations."""
    rng = np.random.default_rng(number)
    paired = number % 5 == 4
    return runcard.generate_grid(
        side=int(rng.integers(5, 7)),
        num_stations=3 if paired else int(rng.integers(3, 7)),
        trucks_per_station=2 if paired else 1,
        load=float(rng.uniform(0.05, 0.4)),
        shared_delay=(0.0, 0.5, 1.0)[number % 3],
        gamma=0.35,
        seed=number,
    )


@pytest.mark.slow
def test_the_exact_late_fraction_lies_in_the_interval() -> None:
    """For 5 cities x 4 policies, 99 % intervals hold the exact late fraction and minutes, but for the odd city."""
    # Policies meet the same incidents, so that the four of a city often miss together.
    late_misses = minutes_misses = 0
    for number in range(NUM_CITIES):
        city = random_city(number)
        policies = policies_of(city, POLICIES)
        exact = [runcard.evaluate(policy, threads=1) for policy in policies]
        rarest = min(evaluation.late_fraction for evaluation in exact)
        # Incidents soon after each other share their luck, the more so the busier the trucks are.
        incidents = int(15_000 * (1.0 + 4.0 * city.load) * (1.0 - rarest) / rarest)
        found = simulated(city, policies, incidents=incidents, seed=number)
        for evaluation, result in zip(exact, found.policies, strict=True):
            first_means = [batch.first_mean for batch in result.batches]
            assert evaluation.mean_response_minutes is not None
            assert result.late_fraction.half < 0.02 * result.late_fraction.value
            assert holds(late_fractions(result), evaluation.late_fraction, 0.9999)
            assert holds(first_means, evaluation.mean_response_minutes, 0.9999)
            late_misses += not holds(late_fractions(result), evaluation.late_fraction, 0.99)
            minutes_misses += not holds(first_means, evaluation.mean_response_minutes, 0.99)
    assert late_misses <= 3
    assert minutes_misses <= 3


def asked(policy: Policy) -> Decide:
    """A policy as SimPy asks it."""
    ids = {station: i for i, station in enumerate(policy.problem.station_ids)}

    def decide(idle: Sequence[int], point: int) -> list[int]:
        return [ids[name] for name in policy.decide(np.array(idle), point).team if name in ids]

    return decide


def assert_alike(ours: Sequence[float], others: Sequence[float], what: str) -> None:
    """Assert that two means over independent batches differ by no more than their 99.9 % interval."""
    ours, others = np.asarray(ours), np.asarray(others)
    error = np.hypot(ours.std(ddof=1) / np.sqrt(len(ours)), others.std(ddof=1) / np.sqrt(len(others)))
    limit = stdtrit(min(len(ours), len(others)) - 1, 0.9995) * error
    assert abs(ours.mean() - others.mean()) <= limit, what


def by_station(result: SimulatedPolicy, city: City, i: int) -> list[float]:
    """The mean busy fraction of the trucks of a station, by batch."""
    of = np.repeat(np.arange(len(city.stations)), [station.trucks for station in city.stations])
    return [float(batch.busy_minutes[of == i].mean() / batch.minutes) for batch in result.batches]


@pytest.mark.parametrize(
    ("name", "given", "changes"),
    [
        ("closest-first", {"shared_delay": 0.0}, {}),
        ("optimal", {"shared_delay": 0.5, "trucks_per_station": 2, "num_stations": 3}, {}),
        ("fixed-card", {"shared_delay": 1.0, "load": 0.4}, {}),
        ("closest-first", {"shared_delay": 1.0}, {"trucks_per_incident": 3, "arrivals_per_incident": 2}),
    ],
)
def test_simpy_agrees(name: str, given: dict[str, float], changes: dict[str, int]) -> None:
    """A plain SimPy implementation finds the same late fraction, minutes, busy fractions and dispatches."""
    city = replace(small_city(**given), **changes)
    policy = policies_of(city, [name])[0]
    decide = cache(asked(policy))
    others = Department(city, decide, seed=1).run(num_batches=30, batch_incidents=400, warm_incidents=400)
    ours = simulated(city, [policy], incidents=100_000).policies[0]
    assert_alike(late_fractions(ours), others.late_fractions, "late fraction")
    assert_alike([batch.first_mean for batch in ours.batches], others.first_means, "first arrival")
    assert_alike([batch.last_mean for batch in ours.batches], others.last_means, "last arrival")
    for i in range(len(city.stations)):
        theirs = [float(fractions[i]) for fractions in others.busy_fractions]
        assert_alike(by_station(ours, city, i), theirs, f"busy fraction of station {i}")
    sent = [float(batch.dispatches.sum() / batch.incidents) for batch in ours.batches]
    assert_alike(sent, [float(sent.sum() / 400) for sent in others.dispatches], "dispatches")


def idle_parts(result: SimulatedPolicy) -> np.ndarray:
    """[batch, trucks + 1] the part of the time with each number of idle trucks."""
    return np.array([batch.idle_minutes / batch.idle_minutes.sum() for batch in result.batches])


@pytest.mark.parametrize("given", [{"load": 0.1}, {"load": 0.8}, {"num_stations": 2, "trucks_per_station": 3}])
def test_the_number_of_idle_trucks_is_distributed_as_it_must_be(given: dict[str, float]) -> None:
    """Whatever the policy, the time with n idle trucks is that of the birth and death chain."""
    city = small_city(**given)
    policies = policies_of(city, ["closest-first", "optimal"])
    exact = policies[0].problem.levels.idle_distribution
    for result in simulated(city, policies, incidents=100_000).policies:
        parts = idle_parts(result)
        assert result.idle_chances == pytest.approx(parts.mean(axis=0), abs=1e-3)
        for n, chance in enumerate(exact):
            assert holds(parts[:, n], float(chance))


def test_a_longer_run_begins_with_other_batches_of_the_same_incidents() -> None:
    """A batch of a longer run begins with the very incidents that the same batch of a shorter one has."""
    city = small_city()
    policies = policies_of(city)
    short, long = (records_of(city, policies, incidents=incidents)["closest-first"] for incidents in (320, 3_200))
    assert np.array_equal(short.reshape(32, 10), long.reshape(32, 100)[:, :10])


def test_policies_meet_the_same_incidents_and_delays() -> None:
    """Two policies have the same incidents, and the same arrivals at those to which both send the same trucks."""
    city = small_city(load=0.3, shared_delay=0.5)
    one, other = records_of(city, policies_of(city, ["closest-first", "optimal"]), incidents=20_000).values()
    assert np.array_equal(one["minutes"], other["minutes"])
    assert np.array_equal(one["point"], other["point"])
    same = (np.sort(one["stations"], axis=1) == np.sort(other["stations"], axis=1)).all(axis=1)
    assert 0.2 < same.mean() < 1.0
    for name in ("first", "last", "late", "outside"):
        assert np.array_equal(one[name][same], other[name][same]), name


def test_differences_vary_less_than_policies_do() -> None:
    """The paired difference of two policies has a far smaller interval than one of independent runs would have."""
    city = small_city(load=0.1)
    policies = policies_of(city, ["closest-first", "optimal"])
    found = simulated(city, policies, incidents=64_000)
    apart = np.hypot(found.policies[0].late_fraction.half, found.policies[1].late_fraction.half)
    assert found.fewer_late(1).half < 0.4 * apart
    exact = [runcard.evaluate(policy, threads=1).late_fraction for policy in policies]
    fewer = late_fractions(found.policies[0]) - late_fractions(found.policies[1])
    assert holds(fewer, exact[0] - exact[1])
    gain = found.improvement(1)
    assert gain.low - gain.half <= 1.0 - exact[1] / exact[0] <= gain.high + gain.half


def test_nobody_late_is_not_precise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is ever late, a relative precision is never met: the run ends at its limit and says so."""
    monkeypatch.setattr(engine, "MOST_BATCHES", 80)
    monkeypatch.setattr(engine, "BATCH_INCIDENTS", 100)
    city = small_city(gamma=50.0)
    found = simulate_plans(city, [solve(city, "closest-first")], precision=0.01, threads=1)
    assert not found.precise
    assert found.missed(0).value == found.improvement(0).value == 0.0


@pytest.mark.parametrize("incidents", [1, 31, 33, 1000])
def test_as_many_incidents_as_asked_for(incidents: int) -> None:
    """So many incidents are simulated as were asked for, also if they are few."""
    city = small_city()
    found = simulated(city, policies_of(city), incidents=incidents).policies[0]
    assert found.num_incidents == incidents
    assert 0.0 <= found.late_fraction.low <= found.late_fraction.value <= found.late_fraction.high <= 1.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"incidents": 0}, "expected 1 to 10,000,000,000 incidents, got 0"),
        ({"incidents": 10, "precision": 0.1}, "expected a number of incidents or a precision, got both"),
        ({"precision": 0.0}, "expected a precision from 0.00001 up to less than 1, got 0.0"),
        ({"incidents": 10, "threads": 0}, "expected threads >= 1, got 0"),
        ({"incidents": 10, "seed": -1}, "expected a seed from 0 to 9223372036854775807, got -1"),
        ({"incidents": 10, "scenario": "evning"}, "did you mean evening?"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(given: dict[str, float], words: str) -> None:
    """Arguments that mean nothing are refused in words."""
    city = small_city()
    with pytest.raises(InputError) as caught:
        simulated(city, policies_of(city), **given)
    assert words in str(caught.value)


def test_scenarios_that_a_city_does_not_allow_are_told_apart() -> None:
    """Each scenario is possible, or has a reason why not, and both keep their order."""
    city = street([1.0, 2.0], [0], [2], incidents_per_day=12.0, trucks_per_incident=1)
    one_way = replace(city, links=tuple(replace(link, directed=True) for link in city.links))
    scenarios = [read_scenario(name) for name in ("paper", "redirect", "evening")]
    assert engine.possible_scenarios(city, scenarios) == (scenarios, [])
    possible, others = engine.possible_scenarios(one_way, scenarios)
    assert [one.name for one in possible] == ["paper", "evening"]
    assert [name for name, _ in others] == ["redirect"]


def test_no_plan_and_a_plan_of_another_city_are_refused() -> None:
    """There must be a plan, with a policy for every kind of this city: of its stations, trucks, points and needs."""
    city = small_city()
    with pytest.raises(InputError, match="expected at least one policy"):
        simulate_plans(city, [], incidents=10)
    for other in (
        small_city(num_stations=3),
        small_city(side=6),
        small_city(trucks_per_station=2),
        replace(city, trucks_per_incident=1),
    ):
        with pytest.raises(InputError, match="optimal: expected what was made for the stations and demand"):
            simulated(city, policies_of(other, ["optimal"]), incidents=10, other_city=True)
    department = department_of()
    (whole,) = department_policies(department)
    for given, words in (({"engine": whole["engine"]}, "engine"), ({}, "none")):
        with pytest.raises(InputError) as caught:
            simulate_plans(department, [plan_by_kind(whole), plan_by_kind(given)], incidents=10)
        assert str(caught.value) == (
            f"plan 2: expected a policy for each kind that incidents of {department.name} need (engine, ladder), "
            f"got {words}"
        )
    swapped = plan_by_kind({"engine": whole["ladder"], "ladder": whole["engine"]})
    with pytest.raises(InputError, match="expected what was made for the stations and demand points"):
        simulate_plans(department, [swapped], incidents=10)


def test_a_policy_of_another_city_with_the_same_stations() -> None:
    """Other rates, targets or roads make another city: its policy is refused, unless it is asked for."""
    city = small_city()
    busier = tuple(replace(point, incidents_per_day=2.0 * point.incidents_per_day) for point in city.demand)
    for other in (replace(city, demand=busier), replace(city, target_minutes=9.0), replace(city, shared_delay=0.25)):
        policies = policies_of(other, ["optimal"])
        with pytest.raises(InputError, match=r"optimal: expected what was made for .* as it is now"):
            simulated(city, policies, incidents=10)
        assert simulated(city, policies, incidents=10, other_city=True).policies[0].num_incidents == 10
    policies = policies_of(replace(city, objective=Objective("minutes")), ["optimal"])
    assert simulated(city, policies, incidents=10).policies[0].num_incidents == 10
    together = replace(city, driving=replace(city.driving, model="gamma", cv=0.5))
    scenario = Scenario("gamma", driving=(("model", "gamma"), ("cv", 0.5)))
    assert simulated(city, policies_of(together, ["optimal"]), scenario, incidents=10).policies


@pytest.mark.usefixtures("coarse_values")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["one-step-mean-field", "one-step-queueing"])
def test_a_policy_is_asked_or_has_a_table_as_it_is_quicker(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For few incidents it is asked, for many it has the values of every state, and it decides the same both ways."""
    monkeypatch.setattr(engine, "NUM_BATCHES", 4)
    city = runcard.generate_grid(side=4, num_stations=10, load=0.3, seed=2)
    problem = runcard.dispatch_problem(city, minutes=False)
    found = []
    policy = runcard.solve_problem(problem, name, threads=1)
    assert not isinstance(rules.array_rule(policy, 30.0), ArrayRule)
    with monkeypatch.context() as patched:
        patched.setattr(type(policy), "states_per_decision", 0)
        found.append(records_of(city, [policy], incidents=64)[name])
    assert "rule" not in vars(policy)
    assert isinstance(rules.array_rule(policy, 1e6), ArrayRule)
    found.append(records_of(city, [policy], incidents=64)[name])
    # What is known is used, however few decisions there are.
    assert isinstance(rules.array_rule(policy, 1.0), ArrayRule)
    for records in found:
        records["stations"].sort(axis=1)
    assert np.array_equal(*found)


@pytest.mark.slow
def test_policies_are_made_ready_for_all_scenarios() -> None:
    """A table that is not worth it for one simulation can be for ten, and is there before they begin."""
    city = runcard.generate_grid(side=4, num_stations=10, load=0.3, seed=2)
    problem = runcard.dispatch_problem(city, minutes=False)
    heard: list[str] = []
    for times, known in ((1, False), (100, True)):
        policies = [runcard.solve_problem(problem, one, threads=1) for one in ("closest-first", "one-step-mean-field")]
        engine.prepare_policies(city, policies, incidents=1, times=times, begin=heard.append)
        assert ("rule" in vars(policies[1])) == known
    assert heard[:2] == ["closest-first in every state", "one-step-mean-field in every state"]


def test_as_many_decisions_are_expected_as_there_will_be() -> None:
    """A simulation asks for about as many decisions as were expected, the first of each batch included."""
    city = small_city()
    asked = 0

    def choose(idle: np.ndarray, point: int, teams: np.ndarray) -> int:
        nonlocal asked
        asked += 1
        return int(teams[0])

    class Asked(FunctionPolicy):
        def in_bulk(self, decisions: float) -> None:
            """It is asked."""

    policy = Asked(name="first", problem=runcard.dispatch_problem(city), choose=choose)
    vars(policy)["_values"] = None  # so that no prices are looked for
    for incidents in (10, 100, 2000):
        asked = 0
        simulated(city, [policy], incidents=incidents)
        assert asked == pytest.approx(engine.expected_decisions(city, incidents, None), rel=0.1)
    assert engine.expected_decisions(city, None, None) < engine.expected_decisions(city, None, 0.001)


@pytest.mark.usefixtures("coarse_values")
@pytest.mark.slow
def test_decisions_in_kernels_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that looks ahead in kernels gives the records of the same policy asked one by one, in any scenario.

    On two threads it gives the batches of one, and closest-first beside it what it gives alone.
    """
    monkeypatch.setattr(engine, "NUM_BATCHES", 2)
    city = runcard.generate_grid(side=6, num_stations=26, load=0.3, gamma=0.2, seed=3, shared_delay=0.0)
    needs = tuple(replace(point, trucks=1 + n % 3) for n, point in enumerate(city.demand))
    city = replace(city, demand=needs)
    problem = runcard.dispatch_problem(city, minutes=False)
    policies = [runcard.solve_problem(problem, name, threads=1) for name in ("closest-first", "one-step-mean-field")]
    assert isinstance(rules.array_rule(policies[1], 1000.0), AheadRule)
    for scenario in ("paper", "redirect+turn-back+breakdowns"):
        compiled = records_of(city, policies, scenario, incidents=64)
        with monkeypatch.context() as patched:
            patched.setattr(engine, "fleet_rule", lambda fleet, decisions: None)
            for name, records in records_of(city, policies, scenario, incidents=64).items():
                for given in (records, compiled[name]):
                    given["stations"].sort(axis=1)
                assert np.array_equal(records, compiled[name]), name
    one, two = (simulated(city, policies, incidents=128, threads=threads) for threads in (1, 2))
    alone = simulated(city, policies[:1], incidents=128)
    for number in range(2):
        assert_same_batches(one.policies[number], two.policies[number])
    assert_same_batches(one.policies[0], alone.policies[0])


@pytest.mark.usefixtures("coarse_values")
@pytest.mark.slow
def test_decisions_in_kernels_switch_with_the_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that looks ahead and knows the hour gives the records of the same policy asked one by one."""
    monkeypatch.setattr(engine, "NUM_BATCHES", 2)
    city = with_days(runcard.generate_grid(side=6, num_stations=26, load=0.3, gamma=0.2, seed=3), day=1.55, night=0.1)
    policy = solve(city, "one-step-mean-field", threads=1).fleet("truck")
    assert isinstance(engine.fleet_rule(policy, 1000.0), HourlyAhead)
    (compiled,) = records_of(city, [policy], incidents=240).values()
    with monkeypatch.context() as patched:
        patched.setattr(engine, "fleet_rule", lambda fleet, decisions: None)
        (asked,) = records_of(city, [policy], incidents=240).values()
    for given in (asked, compiled):
        given["stations"].sort(axis=1)
    assert np.array_equal(asked, compiled)
    hours = engine.week_hour_at(0.0) + (compiled["minutes"] // 60.0).astype(int) % 24
    assert 0 < np.isin(hours, range(7, 22)).sum() < len(hours)  # both periods were met


PEAK = """
import runcard

city = runcard.generate_grid(side=5, num_stations=4, load=0.2, seed=1)
plan = runcard.solve(city, "optimal", threads=1)
for incidents in (50_000, 500_000):
    runcard.simulate_plans(city, [plan], incidents=incidents, threads=1)
    print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of memory from /proc")
def test_memory_does_not_grow() -> None:
    """Ten times as many incidents take no more memory, also after the others."""
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    few, many = map(int, done.stdout.split())
    assert many - few < 5 * 1024
