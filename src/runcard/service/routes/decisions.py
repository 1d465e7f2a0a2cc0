"""Decisions: asked for, read again, and what became of them."""

import asyncio
import json
from datetime import UTC, datetime
from time import perf_counter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic_core import to_json
from starlette.responses import Response

from runcard.city.conditions import OUTSIDE_ID
from runcard.service.audit.outcomes import checked_outcome, merged_outcome
from runcard.service.audit.scores import decision_time, known_outcome
from runcard.service.documents import (
    DecisionAnswer,
    DecisionList,
    DecisionRecord,
    DecisionRequest,
    OutcomeRecorded,
    OutcomeRequest,
    body_of,
)
from runcard.service.limits import BODY
from runcard.service.parts import parts_of
from runcard.service.problems import ProblemError, refusals

router = APIRouter(tags=["decisions"])


@router.post(
    "/v1/decisions",
    summary="Who goes to an incident",
    response_model=DecisionAnswer,
    responses=refusals(409, 415, 422, 503),
    openapi_extra=body_of(DecisionRequest),
)
async def decide(request: Request) -> Response:
    """Say which units to send, with the chance to meet each standard, prices, other choices and the reason.

    The record of the answer is durable in the audit log before the answer is sent.
    """
    # Not read by the framework: it would take longer than the decision.
    asked = DecisionRequest.model_validate_json(request.scope.get(BODY, b""))
    parts = parts_of(request)
    began = perf_counter()
    answer = await parts.answerer.answer(asked)
    body, decided = to_json(answer), perf_counter()
    await parts.audit.record(answer, text=_record(body, asked, request.scope["runcard.who"]))
    parts.metrics.deciding.observe(decided - began)
    parts.metrics.recording.observe(perf_counter() - decided)
    parts.metrics.decided(answer)
    return Response(body, media_type="application/json")


def _record(body: bytes, asked: DecisionRequest, who: str) -> str:
    """What the audit log keeps: the answer as it is sent, the request, and who asked; no value is encoded twice."""
    request = asked.model_dump_json(exclude_none=True, by_alias=True)
    text = f'{body[:-1].decode()},"request":{request},"asked_by":{to_json(who).decode()}}}'
    return text if text.isascii() else json.dumps(json.loads(text))  # a database may know no other letters


@router.get(
    "/v1/decisions/{decision_id}",
    summary="An earlier decision",
    response_model=None,  # a record of an older version is shown as it is
    responses=refusals(404, 503) | {200: {"model": DecisionRecord, "description": "As the audit log has it."}},
)
async def read_decision(decision_id: str, request: Request) -> dict[str, Any]:
    """What was answered, to which request, and the outcomes that were recorded since."""
    found = await asyncio.to_thread(parts_of(request).audit.decision, decision_id)
    if found is None:
        raise ProblemError(404, f"expected a decision of the audit log, got {decision_id!r:.80}")
    return found | {"outcome": known_outcome(found)}


@router.get(
    "/v1/decisions",
    summary="The decisions with a reference",
    response_model=None,
    responses=refusals(503) | {200: {"model": DecisionList, "description": "The latest first, 100 at most."}},
)
async def find_decisions(
    request: Request,
    reference: Annotated[str, Query(max_length=200, description="The caller's own number of the incident.")],
) -> dict[str, Any]:
    """What was answered for an incident, by the caller's own number: for one who has lost the answer."""
    found = await asyncio.to_thread(parts_of(request).audit.referenced, reference)
    return {"decisions": [one | {"outcome": known_outcome(one)} for one in found]}


@router.post(
    "/v1/decisions/{decision_id}/outcome",
    summary="What was really done",
    status_code=201,
    responses=refusals(404, 415, 422, 503),
)
async def record_outcome(decision_id: str, outcome: OutcomeRequest, request: Request) -> OutcomeRecorded:
    """Record which units were really sent, when they arrived, and who decided otherwise and why.

    Several outcomes of one decision are kept, and each may hold only what is new: what counts is all of them together.
    """
    parts = parts_of(request)
    found = await read_decision(decision_id, request)
    kinds = {unit_id: state.kind for unit_id, state in parts.board.states.items()}
    document = outcome.model_dump(mode="json", exclude_none=True)
    checked = checked_outcome(
        document, kinds=kinds, decided=decision_time(found), now=datetime.now(UTC), before=found["outcomes"]
    )
    await parts.audit.outcome(decision_id, checked)
    sent = sorted(unit for unit in merged_outcome([*found["outcomes"], checked])["units"] if unit != OUTSIDE_ID)
    followed = sent == sorted(unit for unit in found["team"] if unit != OUTSIDE_ID)
    return OutcomeRecorded(decision_id=decision_id, followed=followed)
