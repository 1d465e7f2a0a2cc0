"""The gate that every request passes: who asks, how often, how long the body is and how fast it comes.

It is one plain ASGI function around the app, because layers of a framework would cost more than a decision. A body is
read here, whole, before anything else is done with it: a client that sends slowly costs no more than its connection.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runcard.service.keys import Key, KeyRing
from runcard.service.metrics import Metrics
from runcard.service.problems import ProblemError
from runcard.service.settings import LOOPBACK, ServiceSettings

CLOSED: Final = ("/v1/", "/metrics")
"""What needs a key. Anybody may see the rest, which says nothing of the city: its health, the page without its data."""
LOOKS: Final = frozenset({"/v1/scene", "/v1/route"})
"""A POST there only looks."""
ADMINISTERED: Final = "/v1/policies"
WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
CHECKED: Final = frozenset({"/health", "/ready"})
"""What a load balancer asks for, by an address and not by a name."""
MOST_CLIENTS: Final = 10_000
DISCARDED_BYTES: Final = 16 << 20
"""So much of a body that is too long is read and forgotten: else the client would go on sending, and see no answer."""
BODY: Final = "runcard.body"
"""Where in the scope of a request its body is, once it is read."""
WHOLE: Final = "runcard.whole"
"""In the scope of a request whose body has come: nobody needs to wait for it."""
ENDING: Final = "the service is ending: ask again in a while"


class Headers(NamedTuple):
    """The headers that the gate looks at."""

    token: str
    host: str
    origin: str
    length: int | None
    chunked: bool
    media_type: str


def role_for(method: str, path: str) -> str | None:
    """The role that a request needs; None if anybody may."""
    if method in SAFE:
        return "read" if path.startswith(CLOSED) else None
    if path in LOOKS:
        return "read"
    return "administer" if path.startswith(ADMINISTERED) else "decide"


class Gate:
    """The app behind its limits."""

    def __init__(self, app: ASGIApp, *, settings: ServiceSettings, keys: KeyRing | None, metrics: Metrics) -> None:
        self._app, self._settings, self._keys, self._metrics = app, settings, keys, metrics
        self._bucket = Buckets(settings.requests_per_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD" and not scope["path"].startswith(CLOSED):
            scope = {**scope, "method": "GET"}  # the server leaves the body out, as it knows the method
        began, status, started = time.perf_counter(), 500, False

        async def noted(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
            await send(message)

        try:
            received = await self._admitted(scope, receive)
            await self._app(scope, received, noted)
        except ProblemError as error:
            await error.response()(scope, receive, noted)
        except asyncio.CancelledError:  # the service ends, and has waited long enough
            if not started:
                await ProblemError(503, ENDING, {"Retry-After": "1"}).response()(scope, receive, noted)
        finally:
            self._metrics.answered(scope, status, time.perf_counter() - began)

    async def _admitted(self, scope: Scope, receive: Receive) -> Receive:
        """What the app receives: the whole body; a ProblemError if the request is refused."""
        headers, method, path = _headers(scope), scope["method"], scope["path"]
        if method not in SAFE or path not in CHECKED:
            self._check_site(headers, method)
        key = self._keys.find(headers.token) if self._keys is not None and headers.token else None
        client = key.name if key is not None else str((scope.get("client") or ("",))[0])
        if (wait := self._bucket.take(client)) > 0.0:
            # Whole seconds, which is all that the header has.
            raise ProblemError(
                429, f"expected at most {self._settings.requests_per_second:g} requests a second of one client",
                {"Retry-After": str(int(wait) + 1)},
            )  # fmt: skip
        if self._keys is not None:
            _check_key(key, role_for(method, path), given=bool(headers.token))
        scope["runcard.who"] = "" if key is None else key.name
        if method not in WITH_BODY or not (headers.length or headers.chunked):
            return receive
        if headers.media_type != "application/json":
            raise ProblemError(415, f"expected Content-Type: application/json, got {headers.media_type!r:.80}")
        return await self._body(scope, headers, receive)

    def _check_site(self, headers: Headers, method: str) -> None:
        """Refuse what a page of another site makes a browser send: on loopback there are no keys to stop it."""
        if self._keys is None and _name_of(headers.host) not in LOOPBACK:
            raise ProblemError(403, f"Host: expected this machine, since there are no keys, got {headers.host!r:.80}")
        if headers.origin and method not in SAFE and headers.origin.partition("://")[2] != headers.host:
            raise ProblemError(403, f"Origin: expected a page of this service, got {headers.origin!r:.80}")

    async def _body(self, scope: Scope, headers: Headers, receive: Receive) -> Receive:
        """What gives the app the whole body at once."""
        most = self._settings.body_bytes
        too_long = ProblemError(413, f"expected a body of at most {most:,} bytes", {"Connection": "close"})
        if headers.length is not None and headers.length > DISCARDED_BYTES:
            raise too_long
        body, length = b"", 0
        try:
            async with asyncio.timeout(None if WHOLE in scope else self._settings.body_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ProblemError(400, "expected the whole body, got the end of the connection")
                    part, more = message.get("body", b""), message.get("more_body", False)
                    length += len(part)
                    body = body + part if length <= most else b""
                    if length > DISCARDED_BYTES:
                        raise too_long
        except TimeoutError:
            seconds = self._settings.body_seconds
            raise ProblemError(408, f"expected the body within {seconds:g} seconds", {"Connection": "close"}) from None
        if length > most:
            raise too_long
        _check_names(body)
        scope[BODY] = body
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def received() -> Message:
            return whole.pop() if whole else await receive()

        return received


def _check_names(body: bytes) -> None:
    """Raise a ProblemError about an object with two keys of one name: whoever reads it would see only the last."""
    try:
        _DECODER.decode(body.decode(json.detect_encoding(body), "surrogatepass"))  # as `json.loads` does
    except (ValueError, RecursionError):
        return  # the app says what is wrong with it


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        # Counted in one pass: looking through all names for each would stop every other request for seconds.
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ProblemError(422, f"expected every key once, got {twice!r:.80} several times")
    return found


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_once)  # `json.loads` would make one for each body


def _check_key(key: Key | None, role: str | None, *, given: bool) -> None:
    """Raise a ProblemError unless a key allows what a role may."""
    if role is None or (key is not None and key.allows(role)):
        return
    if key is None:
        got = "one that is not known" if given else "none"
        detail = f"expected an API key with the role {role}, as Authorization: Bearer KEY, got {got}"
        raise ProblemError(401, detail, {"WWW-Authenticate": "Bearer"})
    raise ProblemError(403, f"expected a key with the role {role}, got {key.name}, whose role is {key.role}")


def _headers(scope: Mapping[str, Any]) -> Headers:
    """The headers of a request that matter here."""
    values = {name: value.decode("latin-1") for name, value in scope["headers"]}
    scheme, _, token = values.get(b"authorization", "").partition(" ")
    token = token.strip() if scheme.lower() == "bearer" else values.get(b"x-api-key", "")
    length = values.get(b"content-length", "")
    return Headers(
        token, values.get(b"host", ""), values.get(b"origin", ""), int(length) if length.isdecimal() else None,
        b"transfer-encoding" in values, values.get(b"content-type", "").partition(";")[0].strip().lower(),
    )  # fmt: skip


def _name_of(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


class Buckets:
    """A bucket of tokens for each client: it fills at the rate, and holds what comes in a second."""

    def __init__(self, rate: float) -> None:
        self._rate, self._full = rate, max(1.0, rate)
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, client: str) -> float:
        """Take a token: 0, or the seconds until there is one."""
        now = time.monotonic()
        left, since = self._left.get(client, (self._full, now))
        left = min(self._full, left + (now - since) * self._rate)
        if left < 1.0:
            return (1.0 - left) / self._rate
        if len(self._left) >= MOST_CLIENTS and client not in self._left:
            self._left.clear()
        self._left[client] = (left - 1.0, now)
        return 0.0
