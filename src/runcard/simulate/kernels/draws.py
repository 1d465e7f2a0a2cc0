"""Random numbers by key: every draw is a hash of what it is for, so nothing depends on the order of the draws.

The key of an incident is a hash of the seed, the batch and the number of the incident. A draw adds to it what it is for
(`LINK`, `BUSY`, ...), which truck and which link, each times an odd number of 64 bits, and hashes that (splitmix64). So
two policies meet the same incidents, and a truck that both send meets the same delays (common random numbers).
"""

from typing import Any

import numpy as np

from runcard.mdp.kernels.bare import bare_kernel
from runcard.response.route_kernels import mix

GAP, POINT, KEEP, LINK, FLAG, TURNOUT, BUSY, HOME, TURN, OUTSIDE, OUTSIDE_FLAG, OUTAGE, REPAIR = range(13)
"""What a draw is for."""

EVERYBODY = -1
"""The truck of a draw that all trucks share."""

LAWS = ("fixed", "exponential", "gamma", "lognormal", "hyperexponential", "pareto")
"""The laws of times of mean 1, by number."""
FIXED, EXPONENTIAL, GAMMA, LOGNORMAL, HYPEREXPONENTIAL, PARETO = range(len(LAWS))

_WHAT = np.uint64(0xD1B54A32D192ED03)
_TRUCK = np.uint64(0x8CB92BA72F3D8DD7)
_LINK = np.uint64(0x9FB21C651E98DF25)
_NEXT = np.uint64(0xC2B2AE3D27D4EB4F)


@bare_kernel
def incident_key(batch_key: np.uint64, number: int) -> np.uint64:
    """The key of an incident."""
    return mix(batch_key + np.uint64(number) * _NEXT)


@bare_kernel
def draw_key(key: np.uint64, what: int, truck: int, link: int) -> np.uint64:
    """The hash of a draw."""
    # Numbers from -1 on, as unsigned ones from 0 on.
    return mix(key + np.uint64(what) * _WHAT + np.uint64(truck + 1) * _TRUCK + np.uint64(link + 1) * _LINK)


@bare_kernel
def uniform(hashed: np.uint64) -> float:
    """A number above 0 and below 1 from a hash."""
    return (float(hashed >> np.uint64(12)) + 0.5) * 2.0**-52


@bare_kernel
def _normal(hashed: np.uint64) -> float:
    """A standard normal number from a hash."""
    radius = np.sqrt(-2.0 * np.log(uniform(hashed)))
    return float(radius * np.cos(2.0 * np.pi * uniform(mix(hashed))))


@bare_kernel
def draw_gamma(shape: float, scale: float, hashed: np.uint64) -> float:
    """A gamma number from a hash, by rejection (Marsaglia and Tsang)."""
    raised = shape if shape >= 1.0 else shape + 1.0
    d = raised - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        hashed = mix(hashed + _NEXT)
        x = _normal(hashed)
        v = (1.0 + c * x) ** 3
        if v > 0.0:
            hashed = mix(hashed + _NEXT)
            if np.log(uniform(hashed)) < 0.5 * x * x + d - d * v + d * np.log(v):
                break
    found = d * v * scale
    if shape < 1.0:
        found *= uniform(mix(hashed + _WHAT)) ** (1.0 / shape)
    return float(found)


@bare_kernel
def draw_time(law: Any, mean: float, hashed: np.uint64) -> float:
    """A time from a hash, by a law (see `sampling.SampledLaw`) and its mean."""
    y = 1.0
    if law.kind == EXPONENTIAL:
        y = -np.log(uniform(hashed))
    elif law.kind == GAMMA:
        y = draw_gamma(law.shape, 1.0 / law.shape, hashed)
    elif law.kind == LOGNORMAL:
        y = np.exp(law.shape * _normal(hashed) - 0.5 * law.shape * law.shape)
    elif law.kind == HYPEREXPONENTIAL:
        in_short = uniform(mix(hashed)) < law.shape
        y = -np.log(uniform(hashed)) * 0.5 / (law.shape if in_short else 1.0 - law.shape)
    elif law.kind == PARETO:
        y = (law.shape - 1.0) * (uniform(hashed) ** (-1.0 / law.shape) - 1.0)
    return float(mean * (law.fixed + law.loose * y))
