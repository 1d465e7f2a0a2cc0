"""One-step-mean-field: the next event exactly, and the mean field after it.

The values are those of the mean field (see `mdp.mean_field`), in two rounds: the first follows closest-first, the
second sends the teams that are cheapest by the values of the first. Prices look one event ahead of them (see
`ahead.py`).

What was tried and measured worse is in docs/background/heuristics.md.
"""

from functools import partial

from runcard.mdp.mean_field import mean_field_values
from runcard.mdp.problem import DispatchProblem
from runcard.policy.ahead import AheadPolicy, read_ahead
from runcard.policy.base import Recipe
from runcard.policy.solve_options import DEFAULTS, SolveOptions

NAME = "one-step-mean-field"


def solve_mean_field(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> AheadPolicy:
    """The policy of the mean field of a problem."""
    values = mean_field_values(problem, threads=options.threads)
    return AheadPolicy(name=NAME, problem=problem, values=values, threads=options.threads)


RECIPE = Recipe(name=NAME, solve=solve_mean_field, read=partial(read_ahead, name=NAME))
