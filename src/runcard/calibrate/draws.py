"""Driving times of the fitted law, drawn for units that drive to one incident together.

A link of mean m that several of them drive over has a delay that all meet, gamma with mean q m, and one of each unit's
own, gamma with mean (1 - q) m, all of scale θ. Own delays add up to one gamma time for each unit.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def drawn_drives(
    rng: np.random.Generator,
    links: NDArray[np.integer],
    minutes: Floats,
    *,
    scale: float,
    shared_delay: float,
    num: int,
) -> Floats:
    """[path, draw] driving minutes over the links of some paths [path, place], -1 where there is none."""
    listed, times = np.unique(links[links >= 0], return_counts=True)
    shared = listed[times > 1] if shared_delay > 0.0 else listed[:0]
    means = shared_delay * minutes[shared]
    common = rng.gamma(means[:, None] / scale, scale, (len(shared), num))
    on = np.array([np.isin(shared, row) for row in links], np.float64).reshape(len(links), len(shared))
    total = np.append(minutes, 0.0)[links].sum(axis=1)
    own = np.maximum(total - on @ means, 1e-9)
    return np.asarray(on @ common + rng.gamma(own[:, None] / scale, scale, (len(links), num)))
