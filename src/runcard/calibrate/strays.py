"""Drives that have nothing to do with their route, and what all others say without them.

A unit was somewhere else when it was sent, or a button was pressed late. Such a drive need not be a rare one: it may
well take as long as the drive from home would have taken. So nobody can say which they are, but how many, and what
they do to the numbers. A part ε of all drives is taken to be of one law of its own, wherever they go,

    D ~ (1 - ε) gamma(mean M, variance θ M) + ε gamma(mean a, variance v),      M = s + Σ_c b_c F_c,

with v of at least a² / 9, because a narrow law would take its drives from the others. With h the chance that a drive
is of its route, given how long it took, these are repeated until the likelihood stays:

    ε = mean of 1 - h,   a and v the moments of D with weights 1 - h,
    (s, b) least squares with weights h / M,   θ = Σ h (D - M)² / Σ h M.

**What comes of it.** The numbers of a city stay those of all drives: it knows no others, so what it predicts is right
on average. Their intervals are widened until they hold what drives of their routes alone say, too. For shared delay
drives with h of at most `CLEAR` are left out. Of all pairs of the others only the square of their mean h were both on
their routes, and the variance that is divided by is that of all, so it is too small by a known factor.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from runcard.calibrate.driving import EXACT_MINUTES, FLOOR_MINUTES, DrivingFit

BEGIN: Final = 0.05
"""ε at first."""
LEAST_CHANCE: Final = 1e-12
NARROWEST: Final = 1.0 / 3.0
"""The standard deviation of the other law is at least this part of its mean."""
SURE: Final = 10.0
"""Gain in log likelihood beyond that of lognormal times; where all drives are of their routes, chance gains about 1."""
CLEAR: Final = 0.02
"""The chance of being of its route, at most, of a drive that surely is a stray."""
SETTLED: Final = 1e-4
MOST_ROUNDS: Final = 100
MOST_DRIVES: Final = 50_000
"""Of more drives a sample says it as well."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Strays:
    """The part of drives that have nothing to do with their route, and the numbers of all others."""

    share: float
    numbers: Floats
    """s, then b, then θ."""
    chance: Floats
    """[trip] h; up to `CLEAR` it surely is a stray."""
    dilution: float
    """What the shared delay of drives that count, and are no clear strays, has to be multiplied by; at least 1."""


def find_strays(minutes: Floats, by_class: Floats, driving: DrivingFit) -> Strays | None:
    """The strays among the drives of a fit [trip], given minutes on each class of road [trip, class of the city].

    None if the log does not show that there are any, or if its clock is coarse: densities are not for such times.
    """
    if driving.step_minutes > EXACT_MINUTES:
        return None
    columns = [by_class[:, driving.group == group].sum(axis=1) for group in range(len(driving.classes))]
    design = np.column_stack([np.ones(len(minutes)), *columns])
    numbers, scale = np.append(driving.start_minutes, driving.factors), driving.scale_minutes
    of_all = design @ numbers
    every, some = np.maximum(minutes, FLOOR_MINUTES), slice(None, None, -(-len(minutes) // MOST_DRIVES))
    sample, rows = every[some], design[some]
    mean = np.maximum(rows @ numbers, FLOOR_MINUTES)
    share, other, variance = BEGIN, float(sample.mean()), float(sample.var())
    without, before = float(log_density(sample, mean, scale * mean).sum()), -np.inf
    for _ in range(MOST_ROUNDS):
        of_route, of_any = _densities(sample, mean, scale, share, other, variance)
        gain = float(of_any.sum()) - without
        if gain - before < SETTLED:
            break
        before, chance = gain, np.exp(of_route - of_any)
        stray = np.maximum(1.0 - chance, LEAST_CHANCE)
        share = float(stray.mean())
        other = float(stray @ sample / stray.sum())
        variance = max(float(stray @ (sample - other) ** 2 / stray.sum()), (NARROWEST * other) ** 2)
        weights = chance / mean
        numbers = np.linalg.lstsq(rows.T @ (weights[:, None] * rows), rows.T @ (weights * sample), rcond=None)[0]
        mean = np.maximum(rows @ numbers, FLOOR_MINUTES)
        scale = float(chance @ (sample - mean) ** 2 / (chance @ mean))
    if before - len(sample) * max(0.0, driving.lognormal_better) < SURE:
        return None
    of_route, of_any = _densities(every, np.maximum(design @ numbers, FLOOR_MINUTES), scale, share, other, variance)
    chance = np.exp(of_route - of_any)
    own = driving.counted & (chance > CLEAR)
    spread = float(((minutes - of_all)[own] ** 2).sum() / of_all[own].sum())
    dilution = max(1.0, spread / scale / float(chance[own].mean()) ** 2)
    return Strays(share, np.array([max(0.0, numbers[0]), *numbers[1:], scale]), chance, dilution)


def _densities(
    minutes: Floats, mean: Floats, scale: float, share: float, other: float, variance: float
) -> tuple[Floats, Floats]:
    """[trip] the logarithms of the density of a drive of its route, and of any drive."""
    of_route = np.log1p(-share) + log_density(minutes, mean, scale * mean)
    return of_route, np.logaddexp(of_route, np.log(share) + log_density(minutes, other, variance))


def log_density(minutes: Floats, mean: Floats | float, variance: Floats | float) -> Floats:
    """[trip] the logarithm of the density of a gamma law."""
    scale = np.asarray(variance) / mean
    shape = mean / scale
    found: Floats = (shape - 1.0) * np.log(minutes / scale) - minutes / scale - gammaln(shape) - np.log(scale)
    return found
