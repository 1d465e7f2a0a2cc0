"""Two cities simulated with common random numbers, and the difference of what they miss.

Both cities meet the same incidents at the same moments, and a unit that both have is busy as long with an incident in
both (see `simulate/shifts.py`). Of each incident the chance to miss a standard counts, given the team that went, and
not whether it was missed: here a driving time decides nothing else, so its noise can be left out. With x_b and n_b the
sum of chances and the number of incidents of batch b, a missed fraction is Σx / Σn, and the interval of a difference is
that of the paired differences of the batches (see `simulate/result.py`).
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City, Standard
from runcard.mdp.problem import LAST_MINUTES, MINUTES, P_LATE, DispatchProblem
from runcard.outputs.steps import Steps, city_problem
from runcard.outputs.team_shares import ShareKeeper, TeamShares
from runcard.outputs.whatif.result import BeforeAfter, PolicyEffect, StandardEffect, no_change
from runcard.policy.base import Policy
from runcard.policy.closest_first import NAME as CLOSEST
from runcard.policy.closest_first import quick_closest_first
from runcard.policy.department import department_of
from runcard.policy.solve import solve_named
from runcard.policy.solve_options import SolveOptions
from runcard.simulate.engine import simulate_kinds
from runcard.simulate.result import Simulation, difference_interval, ratio_interval
from runcard.simulate.scenario import PAPER

Sums = tuple[NDArray[np.float64], NDArray[np.float64]]
"""By batch: the sum of a measure, and the number of incidents that it is about."""


class Rule(NamedTuple):
    """A standard, the chance [T, J] that a team misses it, and [J] the demand points that it is about.

    `minutes` [T, J] are those of the arrival that it is about, if that is the first or the last and they are known.
    """

    standard: Standard
    table: NDArray[np.float64]
    here: NDArray[np.bool_]
    minutes: NDArray[np.float64] | None


def rules_of(city: City, problem: DispatchProblem) -> list[Rule]:
    """The standards of a city of one kind; where it has none, what is in time at its demand points."""
    if not city.standards:
        rules = np.array([city.rule_of(point) for point in city.demand])
        first = {city.rule_of(point): city.standards_of(point)[0] for point in city.demand}
        late = problem.measures[P_LATE]
        return [Rule(first[one], late, rules == one, _minutes(first[one], problem)) for one in first]
    types, number = np.array([point.type for point in city.demand]), defaultdict[str, int](int)
    found = []
    for standard in city.standards:
        missed = problem.missed(number[standard.type])
        found.append(Rule(standard, missed, types == standard.type, _minutes(standard, problem)))
        number[standard.type] += 1
    return found


def _minutes(standard: Standard, problem: DispatchProblem) -> NDArray[np.float64] | None:
    """The mean time of the arrival that a standard is about, if it is known."""
    last = standard.arrivals == standard.trucks
    return problem.measures.get(MINUTES if standard.arrivals == 1 else LAST_MINUTES if last else "")


class SimulatedCity:
    """Policies of a city of one kind, solved, and what a simulation of them counts."""

    def __init__(
        self, city: City, names: Sequence[str], options: SolveOptions, steps: Steps, *, arrivals: bool = True
    ) -> None:
        (self._kind,) = city.kinds
        self._city, self._names, self._threads, self._steps = city, list(dict.fromkeys(names)), options.threads, steps
        self.problem = city_problem(city, arrivals=arrivals, steps=steps)
        self.rules = rules_of(city, self.problem)
        self._policies: dict[str, Policy] = {}
        for name in self._names:
            steps.begin(name)
            # The exact prices of closest-first, which nobody asks for here, can take a minute.
            solve = quick_closest_first if name == CLOSEST else partial(solve_named, name=name)
            self._policies[name] = solve(self.problem, options=options)
        departments = {name: department_of(city, {self._kind: one}) for name, one in self._policies.items()}
        self._keeper = ShareKeeper(city, departments)
        self._sums: dict[tuple[str, int, int], tuple[float, float]] = {}
        self._of_points: dict[int, Sums] = {}
        self._found: Simulation | None = None
        measures = self.problem.measures
        everywhere = np.ones(self.problem.num_points, np.bool_)
        self._measures = [(measures[P_LATE], everywhere), (measures[MINUTES], everywhere)]
        self._measures += [(measures[LAST_MINUTES], everywhere)] if LAST_MINUTES in measures else []
        self._first_rule = len(self._measures)
        self._measures += [(rule.table, rule.here) for rule in self.rules]
        self._measures += [(rule.minutes, rule.here) for rule in self.rules if rule.minutes is not None]

    def simulate(self, incidents: int, seed: int, *, like: City) -> None:
        """Simulate so many incidents; units that a city `like` this one has meet the same draws."""
        self._steps.begin(f"{incidents:,} incidents simulated")
        found = simulate_kinds(
            self._city,
            [{self._kind: self._policies[name]} for name in self._names],
            PAPER,
            incidents=incidents,
            precision=None,
            seed=seed,
            names=self._names,
            threads=self._threads,
            other_city=False,
            progress=lambda one: self._steps.part(min(1.0, one.part)),
            keep_records=self._keep,
            like=like,
        )
        self._found = found[self._kind]

    def _keep(self, name: str, batch: int, records: NDArray[np.void]) -> None:
        """Count who went to the incidents of a batch, and the chances that they miss standards."""
        self._keeper.keep(name, batch, records)
        if not len(records):
            return
        _, points, teams = self._keeper.who_went(name, records)
        if name == self._names[0]:
            chances = self.problem.measures[P_LATE][teams, points]
            num = self.problem.num_points
            sums, seen = (np.bincount(points, own, num).astype(np.float64) for own in (chances, np.ones(len(points))))
            self._of_points[batch] = sums, seen
        for number, (table, here) in enumerate(self._measures):
            own = here[points]
            self._sums[name, number, batch] = float(table[teams[own], points[own]].sum()), float(own.sum())

    def _of_batches(self, name: str, number: int) -> Sums:
        pairs = np.array([own for (one, of, _), own in sorted(self._sums.items()) if (one, of) == (name, number)])
        return pairs[:, 0], pairs[:, 1]

    def missed(self, name: str) -> Sums:
        """The weighted sum of missed standards."""
        return self._of_batches(name, 0)

    def first_minutes(self, name: str) -> Sums:
        """The minutes until the first unit is there."""
        return self._of_batches(name, 1)

    def last_minutes(self, name: str) -> Sums:
        """The minutes until the last unit is there, as simulated where there are too many teams for their means."""
        if LAST_MINUTES in self.problem.measures:
            return self._of_batches(name, 2)
        result = self.simulation.policies[self._names.index(name)]
        minutes = np.array([batch.last_mean * batch.incidents for batch in result.batches])
        return minutes, np.array([float(batch.incidents) for batch in result.batches])

    def standard(self, name: str, number: int) -> Sums:
        """How often one of its rules is missed."""
        return self._of_batches(name, self._first_rule + number)

    def standard_minutes(self, name: str, number: int) -> Sums | None:
        """The minutes of the arrival that one of its rules is about, if they are known."""
        if self.rules[number].minutes is None:
            return None
        before = sum(rule.minutes is not None for rule in self.rules[:number])
        return self._of_batches(name, self._first_rule + len(self.rules) + before)

    def missed_at_points(self) -> Sums:
        """[batch, J] what the first policy misses at each demand point."""
        sums, seen = np.zeros((2, 1 + max(self._of_points), self.problem.num_points))
        for batch, own in self._of_points.items():
            sums[batch], seen[batch] = own
        return sums, seen

    @property
    def simulation(self) -> Simulation:
        """What the simulation found itself."""
        assert self._found is not None  # it was simulated before
        return self._found

    def shares(self, name: str) -> TeamShares:
        """How often each team goes to each demand point under a policy."""
        return self._keeper.shares()[name][self._kind]

    def busy(self, name: str) -> dict[str, float]:
        """The part of the time that a unit of each station is busy under a policy."""
        fractions = self.simulation.policies[self._names.index(name)].busy_fractions.tolist()
        by_station = defaultdict[str, list[float]](list)
        for station_id, busy in zip(self.simulation.station_of, fractions, strict=True):
            by_station[station_id].append(busy)
        return {station_id: sum(own) / len(own) for station_id, own in by_station.items()}


def paired_effect(name: str, before: SimulatedCity, after: SimulatedCity) -> PolicyEffect:
    """What changes between two cities under a policy; if they are the same one, nothing does."""

    def change(of: Callable[[SimulatedCity], Sums | None]) -> BeforeAfter | None:
        old, new = of(before), of(after)
        if old is None or new is None or not (old[1].sum() and new[1].sum()):
            return None
        if before is after:
            return no_change(ratio_interval(*old))
        return BeforeAfter(ratio_interval(*old), ratio_interval(*new), difference_interval(old, new))

    missed, first = change(lambda one: one.missed(name)), change(lambda one: one.first_minutes(name))
    assert missed is not None  # every batch has incidents
    assert first is not None
    standards = tuple(
        StandardEffect(
            rule.standard,
            change(partial(SimulatedCity.standard, name=name, number=number)),
            change(partial(SimulatedCity.standard_minutes, name=name, number=number)),
        )
        for number, rule in enumerate(before.rules)
    )
    return PolicyEffect(name, missed, first, change(lambda one: one.last_minutes(name)), standards)
