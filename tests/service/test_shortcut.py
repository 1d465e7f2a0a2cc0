"""The way around the framework answers as the framework would."""

import warnings
from typing import Any

import pytest
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

from runcard.service.app import Shortcut

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have a package that is not out yet
    from fastapi.testclient import TestClient


async def answer(request: Request) -> Response:
    """What is asked for, or an error."""
    text = (await request.body()).decode()
    if text == "expected":
        raise UnicodeError(text)  # a ValueError
    if text == "not expected":
        raise KeyError(text)
    return JSONResponse({"said": text, "app": request.app.title})


def service(*, short: bool) -> Any:
    """An app with one route, with or without the shortcut."""
    app = FastAPI(title="town")
    app.post("/ask")(answer)

    async def refused(_: Request, error: Exception) -> Response:
        return JSONResponse({"detail": str(error)}, 422)

    async def failed(_: Request, error: Exception) -> Response:
        return JSONResponse({"detail": "internal error"}, 500)

    app.add_exception_handler(ValueError, refused)
    app.add_exception_handler(Exception, failed)
    if short:
        app.add_middleware(Shortcut, path="/ask", answer=answer)
    return TestClient(app, raise_server_exceptions=False)


ASKED = [("POST", "/ask", body) for body in ("hello", "expected", "not expected", "")]
"""What has an answer, an error that has a handler, also that of its base class, or any other."""
ELSEWHERE = [
    (method, path, "") for method, path in (("GET", "/ask"), ("POST", "/ask/"), ("POST", "/other"), ("PUT", "/ask"))
]


@pytest.mark.parametrize(("method", "path", "body"), ASKED + ELSEWHERE)
def test_answers_and_errors_are_those_of_the_framework(method: str, path: str, body: str) -> None:
    """They are the same both ways, and another method or path is handed on."""
    long, short = (
        service(short=one).request(method, path, content=body, follow_redirects=False) for one in (False, True)
    )
    assert (short.status_code, short.text, short.headers) == (long.status_code, long.text, long.headers)
