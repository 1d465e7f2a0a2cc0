"""Policies that know the hour: a department for each period of the week."""

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from tests.departments import grid_department
from tests.weeks import ALL_WEEK, DAY, NIGHT, with_days, with_days_by_type

from runcard.city import City, Objective, Period, generate_grid
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem
from runcard.plan.fleet import fleet_of
from runcard.plan.plan import problems_of_periods, solve
from runcard.plan.situation import Situation
from runcard.policy.solve import evaluate, solve_problem


@pytest.fixture(scope="module")
def grid() -> City:
    """A grid of four stations with days and nights that differ much."""
    return with_days(generate_grid(side=4, num_stations=4, load=0.3, seed=3), 2.0, 0.1)


def own_busy(city: City) -> City:
    """The same city with medical calls that take half as long, so that the mean busy time depends on the rates."""
    standards = tuple(replace(one, busy_minutes=20.0) if one.type == "medical" else one for one in city.standards)
    return replace(city, standards=standards)


@pytest.mark.parametrize(("minimise", "weight"), [("late", None), ("minutes", None), ("late+minutes", 0.1)])
def test_tables_are_shared_and_the_problem_is_that_of_the_period(minimise: str, weight: float | None) -> None:
    """With other rates a problem is the one that the period's city would have, to the bit, and shares its tables."""
    plain = own_busy(grid_department(side=3, engines=3, ladders=2))
    city = with_days_by_type(replace(plain, objective=Objective(minimise, weight)))
    for kind in city.kinds:
        whole = dispatch_problem(city, kind=kind, arrivals=True)
        for name, found in problems_of_periods(city.of_kind(kind), whole).items():
            expected = dispatch_problem(city.in_period(name), kind=kind, arrivals=True)
            for one in ("fingerprint", "source", "returns_per_day", "objective"):
                assert getattr(found, one) == getattr(expected, one)
            for one in ("cost", "incidents_per_day", "order", "trucks_needed"):
                assert np.array_equal(getattr(found, one), getattr(expected, one))
            assert found.cost is whole.cost
            assert found.arrivals is whole.arrivals
            assert found.measures.keys() == expected.measures.keys()
            assert all(found.measures[one] is whole.measures[one] for one in found.measures)


def test_each_period_has_the_department_of_its_city(grid: City) -> None:
    """A week decides at every hour as the department does that is solved for the rates of that hour."""
    week, teams = solve(grid), []
    for name, time in (("day", datetime(2017, 1, 3, 14)), ("night", datetime(2017, 1, 3, 3))):
        alone = solve(grid.in_period(name))
        for point in grid.demand:
            for idle in (["s0", "s1", "s2", "s3"], ["s0", "s2", "s3"]):
                asked = Situation(at=point.node_id, idle=idle)
                teams.append(week.at(time).decide(asked).units)
                assert teams[-1] == alone.decide(asked).units
    assert teams[: len(teams) // 2] != teams[len(teams) // 2 :]


def test_the_clock_picks_the_period(grid: City) -> None:
    """A minute before 7:00 is night, and 7:00 is day."""
    week = solve(grid, "closest-first")
    assert week.at(datetime(2017, 1, 3, 6, 59)) is week.in_period("night")
    assert week.at(datetime(2017, 1, 3, 7, 0)) is week.in_period("day")
    assert [week.period_of(hour).name for hour in (6, 7, 21, 22, 167)] == ["night", "day", "day", "night", "night"]
    policy = week.fleet("truck")
    assert policy.at_hour(6) is week.in_period("night").fleets[0].policy
    assert policy.name == "closest-first"


@pytest.mark.parametrize("name", ["closest-first", "optimal", "one-step-mean-field", "one-step-queueing", "fixed-card"])
def test_a_policy_is_evaluated_at_other_rates(grid: City, name: str) -> None:
    """Made for the mean rates, at those of a period it is no better than the period's optimum.

    An order does not look at rates: closest-first is that of the period.
    """
    whole = dispatch_problem(grid)
    policy = solve_problem(whole, name)
    for problem in problems_of_periods(grid, whole).values():
        found, best = evaluate(policy, problem=problem), solve_problem(problem, "optimal").certificate
        assert best is not None
        assert found.late_fraction >= best.lower - 1e-12
        if name == "closest-first":
            expected = evaluate(solve_problem(problem, name))
            assert found.late_fraction == pytest.approx(expected.late_fraction, rel=1e-8)
            assert found.lower <= expected.late_fraction * (1 + 1e-9)
            assert found.mean_response_minutes == pytest.approx(expected.mean_response_minutes, rel=1e-8)


def test_one_period_is_the_department(grid: City) -> None:
    """With one period all week, or none, the week has the very problem of the city without periods."""
    plain = replace(grid, periods=())
    expected = solve(plain)
    for name, city in (("all", replace(plain, periods=(Period("all", ALL_WEEK, 1.3),))), ("always", plain)):
        found = solve(city).in_period(name).fleets[0].policy
        assert found.problem.fingerprint == expected.fleets[0].problem.fingerprint
        assert np.array_equal(found.stored().arrays["value"], expected.fleets[0].policy.stored().arrays["value"])


def test_what_is_no_week_is_refused(grid: City) -> None:
    """An unknown period, and a policy that leaves hours out, are errors in words."""
    week = solve(grid, "closest-first")
    with pytest.raises(InputError, match=r"expected a period \(day, night\), got 'dya' \(did you mean day\?\)"):
        week.in_period("dya")
    with pytest.raises(InputError, match="expected an hour of the week"):
        week.period_of(168)
    one = week.in_period("day").fleets[0].policy
    for periods in ((Period("day", DAY),), (Period("day", DAY), Period("late", (*NIGHT, 7)))):
        with pytest.raises(InputError, match="every hour of the week"):
            _ = fleet_of(*(one,) * len(periods), periods=periods).of_hour
    with pytest.raises(InputError, match="expected a policy for each kind"):
        solve(grid, {"engine": "optimal"})


def test_each_period_expects_its_part_of_the_decisions(grid: City, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is worth its work for a week of decisions may not be for those of a night."""
    fleet, expected = solve(grid, "closest-first").fleet("truck"), list[float]()
    monkeypatch.setattr(type(fleet.policy), "in_bulk", lambda _, decisions: expected.append(decisions))
    fleet.in_bulk(1680.0)
    assert expected == [10.0 * len(period.hours) for period in fleet.periods]
    assert sum(expected) == pytest.approx(1680.0)
