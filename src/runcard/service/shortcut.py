"""A way around the framework for the one request that comes a thousand times a second.

The layers of a framework look for the route, unpack parameters and set up what a plain answer does not need; together
they take as long as a decision. The route is in the app as any other, for its description, and for its errors.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

Answering = Callable[[Request], Awaitable[Response]]
METHOD: Final = "POST"


class Shortcut:
    """The app, with one route that is answered without looking for it; it stands behind the gate."""

    def __init__(self, app: ASGIApp, *, path: str, answer: Answering) -> None:
        self._app, self._path, self._answer = app, path, answer
        self._route = APIRoute(path, answer, methods=[METHOD])  # metrics name a request by its route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answering a request, or hand it on."""
        if scope["type"] != "http" or scope["path"] != self._path or scope["method"] != METHOD:
            await self._app(scope, receive, send)
            return
        scope["route"] = self._route
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except Exception as error:
            handler = _handler(scope["app"], error)
            if handler is None:
                raise
            response = await handler(request, error)
        await response(scope, receive, send)


def _handler(app: FastAPI, error: Exception) -> Any:
    """What the app does with an error; None with one that nobody expects, which it logs."""
    kinds = (kind for kind in type(error).__mro__ if kind is not Exception)
    return next((app.exception_handlers[kind] for kind in kinds if kind in app.exception_handlers), None)
