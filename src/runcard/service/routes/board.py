"""The status board: read, changed, and listened to."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from fastapi import APIRouter, Request
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from runcard.service.board import unit_document
from runcard.service.documents import BoardDocument, BoardUpdate, UnitChange, UnitDocument, UnitUpdate
from runcard.service.parts import Parts, parts_of
from runcard.service.problems import ProblemError, refusals

router = APIRouter(tags=["board"])

BEAT_SECONDS: Final = 15.0
"""After so long without a change a comment is sent: who is gone is noticed."""


@router.get("/v1/board", summary="What every unit does", responses=refusals(), response_model=BoardDocument)
async def read_board(request: Request) -> dict[str, Any]:
    """Every unit: idle, busy or out of service, and where free units are that are not at home."""
    return parts_of(request).board.document()


@router.get(
    "/v1/units/{unit_id:path}", summary="What a unit does", responses=refusals(404), response_model=UnitDocument
)
async def read_unit(unit_id: str, request: Request) -> dict[str, Any]:
    """One unit of the board."""
    parts = parts_of(request)
    _check_unit(parts, unit_id)
    return unit_document(parts.board.states[unit_id])


@router.put(
    "/v1/units/{unit_id:path}",
    summary="Say what a unit does",
    responses=refusals(404, 409, 415, 422, 503),
    response_model=UnitChange,
)
async def set_unit(unit_id: str, update: UnitUpdate, request: Request) -> dict[str, Any]:
    """Set a unit idle, busy or out of service; an idle one may be at another place than its station."""
    parts = parts_of(request)
    _check_unit(parts, unit_id)
    return await parts.change_board(_state(parts, unit_id, update))


@router.put(
    "/v1/board",
    summary="Say what every unit does",
    responses=refusals(415, 422, 503),
    response_model=BoardDocument,
)
async def set_board(update: BoardUpdate, request: Request) -> dict[str, Any]:
    """Set the whole board in one step and one version, such as after a break of the connection."""
    parts = parts_of(request)
    given = frozenset(update.units)
    if unknown := given - parts.board.unit_ids:
        raise ProblemError(422, f"units: expected units of the roster, got {min(unknown)!r:.80}")
    if missing := parts.board.unit_ids - given:
        words = ", ".join(sorted(missing))
        raise ProblemError(422, f"units: expected every unit of the roster, got none of {words:.80}")
    await parts.change_board(*(_state(parts, unit_id, one) for unit_id, one in update.units.items()))
    return parts.board.document()


def _state(parts: Parts, unit_id: str, update: UnitUpdate) -> UnitDocument:
    """What a unit does after an update."""
    spot = None
    if update.place is not None:
        spot = parts.store.serving.ground.spots.find(update.place, what=f"unit {unit_id}")
    return parts.board.changed(unit_id, update.status, spot)


@router.get(
    "/v1/board/stream",
    summary="The changes of the board, as they happen",
    response_class=StreamingResponse,
    responses=refusals(503)
    | {
        200: {
            "content": {"text/event-stream": {}},
            "description": "The whole as an event `board`, then `unit` for each change, or `board` if all changed.",
        }
    },
)
async def stream(request: Request) -> StreamingResponse:
    """Send the whole board, and then every change (server-sent events).

    The id of an event is the version of the board. Whoever reads too slowly is dropped and begins again with the whole
    board.
    """
    parts = parts_of(request)
    if len(parts.board.listeners) >= parts.settings.streams:
        raise ProblemError(
            503, f"expected at most {parts.settings.streams} listeners of the board", {"Retry-After": "5"}
        )
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(parts), media_type="text/event-stream", headers=headers)


async def _events(parts: Parts) -> AsyncIterator[bytes]:
    """The events of one listener."""
    board = parts.board
    listener = board.listen()
    try:
        yield _event("board", board.version, board.document())
        while True:
            try:
                async with asyncio.timeout(BEAT_SECONDS):
                    change = await listener.changes.get()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if change is None or listener.dropped:
                return
            yield _event("unit" if "unit" in change else "board", change["board_version"], change)
    finally:
        board.listeners.discard(listener)


def _event(name: str, version: int, document: dict[str, Any]) -> bytes:
    return f"event: {name}\nid: {version}\ndata: ".encode() + to_json(document) + b"\n\n"


def _check_unit(parts: Parts, unit_id: str) -> None:
    """Raise a ProblemError about a unit that is none; nothing is guessed, since a wrong guess is worse than none."""
    if unit_id not in parts.board.unit_ids:
        raise ProblemError(404, f"expected a unit of the roster, got {unit_id!r:.80}")
