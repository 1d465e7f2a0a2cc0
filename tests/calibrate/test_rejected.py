"""Rows that are not used."""

import csv
import io

from runcard.calibrate.rejected import HEADER, Rejected


def test_rows_are_counted_by_reason_and_listed_by_line() -> None:
    """Reasons are counted, the most common first, and the table has every row in the order of lines, well quoted."""
    rejected = Rejected()
    rejected.add(7, "b", incident='1,"2"', unit="E1", found="x\ny")
    rejected.add(3, "a")
    rejected.add(5, "b")
    assert list(rejected.counts.items()) == [("b", 2), ("a", 1)]
    assert len(rejected) == 3
    rows = list(csv.reader(io.StringIO(rejected.csv_text())))
    assert rows == [
        list(HEADER), ["3", "a", "", "", ""], ["5", "b", "", "", ""], ["7", "b", '1,"2"', "E1", "x\ny"],
    ]  # fmt: skip
