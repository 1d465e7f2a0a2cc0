"""One-step: one improvement step on the exact relative values of closest-first (the paper's OSI)."""

from functools import partial
from math import inf

from runcard.errors import NotConvergedError
from runcard.mdp.problem import DispatchProblem
from runcard.policy.base import Recipe
from runcard.policy.by_value import ValuePolicy, read_value_policy
from runcard.policy.closest_first import closest_first_value
from runcard.policy.solve_options import DEFAULTS, SolveOptions

NAME = "one-step"


def solve_one_step(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> ValuePolicy:
    """The policy that is greedy for the values of closest-first; its own late fraction is left to evaluation."""
    closest_first = closest_first_value(problem, options)
    if not closest_first.converged:
        raise NotConvergedError("one-step: the values of closest-first did not converge")
    return ValuePolicy(name=NAME, problem=problem, value=closest_first.value, certificate=None)


RECIPE = Recipe(name=NAME, label="OSI", solve=solve_one_step, read=partial(read_value_policy, NAME), values_up_to=inf)
