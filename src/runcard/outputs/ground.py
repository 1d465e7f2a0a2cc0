"""What a map of a page is drawn on: areas, roads and stations as plain values, rounded so that a page stays small."""

from math import floor, log10
from typing import Any, Final

import numpy as np

from runcard.city.model import City
from runcard.city.places import coordinates_of, is_lonlat
from runcard.outputs.areas import AreaShapes, areas_of
from runcard.plan.words import unit_name

DEGREE_DECIMALS: Final = 5
"""Of degrees: a metre."""
PARTS: Final = 1e5
"""Coordinates that are no degrees are rounded to about this part of the width of the city."""


def ground_of(city: City, areas: AreaShapes | None = None) -> dict[str, Any]:
    """The areas, roads and stations of a city, ready for JSON; `areas` are found if they are not known.

    `lonlat` says whether coordinates are longitude and latitude. The rings of an area are flat, [x1, y1, x2, y2, ...],
    those around it and those around its holes alike, and not closed. A road is [x1, y1, x2, y2], once for both ways.
    """
    decimals = _decimals(city)
    return {
        "lonlat": is_lonlat(*coordinates_of(city)),
        "areas": [
            {"id": area, "name": city.name_of(area), "rings": [_flat(ring) for part in parts for ring in part]}
            for area, parts in (areas or areas_of(city)).polygons(decimals).items()
        ],
        "roads": _roads(city, decimals),
        "stations": stations_of(city),
    }


def _decimals(city: City) -> int:
    """To which coordinates are rounded."""
    x, y = coordinates_of(city)
    width = float(max(np.ptp(x), np.ptp(y))) or 1.0
    return DEGREE_DECIMALS if is_lonlat(x, y) and width > 0.01 else -floor(log10(width / PARTS))


def _flat(ring: list[list[float]]) -> list[float]:
    """A closed ring as one list of numbers, without the end that is its start."""
    return [number for place in ring[:-1] for number in place]


def _roads(city: City, decimals: int) -> list[list[float]]:
    """Each piece of road once, also where it has links both ways."""
    places = {node.node_id: (round(node.x_coord, decimals), round(node.y_coord, decimals)) for node in city.nodes}
    pairs = (sorted((places[link.from_node_id], places[link.to_node_id])) for link in city.links)
    return [[*start, *end] for start, end in dict.fromkeys(map(tuple, pairs)) if start != end]


def stations_of(city: City) -> list[dict[str, Any]]:
    """The stations with their units, as in `ground_of`; without a roster, their trucks by the id of the station."""
    decimals = _decimals(city)
    return [
        {
            "id": station.station_id,
            "name": station.name or station.station_id,
            "x": round(city.node(station.node_id).x_coord, decimals),
            "y": round(city.node(station.node_id).y_coord, decimals),
            "units": [{"id": unit_name(city, unit), "kind": unit.kind} for unit in city.units_at[station.station_id]],
        }
        for station in city.stations
    ]
