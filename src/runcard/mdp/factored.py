"""Values of a department as a sum of small tables: h(f) = Σ_G H_G(f at the stations of G).

A table is by the number of idle trucks at each of its stations, one mixed-radix number whose last station counts ones.
The price h(f-a) - h(f) of a team is a sum over the tables that have a station of the team.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from runcard.errors import InputError
from runcard.mdp.arrays import Floats, Ints, frozen
from runcard.mdp.layout import starts, strides
from runcard.mdp.problem import DispatchProblem, fields_of
from runcard.response.teams import Teams


class Tables(NamedTuple):
    """The tables one after another, as the kernels see them."""

    value: Floats
    first_value: Ints
    """[G + 1] where each table begins in `value`."""
    stride: Ints
    """[G, I] what a truck of each station adds to the state of a table; 0 if the table does not have the station."""
    first_group: Ints
    """[I + 1] where the tables of each station begin in `group`."""
    group: Ints
    first_local: Ints
    """[G + 1] where the teams of each table begin in `local_team`."""
    local_team: Ints
    """The number of each team of a table, smaller teams first."""
    local_offset: Ints
    """What the team takes from the state of the table."""
    local_parts: Ints
    """[, 2^k - 2] which teams of the table are part of the team (see `team_parts`), -1 where there are fewer."""


@dataclass(frozen=True, eq=False)
class FactoredValues:
    """The values h(f) = Σ_G H_G(f) of a problem."""

    problem: DispatchProblem
    stations: tuple[Ints, ...]
    """The stations of each table, in rising order."""
    points: tuple[Ints, ...]
    """The demand points whose late incidents each table counts."""
    value: Floats
    """The tables one after another."""
    busy: Floats
    """[I] the chance that a truck of each station is busy, in the steady state that the values belong to."""
    by_state: ClassVar[None] = None
    """There is no value of every state."""

    def __getstate__(self) -> dict[str, Any]:
        """Its fields, for pickle and copy."""
        return fields_of(self)

    @cached_property
    def tables(self) -> Tables:
        """The tables laid out for the kernels."""
        trucks, num_stations = self.problem.trucks, self.problem.num_stations
        stride = np.zeros((len(self.stations), num_stations), np.int64)
        for g, stations in enumerate(self.stations):
            stride[g, stations] = strides(trucks[stations])
        sizes = [int(np.prod(trucks[stations] + 1)) for stations in self.stations]
        station, group = np.nonzero(stride.T)
        return Tables(
            value=frozen(self.value.view()),  # as those of a file are: kernels are compiled once, not twice
            first_value=starts(sizes),
            stride=stride,
            first_group=np.searchsorted(station, np.arange(num_stations + 1)).astype(np.int64),
            group=group.astype(np.int64),
            **self._local_teams(stride),
        )

    def _local_teams(self, stride: Ints) -> dict[str, Ints]:
        """The teams of each table, for `Tables`."""
        problem = self.problem
        lengths, teams, offsets, parts = [], [], [], []
        for g, stations in enumerate(self.stations):
            local = Teams.of(problem.trucks[stations], problem.teams.max_size)
            members = np.where(local.stations >= 0, stations[local.stations], -1)[1:]
            lengths.append(len(members))
            teams.append(problem.teams.numbers(members))
            offsets.append(local.counts[1:] @ stride[g, stations])
            parts.append(np.maximum(team_parts(local)[1:] - 1, -1))  # the empty team is not listed: they count from 0
        return {
            "first_local": starts(lengths),
            "local_team": np.concatenate(teams),
            "local_offset": np.concatenate(offsets),
            "local_parts": np.concatenate(parts),
        }

    def places(self, idle: Ints) -> Ints:
        """[G] where the state `idle` [I] stands in each table."""
        return np.asarray(self.tables.first_value[:-1] + self.tables.stride @ idle)

    def prices(self, idle: Ints, teams: Ints) -> Floats:
        """The prices h(f-a) - h(f) of teams, by number, when `idle` [I] trucks are idle."""
        places = self.places(idle)
        taken = self.tables.stride @ self.problem.teams.counts[teams].T.astype(np.int64)
        return np.asarray((self.value[places[:, None] - taken] - self.value[places][:, None]).sum(axis=0))

    def local_prices(self, stations: Ints, teams: Ints) -> Floats:
        """[states, teams] the price of each team in each state of some stations, on the mean over all other trucks.

        `teams` [teams, stations] are trucks of those stations; where a team is not idle the price means nothing.
        """
        trucks = self.problem.trucks
        idle = local_idle(trucks[stations])
        total = np.zeros(len(idle))
        prices = np.zeros((len(idle), len(teams)))
        for g, own in enumerate(self.stations):
            shared = [i for i in own.tolist() if i in stations]
            if not shared:
                continue
            mean = self._table(g)
            # From the last station back, so that the axes in front keep their numbers.
            for axis in range(len(own) - 1, -1, -1):
                if own[axis] not in shared:
                    number, busy = trucks[own[axis]], self.busy[own[axis]]
                    count = np.arange(number + 1)
                    chances = comb(number, count) * (1.0 - busy) ** count * busy ** (number - count)
                    mean = np.tensordot(mean, chances, axes=(axis, 0))
            columns = [int(np.flatnonzero(stations == i)[0]) for i in shared]
            total += mean[tuple(idle[:, columns].T)]
            for n, team in enumerate(teams):
                left = np.maximum(idle[:, columns] - team[columns], 0)
                prices[:, n] += mean[tuple(left.T)]
        return prices - total[:, None]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The tables as named arrays, for a file."""
        return {
            "table_value": self.value,
            "table_busy": self.busy,
            "table_stations": np.concatenate(self.stations),
            "table_num_stations": np.array([len(stations) for stations in self.stations], np.int64),
            "table_points": np.concatenate(self.points),
            "table_num_points": np.array([len(points) for points in self.points], np.int64),
        }

    @classmethod
    def from_arrays(cls, problem: DispatchProblem, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The tables of the arrays of a file; checked, because kernels read them without looking."""
        stations = _split(arrays["table_stations"], arrays["table_num_stations"], problem.num_stations, least=1)
        points = _split(arrays["table_points"], arrays["table_num_points"], problem.num_points, least=0)
        num_values = sum(int(np.prod(problem.trucks[own].astype(object) + 1)) for own in stations)
        value, busy = arrays["table_value"], arrays["table_busy"]
        if len(points) != len(stations) or any((np.diff(own) <= 0).any() for own in stations):
            raise InputError("expected demand points, and stations in rising order, for each table of values")
        for name, array, length in (("values", value, num_values), ("busy chances", busy, problem.num_stations)):
            if array.shape != (length,) or array.dtype != np.float64 or not np.isfinite(array).all():
                raise InputError(f"expected {length} finite {name} for its tables, found {array.size}")
        return cls(problem, stations, points, value, busy)

    def _table(self, g: int) -> Floats:
        """One table, with an axis for each of its stations."""
        first, last = self.tables.first_value[g : g + 2]
        return np.asarray(self.value[first:last].reshape(self.problem.trucks[self.stations[g]] + 1))


def _split(numbers: NDArray[Any], lengths: NDArray[Any], limit: int, *, least: int) -> tuple[Ints, ...]:
    """The numbers of each table, at least so many and all of them from 0 to limit - 1."""
    whole = numbers.dtype == lengths.dtype == np.int64 and numbers.ndim == lengths.ndim == 1
    if not whole or len(lengths) == 0 or lengths.min() < least or lengths.sum() != len(numbers):
        raise InputError("expected whole numbers of stations and demand points for each table of values")
    if numbers.size and (numbers.min() < 0 or numbers.max() >= limit):
        raise InputError("expected stations and demand points of the city in each table of values")
    return tuple(np.split(numbers, np.cumsum(lengths)[:-1]))


def team_parts(teams: Teams) -> Ints:
    """[T, 2^k - 2] the numbers of the parts of each team, -1 where there are fewer.

    A part is neither empty nor the whole team; smaller parts come first. Trucks of one station count apart: two of them
    have the part of one truck twice.
    """
    found = np.full((len(teams), 2**teams.max_size - 2), -1, np.int64)
    for size in range(2, teams.max_size + 1):
        stations = teams.stations[teams.of_size(size)]
        parts = [part for part_size in range(1, size) for part in combinations(range(size), part_size)]
        for column, part in enumerate(parts):
            found[teams.of_size(size), column] = teams.numbers(stations[:, part])
    return found


def local_idle(trucks: Ints) -> Ints:
    """[states, stations] the idle trucks of every state of stations with `trucks` trucks."""
    return np.ascontiguousarray(np.indices(tuple(trucks + 1)).reshape(len(trucks), -1).T)
