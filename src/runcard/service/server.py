"""The server: uvicorn with limits on slow clients, and an end that waits for nobody who only listens."""

import asyncio
import gc
import logging
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from runcard.errors import RuncardError
from runcard.service.limits import WHOLE
from runcard.service.parts import Parts
from runcard.service.problems import ProblemError
from runcard.service.settings import ServiceSettings

KEEP_ALIVE_SECONDS: Final = 30
LINGER_SECONDS: Final = 2.0
"""What a body may still take whose request is answered."""
STUCK_SECONDS: Final = 30.0
"""What a client may take to read on, while more than it reads is waiting."""
HEAD_BYTES: Final = 65_536
MOST_OF_ONE: Final = 0.75
"""Of all connections one address may have so many, so that some are left for others."""
MOST_REFUSED: Final = 128
"""So many connections too many are answered at a time; more are cut off."""
GRACE_SECONDS: Final = 5
"""What the service may still take when it is told to end."""
GARBAGE: Final = (10_000, 20, 100)
"""How many new objects, and how many rounds, before garbage is looked for: an answer makes hundreds and leaves none."""
SWITCH_SECONDS: Final = 0.0005
"""How long a thread that computes may keep the loop waiting; Python's own 5 ms would count several times per answer."""

TOO_MANY: Final = ProblemError(
    503, "too many connections: use one for several requests, or try again",
    {"Retry-After": "5", "Connection": "close"},
)  # fmt: skip

_log = logging.getLogger("runcard.service")


class PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 with limits: how many connections, how long the headers are, and how slow a client may be.

    A time is set whenever something is expected of the client: the headers of a request, then the rest of its body. One
    timer looks whether it has come: a new one for each part of each request would take longer than reading it.
    """

    seconds: float = 10.0
    """What a client may take for the headers, and for the body."""
    most: int = 512
    """Connections at a time."""
    admitted = True
    _due: float | None = None
    """When the client is given up, by the clock of the loop."""
    _timer: asyncio.TimerHandle | None = None
    _looks = 0.0
    """When the timer ends."""
    _stuck: asyncio.TimerHandle | None = None
    _in_head = _begun = False
    _head_bytes = 0

    @property
    def address(self) -> str:
        """Where the client is."""
        return self.client[0] if self.client else ""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request; one connection too many only hears that."""
        super().connection_made(transport)
        others = [one for one in self.connections if one is not self and isinstance(one, PatientProtocol)]
        inside = [one for one in others if one.admitted]
        of_one = sum(one.address == self.address for one in inside)
        if len(inside) >= self.most or of_one >= max(1, int(MOST_OF_ONE * self.most)):
            self.admitted, self.app = False, TOO_MANY.response()
            if len(others) - len(inside) >= MOST_REFUSED:
                transport.abort()
                return
        self._wait(self.seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._due = None
        self._stop_timer()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came; give up on headers without an end, whose parts would be copied again and again."""
        self._begun = False
        super().data_received(data)
        if self._in_head and not self._begun:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._give_up()
        if (
            getattr(self.cycle, "response_complete", True)
            and self._due is None
            and self.timeout_keep_alive_task is None
        ):
            self._wait(self.seconds)  # it sent what begins no request

    def on_message_begin(self) -> None:
        """Begin to wait for the headers of a further request."""
        self._in_head, self._begun, self._head_bytes = True, True, 0
        self._wait(self.seconds)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin to wait for the body; a little longer than the gate does, which says so."""
        self._in_head = False
        self._wait(self.seconds + 1.0)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait no longer."""
        self._due = None
        self.scope[WHOLE] = True  # type: ignore[typeddict-unknown-key]
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """End soon if the body is still on its way: at once, the client might not see the answer."""
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body:
            self._wait(LINGER_SECONDS)

    def pause_writing(self) -> None:
        """Begin to wait for a client that does not read what it asked for."""
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(STUCK_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Wait no longer: it reads."""
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        super().resume_writing()

    def _wait(self, seconds: float) -> None:
        self._due = self.loop.time() + seconds
        if self._timer is None or self._looks > self._due:
            self._look_at(self._due)

    def _look_at(self, moment: float) -> None:
        self._stop_timer()
        self._timer, self._looks = self.loop.call_at(moment, self._look), moment

    def _look(self) -> None:
        self._timer = None
        if self._due is not None and self._due > self._looks:
            self._look_at(self._due)
        elif self._due is not None:
            self._give_up()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._due = None
        if not self.transport.is_closing():
            self.transport.close()


class Server(uvicorn.Server):
    """A server that ends well: listeners are sent away first, and the exit is no error."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._parts: Parts = app.state.parts

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End; a second signal ends at once."""
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True

    async def shutdown(self, sockets: Any = None) -> None:
        """Send those away who listen to the board or read the log, and then end as usual."""
        self._parts.board.close()
        self._parts.audit.stop_reading()
        await super().shutdown(sockets)


def server_config(app: FastAPI, settings: ServiceSettings) -> uvicorn.Config:
    """How uvicorn serves an app: quietly, with limits on slow and on many clients."""
    protocol = type("Protocol", (PatientProtocol,), {"seconds": settings.body_seconds, "most": settings.connections})
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=protocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS - 1,  # the rest is for what is done after the last answer
    )


@contextmanager
def bound_sockets(settings: ServiceSettings) -> Iterator[list[socket.socket]]:
    """Sockets at the address of the service, on which nobody listens yet; a RuncardError if the port is taken."""
    try:
        places = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise _taken(settings, error) from error
    found: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(places):
            found.append(socket.socket(family, kind, protocol))
            found[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                found[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                found[-1].bind(address)
            except OSError as error:
                raise _taken(settings, error) from error
        yield found
    finally:
        for one in found:
            one.close()


def _taken(settings: ServiceSettings, error: OSError) -> RuncardError:
    return RuncardError(f"{settings.host}:{settings.port}: expected a port that is free: {error.strerror}")


def get_ready(app: FastAPI) -> None:
    """Do what would slow down the first answers: make the explorer's first page."""
    try:
        app.state.scenes.warm_up()
    except Exception:  # decisions do not need the explorer
        _log.exception("the explorer failed, decisions are answered all the same")
    # What is loaded stays: looking through it again and again for garbage would take a tenth of the time.
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    sys.setswitchinterval(SWITCH_SECONDS)


def run_server(app: FastAPI, settings: ServiceSettings, sockets: list[socket.socket]) -> bool:
    """Serve until a signal comes; whether it could begin at all.

    The loop is not closed: that would wait for threads which still compute what nobody waits for. Whoever calls this
    ends the process, by `os._exit`, because Python would wait for them, too.
    """
    config = server_config(app, settings)
    server, new_loop = Server(config, app), config.get_loop_factory() or asyncio.new_event_loop
    try:
        new_loop().run_until_complete(server.serve(sockets))
    except OSError as error:  # another one began to listen in the meantime
        raise _taken(settings, error) from error
    return server.started
