"""Teams, numbers, choices and what was proven, in words."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.town import plain_town

from runcard.city import Objective
from runcard.plan.words import (
    bounds_words,
    counted,
    expected_one_of,
    incidents_a_day,
    objective_words,
    outward,
    percent,
    team_words,
)


def test_a_team_reads_as_a_phrase() -> None:
    """A dispatcher can read it out."""
    for words in ("a", "a and b", "a, b and c"):
        assert team_words(words.replace(" and", ",").split(", ")) == words
    assert team_words(("a", "a")) == "two from a"
    assert team_words(("a", "a", "outside")) == "two from a and one from outside"
    assert team_words(("outside", "outside")) == "two from outside"


@pytest.mark.parametrize(
    ("fraction", "words"),
    [(0.0, "0.00 %"), (0.0321, "3.21 %"), (0.5, "50.00 %"), (1.0, "100.00 %"), (0.0000123, "0.0012 %"),
     (-0.0000123, "-0.0012 %"), (0.999997, "99.9997 %"), (2.34e-16, "2.3e-14 %"), (-2.34e-16, "-2.3e-14 %")],
)  # fmt: skip
def test_a_percentage_shows_what_is_there(fraction: float, words: str) -> None:
    """What is not zero does not look like zero, and what is not certain does not look certain."""
    assert percent(fraction) == words


def test_choices_are_named_and_a_near_one_is_suggested() -> None:
    """Few are named one by one, many are counted."""
    choices = "expected a station (s1, s2), got 's22' (did you mean s2?)"
    assert expected_one_of("station", ["s1", "s2"], "s22") == choices
    many = expected_one_of("node", [f"node{number}" for number in range(40)], "x")
    assert many.endswith("node10, node11, ... 40 in all), got 'x'")


def test_numbers_agree_with_their_nouns() -> None:
    """One truck, two trucks."""
    for number, words in ((0, "0 trucks"), (1, "1 truck"), (2, "2 trucks"), (1500, "1,500 trucks")):
        assert counted(number, "truck") == words
    for rate, words in ((0.5, "0.5 incidents"), (1.0, "1 incident"), (1.001, "1 incident"), (12.34, "12.3 incidents")):
        assert incidents_a_day(rate) == f"{words} a day"


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
    ("objective", "name", "ends"),
    [
        (Objective(), "late fraction", "12.345678-23.456790 %"),
        (Objective("minutes"), "mean response minutes", "0.123456-0.234568"),
        (Objective("late+minutes", 0.05), "late fraction + 0.05 × mean response minutes", "0.123456-0.234568"),
    ],
)
def test_what_is_proven_is_called_by_its_name(objective: Objective, name: str, ends: str) -> None:
    """Only the late fraction is in percent; the ends are rounded outwards in any unit."""
    city = replace(plain_town(), objective=objective)
    assert objective_words(objective) == name
    for proven, words in ((True, "proven"), (False, "estimated")):
        found = bounds_words(city, 0.12345678, 0.2345678901, proven=proven)
        assert found == f"{name} {words} to lie in {ends}"
