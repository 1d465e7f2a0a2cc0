"""The list of rows that an import left out, as a file beside the city."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from runcard.output_file import write_whole

REJECTED_FILE: Final = "import-rejected.csv"


def write_rejected(rejected: Iterable[tuple[str, int, str]], folder: Path) -> Path | None:
    """The file that lists rows as file, row and reason; None if there are none, and then a list of before is gone."""
    path = folder / REJECTED_FILE
    rows = [(file, row or "", reason) for file, row, reason in rejected]
    if not rows:
        path.unlink(missing_ok=True)
        return None
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("file", "row", "reason"))
    writer.writerows(rows)
    return write_whole(path, text.getvalue().encode())
