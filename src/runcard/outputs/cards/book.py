"""The run cards of a department: for each area, type of incident and kind of units, who goes first and who else.

A card is made from the decisions of a policy (see `policy/run_card.py`). Its rule speaks of houses: a line fits if each
house has as many idle units as the line takes from it, and of these the first in the roster go. With one unit of a kind
in every house, as is usual, that is: a line fits if its units are idle.

What a line gains over closest-first, in the state that it was made for, is the difference of cost now + price.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.assess.steps import NO_STEPS, Steps
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
    row: int
    """From 1, where several rows of the area are told apart, not by types; else 0."""
    class_name: str = ""
    """What tells the incidents of the row from others, in words: Fire, 2 of 2 in 8 min."""
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
    fit_faults: tuple[str, ...] = ()
    """In which ways the city is badly fitted to a log, as the fit says it."""

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
    if period is not None and not plan.knows_hour:
        raise InputError(f"expected no period: this policy is for every hour, got {period!r}")
    periods = plan.periods if plan.knows_hour else ()
    plans = {"": plan} if not periods else plan.by_period if period is None else {period: plan.in_period(period)}
    first = next(iter(plans.values()))
    kinds = [fleet.kind for fleet in first.fleets]
    if kind is not None and kind not in kinds:
        raise InputError(expected_one_of("kind of units", kinds, kind))
    city = None if first.ground is None else first.ground.city
    demand = () if city is None or first.types else city.demand
    types = first.types or tuple(dict.fromkeys(point.type.strip() for point in demand if point.type))
    if incident_type is not None and incident_type not in types:
        none = f"expected no type of incident: this city has none, got {incident_type!r}"
        raise InputError(expected_one_of("type of incident", types, incident_type) if types else none)
    cards, sets, fleets = list[Card](), dict[str, dict[str, RunCards]](), dict[str, dict[str, Fleet]]()
    for name, of_period in plans.items():
        districts, sets[name], fleets[name] = closest_stations(of_period), {}, {}
        share = next((len(one.hours) / HOURS_PER_WEEK for one in periods if one.name == name), 1.0)
        for fleet in of_period.fleets:
            if kind not in (None, fleet.kind):
                continue
            steps.begin("run cards" + "".join(f", {part}" for part in (fleet.kind, name) if part))
            order = None if orders is None else orders.get(fleet.kind)
            made = make_run_cards(fleet.policy, depth=max(depth, depth_to_measure), order=order, options=options)
            sets[name][fleet.kind], fleets[name][fleet.kind] = made, fleet
            maker = _Maker(fleet=fleet, made=made.at_depth(depth), period=name, share=share, city=city)
            cards += [card for card in maker.cards(districts) if incident_type in (None, card.type)]
    return CardBook(
        cards=tuple(cards),
        policy=first.name,
        depth=depth,
        objective=first.fleets[0].problem.objective,
        periods=tuple(one for one in periods if one.name in plans),
        city=city,
        sets=sets,
        fleets=fleets,
        fit_faults=plan.fit_faults,
    )


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
    def _seen(self) -> City | None:
        """The city that the kind sees."""
        return None if self.city is None else self.city.of_kind(self.fleet.kind)

    def cards(self, districts: Mapping[str, str]) -> Iterator[Card]:
        """The cards of every demand point, in their order; rows that only add up to one rate are one card."""
        fleet, problem, homes = self.fleet, self.fleet.problem, list(self.fleet.by_station.values())
        points: dict[tuple[str, str, int], list[int]] = {}
        for number, key in enumerate(self._keys()):
            points.setdefault(key, []).append(number)
        for (area, of_type, row), (point, *more) in points.items():
            rate = sum(problem.incidents_per_day[[point, *more]].tolist())
            yield Card(
                period=self.period, area=area, area_name="" if self.city is None else self.city.node(area).name,
                district=districts[area], type=of_type, row=row, class_name=class_name(problem, point) if row else "",
                kind=fleet.kind, incidents_per_year=DAYS_PER_YEAR * self.share * rate,
                standards=self._standards(point), lines=tuple(self._lines(point)),
                houses=tuple(homes[i] for i in self.made.order[point].tolist()),
            )  # fmt: skip

    def _keys(self) -> list[tuple[str, str, int]]:
        """[J] the area, the type and the row of each demand point."""
        point_ids, types = self.fleet.problem.point_ids, list(self.fleet.types)
        rows = [self.fleet.rows[key] for key in zip(point_ids, types, strict=True)]
        if not self.fleet.standards and self._seen is not None:
            types = [point.type.strip() for point in self._seen.demand]
        numbers = [own.index(point) + 1 if len(own) > 1 else 0 for point, own in enumerate(rows)]
        return list(zip(point_ids, types, numbers, strict=True))

    def _standards(self, point: int) -> tuple[str, ...]:
        """The standards of a demand point in words."""
        known = tuple(standard.rule for standard in self.fleet.standards_at(point))
        return known or (("in time",) if self._seen is None else (self._seen.rule_of(self._seen.demand[point]),))

    def _lines(self, point: int) -> Iterator[Line]:
        """The lines of the card of a demand point."""
        problem, policy, homes = self.fleet.problem, self.fleet.policy, self.fleet.by_station.values()
        first, last = problem.measures.get(MINUTES), problem.measures.get(LAST_MINUTES)
        for team, trucks in zip(self.made.lines[point].tolist(), self.made.states[point], strict=True):
            if team < 0:
                break
            closest, gain = first_in_order(problem, problem.order, trucks, point), 0.0
            if closest != team:
                pair = np.array([team, closest])
                total = problem.cost[pair, point] + policy.prices(trucks, pair)
                gain = float(total[1] - total[0])
            out = (problem.trucks - trucks).tolist()  # of each station the first in the roster are busy
            idle = Counter(unit for units, num in zip(homes, out, strict=True) for unit in units[num:])
            units, others = (self._units(point, number, idle) for number in (team, closest))
            yield Line(
                units=units,
                busy=tuple(unit for units, num in zip(homes, out, strict=True) for unit in units[:num]),
                meets=tuple(1.0 - float(problem.missed(n)[team, point]) for n in range(len(self._standards(point)))),
                first_minutes=None if first is None else float(first[team, point]),
                last_minutes=None if last is None else float(last[team, point]),
                closest=others,
                gain=gain,
            )

    def _units(self, point: int, team: int, idle: Collection[str]) -> tuple[str, ...]:
        """The units of a team: the closest station first, of each the first that are idle."""
        problem = self.fleet.problem
        rank = {problem.station_ids[i]: n for n, i in enumerate(problem.order[point].tolist())}
        ids = sorted(team_ids(problem, point, team), key=lambda home: rank.get(home, len(rank)))
        return self.fleet.unit_ids(ids, idle)
