"""Comparisons for the terminal."""

import pytest

from runcard.assess.tables import fewer_words, why_table
from runcard.assess.why import WhyMissed
from runcard.city import generate_grid


@pytest.mark.parametrize(
    ("part", "words"),
    [(0.0739, "7.39"), (-1e-9, "0.00"), (-0.0798, "-7.98"), (-8.41751, "-841.8"), (-1e9, "-1.0e+11"), (1.0, "100.00")],
)
def test_a_gain_is_short_even_where_it_is_a_great_loss(part: float, words: str) -> None:
    """A loss has no limit, so that it needs fewer digits the greater it is, and nothing is minus zero."""
    assert fewer_words(part) == words


def test_a_part_that_is_nothing_beside_the_others_is_shown_as_nothing() -> None:
    """The error of a lattice is no reason; but where all is tiny, each part is shown."""
    city = generate_grid(side=3, num_stations=2, load=0.1, seed=1)
    parts = {"one": WhyMissed(1.9e-11, 0.03, 0.05, 0.001), "two": WhyMissed(1e-9, 2e-9, 0.0, 0.0)}
    words = why_table(city, {"one": parts["one"]}).text()
    assert "0.000" in words
    assert "e-" not in words
    assert "1.00e-07" in why_table(city, {"two": parts["two"]}).text()
