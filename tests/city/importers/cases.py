"""Small road networks, as arrays, graphs and files, and route times by networkx."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from runcard.city import City
from runcard.city.importers.roads import Arc as RoadArc
from runcard.city.importers.roads import Roads, arcs_of

Arc = tuple[int, int, float]


def roads_from(arcs: Sequence[Arc], *, classes: Sequence[str] | None = None, num_nodes: int | None = None) -> Roads:
    """Roads of arcs (start, end, minutes) between nodes on a line of 100 m, with a class for each arc."""
    number = num_nodes or 1 + max(max(start, end) for start, end, _ in arcs)
    names = ["street"] * len(arcs) if classes is None else list(classes)
    return Roads(
        node_ids=tuple(f"n{one}" for one in range(number)),
        x=100.0 * np.arange(number),
        y=np.zeros(number),
        lonlat=False,
        arcs=arcs_of(
            [
                RoadArc(start, end, f"a{place}", minutes, 500.0 * minutes, np.nan, name)
                for place, ((start, end, minutes), name) in enumerate(zip(arcs, names, strict=True))
            ]
        ),
    )


def graph_of(roads: Roads) -> nx.DiGraph:
    """The same as a graph of networkx, by node id, with the faster of parallel arcs."""
    graph = nx.DiGraph()
    graph.add_nodes_from(roads.node_ids)
    for arc in roads.listed:
        add_way(graph, roads.node_ids[arc.start], roads.node_ids[arc.end], arc.minutes)
    return graph


def graph_of_city(city: City) -> nx.DiGraph:
    """The links of a city as a graph of networkx."""
    graph = nx.DiGraph()
    graph.add_nodes_from(node.node_id for node in city.nodes)
    for link in city.links:
        add_way(graph, link.from_node_id, link.to_node_id, link.mean_minutes)
        if not link.directed:
            add_way(graph, link.to_node_id, link.from_node_id, link.mean_minutes)
    return graph


def add_way(graph: nx.DiGraph, start: str, end: str, minutes: float) -> None:
    """Add an arc, unless there is a faster one."""
    before = graph.get_edge_data(start, end, {"minutes": np.inf})["minutes"]
    graph.add_edge(start, end, minutes=min(minutes, before))


def route_times(graph: nx.DiGraph, nodes: Iterable[str]) -> dict[tuple[str, str], float]:
    """The minutes between all pairs of nodes that have a route."""
    nodes = list(nodes)
    found = {}
    for start in nodes:
        reached = nx.single_source_dijkstra_path_length(graph, start, weight="minutes")
        found |= {(start, end): reached[end] for end in nodes if end in reached}
    return found


def street_grid(side: int = 5, *, seed: int = 0) -> nx.MultiDiGraph:
    """A grid of streets as OSMnx has them: some one-way, in longitude and latitude, with length, speed and class."""
    random = np.random.default_rng(seed)
    graph = nx.MultiDiGraph(crs="epsg:4326")
    for node in range(side * side):
        x, y = -122.4 + 0.004 * (node % side), 37.7 + 0.003 * (node // side)
        graph.add_node(1000 + node, x=x, y=y, street_count=4)
    for node in range(side * side):
        steps = [1] if node % side < side - 1 else []
        steps += [side] if node // side < side - 1 else []
        for step in steps:
            one_way = bool(random.random() < 0.3) and 0 < node // side < side - 1
            data: dict[str, Any] = {
                "osmid": node,
                "length": round(float(random.uniform(200, 400)), 2),
                "highway": ["residential", "secondary"][step > 1],
                "maxspeed": "25 mph",
                "oneway": one_way,
            }
            graph.add_edge(1000 + node, 1000 + node + step, **data)
            if not one_way:
                graph.add_edge(1000 + node + step, 1000 + node, **data)
    return graph


def write_rows(path: Path, rows: Iterable[Sequence[object]]) -> Path:
    """A CSV file of rows, the first of which is the header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def write_stations(folder: Path, graph: nx.MultiDiGraph, nodes: Sequence[int] = (1000, 1024)) -> Path:
    """A file of stations at nodes of a street grid, by longitude and latitude."""
    rows: list[tuple[object, ...]] = [("station", "longitude", "latitude", "address")]
    rows += [(f"S{one}", graph.nodes[one]["x"], graph.nodes[one]["y"], f"{one} Main St") for one in nodes]
    return write_rows(folder / "stations.csv", rows)
