"""The difference of two outcomes, of two plans or of two cities: every number before and after, and by how much it is
larger after.

Where both were simulated over the same incidents the difference is paired, batch by batch; else with both numbers in
[l, u] and [l', u'] it is in [l' - u, u' - l]. Kinds are added up as in `outcome.py`, end by end: with Λ_k the incidents
a day that need kind k and Λ all of them, after - before is a sum over kinds of

    (Λ'_k / Λ') (x'_k - x_k) + (Λ'_k / Λ' - Λ_k / Λ) x_k.

What does not change has a difference of exactly 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from runcard.assess.outcome import FleetOutcome, Outcome, larger_by, weighted
from runcard.assess.why import WhyMissed
from runcard.city.conditions import shown
from runcard.city.model import City, Standard
from runcard.city.periods import ALWAYS
from runcard.errors import InputError
from runcard.interval import Interval

NOTHING: Final = Interval(0.0, 0.0, 0.0, proven=True)


@dataclass(frozen=True, slots=True)
class Change:
    """A number before and after, and by how much it is larger after; each with its interval."""

    before: Interval
    after: Interval
    difference: Interval

    def document(self) -> dict[str, dict[str, float | None]]:
        """The same as plain values, ready for JSON."""
        return {name: getattr(self, name).document() for name in ("before", "after", "difference")}


def change_of(before: Interval | None, after: Interval | None, *, same: bool = False) -> Change | None:
    """The change between two numbers, nothing if they are the `same` one; None where one of them is not known."""
    if before is None or after is None:
        return None
    return Change(before, after, NOTHING if same else larger_by(before, after))


@dataclass(frozen=True, slots=True)
class StandardChange:
    """How often a standard is missed: the part of the incidents of its type."""

    standard: Standard
    missed: Change | None
    """None if there are no incidents of the type."""
    minutes: Change | None = None
    """The mean time of the arrival that it is about, at incidents of its type."""

    def document(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        parts = {"missed": self.missed, "minutes": self.minutes}
        return self.standard.document() | {name: part and part.document() for name, part in parts.items()}


@dataclass(frozen=True, eq=False)
class FleetChange:
    """What changes for the units of one kind under a policy, over the incidents that need the kind."""

    before: FleetOutcome
    after: FleetOutcome

    @property
    def changed(self) -> bool:
        """Whether anything changes for the units of this kind."""
        return self.before is not self.after

    @property
    def exact(self) -> bool:
        """Whether numbers are calculated; else they are simulated."""
        return self.before.exact is not None

    @property
    def proven(self) -> bool:
        """Whether the intervals of what is calculated are proven; else they are estimated."""
        return self.before.missed.proven and self.after.missed.proven

    @property
    def converged(self) -> bool:
        """Whether all was solved to the tolerance."""
        return self.before.converged and self.after.converged

    def of(self, which: str) -> Change | None:
        """The change of some minutes, by their name in `FleetOutcome.minutes`."""
        return change_of(*(of.minutes.get(which) for of in (self.before, self.after)), same=not self.changed)

    @property
    def name(self) -> str:
        """The name of the policy."""
        return self.before.policy.name

    @property
    def missed(self) -> Change:
        """The weighted sum of missed standards per incident; the late fraction in a plain city."""
        return _known(change_of(self.before.missed, self.after.missed, same=not self.changed))

    @property
    def first_minutes(self) -> Change:
        """The mean time until the first unit is there."""
        return _known(self.of("first_mean"))

    @property
    def last_minutes(self) -> Change | None:
        """The mean time until the last unit is there."""
        return self.of("last_mean")

    @property
    def standards(self) -> tuple[StandardChange, ...]:
        """How often each standard is missed."""
        if not self.before.standards:
            standard = self.before.city.standards[0]
            return (StandardChange(standard, self.missed, self.of(f"{standard.arrival}_mean")),)
        return tuple(
            StandardChange(
                old.standard,
                change_of(old.missed, new.missed, same=not self.changed),
                change_of(old.mean_minutes, new.mean_minutes, same=not self.changed),
            )
            for old, new in zip(self.before.standards, self.after.standards, strict=True)
        )

    def document(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        return {
            "name": self.name,
            "missed": self.missed.document(),
            "first_minutes": self.first_minutes.document(),
            "last_minutes": self.last_minutes and self.last_minutes.document(),
            "standards": [of.document() for of in self.standards],
        }


def _known(change: Change | None) -> Change:
    assert change is not None  # what is assessed has misses and minutes
    return change


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Difference:
    """What changes under one policy of each kind, for every kind and all together."""

    before: City
    after: City
    kinds: Mapping[str, FleetChange]

    def __repr__(self) -> str:
        """What is missed before and after, and the difference with its interval."""
        missed = self.missed
        off = missed.difference
        return (
            f"<Difference in {self.after.name}: missed {missed.before.value:.6g} before, "
            f"{missed.after.value:.6g} after, {off.value:+.6g} [{off.low:+.6g}, {off.high:+.6g}]>"
        )

    @property
    def name(self) -> str:
        """The names of the policies."""
        return " and ".join(dict.fromkeys(change.name for change in self.kinds.values()))

    @property
    def missed(self) -> Change:
        """The weighted sum of missed standards of all kinds, per incident of the city."""
        totals = self.before.incidents_per_day, self.after.incidents_per_day
        return _sum_of(
            [
                ((rates[0] / totals[0], rates[1] / totals[1]), change.missed)
                for rates, change in zip(self._rates, self.kinds.values(), strict=True)
            ]
        )

    def per_year(self, days: float) -> Change:
        """The same sum in so many days."""
        pairs = zip(self._rates, self.kinds.values(), strict=True)
        return _sum_of([((days * rates[0], days * rates[1]), change.missed) for rates, change in pairs])

    @property
    def why_missed(self) -> tuple[WhyMissed, WhyMissed] | None:
        """The parts of what is missed before and after, of all kinds together; None where they are not known."""
        before = _of_all(self.before, {kind: change.before for kind, change in self.kinds.items()})
        after = _of_all(self.after, {kind: change.after for kind, change in self.kinds.items()})
        return None if before is None or after is None else (before, after)

    @property
    def first_minutes(self) -> Change:
        """The mean time until the first unit of a kind is there, over all kinds that incidents need before."""
        total = sum(before for before, _ in self._rates)
        pairs = zip(self._rates, self.kinds.values(), strict=True)
        return _sum_of([((rates[0] / total,) * 2, change.first_minutes) for rates, change in pairs])

    @property
    def standards(self) -> tuple[StandardChange, ...]:
        """Every standard, in the order of the city."""
        known = {of.standard: of for change in self.kinds.values() for of in change.standards}
        return tuple(known[standard] for standard in self.before.standards if standard in known)

    @property
    def _rates(self) -> list[tuple[float, float]]:
        """The incidents a day that need each kind, before and after."""
        ends = ((change.before.city, change.after.city) for change in self.kinds.values())
        return [(before.incidents_per_day, after.incidents_per_day) for before, after in ends]


def difference(before: Outcome, after: Outcome) -> Difference:
    """What changes from one outcome to another one, of two plans or of two cities with the same kinds and standards.

    Where both were simulated over the same incidents the difference is paired; else its ends are those that both
    intervals allow, which are proven if both are.
    """
    for name, given in (("before", before), ("after", after)):
        if not isinstance(given, Outcome):
            raise InputError(f"{name}: expected an outcome, as assess(...)['optimal'] gives it, got {shown(given)}")
    if len(before.periods) > 1 or len(after.periods) > 1:
        raise InputError(
            f"{before.name}: expected outcomes of one period, as in_period(name) gives them, got those of "
            f"{', '.join(before.periods)}"
        )
    ends = [tuple((fleet.kind, tuple(of.standard for of in fleet.standards)) for fleet in outcome.fleets.values())
            for outcome in (before, after)]  # fmt: skip
    if ends[0] != ends[1]:
        raise InputError(
            f"{after.name}: expected the kinds and standards of {before.name} ({', '.join(before.fleets)}), got others "
            f"({', '.join(after.fleets)})"
        )
    kinds = {kind: FleetChange(fleet, after.fleets[kind]) for kind, fleet in before.fleets.items()}
    return Difference(before=before.city, after=after.city, kinds=kinds)


def _of_all(city: City, fleets: Mapping[str, FleetOutcome]) -> WhyMissed | None:
    """Why standards are missed by all kinds together."""
    return Outcome(name="", city=city, periods={ALWAYS.name: fleets}).why_missed


def _sum_of(parts: Sequence[tuple[tuple[float, ...], Change]]) -> Change:
    """The sum of changes times factors before and after."""
    before = weighted([(factors[0], change.before) for factors, change in parts])
    after = weighted([(factors[1], change.after) for factors, change in parts])
    if all(factors[0] == factors[1] for factors, _ in parts):
        return Change(before, after, weighted([(factors[0], change.difference) for factors, change in parts]))
    changes = [(factors[1], change.difference) for factors, change in parts]
    changes += [(factors[1] - factors[0], change.before) for factors, change in parts]
    return Change(before, after, weighted(changes))
