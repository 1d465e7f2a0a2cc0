"""What an order of trucks asks of each truck, and how late it is, when the trucks are busy independently.

Truck n is busy with chance p_n, whatever the others do. An incident at demand point j asks the trucks n_0, n_1, ... of
its order one after another until k of them were idle. With P_b = Π_{c<b} p(n_c) and r_n = (1 - p_n) / p_n,

    truck n_b is asked at rate    λ_j × chance that fewer than k of n_0..n_{b-1} are idle,
    the team {a_1 < .. < a_k = b} goes with chance    (1 - p(n_b)) P_b r(n_{a_1}) .. r(n_{a_{k-1}}).

Every order ends with as many trucks from outside as an incident can need; they are numbered behind the others, and
their busy chance is 0. So the expected cost is Σ_b w_b Σ_a c_ab R_a, with w_b = (1 - p(n_b)) P_b, a running over sets
of k-1 positions below b, R_a the product of their ratios and c_ab the cost of the team. The costs do not depend on the
busy chances and are laid out once, for each b in colexicographic order of the sets ({0}, {1}, {2}, ... and {0,1},
{0,2}, {1,2}, {0,3}, ...). In that order the sets below b come first whatever lies above, so R is one list for every b.

A chance of less than `LEAST_BUSY` counts as that, so that no ratio overflows. The walk of a demand point stops when the
chance that it goes on is at most `walks.stop`; what is left out is at most that part of a rate or a cost.
"""

from typing import Any

import numpy as np

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.bare import bare_kernel, summing_kernel
from runcard.mdp.kernels.team_codes import first_set, next_set

LEAST_BUSY = 1e-100  # three of them are still a normal number, and so is the product of three of their ratios


@bare_kernel
def cost_of_set(walks: Any, j: int, positions: Ints, size: int, last: int) -> float:
    """The cost at j of the team at the first `size` positions and the position `last` of its order."""
    code = walks.station[walks.truck[j, last]] + 1
    for n in range(size):
        code = code * walks.base + walks.station[walks.truck[j, positions[n]]] + 1
    return float(walks.cost[walks.number_of_code[np.uint64(code)], j])


@bare_kernel
def num_below(size: int, top: int) -> int:
    """The sets of `size` positions below `top`."""
    count = 1
    for place in range(size):
        count = count * (top - place) // (place + 1)
    return count


@bare_kernel
def lay_out_costs(first: int, last: int, walks: Any, positions: Ints) -> None:
    """Fill `walks.near_cost` for the demand points first..last-1; `positions` is scratch."""
    for j in range(first, last):
        place, k = walks.first_cost[j], walks.needed[j]
        for d in range(walks.depth):
            there = first_set(positions, k - 1, d)
            while there:
                walks.near_cost[place] = cost_of_set(walks, j, positions, k - 1, d)
                place += 1
                there = next_set(positions, k - 1, d)


@summing_kernel
def _sum_of_products(costs: Floats, start: int, products: Floats, count: int) -> float:
    """Σ costs × products."""
    total = 0.0
    for n in range(count):
        total += costs[start + n] * products[n]
    return total


@bare_kernel
def _far_sum(walks: Any, j: int, k: int, d: int, ratio: Floats, positions: Ints) -> float:
    """Σ_a c_ad R_a for one position d, with the costs looked up."""
    total = 0.0
    there = first_set(positions, k - 1, d)
    while there:
        product = 1.0
        for n in range(k - 1):
            product *= ratio[positions[n]]
        total += product * cost_of_set(walks, j, positions, k - 1, d)
        there = next_set(positions, k - 1, d)
    return total


@bare_kernel
def _multiply_sets(k: int, near: int, ratio: Floats, products: Floats) -> int:
    """Fill a row of `products` with R_a for every set a of k-1 positions below `near`; returns which row.

    The sets below a position come first in colexicographic order. So the products of sets with one more position are
    those of the sets below that position, times its ratio.
    """
    row = 0
    products[0, 0] = 1.0
    for size in range(1, k):
        end, count = 0, 1  # the sets of size - 1 below c: none for c < size - 1
        for c in range(size - 1, near):
            for n in range(count):
                products[1 - row, end + n] = products[row, n] * ratio[c]
            end += count
            count = count * (c + 1) // (c + 2 - size)
        row = 1 - row
    return row


@bare_kernel
def _follow_point(j: int, walks: Any, busy: Floats, scratch: Any, rate: float, asked: Floats) -> float:
    """The expected cost of an incident at demand point j; adds `rate` × chance of being asked to asked[n].

    scratch.odds are r_n = (1 - p_n) / p_n of every truck.
    """
    odds, weight, ratio, products, few = scratch.odds, scratch.weight, scratch.ratio, scratch.products, scratch.few
    truck, near_cost, stop, k = walks.truck, walks.near_cost, walks.stop, walks.needed[j]
    num_positions = truck.shape[1]
    # The chances that 0, 1, .., k-1 of the trucks so far were idle.
    few[0], few[1:k], all_busy = 1.0, 0.0, 1.0
    num = 0
    while num < num_positions:
        goes_on = 0.0
        for m in range(k):
            goes_on += few[m]
        if goes_on <= stop:
            break
        n = truck[j, num]
        p = busy[n]
        q = 1.0 - p
        asked[n] += rate * goes_on
        weight[num], ratio[num] = q * all_busy, odds[n]
        for m in range(k - 1, 0, -1):
            few[m] = few[m] * p + few[m - 1] * q
        few[0] *= p
        all_busy *= max(p, LEAST_BUSY)
        num += 1
    near = min(num, walks.depth)
    row = _multiply_sets(k, near, ratio, products)
    cost, start = 0.0, walks.first_cost[j]
    for b in range(near):
        count = num_below(k - 1, b)
        cost += weight[b] * _sum_of_products(near_cost, start, products[row], count)
        start += count
    for b in range(walks.depth, num):
        cost += weight[b] * _far_sum(walks, j, k, b, ratio, scratch.positions)
    return cost


@bare_kernel
def follow_order(points: Ints, walks: Any, busy: Floats, scratch: Any, asked: Floats) -> float:
    """The late incidents per day at `points`; adds to asked[n] how often they ask for truck n.

    `busy` and `asked` are by truck, those from outside included, whose `busy` must be 0.
    """
    for n in range(len(busy)):
        scratch.odds[n] = (1.0 - busy[n]) / max(busy[n], LEAST_BUSY)
    late = 0.0
    for j in points:
        rate = walks.rate[j]
        late += rate * _follow_point(j, walks, busy, scratch, rate, asked)
    return late
