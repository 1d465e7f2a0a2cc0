"""`runcard decide` for addresses, and with units that are not at home."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.departments import grid_department
from tests.weeks import with_days_by_type

from runcard.city import City, DemandPoint, Node, read_city, write_city
from runcard.mdp.from_city import dispatch_problem
from runcard.plan.file import save
from runcard.plan.plan import plan_of, solve
from runcard.plan.situation import Situation
from runcard.policy.solve import solve_problem


def in_degrees(city: City) -> City:
    """The same city with nodes 100 m apart in San Francisco."""
    nodes = (Node(one.node_id, -122.42 + 0.00113 * one.x_coord, 37.77 + 0.0009 * one.y_coord) for one in city.nodes)
    return replace(city, nodes=tuple(nodes))


@pytest.fixture(scope="module")
def city() -> City:
    """Four engines and two ladders; the last 6 of 16 nodes are no demand points, and n0 has no fires."""
    whole = in_degrees(grid_department(side=4, engines=4, ladders=2))
    demand = tuple(
        point for point in whole.demand
        if int(point.node_id[1:]) < 10 and (point.node_id, point.type) != ("n0", "fire")
    )  # fmt: skip
    return replace(whole, demand=demand)


@pytest.fixture(scope="module")
def file(city: City, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policy file of the department."""
    solved = {kind: solve_problem(dispatch_problem(city, kind=kind, arrivals=True)) for kind in city.kinds}
    return save(plan_of(city, solved), tmp_path_factory.mktemp("policy") / "city.policy")


def test_an_address_is_answered_from_the_file_alone(run, city: City, file: Path) -> None:
    """By coordinates: the team of Python, the node, how far it is, and the closest demand point, as JSON and words."""
    asked = ("decide", file, "--at-xy", "-122.41661,37.7727", "--type", "fire", "--busy", "E01")
    ran = run(*asked, "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    solved = solve(city)
    expected = solved.decide(Situation(at="n15", type="fire", idle=set(solved.unit_ids) - {"E01"}))
    assert document["team"] == list(expected.units)
    assert document["p_late"] == pytest.approx(sum(one.decision.p_late for one in expected.kinds), abs=1e-6)
    assert document["node"] == "n15"
    assert document["place"] == {
        "node": "n15", "x": -122.41661, "y": 37.7727, "metres": pytest.approx(0.0, abs=1.0), "far": False,
        "demand_point": expected.area,
    }  # fmt: skip
    assert document["moved"] == {}
    assert document["kinds"][0]["last_p90_minutes"] > 0.0
    words = " ".join(run(*asked).out.split())
    assert "Node n15 is the nearest to -122.41661,37.7727: 0 m away." in words
    assert f"n15 is no demand point of such incidents; the closest by road is {expected.area}." in words


def test_arrivals_are_those_of_the_demand_point(run, city: City, file: Path) -> None:
    """A fresh row, for a unit "elsewhere" at its own station, has the arrivals that the file has for the node."""
    asked = ("decide", file, "--at", "n5", "--type", "fire", "--idle", "all", "--json")
    home = {station.station_id: station.node_id for station in city.stations}
    unit = city.units[0]
    known, fresh = (
        json.loads(run(*asked, *more).out)["kinds"][0]
        for more in ((), ("--from", f"{unit.unit_id}={home[unit.station_id]}"))
    )
    arrivals = ("first_minutes", "first_p90_minutes", "last_minutes", "last_p90_minutes")
    for one, other in zip([fresh, *fresh["alternatives"]], [known, *known["alternatives"]], strict=True):
        assert sorted(one["units"]) == sorted(other["units"])
        assert [one[name] for name in arrivals] == pytest.approx([other[name] for name in arrivals], rel=2e-3)


def test_a_demand_point_is_the_same_by_its_coordinates(run, file: Path) -> None:
    """The answer for a demand point says nothing of places but its own; by coordinates it differs in that only."""
    named = json.loads(run("decide", file, "--at", "n5", "--type", "fire", "--idle", "all", "--json").out)
    assert (named["place"], named["moved"], named["notes"]) == ({"node": "n5", "demand_point": "n5"}, {}, [])
    xy = "-122.41887,37.7709"
    found = json.loads(run("decide", file, "--at-xy", xy, "--type", "fire", "--idle", "all", "--json").out)
    assert found | {"place": named["place"], "notes": []} == named


def test_a_unit_on_the_road_is_named_and_explained(run, city: City, file: Path) -> None:
    """--from takes nodes and coordinates: a unit at the door goes, and the answer says so; prices stay."""
    asked = ("decide", file, "--at", "n5", "--type", "fire", "--idle", "all")
    at_home = json.loads(run(*asked, "--json").out)
    ran = run(*asked, "--from", "E04=n5", "--from", "T02=@-122.41887,37.7709", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert {"E04", "T02"} <= set(document["team"])
    assert document["moved"]["E04"] == {"node": "n5"}
    assert document["moved"]["T02"]["node"] == "n5"
    assert document["p_late"] < at_home["p_late"]
    assert document["truck_prices"] == pytest.approx(at_home["truck_prices"], abs=1e-12)
    words = " ".join(run(*asked, "--from", "E04=n5").out.split())
    assert "E04 is free at n5, not at home." in words


def test_a_type_may_be_asked_for_where_it_never_was(run, file: Path) -> None:
    """n0 has no fires in demand.csv; one there is answered as at any other node."""
    document = json.loads(run("decide", file, "--at", "n0", "--type", "fire", "--idle", "all", "--json").out)
    assert document["place"]["demand_point"] != "n0"
    assert [one["kind"] for one in document["kinds"]] == ["engine", "ladder"]


def test_far_is_said(run, file: Path) -> None:
    """Two kilometres from the last street the answer stands, and says that it is far."""
    asked = ("decide", file, "--at-xy", "-122.42,37.75", "--type", "medical", "--idle", "all")
    assert json.loads(run(*asked, "--json").out)["place"]["far"] is True
    assert "which is far" in " ".join(run(*asked).out.split())


def test_what_makes_no_sense_is_refused(refuse, file: Path) -> None:
    """Each mistake is a sentence with what was expected, and exit code 2."""
    table = """
--at-xy 37.7709,-122.41887 --type fire :: the coordinates look swapped
--at-xy 0,0 --type fire :: expected a place within 3 km of the roads
--at-xy here --type fire :: expected two numbers with a comma between, x first, got 'here'
--at-xy 1,2,3 --type fire :: expected two numbers with a comma between
--at n5 --at-xy 1,2 --type fire :: expected --at or --at-xy, got both
--type fire :: expected --at or --at-xy, got neither
--at n15 :: --type: expected one of several types of incidents (fire, medical), got none
--at n15 --type flood :: expected a type of incident (fire, medical), got 'flood'
--at n5 --type fire --from E99=n5 :: got 'E99', which is none
--at n5 --type fire --from E01=n5 :: unit E01: expected it to be idle
--at n5 --type fire --from E02=n77 :: unit E02: expected a node of grid
--at n5 --type fire --from E02 :: expected UNIT=NODE or UNIT=@X,Y, got 'E02'
--at n5 --type fire --from E02=@5 :: expected two numbers with a comma between
--at n5 --type fire --from E02=n1 --from E02=n2 :: expected each unit once, got E02
"""
    refuse(table.replace("\n--", "\ndecide FILE --busy E01 --"), FILE=file)


def test_a_file_without_a_city_takes_it_from_the_folder(run, city: City, tmp_path: Path) -> None:
    """An older file says what is missing; with --city it answers for any node."""
    solved = replace(solve(city, "closest-first"), ground=None)
    old = save(solved, tmp_path / "old.policy")
    asked = ("decide", old, "--at-xy", "-122.41661,37.7727", "--type", "fire", "--idle", "all")
    ran = run(*asked)
    assert (ran.code, ran.out) == (2, "")
    assert "the policy holds no city" in ran.err
    assert "solve it again" in ran.err
    unknown = run("decide", old, "--at", "n15", "--type", "fire", "--idle", "all")
    assert "expected a demand point (n0, n1" in unknown.err
    folder = write_city(city, tmp_path / "city")
    assert json.loads(run(*asked, "--city", folder, "--json").out)["node"] == "n15"


def test_a_plain_city_has_addresses_and_classes(run, grid_folder: Path, tmp_path: Path) -> None:
    """Without a roster stations stand for trucks; at an address the classes are those of the closest demand point."""
    city = read_city(grid_folder)
    demand = (*city.demand[:10], DemandPoint("n9", 1.0, trucks=1, target_minutes=7.5, name="small fires"))
    path = tmp_path / "a.policy"
    assert run("solve", write_city(replace(city, demand=demand), tmp_path / "city"), "-o", path).code == 0
    document = json.loads(run("decide", path, "--at", "n15", "--idle", "s0,s1,s3", "--class", "1", "--json").out)
    assert [kind["kind"] for kind in document["kinds"]] == ["truck"]
    area = document["place"]["demand_point"]
    near = json.loads(run("decide", path, "--at-xy", "1.1,2.1", "--idle", "s0,s1", "--class", "2", "--json").out)
    assert (near["place"]["node"], len(near["team"])) == ("n9", 1)
    moved = ("--idle", "s0,s1", "--from", "s0=n15", "--class", "1")
    ran = run("decide", path, "--at", "n15", *moved)
    assert ran.code == 0, ran.err
    assert "Send s1 and s0@n15 to n15." in ran.out
    assert "s0 is free at n15" in ran.out
    assert area in {point.node_id for point in demand}


def test_an_address_is_answered_in_every_period(run, city: City, tmp_path: Path) -> None:
    """A file with periods answers for an address as the department of that period does, units on the road included."""
    types = tuple(dict.fromkeys(point.type for point in city.demand))
    by_hour = with_days_by_type(city, types)
    file = save(solve(by_hour), tmp_path / "week.policy")
    for time, period in (("tue 14:00", "day"), ("tue 3:00", "night"), ("sat 14:00", "weekend")):
        solved = solve(by_hour.in_period(period))
        expected = solved.decide(
            Situation(at="n15", type="fire", idle=set(solved.unit_ids) - {"E01"}, moved={"E02": "n3"})
        )
        asked = ("--at", "n15", "--type", "fire", "--busy", "E01", "--from", "E02=n3", "--time", time, "--json")
        document = json.loads(run("decide", file, *asked).out)
        assert (document["team"], document["period"]) == (list(expected.units), period)
        assert document["p_late"] == pytest.approx(sum(one.decision.p_late for one in expected.kinds), abs=1e-6)
