"""The laws of driving and turnout times, each as its expected excess.

A time X of mean m is, with a fixed part c and Y of mean 1 from the model,

    X = c m + (1-c) m Y,        excess(x) = E (X - x)+,        P(X > x) = -excess'(x).

The excess is all that the lattice needs (`lattice.py`): its second differences are the masses there. With v the
coefficient of variation of Y, and Q, Φ the upper incomplete gamma ratio and the normal distribution function,

    exponential       E (Y - y)+ = e^(-y)
    gamma             Q(a+1, ay) - y Q(a, ay),    a = 1/v²
    lognormal         Φ(d) - y Φ(d - s),    s² = log(1 + v²),  d = (s²/2 - log y) / s
    hyperexponential  Σ p_i m_i e^(-y/m_i),    two branches with p_1 m_1 = p_2 m_2 = 1/2, and v >= 1
    pareto            (1 + y/(a-1))^(1-a),    a > 1 the tail index (Lomax: P(Y > y) falls like y^(-a))

and 1 - y for y <= 0. A variation of 0 is no randomness at all: max(0, 1 - y).

**A coupled branch.** A hyperexponential time is exponential with the mean of one of two branches. With one of them
coupled, trucks on the same link meet the same branch, and in the coupled one the same delay: that is met together, with
the law of that branch, and otherwise apart, each with the law of the other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import Driving, Turnout

Vector = NDArray[np.float64]

LEAST_CV = 1e-6
"""Below this a time is as good as fixed."""

MOST_SPREAD = 5.0


@dataclass(frozen=True, slots=True)
class Law:
    """The law of times X = fixed m + loose m Y, which differ only in m."""

    unit_excess: Callable[[Vector], Vector]
    """E (Y - y)+ for y >= 0, Y of mean 1."""
    fixed: float
    loose: float
    spread: float
    """The standard deviation of Y, at most `MOST_SPREAD`."""

    @property
    def mean(self) -> float:
        """That of X, in units of m."""
        return self.fixed + self.loose

    def deviation(self, means: Vector) -> float:
        """The standard deviation of a sum of times of these m."""
        return self.loose * self.spread * float(np.sqrt((means**2).sum()))

    def excess(self, minutes: Vector, mean: Vector) -> Vector:
        """[time, m] E (X - x)+ in minutes, for times x >= 0."""
        loose = self.loose * mean
        y = (minutes[:, None] - self.fixed * mean) / np.maximum(loose, 1e-300)
        found = np.where(y > 0.0, self.unit_excess(np.maximum(y, 0.0)), 1.0 - y)
        return np.where(loose > 0.0, loose * found, np.maximum(self.mean * mean - minutes[:, None], 0.0))


@dataclass(frozen=True, slots=True)
class DrivingLaws:
    """The law of the time on a link of a truck that is alone there, and of several that meet it together or apart."""

    alone: Law
    together: Law
    apart: Law
    together_chance: float | None = None
    """The chance that a link is met together, where the law itself says so."""


def driving_laws(driving: Driving) -> DrivingLaws:
    """The laws of the time on a link."""
    fixed, loose = driving.fixed_part, 1.0 - driving.fixed_part
    unit_excess = _unit_excess(driving.model, driving.cv, driving.tail_index)
    alone = Law(unit_excess, fixed, loose, _spread(driving.model, driving.cv, driving.tail_index))
    if driving.coupled_branch is None:
        return DrivingLaws(alone, alone, alone)
    assert driving.cv is not None
    short, long = branches(driving.cv)
    (chance, together), (_, apart) = (short, long) if driving.coupled_branch == "short" else (long, short)
    exponential = _unit_excess("exponential", None, None)
    return DrivingLaws(
        alone, Law(exponential, fixed, loose * together, 1.0), Law(exponential, fixed, loose * apart, 1.0), chance
    )


def turnout_law(turnout: Turnout) -> Law:
    """The law of the time before a truck leaves."""
    return Law(_unit_excess(turnout.model, turnout.cv, None), 0.0, 1.0, _spread(turnout.model, turnout.cv, None))


def _spread(model: str, cv: float | None, tail_index: float | None) -> float:
    """The standard deviation of a time of mean 1."""
    if tail_index is not None:
        return min(MOST_SPREAD, sqrt(tail_index / (tail_index - 2.0))) if tail_index > 2.0 else MOST_SPREAD
    return 1.0 if cv is None else cv


def _unit_excess(model: str, cv: float | None, tail_index: float | None) -> Callable[[Vector], Vector]:
    """E (Y - y)+ of a model."""
    if model == "exponential":
        return lambda y: np.exp(-y)
    if model == "pareto":
        assert tail_index is not None
        return lambda y: (1.0 + y / (tail_index - 1.0)) ** (1.0 - tail_index)
    assert cv is not None
    if cv < LEAST_CV:
        return lambda y: np.maximum(0.0, 1.0 - y)
    if model == "gamma":
        return _gamma(1.0 / cv**2)
    if model == "lognormal":
        return _lognormal(np.log1p(cv**2))
    return _hyperexponential(cv)


def _gamma(shape: float) -> Callable[[Vector], Vector]:
    from scipy.special import gammaincc

    return lambda y: gammaincc(shape + 1.0, shape * y) - y * gammaincc(shape, shape * y)


def _lognormal(variance: float) -> Callable[[Vector], Vector]:
    from scipy.special import ndtr

    spread = sqrt(variance)

    def excess(y: Vector) -> Vector:
        d = (variance / 2.0 - np.log(np.maximum(y, 1e-300))) / spread
        found: Vector = ndtr(d) - y * ndtr(d - spread)
        return found

    return excess


def branches(cv: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """The chance and the mean of the short and of the long branch of a hyperexponential time of mean 1."""
    chance = (1.0 + sqrt((cv**2 - 1.0) / (cv**2 + 1.0))) / 2.0
    return (chance, 0.5 / chance), (1.0 - chance, 0.5 / (1.0 - chance))


def _hyperexponential(cv: float) -> Callable[[Vector], Vector]:
    (short, short_mean), (long, long_mean) = branches(cv)
    return lambda y: short * short_mean * np.exp(-y / short_mean) + long * long_mean * np.exp(-y / long_mean)
