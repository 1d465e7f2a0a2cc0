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

**The search.** D -> p -> D is repeated until every D repeats itself to `TOLERANCE`, or to what the kernel leaves out of
a rate. `queueing_lanes` searches for several states at once, with steps that are extrapolated. Here steps are plain, as
is right for printed chances or rates, where the smallest fixed point is meant; if there is no end to them, halved ones
from the D of p = 0 follow; then it is said that no fixed point was found.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.kernels.bare import bare_kernel

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

TOLERANCE = 1e-10
PLAIN_STEPS = 3000


@bare_kernel
def spread(load: float, queues: Any) -> float:
    """s: by how much the chances of a busy and of an idle truck of this load differ."""
    return float(1.0 / (queues.horizon * (1.0 if queues.relaxing else 1.0 + load)))


@bare_kernel
def busy_chance(load: float, idle: bool, queues: Any) -> float:
    """The chance that a truck of this load is busy within the horizon, idle or busy at its start."""
    chance, apart = load / (1.0 + load), spread(load, queues)
    if idle == queues.printed_chances:
        found = chance + (-apart if idle else apart) * (1.0 - chance)
    else:
        found = chance + (-apart if idle else apart) * chance
    return min(1.0, max(0.0, found))


@bare_kernel
def _printed_point(j: int, walks: Any, busy: Floats, ratio: Floats, asked: Floats) -> None:
    """Add to asked[n] the rates of demand point j as printed; `ratio` [positions] is scratch."""
    k, rate, num = walks.needed[j], walks.rate[j], 0
    # Coefficients of 1, z, z², z³ of the product over the trucks before a position; those from z^k on are left out.
    none, one, two, three = 1.0, 0.0, 0.0, 0.0
    while num < walks.truck.shape[1] and none + one + two + three > walks.stop:
        n = walks.truck[j, num]
        asked[n] += rate * (none if k == 1 else (one if k == 2 else (two if k == 3 else three)))
        p = ratio[num] = busy[n]
        if k == 4:
            three = three * p + two
        if k >= 3:
            two = two * p + one
        if k >= 2:
            one = one * p + none
        none *= p
        num += 1
    if k == 1:
        return
    none, one, two = 1.0, 0.0, 0.0
    for b in range(num):
        without_none, without_one, without_two, total = none, one, two, 0.0
        for v in range(b + 1, num):
            total += without_none if k == 2 else (without_one if k == 3 else without_two)
            without_two = without_two * ratio[v] + without_one
            without_one = without_one * ratio[v] + without_none
            without_none *= ratio[v]
        asked[walks.truck[j, b]] += rate * total
        two = two * ratio[b] + one
        one = one * ratio[b] + none
        none *= ratio[b]


@bare_kernel
def _exact_point(j: int, walks: Any, busy: Floats, asked: Floats) -> None:
    """Add to asked[n] the rates of demand point j (see `independent`)."""
    k, rate = walks.needed[j], walks.rate[j]
    none, one, two, three = rate, 0.0, 0.0, 0.0
    for place in range(walks.truck.shape[1]):
        goes_on = none + one + two + three
        if goes_on <= walks.stop * rate:
            break
        n = walks.truck[j, place]
        p = busy[n]
        asked[n] += goes_on
        if k == 4:
            three = three * p + two * (1.0 - p)
        if k >= 3:
            two = two * p + one * (1.0 - p)
        if k >= 2:
            one = one * p + none * (1.0 - p)
        none *= p


@bare_kernel
def request_rates(queues: Any, busy: Floats, room: Any, asked: Floats) -> None:
    """Set asked[n] to the rate at which each truck is asked."""
    walks = queues.walks
    asked[:] = 0.0
    for j in range(len(walks.needed)):
        if walks.rate[j] > 0.0:
            if queues.printed_rates:
                _printed_point(j, walks, busy, room.ratio, asked)
            else:
                _exact_point(j, walks, busy, asked)


@bare_kernel
def repeats(found: float, demand: float, queues: Any) -> bool:
    """Whether a rate has repeated itself."""
    return bool(abs(found - demand) <= TOLERANCE * found + queues.left_out)


@bare_kernel
def _search(idle: Ints, queues: Any, weight: float, demand: Floats, busy: Floats, room: Any) -> bool:
    """As `settle`, with steps of this weight."""
    mu, num_trucks = queues.returns_per_day, len(demand)
    for _ in range(PLAIN_STEPS):
        for n in range(num_trucks):
            busy[n] = busy_chance(demand[n] / mu, idle[n] > 0, queues)
        request_rates(queues, busy, room, room.asked)
        settled = True
        for n in range(num_trucks):
            settled = settled and repeats(room.asked[n], demand[n], queues)
        if settled:
            return True
        for n in range(num_trucks):
            demand[n] += weight * (room.asked[n] - demand[n])
    return False


@bare_kernel
def settle(idle: Ints, queues: Any, demand: Floats, busy: Floats, room: Any) -> bool:
    """Find the fixed point of a state by plain steps, then by halved ones; whether there is one.

    `idle` [N] says whether each truck is idle. The search starts from `demand` [N], and leaves the fixed point there
    and its chances in `busy` [N + outside], which must end with the zeros of the trucks from outside.
    """
    if _search(idle, queues, 1.0, demand, busy, room):
        return True
    for n in range(len(demand)):
        demand[n] = queues.first_demand[n]
    return _search(idle, queues, 0.5, demand, busy, room)
