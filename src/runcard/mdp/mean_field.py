"""The mean field of a department: values for departments of any size, as a sum of small tables.

Demand points that are closest to the same station form a group. The stations that a group asks most often, as many as
fit in `local_states` states, are its neighbourhood. While a neighbourhood has k idle trucks, an incident of the group
takes an idle team of it: the first in its order, or, given values from before, the one with the smallest P(late) +
price. With fewer idle trucks it goes along its order through the whole city. Trucks are busy independently, those of
station i with chance p_i, so that group G is late c_G(p) times and takes R_Gi(p) trucks of station i a day,

    c_G(p) = Σ_x P(x; p) c_G(x),        R_Gi(p) = Σ_x P(x; p) r_Gi(x),

sums over the states x of its neighbourhood. A truck is asked at the rate D_i = Σ_G R_Gi / (expected idle trucks of i),

    dp_i/dt = D_i(p) (1 - p_i) - μ p_i.

The table of a group is its share of the late incidents along that path, H_G(x) = ∫ c_G(p(t)) dt, where its
neighbourhood starts in state x and the rest of the city with its steady chances. Only differences matter, so that a
horizon of 8/μ is enough. The value of a state of the department is h(f) = Σ_G H_G(f at the stations of G).

`mean_field_values` goes two rounds: along the order of closest-first, and then with the teams that are cheapest by the
values of the first round, so that the values are those of a policy that is nearly as good as the one they lead to.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from runcard.errors import NotConvergedError
from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.factored import FactoredValues, local_idle
from runcard.mdp.independent import IndependentTrucks
from runcard.mdp.kernels.independent import follow_order
from runcard.mdp.kernels.mean_field import fill_states, find_steady, follow_paths
from runcard.mdp.layout import starts
from runcard.mdp.problem import DispatchProblem
from runcard.response.teams import Teams
from runcard.threads import checked_threads, run_each

LOCAL_STATES = 256
"""Of a neighbourhood in the first round, and at least in the second."""
WHOLE_STATES = 8192
"""A department of at most this many states is one neighbourhood in the second round."""
LARGER_STATES = 1024
PATH_STATES = 25_000_000
"""In the second round, neighbourhoods are larger if the states along all paths are no more than this: some seconds."""

HORIZON = 8.0
"""In busy times 1/μ."""

STEPS = 6
"""Of a path; more of them change the values, but not what the decisions achieve."""

GRADING = 4.0
"""The last step is about e^4 times as long as the first: what differs between two states differs most at first."""
MAX_STEADY_STEPS = 2000

BATCH_STATES = 65536
"""Paths are followed as many at once as have this many states together."""


class Groups(NamedTuple):
    """The groups as the kernels see them. `stations` is padded with -1."""

    stations: Ints
    """[G, W]"""
    num_stations: Ints
    first_state: Ints
    """[G + 1] where the states of each group begin in `rates`."""
    rates: Floats
    """[states of all groups, 1 + W] late incidents per day, and trucks per day from each station of the group."""
    first_short: Ints
    """[G + 1] where the states of each group that take from elsewhere begin in `short_state`."""
    short_state: Ints
    first_entry: Ints
    """[short states + 1] where the stations that each takes from begin in `entry_station`."""
    entry_station: Ints
    entry_taken: Floats
    """Trucks per day, while the stations are as idle as in the steady state."""
    entry_scale: Floats
    """1 / the chance that the station has an idle truck in the steady state."""
    short_gain: Floats
    """[short states] the late incidents per day that trucks from elsewhere avoid in the steady state."""
    most_states: int


@dataclass(frozen=True, eq=False)
class MeanField:
    """The mean field of a problem whose incidents go along `order` [J, I] where they do not follow prices."""

    problem: DispatchProblem
    order: Ints
    local_states: int = LOCAL_STATES
    """A neighbourhood holds the stations that its points ask most often, as many as fit in this many states."""

    @cached_property
    def independent(self) -> IndependentTrucks:
        """The same order with every truck busy independently."""
        return IndependentTrucks(self.problem, self.order)

    @cached_property
    def busy(self) -> Floats:
        """[I] the steady busy chances along the order."""
        return self.independent.steady_busy()

    @cached_property
    def members(self) -> tuple[tuple[Ints, Ints], ...]:
        """The stations and the demand points of each group; points without incidents are in none."""
        alive = np.flatnonzero(self.problem.incidents_per_day > 0)
        points_of: dict[tuple[int, ...], list[Ints]] = {}
        for first in np.unique(self.order[alive, 0]):
            points = alive[self.order[alive, 0] == first]
            points_of.setdefault(self._most_asked(points), []).append(points)
        return tuple((np.array(stations), np.concatenate(points)) for stations, points in points_of.items())

    def _most_asked(self, points: Ints) -> tuple[int, ...]:
        """The stations that points ask most often, as many as a neighbourhood holds, in rising order."""
        independent, trucks = self.independent, self.problem.trucks
        chance = independent.with_outside(np.repeat(self.busy, trucks))
        asked = np.zeros_like(chance)
        follow_order(points, independent.walks, chance, independent.scratch(), asked)
        by_station = np.add.reduceat(asked[: self.problem.num_trucks], independent.first_truck[:-1])
        ranked = np.argsort(-by_station, kind="stable")
        sizes = np.cumprod((trucks[ranked] + 1).astype(np.float64))
        fitting = max(1, int(np.searchsorted(sizes, self.local_states, side="right")))
        return tuple(sorted(ranked[:fitting].tolist()))

    def values(self, before: FactoredValues | None = None, *, threads: int | None = None) -> FactoredValues:
        """The values when incidents take the team with the smallest P(late) + prices[team], or follow the order."""
        problem = self.problem
        groups = self._groups(before)
        steady, by_group = self.busy.copy(), np.zeros((len(self.members), problem.num_stations))
        moved = find_steady(groups, problem.trucks, problem.returns_per_day, steady, MAX_STEADY_STEPS, by_group)
        if moved > 1e-9:
            load = problem.total_incidents_per_day / (problem.returns_per_day * problem.num_trucks)
            raise NotConvergedError(
                f"mean field at a load of {load:.3g} incidents per truck and busy time: the steady busy chances still "
                f"change by {moved:.1e} after {MAX_STEADY_STEPS} steps"
            )
        grid = np.linspace(0.0, 1.0, STEPS + 1)
        days = HORIZON / problem.returns_per_day * np.expm1(GRADING * grid) / np.expm1(GRADING)
        has_station = np.zeros((len(self.members), problem.num_stations), np.bool_)
        for g, (stations, _) in enumerate(self.members):
            has_station[g, stations] = True

        first_states = [local_idle(problem.trucks[stations]) for stations, _ in self.members]
        values = [np.empty(len(of_group)) for of_group in first_states]

        batch_paths = max(1, BATCH_STATES // groups.most_states)

        def follow(batch: tuple[int, int]) -> None:
            g, first = batch
            part, stations = slice(first, first + batch_paths), self.members[g][0]
            active = np.flatnonzero(has_station[:, stations].any(axis=1))
            elsewhere = np.maximum(by_group.sum(axis=0) - by_group[active].sum(axis=0), 0.0)
            follow_paths(
                stations, first_states[g][part], active, g, groups, problem.trucks, problem.returns_per_day, steady,
                elsewhere, days, values[g][part],
            )  # fmt: skip

        batches = [
            (g, first) for g, of_group in enumerate(first_states) for first in range(0, len(of_group), batch_paths)
        ]
        run_each(follow, batches, checked_threads(threads))
        tables = np.concatenate([of_group - of_group[-1] for of_group in values])
        return FactoredValues(
            problem,
            tuple(stations for stations, _ in self.members),
            tuple(points for _, points in self.members),
            tables,
            steady,
        )

    def _groups(self, before: FactoredValues | None) -> Groups:
        """What each group costs and takes in every state of its neighbourhood."""
        problem = self.problem
        width = max(len(stations) for stations, _ in self.members)
        padded = np.full((len(self.members), width), -1, np.int64)
        rates = []
        shorts: list[tuple[int, int, Ints, Floats, float]] = []
        for g, (stations, points) in enumerate(self.members):
            padded[g, : len(stations)] = stations
            num_states = int(np.prod(problem.trucks[stations] + 1))
            late, taken = np.zeros(num_states), np.zeros((num_states, width))
            listed = Teams.of(problem.trucks[stations], problem.teams.max_size)
            teams = problem.teams.numbers(np.where(listed.stations >= 0, stations[listed.stations], -1))
            local = listed.counts.astype(np.int64)
            if before is None:
                rank, price = _order_rank(self.order, stations, points, local), np.zeros((num_states, len(teams)))
            else:
                rank, price = problem.cost[np.ix_(teams, points)], before.local_prices(stations, local)
            fill_states(
                stations, problem.trucks, points, problem.incidents_per_day[points], problem.trucks_needed[points],
                problem.cost, rank, price, teams, listed.sizes, local, late, taken,
            )  # fmt: skip
            shorts += [(g, *entry) for entry in self._short_states(stations, points, late, taken)]
            rates.append(np.concatenate([late[:, None], taken], axis=1))
        sizes = [len(of_group) for of_group in rates]
        of_group = np.array([short[0] for short in shorts], np.int64)
        entry_station = np.concatenate([short[2] for short in shorts]).astype(np.int64)
        somebody_idle = 1.0 - self.busy**problem.trucks
        return Groups(
            stations=padded,
            num_stations=np.array([len(stations) for stations, _ in self.members], np.int64),
            first_state=starts(sizes),
            rates=np.concatenate(rates),
            first_short=np.searchsorted(of_group, np.arange(len(self.members) + 1)).astype(np.int64),
            short_state=np.array([short[1] for short in shorts], np.int64),
            first_entry=starts([len(short[2]) for short in shorts]),
            entry_station=entry_station,
            entry_taken=np.concatenate([short[3] for short in shorts]),
            entry_scale=1.0 / somebody_idle[entry_station],
            short_gain=np.array([short[4] for short in shorts]),
            most_states=max(sizes),
        )

    def _short_states(
        self,
        stations: Ints,
        points: Ints,
        late: Floats,
        taken: Floats,
    ) -> list[tuple[int, Ints, Floats, float]]:
        """The states with too few idle trucks, and what they take and avoid elsewhere.

        What they cost if nothing is idle elsewhere, and take here, is added to `late` and `taken`.
        """
        problem, independent = self.problem, self.independent
        idle = local_idle(problem.trucks[stations])
        total, needed = idle.sum(axis=1), problem.trucks_needed[points]
        found = []
        for x in np.flatnonzero(total < needed.max()).tolist():
            chance = independent.with_outside(np.repeat(self.busy, problem.trucks))
            for a, i in enumerate(stations):
                first = independent.first_truck[i]
                chance[first : first + idle[x, a]] = 0.0
                chance[first + idle[x, a] : first + problem.trucks[i]] = 1.0
            asked = np.zeros_like(chance)
            short = points[needed > total[x]]
            avoided = -follow_order(short, independent.walks, chance, independent.scratch(), asked)
            sent = np.add.reduceat((asked * (1.0 - chance))[: problem.num_trucks], independent.first_truck[:-1])
            taken[x, : len(stations)] += sent[stations]
            sent[stations] = 0.0
            elsewhere = np.flatnonzero(sent > 1e-12 * problem.total_incidents_per_day)
            # With nothing idle elsewhere, the idle trucks of the neighbourhood go alone.
            team = problem.teams.number(np.repeat(stations, idle[x]).tolist())
            alone = float(problem.incidents_per_day[short] @ problem.cost[team, short])
            late[x] += alone
            found.append((x, elsewhere, sent[elsewhere], avoided + alone))
        return found


def mean_field_values(problem: DispatchProblem, *, threads: int | None = None) -> FactoredValues:
    """The values of the mean field after two rounds, the first along the order of closest-first."""
    first = MeanField(problem, problem.order)
    closest_first = first.values(threads=threads)
    return MeanField(problem, problem.order, _states_of_second(problem)).values(closest_first, threads=threads)


def _states_of_second(problem: DispatchProblem) -> int:
    """The most states of a neighbourhood in the second round."""
    if problem.num_states <= WHOLE_STATES:
        return WHOLE_STATES
    groups = len(np.unique(problem.order[:, 0]))
    return LARGER_STATES if groups * LARGER_STATES**2 <= PATH_STATES else LOCAL_STATES


def _order_rank(order: Ints, stations: Ints, points: Ints, local: Ints) -> Floats:
    """[teams, points] a number that is smallest for the idle team that comes first in the order of a point.

    The first k idle trucks in an order have the lexicographically smallest sorted positions; as digits of a number.
    """
    position = np.argsort(np.argsort(np.argsort(order[points], axis=1)[:, stations], axis=1), axis=1)
    rank = np.zeros((len(local), len(points)))
    base = float(len(stations) + 1)
    for n, team in enumerate(local):
        trucks = np.repeat(np.arange(len(stations)), team)
        digits = np.sort(position[:, trucks], axis=1)
        for digit in digits.T:
            rank[n] = rank[n] * base + digit
    return rank
