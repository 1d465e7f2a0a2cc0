"""Teams: the sets of trucks that can be sent to one incident, and every way to look one up.

A team is a multiset of stations, each at most as often as it has trucks. As a row of counts it is the paper's action a:
a_i trucks of station i. `Teams` lists all teams of up to k trucks, by size and then by station,

    {}, {0}, {1}, ..., {0, 0}, {0, 1}, ...,

and a team's place in that list is its number. Two arrays find it:

**Codes.** The stations of a team, in any order, as digits i + 1 in base I + 1, are a code of it; `number_of_code[code]`
is its number. A digit 0 stands for no truck. A kernel builds a code as it picks trucks.

**Masks.** Station i owns min(C_i, k) bits. In the mask of a team the lowest a_i of them are set, in the mask of a state
the lowest min(f_i, k). A team is idle in a state if it has no bit that the state lacks: one bit operation. Departments
with more than 64 such bits have no masks; they have at least 2^37 states.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.errors import InputError

MASK_BITS = 64


@dataclass(frozen=True)
class Teams:
    """Every team of at most `max_size` trucks of stations with `trucks` trucks; T teams of I stations."""

    trucks: tuple[int, ...]
    max_size: int

    @staticmethod
    def of(trucks: Iterable[int], max_size: int) -> "Teams":
        """The teams of at most `max_size` of these trucks by station; a few catalogues are remembered."""
        return _catalogue(tuple(int(number) for number in trucks), int(max_size))

    def __len__(self) -> int:
        return len(self.stations)

    @cached_property
    def stations(self) -> NDArray[np.int32]:
        """[T, max_size] the station of each truck of each team, in rising order; -1 where a team has fewer trucks."""
        return _frozen(_list_stations(self.trucks, self.max_size))

    @cached_property
    def counts(self) -> NDArray[np.int8]:
        """[T, I] the trucks that each team takes from each station."""
        counts = np.zeros((len(self), len(self.trucks)), dtype=np.int8)
        for place in self.stations.T:
            (rows,) = np.nonzero(place >= 0)
            counts[rows, place[rows]] += 1
        return _frozen(counts)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """[T] the trucks of each team."""
        return _frozen((self.stations >= 0).sum(axis=1, dtype=np.int64))

    @cached_property
    def first_of_size(self) -> NDArray[np.int64]:
        """[max_size + 2] the teams of size n are first_of_size[n] to first_of_size[n + 1] - 1."""
        return _frozen(np.searchsorted(self.sizes, np.arange(self.max_size + 2)).astype(np.int64))

    def of_size(self, size: int) -> slice:
        """Where the teams of a size are listed."""
        return slice(int(self.first_of_size[size]), int(self.first_of_size[size + 1]))

    @property
    def base(self) -> int:
        """The base of codes: I + 1."""
        return len(self.trucks) + 1

    @cached_property
    def number_of_code(self) -> NDArray[np.int64]:
        """[base^max_size] the number of the team of each code; -1 where there is none."""
        numbers = np.full(self.base**self.max_size, -1, np.int64)
        for places in permutations(range(self.max_size)):
            numbers[self._codes(self.stations[:, places])] = np.arange(len(self))
        return _frozen(numbers)

    def _codes(self, stations: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        codes = np.zeros(len(stations), np.int64)
        for place in stations.T:
            codes = codes * self.base + place + 1
        return codes

    def numbers(self, stations: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """The numbers of many teams, given by their stations [teams, places] in any order, -1 for no truck."""
        return np.asarray(self.number_of_code[self._codes(stations)])

    def find(self, stations: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """The same numbers by search, for teams that are there: large departments would need a large table of codes."""
        ordered = np.sort(stations, axis=1)  # -1 comes first, as a leading digit 0 does
        codes, sizes = self._codes(ordered), (ordered >= 0).sum(axis=1)
        found = np.empty(len(codes), np.int64)
        for size in np.unique(sizes).tolist():
            part, wanted = self.of_size(size), sizes == size
            found[wanted] = part.start + np.searchsorted(self._codes(self.stations[part, :size]), codes[wanted])
        return found

    def number(self, stations: Sequence[int]) -> int:
        """The number of the team with one truck of each of these stations, named once for each truck, in any order.

        A search, because one look-up is not worth the table of all codes; what was found is kept, since a department
        sends the same teams again and again.
        """
        key = tuple(sorted(map(int, stations)))
        if key not in self._found:
            self._found[key] = self._search(list(key))
        return self._found[key]

    @cached_property
    def _found(self) -> dict[tuple[int, ...], int]:
        return {}

    def _search(self, wanted: list[int]) -> int:
        part = self.of_size(len(wanted)) if len(wanted) <= self.max_size else slice(0, 0)
        first, last = part.start, part.stop
        while first < last:  # the teams of a size are listed in the order of their stations
            middle = (first + last) // 2
            listed = self.stations[middle, : len(wanted)].tolist()
            if listed == wanted:
                return int(middle)
            first, last = (middle + 1, last) if listed < wanted else (first, middle)
        raise InputError(f"expected a team of at most {self.max_size} trucks that the stations have, got {wanted}")

    def idle(self, idle: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """The numbers of the teams of `size` trucks that can go when `idle` [I] trucks of each station are idle."""
        first, stations, nth = self._by_size[size]
        enough = np.asarray((idle.take(stations) >= nth).all(axis=0))
        return np.asarray(first + enough.nonzero()[0])

    @cached_property
    def _by_size(self) -> list[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """By size: the first team, and [truck, team] the station of each truck, and which one of that station it is.

        The n-th truck that a team takes from a station needs n idle ones there; stations stand in rising order.
        """
        found = []
        for size in range(self.max_size + 1):
            part = self.of_size(size)
            stations = np.ascontiguousarray(self.stations[part, :size].T, np.int64)
            nth = np.ones_like(stations)
            for place in range(1, size):
                nth[place] = np.where(stations[place] == stations[place - 1], nth[place - 1] + 1, 1)
            found.append((int(part.start), stations, nth))
        return found

    @cached_property
    def bits(self) -> NDArray[np.int64]:
        """[I] the bits that each station owns in a mask."""
        return _frozen(np.minimum(np.array(self.trucks, np.int64), self.max_size))

    @cached_property
    def first_bit(self) -> NDArray[np.int64]:
        """[I] the lowest bit of each station."""
        return _frozen(np.cumsum(self.bits) - self.bits)

    @cached_property
    def masks(self) -> NDArray[np.uint64]:
        """[T] the mask of each team."""
        if self.bits.sum() > MASK_BITS:
            raise InputError(f"teams with {self.bits.sum()} trucks to tell apart have no masks: expected {MASK_BITS}")
        set_bits = ((1 << self.counts.astype(np.int64)) - 1) << self.first_bit
        return _frozen(set_bits.sum(axis=1).astype(np.uint64))


_catalogue = lru_cache(maxsize=8)(Teams)


def _list_stations(trucks: Sequence[int], max_size: int) -> NDArray[np.int32]:
    """[T, max_size] the stations of every team in rising order, -1 behind the last."""
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


def _successors(last: NDArray[np.int32], num_stations: int) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Return (team, station) for every station that may follow each team's last one: itself and those after it."""
    repeats = num_stations - last
    parent = np.repeat(np.arange(len(last)), repeats)
    first = np.cumsum(repeats) - repeats
    return parent, (np.arange(len(parent)) - first[parent] + last[parent]).astype(np.int32)


def _frozen(array: NDArray) -> NDArray:  # type: ignore[type-arg]
    """The same array, which nobody can write to any more: a catalogue is shared."""
    array.flags.writeable = False
    return array
