"""`runcard geojson`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.departments import random_department
from tests.weeks import with_days

from runcard.city import City, write_city
from runcard.plan.file import save
from runcard.plan.plan import Plan, solve


@pytest.fixture(scope="module")
def city() -> City:
    """A small department in longitude and latitude."""
    given = random_department(3)
    nodes = (
        replace(one, x_coord=7.0 + one.x_coord / 700.0, y_coord=51.0 + one.y_coord / 1100.0) for one in given.nodes
    )
    return replace(given, nodes=tuple(nodes))


@pytest.fixture(scope="module")
def solved(city: City) -> Plan:
    """Its policies."""
    return solve(city, "closest-first")


def names(folder: Path) -> list[str]:
    """The files in a folder."""
    return sorted(path.stem for path in folder.glob("*.geojson"))


def test_a_city_folder_gives_areas_stations_and_roads(run, city: City, tmp_path: Path) -> None:
    """Into a folder that is made, and each file is named with its size."""
    folder = write_city(city, tmp_path / "city")
    ran = run("geojson", folder, "-o", tmp_path / "out")
    assert (ran.code, ran.err) == (0, "")
    assert names(tmp_path / "out") == ["areas", "roads", "stations"]
    assert ran.out.count("Wrote ") == 3


def test_a_policy_file_also_gives_routes_and_decisions(run, city: City, solved: Plan, tmp_path: Path) -> None:
    """The city is in the file. `areas` writes the same areas."""
    file = save(solved, tmp_path / "policy")
    assert run("geojson", file, "-o", tmp_path / "out").code == 0
    assert names(tmp_path / "out") == ["areas", "decisions", "roads", "routes", "stations"]
    assert run("areas", write_city(city, tmp_path / "city"), "-o", tmp_path / "areas.geojson").code == 0
    shapes = [
        [feature["geometry"] for feature in json.loads(path.read_text())["features"]]
        for path in (tmp_path / "areas.geojson", tmp_path / "out" / "areas.geojson")
    ]
    assert shapes[0] == shapes[1]


def test_a_file_with_periods_needs_a_time(run, city: City, tmp_path: Path) -> None:
    """Rates are those of the period."""
    week = with_days(city)
    file = save(solve(week, "closest-first"), tmp_path / "policy")
    ran = run("geojson", file, "-o", tmp_path / "out")
    assert ran.code == 2
    assert "time: expected when the incident is" in ran.err
    assert not (tmp_path / "out").exists()
    assert run("geojson", file, "-o", tmp_path / "out", "--time", "tue 23:00").code == 0
    features = json.loads((tmp_path / "out" / "areas.geojson").read_text())["features"]
    rate = sum(feature["properties"]["incidents_per_day"] for feature in features)
    assert rate == pytest.approx(week.in_period("night").incidents_per_day)


def test_what_cannot_be_used_is_said_in_a_line(
    refuse, grid_folder: Path, policy_file: Path, solved: Plan, tmp_path: Path
) -> None:
    """Plain coordinates, a file without its city, and a folder that is a file."""
    bare, file = save(replace(solved, ground=None), tmp_path / "bare"), save(solved, tmp_path / "policy")
    table = """
geojson CITY -o out :: not longitude and latitude
geojson PLAIN -o out :: not longitude and latitude
geojson BARE -o out :: it holds no city
geojson FILE -o FILE :: expected a folder to write to, got a file
geojson FILE -o none/out :: expected an existing folder to make it in, got none
"""
    refuse(table, CITY=grid_folder, PLAIN=policy_file, BARE=bare, FILE=file)
