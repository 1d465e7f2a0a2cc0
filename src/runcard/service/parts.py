"""What the routes share: the parts of one running service."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from fastapi import Request

from runcard.errors import RuncardError
from runcard.service.answers import Answerer
from runcard.service.audit import AuditLog
from runcard.service.board import Board, UnitState
from runcard.service.board_file import save_board
from runcard.service.books import Books
from runcard.service.metrics import Metrics
from runcard.service.policies import LoadedPolicy, PolicyStore
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
    books: Books = field(default_factory=Books)
    loading: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a policy is loaded: one at a time."""
    reading: Lock = field(default_factory=Lock)
    """Held while the whole audit log is read."""
    board_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the board changes."""
    board_thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "board"))
    """What writes the file of the board: it waits behind nobody who reads the log."""

    async def change_board(self, *states: UnitState) -> dict[str, Any]:
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


def parts_of(request: Request) -> Parts:
    """The parts of the service that got a request."""
    found: Parts = request.app.state.parts
    return found
