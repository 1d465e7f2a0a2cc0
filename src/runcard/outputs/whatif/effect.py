"""What changes of a department do, kind by kind: exactly where the states allow it, else simulated.

Policies are solved in both cities. Both meet the same incidents at the same moments where they are simulated, and a
unit that both have is busy as long with an incident in both (see `simulate/shifts.py`); `assess/change.py` says what
the difference is.

Trucks from outside come as far after the changes as before (see `outside.py`).
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from runcard.assess.change import FleetChange
from runcard.assess.exact import assess_exactly
from runcard.assess.outcome import FleetOutcome
from runcard.assess.policy_choice import best_policy, busy_part, is_small, policy_note, worse_note
from runcard.assess.simulated import simulated_policies
from runcard.assess.steps import NO_STEPS, NamedSteps, Steps
from runcard.assess.team_shares import TeamShares, exact_shares
from runcard.city.model import LATE, City
from runcard.mdp.problem import MINUTES, P_LATE
from runcard.outputs.whatif.areas import area_effects
from runcard.outputs.whatif.changes import CityChange, apply_changes, change_words, changed_kinds
from runcard.outputs.whatif.outside import same_outside
from runcard.outputs.whatif.result import (
    Effect,
    KindEffect,
    PointMeans,
    UnitEffect,
    days_per_year,
)
from runcard.outputs.whatif.words import rate_words
from runcard.policy.optimal import NAME as OPTIMAL
from runcard.policy.solve import check_size, policy_name
from runcard.policy.solve_options import DEFAULTS, SolveOptions

CLOSEST: Final = "closest-first"
INCIDENTS: Final = 200_000
"""Simulated in each city under each policy, where nothing else is said."""


def find_effect(
    city: City,
    changes: Sequence[CityChange],
    *,
    policy: str | None = None,
    period: str | None = None,
    incidents: int | None = None,
    seed: int = 1,
    options: SolveOptions = DEFAULTS,
    steps: Steps = NO_STEPS,
) -> Effect:
    """What changes of a city change under a policy, the best one that the size allows if none is named.

    Rates are the means of the week, or those of one `period`. `incidents` are simulated in each city where there are
    too many states; if they are given, all kinds are simulated.
    """
    began = time.perf_counter()
    name = None if policy is None else policy_name(policy)
    before, after = city, apply_changes(city, changes)
    before, after = (one.of_week if period is None else one.in_period(period) for one in (before, after))
    of_period = None if period is None else city.period(period)
    changed = changed_kinds(before, after)
    found, notes = {}, list[str]()
    for kind in before.kinds:
        named = steps if len(before.kinds) == 1 else NamedSteps(steps, kind)
        old = before.of_kind(kind)
        new = same_outside(old, after.of_kind(kind)) if kind in changed else old
        work = _Work(kind, old, new, _names(old, new, name), seed, options, named, asked=name is not None)
        exact = incidents is None and all(is_small(one) for one in (old, new))
        found[kind] = work.exactly() if exact else work.simulated(incidents or INCIDENTS)
        if found[kind].policies[0].name != work.names[0]:
            note = worse_note(work.names[0])
            notes.append(f"{kind}: {note}" if before.said(kind) else note)
        if note := policy_note(max(old, new, key=busy_part), work.names[0]):
            notes.append(f"{kind}: {note}" if before.said(kind) else note)
    simulated = any(not one.exact for one in found.values())
    if any(standard.weight != 1.0 for standard in city.standards):
        notes.append("Missed standards count with their weights.")
    if city.objective != LATE:
        notes.append("The objective of the city counts minutes, so units are not sent for the fewest misses alone.")
    if city.has_periods:
        notes.append(rate_words(of_period))
    return Effect(
        before=before,
        after=after,
        changes=tuple(change_words(before, after)),
        kinds=found,
        areas=area_effects(before, after, found, days_per_year=days_per_year(of_period)),
        seconds=time.perf_counter() - began,
        incidents=(incidents or INCIDENTS) if simulated else None,
        asked_to_simulate=incidents is not None,
        notes=tuple(notes),
        period=of_period,
    )


def _names(before: City, after: City, name: str | None) -> tuple[str, str]:
    """The recommended policy of a kind, and closest-first."""
    if name is not None:
        for one in (before, after):
            check_size(one.trucks, [name], kind=one.said(one.kinds[0]))
    return name or best_policy(before, after), CLOSEST


@dataclass(frozen=True, eq=False)
class _Work:
    """What one kind of units needs to know."""

    kind: str
    before: City
    after: City
    """As the kind sees it; the same city, if nothing changes for it."""
    names: tuple[str, str]
    seed: int
    options: SolveOptions
    steps: Steps
    asked: bool
    """Whether somebody named the policy."""

    def _cities(self) -> list[tuple[City, Steps]]:
        """The cities to solve: one, if nothing changes."""
        if self.before is self.after:
            return [(self.before, self.steps)]
        return [(self.before, NamedSteps(self.steps, "before")), (self.after, NamedSteps(self.steps, "after"))]

    def _effect(self, outcomes: Sequence[Mapping[str, FleetOutcome]], points: Sequence[PointMeans]) -> KindEffect:
        """What changes between the outcomes by policy of the first city and of the last one."""
        ends = outcomes[0], outcomes[-1]
        return KindEffect(
            kind=self.kind,
            policies=tuple(FleetChange(*(by_name[name] for by_name in ends)) for name in self.names),
            units=_units(self.kind, *(by_name[self.names[0]] for by_name in ends)),
            points=(points[0], points[-1]),
        )

    def exactly(self) -> KindEffect:
        """The effect, calculated."""
        outcomes, points = [], []
        for city, steps in self._cities():
            found = assess_exactly(city, list(dict.fromkeys(self.names)), self.options, steps=steps)
            best = found.fleets[0]
            steps.begin("areas")
            points.append(_means(exact_shares(best.policy, best.evaluation, threads=self.options.threads)))
            outcomes.append(dict(zip(found.names, found.fleets, strict=True)))
        return self._effect(outcomes, points)

    def simulated(self, incidents: int) -> KindEffect:
        """The effect, over so many incidents that need this kind.

        A policy that nobody named and that is worse than closest-first in one of the cities is given up for that.
        """
        outcomes, points = [], []
        for city, steps in self._cities():
            by_name, keeper = simulated_policies(
                city, self.names, self.options, steps, incidents=incidents, seed=self.seed, like=self.before
            )
            best = self.names[0]
            if not self.asked and best != OPTIMAL and keeper.is_worse(best, CLOSEST, self.kind):
                return replace(self, names=(CLOSEST, CLOSEST)).simulated(incidents)
            means = _means(keeper.shares()[best][self.kind])
            points.append(replace(means, batches=keeper.missed_at_points(best, self.kind)))
            outcomes.append(by_name)
        return self._effect(outcomes, points)


def _means(shares: TeamShares) -> PointMeans:
    """What each demand point gets."""
    problem = shares.problem
    return PointMeans(
        missed=shares.mean(problem.measures[P_LATE]),
        minutes=shares.mean(problem.measures[MINUTES]),
        closest=tuple(problem.station_ids[i] for i in problem.order[:, 0].tolist()),
    )


def _units(kind: str, before: FleetOutcome, after: FleetOutcome) -> tuple[UnitEffect, ...]:
    """How busy each unit is, by how busy the units of its station are."""
    homes, busy = [], []
    for fleet in (before, after):
        city = fleet.city
        homes.append({unit.unit_id if city.has_roster else unit.station_id: unit.station_id for unit in city.units})
        busy.append(dict(zip(fleet.problem.station_ids, fleet.busy_fractions.tolist(), strict=True)))
    units = []
    for unit_id in dict.fromkeys([*homes[0], *homes[1]]):
        old, new = (of.get(unit_id) for of in homes)
        parts = (None if old is None else busy[0][old], None if new is None else busy[1][new])
        units.append(UnitEffect(unit_id, kind, old, new, *parts))
    return tuple(units)
