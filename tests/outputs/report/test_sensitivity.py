"""A row of the sensitivity is what a comparison of the changed city says."""

from dataclasses import replace

import pytest
from tests.departments import grid_department
from tests.town import plain_town
from tests.weeks import with_days_by_type

from runcard.assess.auto import CLOSEST, OPTIMAL, RECOMMENDED, Effort, solved_city
from runcard.assess.exact import assess_exactly
from runcard.city import City
from runcard.outputs.report.findings import find
from runcard.outputs.report.sensitivity import Row, changes_of, sensitivity, with_targets
from runcard.outputs.whatif.words import sends_several


@pytest.fixture(scope="module")
def department() -> City:
    """A small department with days, nights and weekends."""
    return with_days_by_type(replace(grid_department(side=3, engines=3, ladders=2, load=0.2), shared_delay=0.3))


@pytest.fixture(scope="module")
def rows(department: City) -> dict[str, Row]:
    """Its rows, by their words."""
    return {row.words: row for row in find(department, Effort()).rows}


def times(city: City, factor: float) -> City:
    """The city with more incidents."""
    demand = tuple(replace(point, incidents_per_day=factor * point.incidents_per_day) for point in city.demand)
    return replace(city, demand=demand)


def test_every_row_is_a_fresh_comparison(department: City, rows: dict[str, Row]) -> None:
    """For loads, periods, targets and shared delays, changed here by hand."""
    week = department.of_week
    moved = tuple(replace(one, target_minutes=one.target_minutes + 1.0) for one in week.standards)
    expected = {
        "as described": week,
        "50 % fewer incidents": times(week, 0.5),
        "25 % more incidents": times(week, 1.25),
        "every standard 1 minute longer": replace(week, standards=moved),
        "units never held up together": replace(week, shared_delay=0.0),
        "units on one road always held up together": replace(week, shared_delay=1.0),
    }
    for words in rows:
        for period in department.periods:
            if words.startswith(f"{period.name} ("):
                expected[words] = department.in_period(period.name)
    assert len(expected) == 9
    assert len(rows) == 1 + 4 + 3 + 2 + 3
    for words, city in expected.items():
        comparison = assess_exactly(city, (CLOSEST, OPTIMAL))
        row = rows[words]
        for outcome, own in zip(comparison, (row.solved.first, row.solved.last), strict=True):
            assert own.missed.value == pytest.approx(outcome.missed.value, rel=1e-8)
            assert own.first_minutes == pytest.approx(outcome.first_minutes, rel=1e-8)


def test_only_what_changes_something_is_changed() -> None:
    """Units that are sent alone are never held up together, and the shared delay that the city has is no change."""
    town = plain_town()
    assert sends_several(town)
    assert [one.about for one in changes_of(town)].count("delay") == 2  # it has one of the three
    alone = replace(town, trucks_per_incident=1)
    assert not sends_several(alone)
    assert "delay" not in {one.about for one in changes_of(alone)}
    assert "period" not in {one.about for one in changes_of(town)}


def test_targets_stay_above_half_a_minute() -> None:
    """Of the city, of demand points, and of standards."""
    town = plain_town()
    assert with_targets(town, -100.0).target_minutes == 0.5
    assert with_targets(town, 1.0).target_minutes == 7.0
    assert with_targets(town, 1.0).demand[0].target_minutes is None
    assert {
        one.target_minutes for one in with_targets(grid_department(side=3, engines=2, ladders=1), -99.0).standards
    } == {0.5}


def test_changed_cities_are_simulated_for_a_third(simulated: City) -> None:
    """A row of a large city is the simulation of that city, with the same seed."""
    base = solved_city(simulated, (CLOSEST, RECOMMENDED), Effort(incidents=900, seed=3))
    found = {row.words: row for row in sensitivity(simulated, base, Effort(incidents=900, seed=3))}
    again = solved_city(times(simulated, 1.5), (CLOSEST, RECOMMENDED), Effort(incidents=300, seed=3))
    assert found["50 % more incidents"].gain == again.gain(again.last)
    assert found["as described"].solved is base
