"""What the explorer asks for: the city, a scene (who goes to every area), the routes to one area, and a day.

A scene is for one state: these units are busy, the others idle at home. Two policies are compared in it.
"""

from datetime import date, datetime, timedelta
from math import isfinite
from typing import Any, Final

import numpy as np

from runcard.errors import InputError
from runcard.page import Classes
from runcard.plan.answer import kind_document, unit_prices
from runcard.plan.everywhere import everywhere
from runcard.plan.plan import Plan
from runcard.plan.reasons import missed_words
from runcard.plan.situation import Situation
from runcard.plan.words import price_words
from runcard.policy.options import team_ids
from runcard.service.documents import RouteRequest, SceneRequest
from runcard.service.explorer.drawn import Drawn
from runcard.service.explorer.layers import Pair, chance_classes, points_of
from runcard.service.fallback import chosen
from runcard.service.parts import Parts
from runcard.service.policies import CLOSEST_FIRST, LoadedPolicy
from runcard.simulate.incident_log import EARLIEST_YEAR, LATEST_YEAR

MOST_LOGGED: Final = 20_000
"""Decisions of a day that is played back."""


class Scenes:
    """What is drawn of the policies of a service."""

    def __init__(self, parts: Parts) -> None:
        self._audit, self._store, self._zone = parts.audit, parts.store, parts.settings.zone
        self._classes: dict[tuple[str, ...], Classes] = {}
        self._drawn: dict[int, Drawn] = {}

    def _of(self, policy: LoadedPolicy) -> Drawn:
        """What is drawn of the city of a policy; closest-first shares that of the policy beside it."""
        own = id(policy.plan.ground)
        if own not in self._drawn:
            loaded = {id(one.plan.ground) for one in self._store.by_name.values()}
            for old in [one for one in self._drawn if one not in loaded]:
                self._drawn.pop(old, None)
            self._drawn[own] = Drawn(policy)
        return self._drawn[own]

    @property
    def _serving(self) -> Drawn:
        return self._of(self._store.serving)

    def warm_up(self) -> None:
        """Find what the first page needs."""
        document = self.city_document()
        self.scene(SceneRequest())
        areas = points_of(self._store.serving.plan.fleets[0], self._type(self._store.serving.plan, None))
        if document["ground"]["areas"] and areas:
            self.route(RouteRequest(area=next(iter(areas))))

    def city_document(self) -> dict[str, Any]:
        """The ground, the units, and what can be chosen."""
        serving = self._store.serving
        times, words = price_words(serving.city)
        return {
            "city": serving.city.name,
            "ground": self._serving.map_ground,
            "types": list(serving.plan.types),
            "periods": [{"name": one.name, "hours": one.words} for one in serving.periods],
            "policies": [
                {"name": one.name, "method": one.method, "version": one.version} for one in self._store.by_name.values()
            ],
            "serving": serving.name,
            "price_times": times,
            "price_words": words,
            "missed_words": missed_words([standard for fleet in serving.plan.fleets for standard in fleet.standards]),
            "log": True,
        }

    def _type(self, plan: Plan, wanted: str | None) -> str:
        return plan.type_of("", wanted) if wanted else (plan.types or ("",))[0]

    def _check_period(self, period: str | None) -> None:
        names = [one.name for policy in self._store.by_name.values() for one in policy.periods]
        if period is not None and period not in names:
            raise InputError(f"period: expected one of {', '.join(dict.fromkeys(names)) or 'none'}, got {period!r}")

    def scene(self, asked: SceneRequest) -> dict[str, Any]:
        """Who goes to every area under two policies: layers for the map, by kind, what a unit costs later, and means.

        The classes of chances are the same in every state.
        """
        self._check_period(asked.period)
        policy, beside = self._store.get(asked.policy), self._store.get(asked.other or CLOSEST_FIRST)
        plan, other = (one.in_period(asked.period) for one in (policy, beside))
        of_type, idle = self._type(plan, asked.type), plan.idle_in(Situation(at="", busy=asked.busy))
        titles, names, kinds, prices = (policy.name, beside.name), self._of(policy).names, [], dict[str, float]()
        for fleet in plan.fleets:
            points = points_of(fleet, of_type)
            if not points:
                continue
            seen, numbers = policy.ground.seen_by(fleet), np.array([*points.values()])
            standards = seen.standards_of(seen.demand[numbers[0]])
            scene, compared = (everywhere(one.fleet(fleet.kind), idle, numbers) for one in (plan, other))
            pair = Pair(scene, compared, tuple(points), titles, standards, names)
            key = policy.version, policy.name, fleet.kind, of_type, asked.period or ""
            if key not in self._classes:
                self._classes[key] = chance_classes(fleet, of_type)
            layers = pair.layers(self._serving.colours, self._classes[key])
            kinds.append(
                {"kind": pair.kind, "areas": pair.areas, "lines": pair.lines(), "layers": layers} | pair.summary()
            )
            if fleet.policy.fixed_order is None:  # else it does not look at prices
                prices |= {unit: price for unit, price in unit_prices(pair.own).items() if isfinite(price)}
        return {"version": policy.version, "kinds": kinds, "prices": prices}

    def route(self, asked: RouteRequest) -> dict[str, Any]:
        """Who goes to one area under every policy, with chances, prices, reasons and roads."""
        self._check_period(asked.period)
        first = self._store.get(asked.policy).in_period(asked.period)
        of_type = self._type(first, asked.type)
        found = []
        for policy in self._store.by_name.values():
            plan, drawn = policy.in_period(asked.period), self._of(policy)
            idle, kinds, drives = plan.idle_in(Situation(at="", busy=asked.busy)), list[Any](), list[dict[str, Any]]()
            for fleet in plan.fleets:
                point = points_of(fleet, of_type).get(asked.area)
                if point is None:
                    continue
                scene, seen = everywhere(fleet, idle, np.array([point])), policy.ground.seen_by(fleet)
                if fleet.policy.fixed_order is None:
                    decided = fleet.decide(scene.trucks, point, idle)
                else:  # it does not look at prices
                    decided = chosen(fleet, point, idle, team_ids(fleet.problem, point, int(scene.teams[0])))
                document = kind_document(decided, seen.standards_of(seen.demand[point]))
                kinds.append(document | {"units": list(scene.units[0])})  # the closest first, as the roads are
                stations = [i for i in scene.stations[0].tolist() if i >= 0]
                drives += drawn.drives(fleet, point, stations, scene.units[0])
            shared = drawn.shared(drives)
            for one in drives:
                del one["links"]
            found.append({"policy": policy.name, "kinds": kinds, "drives": drives, "shared": shared})
        if not any(one["kinds"] for one in found):
            raise InputError(f"area: expected an area with incidents of the type {of_type!r}, got {asked.area!r}")
        return {"area": asked.area, "type": of_type, "policies": found}

    def playback(self, *, policy: str | None, day: int, seed: int, log_date: date | None) -> dict[str, Any]:
        """A simulated day, or one of the audit log."""
        from runcard.service.explorer import day as days  # it imports the simulation

        if log_date is None:
            chosen = self._store.get(policy)
            events = days.still_there(days.simulated_day(chosen.city, chosen.plan, day=day, seed=seed))
            return {"source": "simulated", "policy": chosen.name, "events": events, **days.summary_of(events)}
        if not EARLIEST_YEAR <= log_date.year <= LATEST_YEAR:
            raise InputError(f"log_date: expected a year from {EARLIEST_YEAR} to {LATEST_YEAR}, got {log_date}")
        start = datetime.combine(log_date, datetime.min.time(), self._zone).astimezone(self._zone)
        kinds = {unit.unit_id: unit.kind for unit in self._store.serving.plan.units}
        decisions = self._audit.decisions(since=start, until=start + timedelta(days=1), limit=MOST_LOGGED)
        events = days.logged_day(decisions, self._store.serving.city, kinds, start)
        return {"source": "logged", "policy": None, "events": events, **days.summary_of(events)}
