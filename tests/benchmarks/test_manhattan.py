"""The city of the table in the guide to standards, made from other people's data where these are."""

from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
from benchmarks.manhattan import contracted, southern_city

DATA = Path(__file__).parents[3] / "shared" / "data" / "manhattan"


def test_contraction_changes_no_route_time() -> None:
    """Nodes where nothing is decided go, others stay, and every time between those that stay is as before."""
    roads = nx.DiGraph()
    for a, b in pairwise("abcde"):  # a street both ways
        roads.add_edge(a, b, minutes=1.0)
        roads.add_edge(b, a, minutes=2.0)
    for a, b in pairwise("exya"):  # and a way round, one way
        roads.add_edge(a, b, minutes=0.5)
    short = contracted(roads, {"a", "e", "c"})
    assert set(short) == {"a", "c", "e", *(node for node in "xy" if node in short)}
    for start in "ace":
        before, after = (nx.single_source_dijkstra_path_length(one, start, weight="minutes") for one in (roads, short))
        assert {end: before[end] for end in "ace"} == {end: after[end] for end in "ace"}


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the raw data of Manhattan are not beside the project")
def test_the_southern_firehouses_make_a_department() -> None:
    """Sixteen engines, 400 demand points, two standards, and a load of 0.1."""
    city = southern_city(DATA)
    assert [unit.kind for unit in city.units] == ["engine"] * 16
    assert len(city.demand) == 400
    assert [(one.arrivals, one.target_minutes) for one in city.standards] == [(1, 4.0), (2, 8.0)]
    assert city.load == pytest.approx(0.1)
