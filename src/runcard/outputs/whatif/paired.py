"""Two cities simulated with common random numbers, and the difference of what they miss.

Both cities meet the same incidents at the same moments, and a unit that both have is busy as long with an incident in
both (see `simulate/shifts.py`). Of each incident the chance to miss a standard counts, given the team that went (see
`assess/chances.py`). The interval of a difference is that of the paired differences of the batches.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from runcard.assess.chances import ChanceKeeper, Sums
from runcard.assess.steps import Steps, city_problem
from runcard.assess.team_shares import TeamShares
from runcard.city.model import City
from runcard.mdp.standards import Rule
from runcard.outputs.whatif.result import BeforeAfter, PolicyEffect, StandardEffect, no_change
from runcard.plan.plan import plan_of
from runcard.policy.base import Policy
from runcard.policy.closest_first import NAME as CLOSEST
from runcard.policy.closest_first import quick_closest_first
from runcard.policy.solve import solve_named
from runcard.policy.solve_options import SolveOptions
from runcard.simulate.engine import simulate_kinds
from runcard.simulate.result import Simulation, difference_interval, ratio_interval
from runcard.simulate.scenario import PAPER


class SimulatedCity:
    """Policies of a city of one kind, solved, and what a simulation of them counts."""

    def __init__(
        self, city: City, names: Sequence[str], options: SolveOptions, steps: Steps, *, arrivals: bool = True
    ) -> None:
        (self._kind,) = city.kinds
        self._city, self._names, self._threads, self._steps = city, list(dict.fromkeys(names)), options.threads, steps
        self.problem = city_problem(city, arrivals=arrivals, steps=steps)
        self.policies: dict[str, Policy] = {}
        for name in self._names:
            steps.begin(name)
            # The exact prices of closest-first, which nobody asks for here, can take a minute.
            solve = quick_closest_first if name == CLOSEST else partial(solve_named, name=name)
            self.policies[name] = solve(self.problem, options=options)
        self._plans = {name: plan_of(city, {self._kind: policy}) for name, policy in self.policies.items()}
        self._keeper = ChanceKeeper(city, self._plans)
        self._found: Simulation | None = None

    @property
    def rules(self) -> list[Rule]:
        """Its standards, or what is in time at its demand points."""
        return self._keeper.rules[self._kind]

    def simulate(self, incidents: int, seed: int, *, like: City) -> None:
        """Simulate so many incidents; units that a city `like` this one has meet the same draws."""
        self._steps.begin(f"{incidents:,} incidents simulated")
        found = simulate_kinds(
            self._city,
            [{self._kind: self._plans[name].fleet(self._kind)} for name in self._names],
            PAPER,
            incidents=incidents,
            precision=None,
            seed=seed,
            names=self._names,
            threads=self._threads,
            other_city=False,
            progress=lambda one: self._steps.part(min(1.0, one.part)),
            keep_records=self._keeper.keep,
            like=like,
        )
        self._found = found[self._kind]

    def missed(self, name: str) -> Sums:
        """The weighted sum of missed standards."""
        return self._keeper.missed(name, self._kind)

    def is_worse(self, name: str, than: str) -> bool:
        """Whether a policy costs more than another one, beyond chance."""
        return self._keeper.is_worse(name, than, self._kind)

    def first_minutes(self, name: str) -> Sums:
        """The minutes until the first unit is there."""
        return self._keeper.first_minutes(name, self._kind)

    def last_minutes(self, name: str) -> Sums:
        """The minutes until the last unit is there, as simulated where there are too many teams for their means."""
        known = self._keeper.last_minutes(name, self._kind)
        if known is not None:
            return known
        result = self.simulation.policies[self._names.index(name)]
        minutes = np.array([batch.last_mean * batch.incidents for batch in result.batches])
        return minutes, np.array([float(batch.incidents) for batch in result.batches])

    def standard(self, name: str, number: int) -> Sums:
        """How often one of its rules is missed."""
        return self._keeper.standard(name, self._kind, number)

    def standard_minutes(self, name: str, number: int) -> Sums | None:
        """The minutes of the arrival that one of its rules is about, if they are known."""
        return self._keeper.standard_minutes(name, self._kind, number)

    def missed_at_points(self) -> Sums:
        """[batch, J] what the first policy misses at each demand point."""
        return self._keeper.missed_at_points(self._names[0], self._kind)

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
