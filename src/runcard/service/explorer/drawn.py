"""What is drawn of a city, whatever units are busy: areas, stations, and the roads that units take to an area."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from runcard.city.model import City
from runcard.outputs.areas import NOBODY, AreaShapes, areas_of, station_colours
from runcard.outputs.cards.book import closest_stations
from runcard.outputs.ground import ground_of
from runcard.outputs.unit_routes import UnitRoutes
from runcard.plan.fleet import Fleet
from runcard.plan.plan import Plan
from runcard.service.policies import LoadedPolicy

DECIMALS: Final = 6
MOST_KEPT: Final = 512
"""Routes of so many areas are kept; clicking goes back and forth."""
NUM_RANKS: Final = 3
"""Stations of so many ranks around a border have different colours."""


class Drawn:
    """What is drawn of the city of a policy; routes are found when they are asked for."""

    def __init__(self, policy: LoadedPolicy) -> None:
        self.policy, self.ground = policy, policy.ground
        self._routes: dict[tuple[str, int], UnitRoutes] = {}

    @cached_property
    def areas(self) -> AreaShapes:
        """The areas of the city."""
        return areas_of(self.policy.city)

    @cached_property
    def colours(self) -> dict[str, str]:
        """The colour of each station."""
        return colours_of(self.policy.city, self.policy.plan, self.areas)

    @cached_property
    def names(self) -> dict[str, str]:
        """What a person calls each area."""
        return area_names(self.policy.city, self.policy.plan)

    @cached_property
    def map_ground(self) -> dict[str, Any]:
        """Areas, roads, and stations with their units as policies name them."""
        ground = ground_of(self.policy.city, self.areas)
        for area in ground["areas"]:
            area["name"] = self.names.get(area["id"], area["name"])
        for station in ground["stations"]:
            own = [unit for unit in self.policy.plan.units if unit.station_id == station["id"]]
            station["units"] = [{"id": unit.unit_id, "kind": unit.kind} for unit in own]
        return ground

    def _place(self, node_id: str) -> tuple[float, float]:
        node = self.ground.city.node(node_id)
        return round(node.x_coord, DECIMALS), round(node.y_coord, DECIMALS)

    def drives(self, fleet: Fleet, point: int, stations: Sequence[int], units: Sequence[str]) -> list[dict[str, Any]]:
        """The route of a unit of each station to a demand point: its links, its places and its mean minutes.

        Of two units of a station the second takes another road, where the city says so.
        """
        if (fleet.kind, point) not in self._routes:
            if len(self._routes) >= MOST_KEPT:
                self._routes.clear()
            self._routes[fleet.kind, point] = UnitRoutes(self.ground.seen_by(fleet), [point])
        routes, drives = self._routes[fleet.kind, point], list[dict[str, Any]]()
        for i, unit_id, links in zip(stations, units, routes.links(0, stations), strict=False):
            minutes = routes.drive_minutes(links) + routes.city.turnout.mean_minutes
            home, line = routes.city.stations[i].station_id, [self._place(name) for name in routes.nodes(i, links)]
            drive = {"unit": unit_id, "kind": fleet.kind, "station": home, "minutes": minutes}
            drives.append(drive | {"links": links, "line": [number for place in line for number in place]})
        return drives

    def shared(self, drives: Sequence[dict[str, Any]]) -> list[list[float]]:
        """The links that two or more of some drives share, each as [x1, y1, x2, y2]."""
        counts, links = Counter(number for one in drives for number in set(one["links"])), self.ground.city.links
        both = [links[number] for number, times in counts.items() if times > 1]
        lines = [[*self._place(one.from_node_id), *self._place(one.to_node_id)] for one in both]
        return [line for line in lines if line[:2] != line[2:]]


def colours_of(city: City, plan: Plan, areas: AreaShapes) -> dict[str, str]:
    """By station: a colour that its neighbours, and theirs when the closest is busy, do not have where possible."""
    area_of, number, maps = {name: n for n, name in enumerate(areas.node_ids)}, city.station_numbers, []
    for fleet in plan.fleets:
        problem = fleet.problem
        stations, first = np.array([number[name] for name in problem.station_ids]), dict[str, int]()
        for point, node_id in enumerate(problem.point_ids):
            first.setdefault(node_id, point)
        ranked = np.full((min(NUM_RANKS, len(stations)), len(area_of)), NOBODY)
        ranked[:, [area_of[node_id] for node_id in first]] = stations[problem.order[list(first.values())]].T[:NUM_RANKS]
        maps += ranked.tolist()
    stations = areas.plane.nodes[[city.node_numbers[station.node_id] for station in city.stations]]
    return dict(zip(number, station_colours(stations, areas, maps), strict=True))


def area_names(city: City, plan: Plan) -> dict[str, str]:
    """What a person calls each area; where it only has a number, the station that is closest to it says where it is."""
    stations = {one.station_id: one.name or f"station {one.station_id}" for one in city.stations}
    nodes, found = {node.node_id: node for node in city.nodes}, dict[str, str]()
    for area, station_id in closest_stations(plan).items():
        name = nodes[area].name or area
        found[area] = f"near {stations[station_id]} ({name})" if name.lstrip("-").isdigit() else name
    return found
