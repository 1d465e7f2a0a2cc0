"""Errors as problem documents (RFC 9457): a status, a title and one sentence that says what was expected and found.

| status | when |
| --- | --- |
| 400 | the request is no HTTP or no JSON |
| 401, 403 | no key or an unknown one; a key whose role does not allow it, a page of another site |
| 404 | what the address names is not there: a unit, a decision, an area, a policy |
| 408, 413, 415 | the body came too slowly, is too long, or is not JSON |
| 409 | it contradicts what the service has: another version of the policy or of the board, a file of another city |
| 422 | the body is not what was expected: an unknown unit, a unit both busy and idle, a place outside the city |
| 429 | too many requests; `Retry-After` says when |
| 500 | what was asked could not be done |
| 503 | the record of the answer could not be made durable, so that no answer was given; too much at once |
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response

from runcard.errors import AuditError, InputError, RuncardError, UnknownDecisionError

MEDIA_TYPE: Final = "application/problem+json"
MOST_FAULTS: Final = 5
STATUSES: Final[Mapping[type[RuncardError], int]] = {
    UnknownDecisionError: 404,
    InputError: 422,
    AuditError: 503,
    RuncardError: 500,
}
"""The status of each error of ours: that of the first one that it is."""


class ProblemDocument(BaseModel):
    """An error (RFC 9457)."""

    type: str = Field(default="about:blank", description="Always about:blank: the status says what kind it is.")
    title: str = Field(description="The words of the status.", examples=["Unprocessable Content"])
    status: int = Field(examples=[422])
    detail: str = Field(
        description="One sentence: what was expected and what was found.",
        examples=["busy: expected units of the roster, got 'E99'"],
    )


class ProblemError(Exception):
    """An error that becomes a problem document."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers

    def response(self) -> Response:
        """What is answered."""
        title = HTTPStatus(self.status).phrase
        body = {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail}
        return Response(to_json(body), self.status, self.headers, MEDIA_TYPE)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How the description of the API lists errors, for a route with these."""
    every = sorted({*statuses, 400, 401, 403, 408, 413, 422, 429})
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}},
        }
        for status in every
    }


def faults_of(error: ValidationError | RequestValidationError) -> str:
    """What a document has wrong, in one sentence: where, and what was expected."""
    found = error.errors()
    words = []
    for one in found[:MOST_FAULTS]:
        where = ".".join(str(part) for part in one["loc"] if part not in ("body", "query", "path")) or "the body"
        words.append(f"{where}: {_expected(one)}")
    more = f"; and {len(found) - MOST_FAULTS} more" if len(found) > MOST_FAULTS else ""
    return "; ".join(words) + more


def _expected(fault: Mapping[str, Any]) -> str:
    """What was expected, in our own words where they differ."""
    own = {"extra_forbidden": "expected no such key", "missing": "expected it, got none"}.get(fault["type"])
    if own is not None:
        return own
    words = str(fault["msg"]).removeprefix("Value error, ").replace("Input should be ", "expected ")
    got = f", got {fault['input']!r:.60}" if isinstance(fault.get("input"), str | int | float) else ""
    return words if fault["type"] in ("value_error", "json_invalid") else f"{words[:1].lower()}{words[1:]}{got}"


def problem_of(error: Exception) -> ProblemError:
    """What an error is to who asked."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, RuncardError):
        status = next(status for kind, status in STATUSES.items() if isinstance(error, kind))
        return ProblemError(status, str(error), {"Retry-After": "1"} if status == 503 else None)
    if isinstance(error, ValidationError | RequestValidationError):
        is_json = all(one["type"] != "json_invalid" for one in error.errors())
        return ProblemError(422 if is_json else 400, faults_of(error))
    if isinstance(error, HTTPException):
        return ProblemError(error.status_code, str(error.detail), dict(error.headers or {}))
    return ProblemError(500, f"internal error, {type(error).__name__}: the log of the service says more")


def add_problem_handlers(app: FastAPI) -> None:
    """Let every error of an app become a problem document."""

    async def answered(_: Request, error: Exception) -> Response:
        return problem_of(error).response()

    for kind in (ProblemError, RuncardError, ValidationError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answered)
