"""The load generator counts what a server really does, also when that stands still or goes away."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from benchmarks.service_load import LOST, Load, flood, offer, request_bytes

Reply = Callable[[int, asyncio.Transport], None]
"""Told the number of a request, answers it."""


class Replier(asyncio.Protocol):
    """A server that answers a request as it is told to."""

    transport: Any
    num = 0

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer."""
        Replier.num += 1
        self.reply(Replier.num, self.transport)


def good(number: int, transport: asyncio.Transport) -> None:
    """Answer well, in two pieces."""
    transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
    transport.write(b"cd")


def load_on(reply: Reply, **options: Any) -> Load:
    """What the generator says of a server that answers like this."""

    async def run() -> Load:
        Replier.num = 0
        server = await asyncio.get_running_loop().create_server(lambda: Replier(reply), "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            if "num" in options:
                return await flood(port, [request_bytes("/")], **options)
            return await offer(port, [request_bytes("/")], **options)

    return asyncio.run(run())


def test_good_answers_are_counted_and_told() -> None:
    """Every request has one answer, at about the rate that was asked for, and its body is whole."""
    told: list[tuple[int, int, bytes]] = []
    load = load_on(
        good, per_second=500.0, seconds=0.5, connections=4, on_answer=lambda *answer: told.append(answer), seed=1
    )
    assert load.failures == 0
    assert 150 < load.answers < 350
    assert sorted(number for number, _, _ in told) == list(range(load.answers))
    assert {(status, body) for _, status, body in told} == {(200, b"abcd")}


def test_a_server_that_stands_still_is_charged_for_every_request_of_that_time() -> None:
    """A stop of 0.3 s within 1 s makes at least those that were due in half of it wait, on one connection or many."""

    def stop_once(number: int, transport: asyncio.Transport) -> None:
        if number == 20:
            time.sleep(0.3)
        good(number, transport)

    load = load_on(stop_once, per_second=200.0, seconds=1.0, connections=2)
    assert load.failures == 0
    assert (load.milliseconds > 20.0).mean() > 0.15
    assert load.percentile(100) > 250.0


def test_errors_and_lost_connections_are_failures() -> None:
    """A bad status fails, and so does a request whose connection goes away; the run ends when none is left."""

    def bad(number: int, transport: asyncio.Transport) -> None:
        if number == 3:
            transport.write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno")
        elif number == 6:
            transport.abort()
        else:
            good(number, transport)

    load = load_on(bad, per_second=200.0, seconds=60.0, connections=1)
    assert load.seconds < 30.0
    assert load.statuses[503] == 1
    assert load.statuses[LOST] >= 1
    assert load.failures == load.statuses.total() - load.answers >= 2
    assert "503: no" in load.errors


def test_a_flood_asks_everything() -> None:
    """All requests are asked and answered, however few connections there are."""
    load = load_on(good, num=300, connections=3)
    assert (load.answers, load.failures) == (300, 0)
