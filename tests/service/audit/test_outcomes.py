"""Outcome documents."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError
from tests.service.audit.made_up import START, outcome_of

from runcard.errors import InputError
from runcard.service.audit.outcomes import checked_outcome, merged_outcome
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
