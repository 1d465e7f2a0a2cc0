"""What a plan achieves: by period and kind, and added up to what the city sees.

With Λ_pk the incidents a day that need kind k in period p, Λ_p all of them and n_p the hours of the period, the mean
number of missed standards of an incident, each with its weight, is

    Σ_p n_p Σ_k Λ_pk x_pk / Σ_p n_p Λ_p,        x_pk = that of an incident that needs the kind.

The intervals of the parts are added end by end, so that proven ones prove the sum. Where all kinds were simulated over
the same incidents, the sum is made batch by batch instead, and has an interval of its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, nan
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.assess.chances import chance_interval
from runcard.assess.why import PARTS, WhyMissed
from runcard.city.model import LATE, City, Standard
from runcard.city.periods import HOURS_PER_WEEK
from runcard.errors import InputError
from runcard.interval import Interval
from runcard.mdp.evaluate import Evaluation
from runcard.mdp.problem import DispatchProblem
from runcard.plan.words import expected_one_of
from runcard.policy.base import Policy
from runcard.simulate.result import difference_interval, ratio_interval

DIMENSIONS: Final = ("period", "kind", "type")
"""By which an outcome can be split."""


def unknown_error(value: float) -> Interval:
    """A number whose error is not stated."""
    return Interval(value, nan, nan)


def weighted(parts: Iterable[tuple[float, Interval]]) -> Interval:
    """The sum of intervals times factors, end by end."""
    value = low = high = 0.0
    proven = True
    for factor, part in parts:
        ends = sorted((factor * part.low, factor * part.high))
        value, low, high = value + factor * part.value, low + ends[0], high + ends[1]
        proven = proven and part.proven
    return Interval(value, low, high, proven)


def larger_by(before: Interval, after: Interval) -> Interval:
    """By how much a number is larger than another one: batch by batch, or where both are sure to lie."""
    if before.batches is not None and after.batches is not None and len(before.batches[0]) == len(after.batches[0]):
        return difference_interval(before.batches, after.batches)
    proven = before.proven and after.proven
    return Interval(after.value - before.value, after.low - before.high, after.high - before.low, proven)


def avoided(before: Interval, after: Interval) -> Interval:
    """The part of a number that another one avoids: over the same incidents, or where both are sure to lie."""
    if before.batches is not None and after.batches is not None:
        gain = ratio_interval(before.batches[0] - after.batches[0], before.batches[0])
        return Interval(gain.value, gain.low, min(1.0, gain.high))
    if before.value <= 0.0:
        return Interval(0.0, 0.0, 0.0, proven=before.proven)
    low = 1.0 - after.high / before.low if before.low > 0.0 else -inf
    proven = before.proven and after.proven
    return Interval(1.0 - after.value / before.value, low, 1.0 - after.low / before.high, proven)


@dataclass(frozen=True, slots=True)
class StandardOutcome:
    """How often a standard is missed: the part of the incidents of its type; None where there are no such incidents."""

    standard: Standard
    missed: Interval | None = None
    mean_minutes: Interval | None = None
    """Until the arrival that it is about, at incidents of its type."""

    @property
    def minutes(self) -> float | None:
        """The mean of these minutes."""
        return None if self.mean_minutes is None else self.mean_minutes.value

    def document(self) -> dict[str, Any]:
        """The outcome as plain values, ready for JSON."""
        names = {"miss_fraction": "value", "lower": "low", "upper": "high"}
        numbers = {name: None if self.missed is None else getattr(self.missed, end) for name, end in names.items()}
        return self.standard.document() | numbers | {"mean_minutes": self.minutes}


@dataclass(frozen=True, eq=False, kw_only=True)
class FleetOutcome:
    """What the units of one kind do in one period; means are over the incidents that need the kind."""

    kind: str
    city: City
    """As the kind sees it, at the rates of the period."""
    problem: DispatchProblem
    policy: Policy
    missed: Interval
    """The late fraction, or the weighted sum of missed standards."""
    cost: Interval
    """The mean of what the objective counts. Where solving gave bounds on the smallest one of any policy, as for the
    optimal one, that lies in the interval too."""
    standards: tuple[StandardOutcome, ...]
    """() where the late fraction says it all."""
    minutes: Mapping[str, Interval]
    """Until the first and the last unit are there, so far as they are known: "first_mean", "first_p90", "last_mean"."""
    busy_fractions: NDArray[np.float64]
    """[I] the part of the time that a unit of each station is busy."""
    calls_per_day: NDArray[np.float64]
    """[I] how often a unit of each station is sent."""
    exact: Evaluation | None = None
    """What is known besides where every state was evaluated; None if it was simulated."""
    why_missed: WhyMissed | None = None
    """The parts of what is missed; None where they are not known."""
    converged: bool = True
    seconds: float = 0.0
    """The time to solve and evaluate."""
    own_rates: bool = True
    """Whether the policy was made for the rates of the period."""

    @property
    def is_optimum(self) -> bool:
        """Whether the lower end of its cost holds for every policy."""
        return self.policy.name == "optimal" and self.own_rates

    @property
    def evaluation(self) -> Evaluation:
        """What is known of an exact outcome besides."""
        assert self.exact is not None  # nobody asks where it was simulated
        return self.exact

    @property
    def first_minutes(self) -> float:
        """The mean time until the first unit is there."""
        return self.minutes["first_mean"].value

    @property
    def late_by_rule(self) -> dict[str, float]:
        """The late fraction of the incidents of each rule (see `City.rule_of`), where there are several."""
        return {of.standard.rule: of.missed.value for of in self.standards if of.missed is not None}

    @property
    def by_type(self) -> list[tuple[str, float, Interval]]:
        """Each type of incident, how many a day need the kind, and the weighted sum of standards that one misses."""
        rates: dict[str, float] = {}
        for point in self.city.demand:
            rates[point.type] = rates.get(point.type, 0.0) + point.incidents_per_day
        if self.city.plain or not self.standards:
            return [("", sum(rates.values()), self.missed)]
        missed: dict[str, list[tuple[float, Interval]]] = {name: [] for name in rates}
        for of in self.standards:
            if of.missed is not None:
                missed[of.standard.type].append((of.standard.weight, of.missed))
        return [(name, rate, weighted(missed[name])) for name, rate in rates.items()]

    @property
    def arrivals(self) -> dict[str, float]:
        """The minutes of the last arrival and the percentiles of both, where they are known, as plain values."""
        names = {"last_mean": "last_minutes", "first_p90": "first_p90_minutes", "last_p90": "last_p90_minutes"}
        return {name: self.minutes[which].value for which, name in names.items() if which in self.minutes}

    @property
    def costs(self) -> dict[str, float]:
        """What the objective counts, as plain values."""
        return {"cost": self.cost.value, "cost_lower": self.cost.low, "cost_upper": self.cost.high}

    def document(self) -> dict[str, Any]:
        """Arrivals, costs, who does the work and how each standard is met, as plain values."""
        evaluation, plain = self.evaluation, self.city.plain
        shares, busy = evaluation.dispatch_share.tolist(), evaluation.busy_fractions.tolist()
        columns = zip(self.problem.station_ids, shares, busy, strict=True)
        document: dict[str, Any] = self.arrivals | {
            "stations": [
                {"station_id": home, "dispatch_share": share, "busy_fraction": part} for home, share, part in columns
            ],
            "outside_share": evaluation.outside_share,
        }
        if self.problem.objective != LATE:
            document |= self.costs
        if self.standards and plain:
            document["late_by_rule"] = self.late_by_rule
        if self.standards:
            document["rules" if plain else "standards"] = [of.document() for of in self.standards]
        return document


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Outcome:
    """What one plan achieves, in every period and with every kind, and together; per incident of the city."""

    name: str
    city: City
    periods: Mapping[str, Mapping[str, FleetOutcome]]
    """By period and kind; the one period `always` where the city has none."""
    solve_seconds: float = 0.0
    """The time to solve policies that do not know the hour."""
    incidents: NDArray[np.float64] | None = None
    """[batch] those of the city, in a simulation of all kinds over the same incidents."""

    def __repr__(self) -> str:
        """Which plan it is, and what it misses with its interval."""
        missed, plan = self.missed, f"{self.name} in {self.city.name}"
        return f"<Outcome of {plan}: missed {missed.value:.6g} [{missed.low:.6g}, {missed.high:.6g}]>"

    def in_period(self, period: str) -> "Outcome":
        """The outcome of a period alone."""
        return replace(self, city=self.city.in_period(period), periods={period: self.periods[period]}, solve_seconds=0)

    def of_kind(self, kind: str) -> "Outcome":
        """What one kind does, per incident that needs it."""
        city = self.city.of_kind(kind)
        periods = {period: {kind: fleets[kind]} for period, fleets in self.periods.items()}
        return replace(self, city=city, periods=periods, incidents=None)

    @property
    def fleets(self) -> Mapping[str, FleetOutcome]:
        """The outcome of each kind, in the first period."""
        return next(iter(self.periods.values()))

    @property
    def policies(self) -> dict[str, Policy]:
        """The policy of each kind, in the first period."""
        return {kind: fleet.policy for kind, fleet in self.fleets.items()}

    @property
    def problems(self) -> dict[str, DispatchProblem]:
        """The problem of each kind, in the first period."""
        return {kind: fleet.problem for kind, fleet in self.fleets.items()}

    def _shares(self, per_day: Mapping[str, float]) -> dict[str, float]:
        """The part of the week that each period has of something, given how much of it a day has there; 0 if none."""
        if len(self.periods) == 1:
            return dict.fromkeys(self.periods, 1.0)
        parts = {period: len(self.city.period(period).hours) * rate for period, rate in per_day.items()}
        total = sum(parts.values())
        return {period: part / total if total > 0.0 else 0.0 for period, part in parts.items()}

    @cached_property
    def cities(self) -> Mapping[str, City]:
        """The city in each period."""
        if len(self.periods) == 1:
            return dict.fromkeys(self.periods, self.city)
        return {period: self.city.in_period(period) for period in self.periods}

    @cached_property
    def shares(self) -> dict[str, float]:
        """The part of the week's incidents that each period has."""
        return self._shares({period: city.incidents_per_day for period, city in self.cities.items()})

    def _sum(self, of: str) -> Interval:
        """A number of all kinds and periods, per incident of the city."""
        fleets = [fleet for fleets in self.periods.values() for fleet in fleets.values()]
        if len(fleets) == 1 and fleets[0].city.incidents_per_day == self.city.incidents_per_day:
            number: Interval = getattr(fleets[0], of)
            return number
        if self.incidents is not None:
            parts = [getattr(fleet, of).batches for fleet in self.fleets.values()]
            return chance_interval((np.sum([part[0] for part in parts], axis=0), self.incidents), self.city.most_weight)
        totals = {period: city.incidents_per_day for period, city in self.cities.items()}
        of_periods = {
            period: weighted(
                (fleet.city.incidents_per_day / totals[period], getattr(fleet, of)) for fleet in fleets.values()
            )
            for period, fleets in self.periods.items()
        }
        return weighted((self.shares[period], part) for period, part in of_periods.items())

    @cached_property
    def missed(self) -> Interval:
        """The late fraction, or the weighted sum of missed standards, of all kinds together."""
        return self._sum("missed")

    @cached_property
    def why_missed(self) -> WhyMissed | None:
        """The parts of what is missed, of all kinds together; None where they are not known."""
        parts = [
            (self._share_of(period, fleet), fleet.why_missed)
            for period, fleets in self.periods.items()
            for fleet in fleets.values()
        ]
        known = [(share, why.document()) for share, why in parts if why is not None]
        if len(known) < len(parts):
            return None
        return WhyMissed(**{name: sum(share * why[name] for share, why in known) for name in PARTS})

    def _share_of(self, period: str, fleet: FleetOutcome) -> float:
        """The part of all incidents that need a kind in a period; of those that were simulated, as for `missed`."""
        batches = fleet.missed.batches
        if self.incidents is not None and batches is not None:
            return float(batches[1].sum() / self.incidents.sum())
        return self.shares[period] * fleet.city.incidents_per_day / self.cities[period].incidents_per_day

    @cached_property
    def cost(self) -> Interval:
        """What the objective counts, of all kinds together."""
        return self._sum("cost")

    @cached_property
    def first_minutes(self) -> float:
        """The mean time until the first unit of a kind is there, over all kinds that incidents need."""
        needed = {
            period: {kind: fleet.city.incidents_per_day for kind, fleet in fleets.items()}
            for period, fleets in self.periods.items()
        }
        shares = self._shares({period: sum(rates.values()) for period, rates in needed.items()})
        return sum(
            shares[period] * (rate / sum(rates.values())) * self.periods[period][kind].first_minutes
            for period, rates in needed.items()
            for kind, rate in rates.items()
        )

    @cached_property
    def standards(self) -> tuple[StandardOutcome, ...]:
        """Every standard, in the order of the city; of a plain city those that are told apart, if several are."""
        by_period = {
            period: {of.standard: of for fleet in fleets.values() for of in fleet.standards}
            for period, fleets in self.periods.items()
        }
        known = next(iter(by_period.values()))
        return tuple(
            self._standard(standard, {period: own.get(standard) for period, own in by_period.items()})
            for standard in self.city.standards
            if standard in known or not self.city.plain
        )

    def _standard(self, standard: Standard, parts: Mapping[str, StandardOutcome | None]) -> StandardOutcome:
        """A standard over all periods: the mean over the incidents of its type."""
        known = {period: part for period, part in parts.items() if part is not None}
        if len(parts) == 1 or len(known) < len(parts):
            return next(iter(known.values()), StandardOutcome(standard))
        shares = self._shares(
            {
                period: sum(point.incidents_per_day for point in city.demand if point.type == standard.type)
                for period, city in self.cities.items()
            }
        )
        numbers = [
            [(shares[period], number) for period, part in known.items() if (number := getattr(part, name)) is not None]
            for name in ("missed", "mean_minutes")
        ]
        return StandardOutcome(standard, *(weighted(of) if len(of) == len(known) else None for of in numbers))

    def by(self, *dimensions: str) -> list[dict[str, Any]]:
        """What is missed by "period", "kind" and "type", or some of them, in rows: their names, `incidents_per_day` and
        `missed`, the weighted sum of missed standards for each of these incidents.

        Rows add up to what the plan misses; simulated ones but for the chance of how many incidents each of them had.
        """
        if unknown := [name for name in dimensions if name not in DIMENSIONS]:
            raise InputError(expected_one_of("dimension", DIMENSIONS, unknown[0]))
        parts: dict[tuple[str, ...], list[tuple[float, Interval]]] = {}
        rates: dict[tuple[str, ...], dict[tuple[str, str], float]] = {}
        for period, fleets in self.periods.items():
            hours = 1.0 if len(self.periods) == 1 else len(self.city.period(period).hours) / HOURS_PER_WEEK
            for kind, fleet in fleets.items():
                for incident_type, rate, missed in fleet.by_type:
                    cell = {"period": period, "kind": kind, "type": incident_type}
                    key = tuple(cell[name] for name in dimensions)
                    parts.setdefault(key, []).append((hours * rate, missed))
                    # An incident that needs several kinds is one incident.
                    rates.setdefault(key, {})[period, incident_type] = hours * rate
        rows = []
        for key, of_key in parts.items():
            total = sum(rates[key].values())
            missed = weighted((rate / total if total > 0.0 else 0.0, part) for rate, part in of_key)
            rows.append(dict(zip(dimensions, key, strict=True)) | {"incidents_per_day": total, "missed": missed})
        return rows

    @property
    def optimum(self) -> float:
        """What no policy costs less than, if this is the best one everywhere; else 0."""
        parts = [fleet for fleets in self.periods.values() for fleet in fleets.values()]
        return self.cost.low if all(part.is_optimum for part in parts) else 0.0

    @property
    def seconds(self) -> float:
        """The time to solve and evaluate it."""
        return self.solve_seconds + sum(fleet.seconds for fleets in self.periods.values() for fleet in fleets.values())

    @property
    def failed(self) -> list[str]:
        """Where it did not converge, in words."""
        return [
            self.name + ("" if self.city.plain else f" ({kind})") + (f" in {period}" if len(self.periods) > 1 else "")
            for period, fleets in self.periods.items()
            for kind, fleet in fleets.items()
            if not fleet.converged
        ]
