"""The arrays that the kernels of one-step-queueing work on."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.independent import Walks
from runcard.mdp.kernels.lanes import LANES


class LaneCosts(NamedTuple):
    """The costs of the teams of each demand point, position by position (see `kernels.lanes.lane_sum`)."""

    first: NDArray[np.int64]
    """[J + 1] where the costs of each demand point begin."""
    cost: NDArray[np.float64]


class Queues(NamedTuple):
    """The queues as the kernels see them."""

    walks: Walks
    costs: LaneCosts
    flat_truck: NDArray[np.int64]
    """`walks.truck` as one row."""
    returns_per_day: float
    horizon: float
    """n or m."""
    relaxing: bool
    """Whether T is n/(μ+D), not m/μ."""
    printed_chances: bool
    """Whether the two costs of a queue have changed places, as in the paper."""
    printed_rates: bool
    """Whether an incident counts for every team that it may ask, as in the paper."""
    unique: bool
    """Whether there is only one fixed point."""
    rising: bool
    """Whether a search for f-a may start from the fixed point of f."""
    most_needed: int
    """max k."""
    horizon_days: float
    """T."""
    largest_cost: float
    """In absolute value."""
    least_chance: float
    """The chance at which walks of bounds may always end: they leave out at most `NEGLIGIBLE` of a price."""
    left_out: float
    """What may come and go of a rate because walks stop."""
    first_demand: NDArray[np.float64]
    """[N] D for p = 0."""


class Falls(NamedTuple):
    """By how much later trucks may be better (see `kernels.queueing_bounds`)."""

    first_fall: NDArray[np.int64]
    """[J + 1] where the falls of each demand point begin."""
    fall: NDArray[np.float64]
    deepest: NDArray[np.float64]
    """[J] the largest of them."""
    widest: NDArray[np.float64]
    """[J] the largest that there may be among positions without one."""


class PairGroups(NamedTuple):
    """The demand points that need two trucks, `LANES` of them in a group and one in each lane of every entry."""

    point: NDArray[np.int64]
    """[groups] the demand points; the last group is filled up with the last of them, at rate 0."""
    rate: NDArray[np.float64]
    widest: NDArray[np.float64]
    """[groups] λ_j, and the largest fall that there may be."""
    num_positions: int
    truck: NDArray[np.int64]
    """[groups, positions] the trucks in the order of the demand point."""
    num_sets: int
    cost: NDArray[np.float64]
    fall: NDArray[np.float64]
    """[groups, pairs of positions below `Walks.depth`] costs and falls of the teams, in colexicographic order."""


class BoundsRoom(NamedTuple):
    """Room for the kernel of the bounds, with the lanes of each entry side by side."""

    before: NDArray[np.float64]
    chance: NDArray[np.float64]
    inverse: NDArray[np.float64]
    odds: NDArray[np.float64]
    idle: NDArray[np.float64]
    one: NDArray[np.float64]
    less: NDArray[np.float64]
    cost: NDArray[np.float64]
    slope: NDArray[np.float64]
    together: NDArray[np.float64]
    """[positions + 1]"""
    none: NDArray[np.float64]
    some: NDArray[np.float64]
    most: NDArray[np.float64]
    more: NDArray[np.float64]
    ratios: NDArray[np.float64]
    to_come: NDArray[np.float64]
    nobody: NDArray[np.float64]
    total: NDArray[np.float64]
    weight: NDArray[np.float64]
    least: NDArray[np.float64]
    """[1]"""
    first: NDArray[np.float64]
    later: NDArray[np.float64]
    """[positions x positions]"""


class LoneRoom(NamedTuple):
    """Room for a state that is searched for by itself."""

    ratio: NDArray[np.float64]
    asked: NDArray[np.float64]
    """[N + outside]"""
    busy: NDArray[np.float64]
    """[N + outside]"""
    demand: NDArray[np.float64]
    idle: NDArray[np.int64]
    """[N]"""


class LanesRoom(NamedTuple):
    """Room for the kernels to work in; one for each thread. Flat arrays, with the lanes of each entry side by side."""

    alone: LoneRoom
    idle: NDArray[np.int64]
    demand: NDArray[np.float64]
    """[N]"""
    busy: NDArray[np.float64]
    odds: NDArray[np.float64]
    asked: NDArray[np.float64]
    """[N + outside]"""
    weight: NDArray[np.float64]
    ratio: NDArray[np.float64]
    """[positions]"""
    products: NDArray[np.float64]
    """[sets of k-1 positions]"""
    everything: NDArray[np.float64]
    """[4] ones."""
    cost: NDArray[np.float64]
    """[4]"""
    late: NDArray[np.float64]
    """[1]"""
    points: NDArray[np.float64]
    moves: NDArray[np.float64]
    """[3, N] the last points of the search, and the plain moves from them."""
    settled: NDArray[np.int64]
    known: NDArray[np.int64]
    last: NDArray[np.float64]
    """[1] of each lane: whether it has settled, how many points count, and how far the last move went."""
    sums: NDArray[np.float64]
    """[5]"""
    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    """[1]"""
    num: NDArray[np.int64]
    """[J] how many positions of each demand point are asked, in any lane."""
    pairs: NDArray[np.int64]
    """[2] two trucks for each lane."""


class Usual(NamedTuple):
    """What holds where every truck is idle: D of each truck, and what two trucks that leave add to the lateness."""

    demand: NDArray[np.float64]
    extra: NDArray[np.float64]


class Settled(NamedTuple):
    """The fixed point of a state: D and p of each truck, and the late incidents per day."""

    idle: NDArray[np.int64]
    """[N] whether each truck is idle."""
    demand: NDArray[np.float64]
    busy: NDArray[np.float64]
    """[N + outside]"""
    late: float


def lanes_block(total: int) -> Callable[[int], NDArray[np.float64]]:
    """Hands out arrays of zeros for so many entries in all, the lanes of each entry in one cache line."""
    block, end = np.zeros((total + 1) * LANES), 0
    block = block[-block.__array_interface__["data"][0] % (8 * LANES) // 8 :]

    def lanes(num: int) -> NDArray[np.float64]:
        nonlocal end
        end += num * LANES
        return block[end - num * LANES : end]

    return lanes
