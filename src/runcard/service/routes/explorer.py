"""The explorer: its page, and what that asks for, computed in turn: one scene, and one day, which may take long.

The page and its files are served as they are: no build step, and nothing from elsewhere.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import date
from importlib.resources import files
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic_core import to_json

from runcard.page import map_script, map_style
from runcard.service.documents import RouteRequest, SceneRequest
from runcard.service.explorer.scenes import Scenes
from runcard.service.problems import ProblemError, refusals

router = APIRouter(prefix="/v1", tags=["explorer"], responses=refusals(422, 503))

FILES: Final = {
    "": ("index.html", "text/html; charset=utf-8"),
    "explorer/explorer.js": ("explorer.js", "text/javascript; charset=utf-8"),
    "explorer/explorer.css": ("explorer.css", "text/css; charset=utf-8"),
}
SECURITY: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
MOST_WAITING: Final = 16

T = TypeVar("T")


class Turns:
    """One is computed at a time, in a thread, and the others wait in the loop: several would slow down decisions."""

    def __init__(self) -> None:
        self._turn, self._waiting = asyncio.Semaphore(1), 0

    async def take(self, make: Callable[[], T], *, gone: Callable[[], Awaitable[bool]]) -> T:
        """What is made when its turn comes; a ProblemError if too many wait, or nobody waits for it any more.

        A page takes its question back as soon as it has a newer one: computing what `gone` clients asked for would keep
        the newest waiting, and refuse it when a day is played.
        """
        if self._waiting >= MOST_WAITING:
            raise ProblemError(503, "the explorer is busy: ask again in a while", {"Retry-After": "2"})
        self._waiting += 1
        try:
            async with self._turn:
                if await gone():
                    raise ProblemError(503, "nobody waits for it any more")
                return await asyncio.to_thread(make)
        finally:
            self._waiting -= 1


async def _taken(request: Request, make: Callable[[Scenes], Mapping[str, Any]], *, day: bool = False) -> Response:
    """A document, made when its turn comes, as it is: going through every number of it again would take longer."""
    state = request.app.state
    scenes: Scenes = state.scenes
    turns: Turns = state.day_turns if day else state.scene_turns
    content = await turns.take(lambda: to_json(make(scenes)), gone=request.is_disconnected)
    return Response(content, media_type="application/json")


@router.get("/city")
async def city(request: Request) -> Response:
    """The areas, roads, stations and units, and the policies, types and periods to choose from."""
    return await _taken(request, Scenes.city_document)


@router.post("/scene")
async def scene(asked: SceneRequest, request: Request) -> Response:
    """Who goes to every area in one state, under two policies."""
    return await _taken(request, lambda scenes: scenes.scene(asked))


@router.post("/route")
async def route(asked: RouteRequest, request: Request) -> Response:
    """Who goes to one area under every policy, and on which roads."""
    return await _taken(request, lambda scenes: scenes.route(asked))


@router.get("/playback")
async def playback(
    request: Request,
    policy: Annotated[str | None, Query(max_length=200)] = None,
    day: Annotated[int, Query(ge=0, le=6, description="Of a simulated week, 0 for Monday.")] = 0,
    seed: Annotated[int, Query(ge=0, lt=2**31)] = 1,
    log_date: Annotated[date | None, Query(description="A day of the audit log, in place of a simulated one.")] = None,
) -> Response:
    """The incidents of a day: who went, when they were there, and when they were free again."""
    return await _taken(
        request, lambda scenes: scenes.playback(policy=policy, day=day, seed=seed, log_date=log_date), day=True
    )


def page_routes() -> APIRouter:
    """The explorer's page and its files, which need no key: what they show does."""
    pages, folder = APIRouter(include_in_schema=False), files("runcard.service.explorer")

    def serve(path: str, content: bytes, media_type: str) -> None:
        @pages.get(f"/{path}")
        async def file() -> Response:
            return Response(content, media_type=media_type, headers=SECURITY)

    for path, (name, media_type) in FILES.items():
        serve(path, (folder / name).read_bytes(), media_type)
    serve("explorer/map.js", map_script().encode(), "text/javascript; charset=utf-8")
    serve("explorer/map.css", map_style().encode(), "text/css; charset=utf-8")
    return pages
