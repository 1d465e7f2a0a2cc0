"""The areas of a city as GeoJSON, for QGIS and others: their shapes are those of `areas.py`, each road node in its own.

Rings around an area run counter-clockwise, those around a hole clockwise, as RFC 7946 wants it. None touches itself.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from runcard.city.model import City
from runcard.city.places import coordinates_of, is_lonlat
from runcard.errors import InputError
from runcard.output_file import write_whole
from runcard.outputs.areas import areas_of

DECIMALS: Final = 7
"""Of degrees: a centimetre."""


def write_areas(city: City, path: Path) -> Path:
    """The GeoJSON file of the areas of a city."""
    return write_whole(path, json.dumps(areas_document(city), allow_nan=False).encode())


def areas_document(city: City) -> dict[str, Any]:
    """The areas of a city as a GeoJSON FeatureCollection, a feature for each demand node."""
    check_lonlat(city)
    rates = area_rates(city)
    features = [
        {"type": "Feature", "properties": {"node_id": node_id, **rates[node_id]}, "geometry": geometry}
        for node_id, geometry in area_geometries(city).items()
    ]
    return {"type": "FeatureCollection", "name": city.name, "features": features}


def area_geometries(city: City) -> dict[str, dict[str, Any]]:
    """By demand node: the shape of its area."""
    polygons = areas_of(city, tidy=False).polygons(DECIMALS)
    return {node_id: {"type": "MultiPolygon", "coordinates": shape} for node_id, shape in polygons.items()}


def check_lonlat(city: City) -> None:
    """Raise an InputError if the coordinates of a city are no longitude and latitude."""
    if not is_lonlat(*coordinates_of(city)):
        raise InputError(
            f"{city.name}: its coordinates are not longitude and latitude, and GeoJSON has no others; "
            "import the roads with longitude and latitude"
        )


def area_rates(city: City) -> dict[str, dict[str, Any]]:
    """By demand node: its incidents per day, in all and by type where there are types."""
    rates: dict[str, dict[str, Any]] = defaultdict(lambda: {"incidents_per_day": 0.0})
    for point in city.demand:
        of_node = rates[point.node_id]
        of_node["incidents_per_day"] += point.incidents_per_day
        if point.type:
            key = f"incidents_per_day {point.type}"
            of_node[key] = of_node.get(key, 0.0) + point.incidents_per_day
    return rates
