"""A Dask cluster on this machine."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.children import default_signals


def wait_until(holds: Callable[[], bool], seconds: float = 300.0) -> None:
    """Return when something holds; fail if it does not in time, which includes compiling on a new machine."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and two worker processes: the scheduler's address, and the workers."""
    found = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        with default_signals():
            return subprocess.Popen([*dask, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    processes = [
        start("scheduler", "--scheduler-file", str(found), "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    ]
    try:
        wait_until(lambda: found.exists() and bool(found.read_text()))
        address = json.loads(found.read_text())["address"]
        options = ("--nworkers", "1", "--nthreads", "1", "--no-dashboard", "--no-nanny")
        workers = [start("worker", address, *options) for _ in range(2)]
        processes += workers
        yield address, workers
    finally:
        for process in processes:
            process.kill()
            process.wait()
