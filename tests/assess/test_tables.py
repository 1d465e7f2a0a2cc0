"""Comparisons for the terminal."""

import pytest

from runcard.assess.tables import fewer_words


@pytest.mark.parametrize(
    ("part", "words"),
    [(0.0739, "7.39"), (-1e-9, "0.00"), (-0.0798, "-7.98"), (-8.41751, "-841.8"), (-1e9, "-1.0e+11"), (1.0, "100.00")],
)
def test_a_gain_is_short_even_where_it_is_a_great_loss(part: float, words: str) -> None:
    """A loss has no limit, so that it needs fewer digits the greater it is, and nothing is minus zero."""
    assert fewer_words(part) == words
