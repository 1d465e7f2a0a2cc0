"""Aprons: what every drive takes besides the road, as a link of its own before each station.

A station then stands at a node of its own, `apron STATION`, joined to the road by a link of class `apron`. So the start
of a drive is random as any link is, nothing else has to know of it, and a unit that is on the road already has none.
"""

from dataclasses import replace
from typing import Final

from runcard.calibrate.trips import ROAD_CLASS
from runcard.city.model import City, Link, Node

APRON: Final = "apron"


def is_apron(link: Link) -> bool:
    """Whether a link is an apron."""
    return dict(link.extra).get(ROAD_CLASS) == APRON


def without_aprons(city: City) -> City:
    """The city with its stations at the road again."""
    aprons = {link.from_node_id: link.to_node_id for link in city.links if is_apron(link)}
    if not aprons:
        return city
    return replace(
        city,
        nodes=tuple(node for node in city.nodes if node.node_id not in aprons),
        links=tuple(link for link in city.links if not is_apron(link)),
        stations=tuple(
            replace(one, node_id=aprons.get(one.node_id, one.node_id), trucks=0 if city.units else one.trucks)
            for one in city.stations
        ),
    )


def with_aprons(city: City, minutes: float) -> City:
    """The city with an apron of so many mean minutes before each station; new nodes stand behind the others."""
    if minutes <= 0.0:
        return city
    places = {node.node_id: node for node in city.nodes}
    taken = set(places) | {link.link_id for link in city.links}
    nodes, links, stations = list(city.nodes), list(city.links), []
    for station in city.stations:
        name = f"{APRON} {station.station_id}"
        while name in taken:
            name += "'"
        at = places[station.node_id]
        nodes.append(Node(name, at.x_coord, at.y_coord))
        links.append(Link(name, name, station.node_id, False, minutes, extra=((ROAD_CLASS, APRON),)))
        stations.append(replace(station, node_id=name, trucks=0 if city.units else station.trucks))
    return replace(city, nodes=tuple(nodes), links=tuple(links), stations=tuple(stations))
