"""The books of run cards that were made, one for each version of a policy."""

import asyncio

from runcard.outputs.cards.book import CardBook, make_book
from runcard.service.policies import LoadedPolicy


class Books:
    """Books of cards, made in a thread when they are first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, asyncio.Task[CardBook]]] = {}

    def of(self, policy: LoadedPolicy) -> "asyncio.Task[CardBook]":
        """The book of a policy; the one of an older version is forgotten."""
        known = self._made.get(policy.name)
        if known is None or known[0] != policy.version or (known[1].done() and known[1].exception() is not None):
            known = (policy.version, asyncio.create_task(asyncio.to_thread(make_book, policy.plan)))
            self._made[policy.name] = known
        return known[1]
