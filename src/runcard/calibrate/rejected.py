"""Rows of a log that are not used: counted by reason, and written to a file with their line numbers."""

import csv
import io
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

SECOND_FILE: Final = "incidents file: "
"""The begin of the reasons for which rows of the second file are rejected."""
HEADER: Final = ("line", "reason", "incident", "unit", "found")


@dataclass(slots=True)
class Rejected:
    """What was rejected while a log was read, and in which file."""

    rows: list[tuple[int, str, str, str, str]] = field(default_factory=list)
    misshapen: int = 0
    """Those of them with another number of cells than the header."""

    def add(self, line: int, reason: str, *, incident: str = "", unit: str = "", found: str = "") -> None:
        """Note that a line is not used."""
        self.rows.append((line, reason, incident, unit, found))

    def in_order(self) -> None:
        """Put them in the order of their lines, those of the second file first."""
        self.rows.sort(key=lambda row: (not row[1].startswith(SECOND_FILE), row[0]))

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows for each reason, most common first."""
        return dict(Counter(row[1] for row in self.rows).most_common())

    def __len__(self) -> int:
        return len(self.rows)

    def csv_text(self) -> str:
        """All of them as a table, in the order of their lines."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(sorted(self.rows))
        return out.getvalue()
