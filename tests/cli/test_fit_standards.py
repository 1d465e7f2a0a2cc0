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


@pytest.mark.slow
def test_standards_of_a_file_are_used(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Targets and weights are those of the file, and the target of the city where the file has no row. A unit with a
    single drive has no home: it is left out, and a note says so."""
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
    assert "E77" in (folder / "log.csv").read_text(encoding="utf-8").splitlines()[-1]
    assert "no station is known for E77: without 5 drives" in " ".join(capsys.readouterr().out.split())


def fitted_standards(folder: Path) -> set[tuple[str, str, int, int, float]]:
    """The standards of a city in a folder."""
    return {(one.type, one.kind, one.trucks, one.arrivals, one.target_minutes) for one in read_city(folder).standards}


@pytest.mark.slow
def test_a_standard_stays_what_was_asked_for(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The log sends two engines to most fires, one to most medical calls, and no ladder to these. A file with three,
    three and one keeps them, every arrival too; the table has what the log says beside it, and a note says it in words,
    with the option that takes it."""
    (tmp_path / "asked.csv").write_text(
        "type,kind,trucks,arrivals,target_minutes\nfire,engine,3,3,8\nmedical,engine,3,2,6.5\nmedical,ladder,1,1,9\n",
        encoding="utf-8",
    )
    assert fit(folder, "--standards", str(tmp_path / "asked.csv"), "-o", str(tmp_path / "out")) == 0
    asked = {("fire", "engine", 3, 3, 8.0), ("medical", "engine", 3, 2, 6.5), ("medical", "ladder", 1, 1, 9.0)}
    assert asked <= fitted_standards(tmp_path / "out")
    out = " ".join(capsys.readouterr().out.split())
    assert "overruled" in out
    for name, kind, trucks, number in (
        ("fire", "engine", 3, 2),
        ("medical", "engine", 3, 1),
        ("medical", "ladder", 1, 0),
    ):
        assert f"Note: {name}, {kind}: {trucks} go, as --standards says, but the log sends {number} to " in out
        assert f"--set sent.{name}.{kind}={number} takes the number of the log" in out


@pytest.mark.slow
def test_a_number_that_is_set_comes_before_that_of_a_standard(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--set says how many go, and a standard about more arrivals than that is changed with a note."""
    (tmp_path / "asked.csv").write_text(
        "type,kind,trucks,arrivals,target_minutes\nfire,engine,3,3,8\n", encoding="utf-8"
    )
    options = ("--standards", str(tmp_path / "asked.csv"), "--set", "sent.fire.engine=2")
    assert fit(folder, *options, "-o", str(tmp_path / "out")) == 0
    assert ("fire", "engine", 2, 2, 8.0) in fitted_standards(tmp_path / "out")
    out = " ".join(capsys.readouterr().out.split())
    assert "Note: fire, engine: 3 of 3 in 8 min becomes 2 of 2 in 8 min, because --set sends 2" in out
    assert "as --standards says" not in out


@pytest.mark.slow
def test_a_standard_of_the_city_that_changes_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How many go is fitted where nobody asks for a number: a standard of the city that becomes another one, or that
    nothing in the log is about, is noted, with the option that keeps it."""
    before, _ = known_cities()
    changed = tuple(
        replace(one, trucks=3, arrivals=3) if (one.type, one.kind) == ("fire", "engine") else one
        for one in before.standards
    )
    unique = {(one.type, one.kind, one.arrivals, one.target_minutes): one for one in changed}
    boat = replace(changed[0], type="boat", trucks=1, arrivals=1)
    demand = (*before.demand, replace(before.demand[0], type="boat"))
    write_city(replace(before, standards=(*unique.values(), boat), demand=demand), tmp_path / "city")
    command = ["fit", str(tmp_path / "city"), "--log", str(folder / "log.csv"), "--mapping", "san-francisco"]
    assert main([*command, "--periods", "none", "-o", str(tmp_path / "out")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    target = changed[0].target_minutes
    words = f"3 of 3 in {target:g} min becomes 2 of 2 in {target:g} min, because the log mostly sends 2"
    assert f"Note: fire, engine: {words}; --standards keeps it" in out
    assert "Note: boat, engine: 1 of 1 in" in out
    assert "is left out: the log has no such incidents, or no such units" in out


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
    contradictory = [
        "type,kind,trucks,arrivals,target_minutes",
        "fire,engine,2,1,6",
        "fire,engine,3,2,9",
        "alarm,engine,1,2,9",
    ]
    bad.write_text("\n".join(contradictory), encoding="utf-8")
    capsys.readouterr()
    assert fit(folder, "--standards", str(bad)) == 2
    error = capsys.readouterr().err
    assert "row 3: expected trucks 2 as in row 2, which is about the same team, got 3" in error
    assert "row 4: expected arrivals <= trucks, got 2 of 1 trucks" in error
