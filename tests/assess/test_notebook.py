"""Comparisons in a notebook."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runcard.outputs.compare import Comparison, compare_policies
from runcard.outputs.department_comparison import DepartmentComparison
from runcard.outputs.notebook import ends_words
from runcard.outputs.week_comparison import compare_week
from tests.departments import random_department
from tests.markup import HOSTILE, shown
from tests.weeks import with_days

from runcard import compare_department, generate_grid

POLICIES = ("closest-first", "optimal")
GRID = generate_grid(side=3, num_stations=3, load=0.2, seed=1)


@pytest.fixture(scope="module")
def plain() -> Comparison:
    """A comparison of a plain city."""
    return compare_policies(GRID, POLICIES)


@pytest.fixture(scope="module")
def department() -> DepartmentComparison:
    """A comparison of a department."""
    return compare_department(random_department(3), POLICIES)


def ends(cell: str) -> tuple[float, float]:
    """The ends of an interval."""
    low, high = cell.split(" to ")
    return float(low), float(high)


def test_late_and_mean_response_stand_side_by_side(plain: Comparison) -> None:
    """Of each policy: its late fraction in an interval that holds it, its mean response, and its gain."""
    (table,) = shown(plain).tables
    assert table[0] == ["policy", "late, %", "proven to lie in", "mean response, min", "fewer than first, %"]
    for row, result in zip(table[1:], plain.results, strict=True):
        assert row[:2] == [result.name, f"{100.0 * result.evaluation.late_fraction:.4f}"]
        low, high = ends(row[2])
        assert low <= 100.0 * result.lower <= 100.0 * result.upper <= high
        assert row[3] == f"{result.evaluation.mean_response_minutes:.3f}"
    assert table[2][4] == f"{100.0 * plain.results[1].improvement_over_first:.2f}"


def test_a_department_shows_every_standard(department: DepartmentComparison) -> None:
    """All kinds together, and each standard with its interval and the mean time of its arrival."""
    policies, standards = shown(department).tables
    for number, result in enumerate(department.results):
        row = policies[1 + number]
        assert row[1] == f"{100.0 * result.missed:.4f}"
        assert row[3] == f"{department.mean_minutes(number):.3f}"
        for line, one in zip(standards[1:], result.standards, strict=True):
            missed, interval, minutes = line[1 + 3 * number : 4 + 3 * number]
            assert one.miss_fraction is not None
            assert missed == f"{100.0 * one.miss_fraction:.4f}"
            assert ends(interval)[0] <= 100.0 * one.miss_fraction <= ends(interval)[1]
            assert minutes == ("" if one.mean_minutes is None else f"{one.mean_minutes:.3f}")


def test_one_kind_of_a_department_shows_its_standards(department: DepartmentComparison) -> None:
    """The comparison of engines alone has their standards."""
    engines = department.kinds["engine"]
    _, standards = shown(engines).tables
    assert len(standards) == 1 + len(engines.results[0].standards)


def test_a_week_shows_every_period() -> None:
    """The mean of the week, and what each policy does in each period."""
    week = compare_week(with_days(GRID), POLICIES)
    policies, periods = shown(week).tables
    assert [row[1] for row in policies[1:]] == [f"{100.0 * one.missed:.4f}" for one in week.results]
    assert [row[3] for row in policies[1:]] == [f"{one.mean_minutes:.3f}" for one in week.results]
    assert [row[0] for row in periods[1:]] == ["day", "night"]
    night = week.periods["night"]
    assert periods[2][2:4] == [f"{100.0 * night.results[0].missed:.4f}", f"{night.mean_minutes(0):.3f}"]


def test_hostile_names_and_doubt_are_shown(plain: Comparison) -> None:
    """A name that is a script is only text, and a policy that did not converge says so."""
    results = (replace(plain.results[0], converged=False), plain.results[1])
    page = shown(replace(plain, city=replace(plain.city, name=HOSTILE), results=results))
    assert HOSTILE in page.words
    assert "closest-first (not converged)" in page.words


@given(st.floats(0.0, 3.0), st.floats(0.0, 1.0))
def test_a_shown_interval_holds_the_proven_one(lower: float, width: float) -> None:
    """Rounding never makes an interval smaller."""
    low, high = ends(ends_words(lower, lower + width))
    slack = 1e-12  # of reading the decimals again
    assert low <= 100.0 * lower + slack
    assert high >= 100.0 * (lower + width) - slack


def test_a_map_shows_where_the_best_departs(department: DepartmentComparison) -> None:
    """A full dot where the best policy sends others than the first with every unit free, a circle elsewhere."""
    large = compare_policies(generate_grid(side=6, num_stations=6, load=0.3, seed=2, gamma=0.3), POLICIES)
    found = 0
    for comparison in (large, department):
        kinds = [large] if comparison is large else list(department.kinds.values())
        departing = {
            node_id
            for one in kinds
            for point, node_id in enumerate(one.problem.point_ids)
            if len({tuple(sorted(of.policy.decide(one.problem.trucks, point).team)) for of in one.results}) > 1
        }
        circles = re.findall(r"<circle [^>]*>", comparison._repr_html_())
        assert len(circles) == len({point.node_id for point in comparison.city.demand})
        assert sum('fill="none"' in one for one in circles) == len(circles) - len(departing)
        found += len(departing)
    assert 0 < found < 36


def test_every_comparison_has_a_map() -> None:
    """Where the first policy is the best the other one is beside it, and one alone is shown as its city is."""
    turned = compare_policies(GRID, POLICIES[::-1])._repr_html_()
    assert "closest-first sends others than optimal" in turned
    assert turned.count("<svg") == compare_policies(GRID, POLICIES[:1])._repr_html_().count("<svg") == 1
