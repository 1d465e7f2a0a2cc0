"""`/metrics`, for Prometheus."""

from collections import Counter
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from runcard.service.parts import parts_of
from runcard.service.problems import refusals

router = APIRouter(tags=["health"])

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


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
    counts = Counter(one.status for one in board)
    for status in ("idle", "busy", "out_of_service"):
        found.units.labels(status).set(counts[status])
    found.board_version.set(board.version)
    found.listeners.set(board.num_listeners)
    found.waiting.set(parts.answerer.waiting)
    found.policy.clear()
    found.policy.labels(parts.store.serving.name, parts.store.serving.version).set(1)
    return Response(found.text(), media_type=TEXT)
