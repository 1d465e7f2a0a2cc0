"""The page of a fit and its pictures."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from tests.calibrate.cities import made_up, road_city, true_city
from tests.markup import Markup

from runcard.calibrate.backtest import AS_IT_WAS, Backtest, split_log
from runcard.calibrate.backtest import backtest as replay
from runcard.calibrate.fit import Fit, fit_city
from runcard.calibrate.goodness import Goodness, judge_fit
from runcard.calibrate.page import fit_page, number_text
from runcard.calibrate.pictures import CAPTIONS, pictures
from runcard.plan.plan import solve


@pytest.fixture(scope="module")
def fit(tmp_path_factory: pytest.TempPathFactory) -> Fit:
    """A fit with rejected rows."""
    log, _ = made_up(tmp_path_factory.mktemp("log"), true_city(road_city()), incidents=900, dirt=0.1)
    return fit_city(road_city(), log)


@pytest.fixture(scope="module")
def goodness(fit: Fit) -> Goodness:
    """How good it is."""
    return judge_fit(fit)


@pytest.fixture(scope="module")
def page(fit: Fit, goodness: Goodness) -> str:
    """Its page."""
    return fit_page(fit, goodness)


def test_the_page_is_well_formed_and_needs_nothing_else(page: str) -> None:
    """Elements are nested, ids are unique, there is no script, and nothing is loaded from anywhere."""
    found = Markup(page)
    assert not any(tag in ("script", "iframe", "link", "img") for tag, _ in found.tags)
    for _, attributes in found.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "xlink:href", "action"):
                assert value.startswith("#")
    # The names of XML are no addresses that anybody loads.
    assert "http" not in re.sub(r'xmlns(:\w+)?="http://www\.w3\.org/[^"]*"', "", page)
    assert "url(http" not in page
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_a_good_fit_and_a_bad_one(fit: Fit, goodness: Goodness, page: str) -> None:
    """A good fit says so; a bad one says so before anything else, with each fault in words."""
    assert "Nothing is badly fitted" in page
    assert "This fit is bad" not in page
    bad = fit_page(fit, replace(goodness, faults=("Roads <are> wrong.", "Incidents come in bursts.")))
    words = Markup(bad).words
    assert words.index("This fit is bad in 2 ways. Read this before you use its numbers.") < words.index(
        "How well it fits"
    )
    assert "Roads <are> wrong." in words
    assert "Nothing is badly fitted" not in bad


def test_every_number_and_reason_is_on_the_page(fit: Fit, page: str) -> None:
    """All fitted numbers, all reasons for which rows are not used, and what is sent are there."""
    words = Markup(page).words
    for one in fit.numbers:
        assert one.name in words
        assert number_text(one.value) in words
    for reason, number in fit.log.rejected.counts.items():
        assert reason in words
        assert f"{number:,}" in words
    assert f"{len(fit.log.rejected):,} rows; each is in" in words


@pytest.mark.slow
def test_overruled_numbers_are_marked(fit: Fit) -> None:
    """A number that somebody put in stands beside what the log says."""
    own = fit_city(road_city(), fit.log, overrule={"shared_delay": 0.123})
    page = fit_page(own, judge_fit(own))
    assert "class=overruled" in page
    assert f"overruled: the log says {number_text(fit.number('shared_delay').value)}" in Markup(page).words


def test_names_cannot_break_the_page(fit: Fit, goodness: Goodness) -> None:
    """Names with angle brackets, quotes, dollars and other scripts stand on the page as they are."""
    nasty = '<script>alert("$x^")</script>'
    named = replace(
        goodness,
        responses=tuple(replace(one, kind=nasty) for one in goodness.responses),
        busy=tuple(replace(one, unit="$E_1$ 消防", kind=nasty) for one in goodness.busy),
        late=tuple(replace(one, standard=replace(one.standard, type=nasty)) for one in goodness.late),
    )
    found = Markup(fit_page(replace(fit, log=replace(fit.log, name=nasty)), named))
    assert not any(tag == "script" for tag, _ in found.tags)
    assert nasty in found.words


def test_guessed_homes_are_listed(fit: Fit, goodness: Goodness) -> None:
    """Homes that were found by drives are on the page with their margin, one without a rival too."""
    homes = tuple(replace(home, known_by="drives", margin=np.inf) for home in fit.homes)
    assert "Homes that were guessed" in fit_page(replace(fit, homes=homes), goodness)


@pytest.mark.slow
def test_the_replay_is_on_the_page(fit: Fit, goodness: Goodness) -> None:
    """With a replay the page has a row for each policy."""
    first, rest = split_log(fit.log, 0.6)
    own = fit_city(road_city(), first)
    solved = solve(own.city.of_week, "closest-first")
    found: Backtest = replay(own, rest, {"closest-first": lambda time: solved})
    words = Markup(fit_page(own, goodness, found)).words
    assert "Replay of incidents that the fit did not see" in words
    assert AS_IT_WAS in words


@pytest.mark.slow
def test_pictures_are_svg(goodness: Goodness) -> None:
    """Each picture is one well-formed element with words for those who cannot see it; ids differ between pictures."""
    found = pictures(goodness)
    assert list(found) == list(CAPTIONS)
    ids: list[str] = []
    for name, text in found.items():
        element = ET.fromstring(text)
        assert element.tag == "{http://www.w3.org/2000/svg}svg"
        assert element.attrib["aria-label"] == CAPTIONS[name]
        ids += [one.attrib["id"] for one in element.iter() if "id" in one.attrib]
    assert len(ids) == len(set(ids))
    assert pictures(goodness) == found


@pytest.mark.slow
def test_pictures_without_anything_to_draw_are_left_out(goodness: Goodness) -> None:
    """Where there are no responses, areas, units and standards only the counts are drawn; many kinds are all drawn."""
    nothing = replace(goodness, responses=(), areas=(), busy=(), late=())
    assert list(pictures(nothing)) == ["counts"]
    many = replace(goodness, responses=tuple(replace(goodness.responses[0], kind=f"kind {n}") for n in range(8)))
    assert "kind 7" in pictures(many)["calibration"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1234, "0.123"), (3.0, "3"), (12.345, "12.35"), (1234.56, "1234.6"), (np.inf, "unknown"), (-0.5, "-0.500")],
)
def test_numbers_have_about_three_digits(value: float, text: str) -> None:
    """Numbers are short enough to read; the end of an interval that has none is unknown."""
    assert number_text(value) == text
