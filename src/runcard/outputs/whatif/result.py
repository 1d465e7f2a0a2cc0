"""What changes of a department change: every standard, response times, workloads and areas, before and after.

Kinds are added up as `assess/change.py` says it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.assess.change import Change, Difference, FleetChange
from runcard.assess.outcome import FleetOutcome
from runcard.city.model import DAYS_PER_YEAR, City
from runcard.city.periods import Period
from runcard.interval import Interval
from runcard.plan.words import CHANCE_ONLY


def days_per_year(period: Period | None) -> float:
    """The days of a year; of a period, as many days as it has hours in a year."""
    return DAYS_PER_YEAR if period is None else DAYS_PER_YEAR * period.part_of_week


@dataclass(frozen=True, slots=True)
class UnitEffect:
    """How busy a unit is under the recommended policy; None where it is not there.

    The units of one kind and station share their work, so each has the mean of its station. Where there is no roster,
    a station stands for its trucks.
    """

    unit_id: str
    kind: str
    station_before: str | None
    station_after: str | None
    busy_before: float | None
    busy_after: float | None


@dataclass(frozen=True, eq=False, kw_only=True)
class PointMeans:
    """[J] what each demand point of a kind gets in the long run under the recommended policy; nan if not known."""

    missed: NDArray[np.float64]
    minutes: NDArray[np.float64]
    """Until the first unit is there."""
    closest: tuple[str, ...]
    """The station with a unit of the kind that has the shortest drive there."""
    batches: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    """[batch, J] the sum of missed standards, and the incidents, in each batch of a simulation; None if calculated."""


@dataclass(frozen=True, eq=False, kw_only=True)
class KindEffect:
    """What changes for one kind of units."""

    kind: str
    policies: tuple[FleetChange, ...]
    """The recommended one, then closest-first."""
    units: tuple[UnitEffect, ...]
    points: tuple[PointMeans, PointMeans]
    """Before and after."""

    @property
    def before(self) -> City:
        """The city as the kind sees it."""
        return self.policies[0].before.city

    @property
    def after(self) -> City:
        """The same after the changes."""
        return self.policies[0].after.city

    @property
    def changed(self) -> bool:
        """Whether anything changes for this kind."""
        return self.policies[0].before is not self.policies[0].after

    @property
    def exact(self) -> bool:
        """Whether numbers are calculated; else they are simulated."""
        return self.policies[0].before.exact is not None

    @property
    def proven(self) -> bool:
        """Whether the intervals of what is calculated are proven; else they are estimated."""
        return all(fleet.missed.proven for fleet in self._fleets)

    @property
    def converged(self) -> bool:
        """Whether all was solved to the tolerance."""
        return all(fleet.converged for fleet in self._fleets)

    @property
    def _fleets(self) -> list[FleetOutcome]:
        return [fleet for policy in self.policies for fleet in (policy.before, policy.after)]


@dataclass(frozen=True, slots=True)
class AreaEffect:
    """What an area gets under the recommended policy: of all kinds together, per incident in the area."""

    node_id: str
    name: str
    incidents_before: float
    """A day, as the incidents after."""
    incidents_after: float
    missed_before: float
    missed_after: float
    minutes_before: float
    """Until the first unit of each kind is there, the mean over the kinds that change."""
    minutes_after: float
    closest_before: str
    """The closest station with units of the first kind that changes."""
    closest_after: str
    days_per_year: float = DAYS_PER_YEAR
    """Fewer, where only the hours of a period count."""
    half: float = 0.0
    """Half of the 95 % interval of `more_missed`; 0 if it is calculated, inf where too few incidents were simulated."""
    half_per_year: float = 0.0
    """The same of `more_per_year`."""

    @property
    def more_missed(self) -> float:
        """By how much more standards are missed per incident."""
        return self.missed_after - self.missed_before

    @property
    def is_clear(self) -> bool:
        """Whether it is certain that more, or fewer, standards are missed."""
        return abs(self.more_missed) > self.half

    @property
    def per_year(self) -> Interval:
        """How many more standards are missed in a year, with its interval."""
        more = self.more_per_year
        return Interval(more, more - self.half_per_year, more + self.half_per_year)

    @property
    def more_per_year(self) -> float:
        """How many more standards are missed in a year."""
        before, after = self.incidents_before * self.missed_before, self.incidents_after * self.missed_after
        return self.days_per_year * (after - before)

    def document(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        own = asdict(self)
        for name in ("days_per_year", "half", "half_per_year"):  # the first is that of all areas
            del own[name]
        year = self.per_year.document()
        ends = {f"more_missed_per_year_{end}": year[end] for end in ("low", "high")}
        return own | {"more_missed_per_year": self.more_per_year} | ends


def _why(policy: Difference) -> dict[str, dict[str, float]] | None:
    """Why standards are missed before and after, as plain values; None where it is not known."""
    ends = policy.why_missed
    return None if ends is None else {"before": ends[0].document(), "after": ends[1].document()}


@dataclass(frozen=True, eq=False, kw_only=True)
class Effect:
    """What changes of a city change, for every kind and all together."""

    before: City
    after: City
    changes: tuple[str, ...]
    """In words."""
    kinds: Mapping[str, KindEffect]
    areas: tuple[AreaEffect, ...]
    seconds: float
    incidents: int | None
    """How many were simulated in each city; None if nothing was."""
    asked_to_simulate: bool = False
    """Else it was simulated, if it was, because there are too many states."""
    notes: tuple[str, ...] = ()
    period: Period | None = None
    """The period whose rates count; None: the means of the week, or the city has none."""
    fit_faults: tuple[str, ...] = ()
    """In which ways the city is badly fitted to its log, as the fit says it."""

    @property
    def days_per_year(self) -> float:
        """The days of a year, or the hours of the period in days."""
        return days_per_year(self.period)

    @property
    def exact(self) -> bool:
        """Whether all numbers are calculated."""
        return all(one.exact for one in self.kinds.values())

    @property
    def changed_kinds(self) -> tuple[str, ...]:
        """The kinds that change."""
        return tuple(kind for kind, one in self.kinds.items() if one.changed)

    @property
    def failed(self) -> list[str]:
        """The kinds that were not solved to the tolerance."""
        return [kind for kind, one in self.kinds.items() if not one.converged]

    @cached_property
    def policies(self) -> tuple[Difference, Difference]:
        """What changes under the recommended policy of each kind, then under closest-first."""
        recommended, closest = (
            Difference(
                before=self.before,
                after=self.after,
                kinds={kind: of_kind.policies[number] for kind, of_kind in self.kinds.items()},
            )
            for number in (0, 1)
        )
        return recommended, closest

    def per_year(self, number: int) -> Change:
        """The weighted sum of missed standards of all kinds in a year, or in its hours of the period."""
        return self.policies[number].per_year(self.days_per_year)

    @property
    def units(self) -> tuple[UnitEffect, ...]:
        """Every unit of every kind."""
        return tuple(unit for one in self.kinds.values() for unit in one.units)

    def ranked_areas(self) -> list[AreaEffect]:
        """The areas, from the largest loss in a year to the largest gain."""
        return sorted(self.areas, key=lambda area: (-area.more_per_year, area.node_id))

    def document(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON; fractions are fractions, not percentages."""
        policies = [
            {
                "name": policy.name,
                "missed": policy.missed.document(),
                "missed_per_year": self.per_year(number).document(),
                "why_missed": _why(policy),
                "first_minutes": policy.first_minutes.document(),
                "standards": [of.document() for of in policy.standards],
            }
            for number, policy in enumerate(self.policies)
        ]
        kinds = [
            {
                "kind": one.kind,
                "changed": one.changed,
                "exact": one.exact,
                "policies": [policy.document() for policy in one.policies],
            }
            for one in self.kinds.values()
        ]
        return {
            "city": self.before.name,
            "changes": list(self.changes),
            "period": None if self.period is None else self.period.name,
            "days_per_year": self.days_per_year,
            "exact": self.exact,
            "incidents": self.incidents,
            "seconds": self.seconds,
            "policies": policies,
            "kinds": kinds,
            "units": [asdict(unit) for unit in self.units],
            "areas": [area.document() for area in self.ranked_areas()],
            "notes": [*([] if self.exact else [CHANCE_ONLY]), *self.notes],
            "fit_faults": list(self.fit_faults),
        }
