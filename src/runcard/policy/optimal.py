"""Optimal: the policy whose values solve the Bellman equation, with proven bounds on its late fraction."""

from functools import partial
from math import inf

from runcard.mdp.problem import DispatchProblem
from runcard.mdp.solve import solve_optimal
from runcard.policy.base import Certificate, Recipe
from runcard.policy.by_value import ValuePolicy, read_value_policy
from runcard.policy.solve_options import DEFAULTS, SolveOptions

NAME = "optimal"


def solve_to_optimality(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> ValuePolicy:
    """The optimal policy; its certificate says whether the bounds came as close as the tolerance asks."""
    solution = solve_optimal(
        problem,
        tolerance=options.tolerance,
        threads=options.threads,
        device=options.device,
        progress=options.progress,
    )
    certificate = Certificate(lower=solution.lower, upper=solution.upper, converged=solution.converged)
    return ValuePolicy(name=NAME, problem=problem, value=solution.value, certificate=certificate)


RECIPE = Recipe(
    name=NAME, label="OPT", solve=solve_to_optimality, read=partial(read_value_policy, NAME), values_up_to=inf
)
