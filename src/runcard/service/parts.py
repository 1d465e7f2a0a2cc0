"""What the routes share: the parts of one running service."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from fastapi import Request

from runcard.errors import RuncardError
from runcard.output_file import check_output_file
from runcard.outputs.cards.book import CardBook
from runcard.service.answers import Answerer
from runcard.service.audit import AuditLog, open_audit
from runcard.service.board import Board, restore_board, save_board
from runcard.service.documents import UnitDocument
from runcard.service.fallback import Fallback
from runcard.service.metrics import Metrics
from runcard.service.policies import (
    LoadedPolicy,
    PolicyStore,
    check_clock,
    load_policy,
    restore_swap,
    swap_file_of,
)
from runcard.service.problems import ProblemError
from runcard.service.settings import ServiceSettings


@dataclass(frozen=True, eq=False, kw_only=True)
class Parts:
    """The parts of a running service."""

    settings: ServiceSettings
    store: PolicyStore
    started_with: LoadedPolicy
    """The policy of the first file; another one may have taken its place since."""
    board: Board
    answerer: Answerer
    audit: AuditLog
    metrics: Metrics = field(default_factory=Metrics)
    books: dict[str, tuple[str, asyncio.Task[CardBook]]] = field(default_factory=dict)
    """By policy: a version, and its run cards; made when they are first asked for."""
    loading: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a policy is loaded: one at a time."""
    reading: Lock = field(default_factory=Lock)
    """Held while the whole audit log is read."""
    board_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the board changes."""
    board_thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "board"))
    """What writes the file of the board: it waits behind nobody who reads the log."""

    async def change_board(self, *states: UnitDocument) -> dict[str, Any]:
        """What everybody is told of a change, which is in the file of the board before anybody hears of it."""
        async with self.board_lock:
            if self.settings.board is not None:
                document = self.board.document(*states)
                try:
                    loop = asyncio.get_running_loop()
                    await loop.run_in_executor(self.board_thread, save_board, document, self.settings.board)
                except (OSError, RuncardError) as error:
                    raise ProblemError(503, f"the board could not be kept: {error}", {"Retry-After": "1"}) from error
            return self.board.set(*states)


def make_parts(settings: ServiceSettings, audit: AuditLog | None = None) -> Parts:
    """The parts of a service, ready to answer."""
    first, *others = settings.files
    store = PolicyStore(load_policy(first).warm_up())
    for path in others:
        store.add(load_policy(path).warm_up(), serve=False)
    started_with, swap = store.serving, swap_file_of(settings.board)
    if swap is not None:
        check_output_file(swap)
        restore_swap(swap, store)
    for policy in store.by_name.values():
        check_clock(policy, settings)
    units = Board(store.serving.plan.units)
    if settings.board is not None:
        restore_board(units, settings.board, store.serving.ground)
    answerer = Answerer(settings, store, units, Fallback(store, settings.fallback))
    if audit is None:  # the last thing that can fail, so that nothing is left open
        audit = open_audit(settings.audit)
    return Parts(settings=settings, store=store, started_with=started_with, board=units, answerer=answerer, audit=audit)


def parts_of(request: Request) -> Parts:
    """The parts of the service that got a request."""
    found: Parts = request.app.state.parts
    return found
