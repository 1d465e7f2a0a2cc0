"""Teams, numbers and choices in words."""

import pytest

from runcard.plan.words import (
    counted,
    expected_one_of,
    incidents_a_day,
    percent,
    team_words,
)


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
