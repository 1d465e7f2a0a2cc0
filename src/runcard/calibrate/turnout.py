"""How long units take to leave: the law by likelihood, its mean and its variation, and whether they leave together.

A clock shows moments in whole steps s, and a time D that it counts is a difference of two of them, in whole steps too.
Whatever its hands stood at when the time began, all moments of a step being alike,

    P(d is counted) = E max(0, 1 - |D - d| / s) = { e(d - s) - 2 e(d) + e(d + s) } / s,      e(x) = E (D - x)+,

so every law is known by its expected excess e (`response/laws.py`), for clocks of seconds and of minutes alike. Of the
exponential, gamma and lognormal laws the one with the smallest AIC, twice (its parameters - the log likelihood), is
taken.

All times count. Those of one incident may depend on each other, so intervals come from the spread of whole incidents:
with l_i the log likelihood of a time, H the second derivatives of their sum, and c an incident,

    Var = H^(-1) { Σ_c (Σ_{i in c} ∇l_i) (Σ_{i in c} ∇l_i)' } H^(-1),      for the logarithms of mean and variation.

If all times are 0 there is no turnout: the log says dispatch for both.

**Together.** Units of one kind and station that are sent to one incident may leave together or each for itself. Over
pairs of such units, with u their times less their mean, the longest twentieth cut to the next, and c = s²/12 where both
were sent at the same moment, because they then began at the same place between two steps of the clock,

    ρ = Σ (u_1 u_2 - c) / Σ {(u_1² + u_2²) / 2 - c}

is 1 if they leave together and 0 if not. They are taken to leave together if ρ is nearer to 1 for sure.

**Strays.** Of units that were somewhere else when they were sent (`strays.py`) many are on the road, and leave at once.
With h the chance that a unit came from home, given how long it drove, its turnout is taken to have the law

    h × (the law of those from home) + (1 - h) × gamma,

both by likelihood. The numbers of a city stay those of all units; intervals are widened to hold those from home.
"""

from dataclasses import dataclass
from math import exp, inf, log, log1p, nan, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import gammainc, ndtr

from runcard.calibrate.numbers import Z, cluster_sums
from runcard.response.laws import unit_law

LEAST_TIMES: Final = 30
LEAST_CHANCE: Final = 1e-300
LEAST_CV, MOST_CV = 1e-3, 10.0
LAWS: Final = {"exponential": 1, "gamma": 2, "lognormal": 2}
"""The number of parameters of each."""
COMMON: Final = 0.95
TOGETHER: Final = 0.5
"""A correlation that is more than this for sure is nearer to 1 than to 0."""
WIDE: Final = 5.0
"""The likeliest log mean is no farther from that of the mean time."""
DIFFERENCE: Final = 1e-3
"""Of logarithms, for derivatives."""
LEAST_CURVE: Final = 1.0
"""With less, the standard error of a logarithm would be more than 1."""
AT_ONCE: Final = 0.1
"""The mean of those that were elsewhere, at first, as a part of that of all."""
SURE: Final = 10.0
"""Gain in log likelihood beyond one law for all; where all leave alike, chance gains about 1."""
LEAST_WEIGHT: Final = 1e-6
"""Of a time of one step, so that there always is one."""
SETTLED: Final = 1e-2
MOST_ROUNDS: Final = 30

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TurnoutFit:
    """The law of a turnout, its mean and coefficient of variation, half the widths of their intervals, and the rest."""

    model: str
    mean_minutes: float
    mean_half: float
    cv: float | None
    cv_half: float
    num_times: int
    better_than: tuple[tuple[str, float], ...]
    """The other laws, and by how much their AIC is larger."""
    without_strays: tuple[float, float] | None = None
    """Mean and variation of the units from home, where others surely leave otherwise."""


@dataclass(frozen=True, slots=True)
class TogetherFit:
    """The correlation ρ of the turnouts of units of one station, with its interval; NaN if the log does not say it."""

    correlation: float
    low: float
    high: float
    num_pairs: int


def fit_turnout(steps: Ints, step_minutes: float, incident: Ints) -> TurnoutFit:
    """The law of some turnout times, in whole steps of their clock, to these incidents."""
    counts = np.bincount(steps).astype(np.float64)
    if len(counts) == 1:
        return TurnoutFit("exponential", 0.0, 0.0, None, 0.0, len(steps), ())
    fits = {model: _likeliest(model, counts, step_minutes) for model in LAWS}
    aic = {model: 2.0 * (LAWS[model] - likelihood) for model, (_, likelihood) in fits.items()}
    best = min(aic, key=lambda model: aic[model])
    others = tuple((model, aic[model] - aic[best]) for model in aic if model != best)
    logarithms = fits[best][0]
    halves = _halves(best, logarithms, counts, step_minutes, steps, incident)
    mean, half = exp(logarithms[0]), float(halves[0]) * exp(logarithms[0])
    if best == "exponential":
        return TurnoutFit(best, mean, half, None, 0.0, len(steps), others)
    cv = exp(logarithms[1])
    return TurnoutFit(best, mean, half, cv, float(halves[1]) * cv, len(steps), others)


def without_strays(fit: TurnoutFit, steps: Ints, step_minutes: float, home: Floats) -> tuple[float, float] | None:
    """Mean and variation of the turnouts of units that came from home, given the chance [time] that each did.

    None if the log does not show that the others leave otherwise.
    """
    if fit.mean_minutes <= 0.0:
        return None
    logarithms, model, num = np.log([fit.mean_minutes, fit.cv or 1.0]), fit.model, int(steps.max()) + 1

    def chances(model: str, logarithms: Floats) -> Floats:
        return np.asarray(np.exp(_log_chances(model, logarithms[: LAWS[model]], num, step_minutes))[steps])

    of_home = chances(model, logarithms)
    without, before = float(np.log(of_home).sum()), -inf
    elsewhere = chances("exponential", np.log([AT_ONCE * fit.mean_minutes]))
    for _ in range(MOST_ROUNDS):
        mixed = home * of_home + (1.0 - home) * elsewhere
        gain = float(np.log(mixed).sum()) - without
        if gain - before < SETTLED:
            break
        before, part = gain, home * of_home / mixed
        counts = np.bincount(steps, part, num).astype(np.float64)
        fits = {name: _likeliest(name, counts, step_minutes) for name in LAWS}
        model = max(fits, key=lambda name: fits[name][1] - LAWS[name])
        logarithms = fits[model][0]
        of_home = chances(model, logarithms)
        others = np.bincount(steps, 1.0 - part, num).astype(np.float64)
        others[1] += LEAST_WEIGHT
        elsewhere = chances("gamma", _likeliest("gamma", others, step_minutes)[0])
    if before < SURE:
        return None
    return exp(logarithms[0]), exp(logarithms[1]) if LAWS[model] > 1 else 1.0


def _log_chances(model: str, logarithms: Floats, num: int, step: float) -> Floats:
    """[steps] the logarithm of the chance that so many are counted, given log mean and log variation."""
    mean = exp(logarithms[0])
    cv = exp(logarithms[1]) if len(logarithms) > 1 else None
    times = np.arange(num + 1, dtype=np.float64) * step
    late = np.diff(np.append(mean + step, mean * unit_law(model, cv).excess(times / mean)), 2)
    early = np.diff(np.append(0.0, mean * _shortfall(model, cv, times / mean)), 2)
    return np.asarray(np.log(np.maximum(np.where(times[:-1] < mean, early, late) / step, LEAST_CHANCE)))


def _shortfall(model: str, cv: float | None, y: Floats) -> Floats:
    """E (y - Y)+ of times Y of mean 1: it and the excess have the same second differences, but it is exact near 0."""
    if cv is None:
        return np.asarray(y + np.expm1(-y))
    if model == "gamma":
        a = cv**-2
        return np.asarray(y * gammainc(a, a * y) - gammainc(a + 1.0, a * y))
    s = sqrt(log1p(cv**2))
    d = s / 2.0 - np.log(np.maximum(y, LEAST_CHANCE)) / s
    return np.asarray(y * ndtr(s - d) - ndtr(-d))


def _likeliest(model: str, counts: Floats, step: float) -> tuple[Floats, float]:
    """The likeliest log mean and log variation, and the log likelihood."""
    num, times = float(counts.sum()), np.arange(len(counts), dtype=np.float64) * step
    mean = float(counts @ times) / num
    # The clock adds s²/6 to the variance.
    cv = sqrt(max(float(counts @ (times - mean) ** 2) / num - step**2 / 6.0, 0.0)) / mean
    start = np.log([mean, min(max(cv, LEAST_CV), MOST_CV)])[: LAWS[model]]
    ends = [(start[0] - WIDE, start[0] + WIDE), (log(LEAST_CV), log(MOST_CV))][: LAWS[model]]

    def cost(logarithms: Floats) -> tuple[float, Floats]:
        chances = _log_chances(model, logarithms, len(counts), step)
        return -float(counts @ chances) / num, -(counts @ _slopes(model, logarithms, len(counts), step)) / num

    found: Any = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=ends, options={"ftol": 1e-13, "gtol": 1e-7})
    return np.asarray(found.x), -float(found.fun) * num


def _slopes(model: str, logarithms: Floats, num: int, step: float) -> Floats:
    """[steps, logarithm] by how much the log chances grow with each logarithm."""
    shifts = DIFFERENCE * np.eye(len(logarithms))
    ends = ([_log_chances(model, logarithms + sign * one, num, step) for one in shifts] for sign in (1.0, -1.0))
    above, below = map(np.column_stack, ends)
    return np.asarray((above - below) / (2.0 * DIFFERENCE))


def _halves(model: str, logarithms: Floats, counts: Floats, step: float, steps: Ints, incident: Ints) -> Floats:
    """Half the widths of the intervals of the logarithms; infinite for what such a clock does not show."""
    curves = np.empty((len(logarithms), len(logarithms)))
    for number, shift in enumerate(DIFFERENCE * np.eye(len(logarithms))):
        above, below = (_slopes(model, logarithms + sign * shift, len(counts), step) for sign in (1.0, -1.0))
        curves[number] = counts @ (below - above) / (2.0 * DIFFERENCE)
    known = np.flatnonzero(np.diag(curves) >= LEAST_CURVE)
    inverse = np.linalg.pinv(curves[np.ix_(known, known)])
    sums = cluster_sums(_slopes(model, logarithms, len(counts), step)[steps][:, known], incident)
    found = np.full(len(logarithms), inf)
    found[known] = Z * np.sqrt(np.diag(inverse @ (sums.T @ sums) @ inverse))
    return found


def fit_together(minutes: Floats, pairs: Ints, at_once: Bools, step_minutes: float, incident: Ints) -> TogetherFit:
    """Whether the units of pairs [pair, 2] leave together, given which [pair] were sent at the same moment."""
    unknown = TogetherFit(nan, -1.0, 1.0, len(pairs))
    if len(pairs) < LEAST_TIMES:
        return unknown
    times = np.minimum(minutes, np.quantile(minutes, COMMON))
    one, other = (times - times[pairs].mean())[pairs].T
    begin = step_minutes**2 / 12.0 * at_once
    products, squares = one * other - begin, (one**2 + other**2) / 2.0 - begin
    if squares.sum() <= 0.0:
        return unknown
    correlation = float(products.sum() / squares.sum())
    off = cluster_sums(products - correlation * squares, incident[pairs[:, 0]])
    half = Z * sqrt(float((off**2).sum())) / float(squares.sum())
    return TogetherFit(correlation, max(-1.0, correlation - half), min(1.0, correlation + half), len(pairs))
