"""The fingerprint of a city: a digest of everything that decisions depend on or say, before anything is computed.

Two cities with the same fingerprint have the same dispatch problem. What changes no decision and no word about one is
left out: the name of the city, coordinates, names of nodes and stations, lengths of links, columns that runcard does
not use. The order of rows counts, because ties are broken by it. Problems say their fingerprint too, which covers their
objective; `source_of` does not, so that policies for several objectives can be told to be of one city.
"""

import hashlib
import json
from dataclasses import astuple
from typing import Any, Final

from runcard.city.model import City
from runcard.mdp.problem import fingerprint_of

SCHEMA: Final = 1
"""Raised when the same city would give another problem than before."""

NUM_KEYS: Final = {"driving": 7, "turnout": 4, "outside": 2}
"""How many keys a section had at first; one that came later counts only where it says something."""


def city_fingerprint(city: City) -> str:
    """The fingerprint of the dispatch problem of a city, found without routes or tables."""
    return fingerprint_of(source_of(city), city.objective)


def source_of(city: City) -> str:
    """The digest of a city of one kind without its objective; 2 and 2.0 are the same number."""
    several = len({point.node_id for point in city.demand}) < len(city.demand)
    inputs = [
        SCHEMA,
        float(city.mean_busy_minutes),
        float(city.shared_delay),
        [_keys_of(getattr(city, section), least) for section, least in NUM_KEYS.items()],
        [node.node_id for node in city.nodes],
        [(link.from_node_id, link.to_node_id, bool(link.directed), float(link.mean_minutes)) for link in city.links],
        [(station.station_id, station.node_id, float(station.trucks)) for station in city.stations],
        [
            (
                point.node_id,
                float(point.incidents_per_day),
                *(float(getattr(one, name)) for name in ("trucks", "arrivals", "target_minutes")),
                point.name if several else "",  # only the names of several classes at one node are ever said
            )
            for point in city.demand
            for one in city.standards_of(point)[:1]
        ],
    ]
    if city.has_roster or not city.plain:
        units = [(unit.unit_id, unit.station_id, unit.kind) for unit in city.units if city.has_roster]
        names = ("type", "kind", "trucks", "arrivals", "target_minutes", "weight")
        standards = [[_plain(getattr(one, name)) for name in names] for one in city.standards if not city.plain]
        inputs += [units, standards, [point.type for point in city.demand] if standards else []]
    return hashlib.blake2b(json.dumps(inputs).encode(), digest_size=16).hexdigest()


def _keys_of(section: Any, least: int) -> list[Any]:
    """The values of a section, without the last ones that are the default, as in files from before they came."""
    values, defaults = astuple(section), astuple(type(section)())
    stated = [number for number, value in enumerate(values, start=1) if value != defaults[number - 1]]
    return [_plain(value) for value in values[: max([least, *stated])]]


def _plain(value: Any) -> Any:
    """A setting with every number as the same kind of number."""
    return value if value is None or isinstance(value, bool | str) else float(value)
