"""Times that people and other clocks give: which of them can be, and from which time on a log is read.

Clocks differ, and some are wrong. What came of a decision lies within an hour before it and a day after it; nobody is
there before being sent; and what is told has happened.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from runcard.errors import InputError
from runcard.service.audit.outcomes import TIMES, moment_of

MOST_BEFORE: Final = timedelta(hours=1)
MOST_AFTER: Final = timedelta(days=1)
CLOCKS_DIFFER: Final = timedelta(minutes=10)
"""By so much the clock of a dispatch system may be ahead of that of the service."""


def believable(moment: datetime, decided: datetime) -> bool:
    """Whether what came of a decision can have happened at a time."""
    return decided - MOST_BEFORE <= moment <= decided + MOST_AFTER


def check_clocks(outcome: Mapping[str, Any], *, decided: datetime, now: datetime) -> None:
    """Raise an InputError about the first time of an outcome that cannot be."""
    sent = decided if outcome.get("sent") is None else moment_of(outcome["sent"], "outcome: sent")
    times = {"sent": sent}
    for key in TIMES:
        for unit, text in (outcome.get(key) or {}).items():
            times[f"{key}: {unit}"] = moment_of(text, f"outcome: {key}: {unit}")
    for where, moment in times.items():
        if moment > now + CLOCKS_DIFFER:
            words = f"that is not in the future: it is {_shown(now)} now"
        elif not believable(moment, decided):
            words = f"from an hour before the decision, made at {_shown(decided)}, to a day after it"
        elif moment < sent:
            words = f"after it was sent, at {_shown(sent)}"
        else:
            continue
        raise InputError(f"outcome: {where}: expected a time {words}, got {_shown(moment)}")


def _shown(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def limit_of(text: str) -> datetime:
    """The time from which on, or up to which, a log is read; a day is its first moment, by the clock of this machine.

    A ValueError if it is none.
    """
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError) as error:
        raise ValueError(f"expected a time such as 2026-11-01 or 2026-11-01T08:00+01:00, got {text!r:.80}") from error
