"""Turns: what is slow and can wait is computed one at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from runcard.service.problems import ProblemError

MOST_WAITING: Final = 16

T = TypeVar("T")


class Turns:
    """One is computed at a time, in a thread, and the others wait in the loop: several would slow down decisions."""

    def __init__(self) -> None:
        self._turn, self._waiting = asyncio.Semaphore(1), 0

    async def take(self, make: Callable[[], T], *, gone: Callable[[], Awaitable[bool]] | None = None) -> T:
        """What is made when its turn comes; a ProblemError if too many wait, or nobody waits for it any more.

        A page takes its question back as soon as it has a newer one: computing what `gone` clients asked for would keep
        the newest waiting, and refuse it when a day is played.
        """
        if self._waiting >= MOST_WAITING:
            raise ProblemError(503, "the explorer is busy: ask again in a while", {"Retry-After": "2"})
        self._waiting += 1
        try:
            async with self._turn:
                if gone is not None and await gone():
                    raise ProblemError(503, "nobody waits for it any more")
                return await asyncio.to_thread(make)
        finally:
            self._waiting -= 1
