"""`runcard whatif`."""

import json
from pathlib import Path

import pytest

from runcard.city import demo_city, read_city, write_city
from runcard.outputs.fit_file import care_line, care_words


def test_json_has_all_of_it(run, town: Path) -> None:
    """Nothing but JSON is printed; the parts are there, and the numbers of the sum agree."""
    ran = run("whatif", town, "--remove", "E06,E07", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert found["exact"] is True
    assert [one["name"] for one in found["policies"]] == ["optimal", "closest-first"]
    missed = found["policies"][0]["missed"]
    assert missed["after"]["mean"] - missed["before"]["mean"] == pytest.approx(missed["difference"]["mean"])
    assert missed["difference"]["low"] <= missed["difference"]["mean"] <= missed["difference"]["high"]
    assert {one["kind"]: one["changed"] for one in found["kinds"]} == {"engine": True, "ladder": False}
    gone = [one["unit_id"] for one in found["units"] if one["station_after"] is None]
    assert gone == ["E06", "E07"]
    assert len(found["areas"]) == len({point.node_id for point in demo_city().demand})


FAULTS = ["Routes explain only 12 % of the variance.", "Incidents come in bursts."]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["whatif CITY --close quayside", "site CITY --kind engine --top 2"])
def test_a_bad_fit_is_said_in_the_words_of_the_report(
    run, town: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """On the page before any number, in the words of the report of the city, with every fault below; so on the
    terminal, which names the first three at once, and below all if there are more; and in JSON. Nothing of it without a
    fit."""

    def asked(city: Path) -> list[object]:
        return [city if word == "CITY" else word for word in command.split()]

    monkeypatch.setenv("COLUMNS", "200")
    folder = write_city(demo_city(), tmp_path / "fitted")
    (folder / "fit.json").write_text(json.dumps({"goodness": {"faults": FAULTS}}), encoding="utf-8")
    page = tmp_path / "page.html"
    ran = run(*asked(folder), "-o", page)
    assert (ran.code, ran.err) == (0, "")
    words, text = care_words(FAULTS), page.read_text(encoding="utf-8")
    assert run("report", folder, "-o", tmp_path / "report.html", "--quick").code == 0
    assert text.index(words) < text.index("missed standards")
    assert all(text.index(words) < text.index(fault) for fault in FAULTS)
    assert text.count("Does it agree with the log?") == 2
    assert words in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ran.out.index(care_line(FAULTS, 3)) < ran.out.index("missed standards")
    assert "Does it agree with the log?" not in ran.out
    assert json.loads(run(*asked(folder), "--json").out)["fit_faults"] == FAULTS
    more = [*FAULTS, "Roads are wrong.", "Clocks are wrong."]
    (folder / "fit.json").write_text(json.dumps({"goodness": {"faults": more}}), encoding="utf-8")
    before, after = run(*asked(folder)).out.split("Does it agree with the log?")
    assert f"the fit is bad in 4 ways, which fit.html lists. {' '.join(more[:3])}" in before
    assert more[3] not in before
    assert all(f"- {fault}" in after for fault in more)
    plain = run(*asked(town))
    assert "log" not in plain.out
    assert json.loads(run(*asked(town), "--json").out)["fit_faults"] == []


def test_a_unit_that_changes_and_whose_work_is_off_is_named(run, town: Path, tmp_path: Path) -> None:
    """With its responses a day, before the other faults, also where a fault lists others; a unit that stays is not."""
    folder = write_city(demo_city(), tmp_path / "fitted")
    work = [
        {"unit": unit, "kind": "engine", "responses_per_day": 1.6, "predicted_responses_per_day": 6.0, "off": off}
        for unit, off in (("E01", True), ("E06", True), ("E07", False))
    ]
    (folder / "fit.json").write_text(json.dumps({"goodness": {"faults": FAULTS, "busy": work}}), encoding="utf-8")
    first, *others = json.loads(run("whatif", folder, "--close", "quayside", "--json").out)["fit_faults"]
    assert first.startswith("E06 changes, and its work is off by more than a third")
    assert "it has 1.6 responses a day in the log and 6.0 in the city" in first
    assert others == FAULTS
    assert f"which fit.html lists. {first}" in run("whatif", folder, "--close", "quayside").out


@pytest.mark.slow
def test_the_changed_city_is_written_and_read_again(run, town: Path, tmp_path: Path) -> None:
    """Going on from it: `compare` says of it what the what-if said."""
    folder, page = tmp_path / "changed", tmp_path / "page.html"
    ran = run("whatif", town, "--move", "E01:old-a4", "--write-city", folder, "-o", page, "--json")
    assert ran.code == 0
    after = json.loads(ran.out)["policies"][0]["missed"]["after"]["mean"]
    assert [unit.station_id for unit in read_city(folder).units if unit.unit_id == "E01"] == ["at-old-a4"]
    compared = json.loads(run("compare", folder, "--policies", "optimal", "--json").out)
    assert compared["policies"][0]["late_fraction"] == pytest.approx(after, rel=1e-8)
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_city_without_a_roster_is_simulated_if_asked(run, grid_folder: Path) -> None:
    """Trucks of stations move; the intervals are those of the simulation."""
    station = read_city(grid_folder).stations[0].station_id
    node = read_city(grid_folder).nodes[9].node_id
    ran = run("whatif", grid_folder, "--move", f"{station}:{node}", "--incidents", 2000, "--seed", 3, "--json")
    found = json.loads(ran.out)
    assert (found["exact"], found["incidents"]) == (False, 2000)
    missed = found["policies"][0]["missed"]["difference"]
    assert missed["low"] < missed["high"]


def test_bad_input_is_refused_in_a_sentence(refuse, town: Path, tmp_path: Path) -> None:
    """Exit code 2, one line, and nothing is written; options that do not go together, and unknown kinds and periods."""
    (tmp_path / "mine.txt").write_text("mine")
    table = """
whatif CITY :: nothing changes: expected --add KIND@PLACE
whatif CITY --close nowhere :: expected a station (
whatif CITY --remove E99 :: did you mean E09?
whatif CITY --load many :: --load
whatif CITY --add engine@central -o page.pdf :: expected a name that ends in .html
whatif CITY --add engine@central -o nowhere/page.html :: expected an existing folder to write to
whatif CITY --add engine@central --policy best :: expected a policy, one of
whatif CITY --add engine@central --period night :: expected no period
whatif CITY --add engine@central --write-city . -o page.html :: expected an empty or new folder for the changed city
whatif CITY --one-more engine --close quayside :: expected no --close with it
whatif CITY --one-more engine --policy optimal :: expected no --policy with it
whatif CITY --add engine@quayside --anywhere :: expected it with runcard site
whatif CITY --add engine@quayside --top 3 :: expected it with runcard site
site CITY --kind medic :: expected a kind that incidents need (engine, ladder), got 'medic'
site CITY :: expected one of its kinds of units (engine, ladder), got none
site CITY --kind engine --top 0 :: expected a whole number from 1
site CITY --kind engine --period night :: expected no period
"""
    refuse(table, CITY=town)


def test_an_interrupt_leaves_nothing_behind(run, town: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the page is made: neither page nor city nor draft."""

    def interrupt(_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("runcard.outputs.whatif.page.whatif_page", interrupt)
    ran = run("whatif", town, "--remove", "E06", "-o", tmp_path / "page.html", "--write-city", tmp_path / "city")
    assert ran.code == 130
    assert list(tmp_path.iterdir()) == []
