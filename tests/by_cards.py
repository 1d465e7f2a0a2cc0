"""Decisions by run cards, with units idle or busy in the words of a person, for tests."""

from typing import Any

from runcard.outputs.cards.answer import CardAnswer, decide_by_cards
from runcard.outputs.cards.csv_file import CardFile
from runcard.plan.situation import Situation, units_said


def by_cards(
    file: CardFile,
    area: str,
    incident_type: str | None = None,
    *,
    row: int | None = None,
    hour: int | None = None,
    **words: str,
) -> CardAnswer:
    """Who goes by the cards of a file, as `runcard decide` asks."""
    units: dict[str, Any] = {what: [*units_said(text, file.capacity, what).elements()] for what, text in words.items()}
    return decide_by_cards(file, Situation(at=area, type=incident_type, row=row, time=hour, **units))
