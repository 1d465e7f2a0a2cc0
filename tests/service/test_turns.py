"""Turns: one at a time, and not too many who wait."""

import asyncio
import time
from typing import Any

import pytest

from runcard.service.problems import ProblemError
from runcard.service.routes import explorer


def test_what_is_slow_is_computed_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a time, however many ask; beyond those that may wait the answer is 503 at once."""
    monkeypatch.setattr(explorer, "MOST_WAITING", 3)
    inside, most = [0], [0]

    def make() -> str:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.02)
        inside[0] -= 1
        return "made"

    async def here() -> bool:
        return False

    async def ask() -> list[Any]:
        taken = explorer.Turns()
        return await asyncio.gather(*(taken.take(make, gone=here) for _ in range(5)), return_exceptions=True)

    found = asyncio.run(ask())
    assert most == [1]
    assert found[:3] == ["made"] * 3
    assert [(type(one), one.status) for one in found[3:]] == [(ProblemError, 503)] * 2


def test_nothing_is_computed_for_those_who_are_gone() -> None:
    """Whoever took a question back while it waited gives up the turn; the others are answered."""
    made: list[int] = []

    def make(number: int) -> int:
        time.sleep(0.01)
        made.append(number)
        return number

    async def ask() -> list[Any]:
        taken, left = explorer.Turns(), {1, 2}

        async def one(number: int) -> int:
            async def gone() -> bool:
                return number in left

            return await taken.take(lambda: make(number), gone=gone)

        return await asyncio.gather(*(one(number) for number in range(4)), return_exceptions=True)

    found = asyncio.run(ask())
    assert (found[0], found[3], made) == (0, 3, [0, 3])
    assert [(type(one), one.status) for one in found[1:3]] == [(ProblemError, 503)] * 2
