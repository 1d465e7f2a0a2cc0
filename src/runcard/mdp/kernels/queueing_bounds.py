"""Lower bounds on the prices of all teams in one state, from derivatives at its fixed point.

The expected cost of an incident at j is linear in the busy chance of each truck. With V_v(S) the expected cost to come,
given that the set S of the trucks before position v was idle, with fewer than k members, and P_v(S) the chance of that,

    V_v(S) = p_v V_{v+1}(S) + (1-p_v) V_{v+1}(S + v),        V(S) = cost of S once it has k members,
    G_v  = Σ_S P_v(S) L_v(S),                                L_v(S) = V_{v+1}(S) - V_{v+1}(S + v),
    H_uv = Σ_{S without u} P_v(S)/p_u { L_v(S) - L_v(S + u) },        u < v,

are the derivative by p(v) and the second one by p(u) and p(v); L of a set with k members is 0. Sums over S without u
are taken directly, not as differences, so that small chances do no harm.

The harm of truck n bounds by how much its becoming busy may make incidents *less* late. The fall of a team b at j is
by how much its cost exceeds that of the best team whose trucks come no earlier in the order, position by position:

    harm(n) = Σ_j λ_j Σ_{b with n} P(b goes | n is idle) fall_j(b),     harm(n, i): only the b that pass over truck i.

Raising p_i to ρ_i p_i multiplies the chance of those that pass over i by ρ_i, and makes no other one larger. So
harm(n) at the raised chances is at most harm(n) + Σ_i (ρ_i - 1) harm(n, i) + ..., where b that pass over several raised
trucks are no more than those that pass over each.

A walk ends when what goes on, times the largest ratios ρ, one for each truck of a team, is at most the given
`least_chance`; teams that do less than `LEAST_HARM` at the largest ratios are left out of the harm.
"""

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.mdp.kernels.bare import bare_kernel
from runcard.mdp.kernels.block_sum import BLOCK
from runcard.mdp.kernels.independent import LEAST_BUSY, cost_at, num_sets, team_at

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

LEAST_HARM = 1e-12


@bare_kernel
def num_below(k: int, c: int) -> int:
    """The sets of k positions below c."""
    return c if k == 1 else (c * (c - 1) // 2 if k == 2 else c * (c - 1) * (c - 2) // 6)


@njit(nogil=True, cache=True)
def find_falls(first: int, walks: Any, costs: Floats, falls: Any) -> None:
    """Fill `falls` for the demand points first..first+len(costs)-1, whose costs by team are given.

    The falls of a demand point are those of the sets of k positions below `walks.depth`, in colexicographic order.
    """
    num = walks.truck.shape[1]
    least = np.empty((num + 1, num + 1))  # of the teams from (b, a) on, a < b, that end at the last c or behind it
    for row in range(len(costs)):
        j = first + row
        k = walks.needed[j]
        low, high = np.inf, -np.inf
        for team in range(costs.shape[1]):
            if np.isfinite(costs[row, team]):
                low, high = min(low, costs[row, team]), max(high, costs[row, team])
        falls.widest[j], falls.deepest[j] = high - low, 0.0
        least[:] = np.inf
        for c in range(num - 1, k - 2, -1):
            for b in range(c - 1 if k >= 2 else 0, k - 3 if k >= 2 else -1, -1):
                for a in range(b - 1 if k == 3 else 0, -1, -1):
                    cost = costs[row, team_at(walks, j, a if k == 3 else -1, b if k >= 2 else -1, c)]
                    best = min(cost, least[b, a])
                    if k >= 2 and b + 1 < c:
                        best = min(best, least[b + 1, a])
                    if k == 3 and a + 1 < b:
                        best = min(best, least[b, a + 1])
                    least[b, a] = best
                    if c < walks.depth:
                        place = num_below(k, c) + (0 if k == 1 else (b if k == 2 else b * (b - 1) // 2 + a))
                        falls.fall[falls.first_fall[j] + place] = cost - best
                        falls.deepest[j] = max(falls.deepest[j], cost - best)


@bare_kernel
def _add_harm(
    j: int, c: int, walks: Any, falls: Any, busy: Floats, rise: Floats, least: float, harm: Floats, room: Any
) -> None:
    """Add to `harm` [trucks, trucks] what the teams of j do whose last truck is at position c, if above `least`."""
    k, truck = walks.needed[j], walks.truck
    start = falls.first_fall[j] + num_below(k, c)
    after_b = walks.rate[j]  # times the chances between b and c
    for b in range(c - 1 if k >= 2 else 0, k - 3 if k >= 2 else -1, -1):
        after_a = after_b
        for a in range(b - 1 if k == 3 else 0, -1, -1):
            fall = falls.widest[j]
            if c < walks.depth:
                fall = falls.fall[start + (0 if k == 1 else (b if k == 2 else b * (b - 1) // 2 + a))]
            weight = fall * after_a * room.before[c if k == 1 else (b if k == 2 else a)]
            if weight > least:
                for place in range(k):
                    at = c if place == 0 else (b if place == 1 else a)
                    n = truck[j, at]
                    chance = weight
                    for other in range(k):
                        if other != place:
                            chance *= 1.0 - busy[truck[j, c if other == 0 else (b if other == 1 else a)]]
                    harm[n, n] += chance
                    for d in range(c):
                        passed = truck[j, d]
                        if rise[passed] > 0.0 and not (k >= 2 and d == b) and not (k == 3 and d == a):
                            harm[n, passed] += chance
            after_a *= room.chance[a]
        after_b *= room.chance[b]


@bare_kernel
def _walk(
    j: int, walks: Any, busy: Floats, rise: Floats, size: int, least_chance: float, room: Any
) -> tuple[int, float]:
    """The positions that count for bounds, and their largest ratios; fills in their chances, odds and products."""
    k, num = walks.needed[j], 0
    none, one, two, before = 1.0, 0.0, 0.0, 1.0
    most, more, much, ratios = 1.0, 1.0, 1.0, 1.0
    while num < walks.truck.shape[1]:
        ratios = most * (more if size >= 2 else 1.0) * (much if size >= 3 else 1.0)
        if (none + one + two) * ratios <= least_chance:
            break
        n = walks.truck[j, num]
        chance = max(busy[n], LEAST_BUSY)
        q = 1.0 - busy[n]
        room.before[num], room.chance[num], room.odds[num] = before, chance, q / chance
        ratio = (busy[n] + rise[n]) / chance
        most, ratio = max(most, ratio), min(most, ratio)
        more, ratio = max(more, ratio), min(more, ratio)
        much = max(much, ratio)
        if k == 3:
            two = two * chance + one * q
        if k >= 2:
            one = one * chance + none * q
        none *= chance
        before *= chance
        num += 1
    return num, ratios


@bare_kernel
def _fetch_costs(j: int, c: int, walks: Any, room: Any) -> None:
    """Set room.cost[s] to the cost of the set s of k-1 positions below c, in colexicographic order, and c."""
    k = walks.needed[j]
    if c < walks.depth:
        start = walks.first_cost[j] + c % BLOCK
        for first in range(0, c - c % BLOCK, BLOCK):
            start += BLOCK * num_sets(k, first)
        for s in range(1 if k == 1 else num_below(k - 1, c)):
            room.cost[s] = walks.near_cost[start + BLOCK * s]
        return
    s = 0
    for b in range(c if k >= 2 else 1):
        for a in range(b if k == 3 else 1):
            room.cost[s] = cost_at(walks, j, a if k == 3 else -1, b if k >= 2 else -1, c)
            s += 1


@bare_kernel
def _slopes_of_two(j: int, num: int, walks: Any, rise: Floats, single: Floats, pair: Floats, room: Any) -> None:
    """Add to G and H what demand point j does whose incidents need two trucks; see `find_slopes`.

    The same as the loops there, in one piece: calls that hand over all arrays take longer than their work.
    """
    truck, near_cost, depth, rate = walks.truck, walks.near_cost, walks.depth, walks.rate[j]
    one, less, below, odds, chance, before = room.one, room.less, room.below, room.odds, room.chance, room.before
    start = walks.first_cost[j]
    for first in range(0, min(num, depth), BLOCK):
        start += BLOCK * num_sets(2, first)
    for a in range(num):
        one[a] = 0.0
    to_come = 0.0
    for v in range(num - 1, -1, -1):
        p = chance[v]
        q = 1.0 - p
        n_v = truck[j, v]
        nobody = to_come - one[v]
        to_come = p * to_come + q * one[v]
        if v < depth and (v % BLOCK == BLOCK - 1 or v == num - 1 or v == depth - 1):
            start -= BLOCK * num_sets(2, v - v % BLOCK)
        total = 0.0
        for a in range(v):
            cost = near_cost[start + a * BLOCK + v % BLOCK] if v < depth else cost_at(walks, j, -1, a, v)
            less[a] = one[a] - cost
            one[a] = p * one[a] + q * cost
            below[a] = total
            total += odds[a] * less[a]
        if rise[n_v] == 0.0:
            continue
        single[n_v] += rate * before[v] * (nobody + total)
        between, above = rate, 0.0
        for u in range(v - 1, -1, -1):
            if rise[truck[j, u]] > 0.0:
                pair[truck[j, u], n_v] += before[u] * between * (nobody + below[u] + above - less[u])
            between *= chance[u]
            above += odds[u] * less[u]


@bare_kernel
def _harm_of_two(
    j: int, num: int, walks: Any, falls: Any, busy: Floats, rise: Floats, least: float, harm: Floats, room: Any
) -> None:
    """As `_add_harm` for every c, where incidents need two trucks, with sums instead of the loop over i.

    With w_bc the chance that all but b and c are busy before c, times the fall, n_c has Σ_{b≠i} w_bc (1-p_b) with i,
    and n_b has Σ_{c>b,i} w_bc (1-p_c).
    """
    truck, chance, before, later = walks.truck, room.chance, room.before, room.later
    depth, fall, widest = walks.depth, falls.fall, falls.widest[j]
    for b in range(num):
        later[b * num + num - 1] = 0.0
    for c in range(num - 1, 0, -1):
        n_c, start, after, total = truck[j, c], falls.first_fall[j] + num_below(2, c), walks.rate[j], 0.0
        q_c = 1.0 - busy[n_c]
        for b in range(c - 1, -1, -1):
            weight = (fall[start + b] if c < depth else widest) * after * before[b]
            weight = weight if weight > least else 0.0
            room.cost[b] = weight * (1.0 - busy[truck[j, b]])
            total += room.cost[b]
            # Σ over the positions from c on
            later[b * num + c - 1] = later[b * num + c] + weight * q_c
            after *= chance[b]
        if total > 0.0:
            harm[n_c, n_c] += total
            for d in range(c):
                if rise[truck[j, d]] > 0.0:
                    harm[n_c, truck[j, d]] += total - room.cost[d]
    for b in range(num - 1):
        n_b = truck[j, b]
        if later[b * num + b] > 0.0:
            harm[n_b, n_b] += later[b * num + b]
            for d in range(num - 1):
                if d != b and rise[truck[j, d]] > 0.0:
                    harm[n_b, truck[j, d]] += later[b * num + max(b, d)]


@bare_kernel
def _less(j: int, v: int, walks: Any, to_come: float, room: Any) -> float:
    """L_v(nobody); sets room.less[a] to L_v(a) and room.less_two[b(b-1)/2 + a] to L_v(a, b), and moves V on to v."""
    k = walks.needed[j]
    p = room.chance[v]
    q = 1.0 - p
    nobody = to_come - (room.cost[0] if k == 1 else room.one[v])
    if k == 2:
        for a in range(v):
            room.less[a] = room.one[a] - room.cost[a]
            room.one[a] = p * room.one[a] + q * room.cost[a]
    elif k == 3:
        for a in range(v):
            together = room.two[v * (v - 1) // 2 + a]
            room.less[a] = room.one[a] - together
            room.one[a] = p * room.one[a] + q * together
        for s in range(v * (v - 1) // 2):
            room.less_two[s] = room.two[s] - room.cost[s]
            room.two[s] = p * room.two[s] + q * room.cost[s]
    return float(nobody)


@bare_kernel
def _sum_odds(v: int, k: int, nobody: float, room: Any) -> float:
    """Σ_S L_v(S) Π_{a in S} odds(a); sets room.below[u] to the part of the single trucks below u."""
    total = 0.0
    for a in range(v if k >= 2 else 0):
        room.below[a] = total
        total += room.odds[a] * room.less[a]
    if k == 3:
        for b in range(v):
            for a in range(b):
                total += room.odds[a] * room.odds[b] * room.less_two[b * (b - 1) // 2 + a]
    return float(nobody + total)


@bare_kernel
def _sum_without(u: int, v: int, k: int, nobody: float, above: float, room: Any) -> float:
    """Σ_{S without u} { L_v(S) - L_v(S + u) } Π_{a in S} odds(a), given the part of the single trucks above u."""
    if k == 1:
        return float(nobody)
    total = nobody + room.below[u] + above - room.less[u]
    if k == 3:
        for b in range(v):
            for a in range(b):
                less = room.less_two[b * (b - 1) // 2 + a]
                if a != u and b != u:
                    total += room.odds[a] * room.odds[b] * less
                else:
                    total -= room.odds[b if a == u else a] * less
    return float(total)


@bare_kernel
def find_slopes(
    walks: Any, falls: Any, busy: Floats, rise: Floats, size: int, least_chance: float, single: Floats, pair: Floats,
    harm: Floats, room: Any,
) -> None:  # fmt: skip
    """Fill G in `single` [trucks], H in `pair` and harm(n, i) in `harm` [trucks, trucks], per day.

    The H of a pair is the sum of its two entries, and harm(n) is harm[n, n]. Trucks from outside count, too. `busy` are
    the chances of the trucks, `rise` the Δ of those that may be taken, 0 for the others, and `size` is the number of
    trucks of the teams that may be taken. Walks end at `least_chance`.
    """
    single[:] = 0.0
    pair[:] = 0.0
    harm[:] = 0.0
    for j in range(len(walks.needed)):
        rate, k = walks.rate[j], walks.needed[j]
        if rate == 0.0:
            continue
        num, ratios = _walk(j, walks, busy, rise, size, least_chance, room)
        fall, least = falls.deepest[j] > 0.0 or num > walks.depth, LEAST_HARM * rate / ratios
        if k == 2:
            if fall:
                _harm_of_two(j, num, walks, falls, busy, rise, least, harm, room)
            _slopes_of_two(j, num, walks, rise, single, pair, room)
            continue
        if fall:
            for c in range(k - 1, num):
                _add_harm(j, c, walks, falls, busy, rise, least, harm, room)
        room.one[:num] = 0.0
        if k == 3:
            room.two[: num * (num - 1) // 2] = 0.0
        to_come = 0.0
        for v in range(num - 1, -1, -1):
            n_v = walks.truck[j, v]
            if v >= k - 1:
                _fetch_costs(j, v, walks, room)
            after_v = room.one[v] if k >= 2 else room.cost[0]
            nobody = _less(j, v, walks, to_come, room)
            to_come = room.chance[v] * to_come + (1.0 - room.chance[v]) * after_v
            if rise[n_v] == 0.0:
                continue
            single[n_v] += rate * room.before[v] * _sum_odds(v, k, nobody, room)
            between, above = rate, 0.0
            for u in range(v - 1, -1, -1):
                n_u = walks.truck[j, u]
                if rise[n_u] > 0.0:
                    slope = room.before[u] * between * _sum_without(u, v, k, nobody, above, room)
                    pair[n_u, n_v] += slope
                between *= room.chance[u]
                if k >= 2:
                    above += room.odds[u] * room.less[u]


@bare_kernel
def _harm_to(n: int, team: Ints, excess: Floats, harm: Floats) -> float:
    """An upper bound on harm(n) when the trucks of a team are raised; `excess` is ρ - 1 of each truck."""
    total = harm[n, n]
    for a in range(len(team)):
        first = team[a]
        if first == n:  # raising n itself changes nothing, given that n is idle
            continue
        total += excess[first] * harm[n, first]
        for b in range(a):
            second = team[b]
            if second == n:
                continue
            fewest = min(harm[n, first], harm[n, second])
            total += excess[first] * excess[second] * fewest
            for c in range(b):
                third = team[c]
                if third != n:
                    total += excess[first] * excess[second] * excess[third] * min(fewest, harm[n, third])
    return float(total)


@bare_kernel
def combine(
    taken: Ints, rise: Floats, excess: Floats, single: Floats, pair: Floats, harm: Floats, load: Floats, least: Floats
) -> None:
    """Fill least[t] with the lower bound on late(f-a) - late(f) per day, for the team of the trucks taken[t]."""
    for t in range(len(taken)):
        team = taken[t]
        size, passed_on, worst = len(team), 0.0, 0.0
        for n in team:
            passed_on += load[n] * rise[n]
        for n in range(len(load)):
            if harm[n, n] > 0.0:
                worst = max(worst, _harm_to(n, team, excess, harm))
        best = 0.0
        for a in range(size):
            first = team[a]
            alone = rise[first] * single[first]
            if size == 1:
                best = alone
            for b in range(a):
                second = team[b]
                both = alone + rise[second] * (
                    single[second] + rise[first] * (pair[first, second] + pair[second, first])
                )
                if size == 3:
                    third = team[3 - a - b]
                    both -= rise[third] * _harm_to(third, team, excess, harm)
                best = both if b == 0 and a == 1 else max(best, both)
        least[t] = best - worst * passed_on
