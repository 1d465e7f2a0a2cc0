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
from runcard.mdp.kernels.block_sum import BLOCK
from runcard.mdp.kernels.independent import LEAST_BUSY, cost_at, num_sets
from runcard.mdp.kernels.lanes import LANES, lane_block_sum, lane_walk_three, lane_walk_two, lane_weights
from runcard.mdp.kernels.queueing import busy_chance, repeats, settle

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

MIXED_STEPS = 100
REMEMBERED = 3
_SINGULAR = 1e-12
_WORST_GROWTH = 4.0


@bare_kernel
def _walk(j: int, queues: Any, room: Any) -> int:
    """Add to room.asked what demand point j asks of each truck, in every lane; returns how many positions count."""
    walks, start = queues.walks, j * queues.walks.truck.shape[1]
    k, end = walks.needed[j], start + walks.truck.shape[1]
    if k == 3:
        return int(lane_walk_three(queues.flat_truck, start, end, k, walks.rate[j], room.busy, room.asked, walks.stop))
    return int(lane_walk_two(queues.flat_truck, start, end, k, walks.rate[j], room.busy, room.asked, walks.stop))


@bare_kernel
def _follow(queues: Any, demand: Floats, room: Any) -> None:
    """Set the busy chances that rates `demand` give, and the rates room.asked that those give, in every lane."""
    walks, mu = queues.walks, queues.returns_per_day
    for entry in range(len(demand)):
        room.busy[entry] = busy_chance(demand[entry] / mu, room.idle[entry] > 0, queues)
    room.asked[:] = 0.0
    for j in range(len(walks.needed)):
        if walks.rate[j] > 0.0:
            _walk(j, queues, room)


@bare_kernel
def _mix(step: int, room: Any, demand: Floats) -> None:
    """Set `demand` to the next point by Anderson's mixing of the last points of each open lane and their plain moves.

    Row step % 3 of both is the last, room.known[lane] <= 3 of them count. The mixture is the one whose move is
    smallest, by least squares.
    """
    now, before, first = step % REMEMBERED, (step - 1) % REMEMBERED, (step - 2) % REMEMBERED
    points, moves = room.points, room.moves
    for lane in range(LANES):
        if room.settled[lane]:
            continue
        known = room.known[lane]
        aa, ab, bb, ar, br = 0.0, 0.0, 0.0, 0.0, 0.0
        for n in range(lane, len(demand), LANES):
            r = moves[now, n]
            a = r - moves[before, n] if known >= 2 else 0.0
            b = moves[before, n] - moves[first, n] if known >= 3 else 0.0
            aa, ab, bb, ar, br = aa + a * a, ab + a * b, bb + b * b, ar + a * r, br + b * r
        alpha, beta = 0.0, 0.0
        determinant = aa * bb - ab * ab
        if known >= 3 and determinant > _SINGULAR * aa * bb:
            alpha, beta = (ar * bb - br * ab) / determinant, (br * aa - ar * ab) / determinant
        elif known >= 2 and aa > 0.0:
            alpha = ar / aa
        for n in range(lane, len(demand), LANES):
            plain = points[now, n] + moves[now, n]
            mixed = plain
            if known >= 2:
                mixed -= alpha * (plain - points[before, n] - moves[before, n])
            if known >= 3:
                mixed -= beta * (points[before, n] + moves[before, n] - points[first, n] - moves[first, n])
            # A rate far from both ends of a plain step is an artefact of nearly equal moves.
            low, high = min(points[now, n], plain), max(points[now, n], plain)
            demand[n] = mixed if 0.5 * low <= mixed <= 2.0 * high else plain


@bare_kernel
def _search(queues: Any, num: int, demand: Floats, room: Any) -> None:
    """Follow the first `num` lanes from `demand` until room.settled says of each that it has settled."""
    for lane in range(LANES):
        room.settled[lane] = 1 if lane >= num else 0
        room.known[lane], room.last[lane] = 0, np.inf
    for step in range(1, MIXED_STEPS + 1):
        _follow(queues, demand, room)
        num_open = 0
        for lane in range(num):
            if room.settled[lane]:
                continue
            settled, largest = True, 0.0
            for n in range(lane, len(demand), LANES):
                largest = max(largest, abs(room.asked[n] - demand[n]))
                settled = settled and repeats(room.asked[n], demand[n], queues)
            if settled:
                room.settled[lane] = 1
                continue
            num_open += 1
            if largest > _WORST_GROWTH * room.last[lane]:
                room.known[lane] = 0
            room.last[lane], room.known[lane] = largest, min(room.known[lane] + 1, REMEMBERED)
        if num_open == 0:
            return
        for n in range(len(demand)):
            room.points[step % REMEMBERED, n] = demand[n]
            room.moves[step % REMEMBERED, n] = room.asked[n] - demand[n]
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


@bare_kernel
def _far_sum(walks: Any, j: int, c: int, lane: int, ratio: Floats) -> float:
    """Σ_a c_ac R_a for one position c and one lane, with the costs looked up."""
    k = walks.needed[j]
    if k == 1:
        return cost_at(walks, j, -1, -1, c)
    total = 0.0
    for b in range(c):
        if k == 2:
            total += ratio[b * LANES + lane] * cost_at(walks, j, -1, b, c)
            continue
        for a in range(b):
            total += ratio[a * LANES + lane] * ratio[b * LANES + lane] * cost_at(walks, j, a, b, c)
    return total


@bare_kernel
def _count_late(queues: Any, room: Any, late: Floats) -> None:
    """Set late[lane] to the late incidents per day of each lane, given room.busy; room.asked is overwritten."""
    walks = queues.walks
    num_positions = walks.truck.shape[1]
    for entry in range(len(room.busy)):
        room.odds[entry] = (1.0 - room.busy[entry]) / max(room.busy[entry], LEAST_BUSY)
    late[:LANES] = 0.0
    for j in range(len(walks.needed)):
        rate, k, start = walks.rate[j], walks.needed[j], j * num_positions
        if rate == 0.0:
            continue
        num = _walk(j, queues, room)
        lane_weights(queues.flat_truck, start, num, room.busy, room.odds, room.weight, room.ratio)
        near = (min(num, walks.depth) + BLOCK - 1) // BLOCK * BLOCK
        for entry in range(num * LANES, near * LANES):
            room.weight[entry], room.ratio[entry] = 0.0, 0.0
        if k == 3:
            end = 0
            for b in range(near):
                for a in range(b):
                    for lane in range(LANES):
                        room.products[end + lane] = room.ratio[a * LANES + lane] * room.ratio[b * LANES + lane]
                    end += LANES
        cost, room.cost[:] = walks.first_cost[j], 0.0
        for first in range(0, near, BLOCK):
            top = first + BLOCK - 1
            if k == 1:
                lane_block_sum(walks.near_cost, cost, room.everything, 1, room.weight, first, room.cost)
            elif k == 2:
                lane_block_sum(walks.near_cost, cost, room.ratio, top, room.weight, first, room.cost)
            else:
                lane_block_sum(
                    walks.near_cost, cost, room.products, top * (top - 1) // 2, room.weight, first, room.cost
                )
            cost += BLOCK * num_sets(k, first)
        for lane in range(LANES):
            for b in range(walks.depth, num):
                room.cost[lane] += room.weight[b * LANES + lane] * _far_sum(walks, j, b, lane, room.ratio)
            late[lane] += rate * room.cost[lane]


@njit(nogil=True, cache=True)
def settle_lanes(num: int, queues: Any, demand: Floats, late: Floats, room: Any) -> int:
    """Find the fixed points of the states room.idle of the first `num` lanes, and their late incidents per day.

    The search starts from `demand` [N x LANES], and leaves the fixed points there and their chances in room.busy.
    Returns the first lane without a fixed point, or -1.
    """
    if queues.printed_chances or queues.printed_rates:
        for lane in range(num):
            if not _settle_alone(queues, lane, demand, room):
                return lane
    else:
        _search(queues, num, demand, room)
        for lane in range(num):
            if not room.settled[lane]:
                for n in range(len(queues.first_demand)):
                    demand[n * LANES + lane] = queues.first_demand[n]
                if not _settle_alone(queues, lane, demand, room):
                    return lane
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

    `idle` [N] and `demand` [N] are those of the state itself; -1 in `taken` is no truck. Returns the first row without
    a fixed point, or -1.
    """
    for first in range(0, len(chosen), LANES):
        num = min(LANES, len(chosen) - first)
        start_from(demand if queues.rising else queues.first_demand, idle, num, room)
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


@njit(nogil=True, cache=True)
def settle_best(
    ranked: Ints, least: Floats, p_late: Floats, horizon: float, now: float, best: Floats, taken: Ints, queues: Any,
    idle: Ints, demand: Floats, late: Floats, room: Any,
) -> int:  # fmt: skip
    """As `settle_teams`, for the teams in `ranked` order until none that is left can be among the best len(best).

    `least` are lower bounds on P(late) + price, rising along `ranked`; prices are `horizon` × (late - now). `late`
    stays as it is for teams that are left out. `best` is scratch.
    """
    best[:] = np.inf
    first = 0
    while first < len(ranked) and least[ranked[first]] <= best[-1]:
        last = first
        while last < min(first + LANES, len(ranked)) and least[ranked[last]] <= best[-1]:
            last += 1
        failed = settle_teams(ranked[first:last], taken, queues, idle, demand, late, room)
        if failed >= 0:
            return failed
        for t in ranked[first:last]:
            total = p_late[t] + horizon * (late[t] - now)
            place = len(best) - 1
            if total < best[place]:
                while place > 0 and best[place - 1] > total:
                    best[place] = best[place - 1]
                    place -= 1
                best[place] = total
        first = last
    return -1
