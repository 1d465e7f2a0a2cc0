"""Rules that come from outside: what cannot be followed is refused in words, before any kernel sees it."""

from typing import Any

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.errors import InputError
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.rows import CardRule, DecisionRule, OrderRule, TableRule, ValueRule, checked_rule

from .problems import make_problem, random_problem, random_values
from .reference import Dense

PROBLEM = make_problem([1, 2, 1], [2, 1], seed=4)
"""12 states and 9 teams: nobody, s0, s1, s2, s0 s1, s0 s2, s1 s1, s1 s2."""

ORDER = PROBLEM.order
TABLE = Dense(PROBLEM).order_table(ORDER)
VALUE = random_values(PROBLEM, 1)


def changed(array: Any, place: tuple[int, ...], number: float) -> Any:
    """The same array with another number in one place."""
    other = array.copy()
    other[place] = number
    return other


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (OrderRule(ORDER + 1), r"order of demand point 0 \(n0\): expected every station once, from 0 to 2, got \["),
        (OrderRule(changed(ORDER, (1, 0), -1)), r"order of demand point 1 \(n1\): expected every station once"),
        (OrderRule(np.zeros_like(ORDER)), r"every station once, from 0 to 2, got \[0, 0, 0\]"),
        (OrderRule(ORDER.T), r"order of the stations of each demand point, \(2, 3\), got \(3, 2\)"),
        (OrderRule(ORDER[:, :2]), r"\(2, 3\), got \(2, 2\)"),
        (OrderRule(ORDER[0]), r"\(2, 3\), got \(3,\)"),
        (OrderRule(ORDER + 0.5), "expected whole numbers"),  # type: ignore[arg-type]
        (OrderRule("s0"), "expected an array of numbers"),  # type: ignore[arg-type]
        (OrderRule(np.ma.masked_equal(ORDER, 2)), "got a masked array"),
        (OrderRule(ORDER, VALUE[:4]), r"of 12 states, \(12,\), or with 8 numbers of padding, \(20,\), got \(4,\)"),
        (TableRule(np.full_like(TABLE, 999)), r"row 0 of a table: .* got team 999 of 0 to 7"),
        (TableRule(np.full_like(TABLE, -1)), "got team -1 of 0 to 7"),
        (
            TableRule(changed(TABLE, (7, 0), 4)),
            r"row 7 of a table: expected a team that can go to demand point 0 \(n0\), which needs 2, with idle trucks "
            r"1 at s0, 0 at s1, 1 at s2; got team 4 \(s0, s1\)",
        ),
        (TableRule(changed(TABLE, (11, 0), 0)), r"row 11 of a table: .*got team 0 \(nobody\)"),
        (TableRule(TABLE.T), r"table of the team of each state and demand point, \(12, 2\), got \(2, 12\)"),
        (TableRule(TABLE[:-1]), r"\(12, 2\), got \(11, 2\)"),
        (ValueRule(np.full_like(VALUE, np.nan)), "a finite number for every state, got nan for state 0"),
        (ValueRule(changed(VALUE, (5,), np.inf)), "a finite number for every state, got inf for state 5"),
        (ValueRule(VALUE[:13]), r"expected values of 12 states, .* of padding, \(20,\), got \(13,\)"),
        (
            ValueRule(changed(VALUE, (4,), -1e300)),
            r"values: expected numbers of at most 9.\d+e\+09, so that costs .* got -1e\+300 for state 4",
        ),
        (OrderRule(ORDER, changed(VALUE, (0,), 1e15)), r"got 1e\+15 for state 0"),
        (
            CardRule(np.full((2, 1), 99), ORDER),
            r"line 1 of the card of demand point 0 \(n0\): .* got team 99 of 0 to 7",
        ),
        (CardRule(np.array([[4, 1], [1, -1]]), ORDER), r"line 2 .* a team of 2 trucks, or -1, got team 1 \(s0\)"),
        (CardRule(np.array([[4], [1]]), ORDER + 1), "every station once"),
        (CardRule(np.array([4, 1]), ORDER), "expected the lines of the card of each demand point"),
        (ORDER, "expected a rule, such as OrderRule, TableRule or ValueRule, got ndarray"),
    ],
)
def test_a_rule_that_cannot_be_followed_is_refused(rule: DecisionRule, words: str) -> None:
    """Each of these ended the process, or was evaluated as if it meant something: now it is an error that says what."""
    with pytest.raises(InputError, match=words):
        evaluate_rule(PROBLEM, rule)


@each_seed(4)
def test_exactly_the_teams_that_can_go_are_allowed(seed: int) -> None:
    """One entry of a table is changed to every number: it is refused unless the enumeration of choices lists it."""
    problem = random_problem(seed)
    dense = Dense(problem)
    table = dense.first_table()
    for state in range(problem.num_states):
        for point in range(problem.num_points):
            for team in range(-1, problem.num_teams + 1):
                rule = TableRule(changed(table, (state, point), team))
                if team in dense.choices[state][point]:
                    assert checked_rule(problem, rule) is not None
                else:
                    with pytest.raises(InputError, match=f"row {state} of a table"):
                        checked_rule(problem, rule)


@pytest.mark.parametrize("as_given", [np.int32, np.float64, np.asfortranarray, np.ndarray.tolist])
def test_other_kinds_of_arrays_mean_the_same(as_given: Any) -> None:
    """Narrower whole numbers, floats that are whole, arrays by column and lists are taken as they are meant."""

    def same(array: Any) -> Any:
        return array.astype(as_given) if isinstance(as_given, type) else as_given(array)

    pairs: list[tuple[DecisionRule, DecisionRule]] = [
        (OrderRule(ORDER), OrderRule(same(ORDER))),
        (TableRule(TABLE), TableRule(same(TABLE))),
        (ValueRule(VALUE), ValueRule(same(VALUE) if as_given != np.int32 else VALUE)),
    ]
    for plain, other in pairs:
        assert evaluate_rule(PROBLEM, other).late_fraction == evaluate_rule(PROBLEM, plain).late_fraction


def test_padding_may_be_left_out() -> None:
    """Values of the states alone are the same rule: what the padding holds does not count."""
    alone = evaluate_rule(PROBLEM, ValueRule(VALUE[: PROBLEM.num_states]))
    assert alone.late_fraction == evaluate_rule(PROBLEM, ValueRule(VALUE)).late_fraction
    with_start = evaluate_rule(PROBLEM, OrderRule(ORDER, alone.value[: PROBLEM.num_states]))
    assert with_start.late_fraction == evaluate_rule(PROBLEM, OrderRule(ORDER, alone.value)).late_fraction


def test_rules_that_are_right_are_not_copied() -> None:
    """What is as kernels want it is taken as it stands: no memory for a second one."""
    table, value = checked_rule(PROBLEM, TableRule(TABLE)), checked_rule(PROBLEM, ValueRule(VALUE))
    assert isinstance(table, TableRule)
    assert isinstance(value, ValueRule)
    assert table.table is TABLE
    assert value.value is VALUE
