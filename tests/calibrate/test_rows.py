"""The rows of files as numbers: the cells that Python's csv finds, with or without a tidy copy."""

import csv
from pathlib import Path

import pytest

from runcard.calibrate import rows
from runcard.calibrate.clock import Clock
from runcard.calibrate.mapping import LogMapping
from runcard.calibrate.rejected import Rejected
from runcard.calibrate.rows import Source, read_rows

COLUMNS = {"incident": "i", "unit": "u", "x": "x", "y": "y", "dispatched": "d"}


def cells_of(path: Path, rejected: Rejected) -> list[tuple[int, str, str, str]]:
    """What stands in the rows of a file: line, incident, unit, time."""
    mapping = LogMapping("m", COLUMNS, every_kind="engine")
    found = read_rows([Source(path, COLUMNS)], mapping, Clock("iso", None).day_pattern, rejected)
    incident, unit, (day, clock) = found.columns["incident"], found.columns["unit"], found.times["dispatched"]
    return [(line, incident.text(row), unit.text(row), day.text(row) + clock.text(row))
            for row, line in enumerate(found.lines.tolist())]  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_as_it_should_be_is_read_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """Where every line is a row, of any width, no copy is made, with a byte order mark or without a last line end."""
    monkeypatch.setattr(rows, "TemporaryDirectory", None)
    path = tmp_path / "log.csv"
    lines = [
        "i,u,x,y,d",
        '1,"E,""1""",1,2,2024-05-01T10:00',
        '2,5" pump,,,',
        ",\xa0ü ,,,soon",
        "1,",
        "1,E1,,,,",
        '"",T1,,," 10:00"',
    ]
    for encoding, last in (("utf-8", end), ("utf-8-sig", "")):
        path.write_bytes((end.join(lines) + last).encode(encoding))
        rejected = Rejected()
        assert cells_of(path, rejected) == [
            (2, "1", 'E,"1"', "2024-05-01T10:00"), (3, "2", '5" pump', ""), (4, "", "ü", "soon"),
            (7, "", "T1", "10:00"),
        ]  # fmt: skip
        assert rejected.rows == [(5, "expected 5 cells", "", "", "2 cells"), (6, "expected 5 cells", "", "", "6 cells")]


@pytest.mark.slow
def test_any_other_file_has_the_cells_that_csv_finds(tmp_path: Path) -> None:
    """Quotes where none belong, lone carriage returns, empty lines and mixed line ends are read as csv reads them."""
    path, good = tmp_path / "log.csv", "7,E7,1,2,2024-05-01T10:00\n"
    for line in ('1, "E1",,,\n', '1,"E1" ,,,\n', '1,"E"1,,,\n', '1,"E\n1",,,\n', "1,E\r1,,,\n", "1,E1,,,\r\n", "\n",
                 '1,E1,,,"\n', "1,E1,,,\0\n", '1,"E\r1",,,\n', " ,\n", "1,E1,,,,\n"):  # fmt: skip
        path.write_text(f"i,u,x,y,d\n{line}{good}", newline="")
        expected, wrong, rejected = [], [], Rejected()
        with path.open(newline="") as file:
            reader = csv.reader(file)
            next(reader)
            first = 2
            for cells in reader:
                if len(cells) == 5:
                    expected.append((first, *(cells[place].strip() for place in (0, 1, 4))))
                elif cells:
                    wrong.append((first, "expected 5 cells", "", "", f"{len(cells)} cells"))
                first = reader.line_num + 1
        assert cells_of(path, rejected) == expected, line
        assert rejected.rows == wrong, line


def test_cells_as_long_as_csv_takes_them(tmp_path: Path) -> None:
    """Long cells are read to their end, also where all of them together are megabytes."""
    path, long = tmp_path / "log.csv", "漢" * (csv.field_size_limit() - 1)
    path.write_text(f"i,u,x,y,d\n{','.join([long] * 5)}\n1,E1,,,\n", encoding="utf-8")
    assert cells_of(path, Rejected()) == [(2, long, long, long), (3, "1", "E1", "")]
