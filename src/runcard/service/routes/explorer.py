"""What the explorer's page asks for, computed in turn: one scene, and one day, which may take long."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic_core import to_json

from runcard.service.explorer.scenes import RouteRequest, SceneRequest, Scenes
from runcard.service.problems import refusals
from runcard.service.turns import Turns

router = APIRouter(prefix="/v1", tags=["explorer"], responses=refusals(422, 503))


def _scenes(request: Request) -> Scenes:
    found: Scenes = request.app.state.scenes
    return found


def _turns(request: Request) -> Turns:
    found: Turns = request.app.state.scene_turns
    return found


def _plain(document: Mapping[str, Any]) -> Response:
    """A document as it is: going through every number of it again would take longer than making it."""
    return Response(to_json(document), media_type="application/json")


@router.get("/city")
async def city(request: Request) -> Response:
    """The areas, roads, stations and units, and the policies, types and periods to choose from."""
    return await _turns(request).take(lambda: _plain(_scenes(request).city_document()))


@router.post("/scene")
async def scene(asked: SceneRequest, request: Request) -> Response:
    """Who goes to every area in one state, under two policies."""
    return await _turns(request).take(lambda: _plain(_scenes(request).scene(asked)), gone=request.is_disconnected)


@router.post("/route")
async def route(asked: RouteRequest, request: Request) -> Response:
    """Who goes to one area under every policy, and on which roads."""
    return await _turns(request).take(lambda: _plain(_scenes(request).route(asked)), gone=request.is_disconnected)


@router.get("/playback")
async def playback(
    request: Request,
    policy: Annotated[str | None, Query(max_length=200)] = None,
    day: Annotated[int, Query(ge=0, le=6, description="Of a simulated week, 0 for Monday.")] = 0,
    seed: Annotated[int, Query(ge=0, lt=2**31)] = 1,
    log_date: Annotated[date | None, Query(description="A day of the audit log, in place of a simulated one.")] = None,
) -> Response:
    """The incidents of a day: who went, when they were there, and when they were free again."""
    turns: Turns = request.app.state.day_turns
    scenes = _scenes(request)
    return await turns.take(
        lambda: _plain(scenes.playback(policy=policy, day=day, seed=seed, log_date=log_date)),
        gone=request.is_disconnected,
    )
