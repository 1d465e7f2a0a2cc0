"""Whether the process is alive, whether it can answer, and `/metrics`, for Prometheus."""

import asyncio
from collections import Counter
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from runcard.service.documents import Health, PolicyUsed, Readiness
from runcard.service.parts import parts_of
from runcard.service.problems import ProblemError, refusals

router = APIRouter(tags=["health"])

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


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


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses=refusals() | {200: {"content": {"text/plain": {}}, "description": "The text format of Prometheus."}},
)
async def metrics(request: Request) -> Response:
    """Count answers, their seconds, those of the fallback, and what units do."""
    parts = parts_of(request)
    found, board = parts.metrics, parts.board
    counts = Counter(one.status for one in board.states.values())
    for status in ("idle", "busy", "out_of_service"):
        found.units.labels(status).set(counts[status])
    found.board_version.set(board.version)
    found.listeners.set(len(board.listeners))
    found.waiting.set(parts.answerer.waiting)
    found.policy.clear()
    found.policy.labels(parts.store.serving.name, parts.store.serving.version).set(1)
    return Response(found.text(), media_type=TEXT)
