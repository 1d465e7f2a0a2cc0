"""What changes of a department change: every standard, response times, workloads and areas, before and after.

The weighted sum of missed standards per incident of the city is a sum over kinds: with Λ_k the incidents a day that
need kind k and Λ all of them, Σ_k (Λ_k / Λ) × the mean of kind k. Intervals are added end by end: proven ones stay
proven, and simulated ones are on the safe side. A kind that does not change has a difference of exactly 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import nan
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.assess.outcome import larger_by, weighted
from runcard.city.model import DAYS_PER_YEAR, City, Standard
from runcard.city.periods import Period
from runcard.interval import Interval
from runcard.outputs.simulate import interval_values
from runcard.plan.words import CHANCE_ONLY

NOTHING: Final = Interval(0.0, 0.0, 0.0, proven=True)


def days_per_year(period: Period | None) -> float:
    """The days of a year; of a period, as many days as it has hours in a year."""
    return DAYS_PER_YEAR if period is None else DAYS_PER_YEAR * period.part_of_week


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """A number before and after the changes, and by how much it is larger after them; each with its interval."""

    before: Interval
    after: Interval
    difference: Interval

    def document(self) -> dict[str, dict[str, float | None]]:
        """The same as plain values, ready for JSON."""
        return {name: interval_values(getattr(self, name)) for name in ("before", "after", "difference")}


def sure_change(before: Interval, after: Interval) -> BeforeAfter:
    """The change between two numbers that are sure to lie in their intervals."""
    return BeforeAfter(before, after, larger_by(before, after))


def no_change(number: Interval) -> BeforeAfter:
    """The change of what does not change."""
    return BeforeAfter(number, number, NOTHING)


def point_interval(mean: float | None) -> Interval:
    """A number whose error is not stated."""
    return Interval(nan if mean is None else mean, nan, nan)


@dataclass(frozen=True, slots=True)
class StandardEffect:
    """How often a standard is missed: the part of the incidents of its type."""

    standard: Standard
    missed: BeforeAfter | None
    """None if there are no incidents of the type."""
    minutes: BeforeAfter | None = None
    """The mean time of the arrival that it is about, if that is the first or the last, at incidents of its type."""

    def document(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        parts = {"missed": self.missed, "minutes": self.minutes}
        return self.standard.document() | {name: one and one.document() for name, one in parts.items()}


@dataclass(frozen=True, slots=True)
class PolicyEffect:
    """What changes under one policy, solved for each city, over the incidents that need the kind."""

    name: str
    missed: BeforeAfter
    """The weighted sum of missed standards per incident; the late fraction in a plain city."""
    first_minutes: BeforeAfter
    last_minutes: BeforeAfter | None
    standards: tuple[StandardEffect, ...]

    def document(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        return {
            "name": self.name,
            "missed": self.missed.document(),
            "first_minutes": self.first_minutes.document(),
            "last_minutes": None if self.last_minutes is None else self.last_minutes.document(),
            "standards": [one.document() for one in self.standards],
        }


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
    changed: bool
    exact: bool
    """Whether numbers are calculated; else they are simulated."""
    proven: bool
    """Whether the intervals of what is calculated are proven; else they are estimated."""
    before: City
    after: City
    """As the kind sees them."""
    policies: tuple[PolicyEffect, ...]
    """The recommended one, then closest-first."""
    units: tuple[UnitEffect, ...]
    points: tuple[PointMeans, PointMeans]
    """Before and after."""
    converged: bool = True


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
        year = interval_values(self.per_year)
        ends = {f"more_missed_per_year_{end}": year[end] for end in ("low", "high")}
        return own | {"more_missed_per_year": self.more_per_year} | ends


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

    @property
    def names(self) -> tuple[str, ...]:
        """The policies: the recommended one of each kind, then closest-first."""
        every = [dict.fromkeys(one.policies[number].name for one in self.kinds.values()) for number in (0, 1)]
        return tuple(" and ".join(names) for names in every)

    def missed(self, number: int) -> BeforeAfter:
        """The weighted sum of missed standards of all kinds, per incident of the city, under a policy."""
        parts = [(self._shares(one), one.policies[number].missed) for one in self.kinds.values()]
        return _sum_of(parts)

    def per_year(self, number: int) -> BeforeAfter:
        """The weighted sum of missed standards of all kinds in a year, or in its hours of the period."""
        parts = [
            (
                tuple(self.days_per_year * city.incidents_per_day for city in (one.before, one.after)),
                one.policies[number].missed,
            )
            for one in self.kinds.values()
        ]
        return _sum_of(parts)

    def first_minutes(self, number: int) -> BeforeAfter:
        """The mean time until the first unit of a kind is there, over all kinds that incidents need."""
        rates = [one.before.incidents_per_day for one in self.kinds.values()]
        parts = [
            ((rate / sum(rates),) * 2, one.policies[number].first_minutes)
            for rate, one in zip(rates, self.kinds.values(), strict=True)
        ]
        return _sum_of(parts)

    def _shares(self, one: KindEffect) -> tuple[float, ...]:
        return (
            one.before.incidents_per_day / self.before.incidents_per_day,
            one.after.incidents_per_day / self.after.incidents_per_day,
        )

    def standards(self, number: int) -> tuple[StandardEffect, ...]:
        """Every standard under a policy, in the order of the city."""
        found = {one.standard: one for kind in self.kinds.values() for one in kind.policies[number].standards}
        return tuple(found[one] for one in self.before.standards if one in found)

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
                "name": name,
                "missed": self.missed(number).document(),
                "missed_per_year": self.per_year(number).document(),
                "first_minutes": self.first_minutes(number).document(),
                "standards": [one.document() for one in self.standards(number)],
            }
            for number, name in enumerate(self.names)
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


def _sum_of(parts: Sequence[tuple[tuple[float, ...], BeforeAfter]]) -> BeforeAfter:
    """The sum of numbers times factors before and after; intervals are added end by end."""
    before = weighted([(factors[0], one.before) for factors, one in parts])
    after = weighted([(factors[1], one.after) for factors, one in parts])
    if all(factors[0] == factors[1] for factors, _ in parts):
        return BeforeAfter(before, after, weighted([(factors[0], one.difference) for factors, one in parts]))
    # After - before = factor after × difference + (factor after - factor before) × before.
    changes = [(factors[1], one.difference) for factors, one in parts]
    changes += [(factors[1] - factors[0], one.before) for factors, one in parts]
    return BeforeAfter(before, after, weighted(changes))
