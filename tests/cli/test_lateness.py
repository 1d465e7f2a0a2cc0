"""`runcard lateness`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from runcard.city import DemandPoint, Outside, read_city, write_city
from runcard.response.table import response_table


def test_json_lists_every_team_best_first(run, grid_folder: Path) -> None:
    """All pairs of stations, every station with a truck from outside, and two from outside: sorted by P(late)."""
    ran = run("lateness", grid_folder, "--at", "n5", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert list(document) == ["node", "teams"]
    assert document["node"] == "n5"
    late = [team["p_late"] for team in document["teams"]]
    assert late == sorted(late)
    teams = {tuple(team["team"]) for team in document["teams"]}
    stations = ["s0", "s1", "s2", "s3"]
    pairs = {(one, other) for place, one in enumerate(stations) for other in stations[place + 1 :]}
    assert teams == pairs | {(one, "outside") for one in stations} | {("outside", "outside")}
    assert len(document["teams"]) == len(teams)


def test_the_numbers_are_those_of_the_response_table(run, golden) -> None:
    """Every entry of the response table's column is listed, and nothing else."""
    node_id = golden.city.demand[3].node_id
    document = json.loads(run("lateness", golden.folder, "--at", node_id, "--json").out)
    table = response_table(golden.city)
    assert [team["p_late"] for team in document["teams"]] == sorted(table.p_late[:, 3].tolist())


def test_only_the_node_that_is_asked_for_is_found(run, grid_folder: Path, tmp_path: Path) -> None:
    """P(late) and minutes are those of the whole city, whose longest route says where trucks from outside come from."""
    city = read_city(grid_folder)
    links = tuple(replace(link, mean_minutes=0.5 + 0.07 * place) for place, link in enumerate(city.links))
    city = replace(city, links=links, shared_delay=0.5, trucks_per_incident=3, outside=Outside())
    folder = write_city(city, tmp_path / "city")
    found = json.loads(run("lateness", folder, "--at", city.demand[5].node_id, "--json").out)["teams"]
    table = response_table(city)
    order = table.p_late[:, 5].argsort(kind="stable")
    assert [team["p_late"] for team in found] == pytest.approx(table.p_late[order, 5].tolist(), abs=1e-9)
    assert [team["mean_minutes"] for team in found] == pytest.approx(table.mean_minutes[order, 5].tolist(), rel=1e-3)


def test_the_table_is_cut_and_says_so(run, grid_folder: Path) -> None:
    """--top limits what a person sees, never the JSON."""
    ran = run("lateness", grid_folder, "--at", "n5", "--top", "2")
    assert "The first 2 of 11 teams" in ran.out
    assert len([line for line in ran.out.splitlines() if line.startswith(" s")]) == 2
    assert len(json.loads(run("lateness", grid_folder, "--at", "n5", "--top", "2", "--json").out)["teams"]) == 11


def test_each_incident_class_of_a_node_is_shown(run, grid_folder: Path, tmp_path: Path) -> None:
    """A node with two rows in demand.csv has two tables; JSON has `classes`, and `teams` are those of the first."""
    city = read_city(grid_folder)
    more = DemandPoint("n5", 1.0, trucks=1, target_minutes=2.0, name="small fires")
    folder = write_city(replace(city, demand=(*city.demand, more)), tmp_path / "city")
    document = json.loads(run("lateness", folder, "--at", "n5", "--json").out)
    assert document["teams"] == document["classes"][0]["teams"]
    small = document["classes"][1]
    assert (small["name"], small["trucks"], small["target_minutes"]) == ("small fires", 1, 2.0)
    assert sorted(team["team"][0] for team in small["teams"]) == ["outside", "s0", "s1", "s2", "s3"]
    out = run("lateness", folder, "--at", "n5").out
    assert "n5 (incident class 1 of 2): 2 trucks" in out
    assert "n5 (incident class 2 of 2): small fires, 1 truck, target 2 min" in out


def test_a_node_without_incidents_has_the_same_teams(run, grid_folder: Path, tmp_path: Path) -> None:
    """A node without a row in demand.csv has the P(late) that it has with one, by its name and by its coordinates."""
    city = read_city(grid_folder)
    folder = write_city(replace(city, demand=city.demand[1:]), tmp_path / "city")
    expected = json.loads(run("lateness", grid_folder, "--at", "n0", "--json").out)
    found = json.loads(run("lateness", folder, "--at", "n0", "--json").out)
    # Trucks from outside come from twice as far as the farthest demand point, which n0 may be.
    late, known = (
        {tuple(team["team"]): team["p_late"] for team in one["teams"] if "outside" not in team["team"]}
        for one in (found, expected)
    )
    assert late == pytest.approx(known, abs=1e-9)
    by_place = json.loads(run("lateness", folder, "--at-xy", "0.1,-0.2", "--json").out)
    assert by_place["teams"] == found["teams"]
    assert by_place["place"] == {"node": "n0", "x": 0.1, "y": -0.2, "metres": None, "far": False}
    out = run("lateness", folder, "--at-xy", "0.1,-0.2").out
    assert "Node n0 is the nearest to 0.1,-0.2; " in out
    assert "n0: 2 trucks, target" in out


def test_bad_options_are_refused(refuse, grid_folder: Path) -> None:
    """A node that is none with one that may have been meant, none at all, and a table of no teams."""
    table = """
lateness CITY --at n55 :: expected a node of grid-4x4
lateness CITY --at n55 :: did you mean n5?
lateness CITY :: expected --at or --at-xy, got neither (see runcard lateness --help)
lateness CITY --at n5 --top 0 :: expected a whole number from 1
lateness CITY --at n5 --top -1 :: expected a whole number from 1
lateness CITY --at n5 --top many :: expected a whole number from 1
"""
    refuse(table, CITY=grid_folder)
