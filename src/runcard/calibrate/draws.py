"""Driving and turnout times of the fitted laws, drawn for units that go to one incident together.

A link of mean m that several of them drive over has a delay that all meet, gamma with mean q m, and one of each unit's
own, gamma with mean (1 - q) m, all of scale θ. Own delays add up to one gamma time for each unit.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.errors import InputError

Floats = NDArray[np.float64]


def draw(rng: np.random.Generator, model: str, cv: float | None, means: Floats) -> Floats:
    """Times of a law with these means."""
    if model == "exponential":
        return rng.exponential(means)
    if cv is None:
        raise InputError(f"times of a fitted city cannot be drawn with the law {model}")
    if cv < 1e-9:
        return means.copy()
    if model == "gamma":
        return rng.gamma(cv**-2, cv**2 * means)
    if model == "lognormal":
        variance = np.log1p(cv**2)
        return np.asarray(means * np.exp(np.sqrt(variance) * rng.standard_normal(len(means)) - variance / 2.0))
    raise InputError(f"times of a fitted city cannot be drawn with the law {model}")


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


def drawn_turnouts(
    rng: np.random.Generator, city: City, kinds: Sequence[str], homes: Sequence[int], num: int
) -> Floats:
    """[unit, draw] minutes before each unit leaves, given its kind and station.

    Units of one kind and station leave together, if turnout is shared.
    """
    found, known = np.zeros((len(kinds), num)), dict[object, Floats]()
    for place, (kind, home) in enumerate(zip(kinds, homes, strict=True)):
        law = city.turnout_by_kind.get(kind, city.turnout)
        if law.mean_minutes:
            key = (kind, home) if law.shared else place
            if key not in known:
                known[key] = draw(rng, law.model, law.cv, np.full(num, law.mean_minutes))
            found[place] = known[key]
    return found
