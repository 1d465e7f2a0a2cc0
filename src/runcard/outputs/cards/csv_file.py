"""Run cards as a CSV file: a row for each line, for dispatch systems and spreadsheets, and read back from there.

Rows end with CRLF and text is quoted where it must be, as RFC 4180 wants it. No cell is a formula (see `cells.py`).

Whoever opens the file in a spreadsheet and saves it may change it: the delimiter becomes a semicolon, rows are sorted,
columns are added, ids such as 007 lose their zeros. It is read again if what it says is still sound, and refused with
its row and column if not. Columns that a decision does not need are not read. So that a deleted row is noticed, each
says how many lines its card has and which kinds go to the incident.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from runcard.city.conditions import OUTSIDE_ID, UnreadableError
from runcard.city.csv_text import CsvText, read_text
from runcard.city.periods import Period, parse_hours
from runcard.errors import InputError
from runcard.output_file import write_whole
from runcard.outputs.cards.book import Card, CardBook, Line
from runcard.outputs.cards.cells import (
    BETWEEN_BUSY,
    ENCODING,
    checked_ids,
    csv_text,
    houses_cell,
    houses_of,
    plain_text,
    units_cell,
    units_of,
)

CARDS_ENDING: Final = ".csv"
MOST_BYTES: Final = 64 * 2**20
NEEDED: Final = ("area", "kind", "line", "units", "lines", "kinds", "fallback_order")
"""Columns without which nothing can be decided."""
READ: Final = (*NEEDED, "period", "hours", "type", "class", "class_name", "when_busy")

BETWEEN_KINDS: Final = ", "

_WHOLE: Final = re.compile("([0-9]{1,6})([.,]0+)?")

Cell = str | int | float | None


def columns_of(book: CardBook) -> list[str]:
    """The columns of a file of cards; those of periods and classes only where there are some."""
    standards = [name for n in range(1, book.num_standards + 1) for name in (f"standard_{n}", f"meets_{n}")]
    return [
        *(["period", "hours"] if book.periods else []), "area", "area_name", "district", "type",
        *(["class", "class_name"] if any(card.row for card in book.cards) else []),
        "kind", "line", "units", "when_busy", *standards, "first_minutes", "last_minutes", "departs", "closest_first",
        "gain_per_1000", "incidents_per_year", "lines", "kinds", "fallback_order",
    ]  # fmt: skip


def book_rows(book: CardBook) -> Iterator[dict[str, Cell]]:
    """The cells of each line by column: texts as they are, numbers rounded to what a reader needs."""
    hours = {one.name: one.words for one in book.periods}
    checked_ids({unit for card in book.cards for house in card.houses for unit in house})
    kinds: dict[tuple[str, str, str, int], list[str]] = {}
    for card in book.cards:
        kinds.setdefault((card.period, card.area, card.type, card.row), []).append(card.kind)
    for card in book.cards:
        sent = kinds[card.period, card.area, card.type, card.row]
        of_card: dict[str, Cell] = {"hours": hours.get(card.period, ""), "kinds": BETWEEN_KINDS.join(sent)}
        for number, line in enumerate(card.lines, start=1):
            yield _row(card, number, line) | of_card


def _row(card: Card, number: int, line: Line) -> dict[str, Cell]:
    standards: dict[str, Cell] = {}
    for n, (words, met) in enumerate(zip(card.standards, line.meets, strict=True), start=1):
        standards |= {f"standard_{n}": words, f"meets_{n}": round(met, 4)}
    return {
        "period": card.period,
        "area": card.area,
        "area_name": card.area_name,
        "district": card.district,
        "type": card.type,
        "class": card.row or None,
        "class_name": card.class_name,
        "kind": card.kind,
        "line": number,
        "units": units_cell(line.units),
        "when_busy": BETWEEN_BUSY.join(line.busy),
        **standards,
        "first_minutes": None if line.first_minutes is None else round(line.first_minutes, 2),
        "last_minutes": None if line.last_minutes is None else round(line.last_minutes, 2),
        "departs": "yes" if line.departs else "no",
        "closest_first": units_cell(line.closest),
        "gain_per_1000": round(1000.0 * line.gain, 3) + 0.0,
        "incidents_per_year": round(card.incidents_per_year, 2),
        "lines": len(card.lines),
        "fallback_order": houses_cell(card.houses),
    }


def write_cards_csv(book: CardBook, path: Path) -> Path:
    """The CSV file that now holds the cards."""
    columns = columns_of(book)
    rows = ([row.get(name) for name in columns] for row in book_rows(book))
    return write_whole(path, csv_text([columns, *rows]).encode(ENCODING))


class CardKey(NamedTuple):
    """What a card of a file is for."""

    period: str
    area: str
    type: str
    row: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class FileCard:
    """A card as a file has it."""

    houses: tuple[tuple[str, ...], ...]
    lines: tuple[tuple[int, ...], ...]
    """By line: the house of each unit, by its place in `houses`."""
    units: tuple[tuple[str, ...], ...]
    """By line: the units that it names, in the same order."""
    busy: tuple[str, ...]
    """By line: the busy units of the state that it was made for, in words."""
    needed: int
    """The units that go, those from outside among them."""
    class_name: str = ""
    """What tells its class of incidents from others, in words."""


@dataclass(frozen=True, kw_only=True)
class CardFile:
    """The cards of a file."""

    path: str
    cards: Mapping[CardKey, FileCard]
    periods: tuple[Period, ...] = field(default=())
    """Of which there are cards; () if they are for every hour."""

    @cached_property
    def capacity(self) -> Mapping[str, int]:
        """What units are called, and how many have that name: without a roster trucks have that of their station."""
        houses = {(key.kind, key.period, frozenset(card.houses)) for key, card in self.cards.items()}
        first = next(iter(self.cards)).period
        return Counter(unit for _, period, of in houses if period == first for house in of for unit in house)


class _Row(NamedTuple):
    """A row of a file, with its number as a spreadsheet shows it."""

    path: str
    number: int
    cells: Mapping[str, str]

    @property
    def key(self) -> CardKey:
        """What its card is for."""
        row = self.whole("class") if self.cells.get("class") else 0
        if not self.cells["area"]:
            raise self.fault("area", "expected an area, got an empty cell")
        cells = self.cells
        return CardKey(cells.get("period", ""), cells["area"], cells.get("type", ""), row, cells["kind"])

    def whole(self, column: str) -> int:
        """A whole number from 1 on; some spreadsheets write 1.0."""
        found = _WHOLE.fullmatch(self.cells[column])
        if found is None or int(found[1]) < 1:
            raise self.fault(column, f"expected a whole number from 1 on, got {self.cells[column]!r:.60}")
        return int(found[1])

    def fault(self, column: str, words: str) -> InputError:
        """An error that says where it is."""
        return InputError(f"{self.path} row {self.number}, column {column}: {words}")


def read_cards(path: Path) -> CardFile:
    """The cards of a CSV file; an InputError with row and column if it does not hold any that can be followed."""
    by_key: dict[CardKey, dict[int, _Row]] = {}
    hours: dict[str, str] = {}
    for row in _rows(path):
        key, line, of_period = row.key, row.whole("line"), row.cells.get("hours", "")
        if key.period and hours.setdefault(key.period, of_period) != of_period:
            raise row.fault("hours", f"expected {hours[key.period]!r} as in the rows before of {key.period}")
        if line in by_key.setdefault(key, {}):
            raise row.fault("line", f"expected each line once, got {line} again for {_words(key)}")
        by_key[key][line] = row
    _check_kinds(by_key)
    homes: dict[tuple[str, str], frozenset[tuple[str, ...]]] = {}
    cards = {}
    for key, lines in by_key.items():
        cards[key] = card = _card(key, lines)
        if homes.setdefault((key.period, key.kind), frozenset(card.houses)) != frozenset(card.houses):
            first = min(lines.values(), key=lambda row: row.number)
            raise first.fault("fallback_order", f"expected the same {key.kind} units as on the cards before")
    return CardFile(path=str(path), cards=cards, periods=_periods(path, hours))


def _rows(path: Path) -> Iterator[_Row]:
    """The rows of a file that are not empty."""
    num_rows, plain = 0, cache(lambda cell: plain_text(cell).strip())  # most cells are there many times: each held once
    try:
        text = _text_of(path)
        first = text.split("\n", 1)[0]
        table = CsvText(text, separator=max(",;\t", key=first.count))
        columns = table.header
        for name in NEEDED:
            if columns.count(name) != 1:
                found = ", ".join(columns)
                raise InputError(f"{path}: expected a column {name} once, as runcard cards writes it, got {found:.200}")
        places = [(name, columns.index(name)) for name in READ if name in columns]
        for number, row in table.rows:
            if len(row) > len(columns):
                raise InputError(f"{path} row {number}: expected {len(columns)} columns, got {len(row)}")
            row += [""] * (len(columns) - len(row))
            num_rows += 1
            yield _Row(str(path), number, {name: plain(row[place]) for name, place in places})
    except UnreadableError as error:
        hint = " (save it as CSV UTF-8 in the spreadsheet)" if "not UTF-8" in str(error) else ""
        raise InputError(f"{path}: {error}{hint}") from error
    if not num_rows:
        raise InputError(f"{path}: expected run cards, got no rows")


def _text_of(path: Path) -> str:
    """The text of a file of cards; raises an UnreadableError if it has none, and an InputError if it is too large."""
    with suppress(OSError):  # `read_text` says what is wrong
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise InputError(
                f"{path}: expected a file of cards of at most {MOST_BYTES >> 20} MiB: write fewer with --type, --kind, "
                "--period or --depth, or decide by the policy file"
            )
    return read_text(path)


def _check_kinds(cards: Mapping[CardKey, Mapping[int, _Row]]) -> None:
    """Raise an InputError if an incident has not a card of each kind that goes to it: some of its rows are gone."""
    sent: dict[CardKey, list[str]] = {}
    for key in cards:
        sent.setdefault(key._replace(kind=""), []).append(key.kind)
    for key, lines in cards.items():
        incident = key._replace(kind="")
        for row in lines.values():
            listed = [kind.strip() for kind in row.cells["kinds"].split(BETWEEN_KINDS.strip())]
            if sorted(listed) != sorted(sent[incident]):
                kinds = f"which are {BETWEEN_KINDS.join(sent[incident])}, got {row.cells['kinds']!r:.60}"
                raise row.fault("kinds", f"expected the kinds of the cards for {_words(incident)}, {kinds}")


def _words(key: CardKey) -> str:
    return ", ".join(str(part) for part in key if part)


def _card(key: CardKey, lines: Mapping[int, _Row]) -> FileCard:
    """The card of some rows, if its lines are all there and name units of its houses."""
    row = lines[min(lines)]
    houses = houses_of(row.cells["fallback_order"])
    unit_ids = [unit for house in houses for unit in house]
    several = next((unit for unit in unit_ids if sum(unit in house for house in houses) > 1), None)
    if not houses or several is not None or not all(unit_ids):
        found = "an empty cell" if not houses else f"{several or ''!r} in two houses"
        raise row.fault("fallback_order", f"expected every unit once, as E01 > E02 / E03, got {found}")
    home = {unit: number for number, house in enumerate(houses) for unit in house}
    teams, needed = list[tuple[str, ...]](), len(units_of(row.cells["units"]))
    for number in range(1, max(row.whole("lines"), *lines) + 1):
        if number not in lines:
            raise row.fault("line", f"expected line {number} of {_words(key)}, got none")
        row = lines[number]
        if row.whole("lines") != len(lines):
            there = f"{len(lines)}, the lines that are there of {_words(key)}"
            raise row.fault("lines", f"expected {there}, got {row.cells['lines']}")
        if houses_of(row.cells["fallback_order"]) != houses:
            raise row.fault("fallback_order", f"expected that of line 1 of {_words(key)}")
        units = units_of(row.cells["units"])
        for unit in units:
            if unit != OUTSIDE_ID and (unit not in home or units.count(unit) > houses[home[unit]].count(unit)):
                known = f"units of the fallback order ({', '.join(unit_ids[:8])}{', ...' if len(unit_ids) > 8 else ''})"
                raise row.fault("units", f"expected {known}, each once, got {unit!r:.60}")
        if not units or len(units) != needed:
            raise row.fault("units", f"expected {max(needed, 1)} units as on line 1, got {len(units)}")
        teams.append(tuple(unit for unit in units if unit != OUTSIDE_ID))
    return FileCard(
        houses=houses,
        lines=tuple(tuple(home[unit] for unit in team) for team in teams),
        units=tuple(teams),
        busy=tuple(lines[number].cells.get("when_busy", "") for number in sorted(lines)),
        needed=needed,
        class_name=row.cells.get("class_name", ""),
    )


def _periods(path: Path, hours: Mapping[str, str]) -> tuple[Period, ...]:
    """The periods of the cards."""
    found = []
    for name, words in hours.items():
        try:
            listed: list[Any] = [hour for part in words.split(",") for hour in parse_hours(part)]
        except ValueError as error:
            raise InputError(f"{path}: column hours of {name}: expected {error}, got {words!r:.60}") from error
        found.append(Period(name, tuple(listed)))
    if found and len({hour for one in found for hour in one.hours}) != sum(len(one.hours) for one in found):
        raise InputError(f"{path}: column hours: expected every hour of the week in one period at most")
    return tuple(found)
