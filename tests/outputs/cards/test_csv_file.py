"""Tests of the CSV file of run cards: round trips, and files that somebody has edited."""

import csv
import io
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.by_cards import by_cards
from tests.departments import grid_department, random_department
from tests.town import plain_town
from tests.weeks import with_days

from runcard import demo_city
from runcard.city import City, Unit
from runcard.errors import InputError
from runcard.outputs.cards.book import CardBook, make_book
from runcard.outputs.cards.csv_file import read_cards, write_cards_csv
from runcard.outputs.cards.print_rows import incidents_of
from runcard.plan.plan import Plan, solve
from runcard.plan.situation import Situation


def with_second_house(city: City, seed: int) -> City:
    """The city with three more engines in houses that have some."""
    homes = np.random.default_rng(seed).choice([one.station_id for one in city.stations], size=3)
    more = tuple(Unit(f"E2{number}", str(home), "engine") for number, home in enumerate(homes))
    return replace(city, stations=tuple(replace(one, trucks=0) for one in city.stations), units=(*city.units, *more))


CITIES = [
    *(with_second_house(random_department(seed), seed) for seed in range(7)),
    grid_department(side=4, engines=7, ladders=3),
]


@pytest.mark.parametrize("seed", range(8))
def test_a_file_gives_the_decisions_that_it_was_made_from(seed: int, tmp_path: Path) -> None:
    """In the state of every line of every card, the file sends the very units of the policy; and in random states,
    what the cards send as a policy."""
    department = solve(CITIES[seed])
    book = make_book(department, depth=4)
    file, rng = read_cards(write_cards_csv(book, tmp_path / "cards.csv")), np.random.default_rng(seed)
    for card in book.cards:
        for number, line in enumerate(card.lines, start=1):
            answer = by_cards(file, card.area, card.type, busy=",".join(line.busy) or "none")
            (sent,) = (one for one in answer.kinds if one.kind == card.kind)
            expected = department.decide(
                Situation(at=card.area, type=card.type, idle=set(department.unit_ids) - set(line.busy))
            )
            (wanted,) = (one.units for one in expected.kinds if one.fleet.kind == card.kind)
            assert sorted(sent.units) == sorted(wanted)
            assert sent.line == number
    for _ in range(40):
        free = [unit for unit in department.unit_ids if rng.random() < rng.random()]
        card = book.cards[int(rng.integers(len(book.cards)))]
        answer = by_cards(file, card.area, card.type, idle=",".join(free) or "none")
        fleet = department.fleet(card.kind)
        point = fleet.point(card.area, card.type)
        assert point is not None
        team = book.sets[""][card.kind].at_depth(4).decide(fleet.idle_trucks(free), point).team
        (sent,) = (one for one in answer.kinds if one.kind == card.kind)
        assert sorted(sent.units) == sorted(fleet.unit_ids(team, set(free)))


def test_stations_without_a_roster_are_read(tmp_path: Path) -> None:
    """Where stations stand for trucks, a file decides as the policy does, with stations named once for each truck."""
    department = solve(plain_town())
    book = make_book(department, depth=3)
    file = read_cards(write_cards_csv(book, tmp_path / "cards.csv"))
    for card in book.cards[:20]:
        for line in card.lines:
            answer = by_cards(file, card.area, busy=",".join(line.busy) or "none")
            idle = [one for house in card.houses for one in house]
            for unit in line.busy:
                idle.remove(unit)
            assert sorted(answer.kinds[0].units) == sorted(department.decide(Situation(at=card.area, idle=idle)).units)


def test_the_hour_chooses_the_cards(tmp_path: Path) -> None:
    """A file with periods decides by those of the hour, and not without one."""
    week = solve(with_days(random_department(1), 1.9, 0.1))
    book = make_book(week, depth=3)
    file = read_cards(write_cards_csv(book, tmp_path / "cards.csv"))
    assert [one.name for one in file.periods] == ["day", "night"]
    for card in book.cards:
        for line in card.lines:
            hour = {"day": 12, "night": 2}[card.period]
            answer = by_cards(file, card.area, card.type, busy=",".join(line.busy) or "none", hour=hour)
            (sent,) = (one for one in answer.kinds if one.kind == card.kind)
            assert sorted(sent.units) == sorted(line.units)
            assert answer.key.period == card.period
    with pytest.raises(InputError, match="time: expected when the incident is"):
        by_cards(file, book.cards[0].area, busy="none")


HOSTILE = "=cmd|' /C calc'!A0"


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    """Hostile names and ids of nodes, units and types are texts, and are read as they were."""
    city = random_department(1)
    rename = {city.demand[0].node_id: "-2+3", city.demand[-1].node_id: "@SUM(A1)"}
    units = tuple(
        replace(one, unit_id={"E1": "=E1", "E2": "+E2;-1"}.get(one.unit_id, one.unit_id)) for one in city.units
    )
    hostile = replace(
        city,
        nodes=tuple(replace(n, node_id=rename.get(n.node_id, n.node_id), name=HOSTILE) for n in city.nodes),
        links=tuple(
            replace(
                link,
                from_node_id=rename.get(link.from_node_id, link.from_node_id),
                to_node_id=rename.get(link.to_node_id, link.to_node_id),
            )
            for link in city.links
        ),
        stations=tuple(replace(s, node_id=rename.get(s.node_id, s.node_id), trucks=0) for s in city.stations),
        demand=tuple(replace(d, node_id=rename.get(d.node_id, d.node_id)) for d in city.demand),
        units=units,
    )
    book = make_book(solve(hostile), depth=3)
    path = write_cards_csv(book, tmp_path / "cards.csv")
    for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")):
        for cell in row:
            assert cell[:1] not in tuple("=+@\t\r"), cell
            assert cell[:1] != "-" or float(cell) < 0.0, cell
    file = read_cards(path)
    assert "-2+3" in {key.area for key in file.cards}
    busy = next(line.busy for card in book.cards for line in card.lines if "=E1" in line.busy)
    answer = by_cards(file, "-2+3", "fire", busy=",".join(busy))
    assert "=E1" not in answer.document()["team"]


@pytest.fixture(scope="module")
def book() -> CardBook:
    """The cards of the built-in town."""
    department: Plan = solve(demo_city())
    return make_book(department, depth=2)


@pytest.fixture
def text(book: CardBook, tmp_path: Path) -> str:
    """Its CSV file."""
    return write_cards_csv(book, tmp_path / "cards.csv").read_bytes().decode("utf-8-sig")


def read_text(text: str, folder: Path, encoding: str = "utf-8") -> object:
    """The cards of a text."""
    path = folder / "edited.csv"
    path.write_bytes(text.encode(encoding))
    return read_cards(path)


def test_a_file_opens_in_a_spreadsheet(book: CardBook, text: str, tmp_path: Path) -> None:
    """The file begins with a byte order mark, rows end with CRLF, and all of them have the same number of cells."""
    content = (tmp_path / "cards.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbfarea,")
    assert content.count(b"\n") == content.count(b"\r\n") == 1 + sum(len(card.lines) for card in book.cards)
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len({len(row) for row in rows}) == 1


def rewritten(text: str, **options: str) -> str:
    """The file as another program writes it."""
    content = io.StringIO(newline="")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    csv.writer(content, **options).writerows(rows)  # type: ignore[arg-type]
    return content.getvalue()


def test_what_a_spreadsheet_does_is_read(text: str, tmp_path: Path) -> None:
    """Semicolons, tabs, quotes everywhere, sorted rows, empty rows and further columns change nothing."""
    known = read_text(text, tmp_path).cards  # type: ignore[attr-defined]
    quoted = io.StringIO(newline="")
    csv.writer(quoted, quoting=csv.QUOTE_ALL).writerows(csv.reader(io.StringIO(text, newline="")))
    head, *rows = text.split("\r\n")
    edits = [
        rewritten(text, delimiter=";"),
        rewritten(text, delimiter="\t"),
        rewritten(text, lineterminator="\n"),
        quoted.getvalue(),
        "\r\n".join([head, *sorted(rows)]),
        text + ",,,,\r\n",
        "\ufeff" + text,
        "\r\n".join(f"{line},note" for line in text.rstrip("\r\n").split("\r\n")),
    ]
    for edited in edits:
        assert read_text(edited, tmp_path).cards == known  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (",E03 + E10,", ",E3 + E10,", r"row 2, column units: expected units of the fallback order .*, got 'E3'"),
        (",E03 + E10,", ",E03,", r"row 3, column units: expected 1 units as on line 1, got 2"),
        (",E03 + E10,", ",,", r"row 2, column units: expected 1 units"),
        (",E03 + E10,", ",E03 + E03,", r"row 2, column units: .* each once, got 'E03'"),
        (",engine,1,", ",engine,one,", r"row 2, column line: expected a whole number from 1 on, got 'one'"),
        (",engine,1,", ",engine,3,", r"column line: expected line 1 of old-a1, fire, engine, got none"),
        (",engine,1,", ",engine,2,", r"row 3, column line: expected each line once, got 2 again"),
        ("E01 / E02 >", "E01 / E03 >", r"row 2, column fallback_order: expected every unit once"),
        ("E01 / E02 >", "E01 >", r"column fallback_order: expected that of line 1"),
        (",fallback_order", ",order", "expected a column fallback_order once"),
        ("old-a1,", ",", "row 2, column area: expected an area"),
        ('"', '""x', "expected a CSV file of run cards|expected"),
    ],
)
def test_what_cannot_be_followed_is_refused(old: str, new: str, words: str, text: str, tmp_path: Path) -> None:
    """A cell that was changed to something wrong is an error with its row and column."""
    assert old in text
    with pytest.raises(InputError, match=words):
        read_text(text.replace(old, new, 1), tmp_path)


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        (
            ("old-a1", "fire", "ladder", None),
            r"column kinds: .* for old-a1, fire, which are engine, got 'engine, ladder'",
        ),
        (("old-a1", "fire", "engine", None), r"column kinds: .* for old-a1, fire, which are ladder, got"),
        (
            ("old-a1", "fire", "engine", "2"),
            r"column lines: expected 1, the lines that are there of old-a1, fire, engine, got 2",
        ),
        (("old-a1", "fire", "engine", "1"), r"column line: expected line 1 of old-a1, fire, engine, got none"),
        ((None, "fire", "ladder", None), r"column kinds: .* which are engine, got 'engine, ladder'"),
    ],
)
def test_deleted_rows_are_noticed(gone: tuple[str | None, ...], words: str, text: str, tmp_path: Path) -> None:
    """A file without the rows of a kind, of one area or of all, or without a line of a card, does not decide."""
    head, *rows = list(csv.reader(io.StringIO(text, newline="")))
    places = [head.index(name) for name in ("area", "type", "kind", "line")]
    left = [row for row in rows if not all(one in (None, row[place]) for one, place in zip(gone, places, strict=True))]
    assert len(left) < len(rows)
    edited = io.StringIO(newline="")
    csv.writer(edited).writerows([head, *left])
    with pytest.raises(InputError, match=words):
        read_text(edited.getvalue(), tmp_path)


def test_a_card_may_lose_a_line_on_purpose(text: str, tmp_path: Path) -> None:
    """Whoever deletes a line and says so in `lines` is followed."""
    head, first, _, *rest = text.split("\r\n")
    assert ',2,"engine, ladder",' in first
    shorter = first.replace(',2,"engine, ladder",', ',1,"engine, ladder",')
    file = read_text("\r\n".join([head, shorter, *rest]), tmp_path)
    assert {len(card.lines) for card in file.cards.values()} == {1, 2}  # type: ignore[attr-defined]


def test_numbers_may_have_a_decimal(text: str, tmp_path: Path) -> None:
    """A spreadsheet that writes line 1 as 1.0 has not changed it."""
    edited = text.replace(",engine,1,", ",engine,1.0,").replace(",ladder,2,", ',ladder,"2,00",')
    assert read_text(edited, tmp_path).cards == read_text(text, tmp_path).cards  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"column line: expected a whole number from 1 on, got '1.5'"):
        read_text(text.replace(",engine,1,", ",engine,1.5,"), tmp_path)


def test_what_is_no_file_of_cards_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file, a folder, a pipe and a file that is too large are refused before anything is read."""
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "large.csv").write_text("area,kind\n")
    monkeypatch.setattr("runcard.outputs.cards.csv_file.MOST_BYTES", 4)
    for name, words in (
        ("missing.csv", "missing.csv: the file is missing"),
        ("folder.csv", "expected a file, got a folder"),
        ("pipe.csv", "expected a file, got a device or a pipe"),
        ("large.csv", "expected a file of cards of at most"),
    ):
        with pytest.raises(InputError, match=words):
            read_cards(tmp_path / name)


def with_classes(*, labels: bool) -> City:
    """A city without standards in which a node has three classes of incidents, with labels or without."""
    city = plain_town()
    first = city.demand[0]
    more = (
        replace(first, type="fire" if labels else "", target_minutes=5.0),
        replace(first, type="medical" if labels else "", trucks=1, arrivals=1, target_minutes=9.0),
        replace(first, type="fire" if labels else "", target_minutes=12.0),
    )
    return replace(city, demand=(*more, *city.demand[1:]))


@pytest.mark.parametrize("labels", [False, True])
def test_classes_are_told_apart(labels: bool, tmp_path: Path) -> None:
    """Where rows of demand.csv are classes, cards have their labels, numbers and words, and decide by the number as the
    policy does."""
    city = with_classes(labels=labels)
    node = city.demand[0].node_id
    department = solve(city)
    book = make_book(department, depth=2)
    own = [card for card in book.cards if card.area == node]
    assert [card.row for card in own] == [1, 2, 3]
    assert [card.type for card in own] == (["fire", "medical", "fire"] if labels else ["", "", ""])
    assert ["in 5 min" in own[0].class_name, "1 of 1 in 9 min" in own[1].class_name] == [True, True]
    assert incidents_of(own[1:2]) == ("class 2: medical" if labels else "class 2: 1 of 1 in 9 min")
    file = read_cards(write_cards_csv(book, tmp_path / "cards.csv"))
    for number in (1, 2, 3):
        answer = by_cards(file, node, busy="none", row=number)
        wanted = department.decide(Situation(at=node, row=number))
        assert sorted(answer.kinds[0].units) == sorted(wanted.units)
        assert answer.document()["class"] == number
        assert f"to {node} ({own[number - 1].type or f'class {number}'})." in answer.headline
    several = r"several classes; choose one with --class: 1 \(.*in 5 min\), 2 \(.*1 of 1 in 9 min\), 3"
    with pytest.raises(InputError, match=several):
        by_cards(file, node, busy="none")
    if labels:
        assert by_cards(file, node, "medical", busy="none").key.row == 2
        assert {card.row for card in make_book(department, depth=1, incident_type="fire").cards} == {1, 3}
        with pytest.raises(InputError, match=r"choose one with --class: 1 .*3"):
            by_cards(file, node, "fire", busy="none")


def test_dropped_zeros_are_refused(text: str, tmp_path: Path) -> None:
    """Units 01, 02, ... that a spreadsheet made 1, 2, ... in cells of their own are not guessed at."""
    numbers = text.replace("E0", "0").replace("E1", "1")
    edited = numbers.replace(",medical,engine,1,01,", ",medical,engine,1,1,", 1)
    assert edited != numbers
    with pytest.raises(InputError, match=r"column units: expected units of the fallback order"):
        read_text(edited, tmp_path)


def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    """An empty file, another table, and text that is not UTF-8 are errors of one sentence."""
    for content, encoding, words in (
        ("", "utf-8", "expected a column area once"),
        ("a,b\r\n1,2\r\n", "utf-8", "expected a column area once"),
        (text.split("\r\n")[0], "utf-8", "got no rows"),
        (text.replace("Old", "Öld"), "latin-1", "save it as CSV UTF-8"),
        (text, "utf-16", "save it as CSV UTF-8"),
    ):
        with pytest.raises(InputError, match=words):
            read_text(content, tmp_path, encoding)
