"""The fingerprint of a city: a digest of everything that decisions depend on or say, before anything is computed.

Two cities with the same fingerprint have the same dispatch problem. What changes no decision and no word about one is
left out: the name of the city, coordinates, names of nodes and stations, lengths of links, columns that runcard does
not use. The order of rows counts, because ties are broken by it. Problems say their fingerprint too, which covers their
objective; `source_of` does not, so that policies for several objectives can be told to be of one city.
"""

import hashlib
import json
from dataclasses import asdict
from typing import Any, Final

from runcard.city.model import City
from runcard.mdp.problem import fingerprint_of

SCHEMA: Final = 1
"""Raised when the same city would give another problem than before."""


def city_fingerprint(city: City) -> str:
    """The fingerprint of the dispatch problem of a city, found without routes or tables."""
    return fingerprint_of(source_of(city), city.objective)


def source_of(city: City) -> str:
    """The digest of a city without its objective."""
    several = len({point.node_id for point in city.demand}) < len(city.demand)
    inputs = {
        "schema": SCHEMA,
        "busy_minutes": city.busy_minutes,
        "shared_delay": city.shared_delay,
        "driving": asdict(city.driving),
        "turnout": asdict(city.turnout),
        "outside": asdict(city.outside),
        "nodes": [node.node_id for node in city.nodes],
        "links": [[link.from_node_id, link.to_node_id, link.directed, link.mean_minutes] for link in city.links],
        "stations": [[station.station_id, station.node_id, station.trucks] for station in city.stations],
        "demand": [
            [
                point.node_id,
                point.incidents_per_day,
                point.trucks or city.trucks_per_incident,
                point.arrivals or city.arrivals_per_incident,
                point.target_minutes or city.target_minutes,
                point.name if several else "",  # only the names of several classes at one node are ever said
            ]
            for point in city.demand
        ],
    }
    return hashlib.blake2b(json.dumps(_canonical(inputs)).encode(), digest_size=16).hexdigest()


def _canonical(value: Any) -> Any:
    """A value with every number as the same kind of number: 2 and 2.0 are the same input."""
    if isinstance(value, dict):
        return {key: _canonical(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_canonical(one) for one in value]
    return value if value is None or isinstance(value, bool | str) else float(value)
