"""Periods in the simulation: rates that follow the clock, and policies that switch with it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.stats import chi2
from tests.mdp.reference import Dense
from tests.weeks import ALL_WEEK, DAY, NIGHT, with_days, with_days_by_type

import runcard
from runcard.city import City, Period
from runcard.errors import InputError
from runcard.plan.fleet import Fleet, fleet_of
from runcard.plan.plan import problems_of_periods
from runcard.policy.base import Policy
from runcard.policy.by_function import FunctionPolicy
from runcard.simulate.environment import DispatchEnv
from runcard.simulate.kernels.day import week_hour_at
from runcard.simulate.rules import fleet_rule
from runcard.simulate.scenario import Scenario

from .cases import (
    department_of,
    department_policies,
    department_records,
    holds,
    late_fractions,
    policies_of,
    records_of,
    simulated,
    small_city,
)


def hours_of(records: NDArray[np.void]) -> NDArray[np.int64]:
    """The hour of the week of each record; what is measured begins on a Monday."""
    return (records["minutes"] % 10080.0 / 60.0).astype(np.int64)


def hourly(city: City, name: str = "optimal") -> Fleet:
    """The policy of a city of one kind that knows the hour."""
    problems = problems_of_periods(city, runcard.dispatch_problem(city))
    policies = tuple(runcard.solve_problem(one, name, threads=1) for one in problems.values())
    return fleet_of(*policies, periods=city.periods)


def test_hours_of_the_week_count_from_monday() -> None:
    """Minute 0 is Monday 0:00, weeks follow one another, and a moment before the first is Sunday night."""
    found = [week_hour_at(minutes) for minutes in (0.0, 59.9, 60.0, 10079.9, 10080.0, -1.0, -1e-13)]
    assert found == [0, 0, 1, 167, 0, 167, 0]


def test_types_have_rates_of_their_own() -> None:
    """With rates by type, the counts of each type in each period fit that type's rates (chi-squared, level 1e-4)."""
    city = with_days_by_type(department_of(), ("fire", "alarm", "medical"))
    (policy,) = department_policies(city)
    total, seen = 0.0, np.zeros((3, 3))
    types = ("fire", "alarm", "medical")
    for batch in department_records(city, policy, incidents=40_000):
        found = {int(one["incident"]): one for records in batch.values() for one in records}
        records = np.array(list(found.values()))
        total += len(records)
        hours = hours_of(records)
        for number, period in enumerate(city.periods):
            of_type = [city.demand[point].type for point in records["point"][np.isin(hours, period.hours)]]
            seen[number] += [of_type.count(name) for name in types]
    expected = np.array(
        [
            [
                len(one.hours) * sum(p.incidents_per_day for p in city.in_period(one.name).demand if p.type == name)
                for name in types
            ]
            for one in city.periods
        ]
    )
    expected *= total / expected.sum()
    assert ((seen - expected) ** 2 / expected).sum() < chi2.ppf(1.0 - 1e-4, 8)


def choosing(city: City, first: bool) -> list[FunctionPolicy]:
    """For each period of a city a policy that sends the first or the last team that can go, in turn."""
    problems = problems_of_periods(city, runcard.dispatch_problem(city)).values()

    def policy(number: int, problem: Any) -> FunctionPolicy:
        place = 0 if (number % 2 == 0) == first else -1
        return FunctionPolicy(
            name=f"place {place}", problem=problem, choose=lambda idle, point, teams: int(teams[place])
        )

    return [policy(number, problem) for number, problem in enumerate(problems)]


@pytest.mark.parametrize("asked", [False, True])
def test_policies_switch_at_the_hour(asked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that sends the first team by day and the last by night does so in every record, asked or not."""
    if asked:
        monkeypatch.setattr("runcard.policy.by_function.MOST_STATES_AT_ONCE", 1)
    city = with_days(small_city())
    policy = fleet_of(*choosing(city, first=True), periods=city.periods)
    assert (fleet_rule(policy) is None) == asked
    kept: list[NDArray[np.void]] = []
    simulated(
        city, [policy], incidents=3_000, threads=1, keep_records=lambda name, number, records: kept.append(records)
    )
    records = np.concatenate(kept)
    # With every truck idle: two have left, so that the number of idle ones is two.
    records = records[records["idle"] == 2]
    day = np.isin(hours_of(records), DAY)
    teams = np.sort(records["stations"][:, :2], axis=1)
    assert day.any()
    assert (~day).any()
    assert (teams[day] == [0, 1]).all()
    assert (teams[~day] == [2, 3]).all()


def test_policies_of_different_kinds_are_asked() -> None:
    """Closest-first by night and optimal by day have no rule in common, and are simulated all the same."""
    city = with_days(small_city())
    by_day, by_night = hourly(city), hourly(city, "closest-first")
    mixed = fleet_of(by_day.policies[0], by_night.policies[1], periods=city.periods)
    assert fleet_rule(mixed) is None
    assert mixed.name == "optimal, closest-first"
    found = simulated(city, [by_night, mixed], incidents=2_000)
    assert found.policies[1].num_incidents == found.policies[0].num_incidents


def test_a_scenario_with_rates_has_them_in_place_of_those_of_periods() -> None:
    """Rates that a scenario states hold at every hour, and the policy still switches."""
    city = with_days(small_city(), 3.0, 0.2)
    flat = Scenario(name="flat", rates=(1.0,) * 23 + (1.0,))
    records = records_of(city, policies_of(city), flat, incidents=30_000)["closest-first"]
    counts = np.bincount(hours_of(records), minlength=168)
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < chi2.ppf(1.0 - 1e-4, 167)
    simulated(city, [hourly(city)], flat, incidents=2_000)


def test_a_replayed_log_is_decided_by_its_own_clock(tmp_path: Path) -> None:
    """Incidents at a minute before 7:00 and at 7:00 get the teams of the night and of the day."""
    city = with_days(small_city())
    policy = fleet_of(*choosing(city, first=True), periods=city.periods)
    log = tmp_path / "log.csv"
    times = ["2017-01-03T06:59:00", "2017-01-10T07:00:00", "2017-01-17T21:59:59", "2017-01-24T22:00:00"]
    log.write_text("time,node_id\n" + "".join(f"{time},n3\n" for time in times))
    kept: list[NDArray[np.void]] = []
    simulated(
        city,
        [policy],
        Scenario(name="replay", log=log),
        incidents=4,
        threads=1,
        keep_records=lambda name, number, records: kept.append(records),
    )
    teams = np.sort(kept[0]["stations"][:, :2], axis=1).tolist()
    assert teams == [[2, 3], [0, 1], [0, 1], [2, 3]]


def test_policies_of_other_periods_are_refused() -> None:
    """A policy that was made for other rates, or for other hours, is refused unless that is meant."""
    city = with_days(small_city())
    policy = hourly(city)
    moved = replace(city, periods=(Period("day", (*DAY, 6), 1.4), Period("night", tuple(set(NIGHT) - {6}), 0.4)))
    for other in (moved, city.of_week):
        with pytest.raises(InputError, match="expected what was made for the periods"):
            simulated(other, [policy], incidents=100)
        simulated(other, [policy], incidents=100, other_city=True)
    with pytest.raises(InputError, match="made for another city"):
        simulated(with_days(city.of_week, 1.0, 0.9), [policy], incidents=100)


def test_an_environment_follows_the_periods() -> None:
    """A learner sees the hour of the week, and incidents come by day and by night as the rates say."""
    city = with_days(small_city(), 3.0, 0.2)
    env = DispatchEnv(city, episode_incidents=2_000)
    seen, _ = env.reset(seed=1)
    hours = [int(seen[-1])]
    for _ in range(1_000):
        seen, *_ = env.step(1)
        hours.append(int(seen[-1]))
    assert env.observation_space.nvec[-1] == 168
    share = len(DAY) * 15.0 / (len(DAY) * 15.0 + len(NIGHT))
    assert np.isin(hours, DAY).mean() == pytest.approx(share, abs=0.02)


def weekly_late_fraction(city: City, policies: dict[str, Policy]) -> float:
    """The exact late fraction of policies that switch, by the Kolmogorov equations of a week that repeats itself.

    p' = p Q_h in each hour h, so that a week maps p to p exp(Q_0 t) ... exp(Q_167 t), and p is its fixed point. The
    late incidents of an hour are ∫ p exp(Q_h s) ds c_h, with c_h the late incidents a minute in each state.
    """
    steps, sums, costs, rates = {}, {}, {}, {}
    for name, policy in policies.items():
        problem, dense = policy.problem, Dense(policy.problem)
        points, none = np.arange(problem.num_points), np.zeros((problem.num_states, problem.num_states))
        table = np.array([policy.teams(np.array(state), points) for state in dense.states])
        flow = dense.tau / 1440.0 * (dense.matrix(table) - np.eye(problem.num_states))
        both = expm(60.0 * np.block([[flow, np.eye(problem.num_states)], [none, none]]))
        steps[name], sums[name] = np.hsplit(both[: problem.num_states], 2)
        costs[name], rates[name] = dense.rate_of(problem.cost, table) / 1440.0, problem.total_incidents_per_day / 24.0
    hours = [next(one.name for one in city.periods if hour in one.hours) for hour in range(168)]
    chance = np.full(problem.num_states, 1.0 / problem.num_states)
    for _ in range(3):  # a week is far longer than it takes to forget the state
        late = incidents = 0.0
        for name in hours:
            late += float(chance @ sums[name] @ costs[name])
            incidents += rates[name]
            chance = chance @ steps[name]
    return late / incidents


@pytest.mark.parametrize("name", ["closest-first", "optimal"])
def test_switching_is_as_the_equations_of_the_week_say(name: str) -> None:
    """Where busy times are as long as periods, the simulation still has the late fraction of the periodic chain."""
    plain = replace(small_city(load=0.05, side=3), busy_minutes=180.0)
    third = tuple(hour for hour in ALL_WEEK if hour % 6 < 2)
    city = replace(plain, periods=(Period("busy", third, 6.0), Period("calm", tuple(set(ALL_WEEK) - set(third)), 0.5)))
    policy = hourly(city, name)
    exact = weekly_late_fraction(city, dict(zip(("busy", "calm"), policy.policies, strict=True)))
    for_ever = [len(one.hours) * city.in_period(one.name).incidents_per_day for one in city.periods]
    stationary = sum(
        rate * runcard.evaluate(one).late_fraction for rate, one in zip(for_ever, policy.policies, strict=True)
    ) / sum(for_ever)
    found = simulated(city, [policy], incidents=400_000).policies[0]
    assert holds(late_fractions(found), exact)
    assert not holds(late_fractions(found), stationary)
