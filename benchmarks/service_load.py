"""A load generator for the service: raw HTTP/1.1 on connections that stay open, so that it costs little itself.

Requests are due at the times of a Poisson process, whatever the server does, and the time of an answer counts from when
its request was due. So a server that stands still for a second is charged for every request of that second, and not for
one (the mistake of load generators that wait for an answer before they ask again).
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONNECTIONS = 64
PATIENCE_SECONDS = 10.0
"""So long is waited for the last answers; what has none by then has failed."""
LOST = 0
"""The status of a request that was not answered."""

OnAnswer = Callable[[int, int, bytes], None]
"""Told the number of a request, the status of its answer, and the body."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """What became of the requests."""

    seconds: float
    """From the first request until the last answer."""
    milliseconds: NDArray[np.float64]
    """[good answers] from when a request was due until its answer was there."""
    statuses: Counter[int]
    """How many answers had which status, also `LOST`."""
    errors: tuple[str, ...] = ()
    """The first few answers that are not good."""

    @property
    def answers(self) -> int:
        """How many requests were answered well."""
        return sum(number for status, number in self.statuses.items() if 200 <= status < 300)

    @property
    def failures(self) -> int:
        """How many requests were not."""
        return self.statuses.total() - self.answers

    @property
    def per_second(self) -> float:
        """Good answers per second."""
        return self.answers / self.seconds

    def percentile(self, percent: float) -> float:
        """The milliseconds within which that percentage was answered."""
        return float(np.percentile(self.milliseconds, percent)) if len(self.milliseconds) else float("inf")

    @property
    def words(self) -> str:
        """The figures in one line."""
        times = ", ".join(f"p{percent:g} {self.percentile(percent):.1f}" for percent in (50, 99, 99.9, 100))
        return f"{self.per_second:,.0f} a second; ms: {times}; {self.failures} of {self.statuses.total():,} failed"


def request_bytes(path: str, body: bytes = b"", *, method: str = "POST", key: str = "") -> bytes:
    """A request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    lines += ["Content-Type: application/json"] if body else []
    lines += [f"Authorization: Bearer {key}"] if key else []
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class Asker:
    """A run: what waits to be asked, who is free to ask, and what came back."""

    requests: Sequence[bytes]
    """Taken in turn."""
    on_answer: OnAnswer | None = None
    free: "deque[Connection]" = field(default_factory=deque)
    waiting: deque[tuple[int, float]] = field(default_factory=deque)
    milliseconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    asked: int = 0
    answered: int = 0
    open: int = 0

    def ask(self, due: float) -> None:
        """Send the next request on a free connection, or as soon as there is one."""
        if self.free:
            self.free.popleft().send(self.asked, due)
        else:
            self.waiting.append((self.asked, due))
        self.asked += 1

    def take(self, number: int, due: float, status: int, body: bytes) -> None:
        """Note an answer."""
        self.answered += 1
        self.statuses[status] += 1
        if 200 <= status < 300:
            self.milliseconds.append(1000.0 * (time.perf_counter() - due))
        elif len(self.errors) < 5:
            self.errors.append(f"{status}: {body[:300].decode(errors='replace')}")
        if self.on_answer is not None:
            self.on_answer(number, status, body)

    def released(self, connection: "Connection") -> None:
        """Give a free connection the next request that waits."""
        if self.waiting:
            connection.send(*self.waiting.popleft())
        else:
            self.free.append(connection)

    async def finish(self, began: float, patience_seconds: float) -> Load:
        """Wait for the last answers."""
        until = time.perf_counter() + patience_seconds
        while self.answered < self.asked and self.open and time.perf_counter() < until:
            await asyncio.sleep(0.005)
        elapsed = time.perf_counter() - began
        self.statuses[LOST] += self.asked - self.answered
        return Load(
            seconds=elapsed,
            milliseconds=np.array(self.milliseconds),
            statuses=+self.statuses,
            errors=tuple(self.errors),
        )


class Connection(asyncio.Protocol):
    """One connection, with one request at a time."""

    transport: Any

    def __init__(self, asker: Asker) -> None:
        self.asker, self.number, self.due = asker, -1, 0.0
        self.received, self.body_at, self.length = bytearray(), 0, -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ready for the first request."""
        self.transport = transport
        self.asker.open += 1
        self.asker.released(self)

    def send(self, number: int, due: float) -> None:
        """Send a request that was due then."""
        self.number, self.due = number, due
        self.transport.write(self.asker.requests[number % len(self.asker.requests)])

    def data_received(self, data: bytes) -> None:
        """Take what came; an answer is whole when its body is."""
        self.received += data
        if self.length < 0:
            end = self.received.find(b"\r\n\r\n")
            if end < 0:
                return
            self.body_at, self.length = end + 4, _content_length(bytes(self.received[:end]))
        if len(self.received) < self.body_at + self.length:
            return
        status, body, number = int(self.received[9:12]), bytes(self.received[self.body_at :]), self.number
        self.received, self.length, self.number = bytearray(), -1, -1
        self.asker.take(number, self.due, status, body)
        if not self.transport.is_closing():
            self.asker.released(self)

    def connection_lost(self, error: Exception | None) -> None:
        """A request without an answer is lost."""
        self.asker.open -= 1
        if self in self.asker.free:
            self.asker.free.remove(self)
        if self.number >= 0:
            self.asker.take(self.number, self.due, LOST, f"connection lost: {error}".encode())


def _content_length(head: bytes) -> int:
    """The bytes of the body, from the head of an answer."""
    at = head.lower().find(b"content-length:")
    assert at >= 0, head
    return int(head[at + 15 :].split(b"\r\n", 1)[0])


@asynccontextmanager
async def _connected(asker: Asker, port: int, connections: int) -> Any:
    """Connections that the asker may use."""
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(lambda: Connection(asker), "127.0.0.1", port) for _ in range(connections)]
    try:
        yield
    finally:
        for transport, _ in made:
            transport.close()
        await asyncio.sleep(0)


async def offer(
    port: int,
    requests: Sequence[bytes],
    *,
    per_second: float,
    seconds: float,
    connections: int = CONNECTIONS,
    on_answer: OnAnswer | None = None,
    seed: int = 1,
) -> Load:
    """What becomes of requests that come at this rate for so long; it ends early if all connections are lost."""
    asker = Asker(requests, on_answer)
    async with _connected(asker, port, connections):
        began = time.perf_counter()
        for due in _due_times(began, per_second, seconds, seed):
            wait = due - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            asker.ask(due)
            if not asker.open:
                break
        return await asker.finish(began, PATIENCE_SECONDS)


def _due_times(began: float, per_second: float, seconds: float, seed: int) -> Iterator[float]:
    """When each request is due."""
    rng, due = np.random.default_rng(seed), began
    while True:
        for gap in rng.exponential(1.0 / per_second, 1000).tolist():
            due += gap
            if due > began + seconds:
                return
            yield due


async def flood(
    port: int,
    requests: Sequence[bytes],
    *,
    num: int,
    connections: int = CONNECTIONS,
    on_answer: OnAnswer | None = None,
) -> Load:
    """What becomes of so many requests that are all due at once: how fast the server can be."""
    asker = Asker(requests, on_answer)
    async with _connected(asker, port, connections):
        began = time.perf_counter()
        for _ in range(num):
            asker.ask(began)
        return await asker.finish(began, 60.0)
