"""The decisions of a value function as a table of every state and demand point, for small departments."""

from collections.abc import Iterator

import numpy as np

from runcard.mdp.arrays import Ints
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import TableRule, ValueRule
from runcard.policy.by_value import Values


def each_choice(
    problem: DispatchProblem,
) -> Iterator[tuple[int, Ints, Ints, Ints]]:
    """For each state and need: the state, its idle trucks [I], the demand points, and the teams that can go to them."""
    for state, counts in enumerate(np.ndindex(tuple(problem.trucks + 1))):
        for needed in np.unique(problem.trucks_needed):
            teams = problem.teams.idle(np.array(counts, np.int64), min(int(needed), sum(counts)))
            yield state, np.array(counts, np.int64), np.flatnonzero(problem.trucks_needed == needed), teams


def table_rule(problem: DispatchProblem, rule: ValueRule) -> TableRule:
    """What a rule of values sends, as a rule that looks at no costs and can be used where they are different."""
    values = Values(problem, rule.value)
    table = np.empty((problem.num_states, problem.num_points), np.int64)
    for state, idle, points, teams in each_choice(problem):
        total = problem.cost[np.ix_(teams, points)] + values.prices(idle, teams)[:, None]
        table[state, points] = teams[total.argmin(axis=0)]
    return TableRule(table)
