"""How long units take to leave: the law by likelihood, its mean and its variation.

Of the exponential, gamma and lognormal laws the one with the smallest AIC, twice (its parameters - the log likelihood),
is taken. With x̄ the mean of n times, and m, s² mean and variance of their logarithms, the likeliest parameters and the
variance of each are

    exponential  mean x̄                                            Var = x̄²/n
    gamma        mean x̄, log a - ψ(a) = log x̄ - m,  v = a^(-1/2)    Var x̄ = x̄²/(na),  Var a = 1 / (n (ψ'(a) - 1/a))
    lognormal    mean e^(m + s²/2),  v² = e^(s²) - 1                 Var m = s²/n,  Var s² = 2 s⁴/n

Times below half a second, which a clock of whole seconds shows as 0, count as half a second.
"""

from dataclasses import dataclass
from math import exp, expm1, log, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, polygamma

from runcard.calibrate.numbers import Z

LEAST_MINUTES: Final = 0.5 / 60.0
LEAST_TIMES: Final = 30

Floats = NDArray[np.float64]


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


def fit_turnout(minutes: Floats) -> TurnoutFit:
    """The law of some turnout times."""
    times = np.maximum(minutes, LEAST_MINUTES)
    logs = np.log(times)
    mean, log_mean, log_variance, num = (
        float(times.mean()),
        float(logs.mean()),
        max(float(logs.var()), 1e-8),
        len(times),
    )
    gap = log(mean) - log_mean
    shape = float(brentq(lambda a: log(a) - digamma(a) - gap, 1e-3, 1e6)) if gap > 1e-6 else 1e6
    likelihoods = {
        "exponential": (1, -num * (log(mean) + 1.0)),
        "gamma": (2, float(num * (shape * log(shape / mean) - gammaln(shape) - shape) + (shape - 1.0) * logs.sum())),
        "lognormal": (2, -num * (log_mean + 0.5 * log(2.0 * np.pi * log_variance) + 0.5)),
    }
    aic = {model: 2.0 * (parameters - found) for model, (parameters, found) in likelihoods.items()}
    best = min(aic, key=lambda model: aic[model])
    others = tuple((model, aic[model] - aic[best]) for model in aic if model != best)
    if best == "exponential":
        return TurnoutFit(best, mean, Z * mean / sqrt(num), None, 0.0, num, others)
    if best == "gamma":
        spread = sqrt(1.0 / (num * (float(polygamma(1, shape)) - 1.0 / shape)))
        half = Z * mean / sqrt(num * shape)
        return TurnoutFit(best, mean, half, shape**-0.5, Z * 0.5 * shape**-1.5 * spread, num, others)
    found = exp(log_mean + log_variance / 2.0)
    half = Z * found * sqrt(log_variance / num + log_variance**2 / (2.0 * num))
    cv = sqrt(expm1(log_variance))
    of_variance = sqrt(2.0 / num) * log_variance
    return TurnoutFit(best, found, half, cv, Z * exp(log_variance) / (2.0 * cv) * of_variance, num, others)
