"""Outcome documents, times in them that cannot be, and times that limit what is read."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError
from tests.service.audit.made_up import START, made_up, outcome_of

from runcard.errors import InputError
from runcard.service.audit.drift import find_drift
from runcard.service.audit.outcomes import check_clocks, checked_outcome, limit_of, merged_outcome
from runcard.service.documents import OutcomeRequest
from runcard.service.problems import faults_of

KINDS = {"E1": "engine", "E2": "engine", "T1": "ladder"}
TIME = "2026-11-16T21:40:00+01:00"
DECIDED = datetime.fromisoformat(TIME)


def checked(outcome: dict[str, Any], *, decided: datetime = DECIDED, **more: Any) -> dict[str, Any]:
    """An outcome as it is stored, told a day after the decision."""
    return checked_outcome(outcome, kinds=KINDS, decided=decided, now=decided + timedelta(days=1), **more)


def test_a_sound_outcome_is_kept_with_the_kinds_of_its_units() -> None:
    """Who went, when each was there, who overrode and why; units from outside may come more than once."""
    given = outcome_of(1, 4.0) | {"overridden_by": "jd", "override_reason": "passing by"}
    given["units"] += ["outside", "outside"]
    found = checked(given, decided=START + timedelta(minutes=1))
    assert found == given | {"cancelled": {}, "kinds": {"E1": "engine", "E2": "engine"}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"units": ["E1", "E1"]}, "expected each unit once, got E1 2 times"),
        ({"units": ["E9"]}, r"expected a unit \(E1, E2, T1\), got 'E9'"),
        ({"sent": "2026-11-16T21:40:00"}, "sent: expected a time with a zone"),
        ({"arrivals": {"E1": "soon"}}, "arrivals: E1: expected a time with a zone"),
        ({"arrivals": {"T1": TIME}}, "arrivals: expected a unit that was sent, got 'T1'"),
        ({"sent": TIME, "arrivals": {"E1": "2026-11-16T21:39:59+01:00"}}, "E1: expected a time after it was sent"),
        ({"arrivals": {"E1": TIME}, "cancelled": {"E1": TIME}}, "E1: expected arrivals or cancelled to have it"),
        ({"override_reason": " "}, "override_reason: expected a text of 1 to 2,000 letters"),
        ({"overridden_by": ""}, "overridden_by: expected a text"),
    ],
)
def test_an_outcome_that_is_not_sound_is_a_sentence(changes: dict[str, Any], words: str) -> None:
    """It says where, what was expected and what was found."""
    with pytest.raises(InputError, match=words):
        checked({"units": ["E1", "E2"]} | changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"unit": ["E1"]}, "unit: expected no such key"),
        ({"units": "E1"}, "units: expected a valid list, got 'E1'"),
        ({"units": ["E1"] * 1_001}, "units: list should have at most 1000 items"),
        ({"units": [""]}, "units.0: string should have at least 1 character"),
        ({"sent": "2026-11-16T21:40:00"}, "sent: input should have timezone info"),
        ({"sent": [5]}, "sent: expected a valid datetime"),
        ({"arrivals": {"E1": "soon"}}, "arrivals.E1: expected a valid datetime"),
        ({"arrivals": [TIME]}, "arrivals: expected a valid dictionary"),
        ({"override_reason": "x" * 2_001}, "override_reason: string should have at most 2000 characters"),
    ],
)
def test_an_outcome_has_the_form_of_its_document(changes: dict[str, Any], words: str) -> None:
    """A key that is misspelt, and values of another kind or length, are refused in words before anything else."""
    with pytest.raises(ValidationError) as caught:
        OutcomeRequest.model_validate({"units": ["E1", "E2"]} | changes)
    assert re.match(words, faults_of(caught.value)), faults_of(caught.value)


def test_times_in_different_zones_are_compared_as_moments() -> None:
    """21:41 at +01:00 is after 20:40 UTC."""
    found = checked({"units": ["E1"], "sent": "2026-11-16T20:40:00Z", "arrivals": {"E1": TIME}})
    assert found["arrivals"] == {"E1": TIME}


def test_outcomes_that_come_one_by_one_count_together() -> None:
    """Units first, then each arrival, a call back, a correction and a time taken back: by hand."""
    told: list[dict[str, Any]] = []
    for new in (
        {"units": ["E1", "E2", "T1"], "sent": "2026-11-16T21:40:00+01:00"},
        {"arrivals": {"E1": "2026-11-16T21:44:00+01:00"}},
        {"cancelled": {"E2": "2026-11-16T21:45:00+01:00"}, "override_reason": "small fire"},
        {"arrivals": {"E1": "2026-11-16T21:43:00+01:00", "E2": "2026-11-16T21:46:00+01:00"}},
        {"arrivals": {"T1": "2026-11-16T21:47:00+01:00"}},
        {"arrivals": {"T1": None}, "overridden_by": "jd"},
    ):
        told.append(checked(new, before=told))
    assert merged_outcome(told) == {
        "units": ["E1", "E2", "T1"], "sent": "2026-11-16T21:40:00+01:00", "cancelled": {}, "kinds": KINDS,
        "arrivals": {"E1": "2026-11-16T21:43:00+01:00", "E2": "2026-11-16T21:46:00+01:00"},
        "override_reason": "small fire", "overridden_by": "jd",
    }  # fmt: skip
    told.append(checked({"units": ["E2"]}, before=told))
    assert merged_outcome(told)["arrivals"] == {"E2": "2026-11-16T21:46:00+01:00"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arrivals": {"T1": TIME}}, "arrivals: expected a unit that was sent, got 'T1'"),
        ({"arrivals": {"E1": "2026-11-16T21:39:59+01:00"}}, "E1: expected a time after it was sent"),
        ({"units": []} | {"cancelled": {"E1": TIME}}, "cancelled: expected a unit that was sent, got 'E1'"),
    ],
)
def test_what_is_new_must_fit_what_was_told_before(changes: dict[str, Any], words: str) -> None:
    """Units and the time of sending hold until others are told."""
    with pytest.raises(InputError, match=words):
        checked(changes, before=[checked({"units": ["E1"], "sent": TIME})])


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
