"""Tests of decisions from a file of run cards: what is asked for wrongly, and what is said."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.by_cards import by_cards

from runcard import demo_city, generate_grid
from runcard.errors import InputError
from runcard.outputs.cards.book import make_book
from runcard.outputs.cards.csv_file import CardFile, CardKey, FileCard, read_cards, write_cards_csv
from runcard.plan.plan import solve


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> CardFile:
    """The file of the cards of the built-in town."""
    book = make_book(solve(demo_city()), depth=2)
    path: Path = write_cards_csv(book, tmp_path_factory.mktemp("cards") / "cards.csv")
    return read_cards(path)


def test_where_no_line_fits_the_order_goes(file: CardFile) -> None:
    """With few units idle, they go in the fallback order, and outside units make up the number."""
    card = next(card for key, card in file.cards.items() if key[1:] == ("old-d2", "fire", 0, "engine"))
    last = card.houses[-1][0]
    answer = by_cards(file, "old-d2", "fire", idle=last)
    engine, ladder = answer.kinds
    assert engine.units == (last, "outside")
    assert engine.line is None
    assert ladder.units == ("outside",)
    assert "no line of the card fits" in engine.words
    assert answer.document()["kinds"][0] == {
        "kind": "engine", "units": [last, "outside"], "line": None, "when_busy": "", "reason": engine.words,
    }  # fmt: skip


def test_a_unit_of_the_same_house_stands_in(file: CardFile) -> None:
    """A line fits if its house has another idle unit of the kind, which then goes."""
    card = next(card for key, card in file.cards.items() if key[1:] == ("old-d2", "fire", 0, "engine"))
    first, second = next(house for house in card.houses if len(house) == 2)
    everything = by_cards(file, "old-d2", "fire", busy="none").kinds[0]
    assert first in everything.units
    without = by_cards(file, "old-d2", "fire", busy=first).kinds[0]
    assert without.line == everything.line == 1
    assert without.units == tuple(second if unit == first else unit for unit in everything.units)


def test_units_that_share_a_name_are_as_many_as_are_idle(tmp_path: Path) -> None:
    """Of a house with two trucks of one name, one of which is idle, one goes, and the next comes from elsewhere."""
    city = generate_grid(side=3, num_stations=2, trucks_per_station=2, load=0.1, seed=1)
    cards = read_cards(write_cards_csv(make_book(solve(city, "closest-first"), depth=2), tmp_path / "cards.csv"))
    first, second = next(card for key, card in cards.cards.items() if key.area == "n4").houses
    assert first == (first[0],) * 2
    name, other = first[0], second[0]
    for idle, units in (
        ([name, name], (name, name)), ([name, other, other], (name, other)), ([name], (name, "outside")),
    ):  # fmt: skip
        assert by_cards(cards, "n4", idle=",".join(idle)).kinds[0].units == units


def test_the_unit_that_a_line_names_goes(file: CardFile) -> None:
    """A line that was edited to name the second unit of a house sends it while it is free, else its house-mate."""
    key, card = next((key, card) for key, card in file.cards.items() if key[1:] == ("old-d2", "medical", 0, "engine"))
    number, (first, second) = next((n, house) for n, house in enumerate(card.houses) if len(house) == 2)
    edited = replace(card, lines=((number,),), units=((second,),), busy=("",))
    other = replace(file, cards=dict(file.cards) | {key: edited})
    for busy, wanted in (("none", second), (first, second), (second, first)):
        assert by_cards(other, "old-d2", "medical", busy=busy).kinds[0].units == (wanted,)


def test_a_unit_that_stands_in_is_none_that_goes_already() -> None:
    """Of a house with three units a line names two, and one of these is busy: the third goes in its place."""
    card = FileCard(houses=(("E1", "E2", "E3"),), lines=((0, 0),), units=(("E1", "E2"),), busy=("",), needed=2)
    cards = CardFile(path="cards.csv", cards={CardKey("", "a", "", 0, "engine"): card})
    for busy, units in (("none", ("E1", "E2")), ("E2", ("E1", "E3")), ("E1", ("E3", "E2"))):
        assert by_cards(cards, "a", busy=busy).kinds[0].units == units


def followed(card: FileCard, free: set[str]) -> list[str]:
    """Who goes by the words of the rule: the first line that fits with stand-ins, else the order."""
    house_of = {unit: house for house in card.houses for unit in house}
    for line in card.units:
        going: list[str] = []
        for unit in line:
            mates = [one for one in house_of[unit] if one in free and one not in line and one not in going]
            going += [unit] if unit in free else mates[:1]
        if len(going) == card.needed:
            return going
    order = [unit for house in card.houses for unit in house if unit in free]
    return [*order, *["outside"] * card.needed][: card.needed]


def test_the_words_of_the_rule_give_the_decision(file: CardFile) -> None:
    """Whoever follows the sentences on a page, unit by unit, sends what `decide` sends, with any units out."""
    rng, keys = np.random.default_rng(1), list(file.cards)
    for _ in range(400):
        key = keys[int(rng.integers(len(keys)))]
        card = file.cards[key]
        units = [unit for house in card.houses for unit in house]
        free = {unit for unit in units if rng.random() < 0.7}
        answer = by_cards(file, key.area, key.type, idle=",".join(free) or "none")
        (sent,) = (one for one in answer.kinds if one.kind == key.kind)
        assert sorted(sent.units) == sorted(followed(card, free))


def test_what_is_said(file: CardFile) -> None:
    """The headline names units by kind, and each kind says which line it is and what it was made for."""
    answer = by_cards(file, "old-d2", "fire", busy="T01")
    assert answer.headline.endswith("and T02 (ladder) to old-d2 (fire).")
    assert answer.kinds[1].words == "ladder: line 2 of the card, made for T01 busy."


def test_an_area_with_one_class_has_the_class_1(file: CardFile) -> None:
    """It has no number on its cards, and who names it gets the same answer."""
    question = {"incident_type": "fire", "busy": "none"}
    assert by_cards(file, "old-d2", **question, row=1) == by_cards(file, "old-d2", **question)


@pytest.mark.parametrize(
    ("area", "options", "words"),
    [
        ("nowhere", {"busy": "none"}, "expected a place with a card"),
        ("old-d2", {"busy": "none"}, "several types; choose one with --type"),
        ("old-d2", {"incident_type": "flood", "busy": "none"}, "expected a type of incident"),
        ("old-d2", {"incident_type": "fire", "busy": "E99"}, "busy units: expected a unit"),
        ("old-d2", {"incident_type": "fire", "idle": "E01,E01"}, "expected every unit once, got E01 2 times"),
        ("old-d2", {"incident_type": "fire", "idle": "all", "busy": "all"}, "got both"),
        ("old-d2", {"incident_type": "fire", "busy": "none", "row": 3}, "expected a class of its cards"),
    ],
)
def test_wrong_questions_are_refused(file: CardFile, area: str, options: dict[str, str], words: str) -> None:
    """An area, a type, a class or a unit that the cards do not have is an error that says what they have."""
    with pytest.raises(InputError, match=words):
        by_cards(file, area, **options)  # type: ignore[arg-type]
