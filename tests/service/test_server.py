"""`runcard serve` as a process: it answers, sends slow clients away, and ends well."""

import asyncio
import http.client
import json
import re
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from benchmarks.service_server import Server as RealServer
from benchmarks.service_server import free_port, served
from tests.children import default_signals

from runcard.cli import main
from runcard.cli import serve as serve_command
from runcard.service import server as server_module
from runcard.service.app import make_app
from runcard.service.server import Server, server_config
from runcard.service.settings import ServiceSettings

pytestmark = pytest.mark.slow


@pytest.fixture
def running(policy_folder: Path, tmp_path: Path) -> Iterator[RealServer]:
    """A service of the small department with its log and its board in a folder of its own."""
    with default_signals(), served(tmp_path, policy_folder / "optimal.policy", "--audit", "log.sqlite") as server:
        yield server


def test_a_service_answers_streams_keeps_its_board_and_ends_well(running: RealServer, tmp_path: Path) -> None:
    """Decisions are answered, changes come as events, and SIGTERM ends it with 0 though somebody listens.

    Where the audit log fails its own log has a line for many refused answers, and one when it is back.
    """
    asked, audit = {"area": "n5", "type": "fire", "busy": []}, tmp_path / "log.sqlite"
    for name, expected in (("log.sqlite", 200), ("away.sqlite", 503), ("log.sqlite", 200)):
        audit = audit.rename(tmp_path / name)
        answers = [running.ask("POST", "/v1/decisions", asked) for _ in range(5)]
        assert {status for status, _ in answers} == {expected}
    assert answers[0][1]["answered_by"] == "optimal"
    with socket.create_connection(("127.0.0.1", running.port), 10) as listener:
        listener.sendall(b"GET /v1/board/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        stream = listener.makefile("rb")
        while not stream.readline().startswith(b"data: "):
            pass
        assert running.ask("PUT", "/v1/units/E01", {"status": "busy"})[0] == 200
        seen = b""
        while b'"busy"' not in seen:
            seen = stream.readline()
        running.process.send_signal(signal.SIGTERM)
        code = running.process.wait(60)
    printed = running.log.read_text()
    assert code == 0, printed
    assert "only this machine can ask" in printed
    assert "Clock of the city: that of this machine" in printed
    assert printed.count("no decision is answered until the audit log can be written again: audit log") == 1, printed
    assert printed.count("the audit log is written again, and decisions are answered") == 1
    assert json.loads((tmp_path / "log.board.json").read_text())["board_version"] == 1
    assert stat.S_IMODE(audit.stat().st_mode) == 0o600
    assert "Cancel" not in printed  # as uvicorn says when its patience with a listener ends
    assert "Traceback" not in printed


def test_what_cannot_be_served_is_said(
    policy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A wrong option is a sentence and an exit code before anything listens; settings are tried in test_settings.py."""
    monkeypatch.chdir(tmp_path)
    for words, found in (
        (["--host", "0.0.0.0"], "expected a file of API keys (--keys) before the service is open to other machines"),
        (["--limit-ms", "0"], "expected limit_ms > 0"),
        (["--keys", "missing.json"], "missing.json"),
        (["--audit", "ftp://somewhere"], "expected a path, sqlite:///path or postgresql://host/database"),
    ):
        assert main(["serve", str(policy_folder / "optimal.policy"), "--port", str(free_port()), *words]) in (1, 2)
        assert found in " ".join(capsys.readouterr().err.split())
        assert not list(tmp_path.iterdir())


def test_a_package_that_is_missing_is_named(policy_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Without a package of the extra the command says which, and how to install it."""
    for package in ("fastapi", "httptools", "prometheus_client", "uvicorn"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            assert main(["serve", str(policy_folder / "optimal.policy")]) == 1
        said = " ".join(capsys.readouterr().err.split())
        assert f"needs {package}, which is not installed: pip install 'runcard[service]'" in said


def test_a_long_start_is_explained(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """While it compiles a line says so; a quick start says nothing."""
    with serve_command._patience():
        pass
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(serve_command, "PATIENCE_SECONDS", 0.0)
    said = ""
    until = time.monotonic() + 10.0
    with serve_command._patience():
        while not said and time.monotonic() < until:
            time.sleep(0.01)
            said = capsys.readouterr().out
    assert "the first start on a machine compiles" in said


def test_an_explorer_that_fails_is_said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made ready before anything is answered; its error is in the log, and the service goes on."""
    from fastapi import FastAPI

    from runcard.service.server import gc, get_ready, sys

    for owner, name in ((gc, "freeze"), (gc, "set_threshold"), (sys, "setswitchinterval")):
        monkeypatch.setattr(owner, name, lambda *_: None)  # they are for the whole process
    app = FastAPI()
    app.state.scenes = None
    get_ready(app)
    assert "the explorer failed" in caplog.text


@contextmanager
def in_thread(policy_folder: Path, **settings: Any) -> Iterator[int]:
    """The port of a service in a thread of this process."""
    found = ServiceSettings(files=(policy_folder / "optimal.policy",), port=0, **settings)
    app = make_app(found)
    server = Server(server_config(app, found), app)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    try:
        until = time.monotonic() + 60.0
        while not server.started and time.monotonic() < until:
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(60)


@pytest.fixture(scope="module")
def port(policy_folder: Path) -> Iterator[int]:
    """The port of a service with the usual limits."""
    with in_thread(policy_folder) as port:
        yield port


def test_clients_that_send_no_request_are_sent_away(policy_folder: Path) -> None:
    """A connection that sends half of its headers, or nothing, is closed after the time for a request."""
    with in_thread(policy_folder, body_seconds=0.3) as port:
        for sent in (b"", b"GET /health HTTP/1.1\r\nHost: local"):
            with socket.create_connection(("127.0.0.1", port), 60) as client:
                client.sendall(sent)
                began = time.monotonic()
                assert client.recv(100) == b""
                assert time.monotonic() - began > 0.1
        used = http.client.HTTPConnection("localhost", port, timeout=60)
        used.auto_open = 0  # type: ignore[assignment]
        used.connect()
        for _ in range(3):  # a connection that is used stays
            used.request("GET", "/health")
            assert used.getresponse().read() == b'{"status":"ok"}'
            time.sleep(0.2)
        used.close()


def seconds_until_closed(client: socket.socket, *, drip: bytes = b"") -> float:
    """How long a connection lasts whose client sends a little now and then."""
    began = time.monotonic()
    client.settimeout(0.05)
    while time.monotonic() - began < 20.0:
        try:
            if drip:
                client.sendall(drip)
            if client.recv(1000) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began


def test_a_connection_lives_no_longer_than_its_requests(policy_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends a body byte by byte, a blank line now and then, or nothing after an answer is sent away."""
    monkeypatch.setattr(server_module, "LINGER_SECONDS", 0.2)
    health = b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    with in_thread(policy_folder, body_seconds=0.5) as port:
        for sent, drip in (
            (health % 100_000, b"x"),
            (health % 100_000, b""),
            (health % 0, b"\r\n"),
            (health.replace(b"GET /health", b"POST /v1/decisions") % 100_000, b" "),
        ):
            with socket.create_connection(("127.0.0.1", port), 5) as client:
                client.sendall(sent)
                assert seconds_until_closed(client, drip=drip) < 10.0, sent


def test_headers_without_an_end_are_given_up(port: int) -> None:
    """A header of megabytes ends the connection long before all of it came; one of 20 kB is fine."""
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20_000 + b"\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200")
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ")
        assert seconds_until_closed(client, drip=b"a" * 100_000) < 5.0  # and not after the time for headers


def test_one_address_leaves_connections_for_others(policy_folder: Path) -> None:
    """Of eight connections one address has six, the next hears 503; another address is answered."""
    ask = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with in_thread(policy_folder, connections=8) as port, ExitStack() as stack:

        def status(address: str) -> bytes:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), 5, (address, 0)))
            client.sendall(ask)
            return client.recv(1000)

        answers = [status("127.0.0.1") for _ in range(8)]
        assert [one.split()[1] for one in answers] == [b"200"] * 6 + [b"503"] * 2
        assert b"application/problem+json" in answers[-1]
        assert b"200" in status("127.0.0.2")


def test_who_does_not_read_is_sent_away(policy_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener that never reads is dropped, counted until its connection ends, and that ends."""
    monkeypatch.setattr(server_module, "STUCK_SECONDS", 0.3)
    with in_thread(policy_folder, streams=1) as port, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect(("127.0.0.1", port))
        client.sendall(b"GET /v1/board/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        used = http.client.HTTPConnection("localhost", port, timeout=5)
        headers = {"Content-Type": "application/json"}
        units = ("E01", "E02", "E03", "E04", "T01", "T02")
        every = json.dumps({"units": {unit: {"status": "busy"} for unit in units}})

        def listeners() -> str:
            used.request("GET", "/metrics")
            return re.findall(r"^runcard_board_listeners (.*)$", used.getresponse().read().decode(), re.MULTILINE)[0]

        until = time.monotonic() + 10.0
        while listeners() != "1.0" and time.monotonic() < until:
            time.sleep(0.01)
        changes = 0
        while listeners() == "1.0" and time.monotonic() < until + 30.0:
            for _ in range(50):
                used.request("PUT", "/v1/board", every, headers)  # each change tells all of them
                assert used.getresponse().read()
            changes += 50
        assert listeners() == "0.0", changes
        used.close()


def test_a_load_balancer_can_ask_whether_it_is_well(port: int) -> None:
    """HEAD gives the headers alone, and HTTP/1.0 needs no Host; whatever else is asked for does."""
    for path, status in (("/health", 200), ("/ready", 200), ("/", 200), ("/v1/board", 405)):
        used = http.client.HTTPConnection("localhost", port, timeout=5)
        used.request("HEAD", path)
        answer = used.getresponse()
        assert (answer.status, answer.read()) == (status, b"")
        used.close()
    for path, word in ((b"/health", b"200"), (b"/ready", b"200"), (b"/v1/board", b"403")):
        with socket.create_connection(("127.0.0.1", port), 5) as client:
            client.sendall(b"GET " + path + b" HTTP/1.0\r\n\r\n")
            assert client.recv(100).split()[1] == word


def test_a_body_of_megabytes_gets_its_answer(port: int) -> None:
    """A client that sends far too much sees 413, and no broken connection."""
    used = http.client.HTTPConnection("localhost", port, timeout=10)
    used.request("POST", "/v1/decisions", b" " * 10_000_000, {"Content-Type": "application/json"})
    assert used.getresponse().status == 413
    used.close()


def test_a_port_in_use_is_said_first(policy_folder: Path, tmp_path: Path, capsys: Any) -> None:
    """One sentence and exit code 1, before anything is loaded, written or said."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port, log = str(taken.getsockname()[1]), str(tmp_path / "log.sqlite")
        assert main(["serve", str(policy_folder / "optimal.policy"), "--port", port, "--audit", log]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"127.0.0.1:{port}: expected a port that is free" in " ".join(printed.err.split())
    assert not list(tmp_path.iterdir())
