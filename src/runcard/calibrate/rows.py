"""The rows of a log as numbers: by column its different texts, in order, and for each row which of them it has.

DuckDB reads a file in which every line is a row as wide as the header, and finds the different texts. Any other file
goes through Python's csv first, which says on which line each row begins: misshapen rows are rejected, and reading goes
on behind them.
"""

import codecs
import csv
import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.mapping import LOG_COLUMNS, TIMES, LogMapping
from runcard.calibrate.rejected import Rejected
from runcard.city.conditions import near, plain
from runcard.database import interruptible, memory_database
from runcard.errors import InputError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Ints = NDArray[np.int64]

BLOCK: Final = 1 << 20
SPARE: Final = 8
"""So many cells more than the header a row may have where DuckDB counts them."""
NO_CELL: Final = "\x01"
"""What stands for a cell that a row does not have."""
SPACES: Final = "".join(sign for sign in map(chr, range(0x3001)) if sign.isspace())
"""What `str.strip` takes away."""
STRIPPED: Final = f"""CREATE MACRO stripped(cell) AS
CASE WHEN regexp_full_match(cell, '([!-~](.*[!-~])?)?') THEN cell ELSE trim(coalesce(cell, ''), '{SPACES}') END"""
"""Nearly all cells begin and end with a letter or a figure, which is found out faster than what is to be taken away."""


@dataclass(frozen=True, eq=False)
class Source:
    """A file of rows."""

    path: Path
    columns: Mapping[str, str]
    """Their names in the file by what they hold, as in LOG_COLUMNS."""
    prefix: str = ""
    """The begin of the reasons for which its rows are rejected."""


@dataclass(frozen=True, eq=False)
class Column:
    """The different texts of a column, without the spaces around them, and [row] the number of its text."""

    texts: tuple[str, ...]
    numbers: Ints

    def each(self, value: Callable[[str], Any], rows: Ints) -> NDArray[Any]:
        """[row] a value of the text of some rows."""
        values: NDArray[Any] = np.array(list(map(value, self.texts)))[self.numbers[rows]]
        return values

    def renamed(self, name: Callable[[str], str]) -> "Column":
        """The column with other texts in the place of these, which may be the same more than once."""
        return Column(tuple(map(name, self.texts)), self.numbers)

    def text(self, row: int) -> str:
        """The text of a row."""
        return self.texts[int(self.numbers[row])]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that are as wide as the header of their file, file by file."""

    sources: Ints
    """[row] the number of its file."""
    lines: Ints
    columns: Mapping[str, Column]
    """By what they hold, empty where no file has one."""
    times: Mapping[str, tuple[Column, Column]]
    """By what they are: their days, with the sign behind each, and their clock times."""


def read_rows(sources: Sequence[Source], mapping: LogMapping, day_pattern: str, rejected: Rejected) -> Rows:
    """The rows of some files; what `day_pattern` matches is the day of a time."""
    keys = [key for key in LOG_COLUMNS if any(key in source.columns for source in sources)]
    with interruptible(), memory_database(threads=2) as database:
        table = _Table(database, keys, day_pattern)
        for number, source in enumerate(sources):
            path = source.path
            if path.exists() and not path.is_file():  # a pipe would never end
                raise InputError(
                    f"{path}: expected a file, got {'a folder' if path.is_dir() else 'a device or a pipe'}"
                )
            try:
                _read_file(table, number, source, mapping, rejected)
            except (UnicodeError, LookupError, ValueError) as error:
                raise InputError(
                    f"{path}: expected text in {mapping.encoding}: {error}; say log.encoding, for instance cp1252"
                ) from None
            except OSError as error:
                raise InputError(f"{path}: the file cannot be read: {error.strerror}") from None
        return table.rows()


def _read_file(table: "_Table", number: int, source: Source, mapping: LogMapping, rejected: Rejected) -> None:
    """Put the rows of a file into the table, as they are if each has its line, or by way of a tidy copy."""
    import duckdb

    with source.path.open(newline="", encoding=mapping.encoding) as file:
        reader = csv.reader(file, delimiter=mapping.separator)
        header = _header(source, reader)
        places = {key: header.index(name) for key, name in source.columns.items()}
        is_utf8 = codecs.lookup(mapping.encoding).name in ("utf-8", "utf-8-sig")
        num_plain = _num_plain_rows(source.path) if is_utf8 and reader.line_num == 1 else None
        if num_plain is not None:
            options = f"skip = 1, delim = chr({ord(mapping.separator)}), max_line_size = {csv.field_size_limit()}"
            with suppress(duckdb.Error):
                table.read(number, source.path, len(header), places, "NULL", options)
                num_rows, misshapen = table.lines(number, len(header))
                if num_rows == num_plain and all(cells < len(header) + SPARE for _, cells in misshapen):
                    for line, cells in misshapen:
                        _reject(rejected, source, line, f"expected {len(header)} cells", f"{cells} cells")
                    return
        file.seek(0)
        reader = csv.reader(file, delimiter=mapping.separator)
        next(reader)
        with TemporaryDirectory() as folder:
            tidy = Path(folder) / "rows.csv"
            with tidy.open("w", newline="", encoding="utf-8", errors="replace") as copy:
                writer = csv.writer(copy, quoting=csv.QUOTE_ALL, lineterminator="\n")
                rows = _cells(reader, len(header), rejected, source)
                writer.writerows([line, *map(cells.__getitem__, places.values())] for line, cells in rows)
            places = {key: place for place, key in enumerate(places, start=1)}
            longest = 4 * csv.field_size_limit() * (len(places) + 1)
            options = f"new_line = '\\n', parallel = false, max_line_size = {longest}"
            table.read(number, tidy, len(places) + 1, places, "cell0", options)


def _header(source: Source, reader: Any) -> list[str]:
    """The names of the first row, each of the columns once among them."""
    path = source.path
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise InputError(f"{path}: expected a header row, got line 1 that is not valid CSV: {error}") from None
    if not header:
        raise InputError(f"{path}: expected a header row, got an empty file")
    for key, name in source.columns.items():
        if name not in header:
            other = next((one for one in ";\t|" if len(header) == 1 and one in header[0]), "")
            hint = f"; say log.separator = {other!r}" if other else near(name, header)
            raise InputError(f"{path}: missing column {plain(name)}, which is {key}{hint}")
        if header.count(name) > 1:
            raise InputError(f"{path}: expected one column {plain(name)}, got {header.count(name)}")
    return header


def _num_plain_rows(path: Path) -> int | None:
    """The number of lines behind the header; None if DuckDB may find other cells in them than Python's csv.

    It skips spaces before a quote, and takes a carriage return alone for something else. NO_CELL stands for no cell.
    """
    num = -1
    with path.open("rb") as file:
        for block in iter(lambda: file.read(BLOCK) + file.readline(), b""):
            ends = block.count(b"\n")
            if b' "' in block or NO_CELL.encode() in block or block.count(b"\r") not in (0, ends):
                return None
            block.decode()
            num += ends + (not block.endswith(b"\n"))
    return num


def _cells(reader: Any, width: int, rejected: Rejected, source: Source) -> Iterator[tuple[int, list[str]]]:
    """The rows that are as wide as the header, with the lines on which they begin."""
    line = reader.line_num + 1
    while True:
        try:
            for cells in reader:
                if len(cells) == width:
                    yield line, cells
                elif cells:
                    _reject(rejected, source, line, f"expected {width} cells", f"{len(cells)} cells")
                line = reader.line_num + 1
            return
        except csv.Error as error:
            for lost in range(line, max(reader.line_num, line) + 1):  # a quote that is never closed swallows many
                _reject(rejected, source, lost, "not valid CSV", f"lines {line} to {reader.line_num}: {error}")
            line = reader.line_num + 1


def _reject(rejected: Rejected, source: Source, line: int, reason: str, found: str) -> None:
    rejected.add(line, f"{source.prefix}{reason}", found=found)
    rejected.misshapen += not source.prefix


class _Table:
    """The texts of all rows in DuckDB."""

    def __init__(self, database: "DuckDBPyConnection", keys: Sequence[str], day_pattern: str) -> None:
        self._database = database
        self._widths: dict[int, int] = {}
        self._parts = {key: (key, key, "{}") for key in keys if key not in TIMES}
        """By name of a column: what its texts are, the column of a log they are in, and how they are got from it."""
        for key in TIMES:
            if key in keys:
                self._parts |= {f"{key} {part}": (part, key, f"{part}({{}})") for part in ("day", "clock")}
        database.execute(STRIPPED)
        database.execute(f"CREATE MACRO day(time) AS regexp_extract(time, '{day_pattern}')")
        database.execute("CREATE MACRO clock(time) AS substr(time, length(day(time)) + 1)")

    def read(self, source: int, path: Path, width: int, places: Mapping[str, int], line: str, options: str) -> None:
        """Put the rows of a file into a table of its own; NULL is the line of each if every line is a row."""
        cells = dict.fromkeys(LOG_COLUMNS, "''") | {key: f"stripped(cell{place})" for key, place in places.items()}
        texts = "".join(f', {part.format(cells[key])} AS "{name}"' for name, (_, key, part) in self._parts.items())
        self._widths[source] = width
        every = [f"cell{place}" for place in range(width + SPARE)]
        is_whole = f"{every[width - 1]} IS NOT NULL AND {every[width]} IS NULL"
        name = glob.escape(str(path)).replace("'", "''")
        self._database.execute(
            f"CREATE OR REPLACE TABLE rows{source} AS SELECT {line}::BIGINT AS line, "
            f"if({is_whole}, {width}, list_count([{', '.join(every)}])) AS num_cells{texts} "
            f"FROM read_csv('{name}', columns = {dict.fromkeys(every, 'VARCHAR')}, auto_detect = false, "
            f"header = false, quote = '\"', escape = '\"', compression = 'none', null_padding = true, "
            f"nullstr = chr({ord(NO_CELL)}), allow_quoted_nulls = false, {options})"
        )

    def lines(self, source: int, width: int) -> tuple[int, list[tuple[int, int]]]:
        """The number of rows of a file in which every line is one, and the lines and cells of those not so wide."""
        (num_rows,) = self._database.execute(f"SELECT count(*) FROM rows{source}").fetchall()[0]
        misshapen = f"SELECT rowid + 2, num_cells FROM rows{source} WHERE num_cells <> {width} ORDER BY rowid"
        return num_rows, self._database.execute(misshapen).fetchall()

    def rows(self) -> Rows:
        """All rows of the tables."""
        tables = (  # their rows are in the order of the file
            f"SELECT {source} AS source, * REPLACE (coalesce(line, rowid + 2) AS line) FROM rows{source} "
            f"WHERE num_cells = {width}"
            for source, width in self._widths.items()
        )
        self._database.execute(f"CREATE VIEW rows AS {' UNION ALL '.join(tables)}")
        texts: dict[str, tuple[str, ...]] = {}
        for of, _, _ in self._parts.values():
            if of not in texts:
                alike = (f'SELECT "{name}" AS text FROM rows' for name, part in self._parts.items() if part[0] == of)
                self._database.execute(
                    f'CREATE TABLE "{of}" AS SELECT text, (row_number() OVER (ORDER BY text) - 1)::INTEGER AS number '
                    f"FROM (SELECT DISTINCT text FROM ({' UNION ALL '.join(alike)}))"
                )
                listed = self._database.execute(f'SELECT text FROM "{of}" ORDER BY number').fetchall()
                texts[of] = tuple(text for (text,) in listed) or ("",)
        numbers = "".join(f', "of {name}".number AS "{name}"' for name in self._parts)
        joins = "".join(
            f' LEFT JOIN "{of}" AS "of {name}" ON "of {name}".text = rows."{name}"'
            for name, (of, _, _) in self._parts.items()
        )
        rows = self._database.execute(
            f"SELECT source, line{numbers} FROM rows{joins} ORDER BY source, line"
        ).fetchnumpy()
        blank = Column(("",), np.zeros(len(rows["line"]), np.int32))
        columns = {name: Column(texts[of], rows[name]) for name, (of, _, _) in self._parts.items()}
        times = {key: (columns.get(f"{key} day", blank), columns.get(f"{key} clock", blank)) for key in TIMES}
        return Rows(rows["source"], rows["line"], dict.fromkeys(LOG_COLUMNS, blank) | columns, times)
