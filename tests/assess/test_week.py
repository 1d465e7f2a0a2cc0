"""Policies side by side in a city with periods."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.departments import grid_department
from tests.weeks import ALL_WEEK, DAY, NIGHT, with_days, with_days_by_type

from runcard.assess.assessment import Assessment
from runcard.assess.exact import assess_exactly
from runcard.assess.plans import WEEK_POLICIES
from runcard.city import City, Period, generate_grid
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.from_city import dispatch_problem
from runcard.plan.file import save
from runcard.plan.plan import problems_of_periods, solve
from runcard.policy.solve import evaluate, solve_problem


@pytest.fixture(scope="module")
def grid() -> City:
    """A grid of four stations with days and nights that differ much."""
    return with_days(generate_grid(side=4, num_stations=4, load=0.3, seed=3), 2.0, 0.1)


@pytest.fixture(scope="module")
def compared(grid: City) -> Assessment:
    """The policies of a city with periods, where none are named."""
    return assess_exactly(grid, WEEK_POLICIES)


def test_the_week_is_the_weighted_mean_of_two_cities(grid: City, compared: Assessment) -> None:
    """Two cities compared by themselves, weighted by their incidents, give the numbers of the week, bounds too."""
    names = ("closest-first", "optimal")
    cities = {one.name: grid.in_period(one.name) for one in grid.periods}
    alone = {name: assess_exactly(city, names) for name, city in cities.items()}
    incidents = {
        "day": len(DAY) * cities["day"].incidents_per_day,
        "night": len(NIGHT) * cities["night"].incidents_per_day,
    }
    for name in names:
        for end in ("value", "low", "high"):
            expected = sum(incidents[period] * getattr(alone[period][name].missed, end) for period in alone)
            assert getattr(compared[name].missed, end) == pytest.approx(expected / sum(incidents.values()), rel=1e-9)
        minutes = sum(incidents[period] * alone[period][name].first_minutes for period in alone)
        assert compared[name].first_minutes == pytest.approx(minutes / sum(incidents.values()), rel=1e-9)
    assert sum(compared.first.shares.values()) == pytest.approx(1.0)


def test_the_policy_that_does_not_know_the_hour(grid: City, compared: Assessment) -> None:
    """It is the optimum of the mean rates, evaluated in each period, and between closest-first and the optimum."""
    whole = dispatch_problem(grid)
    policy = solve_problem(whole, "optimal")
    closest, blind, best = compared
    assert compared.names == ["closest-first", "optimal/week", "optimal"]
    for period, problem in problems_of_periods(grid, whole).items():
        expected = evaluate(policy, problem=problem).late_fraction
        late = blind.in_period(period).missed.value
        assert late == pytest.approx(expected, rel=1e-9)
        assert late > best.in_period(period).missed.value
    assert best.missed.high < blind.missed.low
    assert blind.missed.value < closest.missed.value
    ((without, knowing, gain),) = compared.knowing_the_hour
    assert (without.name, knowing.name) == ("optimal/week", "optimal")
    assert gain == pytest.approx(1.0 - best.missed.value / blind.missed.value)
    assert gain > 1e-4


def test_the_best_bounds_every_policy(compared: Assessment) -> None:
    """Each policy is above the mean of the periods' optima by at most its gap; optimal/week is no bound."""
    _, blind, best = compared
    for outcome in compared:
        gap = compared.gap_to_optimum(outcome)
        assert gap is not None
        assert outcome.missed.value <= best.missed.low * (1.0 + gap) * (1.0 + 1e-12)
    assert (compared.gap_to_optimum(best) or 0.0) < 1e-6
    assert (compared.gap_to_optimum(blind) or 0.0) > 1e-4


def test_one_period_is_the_city(grid: City) -> None:
    """With one period all week every number is that of the city alone."""
    plain = replace(grid, periods=())
    expected = assess_exactly(plain, ("closest-first", "optimal"))
    found = assess_exactly(replace(plain, periods=(Period("all", ALL_WEEK, 0.7),)), ["CF", "OPT"])
    assert found.names == ["closest-first", "optimal"]
    assert [outcome.missed for outcome in found] == [outcome.missed for outcome in expected]


def test_a_department_with_rates_by_type() -> None:
    """Every standard, over the week, is the mean of the periods weighted by the incidents of its type."""
    city = with_days_by_type(grid_department(side=3, engines=3, ladders=2))
    found = assess_exactly(city, ["closest-first", "optimal/week", "optimal"])
    alone = {one.name: assess_exactly(city.in_period(one.name), ["closest-first", "optimal"]) for one in city.periods}
    hours = {one.name: len(one.hours) for one in city.periods}
    for place, standard in enumerate(city.standards):
        incidents = {
            name: hours[name] * sum(p.incidents_per_day for p in one.city.demand if p.type == standard.type)
            for name, one in alone.items()
        }
        for ours, theirs in ((0, 0), (2, 1)):
            mean = sum(
                incidents[name] * one.outcomes[theirs].standards[place].missed.value for name, one in alone.items()
            )
            outcome = found.outcomes[ours].standards[place]
            assert outcome.standard == standard
            assert outcome.missed is not None
            assert outcome.missed.value == pytest.approx(mean / sum(incidents.values()), rel=1e-9)
            assert outcome.missed.low <= outcome.missed.value <= outcome.missed.high
    assert found["optimal"].missed.value <= found["optimal/week"].missed.value
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    assert [one["period"] for one in document["policies"][0]["periods"]] == ["day", "night", "weekend"]
    assert document["policies"][0]["periods"][0]["kinds"][0]["kind"] == "engine"
    assert document["knowing_the_hour"][0]["without"] == "optimal/week"


def test_files_are_compared_by_what_they_hold(grid: City, compared: Assessment, tmp_path: Path) -> None:
    """A file with periods is the policy that knows the hour; one without is that of the mean rates."""
    week = save(solve(grid), tmp_path / "week.policy")
    mean = save(solve(grid.of_week), tmp_path / "mean.policy")
    found = assess_exactly(grid, [str(mean), str(week)])
    for outcome, name in zip(found, ("optimal/week", "optimal"), strict=True):
        assert outcome.missed.value == pytest.approx(compared[name].missed.value, rel=1e-9)
    other = save(solve(grid.in_period("day")), tmp_path / "day.policy")
    with pytest.raises(PolicyFileError, match="made for another city"):
        assess_exactly(grid, [str(other)])


def test_another_objective_has_a_bound_of_its_own(grid: City) -> None:
    """Where minutes are minimised the hour helps the minutes, and the gap is that of the minutes."""
    city = replace(grid, objective=replace(grid.objective, minimise="minutes"))
    found = assess_exactly(city, ["optimal/week", "optimal"])
    blind, best = found
    assert best.first_minutes <= blind.first_minutes * (1.0 + 1e-9)
    gap = found.gap_to_optimum(blind)
    assert gap == pytest.approx(blind.first_minutes / best.first_minutes - 1.0, abs=1e-6)
    assert found.document()["objective"]["minimise"] == "minutes"


def test_without_periods_it_is_refused(grid: City) -> None:
    """A city without periods has no policy that does not know the hour."""
    plain = replace(grid, periods=())
    with pytest.raises(InputError, match="expected a city with periods for optimal/week"):
        assess_exactly(plain, ["optimal/week"])
    with pytest.raises(InputError, match="expected a policy"):
        assess_exactly(grid, ["optimum/week"])
