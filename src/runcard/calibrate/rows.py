"""The rows of a CSV file with their line numbers. Misshapen ones are rejected, and reading goes on behind them.

A row is a tuple of texts in the order of `LOG_COLUMNS`, empty where the mapping names no column.
"""

import csv
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from runcard.calibrate.mapping import LOG_COLUMNS, LogMapping
from runcard.calibrate.rejected import Rejected
from runcard.city.conditions import near, plain
from runcard.errors import InputError


def read_rows(
    path: Path, mapping: LogMapping, columns: Mapping[str, str], rejected: Rejected, prefix: str = ""
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The line number and the cells of each row; `prefix` begins the reasons of rejected rows."""
    if path.exists() and not path.is_file():  # a pipe would never end
        raise InputError(f"{path}: expected a file, got {'a folder' if path.is_dir() else 'a device or a pipe'}")
    try:
        with path.open(newline="", encoding=mapping.encoding) as file:
            yield from _rows_of(path, csv.reader(file, delimiter=mapping.separator), columns, rejected, prefix)
    except (UnicodeError, LookupError, ValueError) as error:
        raise InputError(
            f"{path}: expected text in {mapping.encoding}: {error}; say log.encoding, for instance cp1252"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: the file cannot be read: {error.strerror}") from None


def _rows_of(
    path: Path, reader: Any, columns: Mapping[str, str], rejected: Rejected, prefix: str
) -> Iterator[tuple[int, tuple[str, ...]]]:
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
    width = len(header)
    pick = itemgetter(*(header.index(columns[key]) if key in columns else width for key in LOG_COLUMNS))
    line = reader.line_num + 1  # of a row with line breaks in a cell, the first
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            for lost in range(line, max(reader.line_num, line) + 1):  # a quote that is never closed swallows many
                rejected.add(lost, f"{prefix}not valid CSV", found=f"lines {line} to {reader.line_num}: {error}")
                rejected.misshapen += not prefix
            line = reader.line_num + 1
            continue
        if cells is None:
            return
        if len(cells) == width:
            cells.append("")  # for the columns that the mapping does not name
            yield line, tuple(map(str.strip, pick(cells)))
        elif cells:
            rejected.add(line, f"{prefix}expected {width} cells", found=f"{len(cells)} cells")
            rejected.misshapen += not prefix
        line = reader.line_num + 1
