"""Sets of links that are met together: every set, if there are few, else some that are drawn."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.response.laws import Vector

RARE = 1e-6
"""Numbers of links met together with a smaller chance are left out."""
SEED = 1


class Together(NamedTuple):
    """Which links are met together, in several sets."""

    links: NDArray[np.bool_]
    """[set, link of the roads to a demand point]"""
    shared: NDArray[np.bool_]
    """[link of the roads] whether several trucks may be on it."""
    weights: Vector
    """[set]"""
    drawn: bool
    """Whether there are more sets than these."""


def sets_of(num_links: int, chance: float, num_sets: int, seed: int) -> tuple[NDArray[np.bool_], Vector, bool]:
    """[set, link] sets of links, [set] their weights, and whether they are drawn: all there are, if they are few.

    Sets are drawn by their size, whose chances are known: sizes that follow each other make a stratum, and each of
    these has a set or more.
    """
    if 2**num_links <= num_sets:
        every = (np.arange(2**num_links)[:, None] >> np.arange(num_links)) & 1 == 1
        size = every.sum(axis=1)
        return every, chance**size * (1.0 - chance) ** (num_links - size), False
    from scipy.stats import binom  # here, because it takes a while to import

    rng = np.random.default_rng([SEED, seed])
    chances = binom.pmf(np.arange(num_links + 1), num_links, chance)
    likely = np.flatnonzero(chances > RARE)
    strata = np.array_split(likely, min(len(likely), num_sets // 2))
    parts = np.array([chances[one].sum() for one in strata])
    parts /= parts.sum()
    counts = 1 + np.floor(parts * (num_sets - len(strata))).astype(np.int64)
    sizes = [
        rng.choice(one, p=chances[one] / chances[one].sum())
        for one, n in zip(strata, counts, strict=True)
        for _ in range(n)
    ]
    ranks = rng.permuted(np.tile(np.arange(num_links), (len(sizes), 1)), axis=1)
    return ranks < np.array(sizes)[:, None], np.repeat(parts / counts, counts), True
