"""The benchmark runs, on problems small enough for a test, and its peers find the same optimum."""

from itertools import combinations

import numpy as np
import pytest
from benchmarks.peak import brute_force_sums, sums_per_second

from benchmarks import cases, peers


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_peers_find_the_same_optimum() -> None:
    """QuantEcon and pymdptoolbox, on our encoding of the problem, agree with our optimum to 1e-8."""
    problem = cases.department(4, side=3)
    late, _ = cases._ours(problem)
    encoding = peers.encode(problem)
    span = 1e-9 * late / -encoding.late_per_day
    for solve in (peers.solve_with_quantecon, peers.solve_with_pymdptoolbox):
        assert solve(encoding, span)[0] == pytest.approx(late, rel=1e-8)


def test_brute_force_counts_every_sum() -> None:
    """The sums of a sweep are those of every state, every pair of its idle trucks and every demand point."""
    pairs = sum(len(list(combinations([i for i in range(5) if f >> i & 1], 2))) for f in range(32))
    assert brute_force_sums(5, 7) == 7 * pairs


@pytest.mark.parametrize("dtype", [np.float32, np.uint32])
def test_the_peak_is_measured(dtype: type) -> None:
    """The machine's limit is a number of sums per second that no machine is below."""
    assert sums_per_second(dtype, 1, tries=5, repeats=100) > 1e8  # the best: others work on this machine, too
