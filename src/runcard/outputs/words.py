"""Teams, numbers and choices in words, the same in every sentence, table and error."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import floor, log10
from typing import Final

from runcard.city.conditions import OUTSIDE_ID, near

MAX_CHOICES: Final = 12
"""An error names at most this many choices one by one; of more it says how many there are."""


TINY: Final = 1e-4
"""Numbers that are nearer to zero are shown in scientific notation: as decimals they would be rows of zeros."""


def team_words(team: Sequence[str]) -> str:
    """A team as a phrase: "s1 and s3", "two from s1", "s1 and one from outside"."""
    counts = Counter(team)
    from_outside = counts.pop(OUTSIDE_ID, 0)
    names = {1: "one", 2: "two", 3: "three"}
    words = [one if number == 1 else f"{names.get(number, number)} from {one}" for one, number in counts.items()]
    if from_outside:
        words.append(f"{names.get(from_outside, from_outside)} from outside")
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def counted(number: int, noun: str) -> str:
    """A number and its noun: "1 truck", "2 trucks"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def article(noun: str) -> str:
    """The article before a noun: "a" or "an", by its first letter."""
    return "an" if noun[:1].lower() in tuple("aeiou") else "a"


def first_line(error: Exception) -> str:
    """The first line of what an error of another library says; its kind, if it says nothing."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def incidents_a_day(rate: float, *, digits: int = 3) -> str:
    """A rate with so many digits: "1 incident a day", "2.5 incidents a day"."""
    number = f"{rate:.{digits}g}"
    return f"{number} incident a day" if number == "1" else f"{number} incidents a day"


def percent(fraction: float) -> str:
    """A fraction as a percentage with two decimals, or more where it is so close to 0 or 1 that they would not show."""
    decimals = max(decimals_of(fraction, significant=2), decimals_of(1.0 - fraction, significant=1))
    return f"{in_decimals(100.0 * fraction, decimals, significant=2)}%"


def in_decimals(number: float, decimals: int, *, significant: int = 3) -> str:
    """A number with so many decimals, or with `significant` digits in scientific notation if it is tiny but not 0."""
    return f"{number:.{significant - 1}e}" if 0.0 < abs(number) < TINY else f"{number:.{decimals}f}"


def decimals_of(fraction: float, *, significant: int) -> int:
    """The decimals (2 to 12) with which a percentage shows at least `significant` digits that are not leading zeros."""
    if fraction == 0.0:
        return 2
    return min(12, max(2, significant - 1 - floor(log10(100.0 * abs(fraction)))))


def expected_one_of(noun: str, choices: Iterable[str], got: str, *, guess: bool = True) -> str:
    """A message that says what could have been given instead of `got`, and what it may have meant.

    Nothing is guessed if `guess` is not set: of units a wrong guess is worse than none.
    """
    distinct = list(dict.fromkeys(choices))
    named = ", ".join(distinct[:MAX_CHOICES])
    if len(distinct) > MAX_CHOICES:
        named += f", ... {len(distinct)} in all"
    return f"expected a {noun} ({named}), got {got!r}{near(got, distinct) if guess else ''}"
