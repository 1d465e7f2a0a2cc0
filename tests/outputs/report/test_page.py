"""The page of a report: one file, complete, safe, and drawn in a real browser."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.browser import OpenPage
from tests.markup import Markup

from runcard.assess.auto import Effort, per_year
from runcard.assess.exact import assess_exactly
from runcard.city import City, generate_grid
from runcard.errors import InputError
from runcard.outputs.report import report_page, write_report
from runcard.outputs.report.findings import Report, find
from runcard.outputs.report.sensitivity import sensitivity
from runcard.plan.words import minutes_words, percent_words, rule_words

HOSTILE = '"><img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script><!-- {{ 7 * 7 }} &amp;'


@pytest.fixture(scope="module")
def page(report: Report) -> str:
    """The page of the town, with its sensitivity."""
    rows = sensitivity(report.given, report.solved, Effort())
    return report_page(replace(report, rows=rows), command="runcard report town")


def map_data(page: str) -> Any:
    """The data of the map of a page."""
    found = re.search(r'<script type="application/json" id="map-data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_page_has_every_standard_under_every_policy(report: Report, page: str) -> None:
    """Missed and mean response side by side, as the results have them."""
    for result in report.solved:
        for one in result.standards:
            assert one.missed is not None
            assert one.minutes is not None
            pattern = (
                f"{re.escape(percent_words(one.missed.value))}</td><td>{re.escape(minutes_words(one.minutes))}</td>"
            )
            assert re.search(pattern, page)
            assert rule_words(one.standard) in page
    for kind in report.solved.last.fleets.values():
        assert minutes_words(kind.minutes["first_p90"].value) in page


def test_the_page_is_well_formed_and_can_be_read_aloud(page: str) -> None:
    """Every tag is closed, headings follow, every header of a table has a scope, and the language is said."""
    parts = Markup(page)
    assert ("html", {"lang": "en"}) in parts.tags
    assert [tag for tag, _ in parts.tags].count("h1") == 1
    assert all(attrs.get("scope") for tag, attrs in parts.tags if tag == "th")
    headings = ["Map", "Units", "What if it is not so?", "What this leaves out", "Details"]
    assert all(one in parts.words for one in headings)
    assert "runcard report town" in parts.words


def test_the_page_needs_no_other_file(page: str) -> None:
    """No tag names another file or address."""
    for tag, attrs in Markup(page).tags:
        assert tag not in ("img", "link", "iframe", "object")
        assert not {"src", "href", "action", "data", "onload", "onerror"} & set(attrs), tag
    assert "@import" not in page
    assert "url(http" not in page


def test_units_and_changes_are_in_the_page(report: Report, page: str) -> None:
    """Every unit with its station and price, and each change with its gain."""
    text = Markup(page).words
    for one in report.stations:
        assert ", ".join(one.units) in text
        assert f"{1000.0 * one.price:.1f}" in text
    assert "50 % more incidents" in text
    assert not re.search(r"\d%", text)  # a percentage has its space, wherever it stands
    assert "every standard 1 minute shorter" in text


def test_busy_times_and_loads_are_those_that_the_model_takes(report: Report, page: str) -> None:
    """Of each kind the mean over the types of incidents, which have their own; and the load that `compare` says."""
    text, kinds = Markup(page).words, [report.city.of_kind(kind) for kind in ("engine", "ladder")]
    engine, ladder = (f"{of.mean_busy_minutes:.3g} min" for of in kinds)
    assert engine != ladder
    assert f"engine {engine}, ladder {ladder}" in text
    assert "engine {:.2g}, ladder {:.2g}".format(*(of.load for of in kinds)) in text


def test_a_quick_report_has_no_sensitivity(plain_report: Report) -> None:
    """And a city without kinds and standards speaks of late incidents."""
    page = report_page(plain_report)
    assert "What if it is not so?" not in page
    assert "late incidents a day" in page
    assert "standards are missed" not in Markup(page).words
    assert map_data(page)["layers"][0]["title"] == "Chance that an incident is late"


def hostile(city: City) -> City:
    """The city with names that would like to be part of the page."""
    return replace(
        city,
        name=HOSTILE,
        nodes=tuple(replace(node, name=HOSTILE) for node in city.nodes),
        stations=tuple(replace(station, name=HOSTILE) for station in city.stations),
    )


@pytest.fixture(scope="module")
def hostile_page() -> str:
    """The page of a city with hostile names, and a hostile command."""
    city = hostile(generate_grid(side=3, num_stations=3, load=0.2, seed=1))
    return report_page(find(city, Effort(), quick=True), command=HOSTILE)


def test_names_stay_text(hostile_page: str) -> None:
    """Nothing of the data becomes a tag, ends a script, or is read as a template."""
    parts = Markup(hostile_page)
    assert "img" not in {tag for tag, _ in parts.tags}
    assert [tag for tag, _ in parts.tags].count("script") == 2
    assert HOSTILE in parts.words
    assert "49" not in parts.words.split("who should go")[0]
    assert map_data(hostile_page)["ground"]["stations"][0]["name"] == HOSTILE


def test_a_comparison_is_not_made_again(tmp_path: Path, town: City, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its policies are those of the table; another one is refused."""
    comparison = assess_exactly(town, ("closest-first", "fixed-card", "optimal"))
    monkeypatch.setattr("runcard.outputs.report.findings.solved_city", None)
    file = write_report(town, tmp_path / "report.html", comparison=comparison, quick=True)
    text = Markup(file.read_text(encoding="utf-8")).words
    assert "Fixed list" in text
    year = per_year(comparison.first.missed.value, town)
    assert f"{year:,.0f} a year" in text
    wrong = assess_exactly(town, ("optimal", "closest-first"))
    with pytest.raises(InputError, match="closest-first, fixed-card, optimal, got"):
        write_report(town, tmp_path / "report.html", comparison=wrong)


def test_a_file_that_cannot_be_written_is_refused_at_once(tmp_path: Path, town: City) -> None:
    """Before any work, and nothing is left behind by work that is stopped."""
    with pytest.raises(InputError, match="folder"):
        write_report(town, tmp_path / "no" / "report.html")


class TestInBrowser:
    """The page in a real browser."""

    @pytest.fixture
    def file(self, tmp_path: Path, page: str) -> Path:
        """The page of the town."""
        path = tmp_path / "report.html"
        path.write_text(page, encoding="utf-8")
        return path

    def test_it_is_drawn_without_error_or_request(self, file: Path, open_page: OpenPage) -> None:
        """All areas and stations, in less than two seconds, and every layer can be shown."""
        opened = open_page(file)
        data = map_data(file.read_text(encoding="utf-8"))
        assert opened.page.locator(".rc-area").count() == len(data["ground"]["areas"])
        done = "performance.getEntriesByType('navigation')[0].loadEventEnd"
        assert opened.page.evaluate(done) < 2000.0
        seen = set()
        for layer in data["layers"]:
            opened.page.select_option(".rc-switch select", layer["id"])
            legend = opened.page.inner_text(".rc-legend")
            assert layer["legend"][0]["label"] in legend
            seen.add(legend)
        assert len(seen) >= 5
        opened.check()

    def test_it_is_drawn_in_the_dark_and_on_a_phone(self, file: Path, open_page: OpenPage) -> None:
        """Without error, and nothing but tables and the map is wider than a narrow screen, captions neither."""
        opened = open_page(file, color_scheme="dark", viewport={"width": 390, "height": 800})
        ground, ink = (
            opened.page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color")
        )
        assert ground == "rgb(22, 27, 32)"
        assert ink == "rgb(232, 235, 238)"
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 400
        ends = "[...document.querySelectorAll('caption')].map((one) => one.getBoundingClientRect().right)"
        assert 0 < max(opened.page.evaluate(ends)) <= 390
        opened.check()

    def test_hostile_names_run_nothing(self, tmp_path: Path, hostile_page: str, open_page: OpenPage) -> None:
        """They are read as they are."""
        path = tmp_path / "hostile.html"
        path.write_text(hostile_page, encoding="utf-8")
        opened = open_page(path)
        assert opened.page.evaluate("window.hacked") is None
        assert HOSTILE in opened.page.inner_text("h1")
        opened.check()


def test_the_page_says_what_cards_keep_of_the_gain() -> None:
    """Cards of no line are a fixed order, closest-first keeps nothing and the optimum all; all of it is on the page."""
    report = find(generate_grid(side=4, num_stations=4, load=0.3, seed=2), Effort())
    (table,) = report.depths
    costs = [row.missed.value for row in table.rows]
    assert costs[0] == pytest.approx(report.solved.first.missed.value, rel=1e-9)
    assert costs[-1] == pytest.approx(report.solved.last.missed.value, rel=1e-9)
    for row, cost in zip(table.rows, costs, strict=True):
        assert row.kept is not None
        assert row.kept.value == pytest.approx((costs[0] - cost) / (costs[0] - costs[-1]), abs=1e-6)
    text = Markup(report_page(report)).words
    assert table.words in text
    assert all(row.name in text for row in table.rows)


def test_a_bad_fit_is_said_first_and_beside_the_log(report: Report) -> None:
    """What a fit found wrong is in the summary and listed, and the log's misses stand beside those of the model."""
    late = {"type": "fire", "kind": "engine", "arrivals": 1, "target_minutes": 6.0}
    late |= {"observed": 0.041, "low": 0.02, "high": 0.07, "predicted": 0.202}
    fit = {"goodness": {"faults": [f"Routes explain little. {HOSTILE}"], "late": [late, {"type": "fire"}, 7]}}
    page = Markup(report_page(replace(report, fit=fit)))
    assert "the fit is bad in 1 way" in page.words
    assert f"Routes explain little. {HOSTILE}" in page.words
    for shown in ("fire: first engine in 6 min", "4.10 %", "2.00 to 7.00 %", "20.2 %"):
        assert shown in page.words
    for other in (None, {}, {"goodness": "damaged"}, {"goodness": {"faults": 3, "late": None}}):
        assert "Does it agree with the log?" not in Markup(report_page(replace(report, fit=other))).words
