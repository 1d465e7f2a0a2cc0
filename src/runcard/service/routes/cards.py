"""The run cards of an area, as a dispatcher reads them."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from runcard.outputs.cards.book import CardBook, make_book
from runcard.service.documents import Id, PolicyUsed
from runcard.service.parts import Parts, parts_of
from runcard.service.policies import LoadedPolicy
from runcard.service.problems import ProblemError, refusals

router = APIRouter(tags=["cards"])

WAIT_SECONDS: Final = 2.0
"""Cards of a large city take longer to make; then the client asks again."""


class CardLine(BaseModel):
    """A line of a card: the first one whose units are all free goes."""

    model_config = ConfigDict(from_attributes=True)

    units: list[str]
    busy: list[str]
    meets: list[float]
    first_minutes: float | None
    last_minutes: float | None
    departs: bool
    closest: list[str]


class CardDocument(BaseModel):
    """The card of one kind for one type of incident."""

    model_config = ConfigDict(from_attributes=True)

    period: str
    area: str
    area_name: str
    district: str
    type: str
    row: int = Field(serialization_alias="incident_class")
    kind: str
    standards: list[str]
    lines: list[CardLine]
    fallback_order: list[list[str]] = Field(validation_alias="houses")


class AreaCards(BaseModel):
    """The cards of an area."""

    policy: PolicyUsed
    cards: list[CardDocument]


@router.get("/v1/cards/{area:path}", summary="The run cards of an area", responses=refusals(404, 422, 503))
async def read_cards(
    area: str,
    request: Request,
    of_type: Annotated[Id | None, Query(alias="type", description="Only of this type of incident.")] = None,
    kind: Annotated[Id | None, Query(description="Only of this kind of units.")] = None,
    period: Annotated[Id | None, Query(description="Only of this period of the week.")] = None,
    policy: Annotated[Id | None, Query(description="Of this policy; of the one that answers if left out.")] = None,
) -> AreaCards:
    """Who goes first to each type of incident in an area, who else if they are busy, and the order behind that."""
    parts = parts_of(request)
    held = parts.store.get(policy)
    if area not in held.plan.types_at:
        raise ProblemError(404, f"expected a demand point, got {area!r:.80}")
    book = await _book(parts, held)
    wanted = {"type": of_type, "kind": kind, "period": period}
    cards = [
        one for one in book.cards
        if one.area == area and all(value in (None, getattr(one, name)) for name, value in wanted.items())
    ]  # fmt: skip
    if not cards:
        asked = ", ".join(f"{name} {value}" for name, value in wanted.items() if value is not None)
        raise ProblemError(404, f"expected a card of area {area} for {asked:.200}, got none")
    used = PolicyUsed(name=held.name, version=held.version, period=period)
    return AreaCards(policy=used, cards=[CardDocument.model_validate(card) for card in cards])


async def _book(parts: Parts, policy: LoadedPolicy) -> CardBook:
    """The cards of a policy; a ProblemError if they are still being made. Those of an older version are forgotten."""
    version, book = parts.books.get(policy.name, ("", None))
    if book is None or version != policy.version or (book.done() and book.exception() is not None):
        book = asyncio.create_task(asyncio.to_thread(make_book, policy.plan))
        parts.books[policy.name] = policy.version, book
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            return await asyncio.shield(book)
    except TimeoutError:
        raise ProblemError(503, "the cards are being made: ask again in a while", {"Retry-After": "5"}) from None
