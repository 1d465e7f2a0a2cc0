"""Simulations for the terminal."""

from math import inf

from runcard.cli.show_simulation import late_words, simulation_line, with_error
from runcard.simulate.result import Interval

from ..outputs.test_simulate import simulation


def test_numbers_have_as_many_decimals_as_their_error() -> None:
    """A late fraction is in per cent; an error that is not known is a question mark."""
    assert late_words(Interval(0.0524, 0.0519, 0.0529)) == "5.24 ± 0.05"
    assert late_words(Interval(0.000524, 0.000520, 0.000528)) == "0.0524 ± 0.0004"
    assert with_error(Interval(1.0, -inf, inf), 2) == "1.00 ± ?"
    assert late_words(Interval(0.0, 0.0, 0.0)) == "0.00 ± 0.00"


def test_the_line_counts_incidents_and_batches() -> None:
    """It names the scenario, the incidents of each policy and the batches."""
    assert "2,000 incidents for each policy in 2 batches" in simulation_line(simulation((5, 6)))
    assert "1,000 incidents for each policy in 1 batch," in simulation_line(simulation((5,)))
