"""Neighbourhoods of a department, and what each demand point sees of them.

A truck here is one truck, not a station: stations of several trucks have several alike. Every demand point has its
trucks in the order of its stations. A **neighbourhood** is the first trucks of some demand point; they overlap. A
demand point is at **home** in the one that has the most of its first trucks. It has a payment of its own for each set
of its **candidates** in each neighbourhood **near** it; for all other trucks it pays what everybody pays.

An **option** of a demand point is a set of candidates, and a number of **others**: any other trucks, at the smallest
cost that some of them have. Every team is one of the options, so that a minimum over options bounds one over teams.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, combinations_with_replacement
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.arrays import Flags, Floats, Ints
from runcard.mdp.independent import truck_order
from runcard.mdp.layout import starts
from runcard.mdp.problem import DispatchProblem

CLOSENESS: Final = 0.6
"""A truck counts this much less than the one before it in the order of a demand point."""
OVERLAP: Final = 3.0
"""Neighbourhoods that a truck is in, on average. Few large ones prove more than many small ones."""
REACH: Final = 4
"""Neighbourhoods with one of so many first trucks of a demand point are near it."""
CANDIDATES: Final = {1: 24, 2: 20, 3: 12, 4: 9}
"""The candidates of a demand point, by the trucks that it needs; those at home come on top."""


@dataclass(frozen=True, eq=False)
class Subsets:
    """The sets of at most `most` of s trucks, as masks, by size: the first is the empty one."""

    masks: Ints
    sizes: Ints
    number: Ints
    """[2^s] the place of each mask; -1 for larger sets."""

    @staticmethod
    def of(num_trucks: int, most: int) -> "Subsets":
        """All of them."""
        all_masks = sorted(range(1 << num_trucks), key=lambda mask: (mask.bit_count(), mask))
        masks = [mask for mask in all_masks if mask.bit_count() <= most]
        number = np.full(1 << num_trucks, -1, np.int64)
        number[masks] = np.arange(len(masks))
        sizes = np.array([mask.bit_count() for mask in masks], np.int64)
        return Subsets(np.array(masks, np.int64), sizes, number)

    def __len__(self) -> int:
        return len(self.masks)


class DemandColumns(NamedTuple):
    """Who asks each neighbourhood for trucks: demand points near it, and all others of a class as one.

    The columns of neighbourhood g are first[g]..first[g+1]-1, by the number of trucks that they need.
    """

    first: Ints
    point: Ints
    """[columns] the demand point; -1 for all others of a class."""
    rate: Floats
    """[columns] incidents, as a part of all."""
    needed: Ints
    """[columns] trucks."""
    own: Ints
    """[columns] the mask of the trucks of the neighbourhood that are candidates of the point."""
    is_home: Flags
    """[columns]"""


class Options(NamedTuple):
    """The options of every demand point, for each number of trucks up to the one that it needs.

    Those of point j for m trucks are start[j, m]..start[j, m+1]-1. Near neighbourhood r of the point is the one of its
    column near[first_near[j] + r], and takes subset part[first_part[o] + r] of option o.
    """

    start: Ints
    needed: Ints
    """[J] trucks."""
    cost: Floats
    home_part: Ints
    """[options] the subset of home."""
    trucks: NDArray[np.int32]
    """[options, 4] the candidates of the option; -1 for none."""
    num_others: Ints
    """[options]"""
    near: Ints
    """Columns, point by point, home left out."""
    first_near: Ints
    """[J + 1]"""
    part: NDArray[np.int16]
    first_part: Ints
    """[options]"""
    is_far: Flags
    """[J, neighbourhoods] neither home nor near."""
    is_other: Flags
    """[J, N] trucks that are no candidates."""


class Places(NamedTuple):
    """Where each truck is a member: neighbourhoods and bits first[truck]..first[truck+1]-1."""

    first: Ints
    group: Ints
    bit: Ints


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The neighbourhoods of a problem, with its columns and options."""

    members: Ints
    """[neighbourhoods, s] trucks."""
    home: Ints
    """[J] the home of each demand point."""
    subsets: Subsets
    columns: DemandColumns
    options: Options

    @cached_property
    def places(self) -> Places:
        """Where each truck is a member."""
        order = np.argsort(self.members.ravel(), kind="stable")
        counts = np.bincount(self.members.ravel(), minlength=self.num_trucks)
        return Places(starts(counts), order // self.members.shape[1], order % self.members.shape[1])

    @property
    def num_trucks(self) -> int:
        """N."""
        return int(self.options.is_other.shape[1])

    def __len__(self) -> int:
        return len(self.members)


def find_neighbourhoods(problem: DispatchProblem, size: int) -> Neighbourhoods:
    """The neighbourhoods of at most `size` trucks."""
    stations = np.repeat(np.arange(problem.num_stations), problem.trucks)
    order = truck_order(problem, problem.order)
    members, home = _cover(problem, order, min(size, len(stations)))
    subsets = Subsets.of(members.shape[1], int(problem.trucks_needed.max()))
    near = _near(order, members, home)
    candidates = _candidates(problem, order, members, home)
    columns = _columns(problem, members, home, near, candidates)
    options = _options(problem, stations, members, home, near, candidates, subsets, columns)
    return Neighbourhoods(members, home, subsets, columns, options)


def _cover(problem: DispatchProblem, order: Ints, size: int) -> tuple[Ints, Ints]:
    """The members of each neighbourhood, and the home of each demand point.

    The first trucks of any demand point may be a neighbourhood. One after another the one is taken that brings the most
    of what points need home. Trucks that are in none then come into some more, with first trucks of a point near them.
    """
    num_points, num_trucks = order.shape
    weight = np.empty((num_points, num_trucks))
    np.put_along_axis(weight, order, CLOSENESS ** np.arange(num_trucks)[None, :], axis=1)
    possible = np.unique(np.sort(order[:, :size], axis=1), axis=0)
    at_home = sum((weight[:, possible[:, place]] for place in range(size)), np.zeros((num_points, len(possible))))
    chosen, best = list[int](), np.zeros(num_points)
    for _ in range(min(len(possible), max(1, round(OVERLAP * num_trucks / size)))):
        more = problem.incidents_per_day @ np.maximum(at_home - best[:, None], 0.0)
        chosen.append(int(more.argmax()))
        best = np.maximum(best, at_home[:, chosen[-1]])
    found, covered = list(possible[chosen]), np.zeros(num_trucks, np.bool_)
    covered[possible[chosen]] = True
    while not covered.all():
        nearest = order[weight[:, covered.argmin()].argmax()]
        left = nearest[~covered[nearest]][: (size + 1) // 2]
        found.append(np.sort(np.concatenate([left, nearest[~np.isin(nearest, left)][: size - len(left)]])))
        covered[left] = True
    members = np.unique(found, axis=0)
    home = weight[:, members].sum(axis=2).argmax(axis=1)
    return members.astype(np.int64), home.astype(np.int64)


def _near(order: Ints, members: Ints, home: Ints) -> Flags:
    """[J, neighbourhoods] whether the neighbourhood has one of the first trucks of the point, or is its home."""
    inside = np.zeros((len(members), order.shape[1]), np.bool_)
    np.put_along_axis(inside, members, True, axis=1)
    near = np.array(inside[:, order[:, :REACH]].any(axis=2).T)
    near[np.arange(len(home)), home] = True
    return near


def _candidates(problem: DispatchProblem, order: Ints, members: Ints, home: Ints) -> Flags:
    """[J, N] the candidates of each demand point."""
    found = np.zeros(order.shape, np.bool_)
    for j, needed in enumerate(problem.trucks_needed.tolist()):
        found[j, order[j, : CANDIDATES[needed]]] = True
    np.put_along_axis(found, members[home], True, axis=1)
    return found


def _columns(problem: DispatchProblem, members: Ints, home: Ints, near: Flags, candidates: Flags) -> DemandColumns:
    first, rows = [0], list[tuple[int, float, int, int, bool]]()
    rate = problem.incidents_per_day / problem.total_incidents_per_day
    bits = 1 << np.arange(members.shape[1])
    for g, trucks in enumerate(members):
        own = candidates[:, trucks] @ bits
        for needed in problem.levels.needed.tolist():
            of_class = problem.trucks_needed == needed
            for j in np.flatnonzero(of_class & near[:, g]).tolist():
                rows.append((j, float(rate[j]), needed, int(own[j]), bool(home[j] == g)))
            others = of_class & ~near[:, g]
            if others.any():
                rows.append((-1, float(rate[others].sum()), needed, 0, False))
        first.append(len(rows))
    point, rates, needs, masks, homes = zip(*rows, strict=True)
    return DemandColumns(
        np.array(first), np.array(point), np.array(rates), np.array(needs), np.array(masks, np.int64), np.array(homes)
    )


def _options(
    problem: DispatchProblem, stations: Ints, members: Ints, home: Ints, near: Flags,
    candidates: Flags, subsets: Subsets, columns: DemandColumns,
) -> Options:  # fmt: skip
    most = int(problem.trucks_needed.max())
    column_of = np.full(near.shape, -1, np.int64)
    group_of = np.repeat(np.arange(len(members)), np.diff(columns.first))
    listed = np.flatnonzero(columns.point >= 0)
    column_of[columns.point[listed], group_of[listed]] = listed
    bit = np.zeros((len(members), len(stations)), np.int64)
    np.put_along_axis(bit, members, 1 << np.arange(members.shape[1])[None, :], axis=1)
    start = np.zeros((problem.num_points, most + 2), np.int64)
    near_columns, costs, home_parts, trucks, others, parts, first_part = [], [], [], [], [], [], []
    num_options, num_parts = 0, 0
    for j in range(problem.num_points):
        groups = np.flatnonzero(near[j] & (np.arange(len(members)) != home[j]))
        near_columns.append(column_of[j, groups])
        own, rest = np.flatnonzero(candidates[j]), stations[~candidates[j]]
        for m in range(most + 2):
            start[j, m] = num_options
            for num_own in range(m + 1) if m <= problem.trucks_needed[j] else ():
                chosen = own[_combinations(len(own), num_own)]
                cost = _least_costs(problem, j, stations[chosen], _teams(rest, m - num_own))
                if cost is None:
                    continue
                masks = bit[:, chosen].sum(axis=2)
                costs.append(cost)
                home_parts.append(subsets.number[masks[home[j]]])
                trucks.append(np.pad(chosen.astype(np.int32), ((0, 0), (0, 4 - num_own)), constant_values=-1))
                others.append(np.full(len(chosen), m - num_own))
                parts.append(subsets.number[masks[groups]].T.astype(np.int16).ravel())
                first_part.append(num_parts + len(groups) * np.arange(len(chosen)))
                num_parts += len(groups) * len(chosen)
                num_options += len(chosen)
    return Options(
        start, problem.trucks_needed, np.concatenate(costs), np.concatenate(home_parts),
        np.concatenate(trucks), np.concatenate(others),
        np.concatenate(near_columns), starts([len(one) for one in near_columns]),
        np.concatenate(parts), np.concatenate(first_part), ~near, ~candidates,
    )  # fmt: skip


@lru_cache(maxsize=256)
def _combinations(num: int, size: int) -> Ints:
    """[sets, size] every set of so many of the numbers below `num`."""
    found = list(combinations(range(num), size))
    return np.array(found, np.int64).reshape(len(found), size)


@lru_cache(maxsize=256)
def _multisets(num: int, size: int) -> Ints:
    """[sets, size] the same with numbers that may repeat."""
    found = list(combinations_with_replacement(range(num), size))
    return np.array(found, np.int64).reshape(len(found), size)


def _teams(stations: Ints, size: int) -> Ints:
    """[teams, size] every team of so many of some trucks, given by their stations; trucks of one station are alike."""
    distinct, trucks = np.unique(stations, return_counts=True)
    picked = _multisets(len(distinct), size)
    fits = np.ones(len(picked), np.bool_)
    for more in range(1, size):  # a station that is picked once more than `more` times
        again = picked[:, more:]
        fits &= ~((again == picked[:, :-more]) & (trucks[again] <= more)).any(axis=1)
    return distinct[picked[fits]]


def _least_costs(problem: DispatchProblem, point: int, own: Ints, others: Ints) -> Floats | None:
    """[rows] the smallest cost at a point of each team of stations `own` [rows, trucks] with one of `others`.

    None if there is no team.
    """
    if len(own) == 0 or len(others) == 0:
        return None
    num_rows, num_others = len(own), len(others)
    stations = np.hstack([np.repeat(own, num_others, axis=0), np.tile(others, (num_rows, 1))])
    teams = problem.teams.find(stations)
    return np.asarray(problem.cost[teams, point].reshape(num_rows, num_others).min(axis=1))
