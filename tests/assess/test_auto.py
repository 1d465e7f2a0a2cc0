"""Every number of a report is that of a comparison or a simulation."""

from dataclasses import astuple
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from runcard.assess.assessment import Assessment
from runcard.assess.auto import (
    CARD,
    CLOSEST,
    FEWEST_INCIDENTS,
    MOST_INCIDENTS,
    OPTIMAL,
    RECOMMENDED,
    Effort,
    incidents_for,
    policy_for,
    solved_city,
)
from runcard.assess.change import FleetChange
from runcard.assess.exact import assess_exactly
from runcard.assess.outcome import avoided, larger_by, weighted
from runcard.assess.policy_choice import SECONDS_OF_CHOICE, best_policy, is_small
from runcard.city import City
from runcard.interval import Interval
from runcard.plan.plan import solve
from runcard.simulate.engine import simulate_plans
from runcard.simulate.result import ratio_interval

NAMES = (CLOSEST, CARD, RECOMMENDED)


def test_exact_numbers_are_those_of_a_comparison(town: City, solved: Assessment) -> None:
    """Misses and bounds, every standard, minutes and percentiles, and the work of every station."""
    expected = assess_exactly(town, (CLOSEST, CARD, OPTIMAL))
    assert solved.exact
    assert solved.num_incidents is None
    for own, other in zip(solved, expected, strict=True):
        assert own.missed == other.missed
        assert own.first_minutes == other.first_minutes
        gain = solved.gain(own)
        assert gain.low <= gain.value <= gain.high
        assert gain.value == pytest.approx(expected.improvement(other), abs=1e-12)
        for found, standard in zip(own.standards, other.standards, strict=True):
            assert found.missed is not None
            assert (found.missed, found.minutes) == (standard.missed, standard.minutes)
        for kind, found_kind in own.fleets.items():
            evaluation = other.fleets[kind].evaluation
            assert found_kind.first_minutes == evaluation.mean_response_minutes
            assert found_kind.minutes["first_p90"].value == evaluation.p90_minutes["first"]
            assert np.array_equal(found_kind.busy_fractions, evaluation.busy_fractions)


def test_calls_a_day_add_up_to_what_is_sent(town: City, solved: Assessment) -> None:
    """Over all units of a kind, and with what comes from outside: as many as incidents ask for."""
    expected = assess_exactly(town, (CLOSEST,))
    for kind, result in solved.first.fleets.items():
        seen, evaluation = town.of_kind(kind), expected.first.fleets[kind].evaluation
        asked = sum(point.incidents_per_day * seen.trucks_for(point) for point in seen.demand)
        trucks = np.array([station.trucks for station in seen.stations])
        sent = float((result.calls_per_day * trucks).sum())
        assert sent == pytest.approx((1.0 - evaluation.outside_share) * asked, rel=1e-6)


def test_simulated_numbers_are_those_of_a_simulation(simulated: City) -> None:
    """Over the same incidents, what is counted lies around the chances of those who went, which vary less."""
    found = solved_city(simulated, (CLOSEST, RECOMMENDED), Effort(incidents=6_000, seed=5))
    best = {kind: best_policy(simulated.of_kind(kind)) for kind in simulated.kinds}
    departments = [solve(simulated, names) for names in (CLOSEST, best)]
    counted = simulate_plans(simulated, departments, incidents=6_000, seed=5)
    assert not found.exact
    assert found.num_incidents == 6_000
    gain = found.gain(found.last)
    assert abs(gain.value - counted.improvement(1).value) < 1.5 * counted.improvement(1).half
    assert gain.half < 0.9 * counted.improvement(1).half
    assert found.fewer(found.last).half < 0.9 * counted.fewer_missed(1).half
    for number, own in enumerate(found):
        assert abs(own.missed.value - counted.missed(number).value) < 1.5 * counted.missed(number).half
        for one, (standard, missed) in zip(own.standards, counted.standards(number), strict=True):
            assert one.standard == standard
            assert one.missed is not None
            assert abs(one.missed.value - missed.value) < 1.5 * missed.half
        for kind, of_kind in own.fleets.items():
            policy = counted.kinds[kind].policies[number]
            minutes = policy.minutes("first_mean")
            assert abs(of_kind.first_minutes - minutes.value) < 1.5 * minutes.half
            assert of_kind.minutes["first_p90"].value == policy.minutes("first_p90").value
            assert sorted(of_kind.busy_fractions) == pytest.approx(sorted(policy.busy_fractions))  # one a station


def test_table_and_map_agree(simulated: City) -> None:
    """What a standard misses is the mean over demand points of what the map says, by how often each had incidents."""
    found = solved_city(simulated, (CLOSEST, RECOMMENDED), Effort(incidents=3_000), with_shares=True)
    for result, shares in zip(found, found.shares, strict=True):
        for one in result.standards:
            seen, of_kind = simulated.of_kind(one.standard.kind), shares[one.standard.kind]
            own = [standard for standard in seen.standards if standard.type == one.standard.type]
            here = np.array([point.type == one.standard.type for point in seen.demand])
            chances = of_kind.mean(of_kind.problem.missed(own.index(one.standard)))[here]
            rates = of_kind.problem.incidents_per_day[here]
            known = np.isfinite(chances)
            assert one.missed is not None
            mean = float((rates[known] * chances[known]).sum() / rates[known].sum())
            assert mean == pytest.approx(one.missed.value, abs=2.0 * one.missed.half)


def test_simulated_numbers_agree_with_exact_ones(simulated: City, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closest-first exactly lies in its intervals, made 1.5 times as wide (99.7 %); minutes are within 2 %."""
    found = solved_city(simulated, (CLOSEST, RECOMMENDED), Effort(incidents=40_000), with_shares=True).first
    monkeypatch.undo()
    exact = solved_city(simulated, (CLOSEST, RECOMMENDED), Effort()).first
    assert abs(found.missed.value - exact.missed.value) < 1.5 * found.missed.half
    for own, other in zip(found.standards, exact.standards, strict=True):
        assert own.missed is not None
        assert other.missed is not None
        assert abs(own.missed.value - other.missed.value) < 1.5 * own.missed.half
        assert own.minutes == pytest.approx(other.minutes, rel=0.02)
    for kind, one in found.fleets.items():
        assert one.calls_per_day == pytest.approx(exact.fleets[kind].calls_per_day, rel=0.05)


def test_the_change_of_a_standard_is_paired(simulated: City) -> None:
    """Its mean is the difference of both fractions, and its interval is narrower than theirs together."""
    found = solved_city(simulated, (CLOSEST, RECOMMENDED), Effort(incidents=20_000))
    for before, after in zip(found.first.standards, found.last.standards, strict=True):
        assert before.missed is not None
        assert after.missed is not None
        change = larger_by(before.missed, after.missed)
        assert change.value == pytest.approx(after.missed.value - before.missed.value, abs=1e-12)
        assert change.half < before.missed.half + after.missed.half


def test_the_recommended_policy_depends_on_size(town: City, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind that is small enough gets the optimum, another one what `best_policy` says, and other names stay."""
    engine, ladder = town.of_kind("engine"), town.of_kind("ladder")
    assert policy_for(engine, RECOMMENDED) == OPTIMAL
    states = 2.0**8 * 3.0
    monkeypatch.setattr(
        "runcard.assess.policy_choice.SOME_SECONDS", SECONDS_OF_CHOICE * (states * len(engine.demand) * 81 - 1)
    )
    assert not is_small(engine)
    assert is_small(ladder)
    assert policy_for(engine, RECOMMENDED) == best_policy(engine) == "one-step-mean-field"
    assert policy_for(engine, CARD) == CARD


def test_fewer_incidents_where_decisions_take_long(solved: Assessment, monkeypatch: pytest.MonkeyPatch) -> None:
    """The most with few teams, in proportion with more, and never next to none."""
    problems = solved.first.problems
    num_teams = problems["engine"].num_teams
    assert num_teams > problems["ladder"].num_teams
    assert incidents_for(problems) == MOST_INCIDENTS
    monkeypatch.setattr("runcard.assess.auto.FEW_TEAMS", num_teams / 4)
    assert incidents_for(problems) == MOST_INCIDENTS // 4
    monkeypatch.setattr("runcard.assess.auto.FEW_TEAMS", 1e-9)
    assert incidents_for(problems) == FEWEST_INCIDENTS


def test_nobody_avoids_more_than_all() -> None:
    """The interval of a gain over few batches ends at 100 %."""
    first, own = np.array([1.0, 1.0, 2.0, 1.0]), np.array([0.0, 0.9, 0.0, 0.0])
    assert ratio_interval(first - own, first).high > 1.0
    incidents = np.full(4, 10.0)
    assert avoided(ratio_interval(first, incidents), ratio_interval(own, incidents)).high == 1.0


@pytest.mark.parametrize("missed", [(0.1, 0.08, 0.11), (0.3, 0.25, 0.4), (0.2, 0.2, 0.2), (0.0, 0.0, 0.01)])
def test_what_is_sure_is_what_the_ends_of_both_intervals_allow(missed: tuple[float, float, float]) -> None:
    """No more than the worst and the best of the four pairs of ends, and no less: of misses, and of their part."""
    first, other = Interval(0.2, 0.18, 0.23), Interval(*missed)
    pairs = [(before, after) for before in (first.low, first.high) for after in (other.low, other.high)]
    gains, fewer = [1.0 - after / before for before, after in pairs], [before - after for before, after in pairs]
    assert astuple(avoided(first, other))[:3] == pytest.approx((1.0 - other.value / 0.2, min(gains), max(gains)))
    assert astuple(larger_by(other, first))[:3] == pytest.approx((0.2 - other.value, min(fewer), max(fewer)))


@pytest.mark.parametrize("proven", [True, False])
def test_a_sum_is_sure_of_what_the_ends_of_its_parts_allow(proven: bool) -> None:
    """No more than the smallest and the largest sum of ends, also with a factor below 0; proven if all parts are."""
    parts = (2.0, Interval(0.2, 0.18, 0.23, proven=True)), (-1.5, Interval(0.3, 0.28, 0.4, proven=proven))
    (a, one), (b, other) = parts
    sums = [a * first + b * second for first in (one.low, one.high) for second in (other.low, other.high)]
    found = weighted(parts)
    assert astuple(found)[:3] == pytest.approx((a * one.value + b * other.value, min(sums), max(sums)))
    assert found.proven is proven


def test_a_change_is_proven_if_both_ends_are() -> None:
    """What is proven before says nothing of what is only estimated after."""
    for before, after in product([True, False], repeat=2):
        ends: Any = [SimpleNamespace(missed=Interval(0.2, 0.18, 0.23, proven=proven)) for proven in (before, after)]
        assert FleetChange(*ends).proven is (before and after)
