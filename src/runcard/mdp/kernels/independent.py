"""What an order of trucks asks of each truck, and how late it is, when the trucks are busy independently.

Truck n is busy with chance p_n, whatever the others do. An incident at demand point j asks the trucks n_0, n_1, ... of
its order one after another until k of them were idle. With P_b = Π_{c<b} p(n_c) and r_n = (1 - p_n) / p_n,

    truck n_b is asked at rate    λ_j × chance that fewer than k of n_0..n_{b-1} are idle,
    the team {a_1 < .. < a_k = b} goes with chance    (1 - p(n_b)) P_b r(n_{a_1}) .. r(n_{a_{k-1}}).

Every order ends with as many trucks from outside as an incident can need; they are numbered behind the others, and
their busy chance is 0. So the expected cost is Σ_b w_b Σ_a c_ab R_a, with w_b = (1 - p(n_b)) P_b, a running over sets
of k-1 positions, R_a the product of their ratios and c_ab the cost of the team. The costs do not depend on the busy
chances and are laid out once, for blocks of `BLOCK` positions b: for each set a below the last b of the block, in
colexicographic order ({0}, {1}, {2}, ... and {0,1}, {0,2}, {1,2}, {0,3}, ...), one cost for each b, or 0 where a is not
below b. So R is one list, whatever b, and a block is a short loop over vectors of costs that lie side by side.

A chance of less than `LEAST_BUSY` counts as that, so that no ratio overflows. The walk of a demand point stops when the
chance that it goes on is at most `walks.stop`; what is left out is at most that part of a rate or a cost.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.kernels.bare import bare_kernel
from runcard.mdp.kernels.block_sum import BLOCK, SETS, block_sum

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

LEAST_BUSY = 1e-100  # three of them are still a normal number, and so is the product of three of their ratios


@bare_kernel
def team_of(team_number: Ints, base: int, first: int, second: int, third: int, fourth: int) -> int:
    """The number of the team with trucks of up to four stations, in any order; -1 stands for none."""
    if first > second:
        first, second = second, first
    if third > fourth:
        third, fourth = fourth, third
    if first > third:
        first, third = third, first
    if second > fourth:
        second, fourth = fourth, second
    if second > third:
        second, third = third, second
    code = (((first + 1) * base + second + 1) * base + third + 1) * base + fourth + 1
    return int(team_number[np.uint64(code)])


@bare_kernel
def team_at(walks: Any, j: int, a: int, b: int, c: int, d: int) -> int:
    """The number of the team at the positions a, b, c and d of the order of j; -1 stands for none."""
    truck, station = walks.truck, walks.station
    first = station[truck[j, a]] if a >= 0 else -1
    second = station[truck[j, b]] if b >= 0 else -1
    third = station[truck[j, c]] if c >= 0 else -1
    return team_of(walks.team_number, walks.base, first, second, third, station[truck[j, d]])


@bare_kernel
def cost_at(walks: Any, j: int, a: int, b: int, c: int, d: int) -> float:
    """The cost at j of the team at the positions a, b, c and d of its order; -1 stands for none."""
    return float(walks.cost[team_at(walks, j, a, b, c, d), j])


@bare_kernel
def num_below(size: int, top: int) -> int:
    """The sets of `size` positions below `top`."""
    count = 1
    for place in range(size):
        count = count * (top - place) // (place + 1)
    return count


@bare_kernel
def whole_sets(count: int) -> int:
    """A number of sets, filled up to whole `SETS`."""
    return count + -count % SETS


@bare_kernel
def num_sets(k: int, first: int) -> int:
    """The sets of k-1 positions below the last of the block that starts at `first`, filled up to whole `SETS`."""
    return whole_sets(num_below(k - 1, first + BLOCK - 1))


@bare_kernel
def lay_out_costs(first: int, last: int, walks: Any) -> None:
    """Fill `walks.near_cost`, all 0 before, for the demand points first..last-1."""
    near, num_positions = walks.near_cost, walks.truck.shape[1]
    for j in range(first, last):
        start, k = walks.first_cost[j], walks.needed[j]
        for lowest in range(0, walks.depth, BLOCK):
            for d in range(lowest, min(lowest + BLOCK, num_positions)):
                place = start + d - lowest
                # A position that the team has no truck for is -1, and its loop has one turn.
                for c in range(-1 if k < 2 else 0, 0 if k < 2 else d):
                    for b in range(-1 if k < 3 else 0, 0 if k < 3 else c):
                        for a in range(-1 if k < 4 else 0, 0 if k < 4 else b):
                            near[place] = cost_at(walks, j, a, b, c, d)
                            place += BLOCK
            start += BLOCK * num_sets(k, lowest)


@bare_kernel
def _far_sum(walks: Any, j: int, k: int, d: int, ratio: Floats) -> float:
    """Σ_a c_ad R_a for one position d, with the costs looked up."""
    total = 0.0
    for c in range(-1 if k < 2 else 0, 0 if k < 2 else d):
        for b in range(-1 if k < 3 else 0, 0 if k < 3 else c):
            for a in range(-1 if k < 4 else 0, 0 if k < 4 else b):
                product = 1.0
                if k >= 2:
                    product *= ratio[c]
                if k >= 3:
                    product *= ratio[b]
                if k >= 4:
                    product *= ratio[a]
                total += product * cost_at(walks, j, a, b, c, d)
    return total


@bare_kernel
def find_odds(busy: Floats, odds: Floats) -> None:
    """Set odds[n] to r_n = (1 - p_n) / p_n for every truck."""
    for n in range(len(busy)):
        odds[n] = (1.0 - busy[n]) / max(busy[n], LEAST_BUSY)


@bare_kernel
def follow_point(
    j: int, walks: Any, busy: Floats, odds: Floats, weight: Floats, ratio: Floats, products: Floats, rate: float,
    asked: Floats,
) -> float:  # fmt: skip
    """The expected cost of an incident at demand point j; adds `rate` × chance of being asked to asked[n].

    `busy`, its `odds` (see `find_odds`) and `asked` are by truck, those from outside included, whose `busy` must be 0.
    `weight`, `ratio` and `products` are scratch.
    """
    truck, near_cost, stop, k = walks.truck, walks.near_cost, walks.stop, walks.needed[j]
    num_positions = truck.shape[1]
    # Chances that none, one, two, three of the trucks so far were idle; those of k or more are left out.
    none, one, two, three, all_busy = 1.0, 0.0, 0.0, 0.0, 1.0
    num = 0
    while num < num_positions:
        goes_on = none + one + two + three
        if goes_on <= stop:
            break
        n = truck[j, num]
        p = busy[n]
        q = 1.0 - p
        asked[n] += rate * goes_on
        weight[num], ratio[num] = q * all_busy, odds[n]
        if k >= 4:
            three = three * p + two * q
        if k >= 3:
            two = two * p + one * q
        if k >= 2:
            one = one * p + none * q
        none *= p
        all_busy *= max(p, LEAST_BUSY)
        num += 1
    near = (min(num, walks.depth) + BLOCK - 1) // BLOCK * BLOCK
    for b in range(num, near):
        weight[b], ratio[b] = 0.0, 0.0
    if k == 1:
        products[0] = 1.0
        products[1:SETS] = 0.0
    elif k >= 3:
        end = 0
        for c in range(near):
            for b in range(c):
                if k == 3:
                    products[end] = ratio[b] * ratio[c]
                    end += 1
                for a in range(b if k == 4 else 0):
                    products[end] = ratio[a] * ratio[b] * ratio[c]
                    end += 1
    cost, start = 0.0, walks.first_cost[j]
    for first in range(0, near, BLOCK):
        count = num_sets(k, first)
        if k == 2:
            cost += block_sum(near_cost, start, ratio, count, weight, first)
        else:
            cost += block_sum(near_cost, start, products, count, weight, first)
        start += BLOCK * count
    for b in range(walks.depth, num):
        cost += weight[b] * _far_sum(walks, j, k, b, ratio)
    return cost


@bare_kernel
def follow_order(
    first: int, last: int, walks: Any, busy: Floats, odds: Floats, weight: Floats, ratio: Floats, products: Floats,
    asked: Floats,
) -> float:  # fmt: skip
    """The late incidents per day of the demand points first..last-1; adds to asked[n] how often they ask for truck n.

    Arguments as in `follow_point`, but `odds` is scratch, too. Demand points without incidents are passed over.
    """
    find_odds(busy, odds)
    late = 0.0
    for j in range(first, last):
        rate = walks.rate[j]
        if rate > 0.0:
            late += rate * follow_point(j, walks, busy, odds, weight, ratio, products, rate, asked)
    return late
