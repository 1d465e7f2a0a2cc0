"""The words, the map and the page of where one more unit should stand."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest
from tests.browser import OpenPage

from runcard.assess.change import Change
from runcard.city import City, demo_city, generate_grid
from runcard.interval import Interval
from runcard.outputs.whatif.one_more import rank_one_more
from runcard.outputs.whatif.one_more_page import one_more_layer, one_more_map, one_more_page, saved_a_year
from runcard.outputs.whatif.one_more_words import (
    change_a_year,
    misses_per_100,
    one_more_headline,
    place_words,
    proof_words,
    see_more,
)
from runcard.outputs.whatif.places import OneMore
from runcard.outputs.whatif.words import headline


@pytest.fixture(scope="module")
def found() -> OneMore:
    """A grid of 25 nodes, all ranked."""
    return rank_one_more(generate_grid(side=5, num_stations=3, load=0.1, seed=4, gamma=0.35), anywhere=True, top=3)


def ranks_on(found: OneMore) -> dict[str, str]:
    """Every rank that the map shows, with the node or the station that it stands at."""
    shown = one_more_map(found)
    (layer,) = shown["layers"]
    at_nodes = {mark: node for node, area in layer["areas"].items() for mark in area["mark"].split()}
    at_stations = {one["words"]: one["id"] for one in shown["ground"]["stations"] if one.get("state") == "best"}
    assert not at_nodes.keys() & at_stations.keys()
    return at_nodes | at_stations


def test_every_area_has_a_class_and_says_what_is_proven(found: OneMore) -> None:
    """Each demand node is coloured; ranks stand on the best; what is ruled out says at most how much it gains."""
    layer = one_more_layer(found)
    assert set(layer["areas"]) == {point.node_id for point in found.city.demand}
    assert all(0 <= area["class"] < len(layer["legend"]) for area in layer["areas"].values())
    assert ranks_on(found) == {f"#{rank}": place.place for rank, place in enumerate(found.best, start=1)}
    assert set(layer["outlined"]) == {place.node_id for place in found.best}
    for place in found.places:
        words = " ".join(layer["areas"][place.node_id]["lines"])
        assert ("at most" in words) == (place.pruned_by is not None)
    assert set(layer["stations"]) == {station.station_id for station in found.city.stations}
    json.dumps(layer, allow_nan=False)


@pytest.fixture(scope="module")
def of_stations() -> OneMore:
    """Only the stations ranked, in a city whose few demand nodes are none of theirs."""
    city = generate_grid(side=5, num_stations=6, load=0.1, seed=4, gamma=0.35)
    homes = {station.node_id for station in city.stations}
    others = [point for point in city.demand if point.node_id not in homes][::2]
    return rank_one_more(replace(city, demand=tuple(others)), top=3)


def test_the_best_stand_out_where_stations_are_no_demand_nodes(of_stations: OneMore) -> None:
    """A station colours the area that it is in, by a search of our own over the roads; the best of several counts, the
    winners have their ranks and a border, and areas without a station say that nobody looked there."""
    city, layer = of_stations.city, one_more_layer(of_stations)
    assert ranks_on(of_stations) == {f"#{rank}": place.place for rank, place in enumerate(of_stations.best, start=1)}
    graph = nx.Graph()
    for link in city.links:
        graph.add_edge(link.from_node_id, link.to_node_id, weight=link.mean_minutes)
    minutes = dict(nx.all_pairs_dijkstra_path_length(graph))
    area_of = {
        place.place: min(layer["areas"], key=lambda node: minutes[place.node_id][node]) for place in of_stations.places
    }
    sure = set()
    for place in of_stations.places:
        first, second, *_ = sorted(minutes[place.node_id][node] for node in layer["areas"])
        sure |= {place.place} if second > first + 1e-9 else set()
    assert len(sure) >= 3
    empty = len(layer["legend"]) - 1
    coloured = {node for node, area in layer["areas"].items() if area["class"] != empty}
    assert {area_of[name] for name in sure} <= coloured
    assert len(coloured) <= len(of_stations.places) < len(layer["areas"])
    assert "not looked at" in layer["legend"][empty]["label"]
    assert all("not looked at" in layer["areas"][node]["lines"][1] for node in layer["areas"].keys() - coloured)
    for rank, place in enumerate(of_stations.best, start=1):
        if place.place in sure:
            area = layer["areas"][area_of[place.place]]
            assert area_of[place.place] in layer["outlined"]
            assert any(line.startswith(f"#{rank}: station {place.place}") for line in area["lines"])
            # No darker area has no winner.
            assert area["class"] >= max(
                (one["class"] for node, one in layer["areas"].items() if node in coloured - set(layer["outlined"])),
                default=0,
            )


def test_what_is_not_solved_never_looks_better_than_the_best(found: OneMore) -> None:
    """A place that is ruled out is shown with no more gain than the last of the best, and within its bounds."""
    least = min(saved_a_year(found, place) for place in found.best)
    for place in found.places:
        if place.pruned_by is not None:
            assert saved_a_year(found, place) <= least
            assert place.lower is not None
            assert place.upper is not None
            assert place.lower <= found.about(place) <= place.upper


def test_words_name_the_place_the_gain_and_the_proof(found: OneMore) -> None:
    """The sentence has misses and minutes side by side; the proof says how many places there were."""
    line = one_more_headline(found)
    assert place_words(found, found.places[0]) in line
    assert "fewer late incidents a year" in line
    assert "min instead of" in line
    assert proof_words(found).startswith("This is proven. All 3 stations and 22 other nodes of the roads")
    assert see_more(found).endswith(f"--add truck@{found.places[0].place}")


@pytest.mark.parametrize(
    ("before", "after", "fewer"), [(31.16, 28.54, "2.6"), (114.87, 112.24, "2.6"), (1458.4, 1200.6, "258")]
)
def test_a_change_reads_the_same_wherever_it_stands(found: OneMore, before: float, after: float, fewer: str) -> None:
    """It is rounded itself, also where the rounded numbers before and after differ by another one."""
    per_year = found.per_year(1.0)
    best, base = replace(found.best[0], misses=after / per_year), replace(found.base, misses=before / per_year)
    shown = replace(found, base=base, places=(best,), top=1)
    assert f": {fewer} fewer late incidents a year" in one_more_headline(shown)
    assert change_a_year(shown, best) == f"-{fewer}"
    numbers = [Interval(number, number, number) for number in (before, after, after - before)]
    effect: Any = SimpleNamespace(per_year=lambda _: Change(*numbers), before=found.city, period=None)
    assert headline(effect).startswith(f"{fewer} fewer late incidents a year")


def test_every_place_has_as_many_decimals(found: OneMore) -> None:
    """Of misses per 100, with the zeros at the end; the smallest has three digits."""
    shares = (0.312, 0.3214, 0.08423)
    places = tuple(replace(place, misses=share) for place, share in zip(found.best, shares, strict=True))
    shown = replace(found, places=places, base=replace(found.base, misses=0.5))
    assert [misses_per_100(shown, place) for place in (*places, shown.base)] == ["31.20", "32.14", "8.42", "50.00"]


def test_one_station_is_the_only_one() -> None:
    """And not all of them."""
    found = rank_one_more(generate_grid(side=3, num_stations=1, load=0.2, seed=1), top=1)
    assert proof_words(found).startswith("This is proven. The only station was looked at")


def test_a_simulated_answer_says_that_it_is_not_proven() -> None:
    """And how it was found, in a department with kinds."""
    found = rank_one_more(demo_city(), "engine", top=2, incidents=2000)
    words = proof_words(found)
    assert words.startswith("This is not proven: it is simulated, as asked for.")
    assert "too many states" not in words
    assert "too many states" in proof_words(replace(found, asked_to_simulate=False))
    assert "the closest engines go in both" in words
    assert "Intervals are at 95 %, and cover the chance of the simulation only" in words


def hostile_city() -> City:
    """A city whose names try to break out of the page."""
    city = generate_grid(side=3, num_stations=2, load=0.1, seed=1)
    evil = "</script><script>alert(1)</script><b>&"
    stations = tuple(replace(one, name=evil) for one in city.stations)
    return replace(city, name=evil, stations=stations, nodes=tuple(replace(one, name=evil) for one in city.nodes))


def test_hostile_names_stay_text() -> None:
    """Names with markup appear escaped, in the page and in its data."""
    page = one_more_page(rank_one_more(hostile_city(), anywhere=True, top=2))
    assert "<script>alert" not in page
    assert "&lt;/script&gt;" in page


def test_the_document_is_json_with_every_place(found: OneMore) -> None:
    """All places with their bounds; misses by year; what was solved, ruled out and guessed adds up."""
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    assert len(document["places"]) == 25
    assert document["solved"] + document["ruled_out"] + document["guessed"] == 25
    assert document["sure"] is True
    first = document["places"][0]
    yearly = first["misses"] * document["incidents_per_day"] * 365.0
    assert first["misses_per_year"] == pytest.approx(yearly)
    assert all(one["lower"] <= one["upper"] for one in document["places"])


def test_the_page_is_drawn_in_a_browser(found: OneMore, tmp_path: Path, open_page: OpenPage) -> None:
    """No error and no request; the sentence stands above the map, which has every area and the ranks of the best."""
    path = tmp_path / "one-more.html"
    path.write_text(one_more_page(found), encoding="utf-8")
    opened = open_page(path)
    opened.page.wait_for_selector("#map path")
    assert one_more_headline(found) in opened.page.inner_text("body")
    assert opened.page.locator(".rc-area").count() == len({point.node_id for point in found.city.demand})
    opened.check()


def test_the_best_are_seen_in_a_browser(of_stations: OneMore, tmp_path: Path, open_page: OpenPage) -> None:
    """The stations of the winners have their ranks behind their names, and no area says that it has nothing to show."""
    path = tmp_path / "one-more.html"
    path.write_text(one_more_page(of_stations), encoding="utf-8")
    opened = open_page(path)
    opened.page.wait_for_selector("#map path")
    names = opened.page.locator(".rc-is-best .rc-name")
    assert sorted(name.split(": ")[1] for name in names.all_inner_texts()) == ["#1", "#2", "#3"]
    assert all("rc-hidden" not in (name.get_attribute("class") or "") for name in names.all())
    legend = opened.page.inner_text(".rc-legend")
    assert "nothing to show here" not in legend
    assert "no station here, so not looked at" in legend
    assert "Thick border: one of the best 3 is here" in legend
    opened.check()


def test_a_bad_fit_is_said_before_the_best_place(found: OneMore) -> None:
    """In the words of the report, with every fault below; without a fit there is no such heading."""
    page = one_more_page(replace(found, fit_faults=("Roads <are> wrong.", "Incidents come in bursts.")))
    assert page.index("the fit is bad in 2 ways") < page.index("fewer late incidents a year")
    assert "<li>Roads &lt;are&gt; wrong.</li>" in page
    assert "agree with the log" not in one_more_page(found)
