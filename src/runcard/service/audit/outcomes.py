"""What the dispatcher really did: which units went, when each was there, and who overrode the recommendation and why.

    {"units": ["E01", "E07"],                                   who was sent
     "sent": "2026-11-16T21:40:00+01:00",                       when; the time of the decision if left out
     "arrivals": {"E01": "2026-11-16T21:44:10+01:00"},          when units were there
     "cancelled": {"E07": "2026-11-16T21:45:00+01:00"},         when units were called back before that
     "overridden_by": "j.doe", "override_reason": "E07 was passing by"}

The time of a unit that is in neither of the two is not known. Several outcomes of one decision are kept as they were
told. Each may hold only what is new: what counts is all of them together (`merged_outcome`).

Clocks differ, and some are wrong. What came of a decision lies within an hour before it and a day after it; nobody is
there before being sent; and what is told has happened.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from runcard.city.conditions import OUTSIDE_ID
from runcard.errors import InputError
from runcard.plan.words import expected_one_of

TIMES: Final = ("arrivals", "cancelled")
WORDS: Final = ("overridden_by", "override_reason")
MOST_BEFORE: Final = timedelta(hours=1)
MOST_AFTER: Final = timedelta(days=1)
CLOCKS_DIFFER: Final = timedelta(minutes=10)
"""By so much the clock of a dispatch system may be ahead of that of the service."""


def merged_outcome(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What counts of the outcomes of a decision: each adds to those before it, and stands before them.

    A unit that was there was not called back, and the other way round. Null takes a time back. A unit that was not sent
    after all has no times.
    """
    found: dict[str, Any] = {"arrivals": {}, "cancelled": {}, "kinds": {}}
    for one in outcomes:
        parts = {key: one.get(key) or {} for key in (*TIMES, "kinds")}
        found |= {key: value for key, value in one.items() if key not in parts}
        for key, given in parts.items():
            found[key] = found[key] | given
        for key, other in (TIMES, TIMES[::-1]):
            found[key] = {unit: time for unit, time in found[key].items() if unit not in parts[other]}
    for key in TIMES:
        known = found[key].items()
        found[key] = {unit: time for unit, time in known if time is not None and unit in found.get("units", ())}
    return found


def checked_outcome(
    outcome: Mapping[str, Any],
    *,
    kinds: Mapping[str, str],
    decided: datetime,
    now: datetime,
    before: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """An outcome as it is stored, with the kind of every unit that was sent; an InputError if it is not sound.

    It has the form of an `OutcomeRequest`. A unit that is in no kind is refused: nobody can have sent it. With outcomes
    `before` it, it may hold only what is new.
    """
    known = merged_outcome([*before, outcome])
    check_clocks(known, decided=decided, now=now)
    if "units" not in known:
        raise InputError("outcome: units: expected a list of at most 1,000, got None")
    units = outcome.get("units", ())
    own = [unit for unit in units if unit != OUTSIDE_ID]
    for unit in own:
        if unit not in kinds:
            raise InputError(f"outcome: units: {expected_one_of('unit', kinds, unit, guess=False)}")
        if own.count(unit) > 1:
            raise InputError(f"outcome: units: expected each unit once, got {unit} {own.count(unit)} times")
    times = {key: outcome.get(key) or {} for key in TIMES}
    for key, of_units in times.items():
        for unit in of_units:
            if unit not in known["units"]:
                raise InputError(f"outcome: {key}: expected a unit that was sent, got {_shown(unit)}")
            if all(unit in of for of in times.values()):
                raise InputError(f"outcome: unit {unit}: expected arrivals or cancelled to have it, got both")
    for key in WORDS:
        if not outcome.get(key, "said").strip():
            raise InputError(f"outcome: {key}: expected a text of 1 to 2,000 letters, got {_shown(outcome[key])}")
    return {**outcome, **times, "kinds": {unit: kinds[unit] for unit in own}}


def moment_of(text: Any, where: str) -> datetime:
    """A time with its zone, from ISO 8601."""
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or not 1900 <= moment.year <= 9000:
        raise InputError(f"{where}: expected a time with a zone, such as 2026-11-16T21:40:03+01:00, got {_shown(text)}")
    return moment


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
            words = f"that is not in the future: it is {_clock(now)} now"
        elif not believable(moment, decided):
            words = f"from an hour before the decision, made at {_clock(decided)}, to a day after it"
        elif moment < sent:
            words = f"after it was sent, at {_clock(sent)}"
        else:
            continue
        raise InputError(f"outcome: {where}: expected a time {words}, got {_clock(moment)}")


def _clock(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def limit_of(text: str) -> datetime:
    """The time from which on, or up to which, a log is read; a day is its first moment, by the clock of this machine.

    A ValueError if it is none.
    """
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError) as error:
        raise ValueError(f"expected a time such as 2026-11-01 or 2026-11-01T08:00+01:00, got {text!r:.80}") from error


def _shown(value: Any) -> str:
    """A value in an error, cut if it is long."""
    words = repr(value)
    return words if len(words) <= 80 else f"{words[:80]}..."
