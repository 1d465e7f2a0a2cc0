"""`runcard decide`."""

import json
import os
from dataclasses import replace
from pathlib import Path

from tests.town import plain_town

from runcard.city import DemandPoint, read_city, write_city


def test_golden_teams_are_sent_when_every_truck_is_idle(run, golden, tmp_path: Path) -> None:
    """Where the optimal team is unique, the command sends the one that the independent implementation found."""
    path = tmp_path / "optimal.policy"
    assert run("solve", golden.folder, "-o", path).code == 0
    for node_id, team in golden.answers["optimal_team_all_idle"].items():
        ran = run("decide", path, "--at", node_id, "--idle", "all", "--json")
        assert (ran.code, ran.err) == (0, "")
        assert sorted(json.loads(ran.out)["team"]) == sorted(team)


def test_json_has_the_keys_of_the_contract(run, policy_file: Path) -> None:
    """The team has the smallest P(late) + price, and the alternatives follow in that order."""
    document = json.loads(run("decide", policy_file, "--at", "n5", "--idle", "s0,s1,s3", "--json").out)
    of_service = ["node", "area", "type", "team", "units", "p_late", "price", "kinds", "reason", "notes"]
    assert list(document) == [*of_service, "alternatives", "truck_prices", "place", "moved"]
    options = [document, *document["alternatives"]]
    assert {tuple(option["team"]) for option in options} == {("s0", "s1"), ("s0", "s3"), ("s1", "s3")}
    totals = [option["p_late"] + option["price"] for option in options]
    assert totals == sorted(totals)


def test_all_and_every_station_are_the_same(run, policy_file: Path, grid_folder: Path) -> None:
    """--idle all is short for every station; spaces do not matter, nor does the city that the file was made for."""
    every = run("decide", policy_file, "--at", "n5", "--idle", "s3, s0,s1 ,s2", "--json")
    for more in ((), ("--city", grid_folder)):
        assert every.out == run("decide", policy_file, "--at", "n5", "--idle", "all", "--json", *more).out


def test_trucks_come_from_outside_when_too_few_are_idle(run, policy_file: Path) -> None:
    """With one idle truck one comes from outside; with none, both do."""
    one = json.loads(run("decide", policy_file, "--at", "n5", "--idle", "s2", "--json").out)
    assert (one["team"], one["alternatives"]) == (["s2", "outside"], [])
    none = json.loads(run("decide", policy_file, "--at", "n5", "--idle", "none", "--json").out)
    assert (none["team"], none["price"]) == (["outside", "outside"], 0.0)
    assert "Send s2 and one from outside to n5." in run("decide", policy_file, "--at", "n5", "--idle", "s2").out
    assert "No truck is idle: two from outside" in run("decide", policy_file, "--at", "n5", "--idle", "none").out


def test_a_station_with_two_trucks_is_named_twice(run, tmp_path: Path) -> None:
    """Each mention is one idle truck, and a third mention of a station with two trucks is refused."""
    folder = write_city(plain_town(), tmp_path / "city")
    path = tmp_path / "cf.policy"
    run("solve", folder, "--policy", "closest-first", "-o", path)
    node_id = plain_town().stations[0].node_id
    twice = json.loads(run("decide", path, "--at", node_id, "--idle", "central,central", "--json").out)
    assert twice["team"] == ["central", "central"]
    once = json.loads(run("decide", path, "--at", node_id, "--idle", "central,harbour", "--json").out)
    assert sorted(once["team"]) == ["central", "harbour"]
    ran = run("decide", path, "--at", node_id, "--idle", "central,central,central")
    assert ran.code == 2
    assert "idle units: expected central at most 2 times, got central 3 times" in ran.err


def test_a_question_that_makes_no_sense_is_refused(refuse, policy_file: Path) -> None:
    """One line says what was expected and names the choices; the exit code is 2."""
    table = """
decide FILE --at n5 --idle s1,s9 :: expected a unit (s0, s1, s2, s3), got 's9'; or say just all or none
decide FILE --at n5 --idle s1,s1 :: idle units: expected every unit once, got s1 2 times
decide FILE --at n5 --idle "" :: got ''
decide FILE --at n5 --idle all,s1 :: got 'all'
decide FILE --at n55 --idle all :: did you mean n5?
decide FILE --at n5 --idle all --class 2 :: class: expected 1 to 1 in area n5
decide FILE --at n5 --idle all --class 0 :: class: expected 1 to 1 in area n5
decide FILE --at n5 :: '--idle'
decide FILE --idle all :: '--at'
"""
    refuse(table, FILE=policy_file)


def test_a_node_with_several_incident_classes_needs_one_chosen(run, grid_folder: Path, tmp_path: Path) -> None:
    """Which class an incident is of must be said, and then decides how many trucks go."""
    city = read_city(grid_folder)
    demand = (*city.demand, DemandPoint("n5", 1.0, trucks=1, target_minutes=7.5, name="small fires"))
    folder = write_city(replace(city, demand=demand), tmp_path / "city")
    path = tmp_path / "a.policy"
    run("solve", folder, "-o", path)
    ran = run("decide", path, "--at", "n5", "--idle", "all")
    assert ran.code == 2
    rate = f"{next(point for point in city.demand if point.node_id == 'n5').incidents_per_day:.6g}"
    target = f"{city.target_minutes:g}"
    classes = [f"1 of 2 in {target} min, {rate} incidents a day", "small fires, 1 of 1 in 7.5 min, 1 incident a day"]
    assert f"got none; they are 1 ({classes[0]}), 2 ({classes[1]})" in ran.err
    for number, trucks in ((1, 2), (2, 1)):
        words = " ".join(run("decide", path, "--at", "n5", "--idle", "all", "--class", number).out.split())
        assert f" to n5 (incident class {number} of 2: {classes[number - 1]})." in words
        ran = run("decide", path, "--at", "n5", "--idle", "all", "--class", number, "--json")
        assert len(json.loads(ran.out)["team"]) == trucks


def test_a_folder_is_no_policy_file(run, grid_folder: Path) -> None:
    """It is called a folder, and not by what the system says of it."""
    ran = run("decide", grid_folder, "--at", "n5", "--idle", "all")
    assert (ran.code, ran.err) == (2, f"runcard: {grid_folder}: expected a policy file, found a folder\n")


def test_a_damaged_file_is_refused(run, policy_file: Path, tmp_path: Path) -> None:
    """A file that is missing, cut short, changed or something else gives one line and exit code 2."""
    content = policy_file.read_bytes()
    (tmp_path / "cut").write_bytes(content[:-9])
    (tmp_path / "changed").write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    (tmp_path / "letter").write_text("dear all")
    (tmp_path / "nested").write_bytes((10**6).to_bytes(8, "little") + b"[" * 10**6)
    (tmp_path / "long").write_bytes(b"\xff" * 8 + content)
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", "cut", "changed", "letter", "nested", "long", "pipe"):
        ran = run("decide", tmp_path / name, "--at", "n5", "--idle", "all")
        assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
        assert str(tmp_path / name) in ran.err
