"""Tests of the backend of the processor: the rows of every rule, and memory that is short."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.city import Objective
from runcard.errors import InputError
from runcard.mdp import cpu, layout
from runcard.mdp.cpu import cpu_backend
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.memory import bytes_of_values
from runcard.mdp.objective import with_objective
from runcard.mdp.rows import OrderRule, ValueRule
from runcard.mdp.solve import solve_optimal
from runcard.policy.solve import POLICY_NAMES, evaluate, solve_problem

from .problems import every_state, make_problem, random_problem, random_values


@each_seed(12)
def test_every_improvement_sends_a_team_to_every_incident(seed: int) -> None:
    """The rates of a row add up to Σλ, and its teams are idle in its state and of the size some point wants."""
    problem = random_problem(seed)
    for coarse in (True, False):
        (rows,) = cpu_backend(problem, 1).improve(random_values(problem, seed), coarse=coarse).rows
        assert rows.end[-1] == len(rows.team) == len(rows.rate)
        assert rows.measured.shape == (0, problem.num_states)
        for idle, first, last in zip(every_state(problem), [0, *rows.end[:-1]], rows.end, strict=True):
            assert rows.rate[first:last].sum() == pytest.approx(problem.total_incidents_per_day, rel=1e-12)
            teams = problem.teams.counts[rows.team[first:last]]
            assert (teams <= idle).all()
            assert set(teams.sum(axis=1).tolist()) <= {min(k, idle.sum()) for k in problem.trucks_needed.tolist()}


def test_rows_are_small() -> None:
    """Rows take one entry for each different team of a state, not one for each demand point."""
    problem = make_problem([1, 1, 1], [2] * 50, seed=1)
    (rows,) = cpu_backend(problem, 1).rows(OrderRule(problem.order))
    assert len(rows.team) <= 3 + 3 + 3 + 1
    assert sum(array.nbytes for array in rows[:-1]) < 8 * 8 + 10 * 10 + 8 * 8 + 1


@pytest.mark.parametrize("bare", [False, True])
def test_without_memory_for_rows_they_are_made_again(bare: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rows of a policy would not fit beside its values, solving and evaluating give the same bytes.

    So do they for a problem without minutes, and for one that minimises them.
    """
    problem = make_problem([2, 1, 3, 1], [2, 1, 3, 2], seed=4)
    problem = replace(problem, measures={}) if bare else with_objective(problem, Objective("late+minutes", 0.1))
    monkeypatch.setattr(layout, "CHUNK_STATES", 12)
    assert cpu_backend(problem).keeps_rows
    kept = solve_optimal(problem)
    rules = (OrderRule(problem.order), ValueRule(kept.value))
    expected = [evaluate_rule(problem, rule) for rule in rules]
    monkeypatch.setattr(cpu, "SMALL_BYTES", 0)
    monkeypatch.setattr(cpu, "available_bytes", lambda: bytes_of_values(problem.num_states) + 1.0)
    assert not cpu_backend(problem).keeps_rows
    made_again = solve_optimal(problem)
    assert kept.value.tobytes() == made_again.value.tobytes()
    assert (kept.lower, kept.upper) == (made_again.lower, made_again.upper)
    for rule, first in zip(rules, expected, strict=True):
        second = evaluate_rule(problem, rule)
        assert first.value.tobytes() == second.value.tobytes()
        assert first.probability.tobytes() == second.probability.tobytes()
        assert (first.cost, first.measures) == (second.cost, second.measures)
        assert np.array_equal(first.dispatch_share, second.dispatch_share)


@pytest.mark.parametrize("threads", [0, -3, 1.5, "two"])
def test_a_number_of_threads_that_means_nothing_is_refused(threads: Any) -> None:
    """Wherever threads are taken, none of them, or half of one, is an error in words."""
    problem = make_problem([1, 1], [1])
    policy = solve_problem(problem, "closest-first")
    for work in (
        lambda: cpu_backend(problem, threads),
        lambda: solve_optimal(problem, threads=threads),
        lambda: evaluate_rule(problem, OrderRule(problem.order), threads=threads),
        lambda: evaluate(policy, threads=threads),
        *(lambda name=name: solve_problem(problem, name, threads=threads) for name in POLICY_NAMES),
    ):
        with pytest.raises(InputError, match="threads"):
            work()


def test_the_four_operations_fit_together() -> None:
    """An improvement gives rows; swept by them, values have residuals that are closer together, and states a total."""
    problem = make_problem([2, 1], [2, 1], load=0.4, seed=2)
    backend = cpu_backend(problem, 1)
    value = random_values(problem, 1)
    value.flags.writeable = False  # no operation writes to the values that it is given
    rows, before = backend.improve(value)
    swept = backend.sweep(rows, value, 4)
    after = backend.residuals(rows, swept)
    assert problem.bounds(after).gap < 1e-3 * problem.bounds(before).gap
    assert backend.probabilities(rows, tolerance=1e-9, max_sweeps=500).probability.sum() == pytest.approx(1.0)
    assert backend.improve(value, want_rows=False).rows == []
