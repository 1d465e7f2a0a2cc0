"""The tables of a city folder, two of which may be left out: their columns, and rows to and from CSV text.

Reading never stops at a fault. Every data row gives an object. A cell that cannot be read is `UNREAD` in it, so the
checks of `check.py` still find what else is wrong with that row.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Final

from runcard.city.conditions import UNREAD, Condition, Fault, UnreadableError, near, plain, shown
from runcard.city.csv_text import CsvText
from runcard.city.parts import COLUMN_CONDITIONS, ROWS

_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BOOLEANS: Final = {"0": False, "1": True, "false": False, "true": True}
_NEEDS_QUOTES: Final = re.compile(r'[,"\r\n]')
_LETTERS: Final = re.compile(r"[^\W_]")
_CHANGE_NOTHING: Final = ("name", "length_m")
"""The optional columns that cannot change an answer."""

_MISSED: Final = "type"
"""Not taken for misspelt: where it is needed its lack is noticed, and elsewhere anybody may have a column like it."""

_SIMILAR: Final = 0.85
"""Of a misspelt column and the one that is meant: the part of their letters that they share in order."""


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A table: the class of its rows, and its columns, named like the fields of that class.

    Those with a default may be left out. The type of a column may be a function that reads its cells. That raises a
    ValueError with the words after "expected ... to be".
    """

    name: str
    row: type[Any]
    columns: Mapping[str, Condition]

    def read(self, column: str, cell: str) -> Any:
        """The value of a cell; an empty one in an optional column is None, if the column is not text."""
        of = self.columns[column].of
        if of is str:
            return cell if column == "name" else cell.strip()
        if not self.columns[column].needed and not cell.strip():
            return None
        return read_cell(of, cell) if isinstance(of, type) else of(cell)

    def write(self, column: str, value: Any) -> str:
        """The cell of a value."""
        if value is None:
            return ""
        of = self.columns[column].of
        return repr(float(value)) if of is float else str(int(value)) if of is bool else str(value)


@dataclass(frozen=True, slots=True)
class ReadTable:
    """The rows of a table, the row of the file that each one stands in (the header is row 1), and the faults met."""

    rows: tuple[Any, ...]
    row_numbers: tuple[int, ...]
    faults: tuple[Fault, ...]


def read_cell(of: type, cell: str) -> Any:
    """The value of a cell of a type; 2.0 is a whole number too, because spreadsheets and data frames write it so."""
    text = cell.strip().lower()
    if of is bool and text in _BOOLEANS:
        return _BOOLEANS[text]
    if of is not bool and _NUMBER.fullmatch(text) and (of is float or float(text).is_integer()):
        return of(float(text))
    raise ValueError({float: "a number", int: "a whole number", bool: "0 or 1"}[of])


TABLES: Final = {name: CsvTable(name, row, COLUMN_CONDITIONS[name]) for name, row in ROWS.items()}
"""By the field of `City` that holds the rows."""


def with_trucks(stations: CsvTable) -> CsvTable:
    """The table of stations with the column that it needs where there is no roster."""
    trucks = stations.columns["trucks"]._replace(default=MISSING)
    return replace(stations, columns={**stations.columns, "trucks": trucks})


def parse_table(table: CsvTable, text: CsvText) -> ReadTable:
    """The rows of a text and their faults; raises UnreadableError if it is no table at all."""
    header = text.header
    if not header:
        raise UnreadableError("expected a header row, got an empty file")
    if text.other_separator:
        raise UnreadableError(f"expected commas between the columns, got {text.other_separator!r}")
    faults = list(_header_faults(table, text))
    lacking = any(condition.needed for name, condition in table.columns.items() if name not in header)
    rows, numbers = [], []
    for index, (number, cells) in enumerate(text.rows):
        numbers.append(number)
        if len(cells) != len(header):
            if lacking:
                # Nobody can know which cell belongs to which column: the fault is in the header, not in the row.
                rows.append(table.row(**dict.fromkeys(table.columns, UNREAD)))
                continue
            faults.append(Fault(table.name, index, f"expected {len(header)} cells, got {len(cells)}"))
        rows.append(_parse_row(table, header, cells, index, faults))
    return ReadTable(tuple(rows), tuple(numbers), tuple(faults))


def _header_faults(table: CsvTable, text: CsvText) -> Iterator[Fault]:
    unknown = [name for name in text.header if name not in table.columns]
    for name in filter(None, dict.fromkeys(text.header)):
        if repeated := text.repeated(name):
            yield Fault(table.name, None, repeated)
    for column, condition in table.columns.items():
        if column not in text.header and condition.needed:
            yield Fault(table.name, None, f"missing column {column}{near(column, unknown)}")
    for column, condition in table.columns.items():
        for name in unknown if column not in (*text.header, _MISSED) and not condition.needed else ():
            if _is_misspelt(name, column):
                yield Fault(table.name, None, f"unknown column {plain(name)} (did you mean {column}?)")


def _is_misspelt(name: str, column: str) -> bool:
    """Whether a column that is not known is likely an optional one, misspelt.

    The same letters in another order or case are: Name, nmae. So is a name that is nearly the same, except for columns
    that change no answer: `names` or `length_km` may well be columns of their own.
    """
    if sorted(_LETTERS.findall(name.lower())) == sorted(_LETTERS.findall(column)):
        return True
    return column not in _CHANGE_NOTHING and SequenceMatcher(None, name, column).ratio() > _SIMILAR


def _parse_row(table: CsvTable, header: list[str], cells: list[str], index: int, faults: list[Fault]) -> Any:
    """The object of a row. Cells that are missing or cannot be read are UNREAD in it; the latter also give a fault."""
    found = dict(zip(header, cells, strict=False))
    values: dict[str, Any] = {}
    for column, condition in table.columns.items():
        cell = found.pop(column, None)
        if cell is not None:
            try:
                value = table.read(column, cell)
                if value is not None:  # else the default holds
                    values[column] = value
            except ValueError as error:
                values[column] = UNREAD
                faults.append(Fault(table.name, index, f"expected {column} to be {error}, got {shown(cell)}"))
        elif condition.needed:
            values[column] = UNREAD
    found.pop("", None)
    return table.row(**values, extra=tuple(found.items()))


def format_table(table: CsvTable, rows: Sequence[Any]) -> str:
    """The CSV text of a table: required columns, optional ones that some row uses, then the extra columns."""
    used = [
        name
        for name, condition in table.columns.items()
        if condition.needed or any(getattr(row, name) != condition.default for row in rows)
    ]
    extra = [name for name in dict.fromkeys(name for row in rows for name, _ in row.extra) if name not in table.columns]
    lines = [[*used, *extra]]
    for row in rows:
        of_row = dict(row.extra)
        cells = [table.write(column, getattr(row, column)) for column in used]
        lines.append(cells + [of_row.get(name, "") for name in extra])
    return "".join(",".join(map(_quoted, cells)) + "\n" for cells in lines)


def _quoted(cell: str) -> str:
    # Not csv.writer: before Python 3.13 it leaves a lone carriage return bare, which reads back as the end of a row.
    return '"' + cell.replace('"', '""') + '"' if _NEEDS_QUOTES.search(cell) else cell
