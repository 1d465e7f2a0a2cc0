"""What the service shows of its audit log: `/v1/drift`, as JSON or as a page, and the table as CSV or Parquet."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, BinaryIO, Final, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

from runcard.service.audit.clocks import limit_of
from runcard.service.audit.export import write_csv, write_parquet
from runcard.service.audit.log import AuditLog
from runcard.service.problems import ProblemError, refusals

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


class DriftRowDocument(BaseModel):
    """A standard in one month, or over all months."""

    type: str
    kind: str
    arrivals: int
    target_minutes: float
    words: str = Field(description="The standard in words.", examples=["fire: first engine within 6 min"])
    month: str | None = Field(description="null: all months.", examples=["2026-11"])
    incidents: int
    met: int
    met_fraction: float
    predicted: float
    low: float = Field(description="Between low and high the fraction lies in 19 of 20 months, if the model is right.")
    high: float
    p_value: float = Field(description="How likely so large a difference is, if the model is right.")
    exact: bool = Field(
        description="Whether p_value is exact; else by the normal law, because there are many incidents."
    )
    first_minutes: float | None = Field(description="The mean first arrival.")
    predicted_minutes: float | None
    warns: bool


class DriftDocument(BaseModel):
    """Standards met against predicted."""

    drifts: bool
    headline: str
    warnings: list[str]
    notes: list[str]
    decisions: int
    with_outcome: int
    overridden: int = Field(description="Decisions of which other units were sent than recommended.")
    unknown: int = Field(description="Standards that could not be counted, because times are missing.")
    wrong_clocks: int = Field(description="Outcomes with times that cannot be; these times are left out.")
    rows: list[DriftRowDocument]


def audit_router(log_of: Callable[[Request], AuditLog], title_of: Callable[[Request], str]) -> APIRouter:
    """The routes that read the log: `log_of` finds it, and `title_of` what pages call it.

    They are no `async` functions, so that they run beside the loop. One reads the log at a time, and the next is
    refused: several would slow down decisions. A table is a file before it is sent, so that a slow client holds up
    nobody.
    """
    router = APIRouter(tags=["audit"])
    reading = Lock()

    @contextmanager
    def alone() -> Iterator[None]:
        if not reading.acquire(blocking=False):
            detail = "the log is being read for somebody else: ask again in a while"
            raise ProblemError(503, detail, {"Retry-After": str(RETRY_SECONDS)})
        try:
            yield
        finally:
            reading.release()

    def sent(write: Write, decisions: Iterator[Mapping[str, Any]], name: str, media_type: str) -> Response:
        with alone(), tempfile.TemporaryDirectory(prefix="runcard-audit-") as folder:
            # The name goes with the folder; the content stays until the file is closed.
            file = write(decisions, Path(folder) / name).open("rb")
        headers = {
            "content-disposition": f'attachment; filename="{name}"',
            "content-length": str(os.fstat(file.fileno()).st_size),
        }
        return StreamingResponse(_pieces(file), media_type=media_type, headers=headers)

    @router.get(
        "/v1/drift", summary="Whether the model still fits", response_model=DriftDocument,
        responses=refusals(422, 503) | _content("A finding, or a page about it.", "text/html"),
    )  # fmt: skip
    def drift(request: Request, since: Since = None, until: Until = None, form: Form = None) -> Response:
        """Standards met against predicted, by month, with an exact test that warns when the model drifts."""
        from runcard.service.audit.drift import find_drift  # both take a while to import
        from runcard.service.audit.drift_page import drift_page

        with alone():
            found = find_drift(log_of(request).decisions(since=since, until=until))
        if form == "html" or (form is None and "text/html" in request.headers.get("accept", "")):
            return HTMLResponse(drift_page(found, title=title_of(request), made=datetime.now(UTC)), headers=SECURITY)
        return JSONResponse(found.document())

    @router.get(
        "/v1/decisions.csv", summary="The audit log as CSV", response_class=Response,
        responses=refusals(422, 503) | _content("The table.", "text/csv"),
    )  # fmt: skip
    def table(request: Request, since: Since = None, until: Until = None) -> Response:
        """A row for every decision, kind and standard, with the outcome that counts; no cell is a formula."""
        return sent(write_csv, log_of(request).decisions(since=since, until=until), "decisions.csv", CSV)

    @router.get(
        "/v1/decisions.parquet", summary="The audit log as Parquet", response_class=Response,
        responses=refusals(422, 501, 503) | _content("The table.", PARQUET),
    )  # fmt: skip
    def parquet(request: Request, since: Since = None, until: Until = None) -> Response:
        """The same table as a Parquet file."""
        decisions = log_of(request).decisions(since=since, until=until)
        return sent(write_parquet, decisions, "decisions.parquet", PARQUET)

    return router


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """The content of a file, which is closed then."""
    with file:
        while piece := file.read(2**18):
            yield piece


def _content(words: str, kind: str) -> dict[int | str, dict[str, Any]]:
    """How the description of the API shows what comes back."""
    return {200: {"description": words, "content": {kind: {"schema": {"type": "string"}}}}}
