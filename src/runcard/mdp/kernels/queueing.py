"""The fixed point of one-step-queueing: trucks as M/M/1/1 queues, and the rates at which they are asked.

With x = D/μ the load of a truck and B = x/(1+x), the chance that the truck is busy in [0, T] is

    idle now  B - B s,        busy now  B + (1-B) s,        s = 1/n         (T = n/(μ+D), in relaxation times),
                                                            s = (1-B)/m     (T = m/μ, in busy times),

that is B + h/(DT) with the relative costs h of the queue, divided out so that D = 0 is no exception. As printed the two
costs have changed places: idle now B - (1-B) s, busy now B + B s, with s = (1-B)/m. Chances are cut off at 0 and 1.

Which rates D the chances p give is exact (`independent`), or as printed, where an incident counts for every team that
it may ask: with the trucks in the order of the demand point, the team whose last member is at position v is asked with
the chance that all others before v are busy, whoever of the team is. So

    D(truck at b) = λ { [z^(k-1)] Π_{c<b} (p_c + z)  +  Σ_{v>b} [z^(k-2)] Π_{c<v, c≠b} (p_c + z) },

coefficients of polynomials; trucks from outside, with p = 0, are the last in every order.

**The search.** D -> p -> D is repeated from the D that is given. Steps are extrapolated from the last three (Anderson's
mixing), but plain as printed, and every D must repeat itself to `TOLERANCE`, or to what the kernel leaves out of a
rate. If it does not within `MIXED_STEPS`, plain steps from the D of p = 0 follow, then halved ones; then 0 steps are
reported: no fixed point was found.
"""

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.mdp.kernels.bare import bare_kernel
from runcard.mdp.kernels.independent import follow_order

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

TOLERANCE = 1e-10
MIXED_STEPS = 100
PLAIN_STEPS = 3000
REMEMBERED = 3
_SINGULAR = 1e-12
_WORST_GROWTH = 4.0


@bare_kernel
def spread(load: float, queues: Any) -> float:
    """s: by how much the chances of a busy and of an idle truck of this load differ."""
    return float(1.0 / (queues.horizon * (1.0 if queues.relaxing else 1.0 + load)))


@bare_kernel
def busy_chance(load: float, idle: bool, queues: Any) -> float:
    """The chance that a truck of this load is busy within the horizon, idle or busy at its start."""
    chance, apart = load / (1.0 + load), spread(load, queues)
    if idle == queues.printed:
        found = chance + (-apart if idle else apart) * (1.0 - chance)
    else:
        found = chance + (-apart if idle else apart) * chance
    return min(1.0, max(0.0, found))


@bare_kernel
def _printed_point(j: int, walks: Any, busy: Floats, ratio: Floats, asked: Floats) -> None:
    """Add to asked[n] the rates of demand point j as printed; `ratio` [positions] is scratch."""
    k, rate, num = walks.needed[j], walks.rate[j], 0
    # Coefficients of 1, z, z² of the product over the trucks before a position; those from z^k on are left out.
    none, one, two = 1.0, 0.0, 0.0
    while num < walks.truck.shape[1] and none + one + two > walks.stop:
        n = walks.truck[j, num]
        asked[n] += rate * (none if k == 1 else (one if k == 2 else two))
        p = ratio[num] = busy[n]
        if k == 3:
            two = two * p + one
        if k >= 2:
            one = one * p + none
        none *= p
        num += 1
    if k == 1:
        return
    none, one = 1.0, 0.0
    for b in range(num):
        without_none, without_one, total = none, one, 0.0
        for v in range(b + 1, num):
            total += without_none if k == 2 else without_one
            without_one = without_one * ratio[v] + without_none
            without_none *= ratio[v]
        asked[walks.truck[j, b]] += rate * total
        one = one * ratio[b] + none
        none *= ratio[b]


@bare_kernel
def request_rates(queues: Any, busy: Floats, room: Any, asked: Floats) -> float:
    """Set asked[n] to the rate at which each truck is asked; returns the late incidents per day (printed: 0)."""
    walks = queues.walks
    num_points = len(walks.needed)
    asked[:] = 0.0
    if not queues.printed:
        return follow_order(0, num_points, walks, busy, room.odds, room.weight, room.ratio, room.products, asked)
    for j in range(num_points):
        if walks.rate[j] > 0.0:
            _printed_point(j, walks, busy, room.ratio, asked)
    return 0.0


@bare_kernel
def _mix(step: int, known: int, points: Floats, moves: Floats, demand: Floats) -> None:
    """Set `demand` to the next point by Anderson's mixing of the last `known` <= 3 points and their plain moves.

    Row step % 3 of both is the last. The mixture is the one whose move is smallest, by least squares.
    """
    now, before, first = step % REMEMBERED, (step - 1) % REMEMBERED, (step - 2) % REMEMBERED
    aa, ab, bb, ar, br = 0.0, 0.0, 0.0, 0.0, 0.0
    for n in range(len(demand)):
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
    for n in range(len(demand)):
        plain = points[now, n] + moves[now, n]
        mixed = plain
        if known >= 2:
            mixed -= alpha * (plain - points[before, n] - moves[before, n])
        if known >= 3:
            mixed -= beta * (points[before, n] + moves[before, n] - points[first, n] - moves[first, n])
        # A rate far from both ends of a plain step is an artefact of nearly equal moves.
        low, high = min(points[now, n], plain), max(points[now, n], plain)
        demand[n] = mixed if 0.5 * low <= mixed <= 2.0 * high else plain


@njit(nogil=True, cache=True)
def _search(
    idle: Ints, queues: Any, kind: int, steps: int, demand: Floats, busy: Floats, room: Any
) -> tuple[float, int]:
    """As `settle`, for one kind of steps: 0 mixed, 1 plain, 2 halved."""
    mu, num_trucks = queues.returns_per_day, len(demand)
    known, last = 0, np.inf
    for step in range(1, steps + 1):
        for n in range(num_trucks):
            busy[n] = busy_chance(demand[n] / mu, idle[n] > 0, queues)
        late = request_rates(queues, busy, room, room.asked)
        settled, largest = True, 0.0
        for n in range(num_trucks):
            change = abs(room.asked[n] - demand[n])
            largest = max(largest, change)
            settled = settled and change <= TOLERANCE * room.asked[n] + queues.left_out
        if settled:
            return late, step
        if kind == 0:
            if largest > _WORST_GROWTH * last:
                known = 0
            last, known = largest, min(known + 1, REMEMBERED)
            for n in range(num_trucks):
                room.points[step % REMEMBERED, n] = demand[n]
                room.moves[step % REMEMBERED, n] = room.asked[n] - demand[n]
            _mix(step, known, room.points, room.moves, demand)
        else:
            weight = 1.0 if kind == 1 else 0.5
            for n in range(num_trucks):
                demand[n] += weight * (room.asked[n] - demand[n])
    return 0.0, 0


@njit(nogil=True, cache=True)
def settle(idle: Ints, queues: Any, demand: Floats, busy: Floats, room: Any) -> tuple[float, int]:
    """The late incidents per day at the fixed point of a state, and the steps it took; 0 steps if there was none.

    `idle` [N] says whether each truck is idle. The search starts from `demand` [N], and leaves the fixed point there
    and its chances in `busy` [N + outside], which must end with the zeros of the trucks from outside.
    """
    late, steps = 0.0, 0
    if not queues.printed:
        late, steps = _search(idle, queues, 0, MIXED_STEPS, demand, busy, room)
        if steps == 0:
            demand[:] = queues.first_demand
    if steps == 0:
        late, steps = _search(idle, queues, 1, PLAIN_STEPS, demand, busy, room)
    if steps == 0:
        demand[:] = queues.first_demand
        late, steps = _search(idle, queues, 2, PLAIN_STEPS, demand, busy, room)
    if queues.printed and steps > 0:
        walks = queues.walks
        room.asked[:] = 0.0
        late = follow_order(
            0, len(walks.needed), walks, busy, room.odds, room.weight, room.ratio, room.products, room.asked
        )
    return late, steps


@njit(nogil=True, cache=True)
def settle_states(start: int, stop: int, trucks: Ints, queues: Any, late: Floats, room: Any) -> int:
    """Fill late[f - start] with the late incidents per day at the fixed point of the states start..stop-1.

    Returns the first state without a fixed point, or -1.
    """
    for state in range(start, stop):
        rest, end = state, len(room.idle)
        for i in range(len(trucks) - 1, -1, -1):
            num_idle = rest % (trucks[i] + 1)
            rest //= trucks[i] + 1
            for n in range(trucks[i]):
                room.idle[end - trucks[i] + n] = 1 if n < num_idle else 0
            end -= trucks[i]
        # Where every start leads to the same fixed point, the one of the state before is closer.
        if state == start or not queues.unique:
            room.demand[:] = queues.first_demand
        late[state - start], steps = settle(room.idle, queues, room.demand, room.busy, room)
        if steps == 0:
            return state
    return -1


@njit(nogil=True, cache=True)
def settle_teams(taken: Ints, queues: Any, idle: Ints, demand: Floats, late: Floats, room: Any) -> int:
    """Fill late[t] with the late incidents per day at the fixed point of the state without the trucks taken[t].

    `idle` [N] and `demand` [N] are those of the state itself; -1 in `taken` is no truck. Returns the first row without
    a fixed point, or -1.
    """
    room.idle[:] = idle
    for t in range(len(taken)):
        room.demand[:] = demand if queues.rising else queues.first_demand
        for n in taken[t]:
            if n >= 0:
                room.idle[n] = 0
        late[t], steps = settle(room.idle, queues, room.demand, room.busy, room)
        for n in taken[t]:
            if n >= 0:
                room.idle[n] = idle[n]
        if steps == 0:
            return t
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
    for t in ranked:
        if least[t] > best[-1]:
            break
        if settle_teams(taken[t : t + 1], queues, idle, demand, late[t : t + 1], room) >= 0:
            return int(t)
        total = p_late[t] + horizon * (late[t] - now)
        place = len(best) - 1
        if total < best[place]:
            while place > 0 and best[place - 1] > total:
                best[place] = best[place - 1]
                place -= 1
            best[place] = total
    return -1
