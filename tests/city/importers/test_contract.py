"""Chains made one: no route time changes, and nothing that is needed is lost."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runcard.city.importers.contract import contract_chains
from runcard.city.importers.roads import Roads, clean_roads

from .cases import Arc, graph_of, roads_from, route_times


def needed_nodes(roads: Roads, *ids: str) -> np.ndarray:
    """Flags of the nodes with these ids."""
    return np.array([one in ids for one in roads.node_ids])


def both_ways(*arcs: Arc) -> list[Arc]:
    """Each arc, and the same back."""
    return [way for start, end, minutes in arcs for way in ((start, end, minutes), (end, start, minutes))]


def cross(middle: int, *others: int) -> list[Arc]:
    """Two-way blind alleys at a node, which make it a junction."""
    return both_ways(*((middle, one, 1.0) for one in others))


def ways(roads: Roads) -> dict[tuple[str, str], float]:
    """The arcs by the ids of their nodes."""
    ids = roads.node_ids
    return {(ids[arc.start], ids[arc.end]): arc.minutes for arc in roads.listed}


def test_a_two_way_chain_becomes_one_street() -> None:
    """The nodes between go, and the two directions stay one street, with their own sums."""
    arcs = [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 4.0), (3, 2, 5.0), (2, 1, 2.0), (1, 0, 1.0)]
    roads = roads_from(arcs)
    short = contract_chains(roads, needed_nodes(roads, "n0", "n3"))
    assert ways(short.roads) == {("n0", "n3"): 7.0, ("n3", "n0"): 8.0}
    assert short.roads.listed[0].street == short.roads.listed[1].street
    assert short.num_nodes == 2
    assert sorted(short.roads.arcs.length_m.tolist()) == [3500.0, 4000.0]


def test_one_way_chains_between_the_same_junctions_are_two_streets() -> None:
    """Two one-way roads, one each way, share nothing."""
    arcs = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 0, 1.0), *cross(0, 4), *cross(2, 5)]
    roads = roads_from(arcs)
    short = contract_chains(roads, needed_nodes(roads, "n0"))
    assert dict.fromkeys((("n0", "n2"), ("n2", "n0")), 2.0).items() <= ways(short.roads).items()
    street = dict(zip(ways(short.roads), short.roads.arcs.street.tolist(), strict=True))
    assert street["n0", "n2"] != street["n2", "n0"]
    assert street["n0", "n4"] == street["n4", "n0"]


def test_a_needed_node_and_a_change_of_class_stay() -> None:
    """A station in the middle of a road is not contracted away, and neither is the place where a road gets wider."""
    arcs = both_ways((0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0))
    roads = roads_from(arcs, classes=["street"] * 4 + ["avenue"] * 4)
    short = contract_chains(roads, needed_nodes(roads, "n0", "n1", "n4"))
    assert set(short.roads.node_ids) == {"n0", "n1", "n2", "n4"}


def test_a_chain_that_returns_is_dropped() -> None:
    """A crescent that begins and ends at one node is on no route; it is counted."""
    arcs = [*cross(0, 4, 5), (0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 0, 1.0)]
    roads = roads_from(arcs)
    short = contract_chains(roads, needed_nodes(roads, "n0"))
    assert short.num_loops == 1
    assert set(short.roads.node_ids) == {"n0", "n4", "n5"}


def test_of_a_chain_and_a_road_with_the_same_ends_the_faster_stays() -> None:
    """A way round beside a direct road goes if it is slower, and is counted; then the next chain can be joined."""
    arcs = [*cross(0, 5), *cross(3, 6), *both_ways((0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (1, 4, 3.0), (4, 2, 3.0))]
    roads = roads_from(arcs)
    short = contract_chains(roads, needed_nodes(roads, "n0", "n3"))
    assert ways(short.roads)["n0", "n3"] == pytest.approx(3.0)
    assert short.num_parallel == 2
    assert set(short.roads.node_ids) == {"n0", "n3", "n5", "n6"}


def test_one_ring_and_nothing_else_is_left_as_it_is() -> None:
    """A ring with one needed node would be dropped whole; then nothing is contracted."""
    roads = roads_from([(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0)])
    short = contract_chains(roads, needed_nodes(roads, "n1"))
    assert short.num_nodes == 0
    assert len(short.roads.arcs) == 3


@st.composite
def road_networks(draw: st.DrawFn) -> tuple[Roads, np.ndarray]:
    """Roads with many chains: a sparse random graph whose roads are cut into pieces, one-way, two-way and parallel."""
    num_junctions = draw(st.integers(2, 6))
    arcs: list[Arc] = []
    classes: list[str] = []
    count = num_junctions
    rings = [(one, (one + 1) % num_junctions) for one in range(num_junctions)]
    pairs = st.tuples(st.integers(0, num_junctions - 1), st.integers(0, num_junctions - 1))
    for start, end in rings + draw(st.lists(pairs, max_size=6)):
        pieces, two_way = draw(st.integers(1, 4)), draw(st.booleans())
        path = [start, *range(count, count + pieces - 1), end]
        count += pieces - 1
        one_class = draw(st.sampled_from(["street", "avenue"]))
        for place in range(pieces):
            other_class = draw(st.sampled_from([one_class, one_class, "lane"]))
            minutes = draw(st.integers(1, 50)) / 7.0
            arcs.append((path[place], path[place + 1], minutes))
            classes.append(other_class)
            if two_way:
                back = minutes if draw(st.booleans()) else draw(st.integers(1, 50)) / 7.0
                arcs.append((path[place + 1], path[place], back))
                classes.append(other_class)
    roads = roads_from(arcs, classes=classes, num_nodes=count)
    needed = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    needed[0] = True
    return roads, needed


@pytest.mark.slow
@settings(max_examples=150)
@given(road_networks())
def test_no_route_time_changes(case: tuple[Roads, np.ndarray]) -> None:
    """Between all nodes that stay, networkx finds the same times before and after, and no needed node is lost."""
    roads, needed = case
    if not any(arc.start != arc.end for arc in roads.listed):
        return
    used, _ = clean_roads(roads)
    kept = {one for one, flag in zip(roads.node_ids, needed.tolist(), strict=True) if flag} & set(used.node_ids)
    flags = needed_nodes(used, *kept) if kept else needed_nodes(used, used.node_ids[0])
    short = contract_chains(used, flags)
    assert kept <= set(short.roads.node_ids)
    assert nx.is_strongly_connected(graph_of(short.roads))
    before = route_times(graph_of(used), short.roads.node_ids)
    after = route_times(graph_of(short.roads), short.roads.node_ids)
    assert after == pytest.approx(before, abs=1e-9)
    assert len({(arc.start, arc.end) for arc in short.roads.listed}) == len(short.roads.arcs)
