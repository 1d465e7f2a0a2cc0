"""Tests of reduced rank extrapolation on sweeps whose limit is known."""

import numpy as np
import pytest

from runcard.mdp.arrays import Floats
from runcard.mdp.extrapolate import SAMPLE_STATES, extrapolated


def iterates_of(modes: list[float], num_iterates: int, size: int = 40) -> tuple[list[Floats], Floats]:
    """Iterates of a linear sweep whose error lies in modes that shrink by the given factors, and its limit."""
    rng = np.random.default_rng(len(modes))
    limit, errors = rng.random(size), rng.normal(size=(len(modes), size))
    return [limit + np.array(modes) ** step @ errors for step in range(num_iterates)], limit


@pytest.mark.parametrize("modes", [[0.9], [0.95, -0.4], [0.99, 0.7, 0.3], [0.9, 0.8, -0.7, 0.2]])
def test_few_modes_are_removed_at_once(modes: list[float]) -> None:
    """With no more slow modes than weights to choose, the result is the limit, far closer than the last iterate.

    Iterates whose squares are no numbers are extrapolated like others.
    """
    iterates, limit = iterates_of(modes, 6)
    weights = np.random.default_rng(1).uniform(0.5, 1.0, len(limit))
    for size in (1.0, 1e-170, 1e-160, 1e150):
        found = extrapolated([size * iterate for iterate in iterates], weights)
        assert np.abs(found / size - limit).max() <= 1e-4 * np.abs(iterates[-1] - limit).max()


def test_iterates_that_stand_still_are_kept() -> None:
    """When nothing moves any more, the last iterate comes back, and no division by zero."""
    still = np.arange(5.0)
    assert np.array_equal(extrapolated([still, still.copy(), still.copy()], np.ones(5)), still)


def test_a_sweep_that_drifts_is_not_extrapolated() -> None:
    """Where the weights would have to be huge, since the steps hardly shrink, the last iterate comes back."""
    rng = np.random.default_rng(3)
    step, noise = rng.random(30), 1e-7 * rng.normal(size=30)
    iterates = [number * step + (noise if number == 2 else 0.0) for number in range(4)]
    result = extrapolated(iterates, np.ones(30))
    assert result is iterates[-1]


def test_large_values_are_sampled() -> None:
    """Above some size only a sample of the states sets the weights; the result is as good."""
    iterates, limit = iterates_of([0.97, 0.5], 4, size=5 * SAMPLE_STATES + 3)
    error = np.abs(extrapolated(iterates, np.ones(len(limit))) - limit).max()
    assert error <= 1e-6 * np.abs(iterates[-1] - limit).max()


def test_states_without_weight_do_not_count() -> None:
    """Padding, with weight zero, may hold anything: it does not change the weights."""
    iterates, limit = iterates_of([0.9, 0.2], 4)
    weights = np.ones(len(limit))
    weights[-8:] = 0.0
    rng = np.random.default_rng(1)
    spoilt = [np.append(iterate[:-8], rng.random(8)) for iterate in iterates]
    np.testing.assert_allclose(extrapolated(spoilt, weights)[:-8], limit[:-8], rtol=0, atol=1e-6)
