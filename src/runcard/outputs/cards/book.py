"""The run cards of a department: for each area, type of incident and kind of units, who goes first and who else.

A card is made from the decisions of a policy (see `policy/run_card.py`). Its rule speaks of houses: a line fits if each
house has as many idle units as the line takes from it, and of these the first in the roster go. With one unit of a kind
in every house, as is usual, that is: a line fits if its units are idle.

What a line gains over closest-first, in the state that it was made for, is the difference of cost now + price.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.assess.steps import NO_STEPS, Steps
from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import DAYS_PER_YEAR, LATE, City, Objective
from runcard.city.periods import HOURS_PER_WEEK, Period
from runcard.errors import InputError
from runcard.mdp.problem import LAST_MINUTES, MINUTES
from runcard.plan.fleet import Fleet
from runcard.plan.plan import Plan
from runcard.plan.words import class_name, expected_one_of
from runcard.policy.options import first_in_order, team_ids
from runcard.policy.run_card import RunCards, make_run_cards
from runcard.policy.solve_options import DEFAULTS, SolveOptions

DEPTH: Final = 4
"""Lines of a card where nothing else is said."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a card."""

    units: tuple[str, ...]
    """Who goes; "outside" once for each that must come from there."""
    busy: tuple[str, ...]
    """The busy units of the state that it was made for; every other unit is idle."""
    meets: tuple[float, ...]
    """The chance to meet each standard."""
    first_minutes: float | None
    last_minutes: float | None
    """The mean minutes until the first and the last of them are there, where that is known."""
    closest: tuple[str, ...]
    """Who closest-first would send in that state."""
    gain: float
    """What it avoids then: missed standards, or what else the objective counts, per incident."""

    @property
    def departs(self) -> bool:
        """Whether closest-first would send others."""
        return sorted(self.units) != sorted(self.closest)


@dataclass(frozen=True, kw_only=True)
class Card:
    """Who goes to the incidents of one type in one area, of one kind of units."""

    period: str
    """"" if the card is for every hour."""
    area: str
    """The node of the demand point."""
    area_name: str
    district: str
    """The station that is closest to the area, of the kind with the most stations."""
    type: str
    incident_class: int
    """From 1, where an area has several classes of incidents without types; else 0."""
    class_name: str = ""
    """What tells the class from others, in words, where there are several: Fire, 2 of 2 in 8 min."""
    kind: str
    incidents_per_year: float
    standards: tuple[str, ...]
    """In words: 1 of 2 in 6 min."""
    lines: tuple[Line, ...]
    houses: tuple[tuple[str, ...], ...]
    """The units of each house, in the order in which they go where no line fits."""

    @property
    def departs(self) -> bool:
        """Whether closest-first would send others with every unit idle."""
        return self.lines[0].departs


@dataclass(frozen=True, eq=False, kw_only=True)
class CardBook:
    """The cards of a department."""

    cards: tuple[Card, ...]
    policy: str
    """The name of the policy that they were made from."""
    depth: int
    """The lines of a card, at most."""
    objective: Objective = LATE
    periods: tuple[Period, ...] = ()
    city: City | None = None
    """None if the policy file does not hold it."""
    sets: Mapping[str, Mapping[str, RunCards]] = field(default_factory=dict)
    """The cards of each kind as a policy, by period, "" for every hour; they may have more lines."""
    fleets: Mapping[str, Mapping[str, Fleet]] = field(default_factory=dict)
    """In the same way, what they were made from."""

    @property
    def num_departing(self) -> int:
        """The cards whose first line is not what closest-first sends."""
        return sum(card.departs for card in self.cards)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Their kinds of units."""
        return tuple(dict.fromkeys(card.kind for card in self.cards))

    @property
    def num_standards(self) -> int:
        """The most standards of a card."""
        return max(len(card.standards) for card in self.cards)

    @property
    def counted(self) -> str:
        """What gains count, per 1,000 incidents."""
        by_objective = {"late": "missed standards avoided", "minutes": "minutes of response saved"}
        return by_objective.get(self.objective.minimise, "missed standards and weighted minutes avoided")


def make_book(
    plan: Plan,
    *,
    depth: int = DEPTH,
    incident_type: str | None = None,
    kind: str | None = None,
    period: str | None = None,
    depth_to_measure: int = 0,
    orders: Mapping[str, NDArray[np.int64]] | None = None,
    options: SolveOptions = DEFAULTS,
    steps: Steps = NO_STEPS,
) -> CardBook:
    """The cards of a plan, for each of its periods: all, or those of a type, a kind or a period.

    `orders` are the fallback orders of kinds [J, I] in a plan for every hour, where they are known already.
    """
    plans = _plans(plan, period)
    first = next(iter(plans.values()))
    kinds = [fleet.kind for fleet in first.fleets]
    if kind is not None and kind not in kinds:
        raise InputError(expected_one_of("kind of units", kinds, kind))
    periods = plan.periods if plan.knows_hour else ()
    city = None if first.ground is None else first.ground.city
    types = first.types or _labels(city)
    if incident_type is not None and incident_type not in types:
        raise InputError(_wrong_type(types, incident_type))
    cards, sets, fleets = list[Card](), dict[str, dict[str, RunCards]](), dict[str, dict[str, Fleet]]()
    for name, of_period in plans.items():
        districts, share = closest_stations(of_period), _share(periods, name)
        sets[name], fleets[name] = {}, {}
        for fleet in of_period.fleets:
            if kind not in (None, fleet.kind):
                continue
            steps.begin("run cards" + "".join(f", {part}" for part in (fleet.kind, name) if part))
            order = None if orders is None else orders.get(fleet.kind)
            made = make_run_cards(fleet.policy, depth=max(depth, depth_to_measure), order=order, options=options)
            sets[name][fleet.kind], fleets[name][fleet.kind] = made, fleet
            maker = _Maker(fleet=fleet, made=made.at_depth(depth), period=name, share=share, city=city)
            cards += maker.cards(districts, incident_type)
    return CardBook(
        cards=tuple(cards),
        policy=first.name,
        depth=depth,
        objective=first.fleets[0].problem.objective,
        periods=tuple(one for one in periods if one.name in plans),
        city=city,
        sets=sets,
        fleets=fleets,
    )


def _plans(plan: Plan, period: str | None) -> dict[str, Plan]:
    """The plans by period, "" for every hour."""
    if plan.knows_hour:
        return dict(plan.by_period) if period is None else {period: plan.in_period(period)}
    if period is not None:
        raise InputError(f"expected no period: this policy is for every hour, got {period!r}")
    return {"": plan}


def _labels(city: City | None) -> tuple[str, ...]:
    """What demand.csv calls the incidents of a city without standards."""
    return () if city is None else tuple(dict.fromkeys(point.type.strip() for point in city.demand if point.type))


def _wrong_type(types: Collection[str], incident_type: str) -> str:
    if not types:
        return f"expected no type of incident: this city has none, got {incident_type!r}"
    return expected_one_of("type of incident", types, incident_type)


def _share(periods: Iterable[Period], name: str) -> float:
    """The part of the week that a period has; all of it without periods."""
    return next((len(one.hours) / HOURS_PER_WEEK for one in periods if one.name == name), 1.0)


def closest_stations(plan: Plan) -> dict[str, str]:
    """The station that is closest to each area: of the kind with the most stations that goes there."""
    found: dict[str, str] = {}
    for fleet in sorted(plan.fleets, key=lambda one: -one.problem.num_stations):
        problem = fleet.problem
        for point, area in enumerate(problem.point_ids):
            found.setdefault(area, problem.station_ids[int(problem.order[point, 0])])
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class _Maker:
    """Makes the cards of one kind in one period."""

    fleet: Fleet
    made: RunCards
    period: str
    share: float
    city: City | None

    @cached_property
    def _homes(self) -> tuple[tuple[str, ...], ...]:
        """[I] the units of each station, in the order of the roster."""
        units = self.fleet.units
        return tuple(
            tuple(unit.unit_id for unit in units if unit.station_id == home) for home in self.fleet.problem.station_ids
        )

    @cached_property
    def _names(self) -> dict[str, str]:
        return {} if self.city is None else {node.node_id: node.name for node in self.city.nodes}

    def cards(self, districts: Mapping[str, str], incident_type: str | None) -> Iterator[Card]:
        """The cards of every demand point, in their order; rows that only add up to one rate are one card."""
        problem = self.fleet.problem
        keys = self._keys()
        rates: dict[tuple[str, str, int], float] = {}
        for key, rate in zip(keys, problem.incidents_per_day.tolist(), strict=True):
            rates[key] = rates.get(key, 0.0) + rate
        seen = set[tuple[str, str, int]]()
        for point, key in enumerate(keys):
            if key in seen or incident_type not in (None, key[1]):
                continue
            seen.add(key)
            area, of_type, number = key
            houses = tuple(self._homes[i] for i in self.made.order[point].tolist())
            yield Card(
                period=self.period, area=area, area_name=self._names.get(area, ""), district=districts[area],
                type=of_type, incident_class=number, class_name=class_name(problem, point) if number else "",
                kind=self.fleet.kind,
                incidents_per_year=DAYS_PER_YEAR * self.share * rates[key], standards=self._standards(point),
                lines=tuple(self._lines(point)), houses=houses,
            )  # fmt: skip

    def _keys(self) -> list[tuple[str, str, int]]:
        """[J] the area, the type and the class of each demand point."""
        point_ids, types = self.fleet.problem.point_ids, self.fleet.types
        if self.fleet.standards:
            return [(area, of_type, 0) for area, of_type in zip(point_ids, types, strict=True)]
        labels = [""] * len(point_ids) if self._seen is None else [one.type.strip() for one in self._seen.demand]
        counts = dict[str, int]()
        keys = []
        for area, label in zip(point_ids, labels, strict=True):
            counts[area] = counts.get(area, 0) + 1
            keys.append((area, label, counts[area]))
        return [(area, label, number if counts[area] > 1 else 0) for area, label, number in keys]

    def _standards(self, point: int) -> tuple[str, ...]:
        """The standards of a demand point in words."""
        if self.fleet.standards:
            return tuple(one.rule for one in self.fleet.standards_at(point))
        return ("in time",) if self._seen is None else (self._seen.rule_of(self._seen.demand[point]),)

    @cached_property
    def _seen(self) -> City | None:
        """The city that the kind sees."""
        return None if self.city is None else self.city.of_kind(self.fleet.kind)

    def _lines(self, point: int) -> Iterator[Line]:
        """The lines of the card of a demand point."""
        problem, policy = self.fleet.problem, self.fleet.policy
        for team, idle in zip(self.made.lines[point].tolist(), self.made.states[point], strict=True):
            if team < 0:
                break
            closest, gain = first_in_order(problem, problem.order, idle, point), 0.0
            if closest != team:
                pair = np.array([team, closest])
                total = problem.cost[pair, point] + policy.prices(idle, pair)
                gain = float(total[1] - total[0])
            yield Line(
                units=self._units(point, team, idle),
                busy=self._busy(idle),
                meets=tuple(1.0 - float(problem.missed(n)[team, point]) for n in range(len(self._standards(point)))),
                first_minutes=self._minutes(MINUTES, team, point),
                last_minutes=self._minutes(LAST_MINUTES, team, point),
                closest=self._units(point, closest, idle),
                gain=gain,
            )

    def _minutes(self, measure: str, team: int, point: int) -> float | None:
        table = self.fleet.problem.measures.get(measure)
        return None if table is None else float(table[team, point])

    def _busy(self, idle: NDArray[np.int64]) -> tuple[str, ...]:
        """The busy units of a state: of each station the first in the roster."""
        busy = (self.fleet.problem.trucks - idle).tolist()
        return tuple(unit for homes, num in zip(self._homes, busy, strict=True) for unit in homes[:num])

    def _units(self, point: int, team: int, idle: NDArray[np.int64]) -> tuple[str, ...]:
        """The units of a team: of each station the first of those that are idle; the closest station first."""
        problem = self.fleet.problem
        ids = team_ids(problem, point, team)
        rank = {problem.station_ids[i]: n for n, i in enumerate(problem.order[point].tolist())}
        free = {
            one: iter(homes[int(busy) :])
            for one, homes, busy in zip(problem.station_ids, self._homes, problem.trucks - idle, strict=True)
        }
        ordered = sorted(ids, key=lambda one: rank.get(one, len(rank)))
        return tuple(one if one == OUTSIDE_ID else next(free[one]) for one in ordered)
