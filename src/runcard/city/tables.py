"""The four tables of a city folder: their columns, and rows to and from CSV text.

Reading never stops at a fault. Every data row gives an object. A cell that cannot be read is `UNREAD` in it, so the
checks of `check.py` still find what else is wrong with that row.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from difflib import SequenceMatcher
from math import nan
from typing import Any, Final

from runcard.city.check import UNREAD, Fault, UnreadableError, near, plain, shown
from runcard.city.model import DemandPoint, Link, Node, Station

_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BOOLEANS: Final = {"0": False, "1": True, "false": False, "true": True}
_NEEDS_QUOTES: Final = re.compile(r'[,"\r\n]')
_LETTERS: Final = re.compile(r"[^\W_]")
_SIMILAR: Final = 0.85
"""Of a misspelt column and the one that is meant: the part of their letters that they share in order."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column that runcard uses: how a cell is read, how a value is written, and whether the column must be there.

    It is named like the field of the row's class. `read` raises a ValueError with the words after "expected ... to be".
    """

    name: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str
    required: bool = True
    counts: bool = True
    """Whether the column can change an answer."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a city folder: the class of its rows and its columns."""

    name: str
    row: type[Any]
    columns: tuple[Column, ...]

    @property
    def file_name(self) -> str:
        """The name of the table's file in a city folder."""
        return f"{self.name}.csv"

    @property
    def defaults(self) -> dict[str, Any]:
        """The value that each optional column has in a file without that column."""
        optional = {column.name for column in self.columns if not column.required}
        return {field.name: field.default for field in fields(self.row) if field.name in optional}


@dataclass(frozen=True, slots=True)
class ReadTable:
    """The rows of a table, the row of the file that each one stands in (the header is row 1), and the faults met."""

    rows: tuple[Any, ...]
    row_numbers: tuple[int, ...]
    faults: tuple[Fault, ...]


def _read_number(cell: str) -> float:
    if not _NUMBER.fullmatch(cell.strip()):
        raise ValueError("a number")
    return float(cell)


def read_whole(cell: str) -> int:
    """The whole number in a cell; 2.0 is one too, because spreadsheets and data frames write it so."""
    number = float(cell) if _NUMBER.fullmatch(cell.strip()) else nan
    if not number.is_integer():
        raise ValueError("a whole number")
    return int(number)


def _read_boolean(cell: str) -> bool:
    value = _BOOLEANS.get(cell.strip().lower())
    if value is None:
        raise ValueError("0 or 1")
    return value


def or_none(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """What reads a cell as `read` does, and an empty one as None."""
    return lambda cell: read(cell) if cell.strip() else None


def _write_number(value: float) -> str:
    return repr(float(value))


def _write_boolean(value: bool) -> str:
    return "1" if value else "0"


_NAME: Final = Column("name", str, required=False, counts=False)

TABLES: Final[tuple[Table, ...]] = (
    Table(
        "node",
        Node,
        (
            Column("node_id", str.strip),
            Column("x_coord", _read_number, _write_number),
            Column("y_coord", _read_number, _write_number),
            _NAME,
        ),
    ),
    Table(
        "link",
        Link,
        (
            Column("link_id", str.strip),
            Column("from_node_id", str.strip),
            Column("to_node_id", str.strip),
            Column("directed", _read_boolean, _write_boolean),
            Column("mean_minutes", _read_number, _write_number),
            Column("length_m", or_none(_read_number), _write_number, required=False, counts=False),
        ),
    ),
    Table(
        "station",
        Station,
        (Column("station_id", str.strip), Column("node_id", str.strip), Column("trucks", read_whole), _NAME),
    ),
    Table(
        "demand",
        DemandPoint,
        (
            Column("node_id", str.strip),
            Column("incidents_per_day", _read_number, _write_number),
            Column("trucks", or_none(read_whole), required=False),
            Column("arrivals", or_none(read_whole), required=False),
            Column("target_minutes", or_none(_read_number), _write_number, required=False),
            _NAME,
        ),
    ),
)


def parse_table(table: Table, text: str) -> ReadTable:
    """The rows of a CSV text and their faults; raises UnreadableError if it is no table at all."""
    records = _records(text)
    if not records:
        raise UnreadableError("expected a header row, got an empty file")
    header = [name.strip() for name in records[0][1]]
    separator = re.search(r"[;\t|]", header[0])
    if separator and len(header) == 1:
        raise UnreadableError(f"expected commas between the columns, got {separator[0]!r}")
    faults = list(_header_faults(table, header))
    lacking = any(column.required and column.name not in header for column in table.columns)
    rows = []
    for index, (_, cells) in enumerate(records[1:]):
        if len(cells) != len(header):
            if lacking:
                # Nobody can know which cell belongs to which column: the fault is in the header, not in the row.
                rows.append(_unread_row(table))
                continue
            faults.append(Fault(table.name, index, f"expected {len(header)} cells, got {len(cells)}"))
        rows.append(_parse_row(table, header, cells, index, faults))
    return ReadTable(tuple(rows), tuple(number for number, _ in records[1:]), tuple(faults))


def _records(text: str) -> list[tuple[int, list[str]]]:
    """The rows of a CSV text that are not blank, each with its number as a spreadsheet shows it."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records: list[tuple[int, list[str]]] = []
    row_number = 0
    try:
        for row_number, cells in enumerate(reader, start=1):
            if any(cell.strip() for cell in cells):
                records.append((row_number, cells))
    except csv.Error as error:
        reason = "a quote is opened there and never closed" if str(error) == "unexpected end of data" else error
        raise UnreadableError(f"row {row_number + 1} is not valid CSV: {reason}") from error
    return records


def _header_faults(table: Table, header: list[str]) -> Iterator[Fault]:
    known = [column.name for column in table.columns]
    unknown = [name for name in header if name not in known]
    for name in dict.fromkeys(name for name in header if name and header.count(name) > 1):
        yield Fault(table.name, None, f"expected column {plain(name)} once, got it {header.count(name)} times")
    for column in table.columns:
        if column.name in header:
            continue
        if column.required:
            yield Fault(table.name, None, f"missing column {column.name}{near(column.name, unknown)}")
        for name in unknown:
            if not column.required and _is_misspelt(name, column):
                yield Fault(table.name, None, f"unknown column {plain(name)} (did you mean {column.name}?)")


def _is_misspelt(name: str, column: Column) -> bool:
    """Whether a column that is not known is likely an optional one, misspelt.

    The same letters in another order or case are: Name, nmae. So is a name that is nearly the same, except for columns
    that change no answer: `names` or `length_km` may well be columns of their own.
    """
    if sorted(_LETTERS.findall(name.lower())) == sorted(_LETTERS.findall(column.name)):
        return True
    return column.counts and SequenceMatcher(None, name, column.name).ratio() > _SIMILAR


def _parse_row(table: Table, header: list[str], cells: list[str], index: int, faults: list[Fault]) -> Any:
    """The object of a row. Cells that are missing or cannot be read are UNREAD in it; the latter also give a fault."""
    found = dict(zip(header, cells, strict=False))
    values: dict[str, Any] = {}
    for column in table.columns:
        cell = found.pop(column.name, None)
        if cell is not None:
            try:
                values[column.name] = column.read(cell)
            except ValueError as error:
                values[column.name] = UNREAD
                faults.append(Fault(table.name, index, f"expected {column.name} to be {error}, got {shown(cell)}"))
        elif column.required:
            values[column.name] = UNREAD
    found.pop("", None)
    return table.row(**values, extra=tuple(found.items()))


def _unread_row(table: Table) -> Any:
    return table.row(**{column.name: UNREAD for column in table.columns})


def format_table(table: Table, rows: Sequence[Any]) -> str:
    """The CSV text of a table: required columns, optional ones that some row uses, then the extra columns."""
    defaults = table.defaults
    used = [
        column
        for column in table.columns
        if column.required or any(getattr(row, column.name) != defaults[column.name] for row in rows)
    ]
    known = {column.name for column in table.columns}
    extra_names = [name for name in dict.fromkeys(name for row in rows for name, _ in row.extra) if name not in known]
    lines = [[column.name for column in used] + extra_names]
    for row in rows:
        values = ((column, getattr(row, column.name)) for column in used)
        extra = dict(row.extra)
        lines.append(
            ["" if value is None else column.write(value) for column, value in values]
            + [extra.get(name, "") for name in extra_names]
        )
    return "".join(",".join(map(_quoted, cells)) + "\n" for cells in lines)


def _quoted(cell: str) -> str:
    # Not csv.writer: before Python 3.13 it leaves a lone carriage return bare, which reads back as the end of a row.
    return '"' + cell.replace('"', '""') + '"' if _NEEDS_QUOTES.search(cell) else cell
