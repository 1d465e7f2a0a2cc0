"""The status board: what every unit does, a version that grows with every change, and those who listen to it.

It belongs to the event loop: nothing here waits, so every reader sees a whole board. A listener has a queue of its own
with an end; one that reads too slowly is dropped, and asks for the whole board again. It can be kept in a file, so that
a restart does not take busy units for free ones.
"""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from runcard.city.address import Place, Spot
from runcard.city.model import Unit
from runcard.errors import InputError
from runcard.output_file import check_output_file, write_whole
from runcard.plan.ground import Ground
from runcard.service.documents import UnitDocument

IDLE: Final = "idle"
OUT_OF_SERVICE: Final = "out_of_service"
STATUSES: Final = (IDLE, "busy", OUT_OF_SERVICE)
QUEUE_LENGTH: Final = 256

_log = logging.getLogger("runcard.service")


def unit_document(state: UnitDocument) -> dict[str, Any]:
    """What a unit does as plain values, ready for JSON."""
    return state.model_dump() | {"since": state.since.isoformat()}


class Listener:
    """One who listens: changes wait in a queue, and after the last one comes None if it was too slow."""

    def __init__(self) -> None:
        self.changes: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(QUEUE_LENGTH + 1)
        self.dropped = False

    def offer(self, change: dict[str, Any]) -> None:
        """Add a change, or give up on the listener if too many wait."""
        if self.changes.qsize() >= QUEUE_LENGTH:
            self.end()
        elif not self.dropped:
            self.changes.put_nowait(change)

    def end(self) -> None:
        """Send it away, after what waits."""
        if not self.dropped:
            self.dropped = True
            self.changes.put_nowait(None)


class Board:
    """Every unit of a roster; until somebody says otherwise all are idle and at home."""

    def __init__(self, units: Iterable[Unit], *, version: int = 0) -> None:
        now = datetime.now(UTC)
        self.version = version
        home: dict[str, Any] = {"status": IDLE, "node": None, "x": None, "y": None, "since": now, "told": False}
        self.states = {
            unit.unit_id: UnitDocument(unit=unit.unit_id, kind=unit.kind, station=unit.station_id, **home)
            for unit in units
        }
        self.unit_ids = frozenset(self.states)
        self.listeners: set[Listener] = set()
        """One that was dropped is among them until it is gone."""
        self._settle()

    def _settle(self) -> None:
        """What answers need of the board, found once for each change."""
        idle = [one for one in self.states.values() if one.status == IDLE]
        out = (one.unit for one in self.states.values() if one.status == OUT_OF_SERVICE)
        self.out_of_service: frozenset[str] = frozenset(out)
        self.idle: frozenset[str] = frozenset(one.unit for one in idle)
        self.untold: frozenset[str] = frozenset(one.unit for one in idle if not one.told)
        self.moved: Mapping[str, Place] = {
            one.unit: one.node if one.x is None or one.y is None else (one.x, one.y)
            for one in idle
            if one.node is not None
        }

    def changed(
        self, unit_id: str, status: str, spot: Spot | None = None, *, since: datetime | None = None, told: bool = True
    ) -> UnitDocument:
        """What a unit would do after a change, at home or free in a spot."""
        x, y = (spot.coordinates if spot else None) or (None, None)
        node, since = spot.node_id if spot else None, since or datetime.now(UTC)
        changes = {"status": status, "node": node, "x": x, "y": y, "since": since, "told": told}
        return self.states[unit_id].model_copy(update=changes)

    def set(self, *states: UnitDocument) -> dict[str, Any]:
        """Change units, and tell everybody: of one unit what it does now, of several the whole board.

        The version grows even if nothing else did, because somebody said so.
        """
        self.restore(*states)
        self.version += 1
        change = self.document()
        if len(states) == 1:
            change = {"board_version": self.version, "unit": unit_document(states[0])}
        for listener in self.listeners:
            listener.offer(change)
        return change

    def restore(self, *states: UnitDocument) -> None:
        """Put back states that were kept."""
        self.states |= {one.unit: one for one in states}
        self._settle()

    def document(self, *changes: UnitDocument) -> dict[str, Any]:
        """The whole board as plain values, ready for JSON; after changes, if some are given."""
        states = self.states | {one.unit: one for one in changes}
        version = self.version + bool(changes)
        return {"board_version": version, "units": [unit_document(one) for one in states.values()]}

    def listen(self) -> Listener:
        """A new listener, to be discarded when it goes."""
        listener = Listener()
        self.listeners.add(listener)
        return listener

    def close(self) -> None:
        """Let every listener go."""
        for listener in self.listeners:
            listener.end()


@contextmanager
def board_held(path: Path) -> Iterator[None]:
    """While this lasts, no other service keeps its board in that file: each would write over what the other wrote."""
    target = check_output_file(path)
    lock = os.open(target.with_name(f"{target.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InputError(
                    f"{path}: another service keeps its status board there: expected another file (--board)"
                ) from error
        yield
    finally:
        os.close(lock)


def save_board(document: dict[str, Any], path: Path) -> None:
    """Write the document of a board, whole or not at all; a new file is for its owner only."""
    write_whole(path, (json.dumps(document, indent=1) + "\n").encode(), new_mode=0o600)


def restore_board(board: Board, path: Path, ground: Ground) -> None:
    """Put back what a file says of the units of a board; an InputError if it is no such file."""
    if not path.exists():
        return
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        version, rows = document["board_version"], list(document["units"])
        if type(version) is not int or version < 0:
            raise ValueError(version)
        found = [_state(board, row, ground) for row in rows]
    except (ValueError, KeyError, TypeError, RecursionError, InputError) as error:
        why = f" ({error})" if isinstance(error, InputError) else ""
        raise InputError(
            f"{path}: expected the status board that a service kept{why}; remove it to begin with every unit idle"
        ) from error
    board.restore(*(state for state in found if state is not None))
    board.version = version


def _state(board: Board, row: dict[str, Any], ground: Ground) -> UnitDocument | None:
    """The state of a unit; None if the department no longer has it."""
    if row["unit"] not in board.unit_ids:
        _log.warning("the status board: %s is no unit of the roster any more", row["unit"])
        return None
    if row["status"] not in STATUSES:
        raise ValueError(row["status"])
    spot: Spot | None = None
    if row["node"] is not None:
        place = row["node"] if row["x"] is None else (float(row["x"]), float(row["y"]))
        spot = ground.spots.find(place, what=f"unit {row['unit']}")
    since = datetime.fromisoformat(row["since"])
    return board.changed(row["unit"], row["status"], spot, since=since, told=row.get("told") is True)
