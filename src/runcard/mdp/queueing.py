"""Approximate costs of closest-first: every truck an M/M/1/1 queue, all of them tied together by a fixed point.

J(f) = T Σ_j λ_j × expected cost at j, when truck i is busy with chance p_i, independently, where p_i follows from the
rate D_i at which it is asked and from whether it is idle in f, and D follows from p (see `kernels.queueing`). Stations
of several trucks are as many stations of one; in a state, the first trucks of a station are the idle ones.

**The horizon.** Spread over [0, T], a disturbance that dies out like e^(-rt) counts right if it acts alone, whatever T:
T (1/rT) = ∫ e^(-rt) dt. When n trucks are away together, T (1/rT)^n should be ∫ e^(-nrt) dt = 1/nr; for n = 2 that is
T = 2/r. The rate is r = μ + D, not μ: a queue forgets sooner the more it is asked. So with `relaxing`, p_i spreads over
2/(μ + D_i), which is n = 2 in `kernels.queueing`, and the common factor is T = 2(1-b)/μ, with b the long-run share of
busy trucks, which is the same for every policy. Otherwise T = m/μ, as in the paper.

**One fixed point.** Let the rates be exact, and T = n/(μ+D) with n >= 1, or T = m/μ with m >= 2 (`proven`). The chances
rise with the load of a truck, and a busy truck has the larger one, by s. Rates rise with every chance. So D -> p -> D
is rising, and rises when an idle truck becomes busy: by Tarski's theorem it has a smallest fixed point, which plain
steps from p = 0 reach, and p(f-a) >= p(f). There is no other. For the rate at which a truck accepts, A = D(1-p)/μ, is

    for T = n/(μ+D):    idle now  B + xB/n,    busy now  B - B/n,
    for T = m/μ:        idle now  B + B²/m,    busy now  B - B(1-B)/m,

which rises with B = x/(1+x), while the sum over the trucks, Σ_j λ_j E[trucks sent]/μ, falls when a chance rises. A
second fixed point above the smallest would have the larger A of every truck, but not the larger sum: so it has the same
B. Hence every search that ends has found the same, wherever it began. The printed rates know no such sum; there, and
with printed chances, the smallest fixed point is meant. As printed rates rise too, and printed chances for every T,
plain steps lead to it from p = 0 and from the one of a state in which more trucks are idle (`rising`). Elsewhere every
search starts from p = 0.

**Bounds on prices.** Let it be proven, and a be a team. Then p(f-a) = p + Δ + δ, where Δ is the rise of the trucks of a
at unchanged D (s each), and δ >= 0. Above, dp/dB <= dA/dB, at equal B the A of an idle truck is larger by xs than that
of a busy one, and the sum of A falls. So

    Σ_i δ_i  <=  Σ_i { A_i(f-a, D(f-a)) - A_i(f-a, D(f)) }  <=  Σ_{i in a} x_i s_i.                                  (1)

Let trucks be idle with chances 1 - p - Δ, and each of those that are become busy with chance δ/(1 - p - Δ) afterwards.
The team of an incident changes only if one of its own trucks becomes busy, and then to a team whose trucks come no
earlier, so that its cost falls by no more than its fall (see `kernels.queueing_bounds`). Hence

    price(a)  >=  T { late(p + Δ) - late(p) - max_i harm(i) Σ_{i in a} x_i s_i },                                    (2)

where harm is taken at p + Δ. late(p + Δ) is known from derivatives, exactly for teams of up to two; of three trucks one
counts like those that become busy afterwards.
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.errors import NotConvergedError
from runcard.mdp.independent import IndependentPicture, Walks
from runcard.mdp.kernels.block_sum import BLOCK
from runcard.mdp.kernels.independent import LEAST_BUSY
from runcard.mdp.kernels.lanes import LANES
from runcard.mdp.kernels.queueing import request_rates
from runcard.mdp.kernels.queueing_bounds import combine, find_falls, find_slopes, num_below
from runcard.mdp.kernels.queueing_lanes import (
    REMEMBERED,
    settle_best,
    settle_lanes,
    settle_states,
    settle_teams,
    start_from,
)
from runcard.mdp.layout import starts
from runcard.mdp.levels import idle_distribution
from runcard.mdp.problem import DispatchProblem

NEGLIGIBLE = 1e-8
"""Late incidents: a team that can be better by no more than that need not be looked at."""


class Queues(NamedTuple):
    """The queues as the kernels see them."""

    walks: Walks
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


class BoundsRoom(NamedTuple):
    """Room for the kernel of the bounds."""

    before: NDArray[np.float64]
    chance: NDArray[np.float64]
    odds: NDArray[np.float64]
    one: NDArray[np.float64]
    less: NDArray[np.float64]
    below: NDArray[np.float64]
    two: NDArray[np.float64]
    less_two: NDArray[np.float64]
    cost: NDArray[np.float64]
    later: NDArray[np.float64]


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
    """[pairs of positions], where incidents need three trucks."""
    everything: NDArray[np.float64]
    """[1] ones."""
    cost: NDArray[np.float64]
    late: NDArray[np.float64]
    """[1]"""
    points: NDArray[np.float64]
    moves: NDArray[np.float64]
    """[3, N] the last points of the search, and the plain moves from them."""
    settled: NDArray[np.int64]
    known: NDArray[np.int64]
    last: NDArray[np.float64]
    """[1] of each lane: whether it has settled, how many points count, and how far the last move went."""


class Settled(NamedTuple):
    """The fixed point of a state: D and p of each truck, and the late incidents per day."""

    idle: NDArray[np.int64]
    """[N] whether each truck is idle."""
    demand: NDArray[np.float64]
    busy: NDArray[np.float64]
    """[N + outside]"""
    late: float


@dataclass(frozen=True, eq=False, kw_only=True)
class QueueingPicture:
    """The approximate costs of closest-first in any state."""

    name: str
    """The policy that it is for, for messages."""
    problem: DispatchProblem
    horizon: float
    """n or m."""
    relaxing: bool
    printed_chances: bool = False
    printed_rates: bool = False

    @cached_property
    def independent(self) -> IndependentPicture:
        """The order of closest-first."""
        return IndependentPicture(self.problem, self.problem.order)

    @cached_property
    def horizon_days(self) -> float:
        """T."""
        share = 1.0
        if self.relaxing:
            idle = idle_distribution(self.problem)
            share = float(idle @ np.arange(len(idle))) / self.problem.num_trucks
        return self.horizon * share / self.problem.returns_per_day

    @property
    def proven(self) -> bool:
        """Whether there is one fixed point, and bounds on prices hold."""
        return self.rising and not self.printed_chances and not self.printed_rates

    @property
    def rising(self) -> bool:
        """Whether the chances rise with the load of a truck, and so does the smallest fixed point with busy trucks."""
        return self.printed_chances or self.horizon >= (1.0 if self.relaxing else 2.0)

    @cached_property
    def queues(self) -> Queues:
        """The queues as the kernels see them."""
        problem, walks = self.problem, self.independent.walks
        queues = Queues(
            walks, walks.truck.reshape(-1), float(problem.returns_per_day), float(self.horizon), self.relaxing,
            self.printed_chances, self.printed_rates, self.proven, self.rising,
            10.0 * walks.stop * problem.total_incidents_per_day, np.zeros(problem.num_trucks),
        )  # fmt: skip
        room = self.room().alone
        request_rates(queues, room.busy, room, room.asked)
        return queues._replace(first_demand=room.asked[: problem.num_trucks].copy())

    def room(self) -> LanesRoom:
        """Room for one thread."""
        num_trucks, num_all = self.problem.num_trucks, self.problem.num_trucks + self.independent.num_outside
        depth = self.independent.walks.depth

        def lanes(num: int) -> NDArray[np.float64]:
            return np.zeros(num * LANES)

        alone = LoneRoom(
            np.zeros(num_all), np.zeros(num_all), np.zeros(num_all), np.zeros(num_trucks),
            np.zeros(num_trucks, np.int64),
        )  # fmt: skip
        return LanesRoom(
            alone, np.zeros(num_trucks * LANES, np.int64), lanes(num_trucks), lanes(num_all), lanes(num_all),
            lanes(num_all), lanes(num_all + BLOCK), lanes(num_all + BLOCK),
            lanes(comb(depth, 2) if self.independent.num_outside == 3 else 1), np.ones(LANES), lanes(1), lanes(1),
            np.zeros((REMEMBERED, num_trucks * LANES)), np.zeros((REMEMBERED, num_trucks * LANES)),
            np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), lanes(1),
        )  # fmt: skip

    def prepare(self) -> None:
        """Lay out what the kernels need, before several threads ask for it at once."""
        _ = self.queues, self.horizon_days

    def idle_trucks(self, idle: NDArray[np.int64]) -> NDArray[np.int64]:
        """[N] 1 for the trucks that are idle when `idle` [I] are: the first ones of each station."""
        trucks = self.problem.trucks
        place = np.arange(self.problem.num_trucks) - np.repeat(self.independent.first_truck[:-1], trucks)
        return (place < np.repeat(idle, trucks)).astype(np.int64)

    def taken_trucks(self, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.int64]:
        """[teams, k] the trucks that become busy when each team goes: the last idle ones of its stations; -1: none."""
        stations = self.problem.team_stations[teams].astype(np.int64)
        nth = np.ones_like(stations)
        for place in range(1, stations.shape[1]):
            nth[:, place] = np.where(stations[:, place] == stations[:, place - 1], nth[:, place - 1] + 1, 1)
        taken: NDArray[np.int64] = np.where(
            stations >= 0, self.independent.first_truck[stations] + idle[stations] - nth, -1
        )
        return taken

    def settle(self, idle: NDArray[np.int64]) -> Settled:
        """The fixed point of the state with `idle` [I] idle trucks."""
        return self.settle_from(self._usual_demand if self.proven else self.queues.first_demand, idle)

    @cached_property
    def _usual_demand(self) -> NDArray[np.float64]:
        """[N] D where every truck is idle, which is close to that of any other state."""
        return self.settle_from(self.queues.first_demand, self.problem.trucks).demand

    def settle_from(self, demand: NDArray[np.float64], idle: NDArray[np.int64]) -> Settled:
        """The fixed point of the state with `idle` [I] idle trucks that a search from `demand` [N] finds."""
        room, flags = self.room(), self.idle_trucks(idle)
        start_from(demand, flags, LANES, room)
        if settle_lanes(1, self.queues, room.demand, room.late, room) >= 0:
            raise self.not_converged(idle)
        return Settled(flags, room.demand[::LANES].copy(), room.busy[::LANES].copy(), float(room.late[0]))

    def late_without(self, state: Settled, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.float64]:
        """[teams] the late incidents per day at the fixed point of the state without each team."""
        late = np.empty(len(teams))
        taken = self.taken_trucks(idle, teams)
        failed = settle_teams(np.arange(len(teams)), taken, self.queues, state.idle, state.demand, late, self.room())
        if failed >= 0:
            raise self.not_converged(idle - self.problem.teams[teams[failed]])
        return late

    def late_of_best(
        self,
        state: Settled,
        idle: NDArray[np.int64],
        teams: NDArray[np.int64],
        p_late: NDArray[np.float64],
        num_best: int,
    ) -> NDArray[np.float64]:
        """[teams] as `late_without`, but NaN for teams that cannot be among the `num_best` of least P(late) + price."""
        late = np.full(len(teams), np.nan)
        taken = self.taken_trucks(idle, teams)
        least = p_late + self.least_prices(state, taken) + NEGLIGIBLE
        ranked = np.argsort(least, kind="stable")
        failed = settle_best(
            ranked, least, p_late, self.horizon_days, state.late, np.empty(num_best), taken, self.queues, state.idle,
            state.demand, late, self.room(),
        )  # fmt: skip
        if failed >= 0:
            raise self.not_converged(idle - self.problem.teams[teams[failed]])
        return late

    def least_prices(self, state: Settled, taken: NDArray[np.int64]) -> NDArray[np.float64]:
        """[teams] lower bounds (2) on the prices of the teams of these trucks [teams, k], all of one size."""
        problem, num_all = self.problem, len(state.busy)
        size = int((taken[0] >= 0).sum())
        trucks, load = taken[:, :size], state.demand / problem.returns_per_day
        rise = np.zeros(num_all)
        rise[: len(load)] = state.idle / (self.horizon * (1.0 if self.relaxing else 1.0 + load))
        single, pair, harm = np.zeros(num_all), np.zeros((num_all, num_all)), np.zeros((num_all, num_all))
        find_slopes(
            self.independent.walks, self._falls, state.busy, rise, size, self.least_chance, single, pair,
            harm, self._bounds_room(),
        )  # fmt: skip
        least = np.empty(len(taken))
        combine(trucks, rise, rise / np.maximum(state.busy, LEAST_BUSY), single, pair, harm, load, least)
        # What the walks leave out, and what the fixed points are off by.
        margin = 4.0 * self.least_chance * self._cost_rate + 1e-9 * abs(state.late)
        return self.horizon_days * (least - margin)

    @cached_property
    def least_chance(self) -> float:
        """The chance at which walks of bounds end: what they leave out of a price is a twentieth of `NEGLIGIBLE`."""
        return float(np.clip(NEGLIGIBLE / (80.0 * self.horizon_days * max(self._cost_rate, 1e-300)), 1e-13, 1e-8))

    @cached_property
    def _cost_rate(self) -> float:
        """Σ_j λ_j × the largest cost in absolute value."""
        largest = np.abs(np.where(np.isfinite(self.problem.cost), self.problem.cost, 0.0)).max()
        return self.problem.total_incidents_per_day * float(largest)

    @cached_property
    def _falls(self) -> Falls:
        """The falls of every demand point."""
        problem, walks = self.problem, self.independent.walks
        sizes = [num_below(k, walks.depth) for k in problem.trucks_needed.tolist()]
        first_fall = starts(sizes)
        falls = Falls(
            first_fall, np.zeros(int(first_fall[-1])), np.zeros(problem.num_points), np.zeros(problem.num_points)
        )
        # A few points at a time, with the costs of each side by side.
        for first in range(0, problem.num_points, 16):
            costs = np.ascontiguousarray(problem.cost[:, first : first + 16].T)
            find_falls(first, walks, costs, falls)
        return falls

    def _bounds_room(self) -> BoundsRoom:
        """Room for one thread."""
        num = self.problem.num_trucks + self.independent.num_outside
        pairs = num_below(2, num) if self.independent.num_outside == 3 else 1
        one, two = np.zeros((6, num)), np.zeros((2, pairs))
        return BoundsRoom(
            one[0],
            one[1],
            one[2],
            one[3],
            one[4],
            one[5],
            two[0],
            two[1],
            np.zeros(max(num, pairs)),
            np.zeros(num * num),
        )

    def late_in(self, start: int, stop: int) -> NDArray[np.float64]:
        """[stop - start] the late incidents per day at the fixed points of a range of states."""
        late = np.empty(stop - start)
        failed = settle_states(start, stop, self.problem.trucks, self.queues, late, self.room())
        if failed >= 0:
            raise self.not_converged(np.array(np.unravel_index(failed, tuple(self.problem.trucks + 1))))
        return late

    def not_converged(self, idle: NDArray[np.int64]) -> NotConvergedError:
        """What to say when a search found no fixed point."""
        problem = self.problem
        load = problem.total_incidents_per_day / (problem.returns_per_day * problem.num_trucks)
        return NotConvergedError(
            f"{self.name}: no fixed point was found for {idle.tolist()} idle trucks by station, "
            f"at a load of {load:.3g} incidents per truck and busy time"
        )
