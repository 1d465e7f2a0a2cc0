"""Departments on the command line: kinds, types, standards and units in every command."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.departments import grid_department

from runcard.city import City, Unit, generate_grid, write_city
from runcard.mdp.from_city import dispatch_problem
from runcard.plan.file import save
from runcard.plan.plan import plan_of
from runcard.policy.solve import solve_problem


@pytest.fixture(scope="module")
def city() -> City:
    """Four engines and two ladders; fires need both, medical calls one engine."""
    return grid_department(side=4, engines=4, ladders=2)


@pytest.fixture(scope="module")
def folder(city: City, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the department."""
    return write_city(city, tmp_path_factory.mktemp("department") / "city")


@pytest.fixture(scope="module")
def file(city: City, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policy file of the department."""
    solved = {kind: solve_problem(dispatch_problem(city, kind=kind, arrivals=True)) for kind in city.kinds}
    return save(plan_of(city, solved), tmp_path_factory.mktemp("policy") / "city.policy")


def test_compare_has_every_standard_with_its_proof(run, folder: Path, city: City) -> None:
    """JSON has the keys of the contract, each miss fraction in its interval, and the sum of kinds."""
    document = json.loads(run("compare", folder, "--json").out)
    for policy in document["policies"]:
        assert [one["type"] for one in policy["standards"]] == [one.type for one in city.standards]
        for one in policy["standards"]:
            assert set(one) >= {"type", "kind", "arrivals", "target_minutes", "miss_fraction", "lower", "upper"}
            assert one["lower"] <= one["miss_fraction"] <= one["upper"]
            assert one["mean_minutes"] > 0.0
        rates = {"fire": 0.5, "medical": 0.5}
        weighted = sum(one["weight"] * rates[one["type"]] * one["miss_fraction"] for one in policy["standards"])
        assert policy["late_fraction"] == pytest.approx(weighted, abs=1e-9)
        assert policy["lower"] <= policy["late_fraction"] <= policy["upper"]
        assert [one["kind"] for one in policy["kinds"]] == ["engine", "ladder"]
        for one in policy["kinds"]:
            assert {"last_minutes", "first_p90_minutes", "last_p90_minutes", "stations"} <= set(one)
    closest, _, optimal = document["policies"]
    assert optimal["late_fraction"] <= closest["late_fraction"]
    assert optimal["improvement_over_first"] > 0.0


def test_compare_shows_one_kind_alone(run, folder: Path) -> None:
    """With --kind nothing is said of the others."""
    ran = run("compare", folder, "--kind", "ladder")
    assert (ran.code, "4 engines" in ran.out, "2 ladders" in ran.out) == (0, False, True)


def test_decide_takes_and_gives_units(run, file: Path) -> None:
    """Idle units and busy units are two ways to say the same; the answer names units by kind."""
    idle = run("decide", file, "--at", "n5", "--type", "fire", "--idle", "E01,E03,E04,T01,T02", "--json")
    busy = run("decide", file, "--at", "n5", "--type", "fire", "--busy", "E02", "--json")
    assert (idle.code, idle.out) == (0, busy.out)
    document = json.loads(idle.out)
    engines, ladders = document["kinds"]
    assert document["team"] == engines["units"] + ladders["units"]
    assert set(engines["units"]) <= {"E01", "E03", "E04"}
    assert ladders["units"][0] in ("T01", "T02")
    assert document["p_late"] == pytest.approx(engines["p_late"] + ladders["p_late"])
    assert [one["arrivals"] for one in engines["standards"]] == [1, 2]
    assert sum(one["weight"] * (1.0 - one["chance"]) for one in engines["standards"]) == pytest.approx(
        engines["p_late"]
    )
    assert set(document["truck_prices"]) == {"E01", "E03", "E04", "T01", "T02"}
    for option in (engines, *engines["alternatives"], ladders):
        assert option["first_minutes"] <= option["last_minutes"]
        assert option["first_p90_minutes"] <= option["last_p90_minutes"] * 1.001
    totals = [option["p_late"] + option["price"] for option in (document, *document["alternatives"])]
    assert totals == sorted(totals)


def test_a_question_that_makes_no_sense_is_refused(refuse, file: Path, folder: Path) -> None:
    """Each mistake is a sentence with what was expected, and exit code 2."""
    table = """
decide FILE --at n5 --type fire :: expected --idle or --busy, got neither
decide FILE --at n5 --type fire --idle all --busy E01 :: expected --idle or --busy, got both
decide FILE --at n5 --idle all :: --type: expected one of several types of incidents (fire, medical), got
decide FILE --at n5 --type flood --idle all :: expected a type of incident (fire, medical), got 'flood'
decide FILE --at n5 --type fire --idle E01,E77 :: idle units: expected a unit
decide FILE --at n5 --type fire --busy E01,E01 :: busy units: expected every unit once, got E01 2 times
decide FILE --at n99 --type fire --idle all :: the incident: expected a node of grid-4x4
decide FILE --at n5 --type fire --idle s0 :: idle units: expected a unit
compare CITY --kind lader :: expected a kind that incidents need (engine, ladder)
map CITY --type flood -o no.svg :: expected a type of incident
solve CITY -o no.policy --policy engine=OSI :: got none for ladder
solve CITY -o no.policy --policy engine=OSI,engine=CF :: got two for engine
solve CITY -o no.policy --policy engin=OSI,ladder=CF :: did you mean engine?
solve CITY -o no.policy --policy engine=XYZ,ladder=CF :: XYZ
"""
    refuse(table, FILE=file, CITY=folder)


def test_a_file_of_another_department_is_refused(run, file: Path, folder: Path, city: City, tmp_path: Path) -> None:
    """`--city` with the roster that the file was made for works, and with another one it does not."""
    asked = ("--at", "n5", "--type", "fire", "--idle", "all")
    assert run("decide", file, *asked, "--city", folder).code == 0
    uncounted = tuple(replace(one, trucks=0) for one in city.stations)
    other = replace(city, units=(replace(city.units[0], unit_id="E77"), *city.units[1:]), stations=uncounted)
    ran = run("decide", file, *asked, "--city", write_city(other, tmp_path / "other"))
    assert (ran.code, "made for another city" in ran.err) == (2, True)


def test_kinds_can_have_policies_of_their_own(run, folder: Path, tmp_path: Path) -> None:
    """A policy for each kind, in one file, which compare and simulate take like any other."""
    path = tmp_path / "mixed.policy"
    ran = run("solve", folder, "--policy", "engine=OSI,ladder=CF", "-o", path)
    assert ran.code == 0
    assert "engine: one-step" in ran.out
    document = json.loads(run("compare", folder, "--policies", f"one-step,{path}", "--json").out)
    alone, mixed = document["policies"]
    assert alone["kinds"][0]["late_fraction"] == mixed["kinds"][0]["late_fraction"]


def test_simulate_agrees_with_compare(run, folder: Path, file: Path) -> None:
    """Every standard's exact miss fraction lies within twice the simulated interval around it."""
    exact = json.loads(run("compare", folder, "--policies", "CF,OPT", "--json").out)
    ran = run("simulate", folder, "--policies", f"CF,{file}", "--incidents", "200000", "--json")
    found = json.loads(ran.out)
    for one, other in zip(exact["policies"], found["policies"], strict=True):
        assert {"name", "late_fraction", "low", "high"} <= set(other)
        for standard, simulated in zip(one["standards"], other["standards"], strict=True):
            half = simulated["high"] - simulated["low"]
            assert abs(standard["miss_fraction"] - simulated["miss_fraction"]) < half
        assert abs(one["late_fraction"] - other["late_fraction"]) < other["high"] - other["low"]


def test_records_have_a_row_for_each_kind(run, folder: Path, tmp_path: Path) -> None:
    """The Parquet file says of each incident and kind which type it was, who went and what was missed."""
    import duckdb

    path = tmp_path / "records.parquet"
    assert run("simulate", folder, "--policies", "CF", "--incidents", "2000", "--records", path).code == 0
    rows = duckdb.sql(f"SELECT kind, type, count(*), min(missed), max(missed) FROM '{path}' GROUP BY ALL ORDER BY ALL")
    found = rows.fetchall()
    assert [row[:2] for row in found] == [("engine", "fire"), ("engine", "medical"), ("ladder", "fire")]
    assert found[0][2] == found[2][2]  # every fire gets both
    assert found[0][2] + found[1][2] == 2000
    assert max(row[4] for row in found) == 1.5


def test_lateness_shows_kinds_and_standards(run, folder: Path) -> None:
    """Each kind and type of a node has its teams, with units, and the chance to miss each standard."""
    document = json.loads(run("lateness", folder, "--at", "n5", "--json").out)
    assert [(one["kind"], one["type"]) for one in document["classes"]] == [
        ("engine", "fire"), ("engine", "medical"), ("ladder", "fire")
    ]  # fmt: skip
    first = document["classes"][0]["teams"][0]
    assert first["p_late"] == pytest.approx(first["missed"][0] + 0.5 * first["missed"][1])
    assert first["mean_minutes"] <= first["last_minutes"]


def test_each_kind_has_its_map(run, folder: Path, file: Path, tmp_path: Path) -> None:
    """One picture for each kind, or only the one that is asked for; a type that a kind does not see is left out."""
    assert run("map", folder, "-o", tmp_path / "map.svg").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map-engine.svg", "map-ladder.svg"]
    text = (tmp_path / "map-engine.svg").read_text()
    assert "incidents of the type fire (1 of 2 in" in text
    assert "last engine, all types, after" in text
    assert run("map", folder, "--kind", "ladder", "-o", tmp_path / "one.svg").code == 0
    assert (tmp_path / "one.svg").exists()
    assert run("map", file, "--city", folder, "--type", "medical", "-o", tmp_path / "med.svg").code == 0
    assert sorted(path.name for path in tmp_path.glob("med*")) == ["med-engine.svg"]


def test_a_roster_of_one_kind_looks_as_before_but_for_units(run, tmp_path: Path) -> None:
    """The same city with trucks at stations and with a roster gives the same bytes of JSON, but for seconds."""
    plain = generate_grid(side=4, num_stations=3, load=0.1, seed=1)
    units = tuple(Unit(station.station_id, station.station_id, "truck") for station in plain.stations)
    roster = replace(plain, units=units)
    one, other = (write_city(city, tmp_path / name) for city, name in ((plain, "plain"), (roster, "roster")))

    def numbers(folder: Path) -> str:
        return re.sub(r'"seconds": [^,]*,', "", run("compare", folder, "--policies", "CF,OPT", "--json").out)

    assert numbers(one) == numbers(other)
    simulated = [run("simulate", folder, "--incidents", "3000", "--json").out for folder in (one, other)]
    first, second = (json.loads(text)["policies"][1] for text in simulated)
    assert (first["late_fraction"], first["low"]) == (second["late_fraction"], second["low"])
    asked = ("--at", "n5", "--idle", "all", "--json")
    for folder in (one, other):
        assert run("solve", folder, "-o", folder.with_suffix(".policy")).code == 0
    answers = [json.loads(run("decide", folder.with_suffix(".policy"), *asked).out) for folder in (one, other)]
    assert answers[0]["team"] == answers[1]["team"]
    assert answers[0]["price"] == answers[1]["price"]
