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

from runcard.city.importers.roads import Arcs, Flags, Roads, arcs_of, fastest_arcs

Ways = list[dict[int, int]]
"""[node] the arc to, or from, each of its neighbours."""


@dataclass(frozen=True, eq=False)
class Contraction:
    """Contracted roads, and what was done."""

    roads: Roads
    """Two arcs of one street are the two directions of one road."""
    num_nodes: int
    """Nodes that are gone: those of chains that became arcs, and of loops."""
    num_loops: int
    """Chains that returned to the node where they began."""
    num_parallel: int
    """Arcs and chains that are gone, because another one with the same ends is faster."""


def contract_chains(roads: Roads, needed: Flags) -> Contraction:
    """Strongly connected roads with every chain made one; nodes that are `needed`, at least one, stay."""
    roads.arcs.street = np.unique(roads.pairs, return_inverse=True)[1]
    before, num_loops, num_parallel = roads, 0, 0
    while chains := _chains(roads, needed):
        arcs, loops = _joined(roads.arcs, chains)
        if not len(arcs):  # one loop is all there is
            return Contraction(before, 0, 0, 0)
        fastest = fastest_arcs(arcs)
        num_loops += loops
        num_parallel += len(arcs) - len(fastest)
        stays = np.ones(roads.num_nodes, np.bool_)
        stays[[node for chain in chains for node in chain.nodes]] = False
        roads, needed = replace(roads, arcs=arcs[fastest]).with_nodes(stays), needed[stays]
    return Contraction(roads, before.num_nodes - roads.num_nodes, num_loops, num_parallel)


@dataclass(frozen=True, slots=True)
class _Chain:
    """Nodes that go, in order, and the arcs of each of its directions, in the order in which they are driven."""

    nodes: tuple[int, ...]
    directions: tuple[tuple[int, ...], ...]


def _chains(roads: Roads, needed: Flags) -> list[_Chain]:
    """Every longest chain."""
    ways_out: Ways = [{} for _ in roads.node_ids]
    ways_in: Ways = [{} for _ in roads.node_ids]
    arcs = roads.listed
    for place, arc in enumerate(arcs):
        ways_out[arc.start][arc.end] = ways_in[arc.end][arc.start] = place

    def passes(node: int) -> bool:
        out, into = ways_out[node], ways_in[node]
        if len(out) == len(into) == 1:
            if out.keys() == into.keys():
                return False  # the end of a blind alley
        elif (
            len(out) != 2
            or out.keys() != into.keys()
            or any(arcs[out[one]].street != arcs[into[one]].street for one in out)
        ):
            return False
        return len({arcs[place].road_class for ways in (out, into) for place in ways.values()}) == 1

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


def _joined(arcs: Arcs, chains: list[_Chain]) -> tuple[Arcs, int]:
    """The arcs with each chain as an arc, or as two, after those that stay; and how many chains were loops."""
    num_chains = len(chains)
    gone = [piece for chain in chains for pieces in chain.directions for piece in pieces]
    starts, ends, minutes, length_m = arcs.start, arcs.end, arcs.minutes, arcs.length_m
    chains = [chain for chain in chains if starts[chain.directions[0][0]] != ends[chain.directions[0][-1]]]
    directions = [(list(pieces), street) for street, chain in enumerate(chains) for pieces in chain.directions]
    new = arcs[[pieces[0] for pieces, _ in directions]]
    new.end = [ends[pieces[-1]] for pieces, _ in directions]
    new.minutes = [minutes[pieces].sum() for pieces, _ in directions]
    new.length_m = [length_m[pieces].sum() for pieces, _ in directions]
    new.street = 1 + arcs.street.max() + np.array([street for _, street in directions], np.int64)
    return arcs_of(np.concatenate([np.delete(arcs, gone), new])), num_chains - len(chains)
