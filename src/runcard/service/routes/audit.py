"""What the service shows of its audit log: `/v1/drift`, as JSON or as a page, and the table as CSV or Parquet.

The routes are no `async` functions, so that they run beside the loop. One reads the log at a time, and the next is
refused: several would slow down decisions. A table is a file before it is sent, so that a slow client holds up nobody.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BeforeValidator, WithJsonSchema
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from runcard.service.audit.drift import DriftDocument, find_drift
from runcard.service.audit.export import write_csv, write_table
from runcard.service.audit.outcomes import limit_of
from runcard.service.parts import Parts, parts_of
from runcard.service.problems import ProblemError, refusals

router = APIRouter(tags=["audit"])

CSV: Final = "text/csv; charset=utf-8"
PARQUET: Final = "application/vnd.apache.parquet"

RETRY_SECONDS: Final = 5

Write = Callable[[Iterable[Mapping[str, Any]], Path], Path]
SECURITY: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""The page has its style and its pictures in itself, and no script."""

Limit = Annotated[
    datetime,
    BeforeValidator(limit_of),
    WithJsonSchema({"anyOf": [{"type": "string", "format": form} for form in ("date", "date-time")]}),
]
Since = Annotated[Limit | None, Query(description="Decisions from this day or time on.", examples=["2026-11-01"])]
Until = Annotated[Limit | None, Query(description="Decisions before this day or time.")]
Form = Annotated[
    Literal["json", "html"] | None, Query(alias="format", description="As JSON or as a page; by `Accept` if left out.")
]


@contextmanager
def _alone(parts: Parts) -> Iterator[None]:
    """While this lasts, nobody else reads the log."""
    if not parts.reading.acquire(blocking=False):
        detail = "the log is being read for somebody else: ask again in a while"
        raise ProblemError(503, detail, {"Retry-After": str(RETRY_SECONDS)})
    try:
        yield
    finally:
        parts.reading.release()


def _sent(parts: Parts, write: Write, name: str, media_type: str, since: Since, until: Until) -> Response:
    """The table as a file."""
    decisions = parts.audit.decisions(since=since, until=until)
    with _alone(parts), tempfile.TemporaryDirectory(prefix="runcard-audit-") as folder:
        # The name goes with the folder; the content stays until the file is closed.
        file = write(decisions, Path(folder) / name).open("rb")
    headers = {
        "content-disposition": f'attachment; filename="{name}"',
        "content-length": str(os.fstat(file.fileno()).st_size),
    }
    return StreamingResponse(_pieces(file), media_type=media_type, headers=headers)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """The content of a file, which is closed then."""
    with file:
        while piece := file.read(2**18):
            yield piece


def _content(words: str, kind: str) -> dict[int | str, dict[str, Any]]:
    """How the description of the API shows what comes back."""
    return {200: {"description": words, "content": {kind: {"schema": {"type": "string"}}}}}


@router.get(
    "/v1/drift", summary="Whether the model still fits", response_model=DriftDocument,
    responses=refusals(422, 503) | _content("A finding, or a page about it.", "text/html"),
)  # fmt: skip
def drift(request: Request, since: Since = None, until: Until = None, form: Form = None) -> Response:
    """Standards met against predicted, by month, with an exact test that warns when the model drifts."""
    from runcard.service.audit.drift_page import drift_page  # it takes a while to import

    parts = parts_of(request)
    with _alone(parts):
        found = find_drift(parts.audit.decisions(since=since, until=until))
    if form == "html" or (form is None and "text/html" in request.headers.get("accept", "")):
        page = drift_page(found, title=parts.store.serving.city.name, made=datetime.now(UTC))
        return HTMLResponse(page, headers=SECURITY)
    return JSONResponse(found.model_dump())


@router.get(
    "/v1/decisions.csv", summary="The audit log as CSV", response_class=Response,
    responses=refusals(422, 503) | _content("The table.", "text/csv"),
)  # fmt: skip
def table(request: Request, since: Since = None, until: Until = None) -> Response:
    """A row for every decision, kind and standard, with the outcome that counts; no cell is a formula."""
    return _sent(parts_of(request), write_csv, "decisions.csv", CSV, since, until)


@router.get(
    "/v1/decisions.parquet", summary="The audit log as Parquet", response_class=Response,
    responses=refusals(422, 503) | _content("The table.", PARQUET),
)  # fmt: skip
def parquet(request: Request, since: Since = None, until: Until = None) -> Response:
    """The same table as a Parquet file."""
    return _sent(parts_of(request), write_table, "decisions.parquet", PARQUET, since, until)
