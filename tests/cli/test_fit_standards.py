"""`runcard fit --standards`: a city that gets its roster, and so its kinds, from the log."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.known_city import known_cities

from runcard import City, read_city, write_city
from runcard.calibrate.generator import generate_log
from runcard.calibrate.mapping import read_mapping
from runcard.cli import main

STANDARDS = """type,kind,trucks,arrivals,target_minutes,weight
fire,engine,2,1,4.5,3
fire,engine,2,2,9,1
medical,engine,1,1,6.5,1
"""


def without_roster(city: City) -> City:
    """The city of an import: a truck at each station, no kinds, no types."""
    plain = tuple(replace(station, trucks=1) for station in city.stations)
    demand = tuple(replace(point, type="") for point in city.demand if point.type == "fire")
    return replace(city, units=(), standards=(), busy_minutes=30.0, target_minutes=8.0, stations=plain, demand=demand)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a city without a roster, a log in which one unit is seen only once, and standards."""
    found = tmp_path_factory.mktemp("fit")
    before, truth = known_cities()
    write_city(without_roster(before), found / "city")
    log = generate_log(truth, read_mapping("san-francisco"), incidents=1500, seed=1).text
    lines = log.splitlines(keepends=True)
    lines[-1] = re.sub(r"[EL][0-9]+", "E77", lines[-1], count=1)
    (found / "log.csv").write_text("".join(lines), encoding="utf-8", newline="")
    (found / "standards.csv").write_text(STANDARDS, encoding="utf-8")
    return found


def fit(folder: Path, *more: str) -> int:
    """The exit code of a fit of the city in a folder."""
    command = ["fit", str(folder / "city"), "--log", str(folder / "log.csv"), "--mapping", "san-francisco"]
    return main([*command, "--periods", "none", *more])


def test_standards_of_a_file_are_used(folder: Path, tmp_path: Path) -> None:
    """Targets and weights are those of the file, and the target of the city where the file has no row."""
    assert fit(folder, "--standards", str(folder / "standards.csv"), "-o", str(tmp_path / "out")) == 0
    city = read_city(tmp_path / "out")
    found = {(one.type, one.kind, one.arrivals): (one.target_minutes, one.weight) for one in city.standards}
    assert found == {
        ("fire", "engine", 1): (4.5, 3.0),
        ("fire", "engine", 2): (9.0, 1.0),
        ("fire", "ladder", 1): (8.0, 1.0),
        ("medical", "engine", 1): (6.5, 1.0),
        ("alarm", "engine", 1): (8.0, 1.0),
        ("alarm", "ladder", 1): (8.0, 1.0),
    }
    assert {unit.kind for unit in city.units} == {"engine", "ladder"}


def test_a_file_that_has_no_standards_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong with the file is said with its row, before the log is read."""
    bad = tmp_path / "bad.csv"
    bad.write_text(STANDARDS.replace("4.5", "soon"), encoding="utf-8")
    assert fit(folder, "--standards", str(bad)) == 2
    error = capsys.readouterr().err
    assert "bad.csv" in error
    assert "row 2" in error
    assert "soon" in error
    assert fit(folder, "--standards", str(tmp_path / "none.csv")) == 2


def test_units_that_cannot_be_placed_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A unit with a single drive has no home: it is left out, and a note says so."""
    assert "E77" in (folder / "log.csv").read_text(encoding="utf-8").splitlines()[-1]
    assert fit(folder) == 0
    assert "no station is known for E77: without 5 drives" in " ".join(capsys.readouterr().out.split())
