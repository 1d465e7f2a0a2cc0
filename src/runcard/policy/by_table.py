"""The decisions of a policy as a table of every state and demand point, for small departments."""

import numpy as np

from runcard.mdp.rows import TableRule
from runcard.policy.base import Policy
from runcard.policy.options import teams_of_size


def table_rule(policy: Policy) -> TableRule:
    """What a policy sends, as a rule that no longer looks at costs: it can be evaluated where they are different."""
    problem = policy.problem
    table = np.empty((problem.num_states, problem.num_points), np.int64)
    for state, counts in enumerate(np.ndindex(tuple(problem.trucks + 1))):
        idle = np.array(counts, np.int64)
        for needed in np.unique(problem.trucks_needed):
            points = np.flatnonzero(problem.trucks_needed == needed)
            teams = teams_of_size(problem, idle, min(int(needed), int(idle.sum())))
            total = problem.cost[np.ix_(teams, points)] + policy.prices(idle, teams)[:, None]
            table[state, points] = teams[total.argmin(axis=0)]
    return TableRule(table)
