"""The gate: bodies that are too long or no JSON, too many requests, other sites and other hosts."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runcard.service import limits
from runcard.service.keys import add_key
from runcard.service.limits import Buckets, Gate
from runcard.service.metrics import Metrics
from runcard.service.problems import MEDIA_TYPE, ProblemError
from runcard.service.settings import ServiceSettings

ASKED = {"area": "n5", "type": "fire"}
JSON = {"Content-Type": "application/json"}


def test_long_bodies_are_refused(serve: Any) -> None:
    """A body beyond the limit is 413, also if it comes in chunks; one of just that length is not."""
    client = serve(body_bytes=500)
    longest = json.dumps(ASKED).ljust(500)
    assert client.post("/v1/decisions", content=longest, headers=JSON).status_code == 200
    long = b" " * 501
    refused = client.post("/v1/decisions", content=long, headers=JSON)
    assert (refused.status_code, refused.headers["content-type"]) == (413, MEDIA_TYPE)
    assert refused.json()["detail"] == "expected a body of at most 500 bytes"

    def chunks() -> Iterator[bytes]:
        for _ in range(6):
            yield b" " * 100

    assert client.post("/v1/decisions", content=chunks(), headers=JSON).status_code == 413


def test_bodies_must_be_json(client: Any) -> None:
    """Another media type is 415, which also stops the forms of other sites; what is no JSON is 400.

    Of two keys of one name one would be passed over, at any depth, so both are refused.
    """
    assert client.post("/v1/decisions", content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415
    twice = "expected every key once"
    for body, statuses, words in (
        (b"{", (400,), ""),
        (b"[" * 60_000, (400, 422), ""),
        (b'{"area": "n5", "type": "fire", "busy": ["E01"], "busy": []}', (422,), twice),
        (b'{"area": "n5", "type": "fire", "moved": {"E01": {"node": "n1"}, "E01": {"node": "n2"}}}', (422,), twice),
    ):
        refused = client.post("/v1/decisions", content=body, headers=JSON)
        assert refused.status_code in statuses
        assert words in refused.json()["detail"]
    assert client.put("/v1/units/E01", content=b"{", headers=JSON).status_code in (400, 422)


def test_many_keys_with_one_twice_are_refused_at_once(client: Any) -> None:
    """Thousands of keys with the last one twice keep nobody else waiting."""
    names = [f'"{number:x}": 0' for number in range(5_000)]
    body = f"{{{', '.join([*names, names[-1]])}}}".encode()
    began = time.thread_time()
    with pytest.raises(ProblemError, match="expected every key once, got '1387' several times"):
        limits._check_names(body)
    assert time.thread_time() - began < 0.1  # 1 s if each name is looked for among all
    assert client.post("/v1/decisions", content=body, headers=JSON).status_code == 422


def test_pages_of_other_sites_are_refused(client: Any) -> None:
    """A browser that another site makes ask is refused, and so is a name that only points at this machine."""
    for site in ("http://evil.example", "http://localhost.evil", "http://evil.localhost", "http://localhost:9", "null"):
        crossed = client.post("/v1/decisions", json=ASKED, headers={"Origin": site})
        assert crossed.status_code == 403, site
    assert client.post("/v1/decisions", json=ASKED, headers={"Origin": "http://localhost"}).status_code == 200
    renamed = client.get("/v1/board", headers={"Host": "evil.example"})
    assert (renamed.status_code, "expected this machine" in renamed.json()["detail"]) == (403, True)
    assert client.get("/v1/board", headers={"Host": "127.0.0.1:8000"}).status_code == 200
    assert client.get("/v1/board", headers={"Host": "[::1]:8000"}).status_code == 200


def test_too_many_requests_wait(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the rate of a client the answer is 429, with the whole seconds to wait: enough, and not one too many."""
    client = serve(requests_per_second=0.001)
    assert [client.get("/health").status_code for _ in range(3)] == [200, 429, 429]
    assert 900 < int(client.get("/health").headers["retry-after"]) <= 1000
    for wait in (0.001, 0.3, 0.999, 1.5, 59.2):
        monkeypatch.setattr(Buckets, "take", lambda *_, wait=wait: wait)
        assert wait <= int(client.get("/health").headers["retry-after"]) < wait + 1.0


def test_a_bucket_fills_at_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one client a second's worth at once, also after an hour, and then the rate; another client has its own bucket.

    Addresses without end take no memory without end.
    """
    now = [0.0]
    monkeypatch.setattr(limits.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(limits, "MOST_CLIENTS", 5)
    buckets = Buckets(10.0)
    for now[0] in (0.0, 3600.0):
        assert [buckets.take("a") for _ in range(10)] == [0.0] * 10
        assert buckets.take("a") == pytest.approx(0.1)
    assert buckets.take("b") == 0.0
    for step in range(1, 50):
        now[0] = 3600.0 + 0.1 * step + 1e-9
        assert buckets.take("a") == 0.0
        assert buckets.take("a") > 0.0
    for number in range(100):
        assert buckets.take(str(number)) == 0.0
        assert len(buckets._left) <= 5


def test_keys_that_are_made_up_have_no_buckets_of_their_own(serve: Any, tmp_path: Path) -> None:
    """Whoever tries a new key each time waits like one who tries the same one."""
    add_key(tmp_path / "keys.json", "desk", "decide")
    client = serve(keys=tmp_path / "keys.json", requests_per_second=0.001)
    asked = [client.get("/v1/board", headers={"Authorization": f"Bearer rck_{number}"}) for number in range(3)]
    assert [answer.status_code for answer in asked] == [401, 429, 429]


def test_each_key_has_a_bucket_of_its_own(serve: Any, tmp_path: Path) -> None:
    """Two desks behind one address do not take requests from one another."""
    tokens = [add_key(tmp_path / "keys.json", name, "read") for name in ("desk", "board")]
    client = serve(keys=tmp_path / "keys.json", requests_per_second=0.001)
    asked = [client.get("/v1/board", headers={"Authorization": f"Bearer {token}"}) for token in tokens * 2]
    assert [answer.status_code for answer in asked] == [200, 200, 429, 429]


def test_a_body_that_comes_too_slowly_is_given_up(policy_folder: Any) -> None:
    """A client that sends the first half of a body and then nothing gets 408, and the app is never asked."""
    settings = ServiceSettings(files=(policy_folder / "optimal.policy",), body_seconds=0.05)
    sent: list[Any] = []

    async def app(*_: Any) -> None:
        raise AssertionError("the app was asked")

    async def ask() -> None:
        messages = [{"type": "http.request", "body": b"{", "more_body": True}]

        async def receive() -> Any:
            if not messages:
                await asyncio.sleep(60)
            return messages.pop()

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"9")]
        scope = {"type": "http", "method": "POST", "path": "/v1/decisions", "headers": headers, "client": ("x", 1)}
        await Gate(app, settings=settings, keys=None, metrics=Metrics())(scope, receive, send)

    asyncio.run(ask())
    assert sent[0]["status"] == 408
