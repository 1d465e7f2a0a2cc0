"""Roads made fit for routing."""

import networkx as nx
import pytest

from runcard.city.importers.roads import LEAST_LINK_MINUTES, clean_roads
from runcard.errors import InputError

from .cases import graph_of, roads_from, route_times


def test_everything_that_is_dropped_is_counted() -> None:
    """A self loop, a link of no length, a slower parallel one, and what does not belong to the largest part."""
    arcs = [(0, 1, 1.0), (1, 0, 1.0), (1, 1, 5.0), (0, 1, 3.0), (1, 2, 0.0), (2, 0, 1.0), (2, 3, 1.0), (4, 5, 1.0)]
    roads = roads_from([*arcs, (5, 4, 1.0)])
    used, found = clean_roads(roads)
    assert used.node_ids == ("n0", "n1", "n2")
    assert (found.self_loops, found.short_links, found.parallel_links) == (1, 1, 1)
    assert (found.dropped_nodes, found.dropped_links) == (3, 3)
    times = route_times(graph_of(used), used.node_ids)
    assert times["n0", "n2"] == 1.0 + LEAST_LINK_MINUTES
    assert nx.is_strongly_connected(graph_of(used))


@pytest.mark.parametrize(
    ("arcs", "words"),
    [
        ([(0, 0, 1.0)], "expected roads between different nodes"),
        ([(0, 1, 1.0), (1, 2, 1.0)], "got only one-way roads"),
        ([(0, 1, 1e10), (1, 0, 1.0)], "at most 1e"),
    ],
)
def test_roads_on_which_nobody_can_drive_are_refused(arcs: list[tuple[int, int, float]], words: str) -> None:
    """Only self loops, only one-way roads, and a link of thousands of years."""
    with pytest.raises(InputError, match=words):
        clean_roads(roads_from(arcs))
