"""Driving times of any law: sums of independent times on a lattice, by characteristic functions.

**Masses.** Times are moved to multiples of a step h = T/n: a time x between two of them goes to the upper one with
chance (x mod h)/h, else to the lower one. That keeps every mean, and adds to a variance what depends on h², and nearly
nothing else, on the law. The mass at kh is a second difference of the expected excess (`laws.py`):

    P(X_h = kh) = { excess((k-1)h) - 2 excess(kh) + excess((k+1)h) } / h.

**Sums.** The transform of a sum is the product of the transforms. Masses are weighted with e^(-θk/F) before a fast
Fourier transform of length F > n, so that what lies beyond T and comes round again is e^(-θ) of itself; rounding is
raised to 1e-16 e^θ. With θ = 18 both are about 1e-8.

**Extrapolation.** P(S > T) is taken as the mass beyond T and half of that at T. Where laws are smooth, its error is
c h² + d h⁴ + ..., so steps h and h/2 give b = (4 p(h/2) - p(h))/3, and steps h/2 and h/4 the next such number c; their
difference is 15 times the error of c, and (16 c - b)/15 is better still. The number of steps is doubled until b and c
differ by at most `TOLERANCE`: where laws are less smooth, and c is off by a third of that, it is still small enough.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from runcard.response.laws import Law, Vector

FIRST_STEPS = 192
FINE_STEPS = 4 * FIRST_STEPS
"""Laws are looked at on this lattice at once: it is needed in any case."""
COARSE_STEPS = 24
"""No lattice has fewer steps."""
MOST_STEPS = FIRST_STEPS << 6
TOLERANCE = 2e-6
THETA = 18.0
MAX_MASSES = 1 << 22
"""Numbers held at once while masses are found: 32 MiB."""

Transforms = NDArray[np.complex128]


class Lattice:
    """The lattice of n steps from 0 to a horizon in minutes."""

    def __init__(self, horizon: float, num_steps: int) -> None:
        self.horizon, self.num_steps = horizon, num_steps
        self.step = horizon / num_steps
        self.length = int(next_fast_len(num_steps + 1, real=True))
        self.weights = np.exp(-THETA / self.length * np.arange(num_steps + 1))

    @property
    def num_frequencies(self) -> int:
        """The length of a transform."""
        return self.length // 2 + 1

    def transforms(self, masses: NDArray[np.float64]) -> Transforms:
        """[..., frequency] the transforms of times with these masses at 0, h, 2h, ..., T."""
        found: Transforms = rfft(masses * self.weights, self.length, axis=-1)
        return found

    def masses(self, transforms: Transforms) -> NDArray[np.float64]:
        """[..., step] the masses at 0, h, 2h, ..., T that belong to transforms."""
        found: NDArray[np.float64] = irfft(transforms, self.length, axis=-1)[..., : self.num_steps + 1] / self.weights
        return found


@dataclass
class TimesOfLaw:
    """The expected excess of times of one law and several means up to a horizon, on the finest lattice so far."""

    law: Law
    means: Vector
    horizon: float
    _steps: int = 0
    _excess: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    @cached_property
    def _different(self) -> tuple[Vector, NDArray[np.int64]]:
        """The means without those that occur twice, and where each is among them."""
        found, places = np.unique(self.means, return_inverse=True)
        return found, places

    def masses(self, num_steps: int) -> NDArray[np.float64]:
        """[mean, step] the masses at 0, h, 2h, ..., T, from what a finer lattice has found if there is one."""
        means, places = self._different
        if num_steps > self._steps or self._steps % num_steps:
            self._steps = num_steps * max(1, FINE_STEPS // num_steps)
            # Beyond T by a step of the coarsest lattice
            num_times = self._steps + self._steps // COARSE_STEPS + 1
            times = self.horizon / self._steps * np.arange(num_times, dtype=np.float64)
            self._excess = np.empty((len(means), len(times)))
            chunk = max(1, MAX_MASSES // len(times))
            for first in range(0, len(means), chunk):
                part = means[first : first + chunk]
                self._excess[first : first + chunk] = self.law.excess(times, part).T
        step = self.horizon / num_steps
        excess = self._excess[:, :: self._steps // num_steps][:, : num_steps + 2]
        before = np.concatenate([(self.law.mean * means + step)[:, None], excess[:, :-2]], axis=1)
        found: NDArray[np.float64] = (before - 2.0 * excess[:, :-1] + excess[:, 1:]) / step
        return found[places]


def survivals(masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """[..., step] the chance of more than kh, half of the mass at kh counted in."""
    return 1.0 - np.cumsum(masses, axis=-1) + 0.5 * masses


def extrapolated(coarse: Vector, fine: Vector, order: int = 2) -> Vector:
    """The numbers for a step of 0 from those for two steps, the second half of the first; `order` of the error."""
    factor = 2.0**order
    found: Vector = (factor * fine - coarse) / (factor - 1.0)
    return found
