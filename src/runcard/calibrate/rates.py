"""Incident rates by area and type, smoothed so that quiet areas do not get rate zero.

With n_tb incidents of type t in area b, and d_ab the driving minutes between two areas, each incident is spread over
the areas near it, mixed with where incidents of all types are, and with all areas alike:

    p_t(a) = (1-ε) { (1-w) k_t(a) + w k(a) } + ε/A,      k_t(a) = Σ_b n_tb K_h(a, b) / n_t,     k = all types together,
    K_h(a, b) ~ e^(-d_ab² / 2h²), summing to 1 over a.

The rate of type t in area a is p_t(a) n_t / days. The width h, the mixing w and the floor ε are those that predict
best: they maximise the likelihood of each incident given all the others. Leaving one out is no work: an incident in
area a takes K_h(a, a) of its own away from n_t k_t(a), and the same from all types.

The interval of an area's rate is that of its own count alone (Garwood), which holds whatever the smoothing does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.numbers import poisson_interval

WIDTHS: Final = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)
"""Minutes."""
MIXINGS: Final = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
FLOORS: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RateFit:
    """Incidents a day by area and type, and how they were smoothed."""

    per_day: Floats
    """[area, type]"""
    low: Floats
    high: Floats
    counts: NDArray[np.int64]
    """[area, type] what happened."""
    width_minutes: tuple[float, ...]
    """[type] h."""
    mixing: tuple[float, ...]
    floor: tuple[float, ...]
    gained: tuple[float, ...]
    """[type] by how much an incident is likelier than with all areas alike, in units of log likelihood."""


def fit_rates(counts: NDArray[np.int64], minutes: Floats, num_days: float) -> RateFit:
    """The rates, given counts [area, type] and driving minutes between areas [area, area]."""
    num_areas, num_types = counts.shape
    between = np.minimum(minutes, minutes.T)
    kernels = [_kernel(between, width) for width in WIDTHS]
    everything = counts.sum(axis=1).astype(np.float64)
    per_day, chosen = np.empty(counts.shape), []
    for place in range(num_types):
        own = counts[:, place].astype(np.float64)
        best = max(
            ((_left_out(own, everything, kernel, w, e), number, w, e) for number, kernel in enumerate(kernels)
             for w, e in product(MIXINGS if num_types > 1 else (0.0,), FLOORS)),
            key=lambda found: found[0],
        )  # fmt: skip
        score, number, mixing, floor = best
        kernel = kernels[number]
        near = (1.0 - mixing) * (kernel @ own) / max(own.sum(), 1.0) + mixing * (kernel @ everything) / everything.sum()
        if own.sum() == 0.0:
            near = kernel @ everything / everything.sum()
        per_day[:, place] = own.sum() / num_days * ((1.0 - floor) * near + floor / num_areas)
        gained = score / max(own.sum(), 1.0) + np.log(num_areas)
        chosen.append((WIDTHS[number], mixing, floor, float(gained)))
    bounds = {int(count): poisson_interval(int(count)) for count in np.unique(counts)}
    low, high = (np.vectorize(lambda count, end=end: bounds[int(count)][end])(counts) / num_days for end in (0, 1))
    widths, mixings, floors, gains = zip(*chosen, strict=True)
    return RateFit(per_day, low, high, counts, widths, mixings, floors, gains)


def _kernel(minutes: Floats, width: float) -> Floats:
    """[a, b] what each area a gets of an incident in area b."""
    if width == 0.0:
        return np.eye(len(minutes))
    found = np.exp(-0.5 * (minutes / width) ** 2)
    return np.asarray(found / found.sum(axis=0))


def _left_out(own: Floats, everything: Floats, kernel: Floats, mixing: float, floor: float) -> float:
    """The log likelihood of every incident of a type, given all the others."""
    some = own > 0.0
    itself = np.diag(kernel)[some]
    k_own = (kernel[some] @ own - itself) / max(own.sum() - 1.0, 1.0)
    k_all = (kernel[some] @ everything - itself) / max(everything.sum() - 1.0, 1.0)
    chance = (1.0 - floor) * ((1.0 - mixing) * k_own + mixing * k_all) + floor / len(own)
    return float(own[some] @ np.log(chance))


def total_rates(counts: Sequence[int], num_days: float, spread: float = 1.0) -> list[tuple[float, float, float]]:
    """The incidents a day of each type, with intervals of counts that vary `spread` times as much as Poisson's."""
    bounds = [(count, *poisson_interval(count / spread)) for count in counts]
    return [(count / num_days, spread * low / num_days, spread * high / num_days) for count, low, high in bounds]
