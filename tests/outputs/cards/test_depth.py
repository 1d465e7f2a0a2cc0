"""Tests of what the depth of run cards is worth: exactly, and in simulations."""

import numpy as np
import pytest
from tests.departments import grid_department, random_department
from tests.weeks import with_days

from runcard import dispatch_problem, evaluate, solve_problem
from runcard.city import generate_grid
from runcard.outputs.cards import depth as depths
from runcard.outputs.cards.book import CardBook, make_book
from runcard.outputs.cards.depth import is_exact, is_quick, measure_depths
from runcard.plan.plan import solve

CITY = grid_department(side=5, engines=7, ladders=3, load=0.2)


@pytest.fixture(scope="module")
def book() -> CardBook:
    """The cards of a small department, with lines enough."""
    return make_book(solve(CITY), depth=2, depth_to_measure=8)


def test_the_ends_of_the_table_are_closest_first_and_the_policy(book: CardBook) -> None:
    """Closest-first keeps nothing of the gain and the policy all of it; their costs are those of `evaluate`."""
    for table in measure_depths(book):
        problem = dispatch_problem(CITY, kind=table.kind)
        first, *_, last = table.rows
        assert table.exact
        assert first.missed.value == pytest.approx(
            evaluate(solve_problem(problem, "closest-first")).late_fraction, rel=1e-8
        )
        assert last.missed.value == pytest.approx(evaluate(solve_problem(problem)).late_fraction, rel=1e-8)
        assert first.minutes == pytest.approx(
            evaluate(solve_problem(problem, "closest-first")).mean_response_minutes, rel=1e-8
        )
        assert first.kept is not None
        assert last.kept is not None
        assert (first.kept.value, last.kept.value) == (0.0, pytest.approx(1.0))


def test_no_card_keeps_more_than_the_optimum(book: CardBook) -> None:
    """Nothing is better than the optimum: no row keeps more than all of its gain."""
    for table in measure_depths(book):
        assert all(row.kept is None or row.kept.value <= 1.0 + 1e-6 for row in table.rows)


def test_lines_that_cover_everything_keep_everything() -> None:
    """With three trucks of which two go, cards of every line are the optimum: they keep all of the gain."""
    city = generate_grid(side=4, num_stations=3, load=0.3, seed=4)
    (table,) = measure_depths(make_book(solve(city), depth=4))
    cards = [row for row in table.rows if row.name.startswith("cards of")]
    assert cards[-1].kept is not None
    assert cards[-1].kept.value == pytest.approx(1.0, abs=1e-6)
    assert cards[-1].missed.value == pytest.approx(table.rows[-1].missed.value, rel=1e-8)


def test_a_simulation_finds_what_is_exact(book: CardBook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where states are too many the table comes from a simulation, whose intervals hold the exact figures."""
    exact = {table.kind: table for table in measure_depths(book)}
    monkeypatch.setattr(depths, "EXACT_WORK", 0)
    assert not is_exact(book, "engine")
    for table in measure_depths(book, incidents=60_000, seed=2):
        assert not table.exact
        assert [row.name for row in table.rows] == [row.name for row in exact[table.kind].rows]
        for found, known in zip(table.rows, exact[table.kind].rows, strict=True):
            assert abs(found.missed.value - known.missed.value) <= 2.0 * found.missed.half
            if found.kept is not None and known.kept is not None:
                assert abs(found.kept.value - known.kept.value) <= 2.0 * found.kept.half + 1e-9


def test_periods_are_weighed_by_their_incidents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a week there is one table for each kind: means over 15 hours of day and 9 of night, with 1.3 and 0.5 times the
    incidents; a simulation of the week finds about the same."""
    week = solve(with_days(random_department(1), 1.3, 0.5))
    book = make_book(week, depth=2, depth_to_measure=4)
    exact = {table.kind: table for table in measure_depths(book)}
    assert set(exact) == set(book.kinds)
    for kind, table in exact.items():
        results = [evaluate(policy) for policy in week.fleet(kind).policies]
        for of, name in (
            (table.rows[-1].missed.value, "late_fraction"),
            (table.rows[-1].minutes, "mean_response_minutes"),
        ):
            values = [getattr(one, name) for one in results]
            assert of == pytest.approx(np.average(values, weights=[15 * 1.3, 9 * 0.5]), rel=1e-6)
    monkeypatch.setattr(depths, "EXACT_WORK", 0)
    for table in measure_depths(book, incidents=40_000):
        for found, known in zip(table.rows, exact[table.kind].rows, strict=True):
            assert found.missed.value == pytest.approx(known.missed.value, rel=0.1)


def test_a_simulation_that_sees_no_gain_says_nothing_of_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the gain may be chance no row says what it keeps of it, even if the gain that was counted is above zero."""
    monkeypatch.setattr(depths, "EXACT_WORK", 0)
    book, unsure = make_book(solve(random_department(4)), depth=2), 0
    for seed in range(3):
        for table in measure_depths(book, incidents=1000, seed=seed):
            first, *_, last = table.rows
            if last.missed.value < first.missed.value < last.missed.high:
                unsure += 1
                assert all(row.kept is None for row in table.rows)
                assert "does not gain enough" in table.words
    assert unsure


def test_words_say_what_cards_keep(book: CardBook) -> None:
    """One sentence has what cards keep and the mean response at that price; without a gain it says so."""
    for table in measure_depths(book):
        assert table.words.startswith(f"{table.kind}: ")
        assert "closest-first" in table.words
        for row in (*table.rows[:2], table.rows[-1]):
            assert f"{row.minutes:.2f} min" in table.words.split(". ")[0] + "."
    closest = make_book(solve(random_department(3), "closest-first"), depth=2)
    assert all("does not gain enough" in table.words for table in measure_depths(closest))


@pytest.mark.slow
@pytest.mark.usefixtures("coarse_values")
def test_small_departments_are_measured_without_being_asked() -> None:
    """A town is quick to measure, and 22 engines on 100 areas are not."""
    assert is_quick(solve(random_department(3)))
    large = generate_grid(side=10, num_stations=22, load=0.1, seed=1)
    assert not is_quick(solve(large, "one-step-mean-field"))
