"""Simulations for the terminal."""

from dataclasses import replace
from math import inf

from runcard.interval import Interval
from runcard.simulate.tables import late_words, simulation_line, with_error, work_table

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


def test_trucks_of_one_station_are_busy_on_average_and_sent_together() -> None:
    """By hand: two trucks are busy 5 and 10 % of the time and sent once and twice a day; in one station 7.5 % and 3."""
    apart = simulation((5, 6)).first
    assert [[str(cell) for cell in row] for row in work_table(apart).rows] == [
        ["s0", "5.0", "1.00"], ["s1", "10.0", "2.00"],
    ]  # fmt: skip
    (row,) = work_table(replace(apart, station_of=("s0", "s0"))).rows
    assert [str(cell) for cell in row] == ["s0 (2 trucks)", "7.5", "3.00"]
