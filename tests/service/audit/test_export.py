"""The audit log as a table."""

import csv
import io
import json
from datetime import datetime
from pathlib import Path

import duckdb
import pytest
from tests.service.audit.made_up import made_up, outcome_of

from runcard.errors import InputError
from runcard.outputs.cards.cells import plain_text
from runcard.service.audit.export import COLUMNS, csv_of, export, rows_of

DANGER = '=HYPERLINK("http://example.com")'
HOSTILE = {"overridden_by": "@cmd", "override_reason": f"late, {DANGER}\r\n;+1"}
LOG = [
    made_up(0, outcomes=[outcome_of(0, 3.0, 5.0), outcome_of(0, 7.0, 8.5)]),
    made_up(1, outcomes=[outcome_of(1, 4.0, None, units=("E1", "E3")) | HOSTILE], request={"reference": "-12"}),
    made_up(2, idle=["E1", "E2"], moved={"E1": {"node": "n4"}, "E2": {"x": 0.3, "y": -1.25}}),
]


def test_a_row_has_what_was_predicted_and_what_was_seen() -> None:
    """By hand: the last outcome counts, and without one nothing is known."""
    (first,), (second,), (third,) = (list(rows_of(one)) for one in LOG)
    assert list(first) == list(COLUMNS)
    assert first["standard"] == "fire: first engine within 6 min"
    assert (first["recommended"], first["sent"], first["followed"]) == ("E1 + E2", "E1 + E2", True)
    assert (first["chance"], first["met"], first["outcomes"]) == (0.8, False, 2)
    assert (first["first_minutes"], first["counted_minutes"]) == (7.0, 7.0)
    assert (second["reference"], second["followed"], second["met"]) == ("-12", False, True)
    assert (first["idle"], third["idle"], third["moved"]) == (None, "E1 + E2", "E1=n4 + E2=@0.3,-1.25")
    assert (third["sent"], third["sent_at"], third["followed"], third["met"]) == (None, None, None, None)


def test_an_outcome_without_a_time_was_sent_at_that_of_the_decision() -> None:
    """As the reference says; arrivals are counted from there."""
    outcome = {key: value for key, value in outcome_of(0, 7.0).items() if key != "sent"}
    (row,) = rows_of(made_up(0, outcomes=[outcome]))
    assert (row["sent_at"], row["first_minutes"]) == (row["time"], 7.0)


def test_no_cell_of_the_csv_is_a_formula_and_all_of_it_comes_back() -> None:
    """Whatever a dispatcher writes as a reason, a spreadsheet shows it and does not run it."""
    text = b"".join(csv_of(LOG)).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["met"] for row in rows] == ["0", "1", ""]
    for row in rows:
        for name, cell in row.items():
            is_text = COLUMNS[name] == "VARCHAR"
            assert not (is_text and cell.lstrip().startswith(("=", "+", "-", "@"))), cell
    assert rows[1]["override_reason"].startswith("late, '=")
    assert plain_text(rows[1]["override_reason"]) == HOSTILE["override_reason"]
    assert plain_text(rows[1]["overridden_by"]) == "@cmd"
    assert plain_text(rows[1]["reference"]) == "-12"


def test_csv_and_parquet_hold_the_same(tmp_path: Path) -> None:
    """Parquet has types, and the texts as they were; an empty log is a table without rows."""
    path = export(iter(LOG), tmp_path / "log.parquet")
    found = duckdb.sql(f"SELECT * FROM '{path}'")
    assert dict(zip(found.columns, map(str, found.types), strict=True)) == dict(COLUMNS)
    # Python has no times with a zone from it without one more package.
    times = [name for name, kind in COLUMNS.items() if kind.startswith("TIMESTAMP")]
    micros = ", ".join(f"epoch_us({name}) AS {name}" for name in times)
    found = duckdb.sql(f"SELECT * REPLACE ({micros}) FROM '{path}'")
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    expected = [row for one in LOG for row in rows_of(one)]
    for row in expected:
        row |= {name: None if row[name] is None else round(row[name].timestamp() * 1e6) for name in times}
    assert rows == expected
    empty = export([], tmp_path / "empty.parquet")
    assert duckdb.sql(f"SELECT * FROM '{empty}'").fetchall() == []
    export([], tmp_path / "empty.csv")
    assert (tmp_path / "empty.csv").read_text("utf-8-sig").strip() == ",".join(COLUMNS)


def test_times_have_one_form() -> None:
    """Whatever zone and digits they were given with, in the table they are in UTC and read by one pattern."""
    given = outcome_of(0) | {"sent": "2026-11-01T01:00:10+01:00", "recorded": "2026-11-01T00:01:10Z"}
    text = b"".join(csv_of([made_up(0, time="2026-11-01T00:00:00.185069Z", outcomes=[given])])).decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    times = [datetime.strptime(row[name], "%Y-%m-%dT%H:%M:%S.%f%z") for name in ("time", "sent_at", "outcome_recorded")]
    assert [time.isoformat()[17:] for time in times] == ["00.185069+00:00", "10+00:00", "10+00:00"]
    assert row["sent_at"].startswith("2026-11-01T00:00:10.")


def test_lines_of_json_hold_everything(tmp_path: Path) -> None:
    """Every outcome and every key of a document."""
    lines = export(LOG, tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == LOG


def test_another_ending_is_refused(tmp_path: Path) -> None:
    """The sentence says which there are."""
    with pytest.raises(InputError, match=r"expected a name that ends in \.csv, \.parquet or \.jsonl"):
        export(LOG, tmp_path / "log.xlsx")
