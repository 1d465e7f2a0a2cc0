"""Predicted and seen, for every standard."""

from typing import Any

import pytest
from tests.service.audit.made_up import made_up, outcome_of

from runcard.service.audit.scores import Score, StandardKey, scores_of, times_of

TWO = [
    {"arrivals": 1, "target_minutes": 6.0, "weight": 1.0, "chance": 0.8},
    {"arrivals": 2, "target_minutes": 9.0, "weight": 1.0, "chance": 0.5},
]
KINDS = [
    {"kind": "engine", "units": ["E1", "E2"], "p_late": 0.7, "price": 0.0, "standards": TWO, "first_minutes": 4.5},
    {"kind": "ladder", "units": ["outside"], "p_late": 0.1, "price": 0.0, "standards": TWO[:1]},
]


def scored(outcome: dict[str, Any] | None) -> list[Score]:
    """The scores of a fire with two engines and a ladder from outside."""
    return list(scores_of(made_up(0, kinds=KINDS, outcomes=[] if outcome is None else [outcome])))


@pytest.mark.parametrize(
    ("minutes", "cancelled", "met"),
    [
        ((4.0, 8.0), {}, [True, True]),
        ((8.0, 4.0), {}, [True, True]),
        ((6.0, 9.0), {}, [True, True]),
        ((6.1, 9.1), {}, [False, False]),
        ((4.0, None), {}, [True, None]),
        ((7.0, None), {}, [None, None]),
        ((None, None), {}, [None, None]),
        ((4.0,), {"E2": 5.0}, [True, None]),
        ((4.0,), {"E2": 9.5}, [True, False]),
        ((7.0,), {"E2": 6.5}, [False, None]),
        ((7.0,), {"E2": 5.0}, [None, None]),
    ],
)
def test_a_standard_is_met_missed_or_not_known(minutes: Any, cancelled: dict[str, float], met: list[Any]) -> None:
    """1 of 2 in 6 min and 2 of 2 in 9 min, by hand: unknown is what a missing time could still have met."""
    outcome = outcome_of(0, *minutes)
    times = outcome_of(0, *cancelled.values(), units=tuple(cancelled))["arrivals"]
    first, both, ladder = scored(outcome | {"cancelled": times, "units": ["E1", "E2", "outside"]})
    assert [first.met, both.met] == met
    assert (first.followed, ladder.followed, ladder.met) == (True, True, None)
    assert first.first_minutes == min((one for one in minutes if one is not None), default=None)
    assert first.predicted_minutes == 4.5


def test_of_outcomes_that_differ_the_last_counts() -> None:
    """A later time of a unit stands before an earlier one."""
    decision = made_up(0, outcomes=[outcome_of(0, 4.0, 4.0), outcome_of(0, 8.0, 8.0)])
    (score,) = scores_of(decision)
    assert score.met is False


def test_other_units_than_recommended_are_not_followed() -> None:
    """By kind: another engine leaves the ladder as recommended; a unit of an unknown kind leaves nothing certain, and
    one unit from outside is not two."""
    sent = {"units": ["E1", "E3", "outside"], "kinds": {"E1": "engine", "E3": "engine"}}
    first, both, ladder = scored(outcome_of(0, 4.0) | sent)
    assert (first.followed, both.followed, ladder.followed) == (False, False, True)
    assert first.sent == ("E1", "E3")
    unknown = scored(outcome_of(0, 4.0) | {"units": ["E1", "E2", "outside", "X"]})
    assert [one.followed for one in unknown] == [False, False, False]
    fewer, *_ = scored(outcome_of(0, 7.0) | {"units": ["E1", "outside"]})
    assert (fewer.followed, fewer.met) == (False, False)
    two = made_up(0, kinds=[{**KINDS[1], "units": ["outside"] * 2}], outcomes=[{"units": ["outside"], "kinds": {}}])
    assert [one.followed for one in scores_of(two)] == [False]


def test_one_time_of_two_units_from_outside_is_nobodys() -> None:
    """It does not say which of them was there, and least of all that both were."""
    for number, first, met in ((1, 4.0, [True]), (2, None, [None])):
        team = ["outside"] * number
        (score,) = scores_of(
            made_up(
                0,
                kinds=[{**KINDS[1], "units": team, "standards": [TWO[1] | {"arrivals": number}]}],
                outcomes=[outcome_of(0, 4.0, units=("outside",)) | {"units": team, "kinds": {}}],
            )
        )
        assert ([score.met], score.first_minutes) == (met, first)


def test_without_an_outcome_or_a_standard_there_is_only_what_was_predicted() -> None:
    """Nothing is made up."""
    first, *_ = scored(None)
    assert (first.standard, first.chance) == (StandardKey("fire", "engine", 1, 6.0), 0.8)
    assert (first.sent, first.followed, first.met) == (None, None, None)
    kind = {"kind": "truck", "units": ["s1"], "p_late": 0.25}
    (bare,) = scores_of(made_up(0, type="", kinds=[kind]))
    assert (bare.standard, bare.chance, bare.units) == (None, None, ("s1",))
    (late,) = scores_of(made_up(0, type="", kinds=[kind | {"target_minutes": 8.0}]))
    assert late.standard is not None
    assert (late.standard.words, late.chance) == ("first truck within 8 min", 0.75)


def test_without_a_time_of_sending_minutes_count_from_the_decision() -> None:
    """The dispatcher sends when the answer is there."""
    outcome = outcome_of(3, 4.0, 4.0)
    del outcome["sent"]
    (score,) = scores_of(made_up(0, outcomes=[outcome]))
    assert score.first_minutes == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("outcome", "first"),
    [
        (outcome_of(0, -1.0, 9.0), 9.0),
        (outcome_of(0, 60.0 * 24 * 365, 9.0), 9.0),
        (outcome_of(-60 * 24 * 365, 4.0, 9.0), None),
        (outcome_of(60 * 24 * 365, 4.0, 9.0), None),
    ],
)
def test_a_time_that_cannot_be_is_not_known(outcome: dict[str, Any], first: float | None) -> None:
    """Of clocks that differ nothing can be said: not of an arrival before units were sent, or years later, nor of units
    that were sent years ago or years later; least of all that a standard was met."""
    decision = made_up(0, outcomes=[outcome])
    (score,) = scores_of(decision)
    assert (score.first_minutes, score.met) == (first, None)
    assert times_of(decision).wrong_clock
