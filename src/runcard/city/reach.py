"""Which nodes can be reached: every station needs a route to every demand point."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

_MAX_NAMED: Final = 3


def route_faults(links: Sequence[Any], stations: Sequence[Any], demand: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """The position of every station without a route to some demand point, and what is wrong with it.

    Stations that can reach one another reach the same nodes, so that one search is enough for all of them.
    """
    from scipy.sparse import csr_array  # here, because it takes a while to import
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    ways = [(link.from_node_id, link.to_node_id) for link in links]
    ways += [(link.to_node_id, link.from_node_id) for link in links if not link.directed]
    wanted = dict.fromkeys(point.node_id for point in demand)
    names = dict.fromkeys([*(node_id for way in ways for node_id in way), *wanted, *(one.node_id for one in stations)])
    number = {node_id: place for place, node_id in enumerate(names)}
    ends = np.array([(number[start], number[end]) for start, end in ways]).T
    graph = csr_array((np.ones(len(ways)), (ends[0], ends[1])), shape=(len(number), len(number)))
    part = connected_components(graph, connection="strong")[1].tolist()
    missed: dict[int, list[str]] = {}
    for index, station in enumerate(stations):
        here = number[station.node_id]
        if part[here] not in missed:
            reached = set(breadth_first_order(graph, here, return_predecessors=False).tolist())
            missed[part[here]] = [node_id for node_id in wanted if number[node_id] not in reached]
        if found := missed[part[here]]:
            named = ", ".join(found[:_MAX_NAMED])
            more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
            yield index, f"expected a route to every demand point, got none to {named}{more}"
