"""Columns of other people's CSV files, read fast, and what becomes of rows that cannot be used.

What is wrong with a file as a whole (no such column, no text, no rows) is an error. What is wrong with a row is a
rejection: the row is left out, counted, and listed with its file, its number and the reason. The header is counted as a
spreadsheet does, so that rows above it count too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import UnreadableError, is_text, near, plain, shown
from runcard.city.csv_text import UTF_8, CsvText, read_text, readable
from runcard.errors import InputError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MAX_LISTED: Final = 8
_WHOLE: Final = re.compile(r"([+-]?\d+)\.0*")
NO_VALUE: Final = ("", "nan", "na", "n/a", "none", "null")
"""Cells that hold nothing, in small letters."""


class RejectedRow(NamedTuple):
    """A row that was left out: its file, its number (0 where rows have none), and why."""

    file: str
    row: int
    reason: str


@dataclass(eq=False)
class Columns:
    """The wanted columns of a CSV file, as text, by what they are wanted for; rows without any text are not there."""

    file: str
    row_numbers: Sequence[int]
    cells: Mapping[str, Sequence[str]]
    rejected: list[RejectedRow] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.good = np.ones(len(self), np.bool_)
        """[row] Whether it can be used, as far as is known."""

    @classmethod
    def read(cls, text: CsvText, wanted: Mapping[str, str], section: str = "") -> "Columns":
        """The columns of a text by what they are `wanted` for; `section` of the mapping file names them."""
        places = _places(text, wanted, f" of [{section}]" if section else "")
        last = max(places)
        numbers: list[int] = []
        rows: list[list[str]] = []
        with readable(text.name):
            for number, cells in text.rows:
                if len(cells) <= last:
                    cells += [""] * (last + 1 - len(cells))
                row = [cells[place] for place in places]
                if any(row):
                    numbers.append(number)
                    rows.append(row)
        if not rows:
            raise InputError(f"{text.name}: expected at least one row below the header, got none")
        return cls(text.name, numbers, dict(zip(wanted, zip(*rows, strict=True), strict=True)))

    def __len__(self) -> int:
        return len(self.row_numbers)

    @property
    def kept(self) -> list[int]:
        """The rows that can be used."""
        return list(np.flatnonzero(self.good).tolist())

    def numbers(self, key: str, *, least: float = -inf, needed: bool = False) -> Floats:
        """The numbers of a column, NaN where there are none; rows with anything else in it, or with less, are left out.

        Where they are `needed`, so are rows without a number.
        """
        if key not in self.cells:
            return np.full(len(self), np.nan)
        values, wrong = to_numbers(self.cells[key])
        self.reject(wrong | np.isnan(values) & needed, f"expected {key} to be a number", key)
        self.reject(values < least, f"expected {key} >= {least:g}", key)
        return values

    def reject(self, wrong: Flags, words: str, key: str) -> None:
        """Leave out the rows that are wrong in a column."""
        for row in np.flatnonzero(self.good & wrong).tolist():
            self.leave_out(row, f"{words}, got {shown(self.cells[key][row])}")

    def leave_out(self, row: int, reason: str) -> None:
        """Leave out a row."""
        self.good[row] = False
        self.rejected.append(RejectedRow(self.file, self.row_numbers[row], reason))

    def refuse_if_most(self, what: str) -> None:
        """Raise an InputError if most rows were left out (see `refuse_if_most`)."""
        refuse_if_most(self.rejected, len(self), what)


def to_numbers(cells: Sequence[str]) -> tuple[Floats, Flags]:
    """[cell] its number, NaN for none, and [cell] whether it holds something that is no finite number."""
    try:
        numbers = np.array(list(map(float, cells)), np.float64)
        if np.isfinite(numbers).all():
            return numbers, np.zeros(len(cells), np.bool_)
    except ValueError:
        pass
    numbers, wrong = np.full(len(cells), np.nan), np.zeros(len(cells), np.bool_)
    for place, cell in enumerate(cells):
        try:
            numbers[place] = float(cell)
            wrong[place] = not np.isfinite(numbers[place]) and cell.strip().lower() not in NO_VALUE
        except ValueError:
            wrong[place] = cell.strip().lower() not in NO_VALUE
    return numbers, wrong


def to_ids(cells: Sequence[str]) -> list[str]:
    """Ids without control characters and spaces around them; 12.0 is 12, because data frames write numbers so."""
    ids = [cell.strip() for cell in cleaned(cells)[0]]
    return [(_WHOLE.sub(r"\1", one) if _WHOLE.fullmatch(one) else one) if "." in one else one for one in ids]


def cleaned(texts: Sequence[str]) -> tuple[list[str], int]:
    """Texts without control characters, and how many had some."""
    faulty = [place for place, text in enumerate(texts) if not is_text(text)]
    result = list(texts)
    for place in faulty:
        result[place] = "".join(letter for letter in texts[place] if is_text(letter)).strip()
    return result, len(faulty)


def usual_columns(header: Sequence[str], usual: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The columns of a header by what they are for, where they have one of the usual names, in small letters."""
    small = {name.lower(): name for name in reversed(header)}
    named = {key: next((small[name] for name in names if name in small), "") for key, names in usual.items()}
    return {key: name for key, name in named.items() if name}


def open_csv(path: Path, *, encoding: str = UTF_8, **reading: Any) -> CsvText:
    """A CSV file of which only the header is read yet."""
    try:
        text = read_text(path, encoding)
    except UnreadableError as error:
        more = " (name its encoding in the mapping file)" if "not UTF-8" in str(error) else ""
        raise InputError(f"{path}: {error}{more}") from error
    with readable(path.name):
        return CsvText(text, name=path.name, **reading)


def _places(text: CsvText, wanted: Mapping[str, str], where: str) -> list[int]:
    """The position of each wanted column."""
    header = text.header
    if not header:
        raise InputError(f"{text.name}: expected a header row, got an empty one")
    if other := text.other_separator:
        words = f"expected {shown(text.separator)} between the columns, got {other!r}"
        raise InputError(f"{text.name}: {words} (separator in the mapping file)")
    for key, name in wanted.items():
        if name not in header:
            listed = ", ".join(plain(column) for column in header[:MAX_LISTED] if column)
            more = ", ..." if len(header) > MAX_LISTED else ""
            missing = f"missing column {plain(name)}, the {key}{where}{near(name, header)}"
            raise InputError(f"{text.name}: {missing}; its columns: {listed}{more}")
        if repeated := text.repeated(name):
            raise InputError(f"{text.name}: {repeated}")
    return [header.index(name) for name in wanted.values()]


def refuse_if_most(rejected: Sequence[RejectedRow], num_rows: int, what: str) -> None:
    """Raise an InputError if most rows of a file were rejected: then something is wrong with all of them."""
    if 2 * len(rejected) > num_rows:
        first = rejected[0]
        where = f"the first in row {first.row}: " if first.row else "the first: "
        raise InputError(
            f"{first.file}: {len(rejected):,} of {num_rows:,} {what} cannot be used, {where}{first.reason}"
        )
