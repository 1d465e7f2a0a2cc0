"""The measurements of the heuristics, on settings small enough for a test."""

import numpy as np
import pytest
from benchmarks.heuristics import NEAR, Setting, kept_share, late_fractions


def test_a_kept_share_is_a_ratio_of_means() -> None:
    """Half of the optimum's gain on every grid is a share of one half without error; a varying one has an error."""
    closest, optimum = np.array([0.2, 0.1, 0.4]), np.array([0.1, 0.08, 0.1])
    half = (closest + optimum) / 2
    share = kept_share(np.stack([closest, optimum, half], axis=1), 2)
    assert share.value == pytest.approx(0.5)
    assert share.error == pytest.approx(0.0, abs=1e-15)
    share = kept_share(np.stack([closest, optimum, [0.1, 0.1, 0.4]], axis=1), 2)
    assert share.value == pytest.approx((0.5 / 3) / ((0.5 + 0.2 + 0.75) / 3))
    assert share.error > 0.1


def test_late_fractions_are_in_order() -> None:
    """Closest-first first, then the optimum, and nobody below it; a number after a name is its horizon."""
    late = late_fractions(Setting(side=3, num_trucks=3, load=0.1, shared_delay=1.0), [*NEAR, "one-step-queueing 2"], 0)
    assert len(late) == 2 + len(NEAR) + 1
    assert min(late) >= late[1] * (1 - 1e-6)
    assert late[0] == max(late)
