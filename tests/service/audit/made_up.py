"""Decisions and outcomes made up for tests, as the service writes them; and a disk that is full."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 11, 1, tzinfo=UTC)


def made_up(number: int, **changes: Any) -> dict[str, Any]:
    """A decision: the first of them at the start of November, and then one a minute."""
    standards = [{"arrivals": 1, "target_minutes": 6.0, "weight": 1.0, "chance": 0.8}]
    return {
        "decision_id": f"d{number}",
        "time": (START + timedelta(minutes=number)).isoformat(),
        "node": "n1",
        "area": "n1",
        "type": "fire",
        "team": ["E1", "E2"],
        "units": {"engine": ["E1", "E2"]},
        "p_late": 0.2,
        "price": 0.01,
        "kinds": [{"kind": "engine", "units": ["E1", "E2"], "p_late": 0.2, "price": 0.01, "standards": standards}],
        "reason": "Send E1 and E2: nobody is closer.",
        "policy": {"name": "town", "version": "0123456789ab", "period": None},
        "answered_by": "optimal",
        "fallback": False,
    } | changes


def outcome_of(number: int, *minutes: float | None, units: tuple[str, ...] = ("E1", "E2")) -> dict[str, Any]:
    """An outcome: the units were there so many minutes after they were sent, or nobody knows when."""
    sent = START + timedelta(minutes=number)
    times = {unit: after for unit, after in zip(units, minutes, strict=False) if after is not None}
    return {
        "units": list(units),
        "sent": sent.isoformat(),
        "arrivals": {unit: (sent + timedelta(minutes=after)).isoformat() for unit, after in times.items()},
    }


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """No file may grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
