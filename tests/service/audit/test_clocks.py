"""Times that cannot be, and times that limit what is read."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.service.audit.made_up import made_up, outcome_of

from runcard.errors import InputError
from runcard.service.audit.drift import find_drift
from runcard.service.audit.outcomes import check_clocks, limit_of

DECIDED = datetime(2026, 11, 16, 20, 40, tzinfo=UTC)


def at(minutes: float) -> str:
    """A time so many minutes after the decision."""
    return (DECIDED + timedelta(minutes=minutes)).isoformat()


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ({"arrivals": {"E1": at(60 * 24 * 365)}}, "arrivals: E1: expected a time that is not in the future"),
        ({"sent": at(131)}, "sent: expected a time that is not in the future: it is 2026-11-16 22:40:00 UTC now"),
        ({"sent": at(-61)}, "sent: expected a time from an hour before the decision, made at 2026-11-16 20:40:00 UTC"),
        ({"sent": at(5), "arrivals": {"E1": at(4)}}, "E1: expected a time after it was sent, at 2026-11-16 20:45:00"),
        ({"arrivals": {"E1": at(-1)}}, "E1: expected a time after it was sent, at .* got 2026-11-16 20:39:00 UTC"),
        ({"cancelled": {"E1": at(-1)}}, "cancelled: E1: expected a time after it was sent"),
    ],
)
def test_a_time_that_cannot_be_is_a_sentence(outcome: dict[str, Any], words: str) -> None:
    """Two hours after the decision: it says which time, what was expected and what was found."""
    with pytest.raises(InputError, match=words):
        check_clocks(outcome, decided=DECIDED, now=DECIDED + timedelta(hours=2))


def test_a_day_after_the_decision_everything_has_happened() -> None:
    """Who tells it late tells it all; a time beyond a day is of something else."""
    now = DECIDED + timedelta(days=30)
    check_clocks({"sent": at(-60), "arrivals": {"E1": at(60 * 24)}}, decided=DECIDED, now=now)
    with pytest.raises(InputError, match="to a day after it"):
        check_clocks({"arrivals": {"E1": at(60 * 24 + 1)}}, decided=DECIDED, now=now)


def test_clocks_may_differ_a_little() -> None:
    """A dispatch system whose clock is ahead is heard, up to ten minutes."""
    check_clocks({"sent": at(9), "arrivals": {"E1": at(9.5)}}, decided=DECIDED, now=DECIDED)
    with pytest.raises(InputError, match="in the future"):
        check_clocks({"sent": at(11)}, decided=DECIDED, now=DECIDED)


def test_old_wrong_clocks_are_left_out_of_means_and_said() -> None:
    """A log of before they were refused: the mean is that of the others."""
    year = 60.0 * 24 * 365
    log = [made_up(0, outcomes=[outcome_of(0, 4.0, 5.0)]), made_up(1, outcomes=[outcome_of(1, year, year)])]
    found = find_drift(log)
    (row,) = found.rows
    assert (row.incidents, row.first_minutes, found.wrong_clocks) == (1, 4.0, 1)
    assert any(note.startswith("1 outcome with times that cannot be") for note in found.notes)
    assert not any("cannot be" in note for note in find_drift(log[:1]).notes)


def test_a_limit_is_a_day_or_a_time() -> None:
    """A day is its first moment by the clock of this machine; a time may have its zone."""
    assert limit_of("2026-11-01") == datetime(2026, 11, 1).astimezone()
    assert limit_of("2026-11-01T08:00+01:00") == datetime(2026, 11, 1, 7, tzinfo=UTC)
    for text in ("soon", "0001-01-01T00:00:00+14:00", ""):
        with pytest.raises(ValueError, match="expected a time such as 2026-11-01"):
            limit_of(text)
