"""CSV texts and files, as every reader of the program sees them."""

import os
import sys
from pathlib import Path

import pytest

from runcard.city.conditions import UnreadableError
from runcard.city.csv_text import CsvText, read_text


def test_rows_have_the_numbers_that_a_spreadsheet_shows() -> None:
    """Blank rows and what stands above the header count, and a cell of several lines is one row."""
    text = CsvText('a title\n\n a ,b\n, \n"1\n2",\n\n3,4\n', skip_rows=1)
    assert text.header == ["a", "b"]
    assert list(text.rows) == [(5, ["1\n2", ""]), (7, ["3", "4"])]
    assert CsvText(" , \n\n").header == []


def test_a_quote_that_is_never_closed_is_named_by_its_row() -> None:
    """Not by the end of the text, or by the quote that seems to close it, where the reader notices it."""
    for rest, reason in (("5,6\n", "a quote is opened there and never closed"), ('5,"6"\n', "',' expected after '\"'")):
        with pytest.raises(UnreadableError) as caught:
            list(CsvText(f'a,b\n1,2\n3,"4\n{rest}7,8\n').rows)
        assert str(caught.value) == f"row 3 is not valid CSV: {reason}"


@pytest.mark.parametrize(
    ("header", "separator", "other"),
    [("a;b", ",", ";"), ("a\tb", ",", "\t"), ("a|b", ";", "|"), ("a,b", ";", ","), ("a;b,c", ",", ""), ("a", ",", "")],
)
def test_another_separator_is_noticed(header: str, separator: str, other: str) -> None:
    """Where a header is a single name with one in it."""
    assert CsvText(header, separator=separator).other_separator == other


def test_a_file_that_is_no_text_is_a_sentence(tmp_path: Path) -> None:
    """One that is not there, a folder, a name that none can have, other bytes, and an encoding that nobody knows."""
    (tmp_path / "bytes").write_bytes(b"a\nb\n\xff")
    (tmp_path / "mark").write_bytes(b"\xef\xbb\xbfz\xc3\xbc")
    for name, encoding, words in (
        ("none", "utf-8-sig", "the file is missing"),
        ("", "utf-8-sig", "expected a file, got a folder"),
        ("a\0b", "utf-8-sig", "the file cannot be read: "),
        ("bytes", "utf-8-sig", "row 3 is not UTF-8 text: got byte 0xff"),
        ("bytes", "ascii", "row 3 is not ascii text: got byte 0xff"),
        ("bytes", "latin-99", "expected a known encoding, got 'latin-99'"),
    ):
        with pytest.raises(UnreadableError, match=words):
            read_text(tmp_path / name, encoding)
    assert read_text(tmp_path / "mark") == "zü"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes on Windows")
def test_nobody_waits_for_a_pipe(tmp_path: Path) -> None:
    """Nothing would ever come from it."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableError, match="expected a file, got a device or a pipe"):
        read_text(tmp_path / "pipe")
