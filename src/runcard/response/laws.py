"""The laws of driving and turnout times, each as its expected excess and the integral of it.

A time X of mean m is, with a fixed part c and Y of mean 1 from the model,

    X = c m + (1-c) m Y,        excess(x) = E (X - x)+,        P(X > x) = -excess'(x).

A lattice needs no more than the excess, whose second differences are the masses there, and its integral from 0 to x,
which says how much variance the lattice adds (`lattice.py`). With v the coefficient of variation of Y, and Q, Φ the
upper incomplete gamma ratio and the normal distribution function,

    exponential       E (Y - y)+ = e^(-y)
    gamma             Q(a+1, ay) - y Q(a, ay),    a = 1/v²
    lognormal         Φ(d) - y Φ(d - s),    s² = log(1 + v²),  d = (s²/2 - log y) / s
    hyperexponential  Σ p_i m_i e^(-y/m_i),    two branches with p_1 m_1 = p_2 m_2 = 1/2, and v >= 1
    pareto            (1 + y/(a-1))^(1-a),    a > 1 the tail index (Lomax: P(Y > y) falls like y^(-a))

and 1 - y for y <= 0. A variation of 0 is no randomness at all: max(0, 1 - y). The integral is {E Y² - E (Y-y)+²} / 2.

**A law for roads cut in any way.** With a scale θ, X is gamma of mean (1-c) m and variance θ (1-c) m beside the fixed
part c m. The transform of that random part is the m-th power of one function,

    E e^(-s (X - cm)) = exp(-m κ(s)),    κ(s) = (1-c) log(1 + θs) / θ,

so that times of means m and n add up to one of mean m + n, and it does not matter how a road is cut into links. Of a
shared delay q, the part of mean q m is met together and that of mean (1-q) m apart: each truck's time has the same law
as before, and the correlation of two of them on a link is q.

**A coupled branch.** A hyperexponential time is exponential with the mean of one of two branches. With one of them
coupled, trucks on the same link meet the same branch, and in the coupled one the same delay. So a link is met together,
with the law of the coupled branch, or apart, each truck with the law of the other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log1p, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtr

from runcard.city.model import Driving, Turnout

Vector = NDArray[np.float64]
Complex = NDArray[np.complex128]

LEAST_CV = 1e-6
"""A time that varies less than this is fixed."""

MOST_DEVIATION = 5.0
"""The standard deviation of a pareto time of mean 1, where it is larger or infinite."""


@dataclass(frozen=True, slots=True)
class UnitLaw:
    """The law of a time Y of mean 1, by what `lattice.py` needs, for y >= 0."""

    excess: Callable[[Vector], Vector]
    """E (Y - y)+."""
    integral: Callable[[Vector], Vector]
    """The integral of the excess from 0 to y."""
    deviation: float
    """The standard deviation of Y, or `MOST_DEVIATION`."""
    shape: float = 1.0
    """The density of Y is like y^(shape-1) near 0; inf where it falls faster than any power."""


@dataclass(frozen=True, slots=True)
class Law:
    """The law of times X = fixed m + loose m Y, which differ only in m."""

    unit: UnitLaw
    fixed: float
    loose: float

    @property
    def mean(self) -> float:
        """The mean of X, in units of m."""
        return self.fixed + self.loose

    @property
    def deviation(self) -> float:
        """The standard deviation of X, in units of m."""
        return self.loose * self.unit.deviation

    @property
    def link_mean(self) -> float:
        """The mean of what a link adds on a lattice, in units of m."""
        return self.mean

    def variance(self, mean: Vector) -> Vector:
        """[m] the variance of X, in minutes²."""
        return np.asarray((self.deviation * mean) ** 2)

    def excess(self, minutes: Vector, mean: Vector) -> Vector:
        """[m, time] E (X - x)+ in minutes, for times x >= 0."""
        y = self._random_part(minutes, mean)
        found = np.where(y > 0.0, self.unit.excess(np.maximum(y, 0.0)), 1.0 - y)
        return self.loose * mean[:, None] * found

    def excess_integral(self, minutes: Vector, mean: Vector) -> Vector:
        """[m, time] the integral of the excess from 0 to x, in minutes²."""
        y, start = self._random_part(minutes, mean), -self.fixed / self.loose
        below = np.minimum(y, 0.0)
        before = (below - start) - (below**2 - start**2) / 2.0  # the integral of 1 - u up to there
        return (self.loose * mean[:, None]) ** 2 * (before + self.unit.integral(np.maximum(y, 0.0)))

    def _random_part(self, minutes: Vector, mean: Vector) -> Vector:
        """[m, time] the y for which X = x."""
        return (minutes[None, :] - self.fixed * mean[:, None]) / (self.loose * mean[:, None])


@dataclass(frozen=True, slots=True)
class ScaleLaw:
    """The law of times X = fixed m + gamma of mean loose m and scale θ, which add up to times of the same law."""

    scale: float
    fixed: float
    loose: float

    @property
    def mean(self) -> float:
        """The mean of X, in units of m."""
        return self.fixed + self.loose

    @property
    def link_mean(self) -> float:
        """The mean of what a link adds on a lattice, in units of m; the fixed part comes besides."""
        return self.loose

    def variance(self, mean: Vector) -> Vector:
        """[m] the variance of X, in minutes²."""
        return np.asarray(self.scale * self.loose * mean)

    def exponent(self, s: Complex) -> Complex:
        """κ(s) of the random part, per minute of the mean."""
        return np.asarray(self.loose * np.log(1.0 + self.scale * s) / self.scale)

    def excess(self, minutes: Vector, mean: Vector) -> Vector:
        """[m, time] E (X - x)+ in minutes, for times x >= 0."""
        x, loose = minutes[None, :] - self.fixed * mean[:, None], self.loose * mean[:, None]
        shape, y = loose / self.scale, np.maximum(x, 0.0) / self.scale
        return np.where(x > 0.0, loose * gammaincc(shape + 1.0, y) - x * gammaincc(shape, y), loose - x)


AnyLaw = Law | ScaleLaw


@dataclass(frozen=True, slots=True)
class DrivingLaws:
    """The law of the time on a link: of a truck alone there, and of several that meet it together or apart."""

    alone: AnyLaw
    together: AnyLaw
    apart: AnyLaw
    chance: float
    """The chance that a link is met together; or the part of its mean that is, if that is split."""

    @property
    def split(self) -> bool:
        """Whether a part of every link is met together and the rest apart."""
        return isinstance(self.alone, ScaleLaw) and 0.0 < self.chance < 1.0

    @property
    def mixed(self) -> bool:
        """Whether a link is met now together and now apart."""
        return 0.0 < self.chance < 1.0 and not self.split

    @property
    def coupled(self) -> bool:
        """Whether what a link takes one truck depends on whether trucks meet it together."""
        return self.together is not self.alone

    @property
    def parts(self) -> tuple[float, float]:
        """The parts of the mean of a shared link that are met together, where it is, and apart, where it is."""
        return (self.chance, 1.0 - self.chance) if self.split else (1.0, 1.0)


def driving_laws(driving: Driving, shared_delay: float) -> DrivingLaws:
    """The laws of the time on a link, and how often trucks meet it together."""
    fixed, loose = driving.fixed_part, 1.0 - driving.fixed_part
    if driving.scale_minutes is not None:
        law = ScaleLaw(float(driving.scale_minutes), fixed, loose)
        return DrivingLaws(law, law, law, float(shared_delay))
    alone = Law(unit_law(driving.model, driving.cv, driving.tail_index), fixed, loose)
    if driving.coupled_branch is None:
        return DrivingLaws(alone, alone, alone, float(shared_delay))
    assert driving.cv is not None
    short, long = branches(driving.cv)
    (chance, together), (_, apart) = (short, long) if driving.coupled_branch == "short" else (long, short)
    exponential = unit_law("exponential")
    return DrivingLaws(alone, Law(exponential, fixed, loose * together), Law(exponential, fixed, loose * apart), chance)


def turnout_law(turnout: Turnout) -> Law:
    """The law of the time before a truck leaves."""
    return Law(unit_law(turnout.model, turnout.cv), 0.0, 1.0)


def is_fixed(cv: float | None) -> bool:
    """Whether times with this variation, if their model has one, are fixed."""
    return cv is not None and cv < LEAST_CV


def branches(cv: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """The chance and the mean of the short and of the long branch of a hyperexponential time of mean 1."""
    chance = (1.0 + sqrt((cv**2 - 1.0) / (cv**2 + 1.0))) / 2.0
    return (chance, 0.5 / chance), (1.0 - chance, 0.5 / (1.0 - chance))


@lru_cache(maxsize=64)
def unit_law(model: str, cv: float | None = None, tail_index: float | None = None) -> UnitLaw:
    """The law of a time of mean 1 of a model."""
    if model == "exponential":
        return UnitLaw(lambda y: np.exp(-y), lambda y: -np.expm1(-y), 1.0)
    if model == "pareto":
        assert tail_index is not None
        return _pareto(tail_index)
    assert cv is not None
    if is_fixed(cv):
        return UnitLaw(lambda y: np.maximum(0.0, 1.0 - y), lambda y: (1.0 - np.maximum(0.0, 1.0 - y) ** 2) / 2.0, cv)
    if model == "gamma":
        return _gamma(cv)
    return _lognormal(cv) if model == "lognormal" else _hyperexponential(cv)


def _gamma(cv: float) -> UnitLaw:
    a = 1.0 / cv**2

    def above(y: Vector, power: int) -> Vector:
        moment = 1.0 + cv**2 if power == 2 else 1.0
        return np.asarray(moment * gammaincc(a + power, a * y))

    return _by_moments(above, cv, a)


def _lognormal(cv: float) -> UnitLaw:
    s = sqrt(log1p(cv**2))

    def above(y: Vector, power: int) -> Vector:
        moment = 1.0 + cv**2 if power == 2 else 1.0
        return np.asarray(moment * ndtr((s**2 * (power - 0.5) - np.log(np.maximum(y, 1e-300))) / s))

    return _by_moments(above, cv, inf)


def _by_moments(above: Callable[[Vector, int], Vector], cv: float, shape: float) -> UnitLaw:
    """The law of which `above` gives the mean of Y^power where Y > y, and of 0 elsewhere."""

    def excess(y: Vector) -> Vector:
        return above(y, 1) - y * above(y, 0)

    def integral(y: Vector) -> Vector:
        return (1.0 + cv**2 - above(y, 2) + 2.0 * y * above(y, 1) - y**2 * above(y, 0)) / 2.0

    return UnitLaw(excess, integral, cv, shape)


def _hyperexponential(cv: float) -> UnitLaw:
    (_, short), (_, long) = branches(cv)  # the chance of each times its mean is a half
    return UnitLaw(
        lambda y: (np.exp(-y / short) + np.exp(-y / long)) / 2.0,
        lambda y: -(short * np.expm1(-y / short) + long * np.expm1(-y / long)) / 2.0,
        cv,
    )


def _pareto(a: float) -> UnitLaw:
    deviation = min(MOST_DEVIATION, sqrt(a / (a - 2.0))) if a > 2.0 else MOST_DEVIATION

    def integral(y: Vector) -> Vector:
        stretch = np.log1p(y / (a - 1.0))  # (1 + y/(a-1))^(2-a) = e^((2-a) stretch)
        return (a - 1.0) * (np.expm1((2.0 - a) * stretch) / (2.0 - a) if a != 2.0 else stretch)

    return UnitLaw(lambda y: (1.0 + y / (a - 1.0)) ** (1.0 - a), integral, deviation)
