"""What the service shows of its audit log."""

import asyncio
import csv
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from threading import Event, Lock
from types import SimpleNamespace
from typing import Any

import duckdb
import httpx
import numpy as np
import pytest
from fastapi import FastAPI
from tests.markup import Markup
from tests.service.audit.test_drift import decisions_of

from runcard.service.audit import AuditLog, open_audit
from runcard.service.audit.drift import DriftDocument
from runcard.service.audit.sqlite import MemoryLog
from runcard.service.problems import add_problem_handlers
from runcard.service.routes import audit


def app_of(log: AuditLog) -> FastAPI:
    """An app with the routes that read a log."""
    app, store = FastAPI(), SimpleNamespace(serving=SimpleNamespace(city=SimpleNamespace(name="Town <&>")))
    app.state.parts = SimpleNamespace(audit=log, store=store, reading=Lock())
    add_problem_handlers(app)
    app.include_router(audit.router)
    return app


class Client:
    """Asks an app in this process."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    def get(self, path: str, **options: Any) -> httpx.Response:
        """The response to a request."""

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
                return await client.get(path, **options)

        return asyncio.run(ask())


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """An app with a log of three months, the last of which drifts."""
    log = open_audit(str(tmp_path_factory.mktemp("log") / "audit.db"))
    rng = np.random.default_rng(7)

    async def fill() -> None:
        for one in (one for month in range(3) for one in decisions_of(rng, month, 60, shift=0.4 * (month == 2))):
            outcomes = one.pop("outcomes")
            await log.record(one)
            await log.outcome(one["decision_id"], outcomes[0])

    asyncio.run(fill())
    yield Client(app_of(log))
    log.close()


def test_drift_is_json_for_programs_and_a_page_for_browsers(client: Client) -> None:
    """By the header, or by the word `format`; the page is whole and escapes what it shows."""
    found = client.get("/v1/drift").json()
    assert DriftDocument.model_validate(found, strict=True).model_dump() == found
    assert found["drifts"]
    assert [row["warns"] for row in found["rows"]] == [False, False, True, True]
    page = client.get("/v1/drift", headers={"accept": "text/html,*/*"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert (page.headers["x-content-type-options"], page.headers["cache-control"]) == ("nosniff", "no-store")
    assert client.get("/v1/drift", params={"format": "html"}).text.startswith("<!DOCTYPE html>")
    assert client.get("/v1/drift?format=json", headers={"accept": "text/html"}).json() == found
    assert "Town &lt;&amp;&gt;: does the model still fit?" in page.text
    assert "The model drifts" in page.text


def test_times_limit_what_is_read(client: Client) -> None:
    """From a time on and before a time; a day, or a time without a zone, is by the clock of this machine."""
    limits = {"since": "2026-12-01T00:00:00Z", "until": "2027-01-01T00:00:00Z"}
    (row,) = client.get("/v1/drift", params=limits).json()["rows"]
    assert (row["month"], row["incidents"]) == ("2026-12", 60)
    here = [datetime.fromisoformat(day).astimezone().isoformat() for day in ("2026-12-01", "2027-01-01T00:00")]
    same, plain = (
        client.get("/v1/drift", params={"since": since, "until": until}).json()
        for since, until in (here, ("2026-12-01", "2027-01-01T00:00"))
    )
    assert plain == same
    refused = client.get("/v1/drift", params={"since": "soon"})
    assert refused.status_code == 422
    assert "expected a time such as 2026-11-01" in refused.text
    assert client.get("/v1/decisions.csv", params=limits).text.count("\r\n") == 61


def test_tables_are_files_to_keep(client: Client, tmp_path: Path) -> None:
    """CSV and Parquet hold the same decisions, under a name."""
    table = client.get("/v1/decisions.csv")
    assert table.headers["content-disposition"] == 'attachment; filename="decisions.csv"'
    rows = list(csv.DictReader(io.StringIO(table.content.decode("utf-8-sig"), newline="")))
    assert len(rows) == 180
    path = tmp_path / "decisions.parquet"
    path.write_bytes(client.get("/v1/decisions.parquet").content)
    ids = [row[0] for row in duckdb.sql(f"SELECT decision_id FROM '{path}'").fetchall()]
    assert ids == [row["decision_id"] for row in rows]


def test_one_reads_the_log_at_a_time(tmp_path: Path) -> None:
    """While drift or a table is found, the next one is 503 with Retry-After, and waits in no thread; after it, 200."""
    began, go_on = Event(), Event()

    class Slow(MemoryLog):
        def decisions(self, **_: Any) -> Iterator[dict[str, Any]]:
            began.set()
            go_on.wait(30)
            yield from ()

    client = Client(app_of(Slow()))
    paths = ("/v1/drift", "/v1/decisions.csv", "/v1/decisions.parquet")
    for held in paths:
        began.clear()
        go_on.clear()
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(client.get, held)
            assert began.wait(30)
            for path in paths:
                refused = client.get(path)
                assert (refused.status_code, refused.headers["retry-after"]) == (503, "5"), (held, path)
            go_on.set()
            assert first.result(30).status_code == 200
        assert client.get(held).status_code == 200


def test_the_page_is_read_without_colours_and_without_eyes(client: Client) -> None:
    """Every picture has its figures in words, and the month that drifts is said by a word and a shape."""
    text = client.get("/v1/drift", params={"format": "html"}).text
    svg = text[text.index('<svg class="drift"') :].partition("</svg>")[0] + "</svg>"
    picture = Markup(svg)
    (label,) = (attributes["aria-label"] for tag, attributes in picture.tags if tag == "svg")
    assert label is not None
    assert "January 2027: met" in label
    assert label.endswith("drift")
    shapes = [tag for tag, attributes in picture.tags if attributes.get("class") == "met"]
    assert shapes == ["circle", "circle", "rect"]
    assert svg.count(">drift</text>") == 1
