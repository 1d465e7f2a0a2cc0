"""What payments and values prove: an evaluation of every state of every neighbourhood in double precision.

For any payments and any values, with π_n the distribution of the number of idle trucks,

    Σ_G Σ_n π_n min_{f_G} r_G(f_G, n)  <=  the cost of an incident under every policy,

where r_G is the residual of neighbourhood G. In one band f_G is a pattern of any level in it, and all other trucks may
be idle. Levels n outside of the window take the values of its ends. There the
residual of all together is at least the smallest cost, if that is below 0, less (1 + μN/Λ) Σ_G (max h_G - min h_G),
and it counts by the probability of these levels.

Without any payments and values it is proven already that no policy is below the mean cost of the cheapest teams,

    Σ_n π_n Σ_j (λ_j / Λ) min_{|a| = min(k_j, n)} cost(a, j).

**Rounding.** The rates of all columns sum to 1. A residual is a sum of at most J + s + 4 products, of numbers that are
themselves sums of a cost and, for each of at most four trucks and each neighbourhood, a payment. π_n is off by at most
32 (N + 1) u of itself (see `bounds.py`). With u half the distance from 1 to the next double, each neighbourhood is off
by at most the number of terms times u times a size: these payments at their largest, the largest of such sums, and
2 (1 + μN/Λ) times the largest |h_G|. Four times that is taken off. Of the cheapest teams it is the number of terms
times u times the sum of their sizes, and four times that, too.
"""

from typing import Final

import numpy as np

from runcard.mdp.arrays import Floats
from runcard.mdp.bound import kernels
from runcard.mdp.bound.ascent import Ascent, Space, cheapest_costs, chosen_and_settled
from runcard.mdp.bounds import HALF_STEP
from runcard.mdp.problem import DispatchProblem
from runcard.threads import run_each

MOST_LOOKS: Final = 20
CHOICES: Final = 2
"""Times that a neighbourhood chooses and settles between two looks at what is proven."""
SWEEPS: Final = 16
"""After each choice."""
SHARPEST: Final = 1e9
"""So that only the best is chosen."""
ENOUGH: Final = 1e-5
"""A look that finds less more than this, relatively, is the last."""


def certify(ascent: Ascent) -> float:
    """A proven lower bound on the mean cost of an incident, errors of costs aside."""
    found, spaces = ascent.found, ascent.spaces
    own, common = (one.astype(np.float64) for one in ascent.payments)
    own[:, 0] = 0.0  # nobody pays for no truck
    if not all(np.isfinite(one).all() for one in (own, common, ascent.values)):
        return -np.inf
    levels, market = own.shape[2], ascent.market(common)
    home_cost = np.empty((ascent.problem.num_points, len(found.subsets), levels))

    def price(point: int) -> None:
        options = found.options
        first, last = int(options.start[point, 0]), int(options.start[point, -1])
        total = np.empty((last - first, levels))
        shifted = options._replace(
            start=options.start - first, cost=options.cost[first:], home_part=options.home_part[first:],
            trucks=options.trucks[first:], num_others=options.num_others[first:], first_part=options.first_part[first:],
        )  # fmt: skip
        kernels.price_options(
            point, point + 1, shifted, own, common, market, found.places, spaces[0].first_level, total, home_cost
        )

    def of_group(g: int) -> tuple[float, float, float]:
        """What the neighbourhood proves, the range of its values, and the size of what was added."""
        first, last = int(found.columns.first[g]), int(found.columns.first[g + 1])
        cost = np.empty((levels, len(found.subsets), last - first))
        kernels.fill_costs(
            first, last, found.columns, found.subsets.masks, found.subsets.number, own, common[g], home_cost, cost
        )
        value, proven = _best_values(cost, spaces[g], ascent.values[g].copy())
        largest = float(np.abs(cost[cost < kernels.NEVER]).max())
        return proven, float(value.max() - value.min()), largest + 2.0 * busiest * float(np.abs(value).max())

    busiest = 1.0 + spaces[0].returns * spaces[0].num_trucks
    run_each(price, range(ascent.problem.num_points), ascent.threads)
    proven, ranges, sizes = np.array(run_each(of_group, range(len(found)), ascent.threads)).T
    num_terms = ascent.problem.num_points + 5 * len(found) + levels + 32 * (found.num_trucks + 1) + 64
    paid = 4.0 * float(np.abs(own).max() + np.abs(common).max()) * len(found)  # sums of payments on their way
    rounding = 4.0 * num_terms * HALF_STEP * len(found) * (float(sizes.max()) + paid)
    allowed = np.isfinite(ascent.problem.cost)
    least = min(0.0, float(ascent.problem.cost.min(where=allowed, initial=np.inf)))
    outside = max(0.0, 1.0 - float(spaces[0].chance.sum())) + num_terms * HALF_STEP
    total = float(proven.sum() - rounding + outside * (least - busiest * ranges.sum()))
    return total if np.isfinite(total) else -np.inf


def proven_by_cheapest(problem: DispatchProblem) -> float:
    """The same without payments: what an incident costs if it always gets the cheapest team that it can have."""
    num_terms = problem.num_points + 33 * (problem.num_trucks + 1) + 16
    per_day = problem.incidents_per_day * cheapest_costs(problem, problem.levels.idle_distribution)
    rounding = 4.0 * num_terms * HALF_STEP * float(np.abs(per_day).sum())
    return (float(per_day.sum()) - rounding) / float(problem.total_incidents_per_day)


def _best_values(cost: Floats, space: Space, value: Floats) -> tuple[Floats, float]:
    """The values of a neighbourhood whose proven gain is the largest found, and that gain."""
    lowest, best, kept = np.empty(cost.shape[0]), -np.inf, value.copy()
    single = np.minimum(cost, kernels.NEVER).astype(np.float32)
    given, probability = np.empty_like(single), np.full(value.shape, 1.0 / value.shape[1])
    for _ in range(MOST_LOOKS):
        if not np.isfinite(value).all():
            break
        kernels.least_residuals(cost, space, value, lowest)
        proven = float(lowest @ space.chance)
        better = proven > best + ENOUGH * abs(proven)
        if proven > best:
            best, kept = proven, value.copy()
        if not better:
            break
        for _ in range(CHOICES):
            chosen_and_settled(single, space, SHARPEST, value, probability, given, SWEEPS)
    return kept, best
