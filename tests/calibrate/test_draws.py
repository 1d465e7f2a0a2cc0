"""Driving times that units share."""

import numpy as np
import pytest

from runcard.calibrate.draws import draw, drawn_drives
from runcard.errors import InputError

MINUTES = np.array([1.0, 2.0, 0.5, 1.5])
LINKS = np.array([[0, 1, -1], [2, 1, 3], [2, -1, -1]])
SCALE, NUM = 0.7, 200_000


@pytest.mark.parametrize("shared_delay", [0.0, 0.4, 1.0])
def test_means_variances_and_covariances_are_those_of_the_law(shared_delay: float) -> None:
    """Each drive has mean M and variance θ M, and two of them the covariance q θ S, S what they drive together."""
    rng = np.random.default_rng(1)
    found = drawn_drives(rng, LINKS, MINUTES, scale=SCALE, shared_delay=shared_delay, num=NUM)
    mean = np.array([3.0, 4.0, 0.5])
    together = np.array([[3.0, 2.0, 0.0], [2.0, 4.0, 0.5], [0.0, 0.5, 0.5]])
    expected = SCALE * (shared_delay * together + (1.0 - shared_delay) * np.diag(mean))
    assert found.shape == (3, NUM)
    assert found.mean(axis=1) == pytest.approx(mean, rel=0.01)
    assert np.cov(found) == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize(("model", "cv"), [("exponential", None), ("gamma", 0.5), ("lognormal", 0.5), ("gamma", 0.0)])
def test_draws_have_their_mean_and_variation(model: str, cv: float | None) -> None:
    """Times of each law have the mean and the coefficient of variation that they should; others are refused."""
    found = draw(np.random.default_rng(1), model, cv, np.full(40_000, 3.0))
    assert found.mean() == pytest.approx(3.0, rel=0.03)
    assert found.std() / 3.0 == pytest.approx(1.0 if cv is None else cv, rel=0.05, abs=1e-12)
    with pytest.raises(InputError, match="cannot be drawn with the law pareto"):
        draw(np.random.default_rng(1), "pareto", None, np.ones(3))
