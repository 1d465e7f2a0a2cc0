"""Aprons: the start of every drive as a link of its own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.calibrate.cities import road_city

from runcard.city import Node, read_city, write_city
from runcard.city.aprons import apron_nodes, is_apron, start_minutes, with_aprons, without_aprons
from runcard.city.demo import demo_city
from runcard.city.model import Turnout
from runcard.city.places import nearest_nodes
from runcard.plan.plan import solve
from runcard.plan.situation import Situation
from runcard.response.routes import find_routes


@pytest.mark.parametrize("city", [road_city(), demo_city()], ids=lambda city: city.name)
def test_aprons_go_on_and_off(city, tmp_path: Path) -> None:
    """With aprons and without them again it is the same city, also when it was written and read in between."""
    with_them = with_aprons(city, 0.7)
    assert sum(map(is_apron, with_them.links)) == len(city.stations)
    assert without_aprons(with_them) == city
    assert without_aprons(read_city(write_city(with_them, tmp_path / "city"))) == city
    assert without_aprons(city) is city
    assert with_aprons(city, 0.0) is city


def test_every_route_grows_by_the_start() -> None:
    """The minutes of all routes grow by exactly the apron, their links by one, and what two stations share stays."""
    city = road_city()
    before, after = find_routes(city), find_routes(with_aprons(city, 0.7))
    assert after.drive_minutes == pytest.approx(before.drive_minutes + 0.7, rel=1e-12)
    assert (after.num_links == before.num_links + 1).all()
    apart = ~np.eye(len(city.stations), dtype=bool)
    assert (after.shared_links[apart] == before.shared_links[apart]).all()
    assert (after.shared_links[~apart] == before.shared_links[~apart] + 1).all()


def test_units_drive_home_over_their_aprons() -> None:
    """From every node, and as long as on the way there where roads are no longer that way."""
    roads = find_routes(with_aprons(road_city(), 0.7))
    (without,), (home,) = (
        [minutes for _, _, minutes in routes.roads.minutes_to(routes.stations)]
        for routes in (find_routes(road_city()), roads)
    )
    assert home[:, : without.shape[1]] == pytest.approx(without + 0.7)


def test_names_that_are_taken() -> None:
    """A node that is called like an apron stays, and the apron gets another name."""
    city = road_city()
    taken = Node("apron s1", -122.45, 37.75)
    links = (*city.links, replace(city.links[0], link_id="x", to_node_id="apron s1"))
    city = replace(city, nodes=(*city.nodes, taken), links=links)
    found = with_aprons(city, 0.5)
    assert found.stations[0].node_id == "apron s1'"
    assert without_aprons(found) == city


def test_no_address_is_at_an_apron() -> None:
    """The node nearest to a station's position is that of its road, not its apron, and new nodes come last."""
    city = road_city()
    fitted = with_aprons(city, 1.9)
    index = {node.node_id: place for place, node in enumerate(city.nodes)}
    places = [city.nodes[index[station.node_id]] for station in city.stations]
    x, y = ([getattr(place, name) for place in places] for name in ("x_coord", "y_coord"))
    for one in (city, fitted):
        found, metres = nearest_nodes(one, x, y)
        assert [one.nodes[place].node_id for place in found] == [station.node_id for station in city.stations]
        assert metres == pytest.approx(0.0, abs=1e-6)


def test_a_unit_on_the_road_has_its_start() -> None:
    """A unit that is free on the road before its station is there as if it had been at home, where nobody turns out."""
    city = with_aprons(road_city(), 1.9)
    assert start_minutes(city) == pytest.approx(1.9)
    city = replace(city, turnout=Turnout(), turnout_by_kind={})
    department = solve(city, "closest-first")
    unit, road = department.unit_ids[0], dict(apron_nodes(city))
    home = {one.station_id: one.node_id for one in city.stations}[city.units[0].station_id]
    point = city.demand[0]
    at_home, on_road = (
        department.decide(Situation(at=point.node_id, type=point.type, idle={unit}, moved=moved))
        for moved in ({}, {unit: road[home]})
    )
    for one, other in zip(at_home.kinds, on_road.kinds, strict=True):
        assert one.decision.p_late == pytest.approx(other.decision.p_late, abs=1e-6)
