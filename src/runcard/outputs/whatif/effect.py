"""What changes of a department do, kind by kind: exactly where the states allow it, else simulated (see `paired.py`).

**Exact.** Policies are solved and evaluated in both cities. With both numbers in [l, u] and [l', u'], the difference is
in [l' - u, u' - l]: proven, or estimated, as these are.

Trucks from outside come as far after the changes as before (see `outside.py`).
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from runcard.assess.exact import assess_exactly
from runcard.assess.outcome import FleetOutcome
from runcard.assess.policy_choice import best_policy, busy_part, is_small, policy_note, worse_note
from runcard.assess.steps import NO_STEPS, NamedSteps, Steps
from runcard.assess.team_shares import TeamShares, exact_shares
from runcard.city.model import LATE, City
from runcard.interval import Interval
from runcard.mdp.problem import MINUTES, P_LATE
from runcard.mdp.standards import rules_of
from runcard.outputs.whatif.areas import area_effects
from runcard.outputs.whatif.changes import Change, apply_changes, change_words, changed_kinds
from runcard.outputs.whatif.outside import same_outside
from runcard.outputs.whatif.paired import SimulatedCity, paired_effect
from runcard.outputs.whatif.result import (
    BeforeAfter,
    Effect,
    KindEffect,
    PointMeans,
    PolicyEffect,
    StandardEffect,
    UnitEffect,
    days_per_year,
    no_change,
    point_interval,
    sure_change,
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
    changes: Sequence[Change],
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

    @property
    def changed(self) -> bool:
        """Whether anything changes for this kind."""
        return self.before is not self.after

    def _cities(self) -> list[tuple[City, Steps]]:
        """The cities to solve: one, if nothing changes."""
        if not self.changed:
            return [(self.before, self.steps)]
        return [(self.before, NamedSteps(self.steps, "before")), (self.after, NamedSteps(self.steps, "after"))]

    def _effect(
        self,
        policies: Sequence[PolicyEffect],
        busy: Sequence[Mapping[str, float]],
        points: Sequence[PointMeans],
        *,
        exact: bool,
        proven: bool = False,
        converged: bool = True,
    ) -> KindEffect:
        return KindEffect(
            kind=self.kind,
            changed=self.changed,
            exact=exact,
            proven=proven,
            before=self.before,
            after=self.after,
            policies=tuple(policies),
            units=_units(self.kind, self.before, self.after, busy[0], busy[-1]),
            points=(points[0], points[-1]),
            converged=converged,
        )

    def exactly(self) -> KindEffect:
        """The effect, calculated."""
        names = list(dict.fromkeys(self.names))
        found, points = [], []
        for city, steps in self._cities():
            compared = assess_exactly(city.of_week, names, self.options, steps=steps)
            best = compared.first.fleets[self.kind]
            steps.begin("areas")
            points.append(_means(exact_shares(best.policy, best.evaluation, threads=self.options.threads)))
            found.append(compared)
        busy = [_busy_of(one.first.fleets[self.kind]) for one in found]
        ends = found[0], found[-1]
        policies = [_sure_effect(*(one[name].fleets[self.kind] for one in ends)) for name in self.names]
        proven, converged = all(one.proven for one in found), not any(one.failed for one in found)
        return self._effect(policies, busy, points, exact=True, proven=proven, converged=converged)

    def simulated(self, incidents: int) -> KindEffect:
        """The effect, over so many incidents that need this kind.

        A policy that nobody named and that is worse than closest-first in one of the cities is given up for that.
        """
        runs, points = [], []
        for city, steps in self._cities():
            run = SimulatedCity(city, self.names, self.options, steps)
            run.simulate(incidents, self.seed, like=self.before)
            runs.append(run)
            if not self.asked and self.names[0] != OPTIMAL and run.is_worse(*self.names):
                return replace(self, names=(CLOSEST, CLOSEST)).simulated(incidents)
            points.append(replace(_means(run.shares(self.names[0])), batches=run.missed_at_points()))
        policies = [paired_effect(name, runs[0], runs[-1]) for name in self.names]
        return self._effect(policies, [one.busy(self.names[0]) for one in runs], points, exact=False)


def _means(shares: TeamShares) -> PointMeans:
    """What each demand point gets."""
    problem = shares.problem
    return PointMeans(
        missed=shares.mean(problem.measures[P_LATE]),
        minutes=shares.mean(problem.measures[MINUTES]),
        closest=tuple(problem.station_ids[i] for i in problem.order[:, 0].tolist()),
    )


def _units(
    kind: str, before: City, after: City, busy_before: Mapping[str, float], busy_after: Mapping[str, float]
) -> tuple[UnitEffect, ...]:
    """How busy each unit is, by how busy the units of its station are."""
    homes = [
        {unit.unit_id if city.has_roster else unit.station_id: unit.station_id for unit in city.units}
        for city in (before, after)
    ]
    found = []
    for unit_id in dict.fromkeys([*homes[0], *homes[1]]):
        old, new = (one.get(unit_id) for one in homes)
        busy = (None if old is None else busy_before[old], None if new is None else busy_after[new])
        found.append(UnitEffect(unit_id, kind, old, new, *busy))
    return tuple(found)


def _busy_of(fleet: FleetOutcome) -> dict[str, float]:
    """The part of the time that a unit of each station is busy."""
    return dict(zip(fleet.problem.station_ids, fleet.evaluation.busy_fractions.tolist(), strict=True))


def _sure_effect(before: FleetOutcome, after: FleetOutcome) -> PolicyEffect:
    """What changes between two outcomes of a kind; if they are the same one, nothing does."""
    fleets = (before, after)
    same = before is after

    def change(numbers: Sequence[Interval]) -> BeforeAfter:
        return no_change(numbers[0]) if same else sure_change(*numbers)

    def both(numbers: Sequence[Interval | None]) -> BeforeAfter | None:
        known = [number for number in numbers if number is not None]
        return change(known) if len(known) == len(numbers) else None

    last = [fleet.evaluation.last_minutes for fleet in fleets]
    missed, minutes = [_missed(fleet) for fleet in fleets], [_minutes(fleet) for fleet in fleets]
    return PolicyEffect(
        name=before.policy.name,
        missed=change([fleet.missed for fleet in fleets]),
        first_minutes=change([point_interval(fleet.first_minutes) for fleet in fleets]),
        last_minutes=None if None in last else change([point_interval(mean) for mean in last]),
        standards=tuple(
            StandardEffect(rule.standard, both(late), both(times))
            for rule, late, times in zip(
                rules_of(before.city, before.problem),
                zip(*missed, strict=True),
                zip(*minutes, strict=True),
                strict=True,
            )
        ),
    )


def _missed(fleet: FleetOutcome) -> list[Interval | None]:
    """How often each standard, or each rule of a city without standards, is missed; None if there are no incidents."""
    return [of.missed for of in fleet.standards] if fleet.standards else [fleet.missed]


def _minutes(fleet: FleetOutcome) -> list[Interval | None]:
    """The mean minutes of the arrival that each standard is about, if that is known."""
    means = [of.minutes for of in fleet.standards] if fleet.standards else [fleet.first_minutes]
    return [None if mean is None else point_interval(mean) for mean in means]
