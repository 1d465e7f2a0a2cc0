"""Decisions for any node of the roads, and with units that are not at home.

What a team costs now depends on the roads. What it costs later, its price, depends only on the stations that its units
belong to. So a place that is no demand point needs a row of costs, made there and then, and no new solution:

    a = argmin { cost(a, here) + h(f-a') - h(f) },    a' the team a with every unit at its own station.

The row is that of a small city: its only demand point is here, its stations are the posts where units are idle. A unit
that is not at home is a post of its own with one truck. It is on the road already, so that it has no turnout. Units of
one station that are in two places are two posts, and may share links with one another as any others do.

Closest-first sends the closest units to this very place. A fixed card has no order for it: the card of the closest
demand point by road is used, where a unit that is not at home keeps the place of its station.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import comb
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from runcard.city.aprons import with_aprons
from runcard.city.conditions import near
from runcard.city.model import QUIET_RATE, City, Station, Unit, taken_as_sound
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.objective import with_objective
from runcard.mdp.problem import P_LATE, DispatchProblem, is_standard, standard_measure
from runcard.mdp.rows import DecisionRule
from runcard.plan.answer import Answer
from runcard.plan.fleet import Fleet, KindDecision
from runcard.plan.ground import Ground
from runcard.plan.plan import Plan
from runcard.plan.situation import Situation
from runcard.policy.base import BulkRule, Certificate, Decision, Policy, Stored
from runcard.policy.by_value import PricedPolicy
from runcard.policy.options import checked_idle, first_in_order, idle_teams
from runcard.threads import alone

MOST_TEAMS: Final = 1_001
"""Of more teams only those of the closest posts are looked at: 43 posts for two units, 16 for three, 10 for four."""

NO_CITY: Final = (
    "the policy holds no city, so that it knows demand points only, and units at home: solve it again with this "
    "version, or give its city"
)


@dataclass(frozen=True)
class Post:
    """Where idle trucks are."""

    station_id: str
    """In the small city."""
    node_id: str
    home: int
    """The number of their own station in the problem of the fleet."""
    units: tuple[Unit, ...]
    on_road: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class HerePolicy(PricedPolicy):
    """A policy in one state, with the costs of a place of its own and the prices of the policy."""

    base: Policy
    idle_at: NDArray[np.int64]
    """[station of `base`] its idle trucks, wherever they are."""
    homes: NDArray[np.int64]
    """[I] the station of `base` that the trucks of each post belong to."""
    order: NDArray[np.int64] | None
    """[1, I] the posts in the order in which trucks go, if it is an order that decides."""
    certificate: Certificate | None = None

    @property
    def name(self) -> str:
        """That of the policy."""
        return self.base.name

    @property
    def reason(self) -> str:
        """That of the policy."""
        return self.base.reason

    @property
    def rule(self) -> DecisionRule:
        """There is none: it decides in one state only."""
        _refuse_more()

    def in_bulk(self, decisions: float) -> BulkRule | None:
        """There is none: it decides in one state only."""
        _refuse_more()

    def stored(self) -> Stored:
        """No file holds it."""
        raise PolicyFileError("a decision for one place cannot be written to a file")

    def _teams_of(self, teams: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of teams in the policy, with every unit at its own station."""
        here = self.problem.teams.stations[teams]
        return self.base.problem.teams.find(np.where(here >= 0, self.homes[here], -1))

    def _prices(self, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.base.prices(self.idle_at, self._teams_of(teams))

    def _options(self, idle: NDArray[np.int64], point: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The teams that a decision may list, and their prices."""
        teams = idle_teams(self.problem, idle, point)
        price = self.base.best_prices(self.idle_at, self._teams_of(teams), self.problem.cost[teams, point])
        listed = np.isfinite(price)
        return teams[listed], price[listed]

    def _choose(
        self, idle: NDArray[np.int64], point: int, teams: NDArray[np.int64], price: NDArray[np.float64]
    ) -> int | None:
        if self.order is None:
            return None
        return int(np.searchsorted(teams, first_in_order(self.problem, self.order, idle, point)))


def _refuse_more() -> NoReturn:
    raise InputError("a policy for one place decides in one state only")


def decide_anywhere(plan: Plan, situation: Situation, idle: Counter[str], incident_type: str) -> Answer:
    """Who goes to an incident of a type at any place, with units that may be elsewhere than at their stations."""
    ground = plan.ground
    if ground is None:
        raise InputError(NO_CITY)
    spot = ground.spots.find(situation.at)
    moved = {
        name: ground.spots.find(place, what=f"unit {name}") for name, place in (situation.moved or {}).items()
    }  # fmt: skip
    _check_moved(plan, idle, moved)
    minutes, kinds, notes, areas = ground.minutes_to(spot.node_id), [], list[str](), list[str]()
    for fleet in plan.fleets:
        like = _like(fleet, ground, minutes, incident_type, situation.row)
        if like is None:
            continue
        areas.append(fleet.problem.point_ids[like])
        away = {name: place.node_id for name, place in moved.items() if name in fleet.home_numbers}
        if areas[-1] == spot.node_id and not away:
            kinds.append(fleet.decide(fleet.idle_trucks(idle), like, idle))
            continue
        here = _Here(fleet, ground, spot.node_id, like, minutes)
        kinds.append(here.decide(idle, away))
        notes += here.notes
    if not kinds:
        raise InputError(f"expected a type of incident that some demand point has, got {incident_type!r}")
    return Answer(
        node_id=spot.node_id, type=incident_type, kinds=tuple(kinds), spot=spot, area=areas[0], moved=moved,
        remarks=tuple(notes), ground=ground,
    )  # fmt: skip


def _check_moved(plan: Plan, idle: Counter[str], moved: Collection[str]) -> None:
    """Raise an InputError about a unit that is said to be elsewhere, but is busy or is none."""
    what = "unit" if plan.has_roster else "station"
    for name in moved:
        if name not in plan.capacity:
            guess = "" if plan.has_roster else near(name, plan.capacity)
            raise InputError(f"expected a {what} that is not at home, got {name!r}, which is none{guess}")
        if name not in idle:
            raise InputError(f"{what} {name}: expected it to be idle, since it is said to be free elsewhere, got busy")


def _like(
    fleet: Fleet, ground: Ground, minutes: NDArray[np.float64], incident_type: str, row: int | None
) -> int | None:
    """The demand point of a type that is closest by road: from it to the place; None if no such incident needs them."""
    nodes = [
        node_id
        for node_id, of_type in zip(fleet.problem.point_ids, fleet.types, strict=True)
        if of_type == incident_type
    ]
    if not nodes:
        return None
    ground.seen_by(fleet)  # its points are nodes of the roads
    closest = min(nodes, key=lambda node_id: float(minutes[ground.node_numbers[node_id]]))
    return fleet.point(closest, incident_type, row)


class _Here:
    """A place, and what one fleet can do there."""

    def __init__(self, fleet: Fleet, ground: Ground, node_id: str, like: int, minutes: NDArray[np.float64]) -> None:
        if not fleet.policy.decides_anywhere:
            raise InputError(f"{fleet.policy.name}: a policy that is a function decides for demand points only")
        self.fleet, self.ground, self.node_id, self.like, self.minutes = fleet, ground, node_id, like, minutes
        self.notes: list[str] = []

    def decide(self, idle: Counter[str], moved: Mapping[str, str]) -> KindDecision:
        """What this kind sends."""
        fleet = self.fleet
        idle_at = checked_idle(fleet.problem, fleet.idle_trucks(idle))
        posts = self._near(self._posts(idle, moved))
        nobody = not posts
        if nobody:  # a city needs a station; its truck is busy
            first = self.ground.seen_by(fleet).stations[0]
            posts = [Post(first.station_id, first.node_id, 0, fleet.units[:1])]
        local = self._fleet(posts, idle_at)
        trucks = np.array([0 if nobody else len(post.units) for post in posts], np.int64)
        kind = local.decide(trucks, 0, idle if fleet.roster else None)
        return replace(kind, find_arrivals=partial(self._arrivals_of, posts, local.problem), like=self.like)

    def _posts(self, idle: Counter[str], moved: Mapping[str, str]) -> list[Post]:
        """Where idle trucks are: at home, in the order of stations, and elsewhere."""
        found, elsewhere, left = [], [], +idle
        for home, station in enumerate(self.ground.seen_by(self.fleet).stations):
            there = []
            for unit in (unit for unit in self.fleet.units if unit.station_id == station.station_id):
                name = unit.unit_id
                if left[name] <= 0:
                    continue
                if name in moved and left[name] == idle[name]:  # one of those that share a name
                    # An id of a station has no comma, that of a node may have one.
                    station_id = f"{name}@{moved[name]}".replace(",", ";")
                    elsewhere.append(Post(station_id, moved[name], home, (unit,), on_road=True))
                else:
                    there.append(unit)
                left[name] -= 1
            if there:
                found.append(Post(station.station_id, station.node_id, home, tuple(there)))
        return found + elsewhere

    def _near(self, posts: list[Post]) -> list[Post]:
        """The posts that a road leads from to the place; of many, those that come first, in the order given."""
        start = self.ground.start_minutes
        minutes = [
            float(self.minutes[self.ground.node_numbers[post.node_id]]) + (start if post.on_road else 0.0)
            for post in posts
        ]
        reached = [number for number, away in enumerate(minutes) if np.isfinite(away)]
        lost = [post.station_id for post, away in zip(posts, minutes, strict=True) if not np.isfinite(away)]
        if lost and not reached:
            raise InputError(f"node {self.node_id}: expected a road from some idle {self.fleet.kind} to it, got none")
        if lost:
            self.notes.append(f"No road leads to {self.node_id} from {', '.join(lost)}.")
        needed, num = int(self.fleet.problem.trucks_needed[self.like]), len(reached)
        while comb(num + needed, needed) > MOST_TEAMS:
            num -= 1
        if num < len(reached):
            self.notes.append(f"Only the {num} closest of {len(reached)} places with an idle {self.fleet.kind} count.")
        rank = self._ranks(posts, minutes)
        closest = sorted(sorted(reached, key=lambda number: rank[number])[:num])
        return [posts[number] for number in closest]

    def _ranks(self, posts: list[Post], minutes: list[float]) -> list[float]:
        """Which post comes first: by driving time, or by the card."""
        policy = self.fleet.policy
        if policy.fixed_order is None or not policy.has_card:
            return minutes
        places = np.argsort(policy.fixed_order[self.like])
        # Of one station, those at home come before others; of these, posts are in order.
        return [float(2 * places[post.home] + post.on_road) for post in posts]

    def _fleet(self, posts: list[Post], idle_at: NDArray[np.int64]) -> Fleet:
        """The fleet whose stations are the posts."""
        fleet, policy = self.fleet, self.fleet.policy
        with alone(), taken_as_sound():  # its posts are there, and `_near` has left out those without a road
            city = self._city(posts)
            problem, order = self._problem(city, posts), None
        if policy.has_card:
            ranks = self._ranks(posts, [])
            order = np.argsort(np.array([ranks]), axis=1, kind="stable")
            area = fleet.problem.point_ids[self.like]
            if area != self.node_id:
                self.notes.append(f"The card is that of {area}, the closest demand point by road.")
        elif policy.fixed_order is not None:
            order = problem.order
        homes = np.array([post.home for post in posts], np.int64)
        here = HerePolicy(problem=problem, base=policy, idle_at=idle_at, homes=homes, order=order)
        roster = tuple(
            replace(unit, station_id=post.station_id) for post in posts for unit in post.units if fleet.roster
        )
        types = (fleet.types[self.like],)
        return Fleet(kind=fleet.kind, policies=(here,), roster=roster, standards=fleet.standards, types=types)

    def _city(self, posts: list[Post]) -> City:
        """The small city."""
        city = self.ground.seen_by(self.fleet)
        homes, kind = [post.station_id for post in posts for _ in post.units], city.units[0].kind
        point = replace(city.demand[self.like], node_id=self.node_id, incidents_per_day=QUIET_RATE)
        found = replace(
            city,
            stations=tuple(Station(post.station_id, post.node_id) for post in posts),
            units=tuple(Unit(str(number), home, kind) for number, home in enumerate(homes)),
            standards=self.fleet.standards_at(self.like),
            demand=(point,),
            # An apron more would change the mean of all links, which is that of outside ones.
            outside=replace(
                city.outside, links=self.ground.outside_links(self.fleet), link_minutes=self.ground.outside_link_minutes
            ),
            periods=(),
        )
        if all(post.node_id in self.ground.aprons for post in posts):
            return found  # with the very links of the city, whose roads are known
        return with_aprons(found, self.ground.start_minutes)

    def _arrivals_of(self, posts: list[Post], problem: DispatchProblem, decision: Decision) -> DispatchProblem:
        """The problem of the posts that a decision is about, with arrivals if they are known at all."""
        if not self.fleet.problem.p90_minutes:
            return problem
        ids = {station_id for option in (decision, *decision.alternatives) for station_id in option.team}
        some = [post for post in posts if post.station_id in ids] or posts[:1]
        with alone(), taken_as_sound():
            return self._problem(self._city(some), some, arrivals=True)

    def _problem(self, city: City, posts: list[Post], *, arrivals: bool = False) -> DispatchProblem:
        """The costs of the teams here, with all that the problem of the fleet knows of its own."""
        base = self.fleet.problem
        on_road = [number for number, post in enumerate(posts) if post.on_road]
        problem = dispatch_problem(
            replace(city, objective=base.objective), minutes=False, arrivals=arrivals, on_road=on_road
        )
        problem = with_objective(problem, base.objective)
        if any(map(is_standard, base.measures)) and not any(map(is_standard, problem.measures)):
            # One standard that counts once; elsewhere there are others, and prices count them.
            measures = {**problem.measures, standard_measure(0): problem.measures[P_LATE]}
            problem = replace(problem, measures=measures)
        return problem
