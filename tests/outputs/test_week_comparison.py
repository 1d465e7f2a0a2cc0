"""Policies side by side in a city with periods."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.departments import grid_department
from tests.weeks import ALL_WEEK, DAY, NIGHT, with_days, with_days_by_type

from runcard.city import City, Period, generate_grid
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.from_city import dispatch_problem
from runcard.outputs.compare import compare_policies
from runcard.outputs.department_comparison import compare_department
from runcard.outputs.week_comparison import WeekComparison, compare_week
from runcard.plan.file import save
from runcard.plan.plan import problems_of_periods, solve
from runcard.policy.solve import evaluate, solve_problem


@pytest.fixture(scope="module")
def grid() -> City:
    """A grid of four stations with days and nights that differ much."""
    return with_days(generate_grid(side=4, num_stations=4, load=0.3, seed=3), 2.0, 0.1)


@pytest.fixture(scope="module")
def compared(grid: City) -> WeekComparison:
    """The policies of a city with periods, where none are named."""
    return compare_week(grid)


def test_the_week_is_the_weighted_mean_of_two_cities(grid: City, compared: WeekComparison) -> None:
    """Two cities compared by themselves, weighted by their incidents, give the numbers of the week, bounds too."""
    names = ("closest-first", "optimal")
    cities = {one.name: grid.in_period(one.name) for one in grid.periods}
    alone = {name: compare_policies(city, names) for name, city in cities.items()}
    incidents = {
        "day": len(DAY) * cities["day"].incidents_per_day,
        "night": len(NIGHT) * cities["night"].incidents_per_day,
    }
    for name in names:
        result = next(one for one in compared.results if one.name == name)
        for which, found in (("lower", result.lower), ("upper", result.upper)):
            expected = sum(incidents[period] * getattr(alone[period].result(name), which) for period in alone)
            assert found == pytest.approx(expected / sum(incidents.values()), rel=1e-9)
        late = sum(incidents[period] * alone[period].result(name).evaluation.late_fraction for period in alone)
        assert result.missed == pytest.approx(late / sum(incidents.values()), rel=1e-9)
        minutes = sum(
            incidents[period] * (alone[period].result(name).evaluation.mean_response_minutes or 0.0) for period in alone
        )
        assert result.mean_minutes == pytest.approx(minutes / sum(incidents.values()), rel=1e-9)
    assert sum(compared.weights.values()) == pytest.approx(1.0)


def test_the_policy_that_does_not_know_the_hour(grid: City, compared: WeekComparison) -> None:
    """It is the optimum of the mean rates, evaluated in each period, and between closest-first and the optimum."""
    whole = dispatch_problem(grid)
    policy = solve_problem(whole, "optimal")
    closest, blind, best = compared.results
    assert [one.name for one in compared.results] == ["closest-first", "optimal/week", "optimal"]
    for number, problem in enumerate(problems_of_periods(grid, whole).values()):
        expected = evaluate(policy, problem=problem).late_fraction
        assert blind.periods[number].missed == pytest.approx(expected, rel=1e-9)
        assert blind.periods[number].missed > best.periods[number].missed
    assert best.upper < blind.lower
    assert blind.missed < closest.missed
    ((without, knowing, gain),) = compared.knowing_the_hour
    assert (without.name, knowing.name) == ("optimal/week", "optimal")
    assert gain == pytest.approx(1.0 - best.missed / blind.missed)
    assert gain > 1e-4


def test_the_best_bounds_every_policy(compared: WeekComparison) -> None:
    """Each policy is above the mean of the periods' optima by at most its gap; optimal/week is no bound."""
    best = compared.results[2]
    for result in compared.results:
        assert result.gap_to_optimum is not None
        assert result.missed <= best.lower * (1.0 + result.gap_to_optimum) * (1.0 + 1e-12)
    assert (best.gap_to_optimum or 0.0) < 1e-6
    assert (compared.results[1].gap_to_optimum or 0.0) > 1e-4


def test_one_period_is_the_city(grid: City) -> None:
    """With one period all week, or none, every number is that of the city alone, and the hour is worth nothing."""
    plain = replace(grid, periods=())
    expected = compare_policies(plain, ("closest-first", "optimal"))
    for city in (plain, replace(plain, periods=(Period("all", ALL_WEEK, 0.7),))):
        found = compare_week(city, ["CF", "OPT/week", "OPT"])
        assert [one.name for one in found.results] == ["closest-first", "optimal/week", "optimal"]
        assert found.results[0].missed == expected.results[0].evaluation.late_fraction
        assert found.results[2].missed == expected.results[1].evaluation.late_fraction
        assert found.results[1].missed == pytest.approx(found.results[2].missed, rel=1e-9)


def test_a_department_with_rates_by_type() -> None:
    """Every standard, over the week, is the mean of the periods weighted by the incidents of its type."""
    city = with_days_by_type(grid_department(side=3, engines=3, ladders=2))
    found = compare_week(city, ["closest-first", "optimal/week", "optimal"])
    alone = {
        one.name: compare_department(city.in_period(one.name), ["closest-first", "optimal"]) for one in city.periods
    }
    hours = {one.name: len(one.hours) for one in city.periods}
    for place, standard in enumerate(city.standards):
        incidents = {
            name: hours[name] * sum(p.incidents_per_day for p in one.city.demand if p.type == standard.type)
            for name, one in alone.items()
        }
        for ours, theirs in ((0, 0), (2, 1)):
            mean = sum(
                incidents[name] * (one.results[theirs].standards[place].miss_fraction or 0.0)
                for name, one in alone.items()
            )
            result = found.results[ours].standards[place]
            assert result.standard == standard
            assert result.miss_fraction == pytest.approx(mean / sum(incidents.values()), rel=1e-9)
            assert result.lower is not None
            assert result.upper is not None
            assert result.lower <= (result.miss_fraction or 0.0) <= result.upper
    assert found.results[2].missed <= found.results[1].missed
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    assert [one["period"] for one in document["policies"][0]["periods"]] == ["day", "night", "weekend"]
    assert document["policies"][0]["periods"][0]["kinds"][0]["kind"] == "engine"
    assert document["knowing_the_hour"][0]["without"] == "optimal/week"


def test_files_are_compared_by_what_they_hold(grid: City, compared: WeekComparison, tmp_path: Path) -> None:
    """A file with periods is the policy that knows the hour; one without is that of the mean rates."""
    week = save(solve(grid), tmp_path / "week.policy")
    mean = save(solve(grid.of_week), tmp_path / "mean.policy")
    found = compare_week(grid, [str(mean), str(week)])
    assert found.results[0].missed == pytest.approx(compared.results[1].missed, rel=1e-9)
    assert found.results[1].missed == pytest.approx(compared.results[2].missed, rel=1e-9)
    other = save(solve(grid.in_period("day")), tmp_path / "day.policy")
    with pytest.raises(PolicyFileError, match="made for another city"):
        compare_week(grid, [str(other)])


def test_another_objective_has_no_bound_but_is_compared(grid: City) -> None:
    """Where minutes are minimised the week's mean is shown, the hour helps the minutes, and no gap is claimed."""
    city = replace(grid, objective=replace(grid.objective, minimise="minutes"))
    found = compare_week(city, ["optimal/week", "optimal"])
    assert [one.gap_to_optimum for one in found.results] == [None, None]
    assert found.results[1].mean_minutes <= found.results[0].mean_minutes * (1.0 + 1e-9)
    assert found.document()["objective"]["minimise"] == "minutes"


def test_without_periods_it_is_refused(grid: City) -> None:
    """A city without periods has no policy that does not know the hour."""
    plain = replace(grid, periods=())
    for city in (plain, grid):
        with pytest.raises(InputError, match="expected a city with periods for optimal/week"):
            compare_policies(city, ["optimal/week"])
    with pytest.raises(InputError, match="expected a policy"):
        compare_week(grid, ["optimum/week"])
