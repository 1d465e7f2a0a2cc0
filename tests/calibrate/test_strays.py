"""Drives that have nothing to do with their route: how many, and what the others say without them."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import gamma

from runcard.calibrate.driving import DrivingFit, fit_driving
from runcard.calibrate.strays import Strays, find_strays, log_density

TRUTH = np.array([0.8, 1.2, 1.7, 0.4])
"""Start, factors, scale."""

Floats = NDArray[np.float64]


def fitted(seed: int, num: int, share: float, step: float = 0.0) -> tuple[DrivingFit, Strays | None]:
    """The fit to drives of which a part began anywhere, and its strays; a clock may show them in steps."""
    rng = np.random.default_rng(seed)
    by_class = rng.gamma(2.0, 0.5, (num, 2))
    anywhere = np.where(rng.random(num)[:, None] < share, rng.uniform(0.0, 4.0, (num, 2)), by_class)
    minutes = rng.gamma((TRUTH[0] + anywhere @ TRUTH[1:3]) / TRUTH[3], TRUTH[3])
    if step:
        begin = rng.random(num)
        minutes = step * np.floor(minutes / step + begin)
    driving = fit_driving(minutes, by_class, np.arange(num), ("fast", "slow"), step_minutes=step)
    return driving, find_strays(minutes, by_class, driving)


def of_all(driving: DrivingFit) -> tuple[Floats, Floats]:
    """The numbers of a fit in the order of the truth, and half the width of each interval."""
    return (
        np.array([driving.start_minutes, *driving.factors, driving.scale_minutes]),
        np.array([driving.start_half, *driving.factor_halves, driving.scale_half]),
    )


def held(plain: Floats, without: Floats, halves: Floats) -> NDArray[np.bool_]:
    """Whether the intervals of all drives, widened by what the drives of their routes say, hold the truth."""
    low, high = np.minimum(plain, without) - halves, np.maximum(plain, without) + halves
    return (low <= TRUTH) & (high >= TRUTH)


@pytest.mark.parametrize("share", [0.05, 0.15])
def test_strays_are_counted_and_the_others_say_the_truth(share: float) -> None:
    """The part of strays is right to a fifth on average, and without them start and scale lose most of their error.

    The intervals of all drives alone hold hardly any of these truths; with what the others say they hold them.
    """
    plain, without, halves, shares = np.zeros((6, 4)), np.zeros((6, 4)), np.zeros((6, 4)), np.zeros(6)
    for seed in range(6):
        driving, strays = fitted(seed, 4000, share)
        assert strays is not None
        plain[seed], halves[seed] = of_all(driving)
        without[seed], shares[seed] = strays.numbers, strays.share
        assert strays.dilution > 1.0 / (1.0 - strays.share) ** 2
    assert shares.mean() == pytest.approx(share, rel=0.2)
    assert (np.abs(plain - TRUTH) <= halves)[:, [0, 3]].mean() < 0.2
    error, left = np.abs(plain.mean(axis=0) - TRUTH), np.abs(without.mean(axis=0) - TRUTH)
    assert (left < 0.3 * error)[[0, 3]].all(), (left, error)
    assert held(plain, without, halves).mean() >= 0.95


def test_a_clock_of_whole_minutes_hides_no_strays() -> None:
    """It shows as many of the same drives as an exact one, and what the others say widens intervals to the truth."""
    plain, without, halves = np.zeros((3, 4)), np.zeros((3, 4)), np.zeros((3, 4))
    for seed in range(3):
        driving, strays = fitted(seed, 2000, 0.1, step=1.0)
        exact = fitted(seed, 2000, 0.1)[1]
        assert strays is not None
        assert exact is not None
        plain[seed], halves[seed] = of_all(driving)
        without[seed] = strays.numbers
        assert strays.share == pytest.approx(exact.share, abs=0.02)
    assert (np.abs(plain - TRUTH) <= halves)[:, [0, 3]].mean() < 0.2
    assert held(plain, without, halves).mean() >= 0.9
    assert fitted(5, 1000, 0.0, step=1.0)[1] is None


def test_where_all_drives_are_of_their_routes_there_are_no_strays() -> None:
    """Sixteen logs of the law itself, short and long, show none; nor do lognormal times of the same spread."""
    for seed in range(16):
        assert fitted(seed, 300 if seed % 2 else 3000, 0.0)[1] is None
    rng = np.random.default_rng(1)
    by_class = rng.gamma(2.0, 0.5, (3000, 2))
    mean = TRUTH[0] + by_class @ TRUTH[1:3]
    narrow = np.log1p(TRUTH[3] / mean)
    minutes = mean * np.exp(np.sqrt(narrow) * rng.standard_normal(3000) - narrow / 2.0)
    assert find_strays(minutes, by_class, fit_driving(minutes, by_class, np.arange(3000), ("fast", "slow"))) is None


def test_buttons_pressed_late_are_strays_too() -> None:
    """Three drives in a hundred of a few seconds make times look more spread than they are; the others do not."""
    inside, scales = np.zeros((8, 4)), np.zeros((8, 2))
    for seed in range(8):
        rng = np.random.default_rng(seed)
        by_class = rng.gamma(2.0, 0.5, (4000, 2))
        minutes = rng.gamma((TRUTH[0] + by_class @ TRUTH[1:3]) / TRUTH[3], TRUTH[3])
        minutes = np.where(rng.random(4000) < 0.03, rng.uniform(0.02, 0.1, 4000), minutes)
        driving = fit_driving(minutes, by_class, np.arange(4000), ("fast", "slow"))
        strays = find_strays(minutes, by_class, driving)
        assert strays is not None
        assert 0.02 < strays.share < 0.06
        inside[seed] = held(of_all(driving)[0], strays.numbers, of_all(driving)[1])
        scales[seed] = driving.scale_minutes, strays.numbers[3]
    assert inside.mean() >= 0.9
    assert scales.mean(axis=0) == pytest.approx([1.1 * TRUTH[3], 0.95 * TRUTH[3]], rel=0.03)


def test_the_density_is_that_of_a_gamma_law() -> None:
    """It agrees with scipy's for single and for many means."""
    minutes = np.array([0.1, 1.0, 30.0])
    for mean, variance in ((2.0, 1.5), (np.array([1.0, 2.0, 3.0]), np.array([0.3, 4.0, 1.0]))):
        expected = gamma.logpdf(minutes, np.square(mean) / variance, scale=np.asarray(variance) / mean)
        assert log_density(minutes, mean, variance) == pytest.approx(expected)
