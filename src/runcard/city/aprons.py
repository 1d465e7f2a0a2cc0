"""Aprons: what every drive takes besides the road, as a link of its own before each station.

A station then stands at a node of its own, `apron STATION`, joined to the road by a link of class `apron`. So the start
of a drive is random as any link is, and routes need not know of it. The start stands for pulling out, but also for the
last metres to the door and for small streets that the roads lack. So a unit that is on the road already has it, too. No
address is at an apron: who looks for the nearest node passes over them.
"""

from dataclasses import replace
from typing import Final

from runcard.city.model import City, Link, Node

ROAD_CLASS: Final = "road_class"
"""The extra column of link.csv that says what a link is."""
APRON: Final = "apron"


def is_apron(link: Link) -> bool:
    """Whether a link is an apron."""
    return dict(link.extra).get(ROAD_CLASS) == APRON


def apron_nodes(city: City) -> dict[str, str]:
    """By the node of each apron, the node of the road that it joins."""
    return {link.from_node_id: link.to_node_id for link in city.links if is_apron(link)}


def without_aprons(city: City) -> City:
    """The city with its stations at the road again."""
    aprons = apron_nodes(city)
    if not aprons:
        return city
    return replace(
        city,
        nodes=tuple(node for node in city.nodes if node.node_id not in aprons),
        links=tuple(link for link in city.links if not is_apron(link)),
        stations=tuple(replace(one, node_id=aprons.get(one.node_id, one.node_id)) for one in city.stations),
    )


def start_minutes(city: City) -> float:
    """The mean minutes of the aprons of a city; 0 if it has none."""
    minutes = [link.mean_minutes for link in city.links if is_apron(link)]
    return sum(minutes) / len(minutes) if minutes else 0.0


def with_aprons(city: City, minutes: float) -> City:
    """The city with an apron of so many mean minutes before each station that has none; new nodes come last."""
    if minutes <= 0.0:
        return city
    aprons, taken = apron_nodes(city), {*city.node_numbers, *(link.link_id for link in city.links)}
    nodes, links, stations = list(city.nodes), list(city.links), []
    for station in city.stations:
        name = station.node_id
        if name not in aprons:
            name = f"{APRON} {station.station_id}"
            while name in taken:
                name += "'"
            at = city.node(station.node_id)
            nodes.append(Node(name, at.x_coord, at.y_coord))
            links.append(Link(name, name, station.node_id, False, minutes, extra=((ROAD_CLASS, APRON),)))
        stations.append(replace(station, node_id=name))
    return replace(city, nodes=tuple(nodes), links=tuple(links), stations=tuple(stations))
