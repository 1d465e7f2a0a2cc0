"""Driving times that units share."""

import numpy as np
import pytest

from runcard.calibrate.draws import drawn_drives

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
