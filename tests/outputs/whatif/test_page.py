"""The page of a what-if: in a real browser, with hostile names, and what its words and classes say."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.browser import OpenPage
from tests.town import plain_town

from runcard.assess.change import Change
from runcard.city import City, demo_city
from runcard.interval import Interval
from runcard.outputs.whatif.changes import Add, Close, Load, Move
from runcard.outputs.whatif.effect import find_effect
from runcard.outputs.whatif.layers import change_classes, map_data, station_change_lines
from runcard.outputs.whatif.page import losing_and_gaining, whatif_page
from runcard.outputs.whatif.result import Effect
from runcard.outputs.whatif.words import headline, method, signed, span
from runcard.page.colours import diverging, lightness

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>{{ 7*7 }}"


@pytest.fixture(scope="module")
def effect() -> Effect:
    """A station closes and an engine comes elsewhere."""
    return find_effect(demo_city(), [Close("quayside"), Add("engine", "old-a4")])


def hostile_city() -> City:
    """The built-in town with names that try to be more than names."""
    city = demo_city()
    stations = tuple(replace(one, name=HOSTILE, trucks=0) for one in city.stations)
    nodes = tuple(replace(one, name=HOSTILE) for one in city.nodes)
    units = tuple(replace(one, unit_id="<b>E1</b>") if one.unit_id == "E01" else one for one in city.units)
    return replace(city, name=HOSTILE, stations=stations, nodes=nodes, units=units)


def test_the_page_is_drawn_in_a_browser(effect: Effect, tmp_path: Path, open_page: OpenPage) -> None:
    """No error and no request; the words come first, the map shows all areas, the closed station says so, and no table
    is cut where there is room below."""
    path = tmp_path / "whatif.html"
    path.write_text(whatif_page(effect), encoding="utf-8")
    opened = open_page(path)
    opened.page.wait_for_selector("#map path")
    text = opened.page.inner_text("body")
    assert (
        text.index("Station quayside (Quayside) closes.") < text.index(headline(effect)) < text.index("Every standard")
    )
    assert "Quayside: closed" in text
    assert "at least 10 more" in text
    assert opened.page.locator("#map path").count() >= len(effect.areas)
    assert opened.page.evaluate(
        "[...document.querySelectorAll('.wide')].every(box => box.scrollWidth <= box.clientWidth)"
    )
    opened.page.get_by_text("Change in minutes to the first engine").first.click()
    assert "slower" in opened.page.inner_text("#map")
    opened.check()


def test_names_stay_names(tmp_path: Path, open_page: OpenPage) -> None:
    """Markup and scripts in names of the city, its stations, areas and units are shown, not obeyed."""
    effect = find_effect(hostile_city(), [Move("<b>E1</b>", "old-a4"), Load(1.1)])
    path = tmp_path / "whatif.html"
    path.write_text(whatif_page(effect), encoding="utf-8")
    opened = open_page(path)
    opened.page.wait_for_selector("#map path")
    assert opened.page.title() == f"{HOSTILE}: what if"
    text = opened.page.inner_text("body")
    assert "<b>E1</b>" in text
    assert "49" not in opened.page.inner_text("h1")
    assert opened.page.locator("img").count() == 0
    opened.check()


def test_every_area_is_in_every_layer(effect: Effect) -> None:
    """Each with a class of the legend and its numbers in words; stations that change have lines."""
    data = map_data(effect)
    assert [layer["id"] for layer in data["layers"]] == ["change", "minutes", "before", "after"]
    for layer in data["layers"]:
        assert set(layer["areas"]) == {area.node_id for area in effect.areas}
        assert all(0 <= own["class"] < len(layer["legend"]) for own in layer["areas"].values())
    assert station_change_lines(effect.before, effect.after) == {
        "quayside": ["E06 goes"],
        "at-old-a4": ["engine-new-1 is new"],
    }
    states = {one["id"]: one.get("state") for one in data["ground"]["stations"]}
    assert (states["quayside"], states["at-old-a4"], states["central"]) == ("closed", "new", None)


def test_areas_that_say_nothing_do_not_look_unchanged(effect: Effect) -> None:
    """An area without incidents has a hatch and words of its own, not the white of "about the same"."""
    first, *others = effect.areas
    for layer in map_data(replace(effect, areas=tuple(others)))["layers"]:
        own = layer["legend"][layer["areas"][first.node_id]["class"]]
        assert own["label"] == "too few incidents to tell"
        assert own["hatch"] == "."
        assert layer["areas"][others[0].node_id]["class"] < len(layer["legend"]) - 1


def test_losers_are_hatched_and_both_sides_differ_in_lightness_from_the_middle(effect: Effect) -> None:
    """So that a print in black and white tells who gains, who loses and by how much."""
    legend = map_data(effect)["layers"][0]["legend"]
    assert [one["hatch"] for one in legend] == ["", "", "", "", "/", "/", "/"]
    lights = [lightness(one["colour"]) for one in legend]
    assert lights[0] < lights[1] < lights[2] < lights[3] > lights[4] > lights[5] > lights[6]


@pytest.mark.parametrize("largest", [0.003, 0.9, 1.0, 7.6, 23.0, 400.0])
def test_classes_of_changes_are_round_and_symmetric(largest: float) -> None:
    """The largest change is in the last class, its opposite in the first, and 0 in the middle."""
    classes = change_classes([largest, 0.0, 0.01 * largest], ("fewer", "more"))
    assert [classes.of(value) for value in (-largest, 0.0, largest)] == [0, 3, 6] or largest in classes.limits
    assert classes.of(largest) == 6
    assert len(classes) == len(diverging(7)) == 7
    assert [-limit for limit in reversed(classes.limits)] == list(classes.limits)


def test_where_nothing_changes_there_is_one_class() -> None:
    """No limits can be made of zeros."""
    assert change_classes([0.0, 0.0], ("fewer", "more")).labels == ("no change",)


def test_areas_that_gain_and_lose_come_by_their_size(effect: Effect) -> None:
    """Those around the closed station lose the most, those around the new one gain the most."""
    losers, gainers = losing_and_gaining(effect, 3)
    assert all(area.more_missed.value > 0.0 for area in losers)
    assert all(area.more_missed.value < 0.0 for area in gainers)
    assert losers[0].closest_before == "quayside"
    assert gainers[0].closest_after == "at-old-a4"


def test_numbers_are_written_with_signs_and_ranges() -> None:
    """No -0.00, and no range where both ends read the same or nothing is known."""
    assert [signed(number, 2) for number in (0.001, -0.001, 0.126, -3.0)] == ["0.00", "0.00", "+0.13", "-3.00"]
    assert span(Interval(0.1, 0.05, 0.15), 100.0, 1) == "5.0 to 15.0"
    assert span(Interval(0.1, 0.1, 0.1), 100.0, 1) == ""
    assert span(Interval(0.1, float("nan"), float("nan")), 100.0, 1) == ""


def test_the_method_says_why_it_is_simulated() -> None:
    """Because somebody asked for it, or because there are too many states."""
    asked = find_effect(plain_town(), [Load(1.2)], incidents=1000)
    assert method(asked).startswith("As asked for: 1,000 incidents were simulated")
    assert method(replace(asked, asked_to_simulate=False)).startswith("There are too many states to calculate: 1,000")


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        (
            (20.2, -10.0, 50.4),
            "No clear change: between 10.0 fewer and 50.4 more missed standards a year (1,020.2 instead",
        ),
        ((200.4, 150.0, 250.0), "200 more missed standards a year (150 to 250): 1,200 instead of 1,000."),
        ((-20.4, -25.5, -15.0), "20.4 fewer missed standards a year (15.0 to 25.5): 979.6 instead of 1,000.0."),
        ((0.0, 0.0, 0.0), "As many missed standards as before: 1,000.0 a year."),
    ],
)
def test_the_headline_says_more_fewer_or_not_clear(difference: tuple[float, float, float], words: str) -> None:
    """By where the interval of the change lies."""
    before, after = (Interval(mean, mean, mean) for mean in (1000.0, 1000.0 + difference[0]))
    change = Change(before, after, Interval(*difference))
    effect: Any = SimpleNamespace(per_year=lambda _: change, before=demo_city(), period=None)
    assert headline(effect).startswith(words)
