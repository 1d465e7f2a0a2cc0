"""The roads that units take to an area, and the links that two or more of them share."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from runcard.city.model import City
from runcard.plan.fleet import Fleet
from runcard.plan.ground import Ground
from runcard.response.routes import Routes, find_routes

DECIMALS: Final = 6
MOST_KEPT: Final = 512
"""Routes of so many areas are kept; clicking goes back and forth."""


@dataclass(frozen=True, eq=False)
class Roadbook:
    """The routes of a city, found when they are asked for."""

    ground: Ground
    _kept: dict[tuple[str, int], Routes] = field(default_factory=dict)

    def _routes(self, city: City, fleet: Fleet, point: int) -> Routes:
        key = fleet.kind, point
        if key not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = find_routes(city, [point])
        return self._kept[key]

    def _place(self, node_id: str) -> tuple[float, float]:
        node = self.ground.city.node(node_id)
        return round(node.x_coord, DECIMALS), round(node.y_coord, DECIMALS)

    def drives(self, fleet: Fleet, point: int, stations: Sequence[int], units: Sequence[str]) -> list[dict[str, Any]]:
        """The route of a unit of each station to a demand point: its links, its places and its mean minutes.

        Of two units of a station the second takes another road, where the city says so.
        """
        city = self.ground.seen_by(fleet)
        routes, found = self._routes(city, fleet, point), list[dict[str, Any]]()
        several = [i for i in set(stations) if list(stations).count(i) > 1]
        second = routes.second_routes(several) if several and city.driving.second_route == "disjoint" else {}
        for place, (i, unit_id) in enumerate(zip(stations, units, strict=False)):
            links = routes.route(0, i)
            if list(stations[:place]).count(i) % 2 == 1:
                links = second.get((0, i), links)
            numbers, station = links.tolist(), city.stations[i]
            minutes = sum(city.links[number].mean_minutes for number in numbers) + city.turnout.mean_minutes
            drive = {"unit": unit_id, "kind": fleet.kind, "station": station.station_id, "minutes": minutes}
            found.append(drive | {"links": numbers, "line": self._line(city, station.node_id, numbers)})
        return found

    def _line(self, city: City, node_id: str, links: Sequence[int]) -> list[float]:
        """The places along a route, flat, from a node on."""
        flat = [*self._place(node_id)]
        for number in links:
            link = city.links[number]
            node_id = link.to_node_id if link.from_node_id == node_id else link.from_node_id
            flat += self._place(node_id)
        return flat

    def shared(self, drives: Sequence[dict[str, Any]]) -> list[list[float]]:
        """The links that two or more of some drives share, each as [x1, y1, x2, y2]."""
        counts, links = Counter(number for one in drives for number in set(one["links"])), self.ground.city.links
        both = [links[number] for number, times in counts.items() if times > 1]
        lines = [[*self._place(one.from_node_id), *self._place(one.to_node_id)] for one in both]
        return [line for line in lines if line[:2] != line[2:]]
