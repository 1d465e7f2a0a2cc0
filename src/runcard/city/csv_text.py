"""The one reader of CSV texts: a header, and the rows below it with their numbers as a spreadsheet shows them.

City folders, logs of incidents and other people's files are all read through it; what their cells mean is said by those
who ask (`tables.py`, `importers/rows.py`).
"""

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from runcard.city.conditions import UnreadableError, plain, shown
from runcard.errors import InputError

SEPARATORS: Final = ";\t|,"
UTF_8: Final = "utf-8-sig"
"""With or without a byte order mark."""


@contextmanager
def readable(where: object) -> Iterator[None]:
    """Raise what makes a file unreadable as an InputError that begins with where it is."""
    try:
        yield
    except UnreadableError as error:
        raise InputError(f"{where}: {error}") from error


class CsvText:
    """A CSV text: its header, and the rows below it that are not blank, which can be gone through once.

    Raises an UnreadableError where the text is not valid CSV.
    """

    def __init__(self, text: str, *, name: str = "", separator: str = ",", skip_rows: int = 0) -> None:
        self._reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        self.name, self.separator = name, separator
        self.rows = self._rows(skip_rows)
        """Each with its number, the first row of the text being 1."""
        self.header = [name.strip() for name in next(self.rows, (0, []))[1]]

    def _rows(self, skip_rows: int) -> Iterator[tuple[int, list[str]]]:
        number = 0
        try:
            for number, cells in enumerate(self._reader, start=1):
                if number > skip_rows and any(map(str.strip, cells)):
                    yield number, cells
        except csv.Error as error:
            reason = "a quote is opened there and never closed" if str(error) == "unexpected end of data" else error
            raise UnreadableError(f"row {number + 1} is not valid CSV: {reason}") from error

    @property
    def other_separator(self) -> str:
        """What seems to stand between the columns in place of the separator; empty if nothing does."""
        found = re.search(f"[{SEPARATORS}]", self.header[0]) if len(self.header) == 1 else None
        return found[0] if found and found[0] != self.separator else ""

    def repeated(self, name: str) -> str:
        """What is wrong with a column that is there more than once; empty if it is not."""
        number = self.header.count(name)
        return f"expected column {plain(name)} once, got it {number} times" if number > 1 else ""


def read_text(path: Path, encoding: str = UTF_8) -> str:
    """The text of a file without its byte order mark; raises UnreadableError if it has none."""
    try:
        if path.exists() and not path.is_file():  # a pipe would never end
            raise UnreadableError(f"expected a file, got {'a folder' if path.is_dir() else 'a device or a pipe'}")
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise UnreadableError("the file is missing") from error
    except (OSError, ValueError) as error:  # the latter for a name with a character that no name has
        raise UnreadableError(f"the file cannot be read: {getattr(error, 'strerror', error)}") from error
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        name = "UTF-8" if encoding == UTF_8 else encoding
        raise UnreadableError(f"row {row} is not {name} text: got byte 0x{content[error.start]:02x}") from error
    except (LookupError, ValueError) as error:
        raise UnreadableError(f"expected a known encoding, got {shown(encoding)}") from error
