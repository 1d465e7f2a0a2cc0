"""Why standards are missed: four parts, each at least 0, that add up to what a policy misses.

With c(a, j) the weighted chance that team a misses the standards of an incident at j, and f the idle units,

    start      the best team if it had no way to drive: what turnout and start alone make late
    distance   Σ_j λ_j min_a c(a, j) / Λ with every unit at home, less that: where stations are
    busy       Σ_f p(f) Σ_j λ_j min_{a of f} c(a, j) / Λ, less both: units that are away, in the states the policy meets
    choice     what the policy misses, less all three: what is given up now, for later or by habit

A better dispatch changes the last two only: less choice may mean more busy, and the other way round. Where incidents
are simulated, each mean is that over the incidents that were, which find the states as they are in the long run.
"""

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.aprons import start_minutes, with_aprons
from runcard.city.model import LATE, City, Link, Node, Station, Unit, taken_as_sound
from runcard.mdp.evaluate import costs_by_state
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.objective import with_objective
from runcard.mdp.problem import P_LATE, DispatchProblem
from runcard.mdp.rows import ValueRule

HERE: Final = "here"
AWAY: Final = "away"
PARTS: Final = ("start", "distance", "busy", "choice")
MANY_INCIDENTS: Final = 1 << 16
ROUNDING: Final = 1e-12
"""Of what is missed."""
FEW_TEAMS: Final = 32
"""Of the best, which are mostly enough."""
MANY_TEAMS: Final = 1 << 12
"""That are remembered in their order, a multiple of the few."""


@dataclass(frozen=True, slots=True)
class WhyMissed:
    """The parts of what is missed, per incident."""

    start: float
    distance: float
    busy: float
    choice: float

    def document(self) -> dict[str, float]:
        """The parts by name."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Reasons:
    """What the best team of each state misses in a city of one kind, whatever the policy."""

    city: City
    problem: DispatchProblem
    threads: int | None = None

    @cached_property
    def best_now(self) -> NDArray[np.float64]:
        """[states] what is missed per incident if the best of the idle teams goes everywhere."""
        problem = with_objective(self.problem, LATE)
        nothing_later = ValueRule(np.zeros(problem.num_states + VALUE_PADDING))
        costs = costs_by_state(problem, nothing_later, threads=self.threads)
        found: NDArray[np.float64] = costs / problem.total_incidents_per_day
        return found

    @cached_property
    def at_home(self) -> float:
        """The same with every unit at home."""
        return float(self.best_now[int(self.problem.trucks @ self.problem.layout.states.stride)])

    @cached_property
    def start(self) -> float:
        """The same if stations were where incidents are."""
        rates = self.problem.incidents_per_day
        return min(float(rates @ self.start_at) / self.problem.total_incidents_per_day, self.at_home)

    @cached_property
    def home_at(self) -> NDArray[np.float64]:
        """[J] what the best team misses at each demand point with every unit at home."""
        return best_of_all(self.problem)

    @cached_property
    def start_at(self) -> NDArray[np.float64]:
        """[J] what is missed at each demand point if a station with units enough is there."""
        still, needs = city_without_ways(self.city)
        chances: NDArray[np.float64] = best_of_all(dispatch_problem(still, minutes=False))[needs]
        return chances

    def why(self, missed: float, probability: NDArray[np.float64]) -> WhyMissed:
        """The parts of what a policy misses, by the probabilities of the states that it meets."""
        return add_up(missed, self.start, self.at_home, float(self.best_now @ probability))


def add_up(missed: float, start: float, home: float, available: float) -> WhyMissed:
    """The parts of what is missed, each at least 0 whatever rounding did, and 0 where there is only rounding."""
    rounding = ROUNDING * missed
    available = _at_most(missed, max(available, home), rounding)
    home = _at_most(available, home, rounding)
    start = _at_most(home, start, rounding)
    return WhyMissed(start, home - start, available - home, missed - available)


def _at_most(most: float, number: float, rounding: float) -> float:
    """A number that is at most another one: that one, or 0, if only rounding is between them."""
    if number >= most - rounding:
        return most
    return number if number > rounding else 0.0


def best_of_all(problem: DispatchProblem) -> NDArray[np.float64]:
    """[J] what the best team misses at each demand point with every unit at home."""
    late, size = problem.measures[P_LATE], np.minimum(problem.trucks_needed, problem.num_trucks)
    best = {number: late[problem.teams.of_size(number)].min(axis=0) for number in np.unique(size).tolist()}
    return np.array([best[number][j] for j, number in enumerate(size.tolist())])


@dataclass(eq=False)
class MetStates:
    """The states that a policy met at simulated incidents, and what the best of the idle teams would have missed."""

    reasons: Reasons
    num: int = 0
    sums: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    """What would be missed with no way to drive, with every unit at home, and by the best of those who were idle."""
    _waiting: list[tuple[NDArray[np.int64], NDArray[np.uint16]]] = field(default_factory=list)
    _num_waiting: int = 0
    _ranked: dict[tuple[int, int], NDArray[np.int32]] = field(default_factory=dict)

    def add(self, points: NDArray[np.int64], free: NDArray[np.uint16]) -> None:
        """Add incidents at demand points [n], which found [n, I] idle units at each station."""
        self._waiting.append((points, free.copy()))
        self._num_waiting += len(points)
        if self._num_waiting >= MANY_INCIDENTS:
            self._count()

    def why(self, missed: float) -> WhyMissed | None:
        """The parts of what the policy missed per incident; None if there was none."""
        self._count()
        return add_up(missed, *(self.sums / self.num).tolist()) if self.num else None

    def _count(self) -> None:
        """Add what waits to the sums: point by point, so that teams are gone through once for many incidents."""
        if not self._waiting:
            return
        points, free = (np.concatenate(column) for column in zip(*self._waiting, strict=True))
        size = np.minimum(self.reasons.problem.trucks_needed[points], free.sum(axis=1, dtype=np.int64))
        best = 0.0
        for point, number in {*zip(points.tolist(), size.tolist(), strict=True)}:
            best += self._best(point, number, free[(points == point) & (size == number)])
        self.sums += self.reasons.start_at[points].sum(), self.reasons.home_at[points].sum(), best
        self.num += len(points)
        self._waiting, self._num_waiting = [], 0

    def _best(self, point: int, size: int, free: NDArray[np.uint16]) -> float:
        """The sum of what the best idle teams of a size miss at a demand point, in states [n, I]."""
        problem, total = self.reasons.problem, 0.0
        teams, late = problem.teams.of_size(size), problem.measures[P_LATE][:, point]
        if (point, size) not in self._ranked:
            self._ranked[point, size] = _ranked(late, teams)[:MANY_TEAMS].astype(np.int32)
        ranked: NDArray[Any] = self._ranked[point, size]
        for first in range(0, teams.stop - teams.start, FEW_TEAMS):
            if first == MANY_TEAMS:
                ranked = _ranked(late, teams)
            some = ranked[first : first + FEW_TEAMS]
            fits: NDArray[np.bool_] = np.all(problem.teams.counts[some] <= free[:, None], axis=2)
            goes: NDArray[np.bool_] = np.any(fits, axis=1)
            total += float(late[some[fits[goes].argmax(axis=1)]].sum())
            free = free[~goes]
            if not len(free):
                break
        return total


def _ranked(late: NDArray[np.float64], teams: slice) -> NDArray[np.int64]:
    """The numbers of some teams by what they miss, the best first."""
    ranked: NDArray[np.int64] = teams.start + np.argsort(late[teams], kind="stable")
    return ranked


def city_without_ways(city: City) -> tuple[City, NDArray[np.int64]]:
    """A city of one node, with units enough, where each different need arises once; and [J] the need of each point."""
    points: dict[tuple[object, ...], int] = {}
    needs, first = [], []
    for point in city.demand:
        key = (point.type, *city.standards_of(point))
        if key not in points:
            points[key] = len(points)
            first.append(point)
        needs.append(points[key])
    most = max(city.trucks_for(point) for point in city.demand)
    kind = city.units[0].kind
    stations = tuple(Station(f"{HERE} {number}", HERE, most) for number in range(most))
    units = [Unit(f"{home.station_id}, {n}", home.station_id, kind) for home in stations for n in range(most)]
    rates = [max(point.incidents_per_day, 1.0) for point in first]
    with taken_as_sound():
        still = replace(
            city,
            nodes=(Node(HERE, 0.0, 0.0), Node(AWAY, 1.0, 0.0)),
            links=(Link(AWAY, AWAY, HERE, False, 1.0),),  # nobody takes it, but a city has roads
            stations=stations,
            units=tuple(units) if city.has_roster else (),
            demand=tuple(replace(p, node_id=HERE, incidents_per_day=r) for p, r in zip(first, rates, strict=True)),
            periods=(),
        )
        return with_aprons(still, start_minutes(city)), np.array(needs)
