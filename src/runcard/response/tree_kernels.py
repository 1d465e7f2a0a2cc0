"""Kernels of the lattice: what teams do that drive along a tree of routes (see `lattice_table.py`).

Teams are rows of stations in rising order, -1 behind the last, a station once for each of its trucks. The depth of a
node is the number of links from it to the demand point; shared[i, e] is the depth at which the routes of i and e meet,
so that they share their last shared[i, e] links. A team has a row at a depth if its arrivals at the node there are
needed, before the links from there on:

    arrived[row, n-1, k] = P(at least n trucks of the team have passed the node by kh),

half of the mass at kh counted in. Along links that all trucks meet together, that is convolved with the time there. At
a junction, where two parts of a team meet that are independent until then, P(N_A + N_B >= n) is a sum of products.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.response.route_kernels import Rows, list_links

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

AT_ONCE = 0.5 - 1e-6
"""Half of a mass of 1 at 0, less rounding: trucks that are at a node from the start."""


@njit(cache=True, nogil=True)
def list_routes(
    leaving: Rows, minutes: Floats, distance: Floats, stations: Ints, destination: int, seed: np.uint64, routes: Ints
) -> None:
    """Fill routes [station, place] with the links to a destination, from the station on; -1 behind the last."""
    routes[:] = -1
    for i in range(len(stations)):
        links = list_links(leaving, minutes, distance, stations[i], destination, seed)
        for place in range(len(links)):
            routes[i, place] = links[place]


@njit(cache=True, nogil=True)
def number_teams(teams: Ints, sizes: Ints, most: int, base: int) -> Ints:
    """The number of each team of at most `most` trucks, by its stations as digits i + 1 in this base."""
    numbers = np.full(base**most, -1, np.int32)
    for t in range(len(teams)):
        code = 0
        for i in teams[t]:
            if i >= 0:
                code = code * base + i + 1
        if sizes[t] <= most:
            numbers[code] = t
    return numbers


@njit(cache=True, nogil=True)
def _junction(team: Ints, shared: Ints) -> int:
    """The depth at which the last trucks of a team meet; -1 if all are of one station."""
    depth = -1
    for a in team:
        for b in team:
            if a >= 0 and b >= 0 and a != b and (depth < 0 or shared[a, b] < depth):
                depth = shared[a, b]
    return depth


@njit(cache=True, nogil=True)
def _part(team: Ints, first: bool, depth: int, shared: Ints, base: int, numbers: Ints) -> int:
    """The number of the team of the trucks that come to a junction with the first truck, or of the others."""
    code, lead = 0, team[0]
    for i in team:
        if i >= 0 and (i == lead or shared[i, lead] > depth) == first:
            code = code * base + i + 1
    return int(numbers[code])


@njit(cache=True, nogil=True)
def lay_out_teams(
    teams: Ints, sizes: Ints, trucks_at_most: int, shared: Ints, base: int, numbers: Ints, at_the_end: bool,
    junction: Ints, parts: Ints, rows: Ints,
) -> int:  # fmt: skip
    """Fill in where each team meets, its two parts there, and rows [team, depth] for what is needed; -1 elsewhere.

    All teams of up to `trucks_at_most` trucks count; those of fewer also have a row at depth 0 if `at_the_end`. Teams
    of one station always have. Returns the number of rows.
    """
    rows[:] = -1
    num = 0
    for t in range(1, len(teams)):
        size = sizes[t]
        junction[t] = _junction(teams[t], shared)
        if size > trucks_at_most:
            continue
        if (junction[t] < 0 or (at_the_end and size < trucks_at_most)) and rows[t, 0] < 0:
            rows[t, 0] = num
            num += 1
        if junction[t] >= 0:
            for side in range(2):
                part = _part(teams[t], side == 0, junction[t], shared, base, numbers)
                parts[t, side] = part
                if rows[part, junction[t]] < 0:
                    rows[part, junction[t]] = num
                    num += 1
    return num


@njit(cache=True, nogil=True)
def multiply_links(route: Ints, num_links: int, low: int, high: int, of_link: Complex, product: Complex) -> None:
    """Multiply `product` by the transforms of the links at the depths low+1..high of a route."""
    for depth in range(low + 1, high + 1):
        of = of_link[route[num_links - depth]]
        for f in range(len(product)):
            product[f] *= of[f]


@njit(cache=True, nogil=True)
def own_products(
    routes: Ints, num_links: Ints, rows: Ints, start: Complex, of_link: Complex, places: Ints, products: Complex
) -> None:
    """Fill products [place] with the transforms of the parts of routes before a depth, and places with their rows.

    Those with a row [station, depth] are wanted; `start` is what comes before the first link.
    """
    ahead, place = np.empty_like(start), 0
    for i in range(len(rows)):
        for f in range(len(start)):
            ahead[f] = start[f]
        for depth in range(num_links[i], -1, -1):
            if depth < rows.shape[1] and rows[i, depth] >= 0:
                places[place] = rows[i, depth]
                for f in range(len(start)):
                    products[place, f] = ahead[f]
                place += 1
            if depth > 0:
                of = of_link[routes[i, num_links[i] - depth]]
                for f in range(len(start)):
                    ahead[f] *= of[f]


@njit(cache=True, nogil=True)
def common_products(
    routes: Ints, num_links: Ints, shared: Ints, of_link: Complex, rows: Ints, products: Complex
) -> int:
    """Fill rows [station, depth] and products [row] with the transforms from each junction on; returns how many."""
    rows[:] = -1
    behind, num = np.empty(products.shape[1], np.complex128), 0
    for i in range(len(shared)):
        for e in range(len(shared)):
            if rows[i, shared[i, e]] < 0:
                rows[i, shared[i, e]] = -2  # wanted
        for f in range(len(behind)):
            behind[f] = 1.0
        for depth in range(min(num_links[i], rows.shape[1] - 1) + 1):
            if depth > 0:
                of = of_link[routes[i, num_links[i] - depth]]
                for f in range(len(behind)):
                    behind[f] *= of[f]
            if rows[i, depth] == -2:
                for other in range(i):
                    if shared[i, other] >= depth and rows[other, depth] >= 0:
                        rows[i, depth] = rows[other, depth]
                        break
            if rows[i, depth] == -2:
                rows[i, depth] = num
                for f in range(len(behind)):
                    products[num, f] = behind[f]
                num += 1
    return num


@njit(cache=True, nogil=True)
def meet(first: Floats, second: Floats, found: Floats) -> None:
    """Set found[n-1, k] to P(N_A + N_B >= n) from P(N_A >= x) and P(N_B >= x), [x-1, k], at a junction.

    That is P(N_B >= n) + Σ_x P(N_A >= x) P(N_B = n - x). Trucks that are there from the start are all there at once.
    """
    num_first, num_second, present = len(first), len(second), 0
    for x in range(num_first):
        present += first[x, 0] >= AT_ONCE
    for x in range(num_second):
        present += second[x, 0] >= AT_ONCE
    for n in range(1, len(found) + 1):
        for k in range(found.shape[1]):
            found[n - 1, k] = second[n - 1, k] if n <= num_second else 0.0
        for x in range(max(1, n - num_second), min(n, num_first) + 1):
            for k in range(found.shape[1]):
                exactly = second[n - x - 1, k] if x < n else 1.0
                if n - x < num_second:
                    exactly -= second[n - x, k]
                found[n - 1, k] += first[x - 1, k] * exactly
        if present >= n:
            found[n - 1, 0] = 0.5


@njit(cache=True, nogil=True)
def meet_all(teams: Ints, sizes: Ints, junction: Ints, parts: Ints, rows: Ints, arrived: Floats, found: Floats) -> None:
    """Set found[place] to the arrivals of each of these teams where its two parts meet, if it has two."""
    for place in range(len(teams)):
        t = teams[place]
        if junction[t] >= 0:
            first, second = parts[t, 0], parts[t, 1]
            meet(
                arrived[rows[first, junction[t]], : min(sizes[first], arrived.shape[1])],
                arrived[rows[second, junction[t]], : min(sizes[second], arrived.shape[1])],
                found[place],
            )


@njit(cache=True, nogil=True)
def several(own: Floats, num: int, found: Floats) -> None:
    """Set found[n-1, k] to the chance that at least n of `num` trucks have arrived, each with own[k]."""
    together = own[0] >= AT_ONCE
    for n in range(1, len(found) + 1):
        for k in range(found.shape[1]):
            total = 0.0
            ways = 1.0
            for x in range(num, n - 1, -1):  # C(num, x), from the largest x down
                total += ways * own[k] ** x * (1.0 - own[k]) ** (num - x)
                ways = ways * x / (num - x + 1)
            found[n - 1, k] = total
        if together:
            found[n - 1, 0] = 0.5


@njit(cache=True, nogil=True)
def arrived_by_target(
    teams: Ints, sizes: Ints, junction: Ints, parts: Ints, rows: Ints, arrived: Floats, common_row: Ints,
    common: Floats, trucks_at_most: int, most: int, found: Floats,
) -> None:  # fmt: skip
    """Fill found[team, n-1] with the chance that at least n <= `most` trucks of each team are there by T.

    `common` [row, k] are the masses of the time from a junction on, whose row is common_row[station, depth].
    """
    end = arrived.shape[2] - 1
    together = np.empty((most, end + 1))
    for t in range(1, len(teams)):
        size = sizes[t]
        if size > trucks_at_most:
            continue
        functions = min(size, most)
        if junction[t] < 0:
            for n in range(functions):
                found[t, n] = arrived[rows[t, 0], n, end]
            continue
        first, second = parts[t, 0], parts[t, 1]
        meet(
            arrived[rows[first, junction[t]], : min(sizes[first], most)],
            arrived[rows[second, junction[t]], : min(sizes[second], most)],
            together[:functions],
        )
        masses = common[common_row[teams[t, 0], junction[t]]]
        for n in range(functions):
            total = 0.0
            for k in range(end + 1):
                total += masses[k] * together[n, end - k]
            found[t, n] = total


@njit(cache=True, nogil=True)
def late_of_teams(sizes: Ints, needed: int, arrivals: int, found: Floats, outside: float, late: Floats) -> None:
    """Set late[team] to the chance that fewer than `arrivals` of `needed` trucks are there; 0 for larger teams.

    found[team, n-1] is that at least n own ones are; `outside` that a truck from outside is, which fill up the team.
    """
    for t in range(len(sizes)):
        size = sizes[t]
        if size > needed:
            late[t] = 0.0
            continue
        others, total = needed - size, 0.0
        for own in range(min(size, arrivals - 1) + 1):
            exactly = (1.0 if own == 0 else found[t, own - 1]) - (found[t, own] if own < size else 0.0)
            fewer, ways = 0.0, 1.0
            for x in range(min(others, arrivals - own - 1) + 1):
                fewer += ways * outside**x * (1.0 - outside) ** (others - x)
                ways = ways * (others - x) / (x + 1)
            total += exactly * fewer
        late[t] = total


@njit(cache=True, nogil=True)
def means_of_teams(
    teams: Ints, sizes: Ints, needed: int, junction: Ints, parts: Ints, rows: Ints, arrived: Floats, outside: Floats,
    step: float, common_minutes: Floats, minutes: Floats,
) -> None:  # fmt: skip
    """Set minutes[team] to the mean time until the first truck of a team of `needed`; 0 for larger teams.

    arrived[row, 0] is the chance that the first has passed; outside[k] that a truck from outside has; common_minutes
    [station, depth] the mean time from a junction on, as far as it is met together.
    """
    num = arrived.shape[2]
    for t in range(len(teams)):
        size = sizes[t]
        if size > needed:
            minutes[t] = 0.0
            continue
        total, start, others = -0.5, 0.0, needed - size
        if others == 0 and junction[t] >= 0:
            start = common_minutes[teams[t, 0], junction[t]]
            first, second = arrived[rows[parts[t, 0], junction[t]], 0], arrived[rows[parts[t, 1], junction[t]], 0]
            if max(first[0], second[0]) >= AT_ONCE:
                minutes[t] = start
                continue
            for k in range(num):
                total += (1.0 - first[k]) * (1.0 - second[k])
        else:
            if size > 0 and arrived[rows[t, 0], 0, 0] >= AT_ONCE:
                minutes[t] = 0.0
                continue
            for k in range(num):
                own = 1.0 - arrived[rows[t, 0], 0, k] if size > 0 else 1.0
                total += own * (1.0 - outside[k]) ** others
        minutes[t] = start + step * total
