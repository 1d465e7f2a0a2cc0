"""SIGTERM ends the service in time, whatever it does at that moment."""

import asyncio
import http.client
import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from benchmarks.service_server import free_port
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


def ask(port: int, method: str, path: str, body: object = None) -> tuple[int, str]:
    """The status and the text of an answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_nothing_that_is_computed_holds_up_the_end(policy_folder: Path, tmp_path: Path) -> None:
    """Drift, a scene and cards under way for minutes: each client gets a 503, and no traceback is printed."""
    log = open_audit(str(tmp_path / "log.sqlite"))

    async def fill() -> None:
        await asyncio.gather(*(log.record(made_up(number)) for number in range(300)))

    asyncio.run(fill())
    log.close()
    port = free_port()
    words = ["serve", str(policy_folder / "optimal.policy"), "--audit", "log.sqlite", "--port", str(port)]
    command = [sys.executable, "-c", SLOW, *words]
    with default_signals():
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        _wait_until_ready(port, process)
        with ThreadPoolExecutor(4) as pool:
            asked = [
                pool.submit(ask, port, "GET", "/v1/drift"),
                pool.submit(ask, port, "POST", "/v1/scene", {"busy": ["E01"]}),
                pool.submit(ask, port, "GET", "/v1/cards/n5"),
            ]
            time.sleep(1.0)
            process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            printed = process.communicate(timeout=60)[0]
            took = time.monotonic() - began
            answers = [one.result() for one in asked]
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, [status for status, _ in answers]) == (0, [503, 503, 503]), (printed, answers)
    assert all("the service is ending" in text for _, text in answers[:2])
    assert took < 30.0  # it has 5 seconds, on a machine that has nothing else to do
    assert "Traceback" not in printed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_start_that_compiles_ends_at_once(number: signal.Signals, policy_folder: Path, tmp_path: Path) -> None:
    """A signal during the first start ends it within five seconds, without a traceback: it was lost, and served."""
    words = ["serve", str(policy_folder / "optimal.policy"), "--audit", "memory", "--port", str(free_port())]
    with default_signals():
        process = subprocess.Popen(
            [sys.executable, "-c", DEAF, *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "starting\n"
        time.sleep(0.5)
        process.send_signal(number)
        began = time.monotonic()
        printed = process.communicate(timeout=30)[0]
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, printed) == (128 + number, "runcard: stopped\n")
    assert time.monotonic() - began < 5.0


def _wait_until_ready(port: int, process: "subprocess.Popen[str]") -> None:
    """Return once a service answers."""
    until = time.monotonic() + 60.0
    while time.monotonic() < until and process.poll() is None:
        try:
            if ask(port, "GET", "/ready")[0] == 200:
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(process.poll())
