"""Driving times of any law as numbers on a lattice: sums by characteristic functions, and how exact they are.

**Masses.** A time is moved to multiples of a step h = T/n: x between two of them goes to the upper one with chance
(x mod h)/h, else to the lower one. That keeps the mean. The mass at kh is a second difference of the expected excess
(`laws.py`):

    P(X_h = kh) = { excess((k-1)h) - 2 excess(kh) + excess((k+1)h) } / h.

**Variance.** The move adds δ = 2 { trapezoid rule of the excess with step h - its integral } to a variance: h²/6 for a
smooth law, m h for a link that takes a mean m far below h. Roads of many short links would need a very fine lattice. So
each transform is multiplied by e^((δ/h²)(1 - cos ω)), which takes δ away again. What is then left of a sum is off by h²
times little, however finely a road is cut. Masses become slightly negative, also before time 0, so that all arrays have
`PAD` steps before 0 and after T.

**Times that add up.** Where the transform of a random time of mean m is exp(-m κ(s)) (`laws.ScaleLaw`), s becomes

    D / h,    D = g + g²/2 + g³/6,    g = 1 - e^(-iω).

D is iω + (iω)³/6 up to sixth powers, so that errors are again c h² + d h⁴ + ... Its real part is (2/3) (1 - cos ω)³,
never negative: no transform is larger than 1, the logarithm in κ stays on its branch, and nothing comes before time 0.
The transform of every mean is a power of one also on the lattice: a road may be cut in any way. The fixed part of a
time is added once from junction to junction (`shifts`, by cubics): an edge that passes many links would be blurred.

**Sums.** The transform of a sum is the product of the transforms. Masses are weighted with e^(-θk/F) before a fast
Fourier transform of length F, so that what lies beyond and comes round again is e^(-θ) of itself; rounding is raised to
1e-16 e^θ. With θ = 18 both are about 1e-8.

**Several trucks.** Times on a lattice are taken as they are: the first of two is later than kh with the product of the
chances that each is. A probability at T is the mean of those of "by T" and of "before T", so that it is right to h².

**Extrapolation.** The error is c h² + d h^s + ..., s = 4, so that steps h and h/2 give b = (4 p(h/2) - p(h))/3, steps
h/2 and h/4 the next such number c, and (2^s c - b)/(2^s - 1) is better still. The steps are halved until the last two
of these differ by at most a tolerance.

The density of a gamma time of shape a is like x^(a-1) near 0. What rounding adds to its variance has a part h^(2+a)
from there. The factor above takes that away again, but rounding has then moved the third moment by as much times the
mean. So s = 2+a for shapes a < 1. For 1 <= a < 2 the power 4 is taken as well: it leaves at most 8/7 of the difference.

**Stated errors are estimates**: `SAFETY` times the difference, or 2^(-s) of the one before that, if that is larger:
what the difference should then be. A difference may be small by chance, because b and c lie on either side of the
limit, and of three lattices alone nobody would notice. So P(late) takes at least four. In 4,000 random cases with a
closed form the stated error was exceeded once, by 1.3 times; with three lattices, and without the difference before,
in one of a hundred, by up to a hundred times.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from runcard.errors import NotConvergedError
from runcard.response.laws import AnyLaw, Law, ScaleLaw, Vector
from runcard.response.tree_kernels import fill_shifts
from runcard.threads import available_threads, run_each

PAD = 16
THETA = 18.0
FIRST_STEPS = 48
MOST_STEPS = FIRST_STEPS << 8
SAFETY = 3.0
ORDER = 4.0
"""The power s of the second extrapolation."""
SLACK = 10.0
"""What a difference should be may be so many tolerances."""
ROUNDING = 2e-8
"""What comes round again, and rounding."""
CHUNK = 256
"""Means whose times are put on a lattice at once."""
MOST_KEPT = 64
"""Transforms of single times that are kept: those of a few lattices."""

Floats = NDArray[np.float64]
Transforms = NDArray[np.complex128]


class Lattice:
    """The lattice of n steps from 0 to a horizon in minutes, with `PAD` steps more on either side.

    Transforms have a length of at least `room` steps, and weights e^(-θ).
    """

    def __init__(self, horizon: float, num_steps: int, *, room: int = 0, theta: float = THETA) -> None:
        self.horizon, self.num_steps, self.room, self.theta = horizon, num_steps, room, theta
        self.step = horizon / num_steps
        self.size = num_steps + 1 + 2 * PAD
        self.length = int(next_fast_len(max(self.size + PAD, room), real=True))
        self.end = num_steps + PAD
        """Where the horizon is in an array of this lattice."""

    @property
    def num_frequencies(self) -> int:
        """The length of a transform."""
        return self.length // 2 + 1

    @cached_property
    def weights(self) -> Vector:
        """[place] e^(-θ place / F)."""
        return np.asarray(np.exp(-self.theta / self.length * np.arange(self.size)))

    @cached_property
    def _angles(self) -> Transforms:
        """[frequency] ω, weights included."""
        angles = 2.0 * np.pi * np.arange(self.num_frequencies) - 1j * self.theta
        return np.asarray(angles / self.length, np.complex128)

    @cached_property
    def _step_on(self) -> Transforms:
        """[frequency] the transform of one step, e^(-iω)."""
        return np.asarray(np.exp(-1j * self._angles))

    @cached_property
    def delay(self) -> Transforms:
        """[frequency] the transform of `PAD` steps, so that what is before 0 has a place in an array."""
        return np.asarray(np.exp(-1j * PAD * self._angles))

    def transforms(self, law: AnyLaw, means: Vector, *, cut: bool = False) -> Transforms:
        """[mean, frequency] the transforms of times of a law; without the fixed parts where times add up.

        With `cut`, of the horizon where a time is longer.
        """
        if isinstance(law, ScaleLaw):
            return self._powers(law, means)
        times = self.step * np.arange(self.num_steps + (0 if cut else PAD) + 2, dtype=np.float64)
        rounded = 1.0 - np.cos(self._angles)
        found = np.empty((len(means), self.num_frequencies), np.complex128)

        def fill(part: slice) -> None:
            masses, added = lattice_masses(law, means[part], times, cut=cut)
            found[part] = rfft(masses * self.weights[: masses.shape[1]], self.length, axis=1)
            found[part] *= np.exp(added[:, None] * rounded)

        run_each(fill, [slice(low, low + CHUNK) for low in range(0, len(means), CHUNK)], available_threads())
        return found

    def transform(self, law: AnyLaw, mean: float) -> Transforms:
        """[frequency] the transform of one time. It is kept, for turnout and the way from outside: write to a copy."""
        return _transform(law, mean, self.horizon, self.num_steps, self.room, self.theta)

    def _powers(self, law: ScaleLaw, means: Vector) -> Transforms:
        """[mean, frequency] the transforms of the random parts of times that add up."""
        g = 1.0 - self._step_on
        exponent = law.exponent((g + g**2 / 2.0 + g**3 / 6.0) / self.step)
        found = np.empty((len(means), self.num_frequencies), np.complex128)

        def fill(part: slice) -> None:
            np.exp(-means[part, None] * exponent, out=found[part])

        run_each(fill, [slice(low, low + CHUNK) for low in range(0, len(means), CHUNK)], available_threads())
        return found

    def shifts(self, minutes: Vector) -> Transforms:
        """[time, frequency] the transforms of fixed times: three moments stay right."""
        found = np.empty((len(minutes), self.num_frequencies), np.complex128)
        fill_shifts(minutes / self.step, self._step_on, self._roots, self.theta, found)
        return found

    @cached_property
    def _roots(self) -> Transforms:
        """[place] e^(-2πi place / F)."""
        return np.asarray(np.exp(-2j * np.pi / self.length * np.arange(self.length)))

    def arrived(self, transforms: Transforms) -> Floats:
        """[..., place] the chance of at most (place - PAD) h, given delayed transforms."""
        masses = irfft(transforms, self.length, axis=-1)[..., : self.size] / self.weights
        return np.asarray(np.cumsum(masses, axis=-1))

    def masses(self, transforms: Transforms) -> Floats:
        """[..., place] the mass at (place - PAD) h, given transforms without delay."""
        return np.asarray(irfft(transforms * self.delay, self.length, axis=-1)[..., : self.size] / self.weights)

    def transforms_of(self, arrived: Floats) -> Transforms:
        """[..., frequency] the transforms, delayed, of times whose chances of at most (place - PAD) h are given."""
        return np.asarray(rfft(np.diff(arrived, prepend=0.0, axis=-1) * self.weights, self.length, axis=-1))


@lru_cache(maxsize=MOST_KEPT)
def _transform(law: AnyLaw, mean: float, horizon: float, num_steps: int, room: int, theta: float) -> Transforms:
    return np.asarray(Lattice(horizon, num_steps, room=room, theta=theta).transforms(law, np.array([mean]))[0])


def lattice_masses(law: Law, means: Vector, times: Vector, *, cut: bool = False) -> tuple[Floats, Vector]:
    """The masses [mean, step] at all but the last of the times 0, h, 2h, ..., and δ/h² of each mean.

    With `cut`, what is later than the last but one is there.
    """
    step = float(times[1])
    excess = law.excess(times, means)
    before = np.concatenate([(law.mean * means + step)[:, None], excess[:, :-2]], axis=1)
    masses = (before - 2.0 * excess[:, :-1] + excess[:, 1:]) / step
    if cut:
        masses[:, -1] = (excess[:, -3] - excess[:, -2]) / step
    trapezoids = step * (excess[:, :-1].sum(axis=1) - 0.5 * (excess[:, 0] + excess[:, -2]))
    # The trapezoid rule is off at the far end, too, where there is no lattice any more.
    trapezoids -= step * (excess[:, -1] - excess[:, -3]) / 24.0
    integral = law.excess_integral(times[-2:-1], means)[:, 0]
    return masses, 2.0 * (trapezoids - integral) / step**2


At = Callable[[int, NDArray[np.int64]], Floats]
"""What a lattice of so many steps gives at some demand points, [row, place in points]."""


def refined(
    at: At,
    points: NDArray[np.int64],
    tolerance: Vector,
    *,
    first: int = FIRST_STEPS,
    most: int = MOST_STEPS,
    wanted: NDArray[np.bool_] | None = None,
    settled: Callable[[int], None] | None = None,
    safety: float = SAFETY,
    order: float = ORDER,
    least: int = 3,
) -> tuple[Floats, Vector]:
    """[row, place in points] what `at` tends to as the steps become short, and the stated error [row].

    A demand point is done when the last two extrapolations of its `wanted` rows [row, place in points] differ by at
    most `tolerance` [row], after at least so many lattices; only the others are looked at with more steps. `settled` is
    told how many are done. The stated error is `safety` times the largest difference, and counts what the difference
    before lets expect.
    """
    places, num_steps, ratio = np.arange(len(points)), first, 2.0**order
    coarse, fine = at(num_steps, points), at(2 * num_steps, points)
    before = (4.0 * fine - coarse) / 3.0
    found, error, expected = np.empty_like(coarse), np.zeros(len(coarse)), np.zeros_like(coarse)
    while 4 * num_steps <= most:
        num_steps, least = 2 * num_steps, least - 1
        coarse, fine = fine, at(2 * num_steps, points[places])
        now = (4.0 * fine - coarse) / 3.0
        best = (ratio * now - before) / (ratio - 1.0)
        difference = np.abs(best - now)
        if wanted is not None:
            difference[~wanted[:, places]] = 0.0
        enough = np.maximum(difference, expected / SLACK) <= tolerance[:, None]
        done = enough.all(axis=0) & (least <= 2)
        found[:, places[done]] = best[:, done]
        error = np.maximum(error, np.maximum(difference, expected)[:, done].max(axis=1, initial=0.0))
        expected = difference[:, ~done] / ratio
        if settled is not None:
            settled(int(done.sum()))
        if done.all():
            return found, safety * error + ROUNDING
        places, fine, before = places[~done], fine[:, ~done], now[:, ~done]
    raise NotConvergedError(
        f"the lattice of driving times did not settle with {most:,} steps: some times are nearly fixed, or vary "
        "extremely; expected a cv of driving and turnout times from about 0.01 to 3, a tail_index above 1.05, a "
        "scale_minutes of about a tenth of a minute up to the target, or a smaller fixed_part"
    )
