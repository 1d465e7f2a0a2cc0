"""Teams, numbers and choices in words."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.city import Objective
from runcard.outputs.words import (
    counted,
    expected_one_of,
    incidents_a_day,
    objective_words,
    outward,
    percent,
    proven_words,
    team_ids,
    team_words,
)


def test_a_team_has_one_id_for_each_truck() -> None:
    """Stations in their order, once for each truck, then trucks from outside up to the number needed."""
    assert team_ids(["a", "b", "c"], [0, 2, 1], 3) == ("b", "b", "c")
    assert team_ids(["a", "b", "c"], [1, 0, 0], 2) == ("a", "outside")
    assert team_ids(["a", "b", "c"], [0, 0, 0], 2) == ("outside", "outside")


@pytest.mark.parametrize(
    ("team", "words"),
    [
        (("a",), "a"),
        (("a", "b"), "a and b"),
        (("a", "b", "c"), "a, b and c"),
        (("a", "a"), "two from a"),
        (("a", "a", "outside"), "two from a and one from outside"),
        (("outside", "outside"), "two from outside"),
    ],
)
def test_a_team_reads_as_a_phrase(team: tuple[str, ...], words: str) -> None:
    """A dispatcher can read it out."""
    assert team_words(team) == words


@pytest.mark.parametrize(
    ("fraction", "words"),
    [
        (0.0, "0.00%"),
        (0.0321, "3.21%"),
        (0.5, "50.00%"),
        (1.0, "100.00%"),
        (0.0000123, "0.0012%"),
        (-0.0000123, "-0.0012%"),
        (0.999997, "99.9997%"),
        (2.34e-16, "2.3e-14%"),
        (-2.34e-16, "-2.3e-14%"),
    ],
)
def test_a_percentage_shows_what_is_there(fraction: float, words: str) -> None:
    """What is not zero does not look like zero, and what is not certain does not look certain."""
    assert percent(fraction) == words


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


def test_choices_are_named_and_a_near_one_is_suggested() -> None:
    """Few are named one by one, many are counted."""
    assert expected_one_of("station", ["s1", "s2"], "s22") == (
        "expected a station (s1, s2), got 's22' (did you mean s2?)"
    )
    many = expected_one_of("node", [f"node{number}" for number in range(40)], "x")
    assert many.endswith("node10, node11, ... 40 in all), got 'x'")


def test_numbers_agree_with_their_nouns() -> None:
    """One truck, two trucks."""
    assert [counted(number, "truck") for number in (0, 1, 2, 1500)] == [
        "0 trucks",
        "1 truck",
        "2 trucks",
        "1,500 trucks",
    ]
    assert [incidents_a_day(rate) for rate in (0.5, 1.0, 1.001, 12.34)] == [
        "0.5 incidents a day",
        "1 incident a day",
        "1 incident a day",
        "12.3 incidents a day",
    ]


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
    assert proven_words(objective, 0.12345678, 0.2345678901) == words
    assert words.startswith(objective_words(objective))
