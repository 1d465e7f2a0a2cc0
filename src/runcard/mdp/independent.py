"""Trucks that are busy independently, and an order of stations for each demand point.

Trucks are numbered station by station; those of one station are asked one after another, in rising number. Given a busy
chance for each truck, this says how often each is asked and how many incidents are late (see
`kernels.independent`). In the long run, if the trucks of a station share alike what their station is asked for,

    p_i = D_i / (D_i + μ),    D_i = mean over the trucks of station i of the rate at which they are asked, given p.

D rises with every p, so the map rises and its iterates from p = 0 rise to its smallest fixed point. They do so slowly
when a city is short of trucks; therefore steps in log(p_i / (1 - p_i)) = log(D_i / μ) are extrapolated (Anderson's
mixing), and dropped for plain steps where the residual does not fall. The search ends when every D_i repeats itself to
`TOLERANCE`, relatively, or to what the kernel leaves out of an asked rate; if not within `MAX_STEPS`, it is an error.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from math import comb
from typing import NamedTuple

import numpy as np

from runcard.errors import NotConvergedError
from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.independent import follow_order, lay_out_costs, num_below
from runcard.mdp.layout import starts
from runcard.mdp.problem import DispatchProblem

NEAR_TRUCKS = 32
"""Trucks of each demand point whose costs are laid out; those behind them are rarely asked, and looked up then."""

NEAR_BYTES = 64 << 20
"""What the laid out costs may take."""

TOLERANCE = 1e-12
MAX_STEPS = 1000
_REMEMBERED = 5
_WORST_GROWTH = 2.0


class Walks(NamedTuple):
    """An order as the kernels see it; M = N + max k trucks, those from outside at the end."""

    truck: Ints
    """[J, M] the trucks that each demand point asks, from the first to the last."""
    station: Ints
    """[M] the station of each truck; -1 outside."""
    needed: Ints
    rate: Floats
    """[J] k_j and λ_j."""
    number_of_code: Ints
    base: int
    """The number of each team, found by its code (see `Teams`)."""
    cost: Floats
    """[T, J] P(late) of each team."""
    stop: float
    """The chance of going on at which a walk stops."""
    depth: int
    """The positions whose costs are laid out in `near_cost`."""
    first_cost: Ints
    """[J + 1] where the costs of each demand point begin."""
    active: Ints
    """The demand points with incidents."""
    near_cost: Floats
    """The costs of the teams of each demand point, by position (see `kernels.independent`)."""


class Scratch(NamedTuple):
    """Room for the kernels to work in; one for each thread."""

    odds: Floats
    weight: Floats
    ratio: Floats
    products: Floats
    few: Floats
    positions: Ints


def truck_order(problem: DispatchProblem, order: Ints) -> Ints:
    """[J, N] the trucks of each demand point along an order [J, I] of its stations."""
    station = np.repeat(np.arange(problem.num_stations), problem.trucks)
    return np.argsort(np.argsort(order, axis=1)[:, station], axis=1, kind="stable")


@cache
def _costs_per_point(needed: int, depth: int) -> int:
    """The costs that a demand point lays out: for each position, one for each set below."""
    return sum(num_below(needed - 1, position) for position in range(depth))


@dataclass(frozen=True, eq=False)
class IndependentTrucks:
    """What the order [J, I] of each demand point asks and achieves under independent busy chances."""

    problem: DispatchProblem
    order: Ints
    stop: float = 1e-15
    """The chance of going on at which the walk of a demand point along its order stops."""

    @cached_property
    def first_truck(self) -> Ints:
        """[I + 1] the first truck of each station."""
        return starts(self.problem.trucks)

    @cached_property
    def num_outside(self) -> int:
        """The trucks from outside at the end of every order: as many as an incident can need."""
        return int(self.problem.trucks_needed.max())

    @cached_property
    def walks(self) -> Walks:
        """The order laid out for the kernels."""
        problem, num_trucks = self.problem, self.problem.num_trucks
        station = np.repeat(np.arange(problem.num_stations), problem.trucks)
        outside = np.broadcast_to(num_trucks + np.arange(self.num_outside), (problem.num_points, self.num_outside))
        truck = np.ascontiguousarray(np.hstack([truck_order(problem, self.order), outside]), np.int64)
        station = np.concatenate([station, np.full(self.num_outside, -1)]).astype(np.int64)
        needed = problem.trucks_needed.tolist()
        depth = min(truck.shape[1], NEAR_TRUCKS)
        while depth > 1 and 8 * sum(_costs_per_point(k, depth) for k in needed) > NEAR_BYTES:
            depth -= 1
        first_cost = starts([_costs_per_point(k, depth) for k in needed])
        walks = Walks(
            truck, station, problem.trucks_needed, problem.incidents_per_day, problem.teams.number_of_code,
            problem.teams.base, problem.cost, float(self.stop), depth, first_cost,
            np.flatnonzero(problem.incidents_per_day > 0.0), np.zeros(int(first_cost[-1])),
        )  # fmt: skip
        lay_out_costs(0, problem.num_points, walks, np.empty(self.num_outside, np.int64))
        return walks

    def scratch(self) -> Scratch:
        """Room for one thread."""
        positions, depth = self.walks.truck.shape[1], self.walks.depth
        most = self.num_outside
        products = np.empty((2, max(positions, comb(depth, most - 1))))
        return Scratch(
            np.empty(positions), np.empty(positions), np.empty(positions), products, np.empty(most),
            np.empty(most, np.int64),
        )  # fmt: skip

    def with_outside(self, busy: Floats) -> Floats:
        """[M] busy chances [N] followed by those of the trucks from outside, 0."""
        return np.concatenate([busy, np.zeros(self.num_outside)])

    def asked_and_late(self, busy: Floats) -> tuple[Floats, float]:
        """How often each truck is asked per day [N], and the late incidents per day, for busy chances [N]."""
        every = self.with_outside(busy)
        asked = np.zeros_like(every)
        late = follow_order(self.walks.active, self.walks, every, self.scratch(), asked)
        return asked[: self.problem.num_trucks], float(late)

    def station_demand(self, busy: Floats) -> Floats:
        """[I] D_i: how often a truck of each station is asked per day, on the mean, when all have busy[i]."""
        asked, _ = self.asked_and_late(np.repeat(busy, self.problem.trucks))
        return np.asarray(np.add.reduceat(asked, self.first_truck[:-1]) / self.problem.trucks)

    def steady_busy(self, start: Floats | None = None) -> Floats:
        """[I] the long-run busy chance of each truck of a station, searched from chances that are near, if given."""
        mu, total = self.problem.returns_per_day, self.problem.total_incidents_per_day
        # What the kernel leaves out of an asked rate may come and go from step to step.
        left_out = 10.0 * self.stop * total
        tiny = 1e-30 * total
        demand = self.station_demand(np.zeros(self.problem.num_stations) if start is None else start)
        points: list[Floats] = []
        steps: list[Floats] = []
        for _ in range(MAX_STEPS):
            found = self.station_demand(demand / (demand + mu))
            if (np.abs(found - demand) <= TOLERANCE * found + left_out).all():
                return found / (found + mu)
            log_demand = np.log(np.maximum(demand, tiny))
            step = np.log(np.maximum(found, tiny)) - log_demand
            if steps and np.abs(step).max() > _WORST_GROWTH * np.abs(steps[-1]).max():
                points, steps = [], []
            points, steps = [*points, log_demand][-_REMEMBERED:], [*steps, step][-_REMEMBERED:]
            demand = np.exp(_mixed(points, steps))
        raise NotConvergedError(
            f"the steady busy chances did not converge in {MAX_STEPS} steps at a load of "
            f"{total / (mu * self.problem.num_trucks):.3g} incidents per truck and busy time"
        )


def _mixed(points: list[Floats], steps: list[Floats]) -> Floats:
    """The next point by Anderson's mixing: the last ones combined so that their steps cancel as far as they can."""
    following = points[-1] + steps[-1]
    if len(points) == 1:
        return following
    moves = np.diff(points, axis=0).T
    changes = np.diff(steps, axis=0).T
    weights, *_ = np.linalg.lstsq(changes, steps[-1], rcond=1e-10)
    mixed: Floats = following - (moves + changes) @ weights
    # A step of many orders of magnitude is an artefact of nearly equal steps.
    return np.clip(mixed, following - 2.0, following + 2.0)
