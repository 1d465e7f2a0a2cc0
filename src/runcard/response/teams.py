"""Teams: the sets of trucks that can be sent to one incident.

A team is a multiset of stations, at most as often as the station has trucks. As a row of counts it is the paper's
action a: a_i trucks of station i.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def enumerate_teams(trucks: Sequence[int], max_size: int) -> NDArray[np.int8]:
    """Every team of at most `max_size` trucks, as counts per station [team, station].

    Sorted by size, then by the list of stations: {}, {0}, {1}, ..., {0, 0}, {0, 1}, ...
    """
    return count_stations(list_stations(trucks, max_size), len(trucks))


def list_stations(trucks: Sequence[int], max_size: int) -> NDArray[np.int32]:
    """The stations of every team, ascending [team, place], in the order of `enumerate_teams`; -1 fills up."""
    available = np.asarray(trucks, dtype=np.int32)
    teams = np.empty((1, 0), dtype=np.int32)
    last, run = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)  # the last station, and how often it is there
    lists = [teams]
    for _ in range(max_size):
        parent, added = _successors(last, len(available))
        run = np.where(added == last[parent], run[parent], 0) + 1
        allowed = run <= available[added]
        parent, last, run = parent[allowed], added[allowed], run[allowed]
        teams = np.column_stack([teams[parent], last])
        lists.append(teams)
    padded = np.full((sum(map(len, lists)), max_size), -1, dtype=np.int32)
    row = 0
    for size, teams in enumerate(lists):
        padded[row : row + len(teams), :size] = teams
        row += len(teams)
    return padded


def count_stations(stations: NDArray[np.int32], num_stations: int) -> NDArray[np.int8]:
    """The teams of `list_stations` as counts per station [team, station]."""
    counts = np.zeros((len(stations), num_stations), dtype=np.int8)
    for place in stations.T:
        (rows,) = np.nonzero(place >= 0)
        counts[rows, place[rows]] += 1
    return counts


def _successors(last: NDArray[np.int32], num_stations: int) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Return (team, station) for every station that may follow each team's last one: itself and those after it."""
    repeats = num_stations - last
    parent = np.repeat(np.arange(len(last)), repeats)
    first = np.cumsum(repeats) - repeats
    return parent, (np.arange(len(parent)) - first[parent] + last[parent]).astype(np.int32)
