"""Coarse lattices for several trucks at once: times by cubic assignment, in a window before the target.

**Assignment.** In several dimensions a lattice must be coarse, and links are often shorter than its step h. A time goes
to the four points around it with the weights of cubic interpolation there, which may be negative. That keeps the first
three moments of every link, however short, so that sums of many links are as good as those of few; moving times to the
two points beside them (`lattice.py`) would add hΣm to the variance of a sum. Trucks that meet a link together are moved
alike. To find the weights of all links at once, a law is taken as masses at powers of `RATIO`, which keeps its mean.

**Window.** T lies halfway between two points, T = (n + ½)h, so that "by T" is yes or no at every point, and trucks that
arrive together are there or not there together. Where no truck of interest can arrive early, only the last points
before T are counted: with F frequencies, times that differ by F steps are taken for one another, later ones at e^(-θ)
of themselves, and earlier ones at e^θ, for each truck: so early must a truck not be but with a chance that is small
even then. Near 0 the chance to be there by t is a power of t, and the less t, the higher it is.

**Steps.** Errors are c h² + d h⁴, and c h³ where trucks share nearly all: the number of points is raised until the last
two, extrapolated by squares of the step, and the last three, by squares and fourth powers, differ by at most
`TOLERANCE`, or there are no more points.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.fft import fft, next_fast_len

from runcard.errors import NotConvergedError
from runcard.response.laws import Law, Vector
from runcard.response.team_kernels import Parts

RATIO = 1.005
LEAST_TIME, MOST_TIME = 1e-4, 1e5
"""The range of the masses of a law, in units of its mean."""
THETA = 34.0
"""Of all trucks of a team together."""
BEFORE = 2
"""Points before the first, for negative weights."""
MARGIN = 3
"""Points of the window before any truck of interest can arrive."""
MOST_EARLY = 0.98
"""No window begins later than at this part of T."""
MORE_FREQUENCIES = 2.0
"""Frequencies for each point of a window."""
MANY_FREQUENCIES = 128
"""From so many on, their number is one that is quick to transform."""

POINTS_OF_TWO = (36, 48, 68, 96, 136, 192)
POINTS_OF_THREE = (18, 24, 34, 48, 68, 96)
POINTS_OF_FOUR = (10, 14, 20, 28)
TOLERANCE = 5e-6
"""Of cumulants, between two extrapolations."""
MOST_CHANGE = 1e-3
"""With the most points there are, a larger change is refused."""
SURE = 1e-5
"""A truck is surely there if it is not with at most this chance, and the same the other way round."""
EARLIEST, EARLY = 1e-6, 1e-4
"""The chance that a truck is there by when a lattice begins; and one to see how it rises."""
MOST_FOLDED = 1e-9
"""The most that may come of trucks so early that they are taken for later ones."""


@dataclass(frozen=True)
class Masses:
    """A law of mean 1 (in its own units m) as masses at times."""

    times: Vector
    masses: Vector


def law_masses(law: Law) -> Masses:
    """The masses of a law."""
    powers = np.arange(round(np.log(LEAST_TIME) / np.log(RATIO)), round(np.log(MOST_TIME) / np.log(RATIO)))
    times = np.concatenate([[0.0], RATIO ** powers.astype(np.float64)])
    slopes = np.diff(law.unit_excess(times)) / np.diff(times)
    masses = np.diff(np.concatenate([[-1.0], slopes, [0.0]]))
    # Slopes are rounded the more, the shorter the gap; that is no mass, however little.
    gaps = 1.0 / np.diff(times)
    kept = masses > 1e-15 * (1.0 + np.append(gaps, 0.0) + np.append(0.0, gaps))
    return Masses(law.fixed + law.loose * times[kept], masses[kept])


@dataclass(frozen=True)
class Arrivals:
    """How likely the likeliest of some trucks is there by equally many minutes more each, up to T."""

    target: float
    chances: Vector

    def until(self, least: float) -> float:
        """The minutes until when none is there but with chance `least`."""
        reached = self.chances > least
        return float(reached.argmax()) * self.target / len(self.chances) if reached.any() else self.target

    def before(self, chance: float) -> float:
        """Minutes by which none is there but with `chance`, less than `EARLIEST`: by the power of t that it is then."""
        minutes, step = self.until(EARLIEST), self.target / len(self.chances)
        if minutes <= step:
            return 0.0
        power = np.log(EARLY / EARLIEST) / np.log((self.until(EARLY) + step) / (minutes - step))
        return float((minutes - step) * (chance / EARLIEST) ** (1.0 / power))


@dataclass(frozen=True)
class Window:
    """The last points of a lattice before a target, and the frequencies for them."""

    target: float
    num_steps: int
    """n"""
    first: int
    """The first point that counts."""
    theta: float

    @classmethod
    def before(cls, arrivals: Arrivals, num_points: int, size: int) -> "Window":
        """The window of about so many points, for teams of `size` of trucks that arrive so."""
        target, num_steps, first = arrivals.target, num_points - 1, num_points
        share = min(arrivals.until(EARLIEST) / target, MOST_EARLY)
        folded = arrivals.before(MOST_FOLDED * np.exp(-THETA)) / target
        while num_steps - first < num_points:
            num_steps += 1
            steps = num_steps + 0.5
            latest = (num_steps * (MORE_FREQUENCIES - 1.0) + folded * steps) / MORE_FREQUENCIES
            first = max(0, min(int(share * steps) - MARGIN, int(latest)))
        return cls(target, num_steps, first, THETA / size)

    @property
    def step(self) -> float:
        """h"""
        return self.target / (self.num_steps + 0.5)

    @cached_property
    def length(self) -> int:
        """F, an even number."""
        half = ceil((MORE_FREQUENCIES * (self.num_steps - self.first) + BEFORE) / 2.0)
        return 2 * (half if half < MANY_FREQUENCIES else int(next_fast_len(half)))

    def transforms(self, law: Masses, means: Vector, directions: int = 1) -> NDArray[np.complex128]:
        """[mean, frequency] the transforms of times of a law, for so many trucks that meet them together."""
        means, which = np.unique(means, return_inverse=True)
        assigned = np.zeros((len(means), self.num_steps + BEFORE + 4))
        assign(law.times, law.masses, means / self.step, assigned)
        points = np.arange(-BEFORE, assigned.shape[1] - BEFORE)
        assigned *= np.exp(-self.theta * directions / self.length * points)
        folded = np.zeros((len(means), self.length))
        for begin in range(0, assigned.shape[1], self.length):
            part = assigned[:, begin : begin + self.length]
            folded[:, : part.shape[1]] += part
        found: NDArray[np.complex128] = fft(np.roll(folded, -BEFORE, axis=1), axis=1)
        return found[which]

    @cached_property
    def until(self) -> NDArray[np.complex128]:
        """[frequency] κ / F, what counts masses at the points of the window, given their transform."""
        points = np.arange(self.first - BEFORE, self.num_steps + 1)
        counted = np.zeros(self.length)
        counted[points % self.length] = np.exp(self.theta / self.length * points)
        return np.asarray(np.conj(fft(counted)) / self.length, np.complex128)


@njit(cache=True, nogil=True)
def assign(times: Vector, masses: Vector, scales: Vector, assigned: Vector) -> None:
    """Add masses at times, in units of each scale, to the points around them [scale, point + `BEFORE`], up to T."""
    last = assigned.shape[1] - BEFORE - 3
    for i in range(len(scales)):
        for k in range(len(times)):
            x = times[k] * scales[i]
            point = int(x)
            if point > last:
                break
            u, mass, at = x - point, masses[k], point + BEFORE
            assigned[i, at - 1] -= mass * u * (u - 1.0) * (u - 2.0) / 6.0
            assigned[i, at] += mass * (u + 1.0) * (u - 1.0) * (u - 2.0) / 2.0
            assigned[i, at + 1] -= mass * (u + 1.0) * u * (u - 2.0) / 2.0
            assigned[i, at + 2] += mass * (u + 1.0) * u * (u - 1.0) / 6.0


def parts(transforms: NDArray[np.complex128]) -> Parts:
    """The real and the imaginary part."""
    return np.ascontiguousarray(transforms.real), np.ascontiguousarray(transforms.imag)


def settled(at: Callable[[int], tuple[float, Vector]], points: tuple[int, ...]) -> tuple[Vector, Vector]:
    """What cumulants come to with ever more points, of which `at` gives the step, too; and how much they still change.

    That is between the two extrapolations, and since there was a point less, if they did not agree then.
    """
    steps, found = map(list, zip(*(at(num) for num in points[:2]), strict=True))
    better, change = found[-1], np.full(len(found[-1]), np.inf)
    for num in points[2:]:
        step, last = at(num)
        steps, found, before = [*steps[-2:], step], [*found[-2:], last], better
        by_squares, better = _without(steps[1:], found[1:]), _without(steps, found)
        since = np.where(np.isfinite(change), np.abs(better - before), 0.0)
        change = np.abs(by_squares - better)
        if change.max(initial=0.0) <= TOLERANCE:
            return better, change
        change = np.maximum(change, since)
    return np.where(np.abs(by_squares - better) > MOST_CHANGE, by_squares, better), change


def refuse_change(change: Vector, points: tuple[int, ...], size: int) -> None:
    """Raise a NotConvergedError if cumulants of so many trucks still change too much."""
    if change.max(initial=0.0) > MOST_CHANGE:
        raise NotConvergedError(
            f"the lattice of driving times of {size} trucks did not settle with {points[-1]} steps: some times are "
            "nearly fixed; expected a larger cv of driving and turnout times, or a smaller fixed_part"
        )


def _without(steps: list[float], found: list[Vector]) -> Vector:
    """What numbers for some steps h would be for h = 0 with errors of even powers of h."""
    powers = np.vander((np.array(steps) / steps[-1]) ** 2, increasing=True)
    return np.asarray(np.linalg.inv(powers)[0] @ np.array(found))
