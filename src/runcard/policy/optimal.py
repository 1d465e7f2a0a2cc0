"""Optimal: the policy whose values solve the Bellman equation, with certified bounds on its late fraction."""

from collections.abc import Callable
from functools import partial

from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.mdp.solve import solve_optimal
from runcard.policy.base import Certificate, Recipe
from runcard.policy.by_value import ValuePolicy, read_value_policy

NAME = "optimal"


def solve_to_optimality(
    problem: DispatchProblem,
    *,
    tolerance: float = 1e-9,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ValuePolicy:
    """The optimal policy; its certificate says whether the bounds came within `tolerance` of each other, relatively."""
    solution = solve_optimal(problem, tolerance=tolerance, threads=threads, progress=progress)
    certificate = Certificate(lower=solution.lower, upper=solution.upper, converged=solution.converged)
    return ValuePolicy(name=NAME, problem=problem, value=solution.value, certificate=certificate)


RECIPE = Recipe(name=NAME, label="OPT", solve=solve_to_optimality, read=partial(read_value_policy, NAME))
