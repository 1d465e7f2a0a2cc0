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


@pytest.mark.parametrize("body", ["hello", "expected", "not expected", ""])
def test_answers_and_errors_are_those_of_the_framework(body: str) -> None:
    """An answer, an error that has a handler, also that of its base class, and any other are the same both ways."""
    long, short = (service(short=one).post("/ask", content=body) for one in (False, True))
    assert (short.status_code, short.json()) == (long.status_code, long.json())
    assert short.headers == long.headers


@pytest.mark.parametrize(("method", "path"), [("GET", "/ask"), ("POST", "/ask/"), ("POST", "/other"), ("PUT", "/ask")])
def test_all_else_goes_to_the_framework(method: str, path: str) -> None:
    """Another method or path is handed on."""
    long, short = (service(short=one).request(method, path, follow_redirects=False) for one in (False, True))
    assert (short.status_code, short.text) == (long.status_code, long.text)
