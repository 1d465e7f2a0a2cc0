"""Addresses: nodes, coordinates, and what is said of those that are far, swapped or wrong."""

from dataclasses import replace

import pytest

from runcard.city import City, Node, generate_grid
from runcard.city.address import Spots
from runcard.errors import InputError


@pytest.fixture(scope="module")
def city() -> City:
    """A grid of streets of about 100 m in San Francisco."""
    grid = generate_grid(side=4, num_stations=2, load=0.1, seed=1)
    nodes = tuple(
        Node(node.node_id, -122.42 + 0.001 * node.x_coord, 37.77 + 0.001 * node.y_coord) for node in grid.nodes
    )
    return replace(grid, nodes=nodes)


def test_a_node_is_itself(city: City) -> None:
    """Nothing is said of a node that is named."""
    spot = Spots(city).find("n5")
    assert (spot.node_id, spot.words, spot.document()) == ("n5", "", {"node": "n5"})


def test_coordinates_stand_for_the_nearest_node(city: City) -> None:
    """The answer says which node that is and how far; it is n5, at one street from the corner each way."""
    spot = Spots(city).find((-122.4191, 37.7711))
    assert (spot.node_id, spot.far) == ("n5", False)
    assert spot.metres == pytest.approx(14.2, abs=0.1)
    assert spot.words == "Node n5 is the nearest to -122.4191,37.7711: 14 m away."
    assert spot.document() == {"node": "n5", "x": -122.4191, "y": 37.7711, "metres": spot.metres, "far": False}


def test_a_place_that_is_far_is_said_to_be(city: City) -> None:
    """Two kilometres off, the node still stands for it, and words and JSON say so."""
    spot = Spots(city).find((-122.42, 37.75))
    assert spot.node_id == "n0"
    assert spot.far
    assert spot.document()["far"] is True
    assert "which is far" in spot.words


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("n55", "the incident: expected a node of grid-4x4-stations-2-load-0.1-seed-1, got 'n55' (did you mean n5?)"),
        ((37.7711, -122.4191), "got 37.7711,-122.4191: the coordinates look swapped"),
        ((0.0, 0.0), "expected a place within 3 km of the roads, longitude,latitude such as -122.42,37.772, got 0,0,"),
        ((float("nan"), 1.0), "expected coordinates that are numbers, got nan,1.0"),
        ((1.0,), "expected a node or the coordinates x,y, got (1.0,)"),
        (7, "expected a node or the coordinates x,y, got 7"),
    ],
)
def test_what_is_no_place_is_refused_in_a_sentence(city: City, place: object, words: str) -> None:
    """Unknown nodes, swapped coordinates, places elsewhere in the world, and what is none."""
    with pytest.raises(InputError) as caught:
        Spots(city).find(place)  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_other_units_are_no_metres() -> None:
    """In a grid of nodes 1 apart the nearest node is found, and nothing is said of metres that nobody knows."""
    spot = Spots(generate_grid(side=4, num_stations=2, load=0.1, seed=1)).find((1.2, 0.9))
    assert (spot.node_id, spot.metres, spot.far) == ("n5", None, False)
    assert spot.document() == {"node": "n5", "x": 1.2, "y": 0.9, "metres": None, "far": False}
    assert "neither degrees nor metres" in spot.words


@pytest.mark.parametrize("place", [(300.0, 1.0), (1.0, -9.0), (1e308, 0.0)])
def test_in_any_unit_a_place_further_than_the_city_is_wide_is_not_in_it(place: tuple[float, float]) -> None:
    """In a grid of nodes 1 apart, 3 wide: a place 2 beside it may be meant, one further than 3 cannot be."""
    city = generate_grid(side=4, num_stations=2, load=0.1, seed=1)
    assert Spots(city).find((5.0, 0.9)).node_id == "n7"
    with pytest.raises(InputError, match=r"the incident: expected a place in grid.* which is far outside"):
        Spots(city).find(place)


def test_metres_can_be_swapped_too(city: City) -> None:
    """Projected coordinates the other way round are noticed as well."""
    nodes = tuple(
        Node(node.node_id, 551_000.0 + 4e5 * (node.x_coord + 122.42), 4_180_000.0 + 4e5 * (node.y_coord - 37.77))
        for node in city.nodes
    )
    with pytest.raises(InputError, match=r"expected x,y such as .*: the coordinates look swapped"):
        Spots(replace(city, nodes=nodes)).find((4_180_010.0, 551_020.0))
