"""`runcard generate-log` and `runcard fit`."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.calibrate.cities import plain_city, road_city, true_city, true_plain_city
from tests.cli.conftest import Run

from runcard.calibrate.fit import Fit, fit_city
from runcard.calibrate.goodness import Goodness, judge_fit
from runcard.calibrate.log import read_log
from runcard.calibrate.mapping import read_mapping
from runcard.calibrate.page import fit_page
from runcard.city import read_city, write_city
from runcard.city.demo import demo_city
from runcard.cli import main

NUMBERS = {"rate.fire", "shared_delay", "driving.start_minutes", "driving.scale_minutes", "busy_minutes.engine"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the known city as it was before a fit and as it is, and a dirty log of it."""
    folder = tmp_path_factory.mktemp("fit")
    write_city(road_city(), folder / "city")
    write_city(true_city(road_city()), folder / "truth")
    made = ["generate-log", str(folder / "truth"), "-o", str(folder / "calls.csv")]
    assert main([*made, "--incidents", "700", "--dirt", "0.1", "--seed", "3"]) == 0
    return folder


@pytest.fixture(scope="module")
def fit(folder: Path) -> tuple[Fit, Goodness, str]:
    """The fit of the city to its log, the verdict and the page."""
    fit = fit_city(read_city(folder / "city"), read_log(folder / "calls.csv", read_mapping("san-francisco")))
    goodness = judge_fit(fit)
    return fit, goodness, fit_page(fit, goodness, None)


@pytest.fixture
def fitted(fit: tuple[Fit, Goodness, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The command does not fit again: for tests of what it writes where."""
    for name, found in zip(("fit.fit_city", "goodness.judge_fit", "page.fit_page"), fit, strict=True):
        monkeypatch.setattr(f"runcard.calibrate.{name}", lambda *_, found=found, **__: found)


def arguments(folder: Path, *more: object) -> list[object]:
    """The command that fits the city to its log."""
    return ["fit", folder / "city", "--log", folder / "calls.csv", "--mapping", "san-francisco", *more]


@pytest.mark.slow
def test_a_fit_says_what_it_found(run: Run, folder: Path, tmp_path: Path) -> None:
    """Numbers with their intervals, rejected rows by reason, and the verdict are printed, and the files are there."""
    ran = run(*arguments(folder, "-o", tmp_path / "out"))
    assert (ran.code, ran.err) == (0, "")
    for words in (
        "calls.csv: ",
        "not used, ",
        "driving.factor.main",
        "Units away when sent:",
        "missed, for what was really sent",
        "Nothing is badly fitted.",
        "the city, fit.html, fit.json and rejected.csv",
    ):
        assert words in ran.out
    city = read_city(tmp_path / "out")
    assert city.driving.scale_minutes is not None
    document = json.loads((tmp_path / "out" / "fit.json").read_text())
    assert {one["name"] for one in document["numbers"]} >= NUMBERS
    with (tmp_path / "out" / "rejected.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(document["rejected"].values()) > 50
    lines = (folder / "calls.csv").read_text().splitlines()
    assert all(one["incident"] in lines[int(one["line"]) - 1] for one in rows)
    assert "<svg" in (tmp_path / "out" / "fit.html").read_text()


@pytest.mark.slow
def test_rows_add_up(run: Run, folder: Path, tmp_path: Path) -> None:
    """Used rows, those that are kept for a replay, and those that are not used, by reason, are all rows of the file,
    also where incidents are far from any road: each row is counted once."""
    with (folder / "calls.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    call, place = rows[0].index("Call Number"), rows[0].index("Location")
    far = {row[call] for row in rows[1::25]}
    for row in rows[1:]:
        if row[call] in far:
            row[place] = "(37.0, -122.0)"
    with (tmp_path / "calls.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    for more in ((), ("--fit-part", 0.7)):
        ran = run(*arguments(folder, "--log", tmp_path / "calls.csv", "--periods", "none", *more))
        assert ran.code == 0, ran.err
        assert "rows: the incident is far from any road" in ran.out
        first, *lines = ran.out.splitlines()
        counts = [int(one.replace(",", "")) for one in re.findall(r"([0-9,]+) (?:rows|responses used|kept)", first)]
        lost = [int(line.split()[2].replace(",", "")) for line in lines if line.strip().startswith("not used, ")]
        assert counts[0] == sum(counts[1:]) + sum(lost) == len(rows) - 1
        assert len(counts) == (3 if more else 2)


def test_json_has_everything(run: Run, folder: Path) -> None:
    """With --json one strict document is printed, and nothing is written."""
    ran = run(*arguments(folder, "--json"))

    def refuse(word: str) -> None:
        raise AssertionError(word)

    document = json.loads(ran.out, parse_constant=refuse)
    assert set(document) == {
        "city", "log", "rows", "incidents", "responses", "days", "rejected", "numbers", "away", "slow_drives", "homes",
        "smoothing", "notes", "goodness", "areas", "lognormal_better", "clock_times_twice", "clock_seconds",
    }  # fmt: skip
    assert {one["name"] for one in document["numbers"]} >= NUMBERS
    assert document["goodness"]["faults"] == []
    assert sorted(entry.name for entry in folder.iterdir()) == ["calls.csv", "city", "truth"]


@pytest.mark.usefixtures("fitted")
def test_a_city_is_not_overwritten_unasked(run: Run, folder: Path, tmp_path: Path) -> None:
    """A folder with a city is refused, or replaced with --overwrite; other folders are never touched."""
    out = write_city(plain_city(), tmp_path / "out")
    (out / "fit.html").write_text("of the city before")
    ran = run(*arguments(folder, "-o", out))
    assert (ran.code, ran.out) == (2, "")
    assert "there is a city here already; choose another folder or replace it with --overwrite" in ran.err
    assert run(*arguments(folder, "-o", out, "--overwrite", "--json")).code == 0
    assert read_city(out).units == road_city().units
    assert "of the city before" not in (out / "fit.html").read_text()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    for place in (tmp_path / "other", tmp_path / "other" / "notes.txt"):
        assert run(*arguments(folder, "-o", place, "--overwrite")).code == 2
    assert (tmp_path / "other" / "notes.txt").read_text() == "mine"


@pytest.mark.usefixtures("fitted")
@pytest.mark.parametrize("stop", ["write_city", "written city", "fit.json", "fit.html", "rejected.csv"])
def test_a_fit_that_is_stopped_leaves_nothing_half_written(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: str
) -> None:
    """Wherever it stops, every file that is there is whole and of one city."""
    out = write_city(plain_city(), tmp_path / "out")
    (out / "fit.json").write_text("{}")
    import runcard.city.files
    import runcard.output_file
    from runcard.errors import RuncardError

    write_whole = runcard.output_file.write_whole

    def write(path: Path, content: bytes) -> Path:
        if path.name == stop:
            raise RuncardError("stopped")
        return write_whole(path, content)

    def stop_at_city(*given: Any, **options: Any) -> None:
        if stop == "written city":
            write_city(*given, **options)
        raise RuncardError("stopped")

    monkeypatch.setattr(runcard.output_file, "write_whole", write)
    if stop in ("write_city", "written city"):
        monkeypatch.setattr(runcard.city.files, "write_city", stop_at_city)
    ran = run(*arguments(folder, "-o", out, "--overwrite"))
    assert (ran.code, ran.err.strip()) == (1, "runcard: stopped")
    assert (read_city(out).units == road_city().units) == (stop != "write_city")
    written = [name for name in ("fit.json", "fit.html", "rejected.csv") if (out / name).exists()]
    assert len(written) == {"fit.html": 1, "rejected.csv": 2}.get(stop, 0)
    assert not written or "numbers" in json.loads((out / "fit.json").read_text())


def test_numbers_are_overruled(run: Run, folder: Path) -> None:
    """--set may be repeated, and says what the log says."""
    ran = run(*arguments(folder, "--set", "shared_delay=0.5", "--set", "sent.fire.engine=1", "--periods", "none"))
    assert ran.code == 0
    assert "overruled" in ran.out
    (line,) = [line.split() for line in ran.out.splitlines() if line.startswith("sent.fire.engine")]
    assert (line[1], line[-1]) == ("1", "2")
    assert "period." not in ran.out


@pytest.mark.slow
def test_a_part_is_fitted_and_the_rest_replayed(run: Run, folder: Path) -> None:
    """With --fit-part policies are replayed on the rest, by name or by kind, and stand beside what was done."""
    ran = run(*arguments(folder, "--fit-part", 0.6, "--policy", "engine=closest-first,ladder=CF", "--json"))
    assert ran.code == 0, ran.err
    names = [one["name"] for one in json.loads(ran.out)["backtest"]["policies"]]
    assert names == ["closest-first", "engine=closest-first,ladder=CF", "as it was"]
    ran = run(*arguments(folder, "--fit-part", 0.6, "--json"))
    names = [one["name"] for one in json.loads(ran.out)["backtest"]["policies"]]
    assert names == ["closest-first", "one-step-mean-field", "as it was"]  # nobody is busy for long here
    shown = run(*arguments(folder, "--fit-part", 0.6, "--policy", "closest-first"))
    assert "replay of" in shown.out
    assert "as it was" in shown.out


@pytest.mark.slow
def test_bad_options_are_errors_in_one_line(refuse, folder: Path) -> None:
    """Every option that makes no sense gives exit code 2 and one line on standard error."""
    table = """
--periods days :: --periods: expected find, city or none, got 'days'
--periods city :: --periods city: Known has no periods
--fit-part 0 :: --fit-part: expected a part from above 0 to 1, got 0
--fit-part 1.5 :: --fit-part: expected a part from above 0 to 1, got 1.5
--set shared_delay :: --set: expected NAME=NUMBER, such as shared_delay=0.1, got 'shared_delay'
--set shared_delay=much :: --set: expected NAME=NUMBER, such as shared_delay=0.1
--set =1 :: --set: expected NAME=NUMBER
--set share_delay=1 :: --set share_delay: expected the name of a fitted number (did you mean shared_delay?)
--set shared_delay=2 :: --set shared_delay: expected a number from 0 to 1, got 2
--target-minutes -3 :: --target-minutes: expected a number > 0, got -3
--incidents calls.csv :: expected a section [incidents] for calls.csv, got none
--mapping londn :: got 'londn' (did you mean london?)
--mapping london :: expected a second file, with the incidents: name it with --incidents
--mapping neris :: missing column incident_neris_id, which is incident
--log none.csv :: none.csv: the file cannot be read: No such file or directory
--policy closest :: closest
--policy engine=CF --fit-part 0.6 :: expected a policy for every kind of units, got none for ladder
--policy engine=CF,boat --fit-part 0.6 :: boat
--fit-part 0.99 :: expected at least 30 incidents to replay, got
"""
    command = "\nfit CITY --log LOG --mapping san-francisco --"
    refuse(table.replace("\n--", command), CITY=folder / "city", LOG=folder / "calls.csv")


@pytest.mark.slow
def test_the_built_in_town(run: Run, tmp_path: Path) -> None:
    """A log of the town, which has no turnout and no classes of road, fits the town again."""
    write_city(demo_city(), tmp_path / "town")
    ran = run("generate-log", tmp_path / "town", "-o", tmp_path / "calls.csv", "--incidents", 1200)
    assert ran.code == 0
    assert "responses to 1,200 incidents" in ran.out
    ran = run("fit", tmp_path / "town", "--log", tmp_path / "calls.csv", "--mapping", "san-francisco", "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    numbers = {one["name"]: one for one in document["numbers"]}
    assert numbers["driving.factor.road"]["value"] == pytest.approx(1.0, abs=0.1)
    assert numbers["turnout.engine.mean_minutes"]["value"] == 0.0
    assert document["rejected"] == {}


@pytest.mark.slow
def test_a_log_of_two_files_and_a_city_without_a_roster(run: Run, tmp_path: Path) -> None:
    """London's format has a second file; it fits a city that has trucks and no roster, which can be solved."""
    write_city(true_plain_city(plain_city()), tmp_path / "truth")
    write_city(plain_city(), tmp_path / "city")
    make = ["generate-log", tmp_path / "truth", "-o", tmp_path / "calls.csv", "--mapping", "london", "--incidents", 600]
    ran = run(*make)
    assert ran.code == 2
    assert "london: expected --incidents-file: this format has a second file" in ran.err
    assert run(*make, "--incidents-file", tmp_path / "incidents.csv").code == 0
    fit = ["fit", tmp_path / "city", "--log", tmp_path / "calls.csv", "--mapping", "london"]
    ran = run(*fit, "--incidents", tmp_path / "incidents.csv", "-o", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert not read_city(tmp_path / "out").has_roster
    again = run("fit", tmp_path / "out", *fit[2:], "--incidents", tmp_path / "incidents.csv", "--fit-part", 0.5)
    assert again.code == 2
    assert "expected a city with a roster: a replay has to know which unit is where" in again.err


def test_bad_options_of_generate_log(refuse, folder: Path) -> None:
    """A log that cannot be made is refused in one line."""
    table = """
generate-log CITY -o calls.csv --dirt 0.9 :: --dirt: expected a part from 0 to 0.5, got 0.9
generate-log CITY -o calls.csv --incidents 0 :: expected a whole number from 1
generate-log CITY -o calls.csv --mapping here :: expected a mapping, got 'here'
generate-log CITY -o no-such-folder/calls.csv :: expected an existing folder to write to, got none
"""
    refuse(table, CITY=folder / "truth")


def test_names_that_a_terminal_would_obey_are_shown_harmlessly(run: Run, folder: Path, tmp_path: Path) -> None:
    """Words of the log that hold control characters or marks of rich do not reach the terminal as such."""
    lines = (folder / "calls.csv").read_text().splitlines(keepends=True)
    row = lines[-1].split(",")
    row[2] = "[bold]\x1b[31mKIND"
    other = lines[-1].split(",")
    other[2] = "[red]NEW"
    (tmp_path / "calls.csv").write_text("".join([*lines, ",".join(row), ",".join(other)]), newline="")
    ran = run(*arguments(folder, "--log", tmp_path / "calls.csv"))
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "kind [red]NEW is not in the mapping" in ran.out
