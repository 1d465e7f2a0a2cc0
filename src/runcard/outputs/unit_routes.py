"""The roads that units take from their stations to incidents, as they are drawn."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from runcard.city.model import City
from runcard.response.routes import find_routes


class UnitRoutes:
    """The roads of the units of a city of one kind, to each of its demand points or only to some."""

    def __init__(self, city: City, points: Sequence[int] | None = None) -> None:
        self.city, self.routes = city, find_routes(city, points)

    @cached_property
    def _second(self) -> Mapping[tuple[int, int], Any]:
        """By row and station: the links of the second unit of a station, where it takes another road."""
        several = [i for i, station in enumerate(self.city.stations) if station.trucks > 1]
        return self.routes.second_routes(several) if self.city.driving.second_route == "disjoint" else {}

    def links(self, row: int, stations: Sequence[int]) -> Iterator[list[int]]:
        """The links, from the station on, that a unit of each station drives over, to a row of `find_routes`.

        Every second unit of a station takes its second road, if it has one.
        """
        for place, i in enumerate(stations):
            second = self._second.get((row, i)) if list(stations[:place]).count(i) % 2 == 1 else None
            yield (self.routes.route(row, i) if second is None else second).tolist()

    def drive_minutes(self, links: Sequence[int]) -> float:
        """The mean minutes on the road."""
        return sum(self.city.links[number].mean_minutes for number in links)

    def nodes(self, i: int, links: Sequence[int]) -> list[str]:
        """The nodes along a route, from a station on."""
        nodes = [self.city.stations[i].node_id]
        for number in links:
            link = self.city.links[number]
            nodes.append(link.to_node_id if link.from_node_id == nodes[-1] else link.from_node_id)
        return nodes
