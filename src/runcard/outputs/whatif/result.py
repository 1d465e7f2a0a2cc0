"""What changes of a department change: every standard, response times, workloads and areas, before and after.

Kinds are added up as `assess/change.py` says it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runcard.assess.area_changes import AreaChange
from runcard.assess.change import Change, Difference, FleetChange
from runcard.assess.work_changes import WorkChange, work_of
from runcard.city.model import DAYS_PER_YEAR, City
from runcard.city.periods import Period
from runcard.plan.words import CHANCE_ONLY


def days_per_year(period: Period | None) -> float:
    """The days of a year; of a period, as many days as it has hours in a year."""
    return DAYS_PER_YEAR if period is None else DAYS_PER_YEAR * period.part_of_week


@dataclass(frozen=True, eq=False, kw_only=True)
class Effect:
    """What changes of a city change, for every kind and all together."""

    changes: tuple[str, ...]
    """In words."""
    policies: tuple[Difference, Difference]
    """What changes under the recommended policy of each kind, then under closest-first."""
    areas: tuple[AreaChange, ...]
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
    def before(self) -> City:
        """The city with the rates that count."""
        return self.policies[0].before

    @property
    def after(self) -> City:
        """The same after the changes."""
        return self.policies[0].after

    @property
    def kinds(self) -> Mapping[str, FleetChange]:
        """What changes for each kind of units under the recommended policy."""
        return self.policies[0].kinds

    @property
    def days_per_year(self) -> float:
        """The days of a year, or the hours of the period in days."""
        return days_per_year(self.period)

    @property
    def exact(self) -> bool:
        """Whether all numbers are calculated."""
        return all(change.exact for change in self.kinds.values())

    @property
    def changed_kinds(self) -> tuple[str, ...]:
        """The kinds that change."""
        return tuple(kind for kind, change in self.kinds.items() if change.changed)

    @property
    def failed(self) -> list[str]:
        """The kinds that were not solved to the tolerance."""
        return [kind for kind in self.kinds if not all(policy.kinds[kind].converged for policy in self.policies)]

    def per_year(self, number: int) -> Change:
        """The weighted sum of missed standards of all kinds in a year, or in its hours of the period."""
        return self.policies[number].per_year(self.days_per_year)

    @property
    def units(self) -> tuple[WorkChange, ...]:
        """Every unit of every kind."""
        return tuple(unit for kind, change in self.kinds.items() for unit in work_of(kind, change))

    def ranked_areas(self) -> list[AreaChange]:
        """The areas, from the largest loss in a year to the largest gain."""
        return sorted(self.areas, key=lambda area: (-area.per_year.value, area.node_id))

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
                "kind": kind,
                "changed": change.changed,
                "exact": change.exact,
                "policies": [policy.kinds[kind].document() for policy in self.policies],
            }
            for kind, change in self.kinds.items()
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
            "units": [unit._asdict() for unit in self.units],
            "areas": [area.document() for area in self.ranked_areas()],
            "notes": [*([] if self.exact else [CHANCE_ONLY]), *self.notes],
            "fit_faults": list(self.fit_faults),
        }


def _why(policy: Difference) -> dict[str, dict[str, float]] | None:
    """Why standards are missed before and after, as plain values; None where it is not known."""
    ends = policy.why_missed
    return None if ends is None else {"before": ends[0].document(), "after": ends[1].document()}
