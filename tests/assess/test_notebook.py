"""Comparisons in a notebook."""

import re
from dataclasses import replace

import pytest
from tests.departments import random_department
from tests.markup import HOSTILE, shown
from tests.weeks import with_days

from runcard import generate_grid
from runcard.assess.assessment import Assessment
from runcard.assess.exact import assess_exactly

POLICIES = ("closest-first", "optimal")
GRID = generate_grid(side=3, num_stations=3, load=0.2, seed=1)


@pytest.fixture(scope="module")
def plain() -> Assessment:
    """A comparison of a plain city."""
    return assess_exactly(GRID, POLICIES)


@pytest.fixture(scope="module")
def department() -> Assessment:
    """A comparison of a department."""
    return assess_exactly(random_department(3), POLICIES)


def ends(cell: str) -> tuple[float, float]:
    """The ends of an interval."""
    low, high = cell.split("-")
    return float(low), float(high)


def test_late_and_mean_response_stand_side_by_side(plain: Assessment) -> None:
    """Of each policy: its late fraction in an interval that holds it, its mean response, and its gain."""
    (table,) = shown(plain).tables
    assert table[0][:4] == ["policy", "late\n%", "proven\ninterval, %", "late\nper day"]
    for row, outcome in zip(table[1:], plain, strict=True):
        assert row[0] == outcome.name
        assert float(row[1]) == pytest.approx(100.0 * outcome.missed.value, abs=1e-3)
        low, high = ends(row[2])
        assert low <= 100.0 * outcome.missed.low <= 100.0 * outcome.missed.high <= high
        assert row[4] == f"{outcome.first_minutes:.3f}"
    assert table[2][5] == f"{100.0 * plain.improvement(plain.outcomes[1]):.2f}"


def test_a_department_shows_every_standard(department: Assessment) -> None:
    """All kinds together, and each standard with its interval and the mean time of its arrival."""
    policies, standards = shown(department).tables
    for number, outcome in enumerate(department):
        assert policies[1 + number][4] == f"{outcome.first_minutes:.3f}"
        for line, of in zip(standards[1:], outcome.standards, strict=True):
            assert of.missed is not None
            missed, interval, *minutes = line[2 + number].split("\n", 2)
            assert float(missed) == pytest.approx(100.0 * of.missed.value, abs=1e-3)
            assert ends(interval)[0] <= 100.0 * of.missed.low <= 100.0 * of.missed.high <= ends(interval)[1]
            assert minutes == ([] if of.minutes is None else [f"{of.minutes:.2f} min"])


def test_one_kind_of_a_department_shows_its_standards(department: Assessment) -> None:
    """The assessment of engines alone has their standards."""
    engines = department.of_kind("engine")
    _, standards = shown(engines).tables
    assert len(standards) == 1 + len(engines.first.standards)


def test_a_week_shows_every_period() -> None:
    """The mean of the week, and what each policy misses in each period."""
    week = assess_exactly(with_days(GRID), POLICIES)
    policies, periods = shown(week).tables
    assert [row[4] for row in policies[1:]] == [f"{of.first_minutes:.3f}" for of in week]
    assert periods[0] == ["policy", "day", "night"]
    for row, outcome in zip(periods[1:], week, strict=True):
        parts = [100.0 * outcome.in_period(period).missed.value for period in ("day", "night")]
        assert [float(cell) for cell in row[1:]] == pytest.approx(parts, abs=1e-3)


def test_hostile_names_and_doubt_are_shown(plain: Assessment) -> None:
    """A name that is a script is only text, and a policy that did not converge says so."""
    (fleet,), first = plain.first.fleets.values(), plain.first
    doubtful = replace(first, periods={"always": {fleet.kind: replace(fleet, converged=False)}})
    outcomes = (doubtful, plain.outcomes[1])
    page = shown(replace(plain, city=replace(plain.city, name=HOSTILE), outcomes=outcomes))
    assert HOSTILE in page.words
    assert "closest-first (not converged)" in page.words


def test_a_map_shows_where_the_best_departs(department: Assessment) -> None:
    """A full dot where the best policy sends others than the first with every unit free, a circle elsewhere."""
    large = assess_exactly(generate_grid(side=6, num_stations=6, load=0.3, seed=2, gamma=0.3), POLICIES)
    found = 0
    for comparison in (large, department):
        departing = {
            node_id
            for kind, fleet in comparison.first.fleets.items()
            for point, node_id in enumerate(fleet.problem.point_ids)
            if len(
                {tuple(sorted(of.fleets[kind].policy.decide(fleet.problem.trucks, point).team)) for of in comparison}
            )
            > 1
        }
        circles = re.findall(r"<circle [^>]*>", comparison._repr_html_())
        assert len(circles) == len({point.node_id for point in comparison.city.demand})
        assert sum('fill="none"' in one for one in circles) == len(circles) - len(departing)
        found += len(departing)
    assert 0 < found < 36


def test_every_comparison_has_a_map() -> None:
    """Where the first policy is the best the other one is beside it, and one alone is shown as its city is."""
    turned = assess_exactly(GRID, POLICIES[::-1])._repr_html_()
    assert "closest-first sends others than optimal" in turned
    assert turned.count("<svg") == assess_exactly(GRID, POLICIES[:1])._repr_html_().count("<svg") == 1
