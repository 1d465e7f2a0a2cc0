"""The law of turnout."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from runcard.calibrate.turnout import fit_turnout

MEAN, CV = 1.3, 0.5
SIGMA = np.sqrt(np.log1p(CV**2))


def times_of(model: str, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
    """Turnout times of a law."""
    if model == "exponential":
        return rng.exponential(MEAN, num)
    if model == "gamma":
        return rng.gamma(CV**-2, MEAN * CV**2, num)
    return MEAN * np.exp(SIGMA * rng.standard_normal(num) - SIGMA**2 / 2.0)


@pytest.mark.parametrize("model", ["exponential", "gamma", "lognormal"])
def test_the_law_is_found_and_its_numbers_are_those_of_scipy(model: str) -> None:
    """Of 3000 times the law is the one that they were drawn from, with the likeliest parameters and AIC of scipy."""
    times = np.maximum(times_of(model, np.random.default_rng(3), 3000), 0.5 / 60.0)  # what the fit counts
    found = fit_turnout(times)
    assert found.model == model
    shape, _, scale = stats.gamma.fit(times, floc=0.0)
    sigma, _, centre = stats.lognorm.fit(times, floc=0.0)
    expected = {
        "exponential": (times.mean(), None),
        "gamma": (shape * scale, shape**-0.5),
        "lognormal": (centre * np.exp(sigma**2 / 2.0), np.sqrt(np.expm1(sigma**2))),
    }[model]
    assert found.mean_minutes == pytest.approx(expected[0], rel=1e-4)
    assert found.cv is None if expected[1] is None else found.cv == pytest.approx(expected[1], rel=1e-4)
    aic = {
        "exponential": 2.0 - 2.0 * stats.expon.logpdf(times, scale=times.mean()).sum(),
        "gamma": 4.0 - 2.0 * stats.gamma.logpdf(times, shape, scale=scale).sum(),
        "lognormal": 4.0 - 2.0 * stats.lognorm.logpdf(times, sigma, scale=centre).sum(),
    }
    for other, more in found.better_than:
        assert more == pytest.approx(aic[other] - aic[model], abs=1e-3)
        assert more > 0.0


@pytest.mark.parametrize("model", ["exponential", "gamma", "lognormal"])
def test_intervals_cover_the_truth(model: str) -> None:
    """Over 300 samples of 400 times the intervals of mean and variation hold the truth about 95 % of the time."""
    rng, mean, cv, num = np.random.default_rng(8), 0, 0, 0
    for _ in range(300):
        found = fit_turnout(times_of(model, rng, 400))
        if found.model == model:
            num += 1
            mean += abs(found.mean_minutes - MEAN) <= found.mean_half
            cv += found.cv is None or abs(found.cv - CV) <= found.cv_half
    assert num > 230
    assert mean >= stats.binom.ppf(0.0005, num, 0.94)
    assert cv >= stats.binom.ppf(0.0005, num, 0.94)


def test_a_clock_of_whole_seconds_does_no_harm() -> None:
    """Turnouts of 0 seconds count as half a second; the same times all over are no error."""
    times = np.round(times_of("exponential", np.random.default_rng(1), 2000) * 60.0) / 60.0
    assert (times == 0.0).any()
    assert fit_turnout(times).mean_minutes == pytest.approx(MEAN, rel=0.1)
    same = fit_turnout(np.full(40, 1.5))
    assert same.mean_minutes == pytest.approx(1.5)
    assert same.cv is not None
    assert 0.0 <= same.cv < 0.01


def test_a_log_without_turnout_has_none() -> None:
    """Where units are on the road at the moment of dispatch, always, turnout is 0 for sure."""
    found = fit_turnout(np.zeros(40))
    assert (found.model, found.mean_minutes, found.mean_half, found.cv) == ("exponential", 0.0, 0.0, None)
