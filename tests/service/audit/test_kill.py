"""Whatever is killed, and whenever: no record that was acknowledged is lost."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.postgres import PostgresServer

from runcard.service.audit import open_audit

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parent / "under_load.py"


class Load:
    """A process that records under load, and what it has acknowledged so far."""

    def __init__(self, url: str, name: str) -> None:
        self.lines: list[str] = []
        command = [sys.executable, str(PROGRAM), url, name]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())

    @property
    def acknowledged(self) -> list[str]:
        """The ids that were acknowledged."""
        return [line for line in self.lines if line != "refused"]

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that the load is to show."""
        end = time.monotonic() + 30.0
        while not condition():
            assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.01)

    def wait_for(self, more: int) -> None:
        """Wait until so many more records are acknowledged."""
        wanted = len(self.acknowledged) + more
        self.wait_until(lambda: len(self.acknowledged) >= wanted)

    def kill(self) -> None:
        """Kill it with no chance to tidy up, and read what it said before."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


def stored_ids(url: str) -> set[str]:
    """The ids that are in a log."""
    log = open_audit(url, create=False)
    found = {one["decision_id"] for one in log.decisions()}
    log.close()
    return found


def test_killed_processes_lose_no_acknowledged_record(audit_url: str) -> None:
    """Two make one log at once and write under load; killed, and then two others: all that they were told is there."""
    acknowledged: set[str] = set()
    for turn in range(2):
        loads = [Load(audit_url, f"turn-{turn}-{name}") for name in "ab"]
        for load in loads:
            load.wait_for(more=200)
        for load in loads:
            load.kill()
            acknowledged.update(load.acknowledged)
        assert acknowledged <= stored_ids(audit_url)
    assert len(acknowledged) >= 800


def test_a_crashed_server_loses_no_acknowledged_record(postgres_server: PostgresServer) -> None:
    """PostgreSQL crashes under load and comes back: records are refused meanwhile, then taken, and none is lost."""
    url = postgres_server.new_database()
    load = Load(url, "load")
    load.wait_for(more=300)
    postgres_server.stop("immediate")
    try:
        load.wait_until(lambda: "refused" in load.lines)
    finally:
        postgres_server.start()
    load.wait_for(more=300)
    load.kill()
    assert set(load.acknowledged) <= stored_ids(url)
