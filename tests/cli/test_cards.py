"""Tests of `runcard cards`, and of `runcard decide` with the file that it writes."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.departments import random_department
from tests.weeks import with_days

from runcard.city import write_city
from runcard.plan.file import load
from runcard.plan.plan import Plan


@pytest.fixture(scope="module")
def department_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policy file of a small department."""
    from runcard.cli import main

    folder = tmp_path_factory.mktemp("department")
    write_city(random_department(3), folder / "city")
    assert main(["solve", str(folder / "city"), "-o", str(folder / "town.policy")]) == 0
    return folder / "town.policy"


@pytest.mark.parametrize("ending", ["csv", "xlsx", "pdf"])
def test_cards_are_written_and_summed_up(run: Run, department_file: Path, tmp_path: Path, ending: str) -> None:
    """Each format is written; the summary counts cards and departures and says what depth is worth."""
    ran = run("cards", department_file, "-o", tmp_path / f"cards.{ending}", "--depth", 2)
    assert ran.code == 0, ran.err
    assert (tmp_path / f"cards.{ending}").stat().st_size > 0
    text = " ".join(ran.out.split())
    assert "depart from closest-first with every unit idle" in text
    assert "response, min" in text
    assert "fixed order of units" in text
    assert "Wrote" in text


def test_a_file_of_cards_decides(run: Run, department_file: Path, tmp_path: Path) -> None:
    """`decide` with the CSV file sends what it sends with the policy file, where a card has a line for it."""
    path = tmp_path / "cards.csv"
    assert run("cards", department_file, "-o", path).code == 0
    department: Plan = load(department_file)
    fleet = department.fleets[0]
    area, of_type = fleet.problem.point_ids[0], fleet.types[0]
    question = ("--at", area, "--type", of_type, "--busy", "none", "--json")
    by_cards, by_policy = (json.loads(run("decide", one, *question).out) for one in (path, department_file))
    assert sorted(by_cards["team"]) == sorted(by_policy["team"])
    assert by_cards["kinds"][0]["line"] == 1
    ran = run("decide", path, "--at", area, "--type", of_type, "--idle", "none")
    assert ran.out.startswith("Send ")
    assert "no line of the card fits" in ran.out


def test_cards_know_the_hour(run: Run, tmp_path: Path) -> None:
    """A file with periods has cards for each, of which --period chooses; `decide` needs the time."""
    city = write_city(with_days(random_department(3)), tmp_path / "city")
    assert run("solve", city, "-o", tmp_path / "week.policy").code == 0
    path = tmp_path / "cards.csv"
    assert run("cards", tmp_path / "week.policy", "-o", path, "--depth", 1).code == 0
    area = path.read_text(encoding="utf-8-sig").splitlines()[1].split(",")[2:4]
    question = ("--at", area[0], "--type", "fire", "--busy", "none")
    assert "--time: expected when the incident is" in run("decide", path, *question).err
    ran = run("decide", path, *question, "--time", "tue 14:00", "--json")
    assert json.loads(ran.out)["period"] == "day"
    assert run("cards", tmp_path / "week.policy", "-o", path, "--period", "night").code == 0
    assert "expected a time in one of its periods" in run("decide", path, *question, "--time", "tue 14:00").err


def test_a_plain_city_has_cards(run: Run, policy_file: Path, tmp_path: Path) -> None:
    """Without a roster stations stand for trucks."""
    path = tmp_path / "cards.csv"
    assert run("cards", policy_file, "-o", path).code == 0
    ran = run("decide", path, "--at", "n5", "--idle", "s0,s2", "--json")
    assert sorted(json.loads(ran.out)["team"]) == ["s0", "s2"]


def test_a_large_department_is_measured_when_asked(
    run: Run, department_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where measuring takes long, it is left out and said so; --measure does it, if it must by simulation (--seed)."""
    monkeypatch.setattr("runcard.outputs.cards.depth.AT_ONCE_WORK", 0)
    monkeypatch.setattr("runcard.outputs.cards.depth.EXACT_WORK", 0)
    ran = run("cards", department_file, "-o", tmp_path / "cards.csv")
    assert "was not measured: --measure does it" in " ".join(ran.out.split())
    measured = ("cards", department_file, "-o", tmp_path / "cards.xlsx", "--measure", "--incidents", 1000)
    ran, again, other = (run(*measured, "--seed", seed) for seed in (2, 2, 3))
    assert ran.code == 0
    assert "simulated" in ran.out
    assert ran.out == again.out != other.out


def test_mistakes_are_one_sentence(refuse, run: Run, department_file: Path, tmp_path: Path) -> None:
    """A wrong name, depth, kind, type or period; and addresses, moved units and a city, which are for policy files."""
    assert run("cards", department_file, "-o", tmp_path / "cards.csv", "--depth", 1).code == 0
    table = """
cards FILE -o cards.doc :: expected cards to end in .csv, .xlsx, .pdf
cards FILE -o missing/cards.csv :: expected an existing folder
cards FILE -o new.csv --depth 0 :: expected a whole number from 1 to 16
cards FILE -o new.csv --kind boat :: expected a kind of units
cards FILE -o new.csv --type flood :: expected a type of incident
cards FILE -o new.csv --period day :: expected no period
decide cards.csv --busy none --at-xy 0,0 :: expected no --at-xy
decide cards.csv --busy none --at n1 --from E1=n2 :: expected no --from
decide cards.csv --busy none --at n1 --city city :: expected no --city
decide missing.csv --busy none --at n1 :: missing.csv: the file is missing
decide . --busy none --at n1 :: expected a policy file, found a folder
"""
    refuse(table, FILE=department_file)


def test_the_policy_file_is_not_overwritten(
    run: Run, department_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy file that is called .csv is not the file to write its cards to, by whatever path it is named."""
    monkeypatch.chdir(tmp_path)
    content = department_file.read_bytes()
    Path("town.csv").write_bytes(content)
    Path("link.csv").symlink_to("town.csv")
    for output in ("town.csv", tmp_path / "town.csv", "link.csv"):
        ran = run("cards", "town.csv", "-o", output)
        assert (ran.code, ran.out) == (2, "")
        assert "expected another file to write than the policy file itself" in ran.err
    assert Path("town.csv").read_bytes() == content


def test_what_is_no_policy_file_is_called_so(run: Run, department_file: Path, tmp_path: Path) -> None:
    """Run cards and tables of a city, which are sound, are not called damaged; run cards are read as .csv only."""
    city = department_file.parent / "city"
    for ending in ("csv", "xlsx", "pdf"):
        assert run("cards", department_file, "-o", tmp_path / f"c.{ending}", "--depth", 1).code == 0
    question = ("--at", "n1", "--busy", "none")
    for arguments in (
        ("decide", tmp_path / "c.xlsx", *question),
        ("decide", tmp_path / "c.pdf", *question),
        ("cards", tmp_path / "c.csv", "-o", tmp_path / "d.csv"),
        ("cards", city / "demand.csv", "-o", tmp_path / "d.csv"),
        ("geojson", tmp_path / "c.csv", "-o", tmp_path / "out"),
        ("geojson", city / "city.toml", "-o", tmp_path / "out"),
    ):
        ran = run(*arguments)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert f"{arguments[1]}: expected a policy file, as runcard solve writes it, found a file of another" in ran.err
        assert ("runcard decide reads the .csv file" in ran.err) == (arguments[1].suffix != ".toml")
    (tmp_path / "folder.csv").mkdir()
    for name, words in (("missing.csv", "the file is missing"), ("folder.csv", "expected a file, got a folder")):
        ran = run("decide", tmp_path / name, *question)
        assert (ran.code, ran.out) == (2, "")
        assert f"{name}: {words}" in ran.err
