"""The database in memory."""

import subprocess
import sys

import pytest

from runcard.database import interruptible

SLOW_QUERY = """
from runcard.database import memory_database
with memory_database() as database:
    database.execute("SET progress_bar_time = 1")  # milliseconds
    database.execute("CREATE TABLE numbers AS SELECT range AS n FROM range(3000000)")
    database.execute("SELECT sum(n * n % 7), count(DISTINCT n % 1000) FROM numbers ORDER BY ALL").fetchall()
"""


def test_it_draws_no_progress_where_it_takes_the_process_for_a_person() -> None:
    """Of a program without a file, as in `python -c` and notebooks, it would write a bar to the standard output."""
    ran = subprocess.run([sys.executable, "-c", SLOW_QUERY], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")


def test_an_interruption_stays_one() -> None:
    """Its own error for Ctrl-C is a KeyboardInterrupt; other errors stay what they are."""
    with pytest.raises(KeyboardInterrupt), interruptible():
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="full"), interruptible():
        raise RuntimeError("the disk is full")
