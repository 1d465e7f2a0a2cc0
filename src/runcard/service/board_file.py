"""The status board in a file, so that a restart does not take busy units for free ones."""

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from runcard.city.address import Spot
from runcard.errors import InputError
from runcard.output_file import check_output_file, write_whole
from runcard.plan.ground import Ground
from runcard.service.board import IDLE, OUT_OF_SERVICE, Board, UnitState

STATUSES: Final = (IDLE, "busy", OUT_OF_SERVICE)

_log = logging.getLogger("runcard.service")


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


def _state(board: Board, row: dict[str, Any], ground: Ground) -> UnitState | None:
    """The state of a unit; None if the department no longer has it."""
    if row["unit"] not in board:
        _log.warning("the status board: %s is no unit of the roster any more", row["unit"])
        return None
    if row["status"] not in STATUSES:
        raise ValueError(row["status"])
    spot: Spot | None = None
    if row["node"] is not None:
        place = row["node"] if row["x"] is None else (float(row["x"]), float(row["y"]))
        spot = ground.spots.find(place, what=f"unit {row['unit']}")
    unit, since = board[row["unit"]].unit, datetime.fromisoformat(row["since"])
    return UnitState(unit=unit, status=row["status"], spot=spot, since=since, told=row.get("told") is True)
