"""The queues of a dispatch problem: fixed points of its states, and late incidents per day without its teams."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from runcard.errors import NotConvergedError
from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.independent import IndependentTrucks, Walks
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.queueing.fixed_point import late_at_fixed_point, request_rates
from runcard.mdp.queueing.prices import find_savings, late_of_states, late_without_teams

NEGLIGIBLE = 1e-8
"""Late incidents: a team that can be better by no more than that need not be looked at."""


class QueueArrays(NamedTuple):
    """The queues as the kernels see them."""

    walks: Walks
    returns_per_day: float
    horizon: float
    relaxing: bool
    printed_chances: bool
    printed_rates: bool
    unique: bool
    """As in `TruckQueues`."""
    horizon_days: float
    """T."""
    left_out: float
    """What may come and go of a rate because walks stop."""
    first_demand: Floats
    """[N] D for p = 0."""


class FixedPoint(NamedTuple):
    """The fixed point of a state: D and p of each truck, and the late incidents per day."""

    idle: Ints
    """[N] 1 for idle trucks, 0 for busy ones."""
    demand: Floats
    """[N]"""
    busy: Floats
    """[N + outside]"""
    late: float


@dataclass(frozen=True, eq=False, kw_only=True)
class TruckQueues:
    """The trucks of a problem as queues (see the package)."""

    name: str
    """The policy that they are for, for messages."""
    problem: DispatchProblem
    horizon: float
    """n or m."""
    relaxing: bool
    """Whether T is n/(μ+D), not m/μ."""
    printed_chances: bool = False
    """Whether the two relative costs of a queue are swapped, as in the paper."""
    printed_rates: bool = False
    """Whether an incident counts for every team that it may ask, as in the paper."""

    @property
    def rising(self) -> bool:
        """Whether chances rise with the rates, so that there is a smallest fixed point."""
        return self.printed_chances or self.horizon >= (1.0 if self.relaxing else 2.0)

    @property
    def unique(self) -> bool:
        """Whether the smallest fixed point is the only one."""
        return self.rising and not self.printed_chances and not self.printed_rates

    @cached_property
    def horizon_days(self) -> float:
        """T."""
        share = 1.0
        if self.relaxing:
            idle = self.problem.levels.idle_distribution
            share = float(idle @ np.arange(len(idle))) / self.problem.num_trucks
        return self.horizon * share / self.problem.returns_per_day

    @cached_property
    def independent(self) -> IndependentTrucks:
        """The orders of closest-first."""
        return IndependentTrucks(self.problem, self.problem.order)

    @cached_property
    def arrays(self) -> QueueArrays:
        """The queues as the kernels see them."""
        problem, left_out = self.problem, 10.0 * self.independent.stop * self.problem.total_incidents_per_day
        arrays = QueueArrays(
            self.independent.walks, float(problem.returns_per_day), self.horizon, self.relaxing, self.printed_chances,
            self.printed_rates, self.unique, self.horizon_days, left_out, np.zeros(problem.num_trucks),
        )  # fmt: skip
        asked = np.zeros(len(arrays.walks.station))
        request_rates(arrays, np.zeros_like(asked), asked)
        return arrays._replace(first_demand=asked[: problem.num_trucks].copy())

    def idle_trucks(self, idle: Ints) -> Ints:
        """[N] 1 for the trucks that are idle when `idle` [I] are: the first ones of each station."""
        trucks = self.problem.trucks
        place = np.arange(self.problem.num_trucks) - np.repeat(self.independent.first_truck[:-1], trucks)
        return (place < np.repeat(idle, trucks)).astype(np.int64)

    def taken_trucks(self, idle: Ints, teams: Ints) -> Ints:
        """[teams, k] the trucks that become busy when each team goes: the last idle ones of its stations; -1: none."""
        stations = self.problem.teams.stations[teams].astype(np.int64)
        nth = np.ones_like(stations)
        for place in range(1, stations.shape[1]):
            nth[:, place] = np.where(stations[:, place] == stations[:, place - 1], nth[:, place - 1] + 1, 1)
        return np.asarray(np.where(stations >= 0, self.independent.first_truck[stations] + idle[stations] - nth, -1))

    def fixed_point(self, idle: Ints) -> FixedPoint:
        """The fixed point of the state with `idle` [I] idle trucks."""
        flags = self.idle_trucks(idle)
        start, scratch = self.arrays.first_demand, self.independent.scratch()
        late, demand, busy = late_at_fixed_point(flags, start, self.arrays, scratch)
        self._check_found(np.array([late]), lambda _: idle)
        return FixedPoint(flags, demand, busy, late)

    def late_in(self, start: int, stop: int) -> Floats:
        """[stop - start] the late incidents per day at the fixed points of a range of states."""
        late = np.empty(stop - start)
        late_of_states(start, self.problem.trucks, self.arrays, self.independent.scratch(), late)
        self._check_found(late, lambda row: np.array(np.unravel_index(start + row, tuple(self.problem.trucks + 1))))
        return late

    def late_without(self, state: FixedPoint, idle: Ints, teams: Ints) -> Floats:
        """[teams] the late incidents per day without each team; `state` is the fixed point of `idle` [I]."""
        nothing, order = np.zeros(len(teams)), np.arange(len(teams))
        return self._late_without(state, idle, teams, order, nothing, nothing, len(teams))

    def late_without_best(
        self,
        state: FixedPoint,
        idle: Ints,
        teams: Ints,
        cost: Floats,
        num_best: int,
    ) -> Floats:
        """[teams] as `late_without`, but infinite for teams that cannot be among the `num_best` of least cost + price.

        `cost` [teams] is that of each team now. Teams that are better by at most `NEGLIGIBLE` may be left out, too.
        """
        if num_best >= len(teams) or not self.unique:
            return self.late_without(state, idle, teams)
        # Every order is right. This one has the best teams early, also where all totals are negligible.
        ranked = np.argsort(cost + self._usual_prices[self.problem.teams.stations[teams]].sum(axis=1))
        saved = self._most_saved(state)[self.taken_trucks(idle, teams)].sum(axis=1)
        least = cost + self.horizon_days * (state.late - saved) + NEGLIGIBLE
        return self._late_without(state, idle, teams, ranked, cost, least, num_best)

    def _late_without(
        self, state: FixedPoint, idle: Ints, teams: Ints, ranked: Ints,
        cost: Floats, least: Floats, num_best: int,
    ) -> Floats:  # fmt: skip
        """[teams] what `late_without_teams` fills in, infinite for teams that it passes over."""
        late = np.full(len(teams), np.inf)
        late_without_teams(
            ranked, self.taken_trucks(idle, teams), cost, least, num_best, state.idle.copy(),
            state.demand if self.rising else self.arrays.first_demand, self.arrays, self.independent.scratch(), late,
        )  # fmt: skip
        self._check_found(late, lambda row: idle - self.problem.teams.counts[teams[row]])
        return late

    @cached_property
    def _usual_prices(self) -> Floats:
        """[I + 1] the price of one truck of each station when every truck is idle, then 0 for no truck."""
        state, singles = self.fixed_point(self.problem.trucks), np.flatnonzero(self.problem.teams.sizes == 1)
        late = self.late_without(state, self.problem.trucks, singles)
        return np.append(self.horizon_days * (late - state.late), 0.0)

    @cached_property
    def _least_cost(self) -> Floats:
        """[J] the cost of the cheapest team."""
        return np.asarray(self.problem.cost.min(axis=0))

    def _most_saved(self, state: FixedPoint) -> Floats:
        """[N + 1] the late incidents per day that are saved at most when each truck leaves, then 0 for no truck."""
        num, load = self.problem.num_trucks, state.demand / self.problem.returns_per_day
        spread = 1.0 / (self.horizon * (1.0 if self.relaxing else 1.0 + load))
        saving = np.empty(len(state.busy))
        find_savings(self.arrays.walks, state.busy, self._least_cost, saving)
        return np.append(spread * (saving[:num] + load * saving[:num].max()), 0.0)

    def _check_found(self, late: Floats, idle_of: Callable[[int], Ints]) -> None:
        """Raise an error for the first of several states without a fixed point, of which row n has idle_of(n) [I]."""
        missing = np.flatnonzero(np.isnan(late))
        if len(missing):
            problem = self.problem
            load = problem.total_incidents_per_day / (problem.returns_per_day * problem.num_trucks)
            idle = idle_of(int(missing[0])).tolist()
            raise NotConvergedError(
                f"{self.name}: no fixed point was found for {idle} idle trucks by station, "
                f"at a load of {load:.3g} incidents per truck and busy time"
            )
