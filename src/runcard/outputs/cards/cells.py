"""The cells of run cards: lists of units, and text that no spreadsheet takes for a formula.

A cell that begins with = + - @ (also in their wide forms), or has one of these after a character that a spreadsheet may
split cells at, gets an apostrophe before it; reading takes it away again. Numbers are written as numbers.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from runcard.errors import InputError

ENCODING: Final = "utf-8-sig"
"""Of CSV files for spreadsheets: Excel takes a file without a byte order mark for another encoding and spoils names."""
BETWEEN_UNITS: Final = " + "
"""Of a line."""
BETWEEN_HOUSES: Final = " > "
WITHIN_HOUSE: Final = " / "
BETWEEN_BUSY: Final = ", "

_DANGER: Final = "[=+\\-@\uff1d\uff0b\uff0d\uff20\u2212]"
_START: Final = "(^|[;,|\t\r\n][ \t\r\n]*|^[ \t\r\n]+)"
_UNSAFE: Final = re.compile(f"{_START}('*{_DANGER})")
_MADE_SAFE: Final = re.compile(f"{_START}'('*{_DANGER})")


def safe_text(text: str) -> str:
    """The text as a cell that is no formula, in whatever way a spreadsheet splits the file."""
    return _UNSAFE.sub(r"\1'\2", text)


def csv_text(rows: Iterable[Iterable[str | float | None]]) -> str:
    """Rows as CSV for spreadsheets: they end with CRLF, and no text is a formula."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([safe_text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue()


def plain_text(cell: str) -> str:
    """The text of a cell that was made safe, or was safe before."""
    return _MADE_SAFE.sub(r"\1\2", cell)


def checked_ids(ids: Iterable[str]) -> None:
    """Raise an InputError if a unit could not be told from a list of units."""
    for one in ids:
        if one != one.strip():
            raise InputError(f"unit {one!r}: expected an id without spaces around it")
        for mark in (BETWEEN_UNITS, BETWEEN_HOUSES, WITHIN_HOUSE, BETWEEN_BUSY):
            if mark in f" {one} ":  # "E1 +" has the mark, too, as soon as another unit follows
                where = f"without {mark.strip()!r} as a word of its own"
                raise InputError(f"unit {one!r}: expected an id {where}, which stands between units on cards")


def units_cell(units: Sequence[str]) -> str:
    """The units of a line: E01 + E07."""
    return BETWEEN_UNITS.join(units)


@lru_cache(maxsize=4096)
def units_of(text: str) -> tuple[str, ...]:
    """The units of such a cell."""
    return tuple(one.strip() for one in text.split(BETWEEN_UNITS)) if text.strip() else ()


def houses_cell(houses: Sequence[Sequence[str]]) -> str:
    """Units in the order in which they go, those of one house together: E01 / E02 > E05."""
    return BETWEEN_HOUSES.join(WITHIN_HOUSE.join(units) for units in houses)


@lru_cache(maxsize=4096)  # a file has the same cell on many rows
def houses_of(text: str) -> tuple[tuple[str, ...], ...]:
    """The units of each house of such a cell."""
    return tuple(
        tuple(one.strip() for one in house.split(WITHIN_HOUSE)) for house in text.split(BETWEEN_HOUSES) if house.strip()
    )
