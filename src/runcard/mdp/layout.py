"""A problem laid out for the kernels: mixed-radix states, teams as bit masks, demand points in tiles.

A state is one number, f = Σ f_i stride_i, so that f - a and f + e_i are subtractions and additions, smaller and larger
numbers in turn. Whether a team is idle in a state is one bit operation on their masks (see `response.teams`).

A chunk is a range of states with the same high digits; chunks whose high digits have the same sum (a wave) do not reach
each other, neither by returns nor by dispatches.

Demand points that need the same number of trucks form a class; a class is padded with points of rate zero to whole
tiles. Costs become keys (see `packed_minimum`): with `shift` bits for the number of a team within its class,

    key(c) = floor((c - lowest) scale) 2^shift  <  2^(bits-2),

and prices are cut off at the range of the costs, where they cannot win, so that a sum of the two stays below
2^(bits-1), which marks a team that is not idle.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.arrays import Floats, Ints, frozen
from runcard.mdp.kernels.groups import GROUPS
from runcard.mdp.levels import Levels
from runcard.response.teams import Teams

VALUE_PADDING = 8
"""Entries after the last state of a value array, so that a block of states may read past the end."""


CHUNK_STATES = 2048

LEAST_RANGE = 1e-200
"""The costs of a class that differ by less than this count as alike."""


class Chunk(NamedTuple):
    """The states start..stop-1, and the sum of their high digits."""

    start: int
    stop: int
    wave: int


class StateLayout(NamedTuple):
    """The states: C_i, stride_i, the bits of each station in a mask and the first of them, μ."""

    trucks: Ints
    stride: Ints
    bits: Ints
    first_bit: Ints
    returns_per_day: float


class TeamLayout(NamedTuple):
    """The teams: masks, the distance between f and f - a, and numbers by code."""

    mask: NDArray[np.uint64]
    offset: Ints
    number_of_code: Ints
    by_group: Ints
    """[T] the teams of each size, group by group (see `packed_minimum`)."""


class KeyedCosts(NamedTuple):
    """The demand points by class, padded to tiles, and their costs as keys of one width.

    At the padding `rate` is 0 and `source` is -1.
    """

    needed: Ints
    """[classes] trucks that the class needs."""
    first_team: Ints
    last_team: Ints
    """[classes] the teams of exactly that size are first_team..last_team-1."""
    group_start: Ints
    """[classes, groups + 1] where each group of the class begins among `TeamLayout.by_group`."""
    first_point: Ints
    """[classes + 1] where each class begins among the padded points."""
    rate: Floats
    """[padded points] incidents per day."""
    source: Ints
    """[padded points] the demand point of the problem."""
    total_rate: Floats
    """[classes] incidents per day."""
    key: NDArray[np.uint32] | NDArray[np.uint64]
    """[rows, tile] for each class, for each tile of its points, a row for each team of the class."""
    first_row: Ints
    """[classes + 1] the first row of each class."""
    lowest: Floats
    scale: Floats
    """[classes] units per unit of cost."""
    shift: int

    @property
    def unit(self) -> float:
        """How far a residual may be off because keys are whole numbers: one unit of each class, at its rate."""
        return float((self.total_rate / self.scale).sum())


def strides(trucks: Ints) -> Ints:
    """What an idle truck of each station adds to the number of a state; the last station counts ones."""
    return np.concatenate([np.cumprod((trucks + 1)[:0:-1])[::-1], [1]]).astype(np.int64)


def starts(sizes: Sequence[int] | Ints) -> Ints:
    """Where each of several parts of these sizes begins in one array, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def chunks_of(trucks: Ints) -> tuple[Chunk, ...]:
    """Every chunk of the states of stations with `trucks` trucks, from the first state up."""
    radix = trucks + 1
    num_high, size = len(radix), 1
    while num_high > 0 and size * int(radix[num_high - 1]) <= CHUNK_STATES:
        num_high -= 1
        size *= int(radix[num_high])
    high = np.indices(tuple(radix[:num_high])).reshape(num_high, -1).sum(axis=0) if num_high else np.zeros(1)
    return tuple(Chunk(n * size, (n + 1) * size, int(wave)) for n, wave in enumerate(high))


@dataclass(frozen=True, eq=False)
class Layout:
    """A problem as the kernels see it. It does not hold the problem, which holds it."""

    catalogue: Teams
    levels: Levels
    trucks: Ints
    incidents_per_day: Floats
    trucks_needed: Ints
    cost: Floats

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """Every chunk, from the first state up."""
        return chunks_of(self.trucks)

    @cached_property
    def waves(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the chunks of each wave, from the lowest up."""
        by_wave = sorted(range(len(self.chunks)), key=lambda number: self.chunks[number].wave)
        return tuple(tuple(group) for _, group in groupby(by_wave, key=lambda number: self.chunks[number].wave))

    @cached_property
    def states(self) -> StateLayout:
        """The states."""
        teams = self.catalogue
        return StateLayout(self.trucks, strides(self.trucks), teams.bits, teams.first_bit, self.levels.returns_per_day)

    @cached_property
    def offset(self) -> Ints:
        """[T] the distance between f and f - a of each team."""
        return frozen(self.catalogue.counts @ self.states.stride)

    @cached_property
    def teams(self) -> TeamLayout:
        """The teams."""
        teams = self.catalogue
        return TeamLayout(teams.masks, self.offset, teams.number_of_code, np.lexsort([self.group, teams.sizes]))

    @cached_property
    def group(self) -> Ints:
        """[T] the group of each team: which of the last three trucks it takes, if those are stations of one truck."""
        teams = self.catalogue.counts
        groups = np.zeros(len(teams), np.int64)
        if len(self.trucks) >= 3 and (self.trucks[-3:] == 1).all():
            for group in (3, 2, 1):
                groups[teams[:, group - 4] > 0] = group
        return groups

    def group_start(self, size: int) -> Ints:
        """[groups + 1] where each group of the teams of a size begins among `TeamLayout.by_group`."""
        part = self.catalogue.of_size(size)
        groups = self.group[self.teams.by_group[part]]
        return np.asarray(part.start + np.searchsorted(groups, np.arange(len(GROUPS) + 1)), np.int64)

    @cached_property
    def most_teams_per_state(self) -> int:
        """The number of teams that the row of one state can list at most."""
        first = self.catalogue.first_of_size
        sizes, needed = np.unique(self.trucks_needed, return_counts=True)
        return sum(max(1, min(int(first[k + 1] - first[k]), n)) for k, n in zip(sizes, needed, strict=True))

    @cached_property
    def narrow(self) -> KeyedCosts:
        """The demand points and costs in keys of 32 bits."""
        return self._keyed(32)

    @cached_property
    def wide(self) -> KeyedCosts:
        """The demand points and costs in keys of 64 bits."""
        return self._keyed(64)

    def _keyed(self, bits: int) -> KeyedCosts:
        from runcard.mdp.kernels.packed_minimum import tile_points  # needs numba, which a GPU does without

        needed, tile = self.levels.needed, tile_points(bits)
        # Fewer trucks than an incident needs: no team of that size, and every state sends all that are idle.
        first_team, last_team = self.catalogue.first_of_size[needed], self.catalogue.first_of_size[needed + 1]
        num_teams = last_team - first_team
        shift = max(1, int(num_teams.max() - 1).bit_length())
        sources, group_start, keys = [], [], [np.zeros((0, tile), np.uint32 if bits == 32 else np.uint64)]
        # A class that needs more trucks than there are has no team to choose: no unit either.
        lowest, scale = np.zeros(len(needed)), np.full(len(needed), np.inf)
        for c, k in enumerate(needed):
            members, teams = np.flatnonzero(self.trucks_needed == k), slice(first_team[c], last_team[c])
            sources.append(np.concatenate([members, np.full(-len(members) % tile, -1)]))
            group_start.append(self.group_start(int(k)))
            if num_teams[c] == 0:
                continue
            # The padding has the costs of a point of its own class; its rate is zero.
            costs = self.cost[teams][:, np.maximum(sources[c], members[0])]
            lowest[c] = costs.min()
            # A range of zero (one team, or all alike) still needs a unit for the prices. The largest cost stays below
            # the largest price, so that a price that was cut off loses to every team that has none.
            scale[c] = 0.999 * 2.0 ** (bits - 2 - shift) / max(costs.max() - lowest[c], LEAST_RANGE)
            units = ((costs - lowest[c]) * scale[c]).astype(np.uint64) << np.uint64(shift)
            by_tile = units.reshape(num_teams[c], -1, tile).transpose(1, 0, 2)
            keys.append(by_tile.reshape(-1, tile).astype(keys[0].dtype))
        source = np.concatenate(sources).astype(np.int64)
        first_point = starts([len(own) for own in sources])
        return KeyedCosts(
            needed=needed, first_team=first_team, last_team=last_team, group_start=np.array(group_start),
            first_point=first_point, rate=np.where(source >= 0, self.incidents_per_day[source], 0.0), source=source,
            total_rate=self.levels.rates, key=np.concatenate(keys),
            first_row=starts(num_teams * np.diff(first_point) // tile), lowest=lowest, scale=scale, shift=shift,
        )  # fmt: skip
