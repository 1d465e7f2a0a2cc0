"""The columns of a CSV file, some rows at a time. Misshapen ones are rejected, and reading goes on behind them.

There is a column of texts for every one of `LOG_COLUMNS`, empty where the mapping names none.
"""

import csv
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from runcard.calibrate.mapping import LOG_COLUMNS, LogMapping
from runcard.calibrate.rejected import Rejected
from runcard.city.conditions import near, plain
from runcard.errors import InputError

FEW: Final = 250
"""Rows that become columns at a time, while the cache of a processor still holds them."""
CHUNK: Final = 8 * FEW
"""Rows that are given at a time: enough for numpy."""

Columns = dict[str, list[str]]
"""By what they hold, as in LOG_COLUMNS: the texts of some rows, without the spaces around them."""


def log_columns(
    path: Path, mapping: LogMapping, columns: Mapping[str, str], rejected: Rejected, prefix: str = ""
) -> Iterator[tuple[list[int], Columns]]:
    """The line numbers and the columns of the next rows; `prefix` begins the reasons of rejected rows."""
    if path.exists() and not path.is_file():  # a pipe would never end
        raise InputError(f"{path}: expected a file, got {'a folder' if path.is_dir() else 'a device or a pipe'}")
    try:
        with path.open(newline="", encoding=mapping.encoding) as file:
            yield from _columns_of(path, csv.reader(file, delimiter=mapping.separator), columns, rejected, prefix)
    except (UnicodeError, LookupError, ValueError) as error:
        raise InputError(
            f"{path}: expected text in {mapping.encoding}: {error}; say log.encoding, for instance cp1252"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: the file cannot be read: {error.strerror}") from None


def _columns_of(
    path: Path, reader: Any, columns: Mapping[str, str], rejected: Rejected, prefix: str
) -> Iterator[tuple[list[int], Columns]]:
    header = _header(path, reader, columns)
    places = {key: header.index(name) for key, name in columns.items()}
    lines: list[int] = []
    found: Columns = {key: [] for key in places}
    for some_lines, rows in _rows_of(reader, len(header), rejected, prefix):
        lines += some_lines
        for key, place in places.items():
            found[key] += map(str.strip, map(itemgetter(place), rows))
        if len(lines) == CHUNK or len(rows) < FEW:
            none = [""] * len(lines)  # of all columns that the mapping does not name
            yield lines, {key: found.get(key, none) for key in LOG_COLUMNS}
            lines, found = [], {key: [] for key in places}


def _header(path: Path, reader: Any, columns: Mapping[str, str]) -> list[str]:
    """The names of the first row, each of the columns once among them."""
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise InputError(f"{path}: expected a header row, got line 1 that is not valid CSV: {error}") from None
    if not header:
        raise InputError(f"{path}: expected a header row, got an empty file")
    for key, name in columns.items():
        if name not in header:
            other = next((one for one in ";\t|" if len(header) == 1 and one in header[0]), "")
            hint = f"; say log.separator = {other!r}" if other else near(name, header)
            raise InputError(f"{path}: missing column {plain(name)}, which is {key}{hint}")
        if header.count(name) > 1:
            raise InputError(f"{path}: expected one column {plain(name)}, got {header.count(name)}")
    return header


def _rows_of(reader: Any, width: int, rejected: Rejected, prefix: str) -> Iterator[tuple[list[int], list[list[str]]]]:
    """The line numbers and the cells of the next rows, fewer than FEW at the end."""
    lines: list[int] = []
    rows: list[list[str]] = []
    line = reader.line_num + 1  # of a row with line breaks in a cell, the first
    while True:
        try:
            for cells in reader:
                if len(cells) == width:
                    lines.append(line)
                    rows.append(cells)
                elif cells:
                    rejected.add(line, f"{prefix}expected {width} cells", found=f"{len(cells)} cells")
                    rejected.misshapen += not prefix
                line = reader.line_num + 1
                if len(rows) == FEW:
                    yield lines, rows
                    lines, rows = [], []
            break
        except csv.Error as error:
            for lost in range(line, max(reader.line_num, line) + 1):  # a quote that is never closed swallows many
                rejected.add(lost, f"{prefix}not valid CSV", found=f"lines {line} to {reader.line_num}: {error}")
                rejected.misshapen += not prefix
            line = reader.line_num + 1
    yield lines, rows
