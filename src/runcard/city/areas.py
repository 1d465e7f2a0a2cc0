"""Demand areas: which road nodes belong together, by driving time.

A city has centres c_1, ..., c_K, its demand nodes. Let d(u, v) be the mean driving minutes along the streets, each of
which can be used both ways, in the faster of its two times if they differ. Then

    area(v) = argmin_k d(c_k, v)        every road node belongs to the nearest centre
    width   = 2 max_v min_k d(c_k, v)   no two nodes of an area are farther apart than this

One-way signs are left aside on purpose. An area is what lies together, and two houses of a one-way street do, whichever
way it goes. On the 16,811 nodes of Manhattan, 400 areas are 2.4 minutes wide. Seen with one-way signs obeyed, half of
the nodes are then within 0.9 minutes of their centre and all within 2.9; centres seeded with one-way signs obeyed give
1.3 and 2.8, and a width of 3 minutes would take 1,771 of them. `drive_minutes` has the time with one-way signs obeyed.

Centres are found by farthest-point seeding: the first is the first node, and each further one is the node that is
farthest from the centres before it. It goes on until there are K, and then until the width is at most the one that is
asked for. No K centres whatever have less than half of the width that this finds (Gonzalez 1985). Nothing is random.

Each new centre needs only a search as far as the node that was reached last, because farther away nothing gets nearer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.errors import InputError

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

NO_AREA: Final = -1
"""The area of a node that no centre reaches."""


@dataclass(frozen=True, eq=False)
class Areas:
    """Areas around centres."""

    centres: Positions
    """[area] the node of its centre, in the order of the nodes."""
    area_of: Positions
    """[node] its area; NO_AREA where no street leads to a centre."""
    minutes: Floats
    """[node] from the centre of its area along the streets."""

    @property
    def widest_minutes(self) -> float:
        """The width of the widest area."""
        return 2.0 * float(self.minutes.max())


def driving_graph(num_nodes: int, starts: Positions, ends: Positions, minutes: Floats) -> Any:
    """The roads as a sparse matrix of minutes from node to node; of parallel ones the fastest."""
    from scipy.sparse import csr_array  # here, because it takes a while to import

    order = np.lexsort((minutes, ends, starts))
    starts, ends, minutes = starts[order], ends[order], minutes[order]
    first = np.ones(len(starts), np.bool_)
    first[1:] = (starts[1:] != starts[:-1]) | (ends[1:] != ends[:-1])
    return csr_array((minutes[first], (starts[first], ends[first])), shape=(num_nodes, num_nodes))


def street_graph(num_nodes: int, starts: Positions, ends: Positions, minutes: Floats) -> Any:
    """The same with every road usable both ways."""
    return driving_graph(num_nodes, np.append(starts, ends), np.append(ends, starts), np.append(minutes, minutes))


def drive_minutes(graph: Any, areas: Areas) -> Floats:
    """[node] the minutes from the nearest centre, with one-way signs obeyed: `graph` is a driving graph."""
    from scipy.sparse.csgraph import dijkstra

    return np.asarray(dijkstra(graph, indices=areas.centres, min_only=True))


def _streets_of(city: City) -> Any:
    """The street graph of a city, nodes in the order of the city."""
    number = city.node_numbers
    starts = np.array([number[link.from_node_id] for link in city.links], np.int64)
    ends = np.array([number[link.to_node_id] for link in city.links], np.int64)
    return street_graph(len(number), starts, ends, np.array([link.mean_minutes for link in city.links]))


def demand_nodes(city: City) -> tuple[str, ...]:
    """The nodes of the demand points, each once, in their order: the centres of the city's areas."""
    return tuple(dict.fromkeys(point.node_id for point in city.demand))


def area_of_nodes(city: City, nodes: Sequence[str] | None = None) -> Positions:
    """[node] its area, as a position in some nodes, in `demand_nodes` if left out; NO_AREA where no street leads."""
    number = city.node_numbers
    centres = np.array([number[node_id] for node_id in (demand_nodes(city) if nodes is None else nodes)], np.int64)
    return nearest_centres(_streets_of(city), centres).area_of


def nearest_centres(graph: Any, centres: Positions) -> Areas:
    """The areas of some centres, of which none is there twice; `graph` is a street graph."""
    from scipy.sparse.csgraph import dijkstra

    minutes, _, sources = dijkstra(graph, indices=centres, min_only=True, return_predecessors=True)
    area = np.full(graph.shape[0] + 1, NO_AREA, np.int64)  # the last is for nodes that nothing reaches
    area[centres] = np.arange(len(centres))
    return Areas(centres, area[np.where(sources < 0, graph.shape[0], sources)], minutes)


def spread_areas(graph: Any, *, num_areas: int, widest_minutes: float) -> Areas:
    """About `num_areas` areas of a connected street graph, and more if some would be wider than `widest_minutes`."""
    if num_areas < 1:
        raise InputError(f"expected at least one area, got {num_areas}")
    if not widest_minutes > 0.0:
        raise InputError(f"expected areas of a width of more than 0 minutes, got {widest_minutes:g}")
    from scipy.sparse.csgraph import dijkstra

    num_nodes = graph.shape[0]
    centres = [0]
    minutes = dijkstra(graph, indices=[0])[0]
    while len(centres) < num_nodes:
        farthest = int(minutes.argmax())
        most = float(minutes[farthest])
        if len(centres) >= num_areas and 2.0 * most <= widest_minutes:
            break
        centres.append(farthest)
        np.minimum(minutes, dijkstra(graph, indices=[farthest], limit=most)[0], out=minutes)
    return nearest_centres(graph, np.array(sorted(centres), np.int64))
