"""Whether the process is alive, and whether it can answer."""

import asyncio

from fastapi import APIRouter, Request

from runcard.service.documents import Health, PolicyUsed, Readiness
from runcard.service.parts import parts_of
from runcard.service.problems import ProblemError, refusals

router = APIRouter(tags=["health"])


@router.get("/health", summary="Alive")
async def health() -> Health:
    """Say that the process is alive."""
    return Health(status="ok")


@router.get("/ready", summary="Ready", responses=refusals(503))
async def ready(request: Request) -> Readiness:
    """Say that the service can answer, and by which policy."""
    parts, keys = parts_of(request), request.app.state.keys
    if keys is not None and not keys.look():
        raise ProblemError(503, "expected a file of API keys that can be read: the log of the service says more")
    await asyncio.to_thread(parts.audit.check)
    policy = parts.store.serving
    used = PolicyUsed(name=policy.name, version=policy.version, period=None)
    return Readiness(status="ready", policy=used, board_version=parts.board.version)
