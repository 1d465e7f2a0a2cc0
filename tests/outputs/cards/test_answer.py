"""Tests of decisions from a file of run cards: what is asked for wrongly, and what is said."""

from pathlib import Path

import pytest

from runcard import demo_city
from runcard.errors import InputError
from runcard.outputs.cards.answer import decide_by_cards
from runcard.outputs.cards.book import make_book
from runcard.outputs.cards.csv_file import CardFile, read_cards, write_cards_csv
from runcard.policy.department import solve_department


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> CardFile:
    """The file of the cards of the built-in town."""
    book = make_book(solve_department(demo_city()), depth=2)
    path: Path = write_cards_csv(book, tmp_path_factory.mktemp("cards") / "cards.csv")
    return read_cards(path)


def test_where_no_line_fits_the_order_goes(file: CardFile) -> None:
    """With few units idle, they go in the fallback order, and outside units make up the number."""
    card = next(card for key, card in file.cards.items() if key[1:] == ("old-d2", "fire", 0, "engine"))
    last = card.houses[-1][0]
    answer = decide_by_cards(file, "old-d2", "fire", idle=last)
    engine, ladder = answer.kinds
    assert engine.units == (last, "outside")
    assert engine.line is None
    assert ladder.units == ("outside",)
    assert "no line of the card fits" in engine.words
    assert answer.document()["kinds"][0] == {"kind": "engine", "team": [last, "outside"], "line": None, "when_busy": ""}


def test_a_unit_of_the_same_house_stands_in(file: CardFile) -> None:
    """A line fits if its house has another idle unit of the kind, which then goes."""
    card = next(card for key, card in file.cards.items() if key[1:] == ("old-d2", "fire", 0, "engine"))
    first, second = next(house for house in card.houses if len(house) == 2)
    everything = decide_by_cards(file, "old-d2", "fire", busy="none").kinds[0]
    assert first in everything.units
    without = decide_by_cards(file, "old-d2", "fire", busy=first).kinds[0]
    assert without.line == everything.line == 1
    assert without.units == tuple(second if unit == first else unit for unit in everything.units)


def test_what_is_said(file: CardFile) -> None:
    """The headline names units by kind, and each kind says which line it is and what it was made for."""
    answer = decide_by_cards(file, "old-d2", "fire", busy="T01")
    assert answer.headline.endswith("and T02 (ladder) to old-d2 (fire).")
    assert answer.kinds[1].words == "ladder: line 2 of the card, made for T01 busy."


@pytest.mark.parametrize(
    ("area", "options", "words"),
    [
        ("nowhere", {"busy": "none"}, "expected a place with a card"),
        ("old-d2", {"busy": "none"}, "several types; choose one with --type"),
        ("old-d2", {"incident_type": "flood", "busy": "none"}, "expected a type of incident"),
        ("old-d2", {"incident_type": "fire", "busy": "E99"}, "busy units: expected a unit of the cards"),
        ("old-d2", {"incident_type": "fire", "idle": "E01,E01"}, "expected E01 at most 1 time, got 2"),
        ("old-d2", {"incident_type": "fire"}, "got neither"),
        ("old-d2", {"incident_type": "fire", "idle": "all", "busy": "all"}, "got both"),
        ("old-d2", {"incident_type": "fire", "busy": "none", "incident_class": 3}, "expected a class of its cards"),
    ],
)
def test_wrong_questions_are_refused(file: CardFile, area: str, options: dict[str, str], words: str) -> None:
    """An area, a type, a class or a unit that the cards do not have is an error that says what they have."""
    with pytest.raises(InputError, match=words):
        decide_by_cards(file, area, **options)  # type: ignore[arg-type]
