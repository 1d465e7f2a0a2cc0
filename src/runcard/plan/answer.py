"""An answer: who goes to an incident, of each kind that it needs, and its one document as plain values ready for JSON.

The command line, the service, the explorer, the audit log and notebooks are views of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from math import isfinite
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.address import Spot
from runcard.city.model import LATE, Standard
from runcard.city.parts import FIRST, MIDDLE
from runcard.mdp.problem import LAST_MINUTES, MINUTES, DispatchProblem
from runcard.plan.everywhere import Everywhere
from runcard.plan.fleet import KindDecision
from runcard.plan.ground import Ground
from runcard.plan.reasons import reason_of
from runcard.plan.words import ORDINALS, rule_words
from runcard.policy.base import Option
from runcard.policy.options import NUM_ALTERNATIVES, team_number

MINUTE_NAMES: Final = ("first_minutes", "first_p90_minutes", "last_minutes", "last_p90_minutes")
"""Those of `runcard decide --json`."""
Minutes = dict[str, float | None]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Answer:
    """Who goes to an incident, of each kind that it needs."""

    node_id: str
    type: str
    kinds: tuple[KindDecision, ...]
    spot: Spot | None = None
    """Where the incident is, if it is an address, or if units are not at home (see `anywhere.py`)."""
    area: str = ""
    """The demand point that is closest to it by road; empty if it is that itself."""
    moved: Mapping[str, Spot] = field(default_factory=dict)
    """Where units are that are not at home."""
    remarks: tuple[str, ...] = ()
    """What else is to be known of how it was found."""
    ground: Ground | None = None
    """The city, for a map; None if it is not known."""
    period: str | None = None
    """The period of the plan that decided; None if it does not look at the hour."""

    def __repr__(self) -> str:
        """Who goes where."""
        return (
            f"<Answer: {', '.join(self.units) or 'no unit'} to {self.node_id}{f' ({self.type})' if self.type else ''}>"
        )

    @property
    def units(self) -> tuple[str, ...]:
        """The units of all kinds together."""
        return tuple(unit for kind in self.kinds for unit in kind.units)

    @property
    def reason(self) -> str:
        """Why these units go, in one sentence for each kind."""
        return " ".join(reason_of(kind) for kind in self.kinds)

    @property
    def notes(self) -> list[str]:
        """What is to be known of the place and of units that are not at home, in words."""
        if self.spot is None:
            return list(self.remarks)
        words = [self.spot.words] if self.spot.words else []
        if self.area and self.area != self.node_id:
            words.append(f"{self.node_id} is no demand point of such incidents; the closest by road is {self.area}.")
        for unit_id, spot in self.moved.items():
            words.append(f"{unit_id} is free at {spot.node_id}, not at home.")
            words += [spot.words] if spot.words else []
        return [*words, *self.remarks]

    def standards_of(self, kind: KindDecision) -> tuple[Standard, ...]:
        """What counts for a kind: the standards of the type; in a city without any what is in time, if it is known."""
        standards = kind.fleet.standards_at(kind.point)
        if standards or self.ground is None:
            return standards
        return self.ground.standards_at(kind.fleet.kind, kind.point if kind.like is None else kind.like)

    def document(self, *, order: str | None = None, minutes: bool = True, every: bool = False) -> dict[str, Any]:
        """The answer as plain values; `order` says what made it if not the policy, and see `kind_document`."""
        kinds = [
            kind_document(kind, self.standards_of(kind), order=order, minutes=minutes, every=every)
            for kind in self.kinds
        ]
        price: float | None = 0.0
        for kind in kinds:
            price = None if price is None or kind["price"] is None else price + kind["price"]
        return {
            "node": self.node_id,
            "area": self.area or self.node_id,
            "type": self.type,
            "team": [unit for kind in kinds for unit in kind["units"]],
            "units": {kind["kind"]: kind["units"] for kind in kinds},
            "p_late": sum(kind["p_late"] for kind in kinds),
            "price": price,
            "kinds": kinds,
            "reason": " ".join(kind["reason"] for kind in kinds),
            "notes": self.notes,
        }

    def whole_document(self) -> dict[str, Any]:
        """The same, and what takes longer: other choices of all kinds together, the price of each idle unit, places."""
        objective, decisions = self.kinds[0].fleet.problem.objective, [kind.decision for kind in self.kinds]
        place = Spot(node_id=self.node_id) if self.spot is None else self.spot
        return self.document(every=True) | {
            "alternatives": self._alternatives(),
            "truck_prices": {name: _known(price) for kind in self.kinds for name, price in unit_prices(kind).items()},
            "place": place.document() | {"demand_point": self.area or self.node_id},
            "moved": {unit_id: spot.document() for unit_id, spot in self.moved.items()},
            **({} if self.period is None else {"period": self.period}),
            **({} if objective == LATE else {"objective": asdict(objective), **_in_all(decisions)}),
        }

    def _alternatives(self) -> list[dict[str, Any]]:
        """The best other choices of all kinds together: each sends another team of one kind."""
        others = []
        for number, kind in enumerate(self.kinds):
            for option in kind.decision.alternatives:
                options: list[Option] = [other.decision for other in self.kinds]
                options[number] = option
                teams = (one.fleet.unit_ids(of.team, one.idle) for one, of in zip(self.kinds, options, strict=True))
                document = {
                    "team": [unit for team in teams for unit in team],
                    "p_late": sum(of.p_late for of in options),
                    "price": _known(sum(of.price for of in options)),
                } | ({} if kind.fleet.problem.objective == LATE else _in_all(options))
                others.append((sum(of.total for of in options), document))
        others.sort(key=lambda other: other[0])
        return [document for _, document in others[:NUM_ALTERNATIVES]]

    def _repr_html_(self) -> str:
        """The answer in a notebook."""
        from runcard.plan.notebook import answer_html  # it knows this class

        return answer_html(self)


def _in_all(options: Sequence[Option]) -> dict[str, float | None]:
    """What another objective than the late fraction makes of the teams of all kinds: minutes, and sum."""
    return {
        "mean_minutes": _known(sum(option.minutes or 0.0 for option in options)),
        "total": _known(sum(option.total for option in options)),
    }


def unit_prices(kind: KindDecision | Everywhere) -> dict[str, float]:
    """The price of sending each idle unit of a kind, by its name."""
    fleet, stations = kind.fleet, np.flatnonzero(kind.trucks)
    if not len(stations):
        return {}
    prices = fleet.policy.prices(kind.trucks, 1 + stations)  # team 1 + i is one truck of station i
    homes = {fleet.problem.station_ids[i]: float(price) for i, price in zip(stations, prices, strict=True)}
    return {unit.unit_id: homes[unit.station_id] for unit in fleet.units if unit.unit_id in kind.idle}


def kind_document(
    one: KindDecision,
    standards: Sequence[Standard],
    *,
    order: str | None = None,
    minutes: bool = True,
    every: bool = False,
) -> dict[str, Any]:
    """The units of a kind with chances, minutes, price, other choices and the reason.

    `standards` are those of the incident; where the city has none, the one that says what is in time. Without
    `minutes` those that would have to be computed are left out; with `every` other choices have all of them, too.
    """
    fleet, decision = one.fleet, one.decision
    missed = fleet.chances(one.point, decision) if fleet.standards else (decision.p_late,)[: len(standards)]
    known = KnownMinutes.of(one, compute=minutes, every=every)
    own, *others = known.of_teams(every=every)
    return {
        "kind": fleet.kind,
        "units": list(one.units),
        "p_late": decision.p_late,
        **own,
        "price": _known(decision.price),
        "standards": [
            {**of.rule, "chance": 1.0 - chance, **known.until(of)}
            for of, chance in zip(map(_said_of, standards), missed, strict=True)
        ],
        "alternatives": [
            {"units": list(fleet.unit_ids(other.team, one.idle)), "p_late": other.p_late, **of_other,
             "price": _known(other.price)}
            for other, of_other in zip(decision.alternatives, others, strict=True)
        ],
        "reason": reason_of(one, order),
    }  # fmt: skip


class _OfStandard(NamedTuple):
    """What is the same of a standard in every answer."""

    rule: dict[str, Any]
    measure: str
    """Its mean minutes among the measures of a problem."""
    arrival: str
    """Its 90th percentile among those of a problem."""


@cache
def _said_of(standard: Standard) -> _OfStandard:
    """What is the same of a standard in every answer."""
    rule = {
        "rule": rule_words(standard), "arrivals": standard.arrivals, "target_minutes": standard.target_minutes,
        "weight": standard.weight,
    }  # fmt: skip
    return _OfStandard(rule, MINUTES if standard.arrival == FIRST else standard.arrival, standard.arrival)


class KnownMinutes(NamedTuple):
    """When the units of a decision and of its alternatives are there, in tables."""

    kind: KindDecision
    problem: DispatchProblem
    num_teams: int
    """The decision and so many alternatives less one are known."""

    @classmethod
    def of(cls, kind: KindDecision, *, compute: bool = True, every: bool = False) -> "KnownMinutes":
        """Those of a decision. Of a place that is in no table they are computed, and then only for the units that go,
        unless every one is wanted: each other team would take as long as the decision."""
        decision = kind.decision
        if compute and kind.find_arrivals is not None:
            some = decision if every else replace(decision, alternatives=())
            return cls(kind, kind.find_arrivals(some), 1 + len(some.alternatives))
        return cls(kind, kind.fleet.policy.problem, 1 + len(decision.alternatives))

    def of_teams(self, *, every: bool = False) -> list[Minutes]:
        """Of the first and the last unit, of the decision and then of each alternative: means, of the decision and of
        `every` one also 90th percentiles."""
        kind, means, p90 = self.kind, self.problem.measures, self.problem.p90_minutes
        first, last = means.get(MINUTES), means.get(LAST_MINUTES)
        tables = {"first_minutes": first, "last_minutes": last}
        wide = dict(zip(MINUTE_NAMES, (first, p90.get("first"), last, p90.get("last")), strict=True))
        found = []
        for place, option in enumerate((kind.decision, *kind.decision.alternatives)):
            shown = wide if every or place == 0 else tables
            if place >= self.num_teams:
                found.append(dict.fromkeys(shown))
                continue
            team = team_number(self.problem, option.team)
            found.append({name: _entry(table, team, kind.point) for name, table in shown.items()})
        return found

    @property
    def between(self) -> tuple[tuple[str, float, float], ...]:
        """The units between the first and the last that standards name, with their mean and 90th percentile."""
        team, point = team_number(self.problem, self.kind.decision.team), self.kind.point
        names = {f"{MIDDLE}{number}": number for number in range(2, self.problem.trucks_needed.item(point))}
        return tuple(
            (ORDINALS[number - 1], self.problem.measures[name].item(team, point), p90.item(team, point))
            for name, number in names.items()
            if (p90 := self.problem.p90_minutes.get(name)) is not None
        )

    def until(self, standard: _OfStandard) -> Minutes:
        """Of the arrival that a standard is about, of the decision."""
        team, point = team_number(self.problem, self.kind.decision.team), self.kind.point
        mean, p90 = self.problem.measures.get(standard.measure), self.problem.p90_minutes.get(standard.arrival)
        return {"mean_minutes": _entry(mean, team, point), "p90_minutes": _entry(p90, team, point)}


def _entry(table: NDArray[np.float64] | None, team: int, point: int) -> float | None:
    """What a table says of a team; `item` takes a tenth of the time that [team, point] does."""
    return None if table is None else _known(table.item(team, point))


def _known(number: float) -> float | None:
    return number if isfinite(number) else None
