"""Columns of other people's files."""

from pathlib import Path

import numpy as np
import pytest

from runcard.city.importers.rows import Columns, cleaned, open_csv, to_ids, to_numbers
from runcard.errors import InputError


def test_rows_are_numbered_as_a_spreadsheet_does(tmp_path: Path) -> None:
    """What stands above the header counts, blank rows count and are left out, and short rows are filled up."""
    path = tmp_path / "a.csv"
    path.write_text("a title\nb,a,\n1,2\n\n,,\n3\n")
    found = Columns.read(open_csv(path, skip_rows=1), {"id": "b", "x": "a"})
    assert found.row_numbers == [3, 6]
    assert found.cells == {"id": ("1", "3"), "x": ("2", "")}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "expected a header row, got an empty one"),
        (b"id,xx,y\n", "missing column x, the x of"),
        (b"id,x,y\n", "expected at least one row below the header"),
        (b"id,x,x,y\n1,2,3,4\n", "expected column x once, got it 2 times"),
        (b"id;x;y\n1;2;3\n", "expected ',' between the columns, got ';'"),
        (b"id,x,y\n\xe9,2,3\n", "row 2 is not UTF-8 text: got byte 0xe9 .name its encoding"),
        (b'id,x,y\n"1,2,3\n', r"a\.csv: row 2 is not valid CSV"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    """What is wrong with a file as a whole stops the import, with the file and what was expected."""
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        Columns.read(open_csv(path), {"id": "id", "x": "x", "y": "y"}, "nodes")


def test_a_column_that_is_nearly_there_is_suggested(tmp_path: Path) -> None:
    """The error names the section, what is near, and the columns that there are."""
    path = tmp_path / "a.csv"
    path.write_text("osm_id,x\n1,2\n")
    with pytest.raises(
        InputError, match=r"missing column osmid, the id of \[nodes\] .did you mean osm_id\?.; its columns"
    ):
        Columns.read(open_csv(path), {"id": "osmid"}, "nodes")


def test_encodings_and_separators_can_be_named(tmp_path: Path) -> None:
    """Latin-1 with semicolons is read if the mapping says so; a wrong name is a sentence."""
    path = tmp_path / "a.csv"
    path.write_bytes("id;name\n1;Zürich\n".encode("latin-1"))
    found = Columns.read(open_csv(path, encoding="latin-1", separator=";"), {"name": "name"})
    assert found.cells["name"] == ("Zürich",)
    with pytest.raises(InputError, match="expected a known encoding, got 'latin-99'"):
        Columns.read(open_csv(path, encoding="latin-99", separator=";"), {"name": "name"})


def test_numbers_ids_and_texts() -> None:
    """Empty cells are no mistake, words are; whole numbers with a dot are ids without; control characters go."""
    numbers, wrong = to_numbers(["1", "", "nan", "x", "inf", "-2.5e1"])
    assert wrong.tolist() == [False, False, False, True, True, False]
    assert numbers[[0, 5]].tolist() == [1.0, -25.0]
    assert np.isnan(numbers[1])
    assert to_ids([" 12.0 ", "12.50", "a.0", "-3.", "7"]) == ["12", "12.50", "a.0", "-3", "7"]
    assert cleaned(["a\x1bb", "ok", "\u202ex"]) == (["ab", "ok", "x"], 2)


def test_many_rows_are_read_in_pieces(tmp_path: Path) -> None:
    """No row of a file of 100,000 is lost or read twice."""
    path = tmp_path / "a.csv"
    row = "{0},{0},{1},12.5,30,residential\n"
    path.write_text("id,u,v,length,speed,class\n" + "".join(row.format(one, one + 1) for one in range(100_000)))
    found = Columns.read(open_csv(path), {"id": "id", "from": "u", "to": "v", "length": "length"})
    assert float(found.numbers("length").sum()) == 12.5e5
