"""Tests of exact evaluation against dense linear algebra, and on problems that can be solved by hand."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.errors import InputError
from runcard.mdp import layout
from runcard.mdp.evaluate import Evaluation, evaluate_rule
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import DecisionRule, OrderRule, TableRule, ValueRule

from .problems import make_problem, random_problem, random_values
from .reference import Dense, Exact, Table, erlang_loss, level_distribution, value_error

BUSY = make_problem([1, 2, 1, 2], [2, 3, 1, 2], load=0.8, seed=2)


def assert_same(found: Evaluation, exact: Exact) -> None:
    """Assert that an evaluation says what linear algebra says."""
    assert found.converged
    assert found.late_fraction == pytest.approx(exact.late_fraction, rel=1e-10, abs=1e-14)
    rounding = 1e-13 * (1.0 + np.abs(exact.value).max())
    assert found.lower - rounding <= exact.late_fraction <= found.upper + rounding
    assert found.upper - found.lower <= 1e-11 * found.upper + 2 * rounding
    np.testing.assert_allclose(found.probability, exact.probability, rtol=0, atol=1e-9)
    assert found.mean_response_minutes == pytest.approx(exact.mean_response_minutes, rel=1e-9)
    np.testing.assert_allclose(found.dispatch_share, exact.dispatch_share, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.busy_fractions, exact.busy_fractions, rtol=0, atol=1e-9)
    assert found.outside_share == pytest.approx(exact.outside_share, abs=1e-12)


def rules_of(problem: DispatchProblem, seed: int, *sizes: float) -> list[tuple[DecisionRule, Table]]:
    """The order of a problem, any teams, and what is greedy for random values of these sizes, each with its table."""
    dense = Dense(problem)
    anything = dense.random_table(np.random.default_rng(seed))
    values = [random_values(problem, seed, size=size) for size in sizes]
    return [
        (OrderRule(problem.order), dense.order_table(problem.order)),
        (TableRule(anything), anything),
        *((ValueRule(value), dense.greedy_table(value)) for value in values),
    ]


@each_seed(40)
def test_every_rule_is_evaluated_exactly(seed: int) -> None:
    """Whatever the trucks, needs and loads, a policy is worth what linear algebra says, and its values are those.

    That is a fixed order, a policy without sense, and what is greedy for values small or far larger than the costs. The
    number of idle trucks has one distribution for all of them: it comes from counting trucks alone.
    """
    problem = random_problem(seed)
    dense, idle = Dense(problem), level_distribution(problem)
    levels = np.array(dense.states).sum(axis=1)
    for rule, table in rules_of(problem, seed, 0.1, 1.0, 100.0):
        found, exact = evaluate_rule(problem, rule, threads=1), dense.evaluate(table)
        assert_same(found, exact)
        assert value_error(found.value, exact, problem) <= 1e-8
        np.testing.assert_allclose(found.idle_distribution, idle, rtol=1e-8, atol=1e-14)
        totals = np.bincount(levels, weights=found.probability, minlength=len(idle))
        np.testing.assert_allclose(totals, idle, rtol=0, atol=1e-10)


@pytest.mark.parametrize("size", [1e6, 1e9])
@each_seed(10)
def test_values_far_above_costs_leave_the_interval_true(seed: int, size: float) -> None:
    """Random values of any size, and one huge value among small ones, are worth what the table of their choices is.

    Costs were the difference of sums with values: off by the rounding of these, which bounds did not know.
    """
    problem = random_problem(seed)
    dense = Dense(problem)
    lone = np.zeros(problem.num_states)
    lone[0] = size
    for value in (random_values(problem, seed, size=size / 2.0), lone):
        exact = dense.evaluate(dense.greedy_table(value))
        assert_same(evaluate_rule(problem, ValueRule(value), threads=1), exact)


@pytest.mark.parametrize("chunk_states", [1, 4, 12, 48])
def test_the_size_of_a_chunk_does_not_matter(chunk_states: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """States cut into chunks of any size, also smaller than the eight of a block, give the same evaluation."""
    monkeypatch.setattr(layout, "CHUNK_STATES", chunk_states)
    problem = make_problem([2, 1, 3, 1], [2, 1, 3, 4, 2, 1], load=0.4, seed=5)
    for rule, table in rules_of(problem, 5, 1.0):
        assert_same(evaluate_rule(problem, rule, threads=2), Dense(problem).evaluate(table))


SPECIAL = [
    make_problem([1, 1], [3, 4, 3], load=0.6, seed=3),
    make_problem([1, 2, 1], [2, 3, 2, 1], rates=[0.5, 0.0, 1.0, 0.0], load=0.4, seed=6),
    *(make_problem([2, 1, 1], [2, 1, 2], load=load, seed=8) for load in (1e-6, 1e-4, 2.0, 12.0, 100.0)),
]


@pytest.mark.parametrize("problem", SPECIAL)
def test_special_problems(problem: DispatchProblem) -> None:
    """More trucks wanted than there are, points without incidents, of a class of their own too, and extreme loads."""
    for rule, table in rules_of(problem, 3, 1.0):
        found, exact = evaluate_rule(problem, rule), Dense(problem).evaluate(table)
        assert found.converged
        assert found.late_fraction == pytest.approx(exact.late_fraction, rel=1e-9)
        np.testing.assert_allclose(found.probability, exact.probability, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.busy_fractions, exact.busy_fractions, rtol=1e-8, atol=1e-12)
        assert found.outside_share == pytest.approx(exact.outside_share, abs=1e-11)


def test_without_response_minutes_there_is_no_mean() -> None:
    """A problem that gives no minutes has no mean response time, and the rest is the same."""
    problem = make_problem([1, 2], [2, 1], seed=1)
    full = evaluate_rule(problem, OrderRule(problem.order))
    bare = evaluate_rule(replace(problem, measures={}), OrderRule(problem.order))
    assert bare.mean_response_minutes is None
    assert bare.late_fraction == full.late_fraction
    assert np.array_equal(bare.probability, full.probability)


def test_one_truck_by_hand() -> None:
    """One truck and ρ = λ/μ: busy with chance ρ/(1+ρ), late as the truck is if idle and as outside is if not."""
    problem = make_problem([1], [1], load=0.25)
    found = evaluate_rule(problem, OrderRule(problem.order))
    busy = 0.25 / 1.25
    outside, home = problem.cost[:, 0]
    assert found.busy_fractions == pytest.approx([busy], rel=1e-12)
    assert found.outside_share == pytest.approx(busy, rel=1e-12)
    assert found.late_fraction == pytest.approx(busy * outside + (1 - busy) * home, rel=1e-12)
    # h(0) - h(1): what a busy truck costs until it returns, against the cycle of an idle one.
    assert found.value[0] - found.value[1] == pytest.approx(0.25 * (outside - home) / 1.25, rel=1e-10)


@pytest.mark.parametrize("cost", [0.0, 1.0])
def test_costs_all_alike(cost: float) -> None:
    """If every team is surely on time, or surely late, so is every policy."""
    problem = make_problem([1, 2], [2, 1], cost=[cost], load=0.5)
    found = evaluate_rule(problem, ValueRule(random_values(problem, 1)))
    assert found.converged
    assert found.late_fraction == pytest.approx(cost, abs=1e-14)


def test_a_price_far_above_every_cost_loses() -> None:
    """A team whose price exceeds the whole range of costs is not sent, even if it is the surest and listed first.

    Costs 0 and 1 and prices 0 and 5: the sum of the first team, cut off at the range of costs, ties with the second.
    """
    problem = make_problem([1, 1], [1], load=0.5, cost=[1.0])
    cost = problem.cost.copy()
    cost[1, 0] = 0.0  # station 0 is always in time, station 1 never
    problem = replace(problem, cost=cost, measures={"minutes": problem.measures["minutes"]})
    dense = Dense(problem)
    value = np.array([5.0, 5.0, 0.0, 0.0])  # by idle trucks: 00, 01, 10, 11; taking station 0 from 11 costs 5
    table = dense.greedy_table(value)
    assert table[3, 0] == 2
    assert_same(evaluate_rule(problem, ValueRule(np.concatenate([value, np.zeros(8)]))), dense.evaluate(table))


def test_a_good_start_changes_nothing_but_the_time() -> None:
    """Starting from the policy's own values, or from nonsense, leads to the same late fraction."""
    problem = make_problem([2, 1, 2], [2, 1, 3], load=0.3, seed=4)
    cold = evaluate_rule(problem, OrderRule(problem.order))
    for start in (cold.value, random_values(problem, 1, size=100.0)):
        before = start.copy()
        warm = evaluate_rule(problem, OrderRule(problem.order, start))
        assert warm.converged
        assert warm.late_fraction == pytest.approx(cold.late_fraction, rel=1e-10)
        assert np.array_equal(start, before)


def test_too_few_sweeps_are_reported() -> None:
    """With too few sweeps allowed the evaluation says that it did not converge, and its bounds still hold.

    Values that were known before are good after one sweep; probabilities are not, and nor is the evaluation.
    """
    exact, known = Dense(BUSY).order_table(BUSY.order), evaluate_rule(BUSY, OrderRule(BUSY.order))
    assert known.converged
    late = Dense(BUSY).evaluate(exact).late_fraction
    for max_sweeps in (1, 5):
        found = evaluate_rule(BUSY, OrderRule(BUSY.order), max_sweeps=max_sweeps)
        assert not found.converged
        assert found.lower <= late <= found.upper
    found = evaluate_rule(BUSY, OrderRule(BUSY.order, known.value), max_sweeps=1)
    assert found.cost_upper - found.cost_lower < 1e-9 * found.cost
    assert not found.converged


def test_the_mean_of_a_measure_may_be_below_nothing() -> None:
    """One truck, busy a third of the time, and a measure of -3 then and 1 else: -1/3 is proven, not cut off at 0."""
    problem = make_problem([1], [1], load=0.5, seed=1)
    rate, returns = (Fraction(float(one)) for one in (problem.incidents_per_day[0], problem.returns_per_day))
    exact = (returns - 3 * rate) / (returns + rate)
    odd = {"odd": np.array([[-3.0], [1.0]])}
    found = evaluate_rule(problem, OrderRule(problem.order), measures=odd, proven=("late", "odd"))
    mean, lower, upper = found.measures["odd"]
    assert lower is not None
    assert upper is not None
    assert lower <= exact <= upper < lower + 1e-12
    assert mean == pytest.approx(-1.0 / 3.0)
    rough = evaluate_rule(problem, OrderRule(problem.order), measures=odd, proven=("late", "odd"), errors={"odd": 0.25})
    assert rough.measures["odd"] == pytest.approx((mean, lower - 0.25, upper + 0.25))
    assert 0.0 <= found.lower <= found.late_fraction <= found.upper


def test_a_measure_that_did_not_converge_is_reported() -> None:
    """Where -2 in a third of the time and 1 else cancel, the bounds cannot be as close as asked for: this is said."""
    problem = make_problem([1], [1], load=0.5, seed=1)
    odd = {"odd": np.array([[-2.0], [1.0]])}
    for proven, converged in ((("late",), True), (("late", "odd"), False)):
        assert evaluate_rule(problem, OrderRule(problem.order), measures=odd, proven=proven).converged is converged


def test_one_truck_each_is_erlangs_loss_system() -> None:
    """With one truck to an incident the idle trucks follow Erlang's loss formula, in the level totals too."""
    problem = make_problem([2, 1, 3], [1, 1, 1, 1], load=0.7, seed=9)
    found = evaluate_rule(problem, OrderRule(problem.order))
    expected = erlang_loss(0.7 * 6, 6)
    np.testing.assert_allclose(found.idle_distribution, expected, rtol=1e-12)
    assert found.outside_share == pytest.approx(expected[0], rel=1e-9)


@pytest.mark.parametrize(("first", "second"), [(0.3, 0.3), (0.8, 0.1), (0.05, 1.4)])
def test_larsons_hypercube_of_two(first: float, second: float) -> None:
    """Two districts with a truck each and the other as backup: the hypercube model's closed form.

    With a, b the offered loads of the districts and r = a + b, idle both P = 1/(1 + r + r²/2), only truck 1 busy
    P (a + r²/2)/(1 + r), only truck 2 busy P (b + r²/2)/(1 + r), both busy P r²/2. An incident is late here if its
    own truck is busy.
    """
    problem = make_problem([1, 1], [1, 1], load=(first + second) / 2, rates=[first, second], cost=[1.0])
    cost = problem.cost.copy()
    cost[1, 0] = cost[2, 1] = 0.0
    order = np.array([[0, 1], [1, 0]])
    found = evaluate_rule(replace(problem, cost=cost, measures={}, order=order), OrderRule(order))
    r = first + second
    idle = 1 / (1 + r + r * r / 2)
    one, two, both = idle * (first + r * r / 2) / (1 + r), idle * (second + r * r / 2) / (1 + r), idle * r * r / 2
    np.testing.assert_allclose(found.probability, [both, one, two, idle], rtol=1e-9)
    np.testing.assert_allclose(found.busy_fractions, [one + both, two + both], rtol=1e-9)
    late = (first * (one + both) + second * (two + both)) / r
    assert found.late_fraction == pytest.approx(late, rel=1e-11)


@pytest.mark.parametrize("wrong", [np.zeros((2, 2)), np.zeros(3), np.ma.masked_less(np.zeros((5, 2)), 1.0)])
def test_measures_of_another_shape_are_refused(wrong: Any) -> None:
    """A measure has a number for each team and demand point; kernels would read past a smaller one."""
    problem = make_problem([1, 2], [2, 1])
    assert problem.cost.shape == (5, 2)
    with pytest.raises(InputError, match="measure noise: expected numbers for each team and demand point"):
        evaluate_rule(problem, OrderRule(problem.order), measures={"noise": wrong})
