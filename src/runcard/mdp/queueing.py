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

where harm is taken at p + Δ. late(p + Δ) is known exactly for teams of up to two; of three or four trucks all but two
count like those that become busy afterwards, whichever two give the larger bound.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.errors import NotConvergedError
from runcard.mdp.independent import IndependentTrucks
from runcard.mdp.kernels.block_sum import SETS
from runcard.mdp.kernels.independent import num_below, whole_sets
from runcard.mdp.kernels.lanes import LANES
from runcard.mdp.kernels.queueing import request_rates
from runcard.mdp.kernels.queueing_best import add_pairs, bound_prices, settle_best
from runcard.mdp.kernels.queueing_bounds import find_falls
from runcard.mdp.kernels.queueing_lanes import (
    REMEMBERED,
    lay_out_lane_costs,
    settle_lanes,
    settle_states,
    settle_teams,
    start_from,
)
from runcard.mdp.layout import starts
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.queueing_arrays import (
    BoundsRoom,
    Falls,
    LaneCosts,
    LanesRoom,
    LoneRoom,
    PairGroups,
    Queues,
    Settled,
    Usual,
    lanes_block,
)

NEGLIGIBLE = 1e-8
"""Late incidents: a team that can be better by no more than that need not be looked at."""


ONLINE_STOP = 1e-11
"""The chance at which walks of single decisions end: prices are then off by about as much."""


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
    stop: float = 1e-15
    """The chance of going on at which the walk of a demand point along its order stops."""

    @cached_property
    def independent(self) -> IndependentTrucks:
        """The order of closest-first."""
        return IndependentTrucks(self.problem, self.problem.order, self.stop)

    def online(self) -> "QueueingPicture":
        """The same for single decisions: walks end earlier, where it is proven that there is one fixed point."""
        return replace(self, stop=ONLINE_STOP) if self.proven else self

    @cached_property
    def horizon_days(self) -> float:
        """T."""
        share = 1.0
        if self.relaxing:
            idle = self.problem.levels.idle_distribution
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
        largest = np.abs(np.where(np.isfinite(problem.cost), problem.cost, 0.0)).max()
        cost_rate = problem.total_incidents_per_day * max(float(largest), 1e-300)
        least_chance = float(np.clip(NEGLIGIBLE / (4.0 * self.horizon_days * cost_rate), 1e-13, 1e-8))
        queues = Queues(
            walks, self._lane_costs, walks.truck.reshape(-1), float(problem.returns_per_day), float(self.horizon),
            self.relaxing, self.printed_chances, self.printed_rates, self.proven, self.rising,
            self.independent.num_outside, self.horizon_days, float(largest), least_chance,
            10.0 * walks.stop * problem.total_incidents_per_day, np.zeros(problem.num_trucks),
        )  # fmt: skip
        room = self.room().alone
        request_rates(queues, room.busy, room, room.asked)
        return queues._replace(first_demand=room.asked[: problem.num_trucks].copy())

    @cached_property
    def _lane_costs(self) -> LaneCosts:
        """The costs for the lanes."""
        walks, needed = self.independent.walks, self.problem.trucks_needed.tolist()
        depth = min(walks.depth, walks.truck.shape[1])
        sizes = {k: sum(whole_sets(num_below(k - 1, b)) for b in range(k - 1, depth)) for k in set(needed)}
        first = starts([sizes[k] for k in needed])
        costs = LaneCosts(first, np.zeros(int(first[-1])))
        lay_out_lane_costs(walks, costs)
        return costs

    def room(self) -> LanesRoom:
        """Room for one thread."""
        num_trucks, num_all = self.problem.num_trucks, self.problem.num_trucks + self.independent.num_outside
        depth = self.independent.walks.depth
        sets = comb(depth, self.independent.num_outside - 1) + SETS
        lanes = lanes_block((2 * REMEMBERED + 1) * num_trucks + 5 * num_all + 3 * SETS + sets + 9)
        alone = LoneRoom(
            np.zeros(num_all), np.zeros(num_all), np.zeros(num_all), np.zeros(num_trucks),
            np.zeros(num_trucks, np.int64),
        )  # fmt: skip
        return LanesRoom(
            alone, np.zeros(num_trucks * LANES, np.int64), lanes(num_trucks), lanes(num_all), lanes(num_all),
            lanes(num_all), lanes(num_all + SETS), lanes(num_all + SETS),
            lanes(sets), np.ones(SETS * LANES), lanes(SETS), lanes(1),
            lanes(REMEMBERED * num_trucks).reshape(REMEMBERED, -1),
            lanes(REMEMBERED * num_trucks).reshape(REMEMBERED, -1),
            np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), lanes(1), lanes(5), lanes(1), lanes(1),
            np.zeros(self.problem.num_points, np.int64),
            np.zeros(2 * LANES, np.int64),
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
        stations = self.problem.teams.stations[teams].astype(np.int64)
        nth = np.ones_like(stations)
        for place in range(1, stations.shape[1]):
            nth[:, place] = np.where(stations[:, place] == stations[:, place - 1], nth[:, place - 1] + 1, 1)
        taken: NDArray[np.int64] = np.where(
            stations >= 0, self.independent.first_truck[stations] + idle[stations] - nth, -1
        )
        return taken

    def settle(self, idle: NDArray[np.int64]) -> Settled:
        """The fixed point of the state with `idle` [I] idle trucks."""
        return self.settle_from(self._usual.demand if self.proven else self.queues.first_demand, idle)

    @cached_property
    def _usual(self) -> Usual:
        """What holds where every truck is idle, which is close to what holds in any other state."""
        state = self.settle_from(self.queues.first_demand, self.problem.trucks)
        num = len(state.busy)
        extra = np.zeros((num, num))
        if self.proven:
            add_pairs(
                state.idle, state.demand, state.busy, state.late, 2, self.queues, self._falls, self._groups,
                self._bounds_room(), self.room(), np.empty((num, num)), extra,
            )  # fmt: skip
        return Usual(state.demand, extra)

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
        start = state.demand if self.rising else self.queues.first_demand
        failed = settle_teams(np.arange(len(teams)), taken, self.queues, state.idle, start, late, self.room())
        if failed >= 0:
            raise self.not_converged(idle - self.problem.teams.counts[teams[failed]])
        return late

    def late_of_best(
        self,
        idle: NDArray[np.int64],
        teams: NDArray[np.int64],
        p_late: NDArray[np.float64],
        num_best: int,
        *,
        prune: bool = True,
    ) -> tuple[NDArray[np.float64], float]:
        """[teams] as `late_without`, but NaN for teams that cannot be among the `num_best` of least P(late) + price.

        With it, the late incidents per day of the state itself, `idle` [I]. Without `prune` there is no NaN. What is
        here must be `proven`.
        """
        late = np.full(len(teams), np.nan)
        failed, now = settle_best(
            self.taken_trucks(idle, teams), p_late, num_best, prune, NEGLIGIBLE, self.queues, self._falls, self._groups,
            self.idle_trucks(idle), self._usual, late, self._bounds_room(), self.room(),
        )  # fmt: skip
        if failed != -1:
            raise self.not_converged(idle if failed == -2 else idle - self.problem.teams.counts[teams[failed]])
        return late, now

    def least_prices(self, state: Settled, taken: NDArray[np.int64]) -> NDArray[np.float64]:
        """[teams] lower bounds (2) on the prices of the teams of these trucks [teams, k], all of one size."""
        least = np.empty(len(taken))
        bound_prices(
            taken, self.queues, self._falls, self._groups, state.idle, state.demand, state.busy, state.late,
            self._bounds_room(), self.room(), least,
        )  # fmt: skip
        return self.horizon_days * least

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

    @cached_property
    def _groups(self) -> PairGroups:
        """The demand points that need two trucks."""
        problem, walks, falls = self.problem, self.independent.walks, self._falls
        point = np.flatnonzero((problem.trucks_needed == 2) & (problem.incidents_per_day > 0.0))
        num = len(point)
        point = np.append(point, np.full(-num % LANES, point[-1] if num else 0))
        rate = problem.incidents_per_day[point] * (np.arange(len(point)) < num)
        depth = min(walks.depth, walks.truck.shape[1])
        num_sets = num_below(2, depth)
        cost, fall = np.zeros((2, len(point), num_sets))
        for lane, j in enumerate(point):
            fall[lane] = falls.fall[falls.first_fall[j] : falls.first_fall[j] + num_sets]
            start = self._lane_costs.first[j]
            for b in range(1, depth):
                cost[lane, num_below(2, b) : num_below(2, b + 1)] = self._lane_costs.cost[start : start + b]
                start += whole_sets(b)

        def in_lanes(rows: NDArray[Any]) -> NDArray[Any]:
            """One row for each demand point, with those of a group side by side, as one array."""
            return rows.reshape(-1, LANES, rows.shape[1]).transpose(0, 2, 1).reshape(-1)

        return PairGroups(
            point, rate, falls.widest[point], walks.truck.shape[1], in_lanes(walks.truck[point]), num_sets,
            in_lanes(cost), in_lanes(fall),
        )  # fmt: skip

    def _bounds_room(self) -> BoundsRoom:
        """Room for one thread."""
        num = self.problem.num_trucks + self.independent.num_outside
        lanes = lanes_block(10 * (num + 1) + 10 + 2 * num * num)
        rows, ones = [lanes(num + 1) for _ in range(10)], [lanes(1) for _ in range(10)]
        return BoundsRoom(*rows, *ones, *[lanes(num * num) for _ in range(2)])

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
