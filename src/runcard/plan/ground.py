"""The ground of a plan: the city that it was solved for, for incidents and units that are anywhere in it.

It is read when it is first needed: a decision for a demand point needs no roads.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from runcard.city.address import Spots
from runcard.city.aprons import apron_nodes, start_minutes
from runcard.city.model import City, Standard
from runcard.errors import InputError
from runcard.response.routes import RoadGraph, find_routes, road_graph
from runcard.response.travel import outside_route

if TYPE_CHECKING:
    from runcard.plan.fleet import Fleet


@dataclass(frozen=True, eq=False)
class Ground:
    """The city of a plan, and what is known of its roads."""

    given: City | Callable[[], City]
    """The city, or what reads it."""
    known_outside: Mapping[str, int] = field(default_factory=dict)
    """The links of the route of a truck from outside, by kind, where they are known: all routes say it."""
    _checked: set[str] = field(default_factory=set)

    @cached_property
    def city(self) -> City:
        """The city."""
        return self.given if isinstance(self.given, City) else self.given()

    @cached_property
    def spots(self) -> Spots:
        """Its places by node and by coordinates."""
        return Spots(self.city)

    @cached_property
    def roads(self) -> RoadGraph:
        """Its roads as arrays."""
        return road_graph(self.city)

    @property
    def node_numbers(self) -> Mapping[str, int]:
        """The place of each node in the city."""
        return self.city.node_numbers

    @cached_property
    def aprons(self) -> frozenset[str]:
        """The nodes of its aprons."""
        return frozenset(apron_nodes(self.city))

    @cached_property
    def start_minutes(self) -> float:
        """The mean minutes of its aprons."""
        return start_minutes(self.city)

    def seen_by(self, fleet: "Fleet") -> City:
        """The city that a fleet sees; an InputError if it is not the one that the fleet was made for."""
        city, problem = self.city.of_kind(fleet.kind), fleet.problem
        if fleet.kind not in self._checked:
            stations = [(one.station_id, one.trucks) for one in city.stations]
            known = list(zip(problem.station_ids, problem.trucks.tolist(), strict=True))
            if stations != known or tuple(point.node_id for point in city.demand) != problem.point_ids:
                raise InputError(f"{self.city.name}: expected the stations and demand points that {fleet.kind} has")
            self._checked.add(fleet.kind)
        return city

    def standards_at(self, kind: str, point: int) -> tuple[Standard, ...]:
        """What counts at a demand point of a kind, whether or not the city was given standards."""
        city = self.city.of_kind(kind)
        return city.standards_of(city.demand[point])

    @property
    def outside_link_minutes(self) -> float:
        """The mean minutes of a link of that route."""
        given = self.city.outside.link_minutes
        return self.roads.mean_minutes if given is None else float(given)

    def outside_links(self, fleet: "Fleet") -> int:
        """The links of the route of a truck from outside."""
        city = self.seen_by(fleet)
        if city.outside.links is not None:
            return int(city.outside.links)
        if fleet.kind in self.known_outside:
            return self.known_outside[fleet.kind]
        return outside_route(city, find_routes(city))[0]

    def minutes_to(self, node_id: str) -> NDArray[np.float64]:
        """[node] the mean driving minutes from every node to one of them; inf where no road leads there."""
        ((_, _, minutes),) = self.roads.minutes_to([self.node_numbers[node_id]])
        found: NDArray[np.float64] = minutes[0]
        return found
