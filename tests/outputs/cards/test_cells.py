"""Tests of the cells of run cards: no formula, and what is written is read."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.errors import InputError
from runcard.outputs.cards.cells import checked_ids, houses_cell, houses_of, plain_text, safe_text, units_cell, units_of

HOSTILE = [
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "'=1", "''=1", "=cmd|' /C calc'!A0", "a;=1", "a,-1", "a\n=1",
    "＝1", "'", "it's", "E01", "", "a'=b", '"=1"', "a; =HYPERLINK(1)",
]  # fmt: skip


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet may take a cell for a formula."""
    return cell.lstrip(" \t\r\n")[:1] in tuple("=+-@＝＋－＠−")


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_a_formula(text: str) -> None:
    """A cell is no formula, not even if the file is split at semicolons, tabs or line ends, and reads as it was."""
    cell = safe_text(text)
    assert plain_text(cell) == text
    for delimiter in ",;\t|\n":
        assert not any(is_formula(part) for part in cell.split(delimiter)) or not cell


@given(st.text(alphabet="=+-@'\t\r\n ;,|aE1＝", max_size=12))
def test_texts_are_read_as_they_were(text: str) -> None:
    """Making a text safe and plain again gives the text, whatever it is, and safe texts are no formulas."""
    assert plain_text(safe_text(text)) == text
    assert not is_formula(safe_text(text))


@pytest.mark.parametrize("text", HOSTILE)
def test_cells_survive_a_file(text: str) -> None:
    """A cell that is written to CSV and read is the same text."""
    content = io.StringIO(newline="")
    csv.writer(content).writerow([safe_text(text), "x"])
    (row,) = csv.reader(io.StringIO(content.getvalue(), newline=""))
    assert plain_text(row[0]) == text


def test_lists_of_units() -> None:
    """Units of a line and of houses are read as they were written."""
    assert units_of(units_cell(("E01", "E07"))) == ("E01", "E07")
    houses = (("E01", "E02"), ("E 5",), ("-1",))
    assert houses_of(plain_text(safe_text(houses_cell(houses)))) == houses
    assert units_of("") == ()


@pytest.mark.parametrize("unit_id", ["E1 + E2", "E1 > E2", "E1 / E2", "E1, E2", "E1 +", "> E1", "/"])
def test_ids_that_look_like_lists_are_refused(unit_id: str) -> None:
    """A unit whose id has what stands between units is an error: cards could not be read back."""
    with pytest.raises(InputError, match="stands between units"):
        checked_ids([unit_id])
