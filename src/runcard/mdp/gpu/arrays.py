"""A problem in the memory of a GPU, laid out for the kernels.

The struct `Problem` of `kernels.cu` holds numbers and addresses of eight bytes each; so does `Costs`, which holds the
costs in one kind of keys. A key of 32 bits holds no team, since the Bellman equation needs the minimum alone:

    key(c) = floor((c - lowest) scale)  <  2^30,        scale = 0.999 × 2^30 / (highest - lowest).

Prices are counted from the smallest of each state, and cut off at 2^30 - 1, where they cannot win. A sum of two keys is
off by less than two units of 1/scale, so by at most one after one is added: that is `unit`, and the bounds count it.
Keys in double precision are the costs themselves.

What is looked up by state is the sum, or the union, of one number for its low digits and one for its high digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from runcard.errors import SizeError
from runcard.mdp.gpu.machine import DeviceArray, Gpu
from runcard.mdp.kernels.groups import STATES
from runcard.mdp.layout import LEAST_RANGE, starts
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.states import each_level, each_mask
from runcard.memory import in_words

INTEGERS, DOUBLES = range(2)
"""The kinds of keys, as the source numbers them."""

MOST_POINTS: Final = {INTEGERS: 13, DOUBLES: 7}
"""Demand points that a lane can hold in its registers for eight states."""

TILE_POINTS: Final = 2
"""What going through the teams for one more tile takes, in points of a lane: measured on an H200."""

DTYPES: Final = {INTEGERS: np.uint32, DOUBLES: np.float64}

KEPT_BYTES: Final = 2 * 8 * STATES
"""What a warp keeps for its states, beside prices and teams."""

LOW_STATES: Final = 1 << 14
"""The low digits of a state make at most so many numbers."""


@dataclass(frozen=True, eq=False)
class DeviceProblem:
    """The struct `Problem`, and the arrays it points to."""

    struct: DeviceArray
    place_mask: DeviceArray
    place_offset: DeviceArray
    cost: DeviceArray
    """[points, teams]"""
    kept: tuple[DeviceArray, ...]


@dataclass(frozen=True, eq=False)
class DeviceCosts:
    """The struct `Costs`, and what a launch has to know."""

    struct: DeviceArray
    key: DeviceArray
    kind: int
    points: int
    """Demand points of a lane."""
    warps: int
    """Warps of a block of threads, as many as the memory that they share has room for."""
    shared_bytes: int
    unit: float
    """How far a residual may be off because keys are whole numbers; 0 for others."""
    kept: tuple[DeviceArray, ...]


def _struct(machine: Gpu, fields: Sequence[Any]) -> tuple[DeviceArray, tuple[DeviceArray, ...]]:
    """Fields of eight bytes, one after another: whole numbers, floats, and arrays by their addresses."""
    content, kept = b"", []
    for one in fields:
        if isinstance(one, np.ndarray):
            kept.append(machine.put(one))
            content += np.uint64(machine.address(kept[-1])).tobytes()
        else:
            content += (np.float64(one) if isinstance(one, float) else np.int64(one)).tobytes()
    return machine.put(np.frombuffer(content, np.uint8)), tuple(kept)


def device_problem(problem: DispatchProblem, machine: Gpu) -> DeviceProblem:
    """The problem in the memory of a machine."""
    layout, teams, trucks = problem.layout, problem.teams, problem.trucks
    states, by_group = layout.states, layout.teams.by_group
    low = problem.num_stations
    while low > 0 and int(np.prod(trucks[low - 1 :] + 1)) <= LOW_STATES:
        low -= 1
    low_mask, high_mask = (
        each_mask(trucks[part], states.bits[part], states.first_bit[part]) for part in (slice(low, None), slice(low))
    )
    needed = problem.levels.needed
    group_start = np.array([layout.group_start(int(k)) for k in needed])
    # Where fewer trucks are idle than an incident needs, all of them go: the state is the offset of their team.
    small = np.flatnonzero(teams.sizes < needed[-1])
    small = small[np.argsort(layout.offset[small])]
    finite = np.where(np.isfinite(problem.cost[small]), problem.cost[small], 0.0)
    small_cost = np.array([finite @ (problem.incidents_per_day * (problem.trucks_needed == k)) for k in needed])
    struct, kept = _struct(
        machine,
        [
            problem.num_states, problem.num_stations, problem.num_trucks + 1, int((trucks == 1).all()), len(low_mask),
            float(problem.returns_per_day), problem.total_incidents_per_day, trucks, states.stride,
            low_mask, high_mask, each_level(trucks[low:]), each_level(trucks[:low]),
            len(needed), len(small), needed, problem.levels.rates, group_start, layout.offset[small], small_cost,
            problem.num_points, problem.num_teams, teams.base, problem.trucks_needed, problem.incidents_per_day,
            teams.number_of_code, teams.masks, layout.offset, teams.first_of_size,
        ],
    )  # fmt: skip
    return DeviceProblem(
        struct=struct,
        place_mask=machine.put(teams.masks[by_group]),
        place_offset=machine.put(layout.offset[by_group]),
        cost=machine.put(problem.cost.T),
        kept=kept,
    )


def device_costs(problem: DispatchProblem, machine: Gpu, kind: int) -> DeviceCosts:
    """The costs in keys of one kind in the memory of a machine."""
    needed, layout = problem.levels.needed, problem.layout
    members = [np.flatnonzero(problem.trucks_needed == k) for k in needed]
    points = points_of_lane([len(own) for own in members], MOST_POINTS[kind])
    lowest, scale = np.zeros(len(needed)), np.full(len(needed), np.inf)
    keys, rates, unit = [], [], 0.0
    for c, (k, own) in enumerate(zip(needed, members, strict=True)):
        places = layout.teams.by_group[problem.teams.of_size(int(k))]
        padding = -len(own) % (32 * points)
        rates.append(np.concatenate([problem.incidents_per_day[own], np.zeros(padding)]))
        costs = problem.cost[places][:, np.concatenate([own, np.full(padding, own[0])])]
        if len(places) and kind == INTEGERS:
            lowest[c] = costs.min()
            scale[c] = 0.999 * 2.0**30 / max(costs.max() - lowest[c], LEAST_RANGE)
            costs = (costs - lowest[c]) * scale[c]
            unit += float(problem.levels.rates[c] / scale[c])
        keys.append(costs.ravel())
    most_places = _most_places(problem)
    warps, shared = _warps(most_places, np.dtype(DTYPES[kind]).itemsize, machine.shared_bytes)
    struct, kept = _struct(
        machine,
        [
            starts([len(rate) for rate in rates]), starts([len(key) for key in keys])[:-1], np.concatenate(rates),
            lowest, scale, most_places,
        ],
    )  # fmt: skip
    key = np.concatenate(keys) if sum(map(len, keys)) else np.zeros(1)
    return DeviceCosts(
        struct=struct,
        key=machine.put(key.astype(DTYPES[kind])),
        kind=kind,
        points=points,
        warps=warps,
        shared_bytes=shared,
        unit=unit,
        kept=kept,
    )


def check_teams(problem: DispatchProblem, machine: Gpu) -> None:
    """Raise a SizeError if there are too many teams for the memory that threads share."""
    _warps(_most_places(problem), 8, machine.shared_bytes)


def _most_places(problem: DispatchProblem) -> int:
    """The most teams that a demand point can choose from."""
    sizes = np.diff(problem.teams.first_of_size)[problem.levels.needed]
    return max(1, int(sizes.max()))


def points_of_lane(sizes: Sequence[int], most: int) -> int:
    """The points of a lane that take the least time for classes of these sizes, and of these the most.

    Every tile goes through all teams and their prices anew; so few points to a lane are slow, even without padding.
    """

    def time(points: int) -> int:
        return sum(-(-size // (32 * points)) * (points + TILE_POINTS) for size in sizes)

    return min(range(1, most + 1), key=lambda points: (time(points), -points))


def _warps(most_places: int, size: int, available: int) -> tuple[int, int]:
    """How many warps share the memory of a block, and the bytes that they take."""
    for warps in (4, 2, 1):
        shared = warps * (most_places * (STATES * size + 2) + KEPT_BYTES)
        if shared <= available:
            return warps, shared
    raise SizeError(
        f"--device gpu: {most_places:,} teams of equal size take {in_words(shared)} of the memory that the threads of "
        f"a block share, and this GPU has {in_words(available)}: expected fewer trucks, or --device cpu"
    )
