"""Kernels of routes: second routes against every simple path."""

from typing import Any

import networkx as nx
import numpy as np

from runcard.response.route_kernels import second_route
from runcard.response.routes import road_graph, routes_to


def test_the_second_route(make_city: Any) -> None:
    """It has the fewest links in common with the first and is then the shortest, by trying every simple path."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        ends = [(a, b) for a in range(7) for b in range(a) if rng.random() < 0.45] + [(k, k + 1) for k in range(6)]
        edges = [(a, b, bool(rng.random() < 0.2 and a != b + 1), float(rng.uniform(0.2, 2.0))) for a, b in ends]
        edges += [(b, a, True, float(rng.uniform(0.2, 2.0))) for a, b, directed, _ in edges if directed]
        city = make_city(edges, [0], [6], trucks=[2])
        roads, graph = road_graph(city), nx.MultiDiGraph()
        for number, (a, b, directed, minutes) in enumerate(edges):
            graph.add_edge(a, b, key=number, minutes=minutes)
            if not directed:
                graph.add_edge(b, a, key=number, minutes=minutes)
        ids = [link.link_id for link in city.links]
        first = [ids.index(link) for link in routes_to(city, 0)[0]]

        def length(path: list[int], first: list[int] = first, roads: Any = roads) -> tuple[int, float]:
            return len(set(path) & set(first)), round(float(roads.minutes[path].sum()), 9)

        paths = [[key for _, _, key in path] for path in nx.all_simple_edge_paths(graph, 0, 6)]
        found = second_route(roads.leaving, roads.minutes, 0, 6, np.array(first, np.int32)).tolist()
        assert found in paths, seed
        assert length(found) == min(map(length, paths)), seed
