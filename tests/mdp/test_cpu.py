"""Tests of the backend of the processor: the rows of every rule, and memory that is short."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.errors import InputError
from runcard.mdp import cpu, layout
from runcard.mdp.cpu import cpu_backend
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.memory import bytes_of_values
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import DecisionRule, OrderRule, PolicyRows, TableRule, ValueRule
from runcard.mdp.solve import solve_optimal
from runcard.policy.solve import POLICY_NAMES, evaluate, solve_problem

from .problems import make_problem, random_problem, random_values
from .reference import Dense


@each_seed(12)
def test_every_rule_sends_a_team_to_every_incident(seed: int) -> None:
    """The rates of a row add up to Σλ, and its teams are idle in its state and of the size some point wants."""
    problem = random_problem(seed)
    dense, backend = Dense(problem), cpu_backend(problem, 1)
    rules: tuple[DecisionRule, ...] = (
        OrderRule(problem.order),
        TableRule(dense.random_table(np.random.default_rng(seed))),
        ValueRule(random_values(problem, seed)),
    )
    found = [backend.rows(rule) for rule in rules]
    found += [backend.improve(random_values(problem, seed), coarse=coarse).rows for coarse in (True, False)]
    for all_rows in found:
        rows: PolicyRows
        (rows,) = all_rows
        assert rows.end[-1] == len(rows.team) == len(rows.rate)
        assert rows.measured.shape == (0, problem.num_states)
        for state, (first, last) in zip(dense.states, np.stack([np.append(0, rows.end[:-1]), rows.end]).T, strict=True):
            assert rows.rate[first:last].sum() == pytest.approx(problem.total_incidents_per_day, rel=1e-12)
            teams = problem.teams.counts[rows.team[first:last]]
            assert (teams <= state).all()
            wanted = {min(k, sum(state)) for k in problem.trucks_needed.tolist()}
            assert set(teams.sum(axis=1).tolist()) <= wanted


def test_rows_are_small() -> None:
    """Rows take one entry for each different team of a state, not one for each demand point."""
    problem = make_problem([1, 1, 1], [2] * 50, seed=1)
    (rows,) = cpu_backend(problem, 1).rows(OrderRule(problem.order))
    assert len(rows.team) <= 3 + 3 + 3 + 1
    assert sum(array.nbytes for array in rows[:-1]) < 8 * 8 + 10 * 10 + 8 * 8 + 1


def short_of_memory(problem: DispatchProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave memory for the values of a problem, and for nothing else."""
    monkeypatch.setattr(cpu, "SMALL_BYTES", 0)
    monkeypatch.setattr(cpu, "available_bytes", lambda: bytes_of_values(problem.num_states) + 1.0)


def test_without_memory_for_rows_they_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rows of a policy would not fit beside its values, solving and evaluating give the same bytes."""
    problem = make_problem([2, 1, 3, 1], [2, 1, 3, 2], seed=4)
    monkeypatch.setattr(layout, "CHUNK_STATES", 12)
    assert cpu_backend(problem).keeps_rows
    kept = solve_optimal(problem)
    rules = (OrderRule(problem.order), ValueRule(kept.value))
    expected = [evaluate_rule(problem, rule) for rule in rules]
    short_of_memory(problem, monkeypatch)
    assert not cpu_backend(problem).keeps_rows
    made_again = solve_optimal(problem)
    assert kept.value.tobytes() == made_again.value.tobytes()
    assert (kept.lower, kept.upper) == (made_again.lower, made_again.upper)
    for rule, first in zip(rules, expected, strict=True):
        second = evaluate_rule(problem, rule)
        assert first.value.tobytes() == second.value.tobytes()
        assert first.probability.tobytes() == second.probability.tobytes()
        assert first.measures == second.measures
        assert np.array_equal(first.dispatch_share, second.dispatch_share)


def test_rows_made_again_without_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem without minutes is evaluated without memory for rows, too."""
    problem = replace(make_problem([2, 1], [2, 1]), measures={})
    expected = evaluate_rule(problem, OrderRule(problem.order)).late_fraction
    short_of_memory(problem, monkeypatch)
    assert evaluate_rule(problem, OrderRule(problem.order)).late_fraction == expected


def test_values_that_are_given_are_left_alone() -> None:
    """No operation writes to the values that it is given: they may be read-only."""
    problem = make_problem([2, 1], [2, 1])
    backend, value = cpu_backend(problem), random_values(problem, 1)
    value.flags.writeable = False
    rows = backend.improve(value).rows
    backend.sweep(rows, value, 3)
    backend.residuals(rows, value)
    assert np.array_equal(value, random_values(problem, 1))


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
    rows, before = backend.improve(value)
    swept = backend.sweep(rows, value, 4)
    after = backend.residuals(rows, swept)
    assert problem.bounds(after).gap < 1e-3 * problem.bounds(before).gap
    assert backend.probabilities(rows, tolerance=1e-9, max_sweeps=500).probability.sum() == pytest.approx(1.0)
    assert backend.improve(value, want_rows=False).rows == []
    assert np.array_equal(value, random_values(problem, 1))
