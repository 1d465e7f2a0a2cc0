"""The command line as a process of its own: start-up time, pipes, and being stopped half way."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.children import default_signals

pytestmark = pytest.mark.slow

RUN = "import sys; from runcard.cli import main; sys.exit(main())"

STOP_HALF_WAY = """
import sys, time
from runcard.cli.progress import ShownSteps

def half_way(self, progress):
    print("half way", flush=True)
    time.sleep(60)

ShownSteps.bounds = half_way
from runcard.cli import main
sys.exit(main())
"""
"""A solve that stands still after its first improvement and says so, so that a test can stop it just there."""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that runs some code with these arguments."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with default_signals():
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def errors_of(err: str) -> str:
    """What is on standard error, less the lines about the progress of work that takes long on a busy machine."""
    return re.sub(r"^runcard: .*, \d+ s\n", "", err, flags=re.MULTILINE)


def test_a_whole_session(tmp_path: Path) -> None:
    """Generate, solve and decide work one after the other as separate processes, and print nothing odd."""
    commands = [
        ["generate", "city", "--side", "4", "--stations", "3"],
        ["solve", "city", "-o", "a.policy"],
        ["decide", "a.policy", "--at", "n3", "--idle", "s0,s2", "--json"],
    ]
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-c", RUN, *command], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert errors_of(done.stderr) == ""
    assert json.loads(done.stdout)["team"] == ["s0", "s2"]


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_solve_that_is_stopped_leaves_no_file(grid_folder: Path, tmp_path: Path, stop: signal.Signals) -> None:
    """Ctrl-C gives one line and exit code 130; even a kill leaves nothing half-written."""
    process = start(STOP_HALF_WAY, "solve", grid_folder, "-o", tmp_path / "a.policy")
    assert process.stdout is not None
    assert process.stdout.readline() == "half way\n"
    process.send_signal(stop)
    _, err = process.communicate(timeout=30)
    assert list(tmp_path.iterdir()) == []
    if stop == signal.SIGINT:
        assert (process.returncode, errors_of(err)) == (130, "runcard: interrupted\n")
    elif stop != signal.SIGKILL:
        assert (process.returncode, errors_of(err)) == (128 + stop, "runcard: stopped\n")


STOP_IN_RECORDS = """
import sys, time
from runcard.database import memory_database
from runcard.outputs import parquet

fill_whole = parquet.fill_whole

def fill_slowly(path, fill):
    def slowly(draft):
        fill(draft)
        print("written", flush=True)
        # What duckdb does for minutes, if there are many rows.
        memory_database().execute("SELECT max(md5(range::VARCHAR)) FROM range(2000000000)")

    return fill_whole(path, slowly)

parquet.fill_whole = fill_slowly
from runcard.cli import main
sys.exit(main())
"""
"""A simulation whose records take long to be written."""


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_records_that_are_stopped_leave_no_draft(grid_folder: Path, tmp_path: Path, stop: signal.Signals) -> None:
    """A database that writes for minutes hears Ctrl-C and SIGTERM, and what it has written is removed."""
    path = tmp_path / "records.parquet"
    process = start(STOP_IN_RECORDS, "simulate", grid_folder, "--incidents", "100", "--records", path)
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    assert [entry.suffix for entry in tmp_path.iterdir()] == [".runcard-draft"]
    time.sleep(0.5)
    process.send_signal(stop)
    _, err = process.communicate(timeout=30)
    assert list(tmp_path.iterdir()) == []
    assert (process.returncode, errors_of(err).count("\n")) == (128 + stop, 1)


def test_a_reader_that_leaves_early_is_no_error(grid_folder: Path) -> None:
    """Output into a closed pipe ends quietly, for tables and for JSON."""
    for options in ([], ["--json"]):
        process = start(RUN, "lateness", grid_folder, "--at", "n5", *options)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert errors_of(process.stderr.read()) == ""
        assert process.wait(timeout=30) == 1
        process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_an_error(grid_folder: Path) -> None:
    """A full disk behind standard output is one line and exit code 1."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", RUN, "lateness", grid_folder, "--at", "n5"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert errors_of(done.stderr).splitlines()[0] == "runcard: No space left on device"


def test_a_terminal_without_our_letters_is_no_error(grid_folder: Path) -> None:
    """With plain ASCII output the table is drawn with plain signs."""
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, "lateness", grid_folder, "--at", "n5"],
        env=environment,
        capture_output=True,
        check=True,
    )
    assert b"s0, s1" in done.stdout.replace(b"s1, s0", b"s0, s1")
    assert done.stdout.isascii()
