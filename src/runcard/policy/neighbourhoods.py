"""One-step-neighbourhoods: the next event exactly, and after it the values that the bound's neighbourhoods agree on.

The values are those of `mdp.bound.values`, and prices look one event ahead of them, as those of one-step-mean-field do.
The mean field takes trucks to be busy independently, which at high loads they are not; these values know what is idle
around each demand point. They take longer to find. A decision takes as long.
"""

from functools import partial

from runcard.mdp.bound.values import neighbourhood_values
from runcard.mdp.problem import DispatchProblem
from runcard.policy.base import Recipe
from runcard.policy.mean_field import MeanFieldPolicy, read_mean_field
from runcard.policy.solve_options import DEFAULTS, SolveOptions

NAME = "one-step-neighbourhoods"


def solve_neighbourhoods(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> MeanFieldPolicy:
    """The policy of the neighbourhoods of a problem."""
    values = neighbourhood_values(problem, threads=options.threads)
    return MeanFieldPolicy(problem=problem, values=values, name=NAME, threads=options.threads)


RECIPE = Recipe(name=NAME, solve=solve_neighbourhoods, read=partial(read_mean_field, name=NAME))
