"""Tests of what is kept for a problem, and for how long."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from runcard.mdp import rows as rows_module
from runcard.mdp import space as space_module
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.memory import bytes_of_values
from runcard.mdp.rows import OrderRule, ValueRule
from runcard.mdp.solve import solve_optimal
from runcard.mdp.space import state_space

from .problems import make_problem
from .reference import Dense


def test_levels_count_the_idle_trucks() -> None:
    """The level of a state is its number of idle trucks, for stations of any size."""
    problem = make_problem([2, 1, 3], [1])
    levels = state_space(problem).levels
    assert np.array_equal(levels, np.array(Dense(problem).states).sum(axis=1))


@pytest.mark.parametrize("needed", [[1], [2, 3], [1, 2, 3], [4], [4, 2, 1]])
def test_the_start_has_the_right_total_at_every_level(needed: list[int]) -> None:
    """Even probabilities add up to the distribution of idle trucks, and their dispatches to what leaves each level."""
    problem = make_problem([2, 1, 3], needed, load=0.5)
    space = state_space(problem)
    totals = np.bincount(space.levels, weights=space.even_probability)
    np.testing.assert_allclose(totals, space.idle_distribution, rtol=1e-12)
    arrivals = np.bincount(space.levels, weights=space.even_arrivals)
    expected = np.zeros(7)
    for n in range(1, 7):
        for rate, k in zip(problem.incidents_per_day, problem.trucks_needed, strict=True):
            expected[n - min(n, k)] += rate * space.idle_distribution[n]
    np.testing.assert_allclose(arrivals, expected, rtol=1e-12, atol=1e-15)


def test_single_trucks_have_their_own_probabilities() -> None:
    """With one truck at each station, states of a level are not equally likely: the closest truck is busier."""
    problem = make_problem([1, 1, 1], [1], load=0.5)
    first, *_, last = evaluate_rule(problem, OrderRule(problem.order)).busy_fraction[problem.order[0]]
    assert first > last + 0.05


def test_a_state_space_is_made_once() -> None:
    """Policies of one problem share its state space; another number of threads shares the layout."""
    problem = make_problem([1, 2], [2])
    assert state_space(problem, 1) is state_space(problem, 1)
    assert state_space(problem, 2).layout is state_space(problem, 1).layout


def test_without_memory_for_rows_they_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rows of a policy would not fit beside its values, solving and evaluating give the same bytes."""
    kept = make_problem([2, 1, 3, 1], [2, 1, 3, 2], seed=4)
    made_again = make_problem([2, 1, 3, 1], [2, 1, 3, 2], seed=4)
    monkeypatch.setattr(rows_module, "CHUNK_STATES", 12)
    assert state_space(kept).keeps_rows
    monkeypatch.setattr(space_module, "SMALL_BYTES", 0)
    monkeypatch.setattr(space_module, "available_bytes", lambda: bytes_of_values(made_again) + 1.0)
    assert not state_space(made_again).keeps_rows
    one, other = solve_optimal(kept), solve_optimal(made_again)
    assert one.value.tobytes() == other.value.tobytes()
    assert (one.lower, one.upper) == (other.lower, other.upper)
    for rule in (OrderRule(kept.order), ValueRule(one.value)):
        first, second = evaluate_rule(kept, rule), evaluate_rule(made_again, rule)
        assert first.value.tobytes() == second.value.tobytes()
        assert first.probability.tobytes() == second.probability.tobytes()
        assert first.mean_response_minutes == second.mean_response_minutes
        assert np.array_equal(first.dispatch_share, second.dispatch_share)


def test_rows_made_again_without_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem without response minutes is evaluated without memory for rows, too."""
    problem = replace(make_problem([2, 1], [2, 1]), response_minutes=None)
    expected = evaluate_rule(problem, OrderRule(problem.order)).late_fraction
    again = replace(problem)
    monkeypatch.setattr(space_module, "SMALL_BYTES", 0)
    monkeypatch.setattr(space_module, "available_bytes", lambda: bytes_of_values(again) + 1.0)
    assert evaluate_rule(again, OrderRule(again.order)).late_fraction == expected


def test_nothing_outlives_its_problem() -> None:
    """A solved and evaluated problem is freed with its last reference, so that studies of many cities do not grow."""
    problem = make_problem([1, 2, 1], [2, 1])
    solve_optimal(problem)
    evaluate_rule(problem, OrderRule(problem.order))
    alive = weakref.ref(problem)
    del problem
    gc.collect()
    assert alive() is None
