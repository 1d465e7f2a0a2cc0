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

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from runcard.response.laws import Law, Vector

FIRST_STEPS = 192
MOST_STEPS = FIRST_STEPS << 6
TOLERANCE = 2e-6
THETA = 18.0
MAX_MASSES = 1 << 22
"""Numbers held at once while masses are found: 32 MiB."""

Transforms = NDArray[np.complex128]


class Lattice:
    """The lattice of n steps from 0 to a horizon in minutes."""

    def __init__(self, horizon: float, num_steps: int) -> None:
        self.num_steps = num_steps
        self.step = horizon / num_steps
        self.length = int(next_fast_len(num_steps + 1, real=True))
        self.weights = np.exp(-THETA / self.length * np.arange(num_steps + 1))

    @property
    def num_frequencies(self) -> int:
        """The length of a transform."""
        return self.length // 2 + 1

    def transforms(self, law: Law, means: Vector) -> Transforms:
        """[mean, frequency] the transforms of times of these means, in minutes."""
        found = np.empty((len(means), self.num_frequencies), np.complex128)
        chunk = max(1, MAX_MASSES // (self.num_steps + 2))
        for first in range(0, len(means), chunk):
            masses = masses_of(law, means[first : first + chunk], self.step, self.num_steps)
            found[first : first + chunk] = rfft(masses * self.weights, self.length, axis=1)
        return found

    def masses(self, transforms: Transforms) -> NDArray[np.float64]:
        """[row, step] the masses at 0, h, 2h, ..., T that belong to transforms."""
        found: NDArray[np.float64] = irfft(transforms, self.length, axis=1)[:, : self.num_steps + 1] / self.weights
        return found


def masses_of(law: Law, means: Vector, step: float, num_steps: int) -> NDArray[np.float64]:
    """[mean, step] the masses of times of these means at 0, h, 2h, ..., T."""
    times = step * np.arange(num_steps + 2, dtype=np.float64)
    excess = law.excess(times, means).T
    before = np.concatenate([(law.mean * means + step)[:, None], excess[:, :-2]], axis=1)
    found: NDArray[np.float64] = (before - 2.0 * excess[:, :-1] + excess[:, 1:]) / step
    return found


def survivals(masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """[row, step] the chance of more than kh, half of the mass at kh counted in."""
    return 1.0 - np.cumsum(masses, axis=1) + 0.5 * masses


def extrapolated(coarse: Vector, fine: Vector, order: int = 2) -> Vector:
    """The numbers for a step of 0 from those for two steps, the second half of the first; `order` of the error."""
    factor = 2.0**order
    found: Vector = (factor * fine - coarse) / (factor - 1.0)
    return found
