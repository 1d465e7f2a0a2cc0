"""`runcard site`."""

import json
from pathlib import Path

import pytest
from tests.town import plain_town
from tests.weeks import with_days

from runcard.city import demo_city, write_city
from runcard.plan.words import incidents_a_day


@pytest.mark.slow
def test_json_has_every_place_and_the_page_is_written(run, town: Path, tmp_path: Path) -> None:
    """Nothing but JSON is printed; every node is there once, with its bounds; the page needs no network."""
    page = tmp_path / "more.html"
    ran = run("site", town, "--kind", "ladder", "--anywhere", "--top", "2", "--json", "-o", page)
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
    ran = run("site", write_city(week, tmp_path / "week"), "--kind", "truck", "--top", "1", "--period", "day")
    assert (ran.code, ran.err) == (0, "")
    assert incidents_a_day(week.in_period("day").incidents_per_day) in ran.out.splitlines()[0]
    assert "fewer late incidents in the hours of day, a year" in ran.out
    assert ran.out.splitlines()[-1].endswith(" --period day")


def test_the_spelling_of_before_works_and_says_what_is_new(run, town: Path) -> None:
    """`whatif --one-more` prints what `site` does, and a line about it."""
    new, old = (
        run("site", town, "--kind", "ladder", "--top", 2),
        run("whatif", town, "--one-more", "ladder", "--top", 2),
    )
    assert old.code == 0
    assert old.out == new.out
    assert f"runcard site {town} --kind ladder" in " ".join(old.err.split())
