"""Why standards are missed."""

from dataclasses import replace
from itertools import product
from math import exp

import numpy as np
import pytest
from tests.departments import random_department
from tests.weeks import with_days

import runcard
from runcard.assess.exact import assess_exactly
from runcard.assess.simulated import simulated_outcomes
from runcard.assess.why import MetStates, Reasons, WhyMissed, add_up
from runcard.city import City, Turnout, generate_grid
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import P_LATE

GRID = generate_grid(side=3, num_stations=3, load=0.2, seed=4)


@pytest.mark.parametrize(
    "city",
    [GRID, generate_grid(side=3, num_stations=2, load=0.3, seed=1, trucks_per_station=2), random_department(4)],
    ids=["one", "two", "kinds"],
)
def test_the_parts_are_what_every_state_says_and_add_up(city: City) -> None:
    """Distance, busy and choice by going through every state, incident and idle team; nothing is negative."""
    found = assess_exactly(city, ["closest-first", "optimal"])
    for outcome in found:
        for fleet in outcome.fleets.values():
            problem, late = fleet.problem, fleet.problem.measures[P_LATE]
            rates, size = problem.incidents_per_day, problem.teams.counts.sum(axis=1)
            home = available = 0.0
            for state, idle in enumerate(product(*(range(trucks + 1) for trucks in problem.trucks))):
                for j, needed in enumerate(problem.trucks_needed):
                    fits = (problem.teams.counts <= idle).all(axis=1) & (size == min(needed, sum(idle)))
                    least = rates[j] / rates.sum() * late[fits, j].min()
                    available += fleet.evaluation.probability[state] * least
                    home = home + least if idle == tuple(problem.trucks) else home
            why = fleet.why_missed
            assert why is not None
            assert why.start + why.distance == pytest.approx(home, abs=1e-12)
            assert why.start + why.distance + why.busy == pytest.approx(available, abs=1e-12)
            assert min(why.document().values()) >= 0.0
            assert sum(why.document().values()) == pytest.approx(fleet.missed.value, abs=1e-12)
        assert outcome.why_missed is not None
        assert sum(outcome.why_missed.document().values()) == pytest.approx(outcome.missed.value, abs=1e-12)


def test_what_is_only_rounding_is_nothing() -> None:
    """A part of the last digits is 0, not a number such as 6.9e-17; a small one that is known stays."""
    assert add_up(0.1, 0.0, 1e-17, 0.1 - 7e-17) == WhyMissed(0.0, 0.0, 0.1, 0.0)
    assert 0.02 + 4e-18 > 0.02
    assert add_up(0.1, 0.02, 0.02 + 4e-18, 0.05).distance == 0.0
    known = add_up(0.1, 1e-10, 0.02, 0.1 - 1e-9)
    assert list(known.document().values()) == pytest.approx([1e-10, 0.02 - 1e-10, 0.08 - 1e-9, 1e-9])
    assert add_up(0.0, 0.0, 0.0, 0.0) == WhyMissed(0.0, 0.0, 0.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("city", [GRID, random_department(4)], ids=["one", "kinds"])
def test_simulated_parts_are_the_exact_ones(city: City) -> None:
    """Over 60,000 incidents each part lies within 3 % of what is missed from the exact one, and they add up."""
    plans = {name: runcard.solve(city, name) for name in ("closest-first", "optimal")}
    outcomes, _ = simulated_outcomes(city, plans, incidents=60_000)
    for outcome, exact in zip(outcomes, runcard.assess(city, plans), strict=True):
        assert outcome.why_missed is not None
        assert exact.why_missed is not None
        parts, expected = outcome.why_missed.document(), exact.why_missed.document()
        assert sum(parts.values()) == pytest.approx(outcome.missed.value, abs=1e-12)
        assert parts == pytest.approx(expected, abs=0.03 * exact.missed.value)


def test_the_best_of_those_who_are_idle_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """In random states of stations with several trucks, also where few teams are remembered, and too few are idle."""
    monkeypatch.setattr("runcard.assess.why.FEW_TEAMS", 2)
    monkeypatch.setattr("runcard.assess.why.MANY_TEAMS", 4)
    city = generate_grid(side=3, num_stations=3, load=0.3, seed=1, trucks_per_station=2)
    problem = dispatch_problem(city)
    rng = np.random.default_rng(1)
    states, free = MetStates(Reasons(city, problem)), rng.integers(0, 3, (300, 3)).astype(np.uint16)
    points = rng.integers(0, problem.num_points, 300)
    late, sizes, expected = problem.measures[P_LATE], problem.teams.sizes, 0.0
    for j, idle in zip(points.tolist(), free, strict=True):
        fits = (problem.teams.counts <= idle).all(axis=1) & (sizes == min(problem.trucks_needed[j], idle.sum()))
        expected += late[fits, j].min()
    states.add(points[:100], free[:100])
    states.add(points[100:], free[100:])
    why = states.why(1.0)
    assert why is not None
    assert states.num == 300
    assert 1.0 - why.choice == pytest.approx(expected / 300)


def test_start_is_what_turnout_alone_makes_late() -> None:
    """One unit of exponential turnout is late with exp(-t / m); of two that leave apart the first, with its square."""
    for trucks, shared, times in ((1, False, 1), (2, False, 2), (2, True, 2)):
        city = replace(
            GRID, turnout=Turnout(2.0, "exponential", None, shared), trucks_per_incident=trucks, target_minutes=5.0
        )
        why = assess_exactly(city, ["closest-first"]).first.why_missed
        assert why is not None
        assert why.start == pytest.approx(exp(-times * 5.0 / 2.0), rel=1e-3)


def test_a_department_that_is_never_busy_is_late_by_distance() -> None:
    """With next to no incidents nothing is missed because units are away, and the optimum gives nothing up."""
    quiet = tuple(replace(point, incidents_per_day=1e-9 * point.incidents_per_day) for point in GRID.demand)
    why = assess_exactly(replace(GRID, demand=quiet), ["optimal"]).first.why_missed
    assert why is not None
    assert (why.busy, why.choice) == pytest.approx((0.0, 0.0), abs=1e-8)
    assert why.distance > 1e-3


def test_a_week_is_the_mean_of_its_periods() -> None:
    """The parts add up to what the week misses, and days are busier than nights."""
    outcome = runcard.assess(with_days(GRID, 2.0, 0.1), ["closest-first"]).first
    assert outcome.why_missed is not None
    assert sum(outcome.why_missed.document().values()) == pytest.approx(outcome.missed.value, abs=1e-12)
    day, night = (outcome.in_period(period).why_missed for period in ("day", "night"))
    assert day is not None
    assert night is not None
    assert day.busy > outcome.why_missed.busy > night.busy
    assert day.distance == pytest.approx(night.distance, rel=1e-9)
    assert np.isclose(outcome.why_missed.distance, day.distance)
