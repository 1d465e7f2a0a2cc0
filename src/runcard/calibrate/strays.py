"""Drives that have nothing to do with their route, and what all others say without them.

A unit was somewhere else when it was sent, or a button was pressed late. Such a drive need not be a rare one: it may
well take as long as the drive from home would have taken. So nobody can say which they are, but how many, and what
they do to the numbers. A part ε of all drives is taken to be of one law of its own, wherever they go,

    D ~ (1 - ε) gamma(mean M, variance θ M) + ε gamma(mean a, variance v),      M = s + Σ_c b_c F_c,

with v of at least a² / 9, because a narrow law would take its drives from the others. With h the chance that a drive
is of its route, given how long it took, these are repeated until the likelihood stays:

    ε = mean of 1 - h,   a and v the moments of D with weights 1 - h,
    (s, b) least squares with weights h / M,   θ = Σ h (D - M)² / Σ h M.

Of a coarse clock the likelihood is that of what it shows (`driving.py`), and s²/6 comes off every square, s its step.

**What comes of it.** The numbers of a city stay those of all drives: it knows no others, so what it predicts is right
on average. Their intervals are widened until they hold what drives of their routes alone say, too, and a part of the
way further: some strays take as long as their route would, and look like none. They are taken to be ε / (1 - ε) of the
others, which is next to nothing where strays are rare. For shared delay drives with h of at most `CLEAR` are left out.
Of all pairs of the others only the square of their mean h were both on their routes, and the variance that is divided
by is that of all, so it is too small by a known factor.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from runcard.calibrate.driving import EXACT_MINUTES, FLOOR_MINUTES, LEAST_SCALE, DrivingFit, shown_by

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
MOST_COARSE: Final = 10_000
"""The same where a clock is coarse, whose likelihood takes longer."""

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

    @property
    def hidden(self) -> float:
        """ε / (1 - ε): as large a part of what they change may not be seen."""
        return self.share / (1.0 - self.share)


def find_strays(minutes: Floats, by_class: Floats, driving: DrivingFit) -> Strays | None:
    """The strays among the drives of a fit [trip], given minutes on each class of road [trip, class of the city].

    None if the log does not show that there are any.
    """
    step = driving.step_minutes
    by_clock = step**2 / 6.0 if step > EXACT_MINUTES else 0.0
    columns = [by_class[:, driving.group == group].sum(axis=1) for group in range(len(driving.classes))]
    design = np.column_stack([np.ones(len(minutes)), *columns])
    numbers, scale = np.append(driving.start_minutes, driving.factors), driving.scale_minutes
    of_all = design @ numbers
    every = np.maximum(minutes, 0.0 if by_clock else FLOOR_MINUTES)
    some = slice(None, None, -(-len(minutes) // (MOST_COARSE if by_clock else MOST_DRIVES)))
    sample, rows = every[some], design[some]
    mean = np.maximum(rows @ numbers, FLOOR_MINUTES)
    share, other, variance = BEGIN, float(sample.mean()), float(sample.var()) - by_clock
    without, before = float(_log_shown(sample, mean, scale * mean, step).sum()), -np.inf
    for _ in range(MOST_ROUNDS):
        of_route, of_any = _densities(sample, mean, scale, share, other, variance, step)
        gain = float(of_any.sum()) - without
        if gain - before < SETTLED:
            break
        before, chance = gain, np.exp(of_route - of_any)
        stray = np.maximum(1.0 - chance, LEAST_CHANCE)
        share = float(stray.mean())
        other = float(stray @ sample / stray.sum())
        variance = max(float(stray @ (sample - other) ** 2 / stray.sum()) - by_clock, (NARROWEST * other) ** 2)
        weights = chance / mean
        numbers = np.linalg.lstsq(rows.T @ (weights[:, None] * rows), rows.T @ (weights * sample), rcond=None)[0]
        mean = np.maximum(rows @ numbers, FLOOR_MINUTES)
        scale = max(LEAST_SCALE, float(chance @ ((sample - mean) ** 2 - by_clock) / (chance @ mean)))
    if before - len(sample) * max(0.0, driving.lognormal_better) < SURE:
        return None
    mean = np.maximum(design @ numbers, FLOOR_MINUTES)
    of_route, of_any = _densities(every, mean, scale, share, other, variance, step)
    chance = np.exp(of_route - of_any)
    own = driving.counted & (chance > CLEAR)
    spread = float(((minutes - of_all)[own] ** 2 - by_clock).sum() / of_all[own].sum())
    dilution = max(1.0, spread / scale / float(chance[own].mean()) ** 2)
    return Strays(share, np.array([max(0.0, numbers[0]), *numbers[1:], scale]), chance, dilution)


def _densities(
    minutes: Floats, mean: Floats, scale: float, share: float, other: float, variance: float, step_minutes: float
) -> tuple[Floats, Floats]:
    """[trip] the logarithms of the likelihood of a drive of its route, and of any drive."""
    of_route = np.log1p(-share) + _log_shown(minutes, mean, scale * mean, step_minutes)
    return of_route, np.logaddexp(of_route, np.log(share) + _log_shown(minutes, other, variance, step_minutes))


def _log_shown(minutes: Floats, mean: Floats | float, variance: Floats | float, step_minutes: float) -> Floats:
    """[trip] the logarithm of the chance that a coarse clock shows these minutes, or of their density."""
    if step_minutes <= EXACT_MINUTES:
        return log_density(minutes, mean, variance)
    shorter, up_to = shown_by(minutes, np.asarray(mean), np.asarray(variance) / mean, step_minutes)
    return np.asarray(np.log(np.maximum(up_to - shorter, LEAST_CHANCE)))


def log_density(minutes: Floats, mean: Floats | float, variance: Floats | float) -> Floats:
    """[trip] the logarithm of the density of a gamma law."""
    scale = np.asarray(variance) / mean
    shape = mean / scale
    found: Floats = (shape - 1.0) * np.log(minutes / scale) - minutes / scale - gammaln(shape) - np.log(scale)
    return found
