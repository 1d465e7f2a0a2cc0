"""`runcard whatif --one-more`."""

import json
from pathlib import Path

import pytest
from tests.town import plain_town
from tests.weeks import with_days

from runcard.city import demo_city, write_city
from runcard.plan.words import incidents_a_day


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built-in town."""
    return write_city(demo_city(), tmp_path_factory.mktemp("town") / "city")


def test_it_names_the_best_place_first(run, town: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best station, the gain in a year, response times beside it, the proof, and a row for each place shown."""
    monkeypatch.setenv("COLUMNS", "160")
    ran = run("whatif", town, "--one-more", "engine", "--top", "3")
    assert (ran.code, ran.err) == (0, "")
    assert "One more engine does most at station" in ran.out
    assert "fewer missed standards of engines a year" in ran.out
    assert "The first engine is there after" in ran.out
    assert "This is proven." in ran.out
    assert sum(line.strip().startswith("station ") for line in ran.out.splitlines()) == 3
    assert "as it is" in ran.out


@pytest.mark.slow
def test_json_has_every_place_and_the_page_is_written(run, town: Path, tmp_path: Path) -> None:
    """Nothing but JSON is printed; every node is there once, with its bounds; the page needs no network."""
    page = tmp_path / "more.html"
    ran = run("whatif", town, "--one-more", "ladder", "--anywhere", "--top", "2", "--json", "-o", page)
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    nodes = [one["node"] for one in found["places"]]
    assert sorted(set(nodes)) == sorted(node.node_id for node in demo_city().nodes)
    assert found["sure"] is True
    assert all(one["lower"] > one["pruned_by"] for one in found["places"] if one["pruned_by"] is not None)
    text = page.read_text()
    assert "where should one more ladder stand?" in text
    assert 'src="http' not in text


def test_a_period_goes_through_to_the_next_command(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header has its incidents a day, sentences name its hours, and the command at the end names it."""
    monkeypatch.setenv("COLUMNS", "200")
    week = with_days(plain_town())
    ran = run("whatif", write_city(week, tmp_path / "week"), "--one-more", "truck", "--top", "1", "--period", "day")
    assert (ran.code, ran.err) == (0, "")
    assert incidents_a_day(week.in_period("day").incidents_per_day) in ran.out.splitlines()[0]
    assert "fewer late incidents in the hours of day, a year" in ran.out
    assert ran.out.splitlines()[-1].endswith(" --period day")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--one-more", "medic"], "expected a kind that incidents need (engine, ladder), got 'medic'"),
        (["--one-more", "engine", "--close", "quayside"], "expected no --close with it"),
        (["--one-more", "engine", "--policy", "optimal"], "expected no --policy with it"),
        (["--add", "engine@quayside", "--anywhere"], "expected --one-more KIND with it"),
        (["--add", "engine@quayside", "--top", "3"], "expected --one-more KIND with it"),
        (["--one-more", "engine", "--top", "0"], "expected a whole number from 1"),
        (["--one-more", "engine", "--period", "night"], "expected no period"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(run, town: Path, options: list[str], words: str) -> None:
    """Options that do not go together, and unknown kinds and periods."""
    ran = run("whatif", town, *options)
    assert ran.code == 2
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1
