"""Tests of the guard against problems that do not fit in memory."""

import tracemalloc
from collections.abc import Callable

import pytest

from runcard.errors import SizeError
from runcard.mdp import memory
from runcard.mdp.cpu import cpu_backend
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.memory import bytes_of_rows, bytes_of_values, check_states
from runcard.mdp.rows import OrderRule, ValueRule
from runcard.mdp.solve import solve_optimal
from runcard.memory import available_bytes
from runcard.policy.solve import POLICY_NAMES, evaluate, solve_problem

from .problems import make_problem, random_values

EVERY_STATE = ("optimal", "one-step")
"""The policies that are the values of every state; the others only need them to be evaluated."""


def refused_at_once(work: Callable[[], object]) -> None:
    """Assert that a million million states are refused without memory and in words."""
    tracemalloc.start()
    try:
        with pytest.raises(SizeError, match="40 trucks at 40 stations") as caught:
            work()
        _, peak = tracemalloc.get_traced_memory()
        assert peak < 2**20
    finally:
        tracemalloc.stop()
    assert "1,099,511,627,776 states" in str(caught.value)
    assert "iB" in str(caught.value)


@pytest.mark.parametrize("policy", EVERY_STATE)
def test_forty_stations_are_refused_at_once(policy: str) -> None:
    """A million million states are refused in no time and without memory, with the trucks and the memory named."""
    problem = make_problem([1] * 40, [2] * 10)
    refused_at_once(lambda: solve_problem(problem, policy))


@pytest.mark.slow
@pytest.mark.usefixtures("coarse_values")
@pytest.mark.parametrize("policy", [name for name in POLICY_NAMES if name not in EVERY_STATE])
def test_forty_stations_are_solved_but_not_evaluated(policy: str) -> None:
    """The other policies can be had for as many trucks, and decide; their evaluation is what is refused at once."""
    problem = make_problem([1] * 40, [2] * 10)
    solved = solve_problem(problem, policy)
    assert len(solved.decide(problem.trucks, 0).team) == 2
    refused_at_once(lambda: evaluate(solved))


def test_more_states_than_a_number_holds() -> None:
    """Even 2^80 states, more than 64 bits count, are a plain refusal; and evaluating a rule asks first, too."""
    with pytest.raises(SizeError, match="80 trucks"):
        solve_problem(make_problem([1] * 80, [1] * 3))
    problem = make_problem([1] * 40, [2])
    with pytest.raises(SizeError):
        evaluate_rule(problem, OrderRule(problem.order))


def test_the_limit_is_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem that fits is refused where less memory is free than it needs."""
    problem = make_problem([1, 2, 1], [2, 1])
    check_states(problem.trucks)
    needed = bytes_of_values(problem.num_states)
    assert 16 * problem.num_states <= needed < available_bytes()  # at least the values and probabilities alone
    monkeypatch.setattr(memory, "SMALL_BYTES", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda: needed - 1.0)
    with pytest.raises(SizeError, match="4 trucks at 3 stations make 12 states"):
        solve_optimal(problem)


@pytest.mark.parametrize("needed", [[1] * 4, [2] * 30, [3, 2, 1, 1], [3] * 9, [4, 2, 1, 1], [4] * 9])
def test_rows_take_no_more_than_was_thought(needed: list[int]) -> None:
    """The estimate of the rows of a policy is not below what they take, whichever policy it is."""
    problem = make_problem([2, 1, 3, 1], needed)
    for rule in (OrderRule(problem.order), ValueRule(random_values(problem, 1))):
        taken = sum(rows.team.nbytes + rows.rate.nbytes for rows in cpu_backend(problem, 1).rows(rule))
        assert taken <= bytes_of_rows(problem)
