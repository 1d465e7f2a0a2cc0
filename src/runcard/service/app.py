"""The app: one process, one event loop, the parts of the service put together.

There is a way around the framework for the one request that comes a thousand times a second: the layers of a framework
look for the route, unpack parameters and set up what a plain answer does not need; together they take as long as a
decision. The route is in the app as any other, for its description, and for its errors.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Final

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from runcard import __version__
from runcard.service.audit import AuditLog
from runcard.service.board import board_held
from runcard.service.description import describe
from runcard.service.explorer.scenes import Scenes
from runcard.service.keys import KeyRing
from runcard.service.limits import Gate
from runcard.service.parts import make_parts
from runcard.service.problems import add_problem_handlers
from runcard.service.routes import audit as audit_routes
from runcard.service.routes import board, cards, decisions, explorer, health, policies
from runcard.service.settings import ServiceSettings

Answering = Callable[[Request], Awaitable[Response]]
METHOD: Final = "POST"
DESCRIPTION = "Which units to send to an incident, why, and a record of every answer."


def make_app(settings: ServiceSettings, *, audit: AuditLog | None = None) -> FastAPI:
    """The service with its policies loaded: whatever is wrong with them is said before it answers anybody."""
    keys = None if settings.keys is None else KeyRing(settings.keys)
    with ExitStack() as stack:
        if settings.board is not None:
            stack.enter_context(board_held(settings.board))
        parts = make_parts(settings, audit)
        held = stack.pop_all()  # until the service ends

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        parts.board.close()
        parts.answerer.close()
        parts.audit.close()
        held.close()

    app = FastAPI(
        title="runcard", version=__version__, description=DESCRIPTION, lifespan=life, docs_url=None, redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # its own metrics are at /metrics
    )  # fmt: skip
    app.state.parts, app.state.keys = parts, keys
    app.state.scenes, app.state.scene_turns, app.state.day_turns = (
        Scenes(parts),
        explorer.Turns(),
        explorer.Turns(),
    )
    add_problem_handlers(app)
    for one in (decisions, audit_routes, board, cards, policies, health, explorer):
        app.include_router(one.router)
    app.include_router(explorer.page_routes())
    describe(app)
    app.add_middleware(Shortcut, path="/v1/decisions", answer=decisions.decide)
    app.add_middleware(Gate, settings=settings, keys=keys, metrics=parts.metrics)
    return app


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
            handlers, kinds = scope["app"].exception_handlers, type(error).__mro__
            kind = next((kind for kind in kinds if kind is not Exception and kind in handlers), None)
            if kind is None:  # nobody expects it: the app logs it
                raise
            response = await handlers[kind](request, error)
        await response(scope, receive, send)
