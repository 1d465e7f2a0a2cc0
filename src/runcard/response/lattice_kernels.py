"""Kernels of the lattice: transforms along routes, and two trucks of which one part is common.

The routes to one demand point form a tree, so that two of them share their last s links, and nothing else: with C the
common part and A1, A2 the others, all independent, the trucks arrive after C + A1 and C + A2, so that

    P(first > T) = P(C > T) + Σ_k P(C = kh) P(A1 > T-kh) P(A2 > T-kh).
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.response.route_kernels import Rows, list_links

NOTHING_OWN = 0.5 + 1e-6
"""The chance of more than 0, half of that of 0 counted in, of a part that is not there; rounding is below 1e-7."""

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]


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
def lay_out_rows(shared: Ints, own_row: Ints, common_row: Ints) -> tuple[int, int]:
    """Set own_row and common_row [station, s] to the rows of a route that shares s links, -1 if there is none.

    The last column is for the other truck of the same station. The row of the common part is the same for all stations
    behind it. Returns how many rows there are of each.
    """
    own_row[:] = -1
    common_row[:] = -1
    num_own, num_common, same = 0, 0, own_row.shape[1] - 1
    for i in range(len(shared)):
        for e in range(-1, len(shared)):
            s = 0 if e < 0 else shared[i, e]
            column = same if e == i else s
            if own_row[i, column] >= 0:
                continue
            own_row[i, column] = num_own
            num_own += 1
            if e != i:
                for other in range(i):
                    if shared[i, other] >= s and common_row[other, s] >= 0:
                        common_row[i, s] = common_row[other, s]
                        break
            if common_row[i, column] < 0:
                common_row[i, column] = num_common
                num_common += 1
    return num_own, num_common


@njit(cache=True, nogil=True)
def transform_routes(
    routes: Ints, num_links: Ints, shared: Ints, own_row: Ints, common_row: Ints, of_link: Complex, start: Complex,
    start_shared: bool, own: Complex, common: Complex,
) -> None:  # fmt: skip
    """Fill own and common [row, frequency] with the transforms of a route's own part and of its common part.

    `of_link` [link, frequency] are the transforms of the links, and `start` that of what comes before the first link,
    which trucks of one station may have in common.
    """
    same, num_frequencies = own_row.shape[1] - 1, own.shape[1]
    ahead, behind = np.empty(num_frequencies, np.complex128), np.empty(num_frequencies, np.complex128)
    for i in range(len(num_links)):
        ahead[:] = start
        for place in range(num_links[i] + 1):
            row = own_row[i, num_links[i] - place]
            if row >= 0:
                own[row] = ahead
            if place < num_links[i]:
                ahead *= of_link[routes[i, place]]
        behind[:] = 1.0
        for s in range(num_links[i] + 1):
            if s > 0:
                behind *= of_link[routes[i, num_links[i] - s]]
            if own_row[i, s] >= 0:
                common[common_row[i, s]] = behind
        together = start if start_shared else np.ones_like(start)
        apart = np.ones_like(start) if start_shared else start
        if shared[i, i] == 0:  # nothing is met together
            own[own_row[i, same]] = apart * behind
            common[common_row[i, same]] = together
        else:
            own[own_row[i, same]] = apart
            common[common_row[i, same]] = together * behind


@njit(cache=True, nogil=True)
def pair_late(common: Floats, first: Floats, second: Floats) -> float:
    """P(first > T), given the masses of C and the chances of more than kh of A1 and A2.

    Where neither has a part of its own, both arrive with C.
    """
    end = len(common) - 1
    late = 1.0
    for k in range(end + 1):
        late -= common[k]
    if max(first[0], second[0]) <= NOTHING_OWN:
        return float(late + 0.5 * common[end])
    for k in range(end + 1):
        late += common[k] * first[end - k] * second[end - k]
    return float(late)


@njit(cache=True, nogil=True)
def pair_mean(first: Floats, second: Floats, step: float) -> float:
    """The mean of the smaller of A1 and A2 up to the horizon: h Σ_k P(A1 > kh) P(A2 > kh)."""
    total = 0.0
    for k in range(len(first) - 1):
        total += first[k] * second[k]
    return step * total


@njit(cache=True, nogil=True)
def combine_late(shared: Ints, own_row: Ints, common_row: Ints, own: Floats, common: Floats, late: Floats) -> None:
    """Fill late [station, station] with P(first > T) of two trucks.

    `own` and `common` [row, step] are the chances of more than kh of own parts, half of the mass at kh counted in, and
    the masses of common ones.
    """
    same = own_row.shape[1] - 1
    for i in range(len(shared)):
        for e in range(i + 1):
            column = same if e == i else shared[i, e]
            found = pair_late(common[common_row[i, column]], own[own_row[i, column]], own[own_row[e, column]])
            late[i, e] = late[e, i] = found


@njit(cache=True, nogil=True)
def combine_means(shared: Ints, own_row: Ints, common_minutes: Floats, step: float, own: Floats, mean: Floats) -> None:
    """Fill mean [station, station] with the mean minutes until the first of two trucks.

    `common_minutes` are those of what they have in common, `own` the chances of more than kh of own parts.
    """
    same = own_row.shape[1] - 1
    for i in range(len(shared)):
        for e in range(i + 1):
            column = same if e == i else shared[i, e]
            found = common_minutes[i, e] + pair_mean(own[own_row[i, column]], own[own_row[e, column]], step)
            mean[i, e] = mean[e, i] = found
