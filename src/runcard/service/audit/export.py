"""The audit log as a table: a row for every decision, kind and standard, with the outcome that counts.

CSV is as in run cards: UTF-8 with a byte order mark, CRLF, and no cell that is a formula, whatever somebody wrote as
the reason of an override. Parquet has the same columns with types. Times are in UTC, and in CSV all of one form. JSON
lines have whole documents as they are, with every outcome.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from runcard.database import memory_database
from runcard.errors import InputError
from runcard.output_file import check_output_file, fill_whole
from runcard.outputs.cards.cells import ENCODING, csv_text, units_cell
from runcard.outputs.parquet import our_errors, write_parquet
from runcard.service.audit.outcomes import moment_of
from runcard.service.audit.scores import known_outcome, scores_of

COLUMNS: Final[Mapping[str, str]] = {
    "decision_id": "VARCHAR",
    "time": "TIMESTAMP WITH TIME ZONE",
    "reference": "VARCHAR",
    "policy": "VARCHAR",
    "policy_version": "VARCHAR",
    "period": "VARCHAR",
    "answered_by": "VARCHAR",
    "fallback": "BOOLEAN",
    "fallback_version": "VARCHAR",
    "idle": "VARCHAR",
    "moved": "VARCHAR",
    "node": "VARCHAR",
    "area": "VARCHAR",
    "type": "VARCHAR",
    "kind": "VARCHAR",
    "recommended": "VARCHAR",
    "standard": "VARCHAR",
    "arrivals": "BIGINT",
    "target_minutes": "DOUBLE",
    "chance": "DOUBLE",
    "predicted_first_minutes": "DOUBLE",
    "outcome_recorded": "TIMESTAMP WITH TIME ZONE",
    "outcomes": "BIGINT",
    "sent": "VARCHAR",
    "sent_at": "TIMESTAMP WITH TIME ZONE",
    "followed": "BOOLEAN",
    "overridden_by": "VARCHAR",
    "override_reason": "VARCHAR",
    "first_minutes": "DOUBLE",
    "counted_minutes": "DOUBLE",
    "met": "BOOLEAN",
}
"""Every column with its type in Parquet."""

ANSWERED: Final = ("answered_by", "fallback", "fallback_version")
SCORED: Final = ("kind", "chance", "followed", "first_minutes", "counted_minutes", "met")
ROWS_AT_ONCE: Final = 500

Row = dict[str, Any]


def rows_of(decision: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of a decision; what is not known is None."""
    policy: Mapping[str, Any] = decision.get("policy") or {}
    outcome = known_outcome(decision) or {}
    same: Row = {
        "decision_id": decision["decision_id"],
        "time": _in_utc(decision["time"]),
        "reference": (decision.get("request") or {}).get("reference"),
        "policy": policy.get("name"),
        "policy_version": policy.get("version"),
        "period": policy.get("period"),
        "outcome_recorded": _in_utc(outcome.get("recorded")),
        "outcomes": len(decision.get("outcomes") or ()),
        "sent_at": _in_utc(outcome.get("sent") or (decision["time"] if outcome else None)),
        "overridden_by": outcome.get("overridden_by"),
        "override_reason": outcome.get("override_reason"),
    } | {name: decision.get(name) for name in (*ANSWERED, "node", "area", "type", "idle", "moved")}
    if "idle" in decision:  # older records do not say it
        same |= {"idle": units_cell(decision["idle"]), "moved": _moved_cell(decision["moved"])}
    for score in scores_of(decision):
        standard = score.standard
        row = same | {name: getattr(score, name) for name in SCORED}
        row |= {
            "recommended": units_cell(score.units),
            "standard": None if standard is None else standard.words,
            "arrivals": None if standard is None else standard.arrivals,
            "target_minutes": None if standard is None else standard.target_minutes,
            "predicted_first_minutes": score.predicted_minutes,
            "sent": None if score.sent is None else units_cell(score.sent),
        }
        yield {name: row[name] for name in COLUMNS}


def _moved_cell(moved: Mapping[str, Mapping[str, Any]]) -> str:
    """Where units were, as `runcard decide --from` takes it: E07=hill-a2 + E10=@0.3,1.2."""
    places = {unit: place.get("node") or f"@{place['x']!r},{place['y']!r}" for unit, place in moved.items()}
    return units_cell([f"{unit}={place}" for unit, place in places.items()])


def _in_utc(text: str | None) -> datetime | None:
    """A time of the log."""
    return None if text is None else moment_of(text, "audit log").astimezone(UTC)


def csv_of(decisions: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """The table as CSV, piece by piece, so that a log of any length can be sent."""
    yield csv_text([COLUMNS]).encode(ENCODING)
    for rows in _in_groups(decisions):
        yield csv_text(map(_cell, row.values()) for row in rows).encode()


def _in_groups(decisions: Iterable[Mapping[str, Any]]) -> Iterator[list[Row]]:
    """The rows of decisions, so many at once."""
    rows = chain.from_iterable(map(rows_of, decisions))
    while group := list(islice(rows, ROWS_AT_ONCE)):
        yield group


def _cell(value: Any) -> Any:
    """A value as a cell: truth as 1 and 0, and times of one form."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return value


def write_csv(decisions: Iterable[Mapping[str, Any]], path: Path) -> Path:
    """The CSV file that now holds the table."""
    return _write_pieces(path, csv_of(decisions))


def write_json_lines(decisions: Iterable[Mapping[str, Any]], path: Path) -> Path:
    """The file that now holds a decision on each line, with all its outcomes."""
    return _write_pieces(path, (f"{json.dumps(decision)}\n".encode() for decision in decisions))


def _write_pieces(path: Path, pieces: Iterable[bytes]) -> Path:
    """The file that now holds some pieces, one after another."""

    def fill(draft: Path) -> None:
        with draft.open("wb") as file:
            file.writelines(pieces)

    return fill_whole(path, fill)


def write_table(decisions: Iterable[Mapping[str, Any]], path: Path) -> Path:
    """The Parquet file that now holds the table."""
    check_output_file(path)
    values = ", ".join(f"unnest(?::{kind}[])" for kind in COLUMNS.values())
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    with memory_database() as database, our_errors(path):
        database.execute(f"CREATE TABLE rows ({columns})")
        for rows in _in_groups(decisions):
            database.execute(f"INSERT INTO rows SELECT {values}", [[row[name] for row in rows] for name in COLUMNS])
        return write_parquet(database, "SELECT * FROM rows", path)


def export(decisions: Iterable[Mapping[str, Any]], path: Path) -> Path:
    """The file that now holds the log, by its ending."""
    writers = {".csv": write_csv, ".parquet": write_table, ".jsonl": write_json_lines}
    if path.suffix.lower() not in writers:
        raise InputError(f"{path}: expected a name that ends in .csv, .parquet or .jsonl")
    return writers[path.suffix.lower()](decisions, path)
