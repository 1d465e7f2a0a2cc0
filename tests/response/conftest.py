"""Small cities for the tests of routes and lateness."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from runcard.city import City, DemandPoint, Link, Node, Station

Edge = tuple[int, int] | tuple[int, int, bool, float]
CityMaker = Callable[..., City]


def build_city(edges: Sequence[Edge], stations: Sequence[int], demand: Sequence[int], **settings: Any) -> City:
    """Return a city with links e0, e1, ... between nodes n0, n1, ...; an edge is (from, to[, directed, minutes])."""
    full = [(edge[0], edge[1], *(edge[2:] or (False, settings.get("link_minutes", 1.0)))) for edge in edges]
    trucks = settings.pop("trucks", [1] * len(stations))
    settings.pop("link_minutes", None)
    places = [edge[0] for edge in full] + [edge[1] for edge in full] + list(stations) + list(demand)
    return City(
        **{"name": "test", "busy_minutes": 30.0, "target_minutes": 4.0} | settings,
        nodes=tuple(Node(f"n{place}", place, 0.0) for place in range(max(places) + 1)),
        links=tuple(Link(f"e{i}", f"n{u}", f"n{w}", one_way, mean) for i, (u, w, one_way, mean) in enumerate(full)),
        stations=tuple(Station(f"s{i}", f"n{u}", trucks[i]) for i, u in enumerate(stations)),
        demand=tuple(DemandPoint(f"n{v}", 1.0) for v in demand),
    )


def grid_edges(side: int) -> list[tuple[int, int]]:
    """Return the edges of a square grid, rows first."""
    nodes = range(side * side)
    across = [(u, u + 1) for u in nodes if (u + 1) % side]
    return across + [(u, u + side) for u in nodes if u + side < side * side]


@pytest.fixture(scope="session")
def make_city() -> CityMaker:
    """Return `build_city`."""
    return build_city


@pytest.fixture(scope="session")
def make_grid() -> CityMaker:
    """Return a function (side, stations, **settings) that makes a full grid with a demand point at every node."""

    def make(side: int, stations: Sequence[int], **settings: Any) -> City:
        return build_city(grid_edges(side), stations, range(side * side), **settings)

    return make
