"""Closest-first: the k idle trucks with the smallest expected driving time; ties go to the station listed first.

Its values h, from which its prices come, solve the Bellman equation with only its own teams allowed. Where the states
are too many for that, its prices come from the mean field.
"""

from collections.abc import Callable
from weakref import WeakKeyDictionary

from runcard.mdp.chain import PolicyValue, chain_of
from runcard.mdp.mean_field import MeanField
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.mdp.rows import OrderRule
from runcard.policy.base import Certificate
from runcard.policy.by_order import OrderPolicy
from runcard.policy.by_value import Values

NAME = "closest-first"
EXACT_STATES = 1 << 21
"""With more states than this, prices come from the mean field even where there is memory for exact ones."""

_values: WeakKeyDictionary[DispatchProblem, PolicyValue] = WeakKeyDictionary()


def closest_first_value(
    problem: DispatchProblem, *, threads: int | None = None, progress: Callable[[Progress], None] | None = None
) -> PolicyValue:
    """The exact values of closest-first, computed once for each problem."""
    if problem not in _values:
        _values[problem] = chain_of(problem, OrderRule(problem.order), threads=threads).values(progress=progress)
    return _values[problem]


def solve_closest_first(
    problem: DispatchProblem, *, threads: int | None = None, progress: Callable[[Progress], None] | None = None
) -> OrderPolicy:
    """Closest-first with its exact values, or with those of the mean field where there are many states."""
    if problem.num_states > EXACT_STATES:
        nearby = MeanField(problem, problem.order).values(threads=threads)
        return OrderPolicy(name=NAME, problem=problem, order=problem.order, values=nearby, certificate=None)
    solved = closest_first_value(problem, threads=threads, progress=progress)
    lower, upper = problem.proven(solved.lower, solved.upper)
    certificate = Certificate(lower=lower, upper=upper, converged=solved.converged)
    values = Values(problem, solved.value)
    return OrderPolicy(name=NAME, problem=problem, order=problem.order, values=values, certificate=certificate)
