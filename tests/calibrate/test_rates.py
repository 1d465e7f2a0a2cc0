"""Rates by area: smoothing chosen by what it predicts."""

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.calibrate.numbers import poisson_interval
from runcard.calibrate.rates import WIDTHS, _kernel, _left_out, fit_rates, total_rates

Ints = NDArray[np.int64]


def street(num: int) -> NDArray[np.float64]:
    """Driving minutes between areas along a street, one minute apart."""
    places = np.arange(float(num))
    return np.abs(places[:, None] - places[None, :])


def brute_force(
    counts: Ints, of: int, minutes: NDArray[np.float64], width: float, mixing: float, floor: float
) -> float:
    """The log likelihood of each incident of a type given all the others, each of them left out in turn."""
    kernel = np.eye(len(minutes)) if width == 0.0 else np.exp(-((minutes / width) ** 2) / 2.0)
    kernel = kernel / kernel.sum(axis=0)
    total = 0.0
    for area in range(len(counts)):
        for _ in range(counts[area, of]):
            left = counts.astype(float)
            left[area, of] -= 1.0
            own = kernel @ left[:, of] / max(left[:, of].sum(), 1.0)
            every = kernel @ left.sum(axis=1) / max(left.sum(), 1.0)
            total += np.log((1 - floor) * ((1 - mixing) * own[area] + mixing * every[area]) + floor / len(counts))
    return total


@pytest.mark.parametrize("width", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("mixing", [0.0, 0.25, 1.0])
def test_leaving_one_out_is_no_approximation(width: float, mixing: float) -> None:
    """The formula gives what leaving every incident out in turn gives, for types of many, one and no incidents."""
    counts = np.array([[3, 0, 1], [0, 0, 0], [2, 1, 0], [1, 0, 0], [7, 0, 0]])
    minutes = street(5)
    every = counts.sum(axis=1).astype(float)
    for of in range(3):
        found = _left_out(counts[:, of].astype(float), every, _kernel(minutes, width), mixing, 0.03)
        assert found == pytest.approx(brute_force(counts, of, minutes, width, mixing, 0.03), rel=1e-10)


def test_the_choice_is_the_best_of_all() -> None:
    """No other width, mixing and floor of the grid gives a larger likelihood."""
    counts = np.random.default_rng(1).poisson(2.0, (8, 2))
    found = fit_rates(counts, street(8), 10.0)
    for of in range(2):
        own = found.width_minutes[of], found.mixing[of], found.floor[of]
        best = brute_force(counts, of, street(8), *own)
        for width in WIDTHS:
            for mixing in (0.0, 0.5, 1.0):
                for floor in (0.001, 0.1, 0.3):
                    assert brute_force(counts, of, street(8), width, mixing, floor) <= best + 1e-9
        assert found.gained[of] == pytest.approx(best / counts[:, of].sum() + np.log(8))


def test_totals_are_kept_and_no_rate_is_zero() -> None:
    """The rates of a type add up to its incidents a day, quiet areas have some, and intervals are of the counts."""
    counts = np.zeros((30, 3), np.int64)
    counts[4, 0], counts[:10, 1], counts[29, 1] = 12, 5, 1
    found = fit_rates(counts, street(30), 7.0)
    assert found.per_day.sum(axis=0) == pytest.approx(counts.sum(axis=0) / 7.0)
    assert (found.per_day[:, :2] > 0.0).all()
    low, high = poisson_interval(5)
    assert (found.low[0, 1], found.high[0, 1]) == pytest.approx((low / 7.0, high / 7.0))


def test_a_flat_truth_is_smoothed_and_a_sharp_one_is_not() -> None:
    """Few incidents of areas that are alike are spread wide; many in a few areas stay where they are."""
    rng = np.random.default_rng(2)
    flat = fit_rates(rng.poisson(2.0, (60, 1)), street(60), 1.0)
    assert flat.width_minutes[0] >= 3.0 or flat.floor[0] == 0.3
    assert flat.per_day.std() < 0.5
    sharp = np.where(np.arange(60) % 3 == 0, 400.0, 4.0)[:, None]
    found = fit_rates(rng.poisson(sharp), street(60), 1.0)
    assert found.width_minutes[0] <= 0.25
    assert found.floor[0] <= 0.03
    assert found.per_day == pytest.approx(sharp, rel=0.2, abs=7.0)


def test_a_rare_type_borrows_from_all_types() -> None:
    """A type of a few incidents that happens where the others do is mixed with them; its rates follow theirs."""
    rng = np.random.default_rng(3)
    truth = rng.gamma(0.3, 1.0, 50)
    counts = np.column_stack([rng.poisson(300 * truth / truth.sum() * 50), rng.poisson(25 * truth / truth.sum())])
    found = fit_rates(counts, street(50), 1.0)
    assert found.mixing[1] >= 0.5
    assert np.corrcoef(found.per_day[:, 1], truth)[0, 1] > 0.95


def test_totals_have_poisson_intervals() -> None:
    """The incidents a day of a type are its count over the days, and so is the interval.

    Of counts that vary four times as much it is twice as wide: of 10,000 it is that of a normal law of deviation 200.
    """
    (rate, low, high), (none, zero, some) = total_rates([10, 0], 5.0)
    assert (rate, low, high) == pytest.approx((2.0, *(end / 5.0 for end in poisson_interval(10))))
    assert (none, zero) == (0.0, 0.0)
    assert some > 0.0
    ((_, low, high),) = total_rates([10_000], 5.0, 4.0)
    assert (low, high) == pytest.approx([(10_000 + end * 1.96 * 200.0) / 5.0 for end in (-1.0, 1.0)], rel=1e-3)
