"""What was proven, in words."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.town import plain_town

from runcard.city import Objective
from runcard.plan.words import bounds_words, objective_words, outward


@given(st.floats(1.001e-6, 1.0), st.floats(0.0, 1e-6), st.integers(0, 10))
def test_an_interval_is_rounded_outward(lower: float, width: float, decimals: int) -> None:
    """The interval that is shown holds the one that is proven."""
    low, high = (float(word) for word in outward(lower, lower + width, decimals).split("-"))
    assert low <= 100.0 * lower * (1.0 + 1e-15)
    assert high >= 100.0 * (lower + width) * (1.0 - 1e-15)
    assert high - low <= 100.0 * width + 2.001 * 10.0**-decimals


@given(st.floats(0.0, 4e-7), st.floats(1e-300, 4e-7))
def test_a_tiny_interval_is_rounded_outward_to_four_digits(lower: float, width: float) -> None:
    """So small numbers have an exponent, and the interval that is shown still holds the one that is proven."""
    upper = lower + width
    words = outward(lower, upper, 6)
    low, high = (Fraction(word) for word in words.split(" to "))
    assert low <= 100 * Fraction(lower) <= low * Fraction(1001, 1000)
    assert high * Fraction(999, 1000) <= 100 * Fraction(upper) <= high
    assert len(words) <= 26


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        (Objective(), "late fraction proven to lie in 12.345678-23.456790 %"),
        (Objective("minutes"), "mean response minutes proven to lie in 0.123456-0.234568"),
        (
            Objective("late+minutes", 0.05),
            "late fraction + 0.05 × mean response minutes proven to lie in 0.123456-0.234568",
        ),
    ],
)
def test_what_is_proven_is_called_by_its_name(objective: Objective, words: str) -> None:
    """Only the late fraction is in percent; the ends are rounded outwards in any unit."""
    city = replace(plain_town(), objective=objective)
    assert bounds_words(city, 0.12345678, 0.2345678901, proven=True) == words
    assert words.startswith(objective_words(objective))
    estimated = bounds_words(city, 0.12345678, 0.2345678901, proven=False)
    assert estimated == words.replace("proven", "estimated")
