"""Why standards are missed: four parts, each at least 0, that add up to what a policy misses.

With c(a, j) the weighted chance that team a misses the standards of an incident at j, and f the idle units,

    start      the best team if it had no way to drive: what turnout and start alone make late
    distance   Σ_j λ_j min_a c(a, j) / Λ with every unit at home, less that: where stations are
    busy       Σ_f p(f) Σ_j λ_j min_{a of f} c(a, j) / Λ, less both: units that are away, in the states the policy meets
    choice     what the policy misses, less all three: what is given up now, for later or by habit

A better dispatch changes the last two only: less choice may mean more busy, and the other way round.
"""

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.aprons import start_minutes, with_aprons
from runcard.city.model import LATE, City, Link, Node, Station, Unit, taken_as_sound
from runcard.mdp.evaluate import costs_by_state
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.objective import with_objective
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import ValueRule

HERE: Final = "here"
AWAY: Final = "away"
PARTS: Final = ("start", "distance", "busy", "choice")


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
        still, needs = city_without_ways(self.city)
        problem = with_objective(dispatch_problem(still, minutes=False), LATE)
        size = problem.teams.counts.sum(axis=1)
        least = [problem.cost[size == problem.trucks_needed[j], j].min() for j in range(problem.num_points)]
        chances = np.array(least)[needs]
        return min(float(self.problem.incidents_per_day @ chances) / self.problem.total_incidents_per_day, self.at_home)

    def why(self, missed: float, probability: NDArray[np.float64]) -> WhyMissed:
        """The parts of what a policy misses, by the probabilities of the states that it meets."""
        available = min(max(float(self.best_now @ probability), self.at_home), missed)
        home = min(self.at_home, available)
        start = min(self.start, home)
        return WhyMissed(start, home - start, available - home, missed - available)


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
