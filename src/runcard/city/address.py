"""Addresses: any place of a city, as a node of its roads or as coordinates, which stand for the nearest node.

Coordinates are in the order of the city's own, x first: longitude, latitude. The answer says how far the node is. From
`FAR_METRES` on it says that this is far; beyond `MOST_METRES` the place is not in the city, and is refused. Where the
coordinates of a city are neither degrees nor metres, but any other unit, nobody can tell how far a place is; what is
further from the roads than the city is wide and long is refused all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, Final

import numpy as np

from runcard.city.conditions import not_among, shown
from runcard.city.model import City
from runcard.city.places import FAR_METRES, NearestNodes, coordinates_of, is_lonlat, nearest_nodes
from runcard.errors import InputError

MOST_METRES: Final = 3_000.0
LEAST_EXTENT: Final = 1000.0
"""A city in metres is at least so wide, or so long."""
SWAPPED: Final = 0.1
"""Coordinates look swapped if, the other way round, they are so much nearer to the roads."""

Place = str | tuple[float, float]
"""The id of a node, or coordinates."""


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A node of the roads, and the coordinates that it stands for, if these were given."""

    node_id: str
    coordinates: tuple[float, float] | None = None
    metres: float | None = None
    """How far the node is from the coordinates, if the unit of these is known."""

    @property
    def far(self) -> bool:
        """Whether the node is far from the place that was meant."""
        return self.metres is not None and self.metres > FAR_METRES

    @property
    def words(self) -> str:
        """Which node stands for which coordinates; empty where the node itself was named."""
        if self.coordinates is None:
            return ""
        x, y = self.coordinates
        nearest = f"Node {self.node_id} is the nearest to {x:.12g},{y:.12g}"
        if self.metres is None:
            return f"{nearest}; the coordinates of the city are neither degrees nor metres, so it is not known how far."
        far = ", which is far: driving times are to the node only" if self.far else ""
        return f"{nearest}: {self.metres:,.0f} m away{far}."

    def document(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        if self.coordinates is None:
            return {"node": self.node_id}
        return {"node": self.node_id, "x": self.coordinates[0], "y": self.coordinates[1]} | {
            "metres": self.metres,
            "far": self.far,
        }


class Spots:
    """The spots of a city, for whoever asks more than once: what all of them need is found once."""

    def __init__(self, city: City) -> None:
        self.city = city

    @cached_property
    def _nearest(self) -> NearestNodes:
        return NearestNodes(self.city)

    @cached_property
    def _in_metres(self) -> bool:
        return _in_metres(self.city)

    @cached_property
    def _extent(self) -> float:
        """How wide or long the city is, in the unit of its coordinates."""
        return max(float(np.ptp(one)) for one in coordinates_of(self.city))

    def find(self, place: Place, *, what: str = "the incident") -> Spot:
        """The spot of a place; an InputError if there is no such node, or none near the coordinates."""
        city = self.city
        if isinstance(place, str):
            if place not in city.node_numbers:
                raise InputError(f"{what}: {not_among(f'a node of {city.name}', place, city.node_numbers)}")
            return Spot(node_id=place)
        x, y = _numbers(place, what)
        (found,), (metres,) = self._nearest.find([x], [y])
        if not isfinite(metres) or (not self._in_metres and 0.0 < self._extent < metres):
            raise InputError(f"{what}: expected a place in {city.name}, got {x:.12g},{y:.12g}, which is far outside")
        if self._in_metres and (fault := fault_of(city, x, y, float(metres), most=MOST_METRES)):
            raise InputError(f"{what}: {fault}")
        known = float(metres) if self._in_metres else None
        return Spot(node_id=city.nodes[int(found)].node_id, coordinates=(x, y), metres=known)


def _in_metres(city: City) -> bool:
    """Whether distances in a city are known in metres: from degrees, or because its coordinates are metres."""
    x, y = coordinates_of(city)
    return is_lonlat(x, y) or float(max(np.ptp(x), np.ptp(y))) >= LEAST_EXTENT


def fault_of(city: City, x: float, y: float, metres: float, *, most: float) -> str:
    """What is wrong with coordinates so far from the nearest node; empty if nothing is."""
    if metres <= FAR_METRES or not _in_metres(city):
        return ""
    middle = city.nodes[len(city.nodes) // 2]
    names = "longitude,latitude" if is_lonlat(*coordinates_of(city)) else "x,y"
    such_as = f"{names} such as {middle.x_coord:.8g},{middle.y_coord:.8g}, got {x:.12g},{y:.12g}"
    if float(nearest_nodes(city, [y], [x])[1][0]) < SWAPPED * metres:
        return f"expected {such_as}: the coordinates look swapped"
    if metres > most:
        return f"expected a place within {most / 1000.0:g} km of the roads, {such_as}, {metres / 1000.0:,.1f} km away"
    return ""


def _numbers(place: Sequence[Any], what: str) -> tuple[float, float]:
    """Coordinates, if they are two numbers."""
    try:
        x, y = (float(one) for one in place)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected a node or the coordinates x,y, got {shown(place)}") from error
    if not (isfinite(x) and isfinite(y)):
        raise InputError(f"{what}: expected coordinates that are numbers, got {x},{y}")
    return x, y
