"""Reduced rank extrapolation: a better guess at the limit of a sweep than its last iterate.

A linear sweep x_{m+1} = G x_m + b shrinks its error by a few slow modes. From the differences u_m = x_{m+1} - x_m of
some iterates take the weights γ that minimise |Σ γ_m u_m| with Σ γ_m = 1, and return Σ γ_m x_{m+1}: if the error lies
in as many modes as there are weights, that is the limit. States count by the square root of their probability under
the policy-free distribution of idle trucks, spread evenly over each level.
"""

from collections.abc import Sequence

import numpy as np

from runcard.mdp.arrays import Floats

SAMPLE_STATES = 1 << 13
"""Enough states to find the weights of a small problem; of a large one, every LARGEST_STRIDE-th is looked at."""

LARGEST_STRIDE = 32
LARGEST_WEIGHT = 1e4


def extrapolated(iterates: Sequence[Floats], state_weights: Floats) -> Floats:
    """The extrapolated limit of at least three iterates, or the last one where that would amplify rounding errors."""
    # An odd stride visits every pattern of the low digits; a few thousand states pin down a few weights.
    stride = min(LARGEST_STRIDE, max(1, len(state_weights) // SAMPLE_STATES)) | 1
    sample = slice(0, len(state_weights), stride)
    sampled = np.array([iterate[sample] for iterate in iterates]) * state_weights[sample]
    differences = sampled[1:] - sampled[:-1]
    gram = differences @ differences.T
    scale = np.trace(gram)
    if not 1e-200 < scale < 1e200:  # squares of tiny numbers are 0
        largest = np.abs(differences).max()
        if not 0.0 < largest < np.inf:
            return iterates[-1]
        gram = (differences / largest) @ (differences / largest).T
        scale = np.trace(gram)
    gram.flat[:: len(gram) + 1] += 1e-15 * scale
    weights = np.linalg.solve(gram, np.full(len(gram), scale))
    weights /= weights.sum()
    if not np.isfinite(weights).all() or np.abs(weights).max() > LARGEST_WEIGHT:
        return iterates[-1]
    result: Floats = weights[-1] * iterates[-1]
    for weight, iterate in zip(weights[:-1], iterates[1:-1], strict=True):
        result += weight * iterate
    return result
