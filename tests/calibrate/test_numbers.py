"""Fitted numbers and their intervals."""

import json

import numpy as np
import pytest
from scipy.stats import binomtest, poisson

from runcard.calibrate.numbers import (
    Fitted,
    cluster_sums,
    mean_interval,
    overruled,
    poisson_interval,
    wilson_interval,
)
from runcard.errors import InputError

NUMBERS = [
    Fitted("shared_delay", 0.2, 0.1, 0.3, 50, "pairs"),
    Fitted("rate.fire", 3.0, 2.0, 4.0, 90, "incidents"),
    Fitted("sent.fire.engine", 2.0, 2.0, 2.0, 90, "incidents"),
    Fitted("turnout.engine.shared", 0.2, 0.1, 0.3, 90, "pairs"),
]


def test_numbers_are_overruled_by_name() -> None:
    """The value is replaced, what the log says is kept beside it, and the others stay."""
    found = overruled(NUMBERS, {"shared_delay": 0.5})
    assert (found[0].value, found[0].fitted, found[0].low, found[0].note) == (0.5, 0.2, 0.5, "overruled")
    assert found[1] == NUMBERS[1]
    assert found[0].document()["fitted"] == 0.2
    assert "fitted" not in found[1].document()
    assert overruled(NUMBERS, {}) == NUMBERS


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (
            "share_delay",
            0.1,
            r"--set share_delay: expected the name of a fitted number \(did you mean shared_delay\?\)",
        ),
        ("shared_delay", float("nan"), "--set shared_delay: expected a number from 0 to 1, got nan"),
        ("shared_delay", float("inf"), "--set shared_delay: expected a number from 0 to 1, got inf"),
        ("shared_delay", 1.5, "--set shared_delay: expected a number from 0 to 1, got 1.5"),
        ("rate.fire", -1.0, "--set rate.fire: expected a number > 0, got -1"),
        ("sent.fire.engine", 1.5, "--set sent.fire.engine: expected a whole number from 0 to 4, got 1.5"),
        ("turnout.engine.shared", 0.5, "--set turnout.engine.shared: expected 0 or 1, got 0.5"),
        ("sent.fire.engine", 5.0, "--set sent.fire.engine: expected a whole number from 0 to 4, got 5"),
    ],
)
def test_what_cannot_be_overruled(name: str, value: float, words: str) -> None:
    """A name that no number has, and a value that none can have, are errors."""
    with pytest.raises(InputError, match=words):
        overruled(NUMBERS, {name: value})


@pytest.mark.parametrize("count", [0, 1, 7, 250])
def test_poisson_intervals_are_garwoods(count: int) -> None:
    """At the ends of the interval a count so small or so large has a chance of 2.5 %."""
    low, high = poisson_interval(count)
    assert poisson.cdf(count, high) == pytest.approx(0.025)
    assert count == 0 or poisson.sf(count - 1, low) == pytest.approx(0.025)
    assert count > 0 or low == 0.0


@pytest.mark.parametrize(("count", "of"), [(0, 10), (10, 10), (3, 17), (400, 1000)])
def test_wilson_intervals_are_those_of_scipy(count: int, of: int) -> None:
    """Wilson's interval is what scipy gives."""
    known = binomtest(count, of).proportion_ci(method="wilson")
    assert wilson_interval(count, of) == pytest.approx((known.low, known.high), abs=1e-12)


def test_an_interval_without_ends_is_null() -> None:
    """JSON knows no infinity."""
    document = Fitted("a", 1.0, -np.inf, np.inf, 3, "drives").document()
    assert (document["low"], document["high"]) == (None, None)
    assert json.loads(json.dumps(document, allow_nan=False))["value"] == 1.0


def test_means_and_clusters() -> None:
    """The interval of a mean is the normal one, infinite for one value, and clusters are summed."""
    values = np.array([1.0, 2.0, 4.0, 9.0])
    mean, low, high = mean_interval(values)
    assert (mean, high - mean) == pytest.approx((4.0, 1.959964 * np.sqrt(38.0 / 3.0 / 4.0)), rel=1e-6)
    assert mean - low == pytest.approx(high - mean)
    assert mean_interval(values[:1]) == (1.0, -np.inf, np.inf)
    assert cluster_sums(values, np.array([7, 3, 7, 3])).tolist() == [11.0, 5.0]
    assert cluster_sums(np.ones((3, 2)), np.array([1, 1, 2])).tolist() == [[2.0, 2.0], [1.0, 1.0]]
