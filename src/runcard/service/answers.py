"""From a request to an answer: what is asked, who decides, and who decides instead if that takes too long.

A decision for a demand point with every unit at home takes a fraction of a millisecond and is made at once. What may
take longer, a policy that looks ahead or a place that needs the roads, is computed in a thread with a time limit. When
it is late, the fallback answers, and says so. At most so many late computations go on; beyond, the fallback answers
without trying.
"""

import asyncio
import logging
import secrets
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from runcard.city.address import Place, Spot, Spots
from runcard.city.conditions import near
from runcard.errors import InputError
from runcard.plan.answer import Answer
from runcard.plan.plan import Plan
from runcard.plan.situation import Situation, checked_units
from runcard.service.board import Board
from runcard.service.documents import DecisionRequest
from runcard.service.fallback import Fallback
from runcard.service.policies import SLOW_SECONDS, LoadedPolicy, PolicyStore
from runcard.service.problems import ProblemError
from runcard.service.settings import ServiceSettings

SLOW_THREADS: Final = 2
FORGIVEN_AFTER: Final = 100
"""After so many quick answers in a row, a policy that once took long was not the reason: the machine had other work."""

_log = logging.getLogger("runcard.service")


@dataclass(frozen=True, eq=False, kw_only=True)
class Asked:
    """What is asked, checked: every unit, type and place in it is there."""

    policy: LoadedPolicy
    period: str | None
    situation: Situation
    """With its type, and who is idle."""
    idle: frozenset[str]
    spot: Spot | None
    """Where the place is, if it is no demand point."""
    board_version: int
    notes: tuple[str, ...] = ()
    """Where the request and the board differ, in words."""

    @property
    def plan(self) -> Plan:
        """The plan of its period."""
        return self.policy.in_period(self.period)

    @property
    def is_simple(self) -> bool:
        """Whether it is at a demand point with every unit at home, so that it needs no roads."""
        return self.spot is None and not self.situation.moved


class Answerer:
    """Answers requests by the policies of a store."""

    def __init__(self, settings: ServiceSettings, store: PolicyStore, board: Board, fallback: Fallback) -> None:
        self.store, self.board, self.fallback = store, board, fallback
        self._zone = settings.zone
        self._limit_seconds, self._most_waiting = settings.limit_ms / 1000.0, settings.most_waiting
        self._threads = ThreadPoolExecutor(SLOW_THREADS, thread_name_prefix="runcard-decide")
        self.waiting = 0
        """Slow answers that are computed or wait."""
        self._quick_answers = Counter[str]()
        """By version of a policy: its quick answers since it took long."""

    def close(self) -> None:
        """Wait for nobody."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def now(self, given: datetime | None = None) -> datetime:
        """The time by the clock of the city; one without a zone is taken for that."""
        if given is None:
            return datetime.now(self._zone)
        try:
            return given if given.tzinfo is None else given.astimezone(self._zone)
        except OverflowError as error:
            raise InputError(f"time: expected a time of this age, got {given.isoformat()}") from error

    def situation(self, request: DecisionRequest) -> Asked:
        """What a request asks; a ProblemError or an InputError if it does not make sense."""
        policy = self.store.get(request.policy)
        if request.policy_version not in (None, policy.version):
            raise ProblemError(
                409, f"policy_version: expected {policy.version}, the version of {policy.name} that answers now, "
                f"got {request.policy_version!r:.80}",
            )  # fmt: skip
        period = policy.period_at(request.period, self.now(request.time) if policy.periods else None)
        plan, ground = policy.in_period(period), policy.ground
        idle, moved, notes = self._units(request, ground.spots)
        if request.area is not None and request.area not in plan.types_at:
            words = near(request.area, list(plan.types_at))
            if request.area in ground.node_numbers:
                words = ", a node of the roads: send it as node"
            raise InputError(f"area: expected a demand point, got {request.area!r}{words}")
        place = request.place
        of_type = plan.type_of(place, request.type)
        known = isinstance(place, str) and of_type in plan.types_at.get(place, ())
        return Asked(
            policy=policy, period=period, idle=idle, spot=None if known else ground.spots.find(place),
            situation=Situation(at=place, type=of_type or None, idle=idle, moved=moved, row=request.row),
            board_version=self.board.version, notes=notes,
        )  # fmt: skip

    def _units(
        self, request: DecisionRequest, spots: Spots
    ) -> tuple[frozenset[str], Mapping[str, Place], tuple[str, ...]]:
        """The free units, where those are that are not at home, and notes.

        The request says who is free, or else the board. The board says where free units are, but for those of which the
        request says it.
        """
        board = self.board
        notes: tuple[str, ...] = ()
        if request.idle is None and request.busy is None:
            if request.board_version not in (None, board.version):
                raise ProblemError(
                    409, f"board_version: expected {board.version}, that of the board now, got {request.board_version}"
                )
            free, moved = board.idle, dict(board.moved)
            notes = _untold(board)
        else:
            free = _free(request.idle, request.busy, board)
            moved = {unit: place for unit, place in board.moved.items() if unit in free}
            notes = _differences(free, frozenset(request.busy or ()), board)
        for unit_id, where in (request.moved or {}).items():
            if unit_id not in board.unit_ids:
                raise InputError(f"moved: expected units of the roster, got {unit_id!r}")
            if unit_id not in free:
                raise InputError(f"moved: expected {unit_id} to be free, since it is said where it is, got it busy")
            spots.find(where.place, what=f"unit {unit_id}")
            moved[unit_id] = where.place
        return free, moved, notes

    async def answer(self, request: DecisionRequest) -> dict[str, Any]:
        """The answer to a request as plain values."""
        asked = self.situation(request)
        by = asked.policy.method
        why: str | None = None
        body: dict[str, Any] | None = None
        try:
            if asked.is_simple and not asked.policy.slow:
                began = time.perf_counter()
                body = self._decide(asked).document()
                self._watch(asked.policy, time.perf_counter() - began)
            else:
                body, why = await self._in_time(asked)
        except InputError:
            raise
        except Exception as error:  # a mistake of ours must not leave a dispatcher without an answer
            _log.exception("%s failed", by)
            why = f"{by} failed ({type(error).__name__})"
        version: str | None = None
        if body is None:
            body, by, version = self.fallback.decide(asked)
        body["notes"] += asked.notes
        policy = {"name": asked.policy.name, "version": asked.policy.version, "period": asked.period}
        return {
            "decision_id": new_id(), "reference": request.reference, "time": datetime.now(UTC).isoformat(), **body,
            "policy": policy, "board_version": asked.board_version, "idle": sorted(asked.idle),
            "moved": {unit: _place_document(place) for unit, place in (asked.situation.moved or {}).items()},
            "answered_by": by, "fallback": why is not None, "fallback_reason": why, "fallback_version": version,
        }  # fmt: skip

    def _decide(self, asked: Asked) -> Answer:
        return asked.plan.decide(asked.situation)

    def _watch(self, policy: LoadedPolicy, seconds: float) -> None:
        """Compute a policy in a thread from now on, if it took longer than it may: everybody else had to wait."""
        if seconds > self._limit_seconds:
            self.store.mark(policy, slow=True)
            self._quick_answers[policy.version] = 0
            _log.warning(
                "%s took %.0f ms for an answer, the limit is %g ms: from now on it is computed in a thread",
                policy.name, 1000.0 * seconds, 1000.0 * self._limit_seconds,
            )  # fmt: skip

    def _forgive(self, asked: Asked, seconds: float) -> None:
        """Answer at once again by a policy that was quick, took long once, and has been quick ever since."""
        policy = asked.policy
        if asked.is_simple and policy.found_quick:
            quick = self._quick_answers[policy.version] + 1 if seconds <= SLOW_SECONDS else 0
            self._quick_answers[policy.version] = quick % FORGIVEN_AFTER
            if quick == FORGIVEN_AFTER and policy.slow:
                self.store.mark(policy, slow=False)
                _log.warning("%s is as quick as before: its answers are computed at once again", policy.name)

    def _slowly(self, asked: Asked, early: list[Answer]) -> tuple[dict[str, Any], float]:
        """The answer of a policy that may be slow, and the seconds of a processor that it took.

        The decision is in `early` before its minutes are computed.

        At an address minutes take as long as the decision. While others wait for a thread they are left out: who goes
        is worth more than when they are there.
        """
        began = time.thread_time()
        early.append(self._decide(asked))
        document = early[0].document(minutes=self.waiting <= SLOW_THREADS)
        return document, time.thread_time() - began

    async def _in_time(self, asked: Asked) -> tuple[dict[str, Any] | None, str | None]:
        """The answer of a policy that may be slow; None, and why, if it does not come in time."""
        if self.waiting >= self._most_waiting:
            return None, f"{self.waiting} slow answers are being computed already"
        self.waiting += 1
        early: list[Answer] = []
        loop, computed = asyncio.get_running_loop(), self._threads.submit(self._slowly, asked, early)

        def one_less(_: object) -> None:
            with suppress(RuntimeError):  # the service has ended meanwhile
                loop.call_soon_threadsafe(lambda: setattr(self, "waiting", self.waiting - 1))

        computed.add_done_callback(one_less)
        waited = asyncio.wrap_future(computed)
        waited.add_done_callback(_look_at)
        try:
            async with asyncio.timeout(self._limit_seconds):
                document, seconds = await asyncio.shield(waited)
            self._forgive(asked, seconds)
            return document, None
        except TimeoutError:
            computed.cancel()  # it does not begin if it has not yet
            if early:
                return early[0].document(minutes=False), None
            return None, f"{asked.policy.method} did not answer within {1000.0 * self._limit_seconds:g} ms"


def _look_at(future: asyncio.Future[tuple[dict[str, Any], float]]) -> None:
    """Look at the error of a late answer: nobody waits for it any more, and asyncio would complain."""
    if not future.cancelled():
        future.exception()


def _free(idle: list[str] | None, busy: list[str] | None, board: Board) -> frozenset[str]:
    """The free units, from those that are named; each must be there, and be named once."""
    capacity, named = dict.fromkeys(board.unit_ids, 1), {"idle": idle, "busy": busy}
    sets = {
        name: frozenset(checked_units(listed, capacity, name)) for name, listed in named.items() if listed is not None
    }
    if len(sets) == 1:
        return sets["idle"] if "idle" in sets else board.unit_ids - sets["busy"] - board.out_of_service
    if both := sets["idle"] & sets["busy"]:
        raise InputError(f"idle and busy: expected every unit in one of them, got {min(both)} in both")
    if neither := board.unit_ids - sets["idle"] - sets["busy"]:
        raise InputError(f"idle and busy: expected every unit in one of them, got {min(neither)} in neither")
    return sets["idle"]


def _differences(free: frozenset[str], busy: frozenset[str], board: Board) -> tuple[str, ...]:
    """Where the free units of a request are not those that the board has in service, in words."""
    out, not_idle = board.out_of_service, free - board.idle
    notes = {
        "Out of service on the board, so not free": out - free - busy,
        "Out of service on the board, but free as the request says": not_idle & out,
        "Busy on the board, but free as the request says": not_idle - out,
    }
    return tuple(f"{words}: {', '.join(sorted(units))}." for words, units in notes.items() if units)


def _untold(board: Board) -> tuple[str, ...]:
    """Which units the board takes as free only because nobody has said anything of them, in words."""
    if not board.untold:
        return ()
    if board.untold == board.unit_ids:
        return ("Nobody has told the status board yet which units are free: all of them are taken as free.",)
    units = ", ".join(sorted(board.untold))
    return (f"Nobody has told the status board yet what these units do, so they are taken as free: {units}.",)


def _place_document(place: Place) -> dict[str, Any]:
    """A place as a request has it."""
    return {"node": place} if isinstance(place, str) else {"x": place[0], "y": place[1]}


def new_id() -> str:
    """An id of a decision: ids grow with time, and nobody can guess one."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(8)}"
