"""Run cards as a CSV file: a row for each line, for dispatch systems and spreadsheets, and read back from there.

The file is UTF-8 with a byte order mark, because Excel takes a file without one for another encoding and spoils names.
Rows end with CRLF and text is quoted where it must be, as RFC 4180 wants it. No cell is a formula (see `cells.py`).

Whoever opens the file in a spreadsheet and saves it may change it: the delimiter becomes a semicolon, rows are sorted,
columns are added, ids such as 007 lose their zeros. It is read again if what it says is still sound, and refused with
its row and column if not. Columns that a decision does not need are not read.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.periods import Period, parse_hours
from runcard.errors import InputError
from runcard.outputs.cards.book import Card, CardBook, Line
from runcard.outputs.cards.cells import (
    BETWEEN_BUSY,
    checked_ids,
    houses_cell,
    houses_of,
    plain_text,
    safe_text,
    units_cell,
    units_of,
)
from runcard.outputs.files import write_whole

CARDS_ENDING: Final = ".csv"
ENCODING: Final = "utf-8-sig"
MOST_BYTES: Final = 256 * 2**20
NEEDED: Final = ("area", "kind", "line", "units", "fallback_order")
"""Columns without which nothing can be decided."""

Cell = str | int | float | None


def columns_of(book: CardBook) -> list[str]:
    """The columns of a file of cards; those of periods and classes only where there are some."""
    standards = [name for n in range(1, book.num_standards + 1) for name in (f"standard_{n}", f"meets_{n}")]
    return [
        *(["period", "hours"] if book.periods else []), "area", "area_name", "district", "type",
        *(["class"] if any(card.incident_class for card in book.cards) else []), "kind", "line", "units", "when_busy",
        *standards, "first_minutes", "last_minutes", "departs", "closest_first", "gain_per_1000",
        "incidents_per_year", "fallback_order",
    ]  # fmt: skip


def rows_of(book: CardBook) -> Iterator[dict[str, Cell]]:
    """The cells of each line by column: texts as they are, numbers rounded to what a reader needs."""
    hours = {one.name: one.words for one in book.periods}
    checked_ids({unit for card in book.cards for house in card.houses for unit in house})
    for card in book.cards:
        for number, line in enumerate(card.lines, start=1):
            yield _row(card, number, line) | {"hours": hours.get(card.period, "")}


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
        "class": card.incident_class or None,
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
        "fallback_order": houses_cell(card.houses),
    }


def write_cards_csv(book: CardBook, path: Path) -> Path:
    """The CSV file that now holds the cards."""
    columns, content = columns_of(book), io.StringIO(newline="")
    writer = csv.writer(content)
    writer.writerow(columns)
    for row in rows_of(book):
        cells = (row.get(name) for name in columns)
        writer.writerow([safe_text(cell) if isinstance(cell, str) else cell for cell in cells])
    return write_whole(path, content.getvalue().encode(ENCODING))


class CardKey(NamedTuple):
    """What a card of a file is for."""

    period: str
    area: str
    type: str
    incident_class: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class FileCard:
    """A card as a file has it."""

    houses: tuple[tuple[str, ...], ...]
    lines: tuple[tuple[int, ...], ...]
    """By line: the house of each unit, by its place in `houses`."""
    busy: tuple[str, ...]
    """By line: the busy units of the state that it was made for, in words."""
    needed: int
    """The units that go, those from outside among them."""


@dataclass(frozen=True, kw_only=True)
class CardFile:
    """The cards of a file."""

    path: str
    cards: Mapping[CardKey, FileCard]
    periods: tuple[Period, ...] = field(default=())
    """Of which there are cards; () if they are for every hour."""


class _Table(NamedTuple):
    """The rows of a file, with the number of each as a spreadsheet shows it."""

    path: str
    columns: Sequence[str]
    rows: list[tuple[int, dict[str, str]]]

    def fault(self, row: int, column: str, words: str) -> InputError:
        return InputError(f"{self.path} row {row}, column {column}: {words}")


def read_cards(path: Path) -> CardFile:
    """The cards of a CSV file; an InputError with row and column if it does not hold any that can be followed."""
    table = _read_table(path)
    by_key: dict[CardKey, dict[int, tuple[int, dict[str, str]]]] = {}
    hours: dict[str, str] = {}
    for row, cells in table.rows:
        key, number = _key(table, row, cells), _whole(table, row, "line", cells["line"])
        if key.period and hours.setdefault(key.period, cells.get("hours", "")) != cells.get("hours", ""):
            raise table.fault(row, "hours", f"expected {hours[key.period]!r} as in the rows before of {key.period}")
        if number in by_key.setdefault(key, {}):
            raise table.fault(row, "line", f"expected each line once, got {number} again for {_words(key)}")
        by_key[key][number] = row, cells
    homes: dict[tuple[str, str], frozenset[tuple[str, ...]]] = {}
    cards = {}
    for key, lines in by_key.items():
        cards[key] = card = _card(table, key, lines)
        row = min(row for row, _ in lines.values())
        if homes.setdefault((key.period, key.kind), frozenset(card.houses)) != frozenset(card.houses):
            raise table.fault(row, "fallback_order", f"expected the same {key.kind} units as on the cards before")
    return CardFile(path=str(path), cards=cards, periods=_periods(table, hours))


def _read_table(path: Path) -> _Table:
    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"{path}: expected a file of cards of at most {MOST_BYTES:,} bytes")
    try:
        text = path.read_bytes().decode(ENCODING)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected UTF-8 text: save it as CSV UTF-8 in the spreadsheet ({error})") from error
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    rows: list[tuple[int, dict[str, str]]] = []
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        columns = [name.strip() for name in next(reader, [])]
        for number, row in enumerate(reader, start=2):
            if any(cell.strip() for cell in row):
                if len(row) > len(columns):
                    raise InputError(f"{path} row {number}: expected {len(columns)} columns, got {len(row)}")
                cells = [*row, *[""] * (len(columns) - len(row))]
                rows.append((number, {n: plain_text(c).strip() for n, c in zip(columns, cells, strict=True)}))
    except csv.Error as error:
        raise InputError(f"{path}: expected a CSV file of run cards: {error}") from error
    for name in NEEDED:
        if columns.count(name) != 1:
            raise InputError(f"{path}: expected a column {name} once, as runcard cards writes it, got {columns}"[:300])
    if not rows:
        raise InputError(f"{path}: expected run cards, got no rows")
    return _Table(str(path), columns, rows)


def _key(table: _Table, row: int, cells: Mapping[str, str]) -> CardKey:
    number = _whole(table, row, "class", cells["class"]) if cells.get("class") else 0
    if not cells["area"]:
        raise table.fault(row, "area", "expected an area, got an empty cell")
    return CardKey(cells.get("period", ""), cells["area"], cells.get("type", ""), number, cells["kind"])


def _words(key: CardKey) -> str:
    return ", ".join(str(one) for one in key if one)


def _whole(table: _Table, row: int, column: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= len(text) <= 6 or int(text) < 1:
        raise table.fault(row, column, f"expected a whole number from 1 on, got {text!r:.60}")
    return int(text)


def _card(table: _Table, key: CardKey, lines: Mapping[int, tuple[int, Mapping[str, str]]]) -> FileCard:
    """The card of some rows, if its lines are all there and name units of its houses."""
    row, cells = lines[min(lines)]
    houses = houses_of(cells["fallback_order"])
    unit_ids = [unit for house in houses for unit in house]
    several = next((one for one in unit_ids if sum(one in house for house in houses) > 1), None)
    if not houses or several is not None or not all(unit_ids):
        found = "an empty cell" if not houses else f"{several or ''!r} in two houses"
        raise table.fault(row, "fallback_order", f"expected every unit once, as E01 > E02 / E03, got {found}")
    home = {unit: number for number, house in enumerate(houses) for unit in house}
    found_lines, busy, needed = [], [], len(units_of(cells["units"]))
    for number in range(1, len(lines) + 1):
        if number not in lines:
            raise table.fault(row, "line", f"expected line {number} of {_words(key)}, got none")
        row, cells = lines[number]
        if houses_of(cells["fallback_order"]) != houses:
            raise table.fault(row, "fallback_order", f"expected that of line 1 of {_words(key)}")
        units = units_of(cells["units"])
        for unit in units:
            if unit != OUTSIDE_ID and (unit not in home or units.count(unit) > houses[home[unit]].count(unit)):
                known = f"units of the fallback order ({', '.join(unit_ids[:8])}{', ...' if len(unit_ids) > 8 else ''})"
                raise table.fault(row, "units", f"expected {known}, each once, got {unit!r:.60}")
        if not units or len(units) != needed:
            raise table.fault(row, "units", f"expected {max(needed, 1)} units as on line 1, got {len(units)}")
        found_lines.append(tuple(home[unit] for unit in units if unit != OUTSIDE_ID))
        busy.append(cells.get("when_busy", ""))
    return FileCard(houses=houses, lines=tuple(found_lines), busy=tuple(busy), needed=needed)


def _periods(table: _Table, hours: Mapping[str, str]) -> tuple[Period, ...]:
    """The periods of the cards."""
    found = []
    for name, words in hours.items():
        try:
            listed: list[Any] = [hour for part in words.split(",") for hour in parse_hours(part)]
        except ValueError as error:
            raise InputError(f"{table.path}: column hours of {name}: expected {error}, got {words!r:.60}") from error
        found.append(Period(name, tuple(listed)))
    if found and len({hour for one in found for hour in one.hours}) != sum(len(one.hours) for one in found):
        raise InputError(f"{table.path}: column hours: expected every hour of the week in one period at most")
    return tuple(found)
