"""A real server for benchmarks and tests: `runcard serve` in a process of its own, on a free port."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

READY_SECONDS = 60.0
"""So long is waited: the first start on a machine compiles."""


@dataclass
class Server:
    """A server that runs."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path
    ready_seconds: float = 0.0
    """From the start of its process until it said that it is ready."""

    def ask(self, method: str, path: str, document: Any = None, *, key: str = "") -> tuple[int, Any]:
        """The status of an answer, and its document, or its text if it is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            if document is not None:
                headers["Content-Type"] = "application/json"
            connection.request(method, path, None if document is None else json.dumps(document), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        kind = answer.getheader("Content-Type", "")
        return answer.status, json.loads(text) if "json" in kind and text else text

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(10)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def served(folder: Path, *words: str | Path, environment: dict[str, str] | None = None) -> Iterator[Server]:
    """`runcard serve` with these words, ready; what it prints goes to a file in the folder."""
    port, log = free_port(), folder / "serve.log"
    command = [sys.executable, "-m", "runcard", "serve", *map(str, words), "--port", str(port)]
    # An installed package has its bytecode, so that a process need not compile it at every start.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, cwd=folder, env={**inherited, **(environment or {})}
        )
    server = Server(port, process, log)
    try:
        wait_until_ready(server)
        server.ready_seconds = time.perf_counter() - began
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()


def wait_until_ready(server: Server) -> None:
    """Return once it is ready; a RuntimeError with what it printed if it ends or takes too long."""
    until = time.perf_counter() + READY_SECONDS
    while time.perf_counter() < until:
        if server.process.poll() is not None:
            break
        try:
            if server.ask("GET", "/ready")[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.02)
    raise RuntimeError(f"the server is not ready: {server.log.read_text()[-2000:]}")


def processor_seconds(pid: int) -> float:
    """The processor time that a process has taken."""
    fields: Sequence[str] = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
