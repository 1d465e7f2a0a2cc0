"""Fixed points of one-step-queueing for `LANES` states at once (see `queueing` and `lanes`).

D -> p -> D is repeated with steps that are extrapolated from the last three (Anderson's mixing), in each lane by
itself, until every D of the lane repeats itself; the lane then stays as it is. A lane that does not settle within
`MIXED_STEPS`, and every lane with printed chances or rates, is left to the plain steps of `queueing.settle`. Only rates
are followed on the way; late incidents are counted once, at the end.
"""

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.mdp.kernels.bare import bare_kernel
from runcard.mdp.kernels.block_sum import SETS
from runcard.mdp.kernels.independent import LEAST_BUSY, cost_at, num_below, whole_sets
from runcard.mdp.kernels.lanes import (
    LANES,
    lane_sum,
    lane_walk_four,
    lane_walk_one,
    lane_walk_three,
    lane_walk_two,
    lane_weights_four,
    lane_weights_one,
    lane_weights_three,
    lane_weights_two,
)
from runcard.mdp.kernels.queueing import busy_chance, repeats, settle

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

MIXED_STEPS = 100
REMEMBERED = 3
_SINGULAR = 1e-12
_WORST_GROWTH = 4.0


@bare_kernel
def _walk(queues: Any, room: Any) -> None:
    """Set room.asked to the rates that room.busy give, and room.num to the positions of each walk, in every lane."""
    walks, truck = queues.walks, queues.flat_truck
    num_positions, stop = walks.truck.shape[1], walks.stop
    room.asked[:] = 0.0
    for j in range(len(walks.needed)):
        k, rate, start = walks.needed[j], walks.rate[j], j * num_positions
        if rate == 0.0:
            continue
        end = start + num_positions
        if k == 1:
            room.num[j] = lane_walk_one(truck, start, end, rate, room.busy, room.asked, stop)
        elif k == 2:
            room.num[j] = lane_walk_two(truck, start, end, rate, room.busy, room.asked, stop)
        elif k == 3:
            room.num[j] = lane_walk_three(truck, start, end, rate, room.busy, room.asked, stop)
        else:
            room.num[j] = lane_walk_four(truck, start, end, rate, room.busy, room.asked, stop)


@bare_kernel
def _follow(queues: Any, demand: Floats, room: Any) -> None:
    """Set the busy chances that rates `demand` give, and the rates room.asked that those give, in every lane."""
    mu = queues.returns_per_day
    for entry in range(len(demand)):
        room.busy[entry] = busy_chance(demand[entry] / mu, room.idle[entry] > 0, queues)
    _walk(queues, room)


@bare_kernel
def _mix(step: int, room: Any, demand: Floats) -> None:
    """Set `demand` to the next point by Anderson's mixing of the last points of each open lane and their plain moves.

    Row step % 3 of both is the last, room.known[lane] <= 3 of them count. The mixture is the one whose move is
    smallest, by least squares.
    """
    now, before, first = step % REMEMBERED, (step - 1) % REMEMBERED, (step - 2) % REMEMBERED
    points, moves, sums, alphas, betas = room.points, room.moves, room.sums, room.alpha, room.beta
    sums[:] = 0.0
    for n in range(0, len(demand), LANES):
        for lane in range(LANES):
            r = moves[now, n + lane]
            a, b = r - moves[before, n + lane], moves[before, n + lane] - moves[first, n + lane]
            sums[lane] += a * a
            sums[LANES + lane] += a * b
            sums[2 * LANES + lane] += b * b
            sums[3 * LANES + lane] += a * r
            sums[4 * LANES + lane] += b * r
    for lane in range(LANES):
        aa, ab, bb = sums[lane], sums[LANES + lane], sums[2 * LANES + lane]
        ar, br, known = sums[3 * LANES + lane], sums[4 * LANES + lane], room.known[lane]
        alpha, beta, determinant = 0.0, 0.0, aa * bb - ab * ab
        if known >= 3 and determinant > _SINGULAR * aa * bb:
            alpha, beta = (ar * bb - br * ab) / determinant, (br * aa - ar * ab) / determinant
        elif known >= 2 and aa > 0.0:
            alpha = ar / aa
        alphas[lane], betas[lane] = alpha, beta
    for n in range(0, len(demand), LANES):
        for lane in range(LANES):
            m = n + lane
            plain, last = points[now, m] + moves[now, m], points[before, m] + moves[before, m]
            mixed = plain - alphas[lane] * (plain - last)
            mixed -= betas[lane] * (last - points[first, m] - moves[first, m])
            # A rate far from both ends of a plain step is an artefact of nearly equal moves.
            low, high = min(points[now, m], plain), max(points[now, m], plain)
            following = mixed if 0.5 * low <= mixed <= 2.0 * high else plain
            demand[m] = demand[m] if room.settled[lane] > 0 else following


@bare_kernel
def _search(queues: Any, num: int, demand: Floats, room: Any) -> None:
    """Follow the first `num` lanes from `demand` until room.settled says of each that it has settled."""
    for lane in range(LANES):
        room.settled[lane] = 1 if lane >= num else 0
        room.known[lane], room.last[lane] = 0, np.inf
    room.points[:] = 0.0
    room.moves[:] = 0.0
    for step in range(1, MIXED_STEPS + 1):
        _follow(queues, demand, room)
        row, largest, unsettled = step % REMEMBERED, room.alpha, room.beta
        for lane in range(LANES):
            largest[lane] = unsettled[lane] = 0.0
        for n in range(0, len(demand), LANES):
            for lane in range(LANES):
                move = room.asked[n + lane] - demand[n + lane]
                room.points[row, n + lane], room.moves[row, n + lane] = demand[n + lane], move
                size = abs(move)
                largest[lane] = size if size > largest[lane] else largest[lane]
                unsettled[lane] += 0.0 if repeats(room.asked[n + lane], demand[n + lane], queues) else 1.0
        num_open = 0
        for lane in range(num):
            if room.settled[lane]:
                continue
            if unsettled[lane] == 0.0:
                room.settled[lane] = 1
                continue
            num_open += 1
            if largest[lane] > _WORST_GROWTH * room.last[lane]:
                room.known[lane] = 0
            room.last[lane], room.known[lane] = largest[lane], min(room.known[lane] + 1, REMEMBERED)
        if num_open == 0:
            return
        _mix(step, room, demand)


@bare_kernel
def _settle_alone(queues: Any, lane: int, demand: Floats, room: Any) -> bool:
    """Let a lane take plain steps from `demand`; whether it settles."""
    alone = room.alone
    for n in range(len(alone.demand)):
        alone.demand[n], alone.idle[n] = demand[n * LANES + lane], room.idle[n * LANES + lane]
    settled = settle(alone.idle, queues, alone.demand, alone.busy, alone)
    for n in range(len(alone.demand)):
        demand[n * LANES + lane], room.busy[n * LANES + lane] = alone.demand[n], alone.busy[n]
    return settled


@njit(nogil=True, cache=True)
def lay_out_lane_costs(walks: Any, costs: Any) -> None:
    """Fill `costs.cost`, all 0 before: for each demand point and position b below the depth, the sets below b."""
    for j in range(len(walks.needed)):
        k, start = walks.needed[j], costs.first[j]
        for d in range(k - 1, min(walks.depth, walks.truck.shape[1])):
            place = start
            for c in range(-1 if k < 2 else 0, 0 if k < 2 else d):
                for b in range(-1 if k < 3 else 0, 0 if k < 3 else c):
                    for a in range(-1 if k < 4 else 0, 0 if k < 4 else b):
                        costs.cost[place] = cost_at(walks, j, a, b, c, d)
                        place += 1
            start += whole_sets(place - start)


@bare_kernel
def _far_sum(walks: Any, j: int, d: int, lane: int, ratio: Floats) -> float:
    """Σ_a c_ad R_a for one position d and one lane, with the costs looked up."""
    k, total = walks.needed[j], 0.0
    for c in range(-1 if k < 2 else 0, 0 if k < 2 else d):
        for b in range(-1 if k < 3 else 0, 0 if k < 3 else c):
            for a in range(-1 if k < 4 else 0, 0 if k < 4 else b):
                product = 1.0
                if k >= 2:
                    product *= ratio[c * LANES + lane]
                if k >= 3:
                    product *= ratio[b * LANES + lane]
                if k >= 4:
                    product *= ratio[a * LANES + lane]
                total += product * cost_at(walks, j, a, b, c, d)
    return total


@bare_kernel
def _multiply_ratios(k: int, num: int, ratio: Floats, products: Floats) -> None:
    """Set `products` to those of the sets of k-1 of the first `num` positions, in every lane; k is 3 or 4."""
    end = 0
    for c in range(num):
        for b in range(c):
            for a in range(-1 if k < 4 else 0, 0 if k < 4 else b):
                for lane in range(LANES):
                    products[end + lane] = ratio[b * LANES + lane] * ratio[c * LANES + lane]
                    if k >= 4:
                        products[end + lane] *= ratio[a * LANES + lane]
                end += LANES


@bare_kernel
def _weigh(j: int, num: int, queues: Any, room: Any) -> None:
    """Set room.weight and room.ratio for the first `num` positions of demand point j, in every lane."""
    walks, truck = queues.walks, queues.flat_truck
    k, rate, start, stop = walks.needed[j], walks.rate[j], j * walks.truck.shape[1], walks.stop
    if k == 1:
        lane_weights_one(truck, start, num, rate, stop, room.busy, room.odds, room.weight, room.ratio)
    elif k == 2:
        lane_weights_two(truck, start, num, rate, stop, room.busy, room.odds, room.weight, room.ratio)
    elif k == 3:
        lane_weights_three(truck, start, num, rate, stop, room.busy, room.odds, room.weight, room.ratio)
    else:
        lane_weights_four(truck, start, num, rate, stop, room.busy, room.odds, room.weight, room.ratio)


@bare_kernel
def _count_late(queues: Any, room: Any, late: Floats) -> None:
    """Set late[lane] to the late incidents per day of each lane, given room.busy and room.num."""
    walks, costs = queues.walks, queues.costs
    for entry in range(len(room.busy)):
        room.odds[entry] = (1.0 - room.busy[entry]) / max(room.busy[entry], LEAST_BUSY)
    late[:LANES] = 0.0
    for j in range(len(walks.needed)):
        rate, k, num = walks.rate[j], walks.needed[j], room.num[j]
        if rate == 0.0:
            continue
        _weigh(j, num, queues, room)
        near = min(num, walks.depth)
        if k >= 3:
            _multiply_ratios(k, near, room.ratio, room.products)
        start, room.cost[:] = costs.first[j], 0.0
        if k == 2:  # without the divisions of num_below
            for b in range(1, near):
                lane_sum(costs.cost, start, room.ratio, b, room.weight, b, room.cost)
                start += whole_sets(b)
        else:
            for b in range(k - 1, near):
                count = num_below(k - 1, b)
                lane_sum(
                    costs.cost, start, room.everything if k == 1 else room.products, count, room.weight, b, room.cost
                )
                start += whole_sets(count)
        for b in range(walks.depth, num):
            for lane in range(LANES):
                room.cost[lane] += room.weight[b * LANES + lane] * _far_sum(walks, j, b, lane, room.ratio)
        for slot in range(SETS):
            for lane in range(LANES):
                late[lane] += rate * room.cost[slot * LANES + lane]


@njit(nogil=True, cache=True)
def settle_lanes(num: int, queues: Any, demand: Floats, late: Floats, room: Any) -> int:
    """Find the fixed points of the states room.idle of the first `num` lanes, and their late incidents per day.

    The search starts from `demand` [N x LANES], and leaves the fixed points there and their chances in room.busy.
    Returns the first lane without a fixed point, or -1.
    """
    alone = False
    if queues.printed_chances or queues.printed_rates:
        alone = True
        for lane in range(num):
            if not _settle_alone(queues, lane, demand, room):
                return lane
    else:
        _search(queues, num, demand, room)
        for lane in range(num):
            if not room.settled[lane]:
                alone = True
                for n in range(len(queues.first_demand)):
                    demand[n * LANES + lane] = queues.first_demand[n]
                if not _settle_alone(queues, lane, demand, room):
                    return lane
    if alone:
        _walk(queues, room)
    _count_late(queues, room, late)
    return -1


@bare_kernel
def start_from(demand: Floats, idle: Ints, num: int, room: Any) -> None:
    """Let the first `num` lanes start from `demand` [N] in the state `idle` [N]."""
    for n in range(len(demand)):
        for lane in range(num):
            room.demand[n * LANES + lane], room.idle[n * LANES + lane] = demand[n], idle[n]


@njit(nogil=True, cache=True)
def settle_states(start: int, stop: int, trucks: Ints, queues: Any, late: Floats, room: Any) -> int:
    """Fill late[f - start] with the late incidents per day at the fixed point of the states start..stop-1.

    Returns the first state without a fixed point, or -1.
    """
    num_trucks = len(queues.first_demand)
    for first in range(start, stop, LANES):
        num = min(LANES, stop - first)
        # Where every start leads to the same fixed point, the one of the state before is closer.
        if first == start or not queues.unique:
            start_from(queues.first_demand, room.alone.idle, LANES, room)
        for lane in range(num):
            rest, end = first + lane, num_trucks
            for i in range(len(trucks) - 1, -1, -1):
                num_idle = rest % (trucks[i] + 1)
                rest //= trucks[i] + 1
                for n in range(trucks[i]):
                    room.idle[(end - trucks[i] + n) * LANES + lane] = 1 if n < num_idle else 0
                end -= trucks[i]
        failed = settle_lanes(num, queues, room.demand, room.late, room)
        if failed >= 0:
            return first + failed
        late[first - start : first - start + num] = room.late[:num]
    return -1


@njit(nogil=True, cache=True)
def settle_teams(chosen: Ints, taken: Ints, queues: Any, idle: Ints, demand: Floats, late: Floats, room: Any) -> int:
    """Fill late[t], t in `chosen`, with the late incidents per day at the fixed point without the trucks taken[t].

    `idle` [N] is the state itself, and searches start from `demand` [N]; -1 in `taken` is no truck. Returns the first
    row without a fixed point, or -1.
    """
    for first in range(0, len(chosen), LANES):
        num = min(LANES, len(chosen) - first)
        start_from(demand, idle, num, room)
        for lane in range(num):
            for n in taken[chosen[first + lane]]:
                if n >= 0:
                    room.idle[n * LANES + lane] = 0
        failed = settle_lanes(num, queues, room.demand, room.late, room)
        if failed >= 0:
            return int(chosen[first + failed])
        for lane in range(num):
            late[chosen[first + lane]] = room.late[lane]
    return -1


@bare_kernel
def extra_by_lanes(idle: Ints, rise: Floats, busy: Floats, late: float, queues: Any, room: Any, extra: Floats) -> None:
    """Set extra[u, v] to the late incidents per day that `rise` of the idle trucks u and v adds to `late`.

    extra[u, u] is that of truck u alone; `busy` [N + outside] are the chances that the rises are added to.
    """
    num_trucks, lane = len(idle), 0
    for entry in range(len(room.busy)):
        room.busy[entry] = busy[entry // LANES]
    for u in range(num_trucks):
        for v in range(u + 1):
            if idle[u] == 0 or idle[v] == 0:
                continue
            room.busy[u * LANES + lane] = busy[u] + rise[u]
            room.busy[v * LANES + lane] = busy[v] + rise[v]
            room.pairs[2 * lane], room.pairs[2 * lane + 1] = u, v
            lane += 1
            if lane == LANES:
                _take_extra(lane, busy, late, queues, room, extra)
                lane = 0
    if lane > 0:
        _take_extra(lane, busy, late, queues, room, extra)


@bare_kernel
def _take_extra(num: int, busy: Floats, late: float, queues: Any, room: Any, extra: Floats) -> None:
    """Fill in `extra` for the pairs of the first `num` lanes, and set the chances of their trucks back to `busy`."""
    _walk(queues, room)
    _count_late(queues, room, room.late)
    for lane in range(num):
        u, v = room.pairs[2 * lane], room.pairs[2 * lane + 1]
        extra[u, v] = extra[v, u] = room.late[lane] - late
        room.busy[u * LANES + lane], room.busy[v * LANES + lane] = busy[u], busy[v]
