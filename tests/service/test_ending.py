"""SIGTERM ends the service in time, whatever it does at that moment."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from benchmarks.service_server import Server, free_port, wait_until_ready
from tests.children import default_signals
from tests.service.audit.made_up import made_up

from runcard.service.audit import open_audit

pytestmark = pytest.mark.slow

SLOW = """
import sys, time
from runcard.service import app
from runcard.service.routes import cards
from runcard.service.audit import log

def minutes(*_):
    time.sleep(120)

cards.make_book = minutes
make_app = app.make_app

def slow_app(settings):
    made = make_app(settings)
    type(made.state.scenes).scene = lambda self, asked: minutes() if asked.busy else {}
    return made

app.make_app = slow_app
log.PAUSE_SECONDS = 120
from runcard.cli import main
sys.exit(main(sys.argv[1:]))
"""


DEAF = """
import ctypes, sys, time
from runcard.service import app

def slow_app(settings):
    print("starting", flush=True)
    until = time.monotonic() + 60.0
    while time.monotonic() < until:
        compiled()

compiled = ctypes.CFUNCTYPE(None)(lambda: time.sleep(0.2))
app.make_app = slow_app
from runcard.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""A start that spends its time in callbacks of C, as numba does: what a signal raises there is lost."""


@contextmanager
def started(folder: Path, program: str, policy: Path, *words: str) -> Iterator[Server]:
    """A process of a program that serves a policy; it is killed in the end."""
    port, log = free_port(), folder / "serve.log"
    command = [sys.executable, "-c", program, "serve", str(policy), *words, "--port", str(port)]
    with default_signals(), log.open("wb") as file:
        process = subprocess.Popen(command, cwd=folder, stdout=file, stderr=subprocess.STDOUT)
    try:
        yield Server(port, process, log)
    finally:
        process.kill()
        process.wait()


def seconds_to_end(server: Server, number: signal.Signals) -> float:
    """How long it takes to end after a signal."""
    server.process.send_signal(number)
    began = time.monotonic()
    server.process.wait(60)
    return time.monotonic() - began


def test_nothing_that_is_computed_holds_up_the_end(policy_folder: Path, tmp_path: Path) -> None:
    """Drift, a scene and cards under way for minutes: each client gets a 503, and no traceback is printed."""
    log = open_audit(str(tmp_path / "log.sqlite"))

    async def fill() -> None:
        await asyncio.gather(*(log.record(made_up(number)) for number in range(300)))

    asyncio.run(fill())
    log.close()
    policy = policy_folder / "optimal.policy"
    with started(tmp_path, SLOW, policy, "--audit", "log.sqlite") as server, ThreadPoolExecutor(4) as pool:
        wait_until_ready(server)
        questions = (("GET", "/v1/drift"), ("POST", "/v1/scene", {"busy": ["E01"]}), ("GET", "/v1/cards/n5"))
        asked = [pool.submit(server.ask, *question) for question in questions]
        time.sleep(1.0)
        took, answers, printed = seconds_to_end(server, signal.SIGTERM), [one.result() for one in asked], server.log
    assert server.process.returncode == 0
    assert [status for status, _ in answers] == [503, 503, 503], (printed.read_text(), answers)
    assert all("the service is ending" in document["detail"] for _, document in answers[:2])
    assert took < 30.0  # it has 5 seconds, on a machine that has nothing else to do
    assert "Traceback" not in printed.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_start_that_compiles_ends_at_once(number: signal.Signals, policy_folder: Path, tmp_path: Path) -> None:
    """A signal during the first start ends it within five seconds, without a traceback: it was lost, and served."""
    with started(tmp_path, DEAF, policy_folder / "optimal.policy", "--audit", "memory") as server:
        until = time.monotonic() + 60.0
        while server.log.read_text() != "starting\n" and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.5)
        took = seconds_to_end(server, number)
    assert (server.process.returncode, server.log.read_text()) == (128 + number, "starting\nruncard: stopped\n")
    assert took < 5.0
