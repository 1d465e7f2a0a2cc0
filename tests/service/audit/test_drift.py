"""Whether the model still fits."""

from datetime import datetime
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.service.audit.made_up import made_up, outcome_of

from runcard.service.audit import drift as module
from runcard.service.audit.drift import ALARM, compare_with_expected, find_drift, poisson_binomial


def test_the_sum_of_draws_is_that_of_every_case_added_up() -> None:
    """Against all 2^9 cases, and against scipy's binomial where all chances are the same."""
    chances = np.random.default_rng(1).random(9)
    by_hand = np.zeros(10)
    for case in product((0, 1), repeat=9):
        by_hand[sum(case)] += np.prod(np.where(case, chances, 1.0 - chances))
    assert poisson_binomial(chances) == pytest.approx(by_hand, rel=1e-12)
    same = poisson_binomial(np.full(300, 0.37))
    # Far tails keep their digits: nothing is subtracted.
    assert same == pytest.approx(stats.binom.pmf(np.arange(301), 300, 0.37), rel=1e-9)
    assert poisson_binomial(np.array([0.0, 1.0, 1.0])).tolist() == [0.0, 0.0, 1.0, 0.0]


def test_the_test_is_two_sided_and_the_range_holds_what_it_says() -> None:
    """Against scipy's binomial: twice the smaller tail, and quantiles."""
    for met in (0, 20, 30, 37, 45, 60):
        p_value, (low, high), exact = compare_with_expected(np.full(60, 0.6), met)
        tails = stats.binom.cdf(met, 60, 0.6), stats.binom.sf(met - 1, 60, 0.6)
        assert p_value == pytest.approx(min(1.0, 2.0 * min(tails)), rel=1e-9)
        assert (low, high) == (stats.binom.ppf(0.025, 60, 0.6), stats.binom.ppf(0.975, 60, 0.6))
        assert exact


def test_the_normal_law_stands_in_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 4,000 incidents both agree within a part of a hundred of the chance; certain chances are no fault."""
    chances = np.random.default_rng(2).uniform(0.5, 0.95, size=4_000)
    exactly = [compare_with_expected(chances, met) for met in (2_800, 2_850, 2_900, 2_950)]
    monkeypatch.setattr(module, "MOST_EXACT", 100)
    for (p_value, ends, _), met in zip(exactly, (2_800, 2_850, 2_900, 2_950), strict=True):
        nearly, near_ends, exact = compare_with_expected(chances, met)
        assert nearly == pytest.approx(p_value, rel=0.05, abs=1e-4)
        assert near_ends == pytest.approx(ends, abs=1.0)
        assert not exact
    assert compare_with_expected(np.ones(200), 200)[0] == 1.0
    assert compare_with_expected(np.ones(200), 198)[0] == 0.0


def decisions_of(rng: np.random.Generator, month: int, count: int, *, shift: float = 0.0) -> list[dict[str, Any]]:
    """Decisions of one month whose standard is met with the predicted chance, less a shift."""
    found = []
    for number in range(count):
        chance = float(rng.uniform(0.6, 0.9))
        standards = [{"arrivals": 1, "target_minutes": 6.0, "weight": 1.0, "chance": chance}]
        kinds = [{"kind": "engine", "units": ["E1"], "first_minutes": 5.0, "standards": standards}]
        minutes = 4.0 if rng.random() < chance - shift else 8.0
        start = 60 * 24 * 31 * month + number
        found.append(made_up(start, kinds=kinds, outcomes=[outcome_of(start, minutes, units=("E1",))]))
    return found


def test_a_model_that_fits_seldom_warns() -> None:
    """Of 50 logs of a model that is right, at most a part of twenty warns (and some more by the luck of this test)."""
    rng = np.random.default_rng(3)
    wrong = sum(
        bool(find_drift([one for month in range(4) for one in decisions_of(rng, month, 40)]).warnings)
        for _ in range(50)
    )
    assert wrong <= stats.binom.ppf(0.999, 50, ALARM)


def test_a_month_that_drifts_warns_and_the_others_do_not() -> None:
    """A third fewer are met in the third month: a sentence says which standard, when, and how unlikely that is."""
    rng = np.random.default_rng(4)
    log = [one for month in range(4) for one in decisions_of(rng, month, 150, shift=0.3 * (month == 2))]
    found = find_drift(log)
    assert [row.month for row in found.rows] == ["2026-11", "2026-12", "2027-01", "2027-02", None]
    assert [row.warns for row in found.rows] == [False, False, True, False, True]
    assert found.rows[2].when == "January 2027"
    assert "The model drifts" in found.headline
    warning, advice = found.warnings
    assert advice.startswith("Look for what changed")
    assert warning.startswith("fire: first engine within 6 min: January 2027 met ")
    assert "% of 150 incidents, predicted 7" in warning
    assert "; all months met " in warning
    assert "by chance in less than 1 of 1,000,000 cases" in warning
    assert found.drifts
    assert found.rows[0].first_minutes == pytest.approx(np.mean(_first_minutes(log[:150])))
    assert found.rows[0].predicted_minutes == 5.0


def _first_minutes(log: list[dict[str, Any]]) -> list[float]:
    """When the first unit was there in each decision of a log, as `outcome_of` says it."""
    sent = (datetime.fromisoformat(one["outcomes"][0]["sent"]) for one in log)
    there = (datetime.fromisoformat(one["outcomes"][0]["arrivals"]["E1"]) for one in log)
    return [(arrived - began).total_seconds() / 60.0 for began, arrived in zip(sent, there, strict=True)]


def test_many_months_that_drift_are_one_sentence() -> None:
    """It says how many, and names the last."""
    rng = np.random.default_rng(10)
    warning, _ = find_drift([one for month in range(6) for one in decisions_of(rng, month, 60, shift=0.5)]).warnings
    assert warning.startswith("fire: first engine within 6 min: 6 of 6 months, the last April 2027 met ")


def test_only_what_can_be_compared_is() -> None:
    """No outcome, other units and missing times are counted beside it, and many missing times are said."""
    rng = np.random.default_rng(5)
    log = decisions_of(rng, 0, 20)
    none, other, missing = decisions_of(rng, 1, 3)
    none["outcomes"] = []
    other["outcomes"][0]["units"] = ["E2"]
    missing["outcomes"][0]["arrivals"] = {}
    found = find_drift([*log, none, other, *([missing] * 5)])
    (row,) = found.rows
    assert (row.incidents, found.decisions, found.with_outcome) == (20, 27, 26)
    assert (found.overridden, found.unknown) == (1, 5)
    assert "In 1 of them other units were sent" in found.notes[0]
    assert "5 of 25 standards could not be counted" in found.notes[1]
    both = find_drift([*log, *decisions_of(rng, 1, 20), *([missing] * 5)])  # the row of all months has the same again
    assert [row.incidents for row in both.rows] == [20, 20, 40]
    assert "5 of 45 standards could not be counted" in both.notes[1]


def test_predicted_minutes_are_those_of_all_or_of_none() -> None:
    """The mean of some of them would stand beside that of all that were measured."""
    log = decisions_of(np.random.default_rng(6), 0, 10)
    assert find_drift(log).rows[0].predicted_minutes == 5.0
    del log[0]["kinds"][0]["first_minutes"]
    (row,) = find_drift(log).rows
    assert row.predicted_minutes is None
    assert row.first_minutes == pytest.approx(np.mean(_first_minutes(log)))


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "nothing to compare yet"), (1, "too few"), (29, "too few"), (60, "too few"), (400, "The model fits")],
)
def test_a_few_outcomes_do_not_say_that_the_model_fits(count: int, words: str) -> None:
    """After one incident, or while what is met may be anywhere in a wide range, nobody can tell, and that is said."""
    found = find_drift(decisions_of(np.random.default_rng(12), 0, count))
    assert not found.warnings
    assert not found.drifts
    assert (words in found.headline, "The model fits" in found.headline) == (True, count == 400)


def test_a_standard_with_few_outcomes_is_counted_beside_those_that_fit() -> None:
    """Of two standards one can be judged: the sentence says that the other one cannot, however sure its chances are."""
    log = decisions_of(np.random.default_rng(12), 0, 400)
    for decision in (few := decisions_of(np.random.default_rng(13), 0, 5)):
        (standard,) = decision["kinds"][0]["standards"]
        standard |= {"target_minutes": 9.0, "chance": 0.999}
    headline = find_drift([*log, *few]).headline
    assert headline.endswith("for 2 standards; for 1 of them there are too few outcomes to tell.")


def test_holms_rule_on_known_numbers() -> None:
    """Of 0.016, 0.04, 0.03 and 0.005 the two smallest warn: 0.016 is at most 0.05 / 3, 0.03 is more than 0.05 / 2.

    Bonferroni's rule gives one (0.05 / 4), those of Hochberg and of Benjamini and Hochberg, and none at all, give four.
    """
    (row,) = find_drift(decisions_of(np.random.default_rng(6), 0, 5)).rows
    rows = [row.model_copy(update={"p_value": p_value}) for p_value in (0.016, 0.04, 0.03, 0.005)]
    assert [one.warns for one in module._warned(rows)] == [True, False, False, True]
