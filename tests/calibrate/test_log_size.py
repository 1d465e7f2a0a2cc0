"""A log of a million rows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.calibrate.cities import road_city, true_city

from runcard.calibrate.generator import generate_log
from runcard.calibrate.mapping import read_mapping

ROWS, SECONDS, BYTES = 1_000_000, 30.0, 2 << 30

READ = """
import json, resource, sys, time
from pathlib import Path
from runcard.calibrate.log import read_log
from runcard.calibrate.mapping import read_mapping
begin = time.process_time()  # others may use this machine, too
log = read_log(Path(sys.argv[1]), read_mapping("san-francisco"))
seconds = time.process_time() - begin
peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([len(log.responses), len(log.incidents), len(log.rejected), log.num_rows, seconds, peak]))
"""


def write_rows(path: Path) -> tuple[int, int, int]:
    """Write a log of a million rows, a few thousand made-up ones again and again with other ids."""
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
def test_a_million_rows_are_read_in_half_a_minute_and_two_gibibytes(tmp_path: Path) -> None:
    """The time and the memory of a process that reads it stay below the limits, and every row is accounted for."""
    num_rows, num_spoilt, num_incidents = write_rows(tmp_path / "calls.csv")
    ran = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path / "calls.csv")], capture_output=True, text=True, check=True
    )
    responses, incidents, rejected, rows, seconds, peak = json.loads(ran.stdout)
    print(f"{rows:,} rows in {seconds:.1f} s and {peak / 2**30:.2f} GiB")
    assert rows == num_rows >= 0.98 * ROWS
    assert rejected >= num_spoilt
    assert responses == rows - rejected
    assert incidents <= num_incidents
    assert seconds < SECONDS
    assert peak < BYTES
