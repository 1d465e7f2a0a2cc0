"""Closest-first: the k idle trucks with the smallest expected driving time; ties go to the station listed first.

Its values h, from which its prices come, solve the Bellman equation with only its own teams allowed. Where the states
are too many for that, its prices come from the mean field.
"""

from dataclasses import replace
from weakref import WeakKeyDictionary

from runcard.mdp.chain import PolicyValue, chain_of
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule
from runcard.policy.base import Recipe, Stored
from runcard.policy.by_order import OrderPolicy, exact_prices, read_prices
from runcard.policy.solve_options import DEFAULTS, SolveOptions

NAME = "closest-first"
EXACT_STATES = 1 << 21
"""With more states than this, prices come from the mean field even where there is memory for exact ones."""

_values: WeakKeyDictionary[DispatchProblem, PolicyValue] = WeakKeyDictionary()


def closest_first_value(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> PolicyValue:
    """The exact values of closest-first, computed once for each problem."""
    if problem not in _values:
        chain = chain_of(problem, OrderRule(problem.order), threads=options.threads, device=options.device)
        _values[problem] = chain.values(progress=options.progress)
    return _values[problem]


def solve_closest_first(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> OrderPolicy:
    """Closest-first with its exact values, or with those of the mean field where there are many states."""
    solved = None if problem.num_states > EXACT_STATES else closest_first_value(problem, options)
    values, certificate = exact_prices(problem, solved)
    return replace(quick_closest_first(problem, options), known=values, certificate=certificate)


def quick_closest_first(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> OrderPolicy:
    """Closest-first for whoever only wants to know who goes: prices come from the mean field, if one is asked for."""
    return OrderPolicy(name=NAME, problem=problem, order=problem.order, threads=options.threads)


def read_closest_first(problem: DispatchProblem, stored: Stored) -> OrderPolicy:
    """Closest-first as a policy file holds it."""
    return replace(quick_closest_first(problem), known=read_prices(problem, stored), certificate=stored.certificate)


RECIPE = Recipe(name=NAME, label="CF", solve=solve_closest_first, read=read_closest_first, values_up_to=EXACT_STATES)
