"""A log of many rows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.calibrate.cities import road_city, true_city

from runcard.calibrate.generator import generate_log
from runcard.calibrate.mapping import read_mapping

ROWS, BYTES_PER_ROW = 200_000, 2 << 10

READ = """
import json, resource, sys
from pathlib import Path
from runcard.calibrate.log import read_log
from runcard.calibrate.mapping import read_mapping
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
log = read_log(Path(sys.argv[1]), read_mapping("san-francisco"))
taken = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
print(json.dumps([len(log.responses), len(log.incidents), len(log.rejected), log.num_rows, taken]))
"""


def write_rows(path: Path) -> tuple[int, int, int]:
    """Write a log of many rows, a few thousand made-up ones again and again with other ids."""
    made = generate_log(true_city(road_city()), read_mapping("san-francisco"), incidents=10_000, dirt=0.05)
    header, *rows = made.text.splitlines(keepends=True)
    copies, spoilt = ROWS // len(rows), sum(made.dirt.values())
    with path.open("w", newline="") as file:
        file.write(header)
        for copy in range(copies):
            # Rows without a unit stay so.
            file.writelines(f"{copy}-{row if ', ,' in row else row.replace(',', f',{copy}-', 1)}" for row in rows)
    never = made.dirt["the unit was still busy with another incident"]  # such a row has an incident of its own
    return copies * len(rows), copies * spoilt, copies * (10_000 + never)


@pytest.mark.slow
def test_many_rows_are_read_in_two_kibibytes_each(tmp_path: Path) -> None:
    """The memory of a process that reads them stays below the limit, and every row is accounted for."""
    num_rows, num_spoilt, num_incidents = write_rows(tmp_path / "calls.csv")
    ran = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path / "calls.csv")], capture_output=True, text=True, check=True
    )
    responses, incidents, rejected, rows, taken = json.loads(ran.stdout)
    assert rows == num_rows >= 0.9 * ROWS
    assert rejected >= num_spoilt
    assert responses == rows - rejected
    assert incidents <= num_incidents
    assert taken < BYTES_PER_ROW * rows
