"""The cities of the snapshots: one for each way in which a city can be out of the ordinary."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tests.departments import grid_department, random_department
from tests.weeks import with_days, with_days_by_type

from runcard.city import (
    City,
    DemandPoint,
    Driving,
    Link,
    Node,
    Objective,
    Standard,
    Station,
    Turnout,
    demo_city,
    generate_grid,
)


def _grid() -> City:
    return generate_grid(side=4, num_stations=4, load=0.2, seed=5)


def _classes() -> City:
    """Two kinds of incidents at most nodes: some need three trucks, some a second one in time."""
    city = generate_grid(side=3, num_stations=4, load=0.15, seed=2, shared_delay=0.5)
    larger = (
        replace(point, incidents_per_day=point.incidents_per_day / 4.0, trucks=3, name="fire")
        for point in city.demand[::2]
    )
    slower = (
        replace(point, incidents_per_day=point.incidents_per_day / 2.0, arrivals=2, target_minutes=4.0)
        for point in city.demand[::3]
    )
    return replace(city, demand=(*city.demand, *larger, *slower))


def _houses() -> City:
    return generate_grid(side=4, num_stations=3, load=0.3, seed=8, trucks_per_station=2)


def _minutes() -> City:
    """Gamma delays, a turnout, and an objective that counts minutes too."""
    city = generate_grid(side=3, num_stations=4, load=0.2, seed=3, shared_delay=0.4)
    return replace(
        city, driving=Driving("gamma", cv=0.8), turnout=Turnout(1.0, "gamma", 0.5, False),
        objective=Objective("late+minutes", 0.05),
    )  # fmt: skip


def _weights() -> City:
    return random_department(7)


def _quiet_type() -> City:
    """Alarms are in the table of types and never happen."""
    city = grid_department(side=3, engines=3, ladders=2, seed=4)
    alarm = DemandPoint(city.demand[0].node_id, 0.0, type="alarm")
    return replace(
        city, demand=(*city.demand, alarm), standards=(*city.standards, Standard("alarm", "ladder", 1, 1, 8.0))
    )


def _online() -> City:
    """44 units, which no computer solves exactly."""
    return generate_grid(side=7, num_stations=44, load=0.15, seed=6, gamma=0.3)


def _one_node() -> City:
    """All incidents at the one station."""
    return City(
        name="One node", busy_minutes=30.0, target_minutes=5.0,
        nodes=(Node("n", 0.0, 0.0), Node("m", 1.0, 0.0)),
        links=(Link("nm", "n", "m", False, 2.0),),
        stations=(Station("s", "n", 2),), demand=(DemandPoint("n", 6.0),),
    )  # fmt: skip


def _names() -> City:
    """Commas, quotes and umlauts in names, a bracket that must never become markup, and longitude and latitude."""
    city = grid_department(side=3, engines=3, ladders=1, seed=9)
    words = ("Köln, Altstadt", 'the "Bridge"', "<b>Übergang</b>", "Łódź & co.", "naïve; café")
    nodes = tuple(
        replace(
            node, name=words[n % len(words)], x_coord=6.9 + node.x_coord / 100.0, y_coord=50.9 + node.y_coord / 100.0
        )
        for n, node in enumerate(city.nodes)
    )
    stations = tuple(replace(station, name=words[-1 - n % len(words)]) for n, station in enumerate(city.stations))
    return replace(city, name="Straße, 1", nodes=nodes, stations=stations)


CITIES: Final[dict[str, Callable[[], City]]] = {
    "grid": _grid,
    "classes": _classes,
    "houses": _houses,
    "minutes": _minutes,
    "one-node": _one_node,
    "week": lambda: with_days(generate_grid(side=3, num_stations=3, load=0.2, seed=5)),
    "demo": demo_city,
    "weights": _weights,
    "kinds-week": lambda: with_days_by_type(grid_department(side=3, engines=3, ladders=2)),
    "quiet-type": _quiet_type,
    "names": _names,
    "online": _online,
    "fitted": demo_city,
}
"""By the name of their folder. `fitted` is fitted to a made-up log of the demo city."""
