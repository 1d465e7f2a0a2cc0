"""One-step-neighbourhoods: the next event exactly, and after it the values that the bound's neighbourhoods agree on.

The values are those of `mdp.bound.values`, and prices look one event ahead of them, as those of one-step-mean-field do.
The mean field takes trucks to be busy independently, which at high loads they are not; these values know what is idle
around each demand point. They take longer to find. A decision takes as long.
"""

from functools import partial

from runcard.mdp.bound.values import neighbourhood_values
from runcard.mdp.problem import DispatchProblem
from runcard.policy.ahead import AheadPolicy, read_ahead
from runcard.policy.base import Recipe
from runcard.policy.solve_options import DEFAULTS, SolveOptions

NAME = "one-step-neighbourhoods"


def solve_neighbourhoods(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> AheadPolicy:
    """The policy of the neighbourhoods of a problem."""
    values = neighbourhood_values(problem, threads=options.threads)
    return AheadPolicy(name=NAME, problem=problem, values=values, threads=options.threads)


RECIPE = Recipe(name=NAME, solve=solve_neighbourhoods, read=partial(read_ahead, name=NAME))
