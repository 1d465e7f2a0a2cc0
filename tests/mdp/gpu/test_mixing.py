"""Tests of Anderson mixing."""

import numpy as np
import pytest

from runcard.mdp.gpu.mixing import mixing_weights


@pytest.mark.parametrize("shrinks", [1.0, 1e-7])
def test_weights_cancel_the_steps(shrinks: float) -> None:
    """Steps that a combination of total 1 cancels are cancelled, however small the last ones are."""
    rng = np.random.default_rng(1)
    first, second = rng.random((2, 50))
    steps = np.array([first, shrinks * second, 0.25 * shrinks * second])
    weights = mixing_weights(steps @ steps.T)
    assert weights.sum() == pytest.approx(1.0)
    assert np.abs(weights @ steps).max() < 1e-3 * shrinks


@pytest.mark.parametrize("gram", [[[1.0, 0.0], [0.0, 0.0]], [[1.0, np.nan], [np.nan, 1.0]], [[1.0]]])
def test_without_a_good_combination_the_last_step_counts(gram: list[list[float]]) -> None:
    """A step of size zero and numbers that are none lead to no weights but the last."""
    assert mixing_weights(np.array(gram)).tolist() == [0.0] * (len(gram) - 1) + [1.0]
