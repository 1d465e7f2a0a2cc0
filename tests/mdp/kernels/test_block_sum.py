"""Tests of the sum over a block of positions, against numpy."""

import numpy as np
import pytest
from numba import njit

from runcard.mdp.kernels.block_sum import BLOCK, SETS, block_sum


@njit
def summed(cost, start, product, count, weight, first):  # type: ignore[no-untyped-def]
    """The sum, from inside a compiled function."""
    return block_sum(cost, start, product, count, weight, first)


@pytest.mark.parametrize("count", [SETS, 2 * SETS, 7 * SETS])
@pytest.mark.parametrize(("start", "first"), [(0, 0), (3, 5)])
def test_it_is_a_sum_of_products(count: int, start: int, first: int) -> None:
    """Σ_b w_b Σ_a c_ab R_a of the numbers from `start` and `first` on, whatever lies before and behind them."""
    rng = np.random.default_rng(count)
    cost, product, weight = rng.random(start + count * BLOCK + 4), rng.random(count + 2), rng.random(first + BLOCK + 3)
    costs = cost[start : start + count * BLOCK].reshape(count, BLOCK)
    expected = weight[first : first + BLOCK] @ (costs.T @ product[:count])
    assert summed(cost, start, product, count, weight, first) == pytest.approx(expected, rel=1e-13)
