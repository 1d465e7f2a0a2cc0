"""Kernels of the tree: what teams do that drive along a tree of roads (see `point_tree.py`).

Teams are rows of stations in rising order, -1 behind the last, a station once for each of its trucks. The depth of a
node is the number of links from it to the demand point; shared[i, e] is the depth at which the roads of i and e meet. A
team has a row at a depth if its arrivals at the node there are needed, before the links from there on:

    arrived[row, n-1, place] = P(at least n trucks of the team have passed the node by then).

Along links that all trucks meet together, that is convolved with the time there. Links that they meet apart are counted
before the junction, with what a truck meets alone. At a junction, where two parts of a
team meet that are independent until then, P(N_A + N_B >= n) is a sum of products.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]


class Road(NamedTuple):
    """The roads of all stations to one demand point."""

    first: Longs
    """[I + 1] where the links of each station begin, from the station on."""
    kind: Ints
    """[link] the kind of each."""
    together: NDArray[np.bool_]
    """[link] whether trucks that share it meet it together."""
    apart: NDArray[np.bool_]
    """[link] whether they meet it apart; both where it is split."""
    shared: Ints
    """[I, I] the links that two roads have in common; on the diagonal: all of one."""


class Meetings(NamedTuple):
    """Where the trucks of each team meet on a road."""

    junction: Ints
    """[T] the depth at which the last of them meet; -1 if all are of one station."""
    parts: Ints
    """[T, 2] the teams that meet there; -1 for none."""
    rows: Ints
    """[T, depth] the row of what is needed of a team at a depth; -1 for nothing."""
    num_rows: Longs
    """[1]"""


@njit(cache=True, nogil=True)
def num_links(road: Road, i: int) -> int:
    """The links of the road of a station."""
    return int(road.first[i + 1] - road.first[i])


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
def _part(team: Ints, first: bool, depth: int, shared: Ints, base: int, number_of_code: Longs) -> int:
    """The number of the team of the trucks that come to a junction with the first truck, or of the others."""
    code, lead = 0, team[0]
    for i in team:
        if i >= 0 and (i == lead or shared[i, lead] > depth) == first:
            code = code * base + i + 1
    return int(number_of_code[code])


@njit(cache=True, nogil=True)
def find_meetings(teams: Ints, sizes: Longs, most: int, shared: Ints, base: int, number_of_code: Longs) -> Meetings:
    """Where each team of at most `most` trucks meets, and the rows that are needed for it.

    Teams of one station have a row at the end of the road, and so have teams of fewer than `most`, because trucks from
    outside join them there.
    """
    num_teams, num = len(teams), np.zeros(1, np.int64)
    junction, parts = np.full(num_teams, -1, np.int32), np.full((num_teams, 2), -1, np.int32)
    rows = np.full((num_teams, shared.max() + 1), -1, np.int32)
    for t in range(1, num_teams):
        if sizes[t] > most:
            break
        junction[t] = _junction(teams[t], shared)
        if (junction[t] < 0 or sizes[t] < most) and rows[t, 0] < 0:
            rows[t, 0] = num[0]
            num[0] += 1
        if junction[t] >= 0:
            for side in range(2):
                part = _part(teams[t], side == 0, junction[t], shared, base, number_of_code)
                parts[t, side] = part
                if rows[part, junction[t]] < 0:
                    rows[part, junction[t]] = num[0]
                    num[0] += 1
    return Meetings(junction, parts, rows, num)


@njit(cache=True, nogil=True)
def multiply_kinds(kinds: Ints, of_kind: Complex, product: Complex) -> None:
    """Multiply `product` by the transforms of links of these kinds."""
    for kind in kinds:
        for f in range(len(product)):
            product[f] *= of_kind[kind, f]


@njit(cache=True, nogil=True)
def multiply_links(
    road: Road, i: int, low: int, high: int, wanted: NDArray[np.bool_], of_kind: Complex, product: Complex
) -> None:
    """Multiply `product` by the transforms of the links at the depths low+1..high of the road of a station.

    Only of those that are wanted [link].
    """
    for depth in range(low + 1, high + 1):
        link = road.first[i + 1] - depth
        if wanted[link]:
            multiply_kinds(road.kind[link : link + 1], of_kind, product)


@njit(cache=True, nogil=True)
def fill_shifts(times: Floats, step_on: Complex, roots: Complex, theta: float, found: Complex) -> None:
    """Fill found [time, frequency] with the transforms of fixed times, in steps, put on the four steps around them.

    By the weights of cubic interpolation. `step_on` is the transform of one step, roots [place] are e^(-2πi place / F),
    and masses are weighted with e^(-θ place / F).
    """
    for row in range(len(times)):
        low = np.floor(times[row])
        u = times[row] - low
        before, here = u * (1.0 - u) * (u - 2.0) / 6.0, (1.0 + u) * (1.0 - u) * (2.0 - u) / 2.0
        after, beyond = (1.0 + u) * u * (2.0 - u) / 2.0, (1.0 + u) * u * (u - 1.0) / 6.0
        weight = np.exp(-theta * low / len(roots))
        turn, place = int(low % len(roots)), 0
        for f in range(found.shape[1]):
            z = step_on[f]
            found[row, f] = weight * roots[place] * (before / z + here + z * (after + z * beyond))
            place += turn
            if place >= len(roots):
                place -= len(roots)


@njit(cache=True, nogil=True)
def products_before(road: Road, rows: Ints, start: Complex, alone: Complex, apart: Complex, products: Complex) -> None:
    """Fill products [row] with the transforms of what a truck meets by itself before others join it at a depth.

    Those with a row [station, depth] are wanted. That is `start` [station], the links before that depth, and the links
    from there on that are met apart.
    """
    work = np.empty_like(start[0])
    for i in range(len(rows)):
        last = num_links(road, i)
        for f in range(len(work)):
            work[f] = 1.0
        for depth in range(last + 1):
            if depth > 0:
                multiply_links(road, i, depth - 1, depth, road.apart, apart, work)
            if depth < rows.shape[1] and rows[i, depth] >= 0:
                for f in range(len(work)):
                    products[rows[i, depth], f] = work[f]
        for f in range(len(work)):
            work[f] = start[i, f]
        for depth in range(last, -1, -1):
            if depth < rows.shape[1] and rows[i, depth] >= 0:
                for f in range(len(work)):
                    products[rows[i, depth], f] *= work[f]
            if depth > 0:
                link = road.first[i + 1] - depth
                multiply_kinds(road.kind[link : link + 1], alone, work)


@njit(cache=True, nogil=True)
def products_behind(road: Road, of_kind: Complex, rows: Ints, products: Complex) -> int:
    """Fill rows [station, depth] and products [row] with the transforms of what is met together from each junction on.

    Returns the number of rows.
    """
    rows[:] = -1
    behind, num = np.empty(products.shape[1], np.complex128), 0
    for i in range(len(rows)):
        for e in range(len(rows)):
            rows[i, road.shared[i, e]] = -2  # wanted
        for f in range(len(behind)):
            behind[f] = 1.0
        for depth in range(min(num_links(road, i), rows.shape[1] - 1) + 1):
            if depth > 0:
                multiply_links(road, i, depth - 1, depth, road.together, of_kind, behind)
            if rows[i, depth] == -2:
                for other in range(i):
                    if road.shared[i, other] >= depth and rows[other, depth] >= 0:
                        rows[i, depth] = rows[other, depth]
                        break
            if rows[i, depth] == -2:
                rows[i, depth] = num
                for f in range(len(behind)):
                    products[num, f] = behind[f]
                num += 1
    return num


@njit(cache=True, nogil=True)
def sums_behind(road: Road, values: Floats) -> Floats:
    """[row, station, depth] the sums over the links from a depth on of values [row, link of the road]."""
    found = np.zeros((len(values), len(road.first) - 1, road.shared.max() + 1))
    for row in range(len(values)):
        for i in range(found.shape[1]):
            for depth in range(1, min(num_links(road, i) + 1, found.shape[2])):
                found[row, i, depth] = found[row, i, depth - 1] + values[row, road.first[i + 1] - depth]
    return found


@njit(cache=True, nogil=True)
def meet(first: Floats, second: Floats, found: Floats) -> None:
    """Set found[n-1] to P(N_A + N_B >= n) from P(N_A >= x) and P(N_B >= x), [x-1, place], at a junction.

    That is P(N_B >= n) + Σ_x P(N_A >= x) P(N_B = n - x).
    """
    num_first, num_second = len(first), len(second)
    for n in range(1, len(found) + 1):
        for k in range(found.shape[1]):
            found[n - 1, k] = second[n - 1, k] if n <= num_second else 0.0
        for x in range(max(1, n - num_second), min(n, num_first) + 1):
            for k in range(found.shape[1]):
                exactly = second[n - x - 1, k] if x < n else 1.0
                if n - x < num_second:
                    exactly -= second[n - x, k]
                found[n - 1, k] += first[x - 1, k] * exactly


@njit(cache=True, nogil=True)
def meet_parts(t: int, meetings: Meetings, sizes: Longs, arrived: Floats, found: Floats) -> None:
    """Set found to the arrivals of a team at its junction, from those of its two parts there."""
    depth, most = meetings.junction[t], arrived.shape[1]
    first, second = meetings.parts[t, 0], meetings.parts[t, 1]
    meet(
        arrived[meetings.rows[first, depth], : min(sizes[first], most)],
        arrived[meetings.rows[second, depth], : min(sizes[second], most)],
        found,
    )


@njit(cache=True, nogil=True)
def meet_all(teams: Longs, meetings: Meetings, sizes: Longs, arrived: Floats, found: Floats) -> None:
    """Set found[place] to the arrivals of each of these teams at its junction, if it has one."""
    for place in range(len(teams)):
        if meetings.junction[teams[place]] >= 0:
            meet_parts(teams[place], meetings, sizes, arrived, found[place])


@njit(cache=True, nogil=True)
def move_on(
    road: Road, lead: Ints, depths: Longs, start: Ints, of_kind: Complex, moved: Complex, places: Longs, found: Complex
) -> None:
    """Set found[row] to moved[places[row]], moved on from depth start[row] to depths[row] of the road of lead[row].

    Rows of a team that come one after another and lie further and further back have links in common.
    """
    links = np.empty(found.shape[2], np.complex128)
    for row in range(len(found) - 1, -1, -1):
        high = start[row]
        if row + 1 < len(found) and places[row + 1] == places[row]:
            high = depths[row + 1]
        else:
            links[:] = 1.0
        multiply_links(road, lead[row], depths[row], high, road.together, of_kind, links)
        for n in range(found.shape[1]):
            for f in range(len(links)):
                found[row, n, f] = moved[places[row], n, f] * links[f]


@njit(cache=True, nogil=True)
def several(own: Floats, num: int, found: Floats) -> None:
    """Set found[n-1] to the chance that at least n of `num` trucks have arrived, each with the chance own."""
    for n in range(1, len(found) + 1):
        for k in range(found.shape[1]):
            total, ways = 0.0, 1.0
            for x in range(num, n - 1, -1):  # C(num, x), from the largest x down
                total += ways * own[k] ** x * (1.0 - own[k]) ** (num - x)
                ways = ways * x / (num - x + 1)
            found[n - 1, k] = total


@njit(cache=True, nogil=True)
def arrived_by(
    teams: Ints, sizes: Longs, meetings: Meetings, arrived: Floats, behind_row: Ints, behind: Floats,
    needed: int, ends: Longs, pad: int, found: Floats,
) -> None:  # fmt: skip
    """Fill found[place, team, n-1] with the chance that at least n trucks of each team are there by ends[place].

    `behind` [row, place] are the masses of the time from a junction on, whose row is behind_row[station, depth]. Time 0
    is at the place `pad` of an array.
    """
    most = found.shape[2]
    met = np.empty((most, arrived.shape[2]))
    for t in range(1, len(teams)):
        if sizes[t] > needed:
            break
        functions = min(sizes[t], most)
        if meetings.junction[t] < 0:
            for place in range(len(ends)):
                for n in range(functions):
                    one = arrived[meetings.rows[t, 0], n]
                    found[place, t, n] = 0.5 * (one[ends[place]] + one[ends[place] - 1])
            continue
        meet_parts(t, meetings, sizes, arrived, met[:functions])
        masses = behind[behind_row[teams[t, 0], meetings.junction[t]]]
        for place in range(len(ends)):
            last = ends[place] + pad
            for n in range(functions):
                total = 0.5 * masses[last] * met[n, 0]
                for k in range(last):
                    total += 0.5 * masses[k] * (met[n, last - k] + met[n, last - k - 1])
                found[place, t, n] = total


@njit(cache=True, nogil=True)
def late_of_teams(sizes: Longs, needed: int, arrivals: int, found: Floats, outside: float, late: Floats) -> None:
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
def sums_of_teams(
    teams: Ints, sizes: Longs, meetings: Meetings, arrived: Floats, outside: Floats, low: int, high: int, before: int,
    needed: int, found: Floats,
) -> None:  # fmt: skip
    """Set found[team] to Σ P(no truck is there) over the places low..high-1, at the junction of the team, - before.

    With trucks from outside, whose chance of being there is outside[place], it is at the demand point. Single trucks
    and teams of one station without others are left alone.
    """
    for t in range(len(teams)):
        if sizes[t] > needed:
            break
        total, others = -float(before), needed - sizes[t]
        if others > 0:
            for k in range(low, high):
                own = 1.0 - arrived[meetings.rows[t, 0], 0, k] if sizes[t] > 0 else 1.0
                total += own * (1.0 - outside[k]) ** others
            found[t] = total
        elif meetings.junction[t] >= 0:
            depth = meetings.junction[t]
            first = arrived[meetings.rows[meetings.parts[t, 0], depth], 0]
            second = arrived[meetings.rows[meetings.parts[t, 1], depth], 0]
            for k in range(low, high):
                total += (1.0 - first[k]) * (1.0 - second[k])
            found[t] = total
