"""Roads without the nodes at which nothing is decided, and with the same route times.

A node in the middle of a road has one way on. It is *one-way* if it has one arc in, from a, and one arc out, to b; it
is *two-way* if it has a street to a and one to b, each with both directions; a and b differ. It goes if all of its arcs
are of one road class and nobody needs it. A run of such nodes is a *chain*. It becomes one arc for each of its
directions with

    minutes = Σ minutes of its arcs,    length = Σ lengths of its arcs

so that every route between nodes that stay takes as long as before. A chain that returns to the node where it began is
on no shortest route and goes. Of a chain beside another arc with the same ends the faster stays. Both may leave new
nodes with one way on, so it is repeated until nothing changes.

The two directions of a road are known to be the same road (`streets`), so that they can be one link of the city, where
trucks meet the same delay. Two one-way roads between the same junctions never are.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from runcard.city.importers.roads import Flags, Positions, Roads, fastest_arcs

Ways = list[dict[int, int]]
"""[node] the arc to, or from, each of its neighbours."""


@dataclass(frozen=True, eq=False)
class Contraction:
    """Contracted roads, and what was done."""

    roads: Roads
    streets: Positions
    """[arc] its street: two arcs of one street are the two directions of one road."""
    num_nodes: int
    """Nodes that are gone: those of chains that became arcs, and of loops."""
    num_loops: int
    """Chains that returned to the node where they began."""
    num_parallel: int
    """Arcs and chains that are gone, because another one with the same ends is faster."""


def contract_chains(roads: Roads, needed: Flags) -> Contraction:
    """Strongly connected roads with every chain made one; nodes that are `needed`, at least one, stay."""
    streets = _streets(roads)
    before = roads
    num_loops = num_parallel = 0
    while True:
        chains = _chains(roads, streets.tolist(), needed)
        if not chains:
            break
        shorter, streets, loops = _joined(roads, streets, chains)
        if not len(shorter.starts):  # one loop is all there is
            return Contraction(before, _streets(before), 0, 0, 0)
        fastest = fastest_arcs(shorter.starts, shorter.ends, shorter.minutes)
        num_loops += loops
        num_parallel += len(shorter.starts) - len(fastest)
        gone = np.zeros(roads.num_nodes, np.bool_)
        gone[[node for chain in chains for node in chain.nodes]] = True
        roads, streets = shorter.with_arcs(fastest).with_nodes(~gone), streets[fastest]
        needed = needed[~gone]
    return Contraction(roads, streets, before.num_nodes - roads.num_nodes, num_loops, num_parallel)


@dataclass(frozen=True, slots=True)
class _Chain:
    """Nodes that go, in order, and the arcs of each of its directions, in the order in which they are driven."""

    nodes: tuple[int, ...]
    directions: tuple[tuple[int, ...], ...]


def _streets(roads: Roads) -> Positions:
    """[arc] a number that an arc shares with the arc between the same nodes the other way, and with no other."""
    low, high = np.minimum(roads.starts, roads.ends), np.maximum(roads.starts, roads.ends)
    pairs: NDArray[np.int64] = low * roads.num_nodes + high
    return np.unique(pairs, return_inverse=True)[1].astype(np.int64)


def _chains(roads: Roads, streets: list[int], needed: Flags) -> list[_Chain]:
    """Every longest chain."""
    ways_out: Ways = [{} for _ in roads.node_ids]
    ways_in: Ways = [{} for _ in roads.node_ids]
    starts, ends, class_of = roads.starts.tolist(), roads.ends.tolist(), roads.class_of.tolist()
    for arc, (start, end) in enumerate(zip(starts, ends, strict=True)):
        ways_out[start][end] = arc
        ways_in[end][start] = arc

    def passes(node: int) -> bool:
        out, into = ways_out[node], ways_in[node]
        if len(out) == len(into) == 1:
            if out.keys() == into.keys():
                return False  # the end of a blind alley
        elif len(out) != 2 or out.keys() != into.keys() or any(streets[out[one]] != streets[into[one]] for one in out):
            return False
        return len({class_of[arc] for ways in (out, into) for arc in ways.values()}) == 1

    free = [not kept and passes(node) for node, kept in enumerate(needed.tolist())]
    chains = []
    for node in range(roads.num_nodes):
        if free[node]:
            chain = _chain(node, free, ways_out, ways_in)
            for one in chain.nodes:
                free[one] = False
            chains.append(chain)
    return chains


def _chain(node: int, free: list[bool], ways_out: Ways, ways_in: Ways) -> _Chain:
    """The longest chain through a free node."""
    two_way = len(ways_out[node]) == 2
    before, after = ways_out[node] if two_way else (next(iter(ways_in[node])), next(iter(ways_out[node])))

    def run(first: int, ways: Ways) -> list[int]:
        """The nodes from a neighbour on, up to and with the first that stays."""
        last, here, path = node, first, [first]
        while free[here]:
            last, here = here, next(one for one in ways[here] if len(ways[here]) == 1 or one != last)
            path.append(here)
        return path

    path = [*run(before, ways_in)[::-1], node, *run(after, ways_out)]
    there = tuple(ways_out[one][other] for one, other in pairwise(path))
    if not two_way:
        return _Chain(tuple(path[1:-1]), (there,))
    path.reverse()
    return _Chain(tuple(path[1:-1]), (there, tuple(ways_out[a][b] for a, b in pairwise(path))))


def _joined(roads: Roads, streets: Positions, chains: list[_Chain]) -> tuple[Roads, Positions, int]:
    """The roads with each chain as an arc, or as two, after the arcs that stay; their streets; how many were loops."""
    used = np.ones(len(roads.starts), np.bool_)
    new: list[tuple[tuple[int, ...], int]] = []
    num_loops, street = 0, int(streets.max()) + 1
    for chain in chains:
        for arcs in chain.directions:
            used[list(arcs)] = False
        first = chain.directions[0]
        if roads.starts[first[0]] == roads.ends[first[-1]]:
            num_loops += 1
            continue
        new += [(arcs, street) for arcs in chain.directions]
        street += 1
    kept = np.flatnonzero(used)
    left = roads.with_arcs(kept)
    first_arcs = np.array([arcs[0] for arcs, _ in new], np.int64)
    last_arcs = np.array([arcs[-1] for arcs, _ in new], np.int64)
    joined = replace(
        left,
        starts=np.append(left.starts, roads.starts[first_arcs]),
        ends=np.append(left.ends, roads.ends[last_arcs]),
        minutes=np.append(left.minutes, [roads.minutes[list(arcs)].sum() for arcs, _ in new]),
        length_m=np.append(left.length_m, [roads.length_m[list(arcs)].sum() for arcs, _ in new]),
        class_of=np.append(left.class_of, roads.class_of[first_arcs]),
        link_ids=(*left.link_ids, *(roads.link_ids[arcs[0]] for arcs, _ in new)),
    )
    of_new = np.array([number for _, number in new], np.int64)
    return joined, np.append(streets[kept], of_new), num_loops
