"""Lower bounds on the prices of all teams in one state, from what its fixed point says.

The expected cost of an incident at j is linear in the busy chance of each truck. Where incidents need one or two
trucks, with V_v(S) the expected cost to come, given that the set S of the trucks before position v was idle, with fewer
than k members, and P_v(S) the chance of that,

    V_v(S) = p_v V_{v+1}(S) + (1-p_v) V_{v+1}(S + v),        V(S) = cost of S once it has k members,
    G_v  = Σ_S P_v(S) L_v(S),                                L_v(S) = V_{v+1}(S) - V_{v+1}(S + v),
    H_uv = Σ_{S without u} P_v(S)/p_u { L_v(S) - L_v(S + u) },        u < v,

are the derivative by p(v) and the second one by p(u) and p(v); L of a set with k members is 0. Sums over S without u
are sums over all S less one term; where p_u is so small that this would cancel, they are taken directly.

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
from runcard.mdp.kernels.independent import LEAST_BUSY, cost_at, num_below, team_at
from runcard.mdp.kernels.lanes import LANES
from runcard.mdp.kernels.position_rows import harm_row, less_row, slope_row

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

LEAST_HARM = 1e-12
_CANCELS = 1e-6  # a sum of all less one term that is this small in chance has lost too many digits


@njit(nogil=True, cache=True)
def find_falls(first: int, walks: Any, costs: Floats, falls: Any) -> None:
    """Fill `falls` for the demand points first..first+len(costs)-1, whose costs by team are given.

    The falls of a demand point are those of the sets of k positions below `walks.depth`, in colexicographic order.
    """
    num, most = walks.truck.shape[1], np.max(walks.needed)
    # Of the teams from (c, b, a) on that end at the last d or behind it; positions that no team has stand at 0.
    least = np.empty((num + 1 if most >= 2 else 1, num + 1 if most >= 3 else 1, num + 1 if most >= 4 else 1))
    for row in range(len(costs)):
        j = first + row
        k = walks.needed[j]
        low, high = np.inf, -np.inf
        for team in range(costs.shape[1]):
            if np.isfinite(costs[row, team]):
                low, high = min(low, costs[row, team]), max(high, costs[row, team])
        falls.widest[j], falls.deepest[j] = high - low, 0.0
        least[:] = np.inf
        for d in range(num - 1, k - 2, -1):
            for c in range(d - 1 if k >= 2 else 0, -1, -1):
                for b in range(c - 1 if k >= 3 else 0, -1, -1):
                    for a in range(b - 1 if k >= 4 else 0, -1, -1):
                        team = team_at(walks, j, a if k >= 4 else -1, b if k >= 3 else -1, c if k >= 2 else -1, d)
                        best = min(costs[row, team], least[c, b, a])
                        if k >= 2 and c + 1 < d:
                            best = min(best, least[c + 1, b, a])
                        if k >= 3 and b + 1 < c:
                            best = min(best, least[c, b + 1, a])
                        if k >= 4 and a + 1 < b:
                            best = min(best, least[c, b, a + 1])
                        least[c, b, a] = best
                        if d < walks.depth:
                            fall = costs[row, team] - best
                            falls.fall[falls.first_fall[j] + _place_of(k, a, b, c, d)] = fall
                            falls.deepest[j] = max(falls.deepest[j], fall)


@bare_kernel
def _place_of(k: int, a: int, b: int, c: int, d: int) -> int:
    """The place of the set of the last k of these positions among all sets of k, in colexicographic order."""
    place = num_below(k, d)
    if k >= 2:
        place += num_below(k - 1, c)
    if k >= 3:
        place += num_below(k - 2, b)
    if k >= 4:
        place += a
    return place


@bare_kernel
def _harm_of(
    j: int, num: int, walks: Any, falls: Any, busy: Floats, rise: Floats, least: float, harm: Floats, room: Any
) -> None:
    """Add to `harm` [trucks, trucks] what the teams of j do among the first `num` positions, if above `least`."""
    k, truck = walks.needed[j], walks.truck
    for d in range(k - 1, num):
        after_c = walks.rate[j]  # times the chances between c and d
        for c in range(d - 1 if k >= 2 else 0, -1, -1):
            after_b = after_c
            for b in range(c - 1 if k >= 3 else 0, -1, -1):
                after_a = after_b
                for a in range(b - 1 if k >= 4 else 0, -1, -1):
                    fall = falls.widest[j]
                    if d < walks.depth:
                        fall = falls.fall[falls.first_fall[j] + _place_of(k, a, b, c, d)]
                    weight = fall * after_a * room.before[d if k == 1 else (c if k == 2 else (b if k == 3 else a))]
                    if weight > least:
                        for place in range(k):
                            n = truck[j, d if place == 0 else (c if place == 1 else (b if place == 2 else a))]
                            chance = weight
                            for other in range(k):
                                if other != place:
                                    at = d if other == 0 else (c if other == 1 else (b if other == 2 else a))
                                    chance *= 1.0 - busy[truck[j, at]]
                            harm[n, n] += chance
                            for x in range(d):
                                if (k >= 2 and x == c) or (k >= 3 and x == b) or (k >= 4 and x == a):
                                    continue
                                if rise[truck[j, x]] > 0.0:
                                    harm[n, truck[j, x]] += chance
                    after_a *= room.chance[a]
                after_b *= room.chance[b]
            after_c *= room.chance[c]


@bare_kernel
def _walk(
    j: int, walks: Any, busy: Floats, rise: Floats, size: int, least_chance: float, room: Any
) -> tuple[int, float, float]:
    """The positions that count for bounds, their largest ratios, and the chance of more; fills in their chances."""
    k, num = walks.needed[j], 0
    none, one, two, three, before = 1.0, 0.0, 0.0, 0.0, 1.0
    most, more, much, many, ratios, left_out = 1.0, 1.0, 1.0, 1.0, 1.0, 0.0
    while num < walks.truck.shape[1]:
        ratios = most * (more if size >= 2 else 1.0) * (much if size >= 3 else 1.0) * (many if size >= 4 else 1.0)
        if (none + one + two + three) * ratios <= least_chance:
            left_out = (none + one + two + three) * ratios
            break
        n = walks.truck[j, num]
        chance = max(busy[n], LEAST_BUSY)
        q = 1.0 - busy[n]
        room.before[num], room.chance[num], room.inverse[num] = before, chance, 1.0 / chance
        ratio = (busy[n] + rise[n]) / chance
        most, ratio = max(most, ratio), min(most, ratio)
        more, ratio = max(more, ratio), min(more, ratio)
        much, ratio = max(much, ratio), min(much, ratio)
        many = max(many, ratio)
        if k >= 4:
            three = three * chance + two * q
        if k >= 3:
            two = two * chance + one * q
        if k >= 2:
            one = one * chance + none * q
        none *= chance
        before *= chance
        num += 1
    return num, ratios, left_out


@bare_kernel
def _slopes_of_one(j: int, num: int, walks: Any, rise: Floats, single: Floats, pair: Floats, room: Any) -> None:
    """Add to G and H what demand point j does whose incidents need one truck; see `find_slopes`."""
    truck, to_come = walks.truck, 0.0
    for v in range(num - 1, -1, -1):
        n_v, cost = truck[j, v], cost_at(walks, j, -1, -1, -1, v)
        less = walks.rate[j] * room.before[v] * (to_come - cost)
        to_come = room.chance[v] * to_come + (1.0 - room.chance[v]) * cost
        if rise[n_v] > 0.0:
            single[n_v] += less
            for u in range(v):
                pair[truck[j, u], n_v] += less * room.inverse[u]


@bare_kernel
def _walk_of_two(
    g: int, groups: Any, busy: Floats, rise: Floats, size: int, least_chance: float, room: Any
) -> tuple[int, float, bool]:
    """As `_walk` for the demand points of a group, one in each lane, until it ends in all of them.

    Returns the positions that count, the incidents per day that go on then, at the largest ratios, and whether there
    are chances so small that sums cancel. room.ratios holds the largest ratios of each lane.
    """
    num, cancels, first = 0, False, g * groups.num_positions * LANES
    none, one, most, more = room.none, room.some, room.most, room.more
    for lane in range(LANES):
        none[lane], one[lane], most[lane], more[lane], room.ratios[lane] = 1.0, 0.0, 1.0, 1.0, 1.0
        room.before[lane] = 1.0
    while num < groups.num_positions:
        going = False
        for lane in range(LANES):
            room.ratios[lane] = most[lane] * (more[lane] if size >= 2 else 1.0)
            going = going or (none[lane] + one[lane]) * room.ratios[lane] > least_chance
        if not going:
            break
        at = num * LANES
        for lane in range(LANES):
            n = groups.truck[first + at + lane]
            p = busy[n]
            chance = p if p > LEAST_BUSY else LEAST_BUSY
            inverse = 1.0 / chance
            room.chance[at + lane], room.inverse[at + lane] = chance, inverse
            room.idle[at + lane], room.odds[at + lane] = 1.0 - p, (1.0 - p) * inverse
            room.before[at + LANES + lane] = room.before[at + lane] * chance
            cancels = cancels or chance < _CANCELS
            ratio = (p + rise[n]) * inverse
            higher, lower = (ratio, most[lane]) if ratio > most[lane] else (most[lane], ratio)
            most[lane], more[lane] = higher, lower if lower > more[lane] else more[lane]
            one[lane] = one[lane] * chance + none[lane] * (1.0 - p)
            none[lane] *= chance
        num += 1
    left_out = 0.0
    if num < groups.num_positions:
        for lane in range(LANES):
            left_out += groups.rate[g * LANES + lane] * (none[lane] + one[lane]) * room.ratios[lane]
    return num, left_out, cancels


@bare_kernel
def _slopes_of_two(
    g: int, num: int, cancels: bool, walks: Any, groups: Any, single: Floats, pair: Floats, room: Any
) -> None:
    """Add to G and H what the demand points of a group do, whose incidents need two trucks; see `find_slopes`."""
    one, less, total, slope, num_all = room.one, room.less, room.total, room.slope, pair.shape[1]
    first, start = g * groups.num_positions * LANES, g * groups.num_sets
    flat = pair.reshape(-1)
    for entry in range(num * LANES):
        one[entry] = 0.0
    for lane in range(LANES):
        room.to_come[lane] = 0.0
    for v in range(num - 1, -1, -1):
        for lane in range(LANES):
            at = v * LANES + lane
            nobody = room.to_come[lane] - one[at]
            room.to_come[lane] = room.chance[at] * room.to_come[lane] + room.idle[at] * one[at]
            room.nobody[lane] = total[lane] = nobody
            room.weight[lane] = groups.rate[g * LANES + lane] * room.before[at]
        if v > 0 and v < walks.depth:
            less_row(one, groups.cost, start + v * (v - 1) // 2, room.odds, less, v, room.chance, room.idle, total)
        elif v > 0:
            _look_up(g, v, walks, groups, room)
            less_row(one, room.cost, 0, room.odds, less, v, room.chance, room.idle, total)
        if v > 0:
            slope_row(room.inverse, less, room.weight, total, v, slope)
        if cancels and v > 0:
            _add_directly(v, room)
        for lane in range(LANES):
            n_v = groups.truck[first + v * LANES + lane]
            single[n_v] += room.weight[lane] * total[lane]
            row = n_v * num_all
            for entry in range(lane, v * LANES, LANES):
                flat[row + groups.truck[first + entry]] += slope[entry]


@bare_kernel
def _look_up(g: int, v: int, walks: Any, groups: Any, room: Any) -> None:
    """Set room.cost to the costs of the pairs of v and the positions before it, in every lane."""
    for lane in range(LANES):
        j = groups.point[g * LANES + lane]
        for a in range(v):
            room.cost[a * LANES + lane] = cost_at(walks, j, -1, -1, a, v)


@bare_kernel
def _add_directly(v: int, room: Any) -> None:
    """Set room.slope anew where a sum of all less one term would cancel."""
    for entry in range(v * LANES):
        if room.chance[entry] < _CANCELS:
            lane = entry % LANES
            without = room.nobody[lane] - room.less[entry]
            for other in range(lane, v * LANES, LANES):
                if other != entry:
                    without += room.odds[other] * room.less[other]
            room.slope[entry] = room.weight[lane] * room.inverse[entry] * without


@bare_kernel
def _harm_of_two(g: int, num: int, walks: Any, groups: Any, harm: Floats, room: Any) -> None:
    """As `_harm_of` for the demand points of a group, whose incidents need two trucks.

    With w_bc the chance that all but b and c are busy before c, times the fall, n_c has Σ_{b≠i} w_bc (1-p_b) with i,
    and n_b has Σ_{c>b,i} w_bc (1-p_c). room.first has w_bc (1-p_b) at (c, b), room.later Σ_{c>x} w_bc (1-p_c) at
    (x, b).
    """
    first, later, width, num_all = room.first, room.later, groups.num_positions, harm.shape[1]
    start, flat, trucks = g * groups.num_sets, harm.reshape(-1), g * groups.num_positions * LANES
    for entry in range(num * LANES):
        later[(num - 1) * width * LANES + entry] = 0.0
    for lane in range(LANES):
        room.together[lane] = 0.0
        room.least[lane] = LEAST_HARM * groups.rate[g * LANES + lane] / room.ratios[lane]
    for c in range(num - 1, 0, -1):
        for lane in range(LANES):
            room.weight[lane] = groups.rate[g * LANES + lane] * room.before[c * LANES + lane]
        if c < walks.depth:
            harm_row(
                groups.fall, start + c * (c - 1) // 2, room.inverse, room.idle, first, later, width, c, room.weight,
                room.least, room.together,
            )  # fmt: skip
        else:
            for entry in range(c * LANES):
                room.cost[entry] = groups.widest[g * LANES + entry % LANES]
            harm_row(
                room.cost, 0, room.inverse, room.idle, first, later, width, c, room.weight, room.least, room.together
            )
    for b in range(num):
        for lane in range(LANES):
            at = b * LANES + lane
            both = room.together[at] + later[(b * width) * LANES + at]
            if both > 0.0:
                n = groups.truck[trucks + at]
                row = n * num_all
                flat[row + n] += both
                for entry in range(lane, b * LANES, LANES):
                    flat[row + groups.truck[trucks + entry]] += both - first[b * width * LANES + entry]
                for d in range(b + 1, num):
                    flat[row + groups.truck[trucks + d * LANES + lane]] += later[d * width * LANES + at]


@bare_kernel
def find_slopes(
    queues: Any, falls: Any, groups: Any, busy: Floats, rise: Floats, size: int, least_chance: float, by_slopes: bool,
    single: Floats, pair: Floats, harm: Floats, room: Any,
) -> float:  # fmt: skip
    """Fill harm(n, i) in `harm` [trucks, trucks], and G in `single` [trucks] and H in `pair` if `by_slopes`, per day.

    The H of a pair is the sum of its two entries, and harm(n) is harm[n, n]. Trucks from outside count, too. `busy` are
    the chances of the trucks, `rise` the Δ of those that may be taken, 0 for the others, and `size` is the number of
    trucks of the teams that may be taken. Walks end at `least_chance`; returns the incidents per day that go on then,
    at the largest ratios. Derivatives are for needs of one or two trucks.
    """
    walks = queues.walks
    single[:] = 0.0
    pair[:] = 0.0
    harm[:] = 0.0
    left_out = 0.0
    for g in range(len(groups.point) // LANES if size <= 2 else 0):
        num, goes_on, cancels = _walk_of_two(g, groups, busy, rise, size, least_chance, room)
        left_out += goes_on
        _harm_of_two(g, num, walks, groups, harm, room)
        if by_slopes:
            _slopes_of_two(g, num, cancels, walks, groups, single, pair, room)
    for j in range(len(walks.needed)):
        rate, k = walks.rate[j], walks.needed[j]
        if rate == 0.0 or (k == 2 and size <= 2):
            continue
        num, ratios, goes_on = _walk(j, walks, busy, rise, size, least_chance, room)
        left_out += rate * goes_on
        if falls.deepest[j] > 0.0 or num > walks.depth:
            _harm_of(j, num, walks, falls, busy, rise, LEAST_HARM * rate / ratios, harm, room)
        if by_slopes:
            _slopes_of_one(j, num, walks, rise, single, pair, room)
    return left_out


@bare_kernel
def extra_by_slopes(rise: Floats, single: Floats, pair: Floats, extra: Floats) -> None:
    """Set extra[u, v] to the late incidents per day that Δ of trucks u and v add, and extra[u, u] to those of u."""
    for u in range(len(rise)):
        for v in range(u):
            both = rise[u] * single[u] + rise[v] * single[v] + rise[u] * rise[v] * (pair[u, v] + pair[v, u])
            extra[u, v] = extra[v, u] = both
        extra[u, u] = rise[u] * single[u]


@bare_kernel
def _harm_to(n: int, team: Ints, excess: Floats, harm: Floats) -> float:
    """An upper bound on harm(n) when the trucks of a team are raised; `excess` is ρ - 1 of each truck."""
    total = harm[n, n]
    for subset in range(1, 1 << len(team)):
        product, fewest = 1.0, harm[n, n]
        for place in range(len(team)):
            if subset >> place & 1:
                # raising n itself changes nothing, given that n is idle
                product *= 0.0 if team[place] == n else excess[team[place]]
                fewest = min(fewest, harm[n, team[place]])
        total += product * fewest
    return float(total)


@bare_kernel
def combine(
    taken: Ints, rise: Floats, excess: Floats, extra: Floats, harm: Floats, by_harm: Ints, load: Floats, least: Floats
) -> None:
    """Fill least[t] with the lower bound on late(f-a) - late(f) per day, for the team of the trucks taken[t].

    `by_harm` are the trucks from the largest harm(n) down: further down no harm can be the largest.
    """
    for t in range(len(taken)):
        team = taken[t]
        size, passed_on, worst, most = len(team), 0.0, 0.0, 1.0
        for n in team:
            passed_on += load[n] * rise[n]
            most *= 1.0 + excess[n]
        for n in by_harm:
            if harm[n, n] * most <= worst:
                break
            worst = max(worst, _harm_to(n, team, excess, harm))
        best = extra[team[0], team[0]] if size == 1 else -np.inf
        for a in range(size):
            for b in range(a):
                both = extra[team[a], team[b]]
                for c in range(size):
                    if c != a and c != b:
                        both -= rise[team[c]] * _harm_to(team[c], team, excess, harm)
                best = max(best, both)
        least[t] = best - worst * passed_on
