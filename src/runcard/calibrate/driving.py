"""How long units drive: a start, a factor for each class of road, and a spread per minute of driving.

The drive over a route that takes F_c minutes on roads of class c at the city's speeds is

    D gamma with mean M = s + Σ_c b_c F_c and scale θ,    so Var D = θ M.

The start s is what every drive takes besides the road: pulling out, the last metres to the door. In the city it is a
link of its own before each station, its apron. The spread does not depend on how finely roads are cut
(docs/background/model.md). The law of D is not used to find the numbers, only its mean and variance: (s, b) solve
weighted least squares with weights 1 / max(M, floor), found again from the last M until they settle, and

    θ: four fifths of all drives take between their 10 % and their 90 % quantile.

Squares of residuals would say θ more exactly if every drive followed the law, but in real logs a few late buttons, at
either end, would decide it.

**Coarse clocks.** A clock that goes in steps s shows a difference of two moments in whole steps d. With the expected
excess e(x) = E (D - x)+, as in `turnout.py`,

    P(shown <= d) = 1 - { e(d) - e(d + s) } / s,      P(shown = d) = { e(d - s) - 2 e(d) + e(d + s) } / s.

A drive that is shown as d is between the quantiles with the part of (P(shown < d), P(shown <= d)) that is between 10 %
and 90 %; on average over the law that is four fifths, whatever the clock. Both ends of a drive are cut or rounded
alike, so means stay right. A clock of seconds counts as exact.

**Slow drives.** Logs have drives of an hour: a button pressed late, a call without hurry. They pull means up. So a
drive does not count if even among ten times as many drives of the fitted law less than one would be expected to take
so long. The fit begins without the longest 2.5 % and is repeated until the same drives count. Of drives that follow the
law next to none is lost.

Intervals come from the spread of whole incidents (the sandwich formula), because units on the way to one incident may
be delayed together. A start below 0 becomes 0. Roads of classes that the drives cannot tell from others, because
their factor would be 0 or less or known to no better than a half of it, get one factor together.

**Shared delay.** With S the mean minutes that two units drive over the same links, aprons included, Cov(D_1, D_2) =
q θ S. Residuals r = D - M have an error of the route in common, too: where roads are quicker than the network has it,
every unit that drives from one station to one area is early, at this incident and at any other. So what the routes of
two units have in common at different incidents is taken off: with r_1' and r_2' of other incidents, but the same
stations and area, E[r_1 r_2 - r_1' r_2'] = q θ S, whatever the errors are. Over all pairs of units that drove to one
incident at the same time, with weights w = 1 / (M_1 M_2) and e the mean product of all pairs of different incidents,

    q = Σ w S (r_1 r_2 - e_12) / (v Σ w S²),      v = Σ (r_1² - e_11 - s²/6) / Σ M_1 over the drives of these pairs,

s²/6 being what a clock with steps s adds, and v θ in second moments, as the products are. The clock adds s²/12 to the
products of units that left at the same moment, which is taken off. A route that only one incident had says nothing.
Pairs of one station share their whole road and have most of the weight; what they say and what pairs of different
stations say is told apart. A log whose interval holds all of [0, 1] cannot tell q: then it is 0, and that is said.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.sparse import csr_matrix
from scipy.special import gammainc, gammaincc, ndtr

from runcard.calibrate.numbers import Z, cluster_sums
from runcard.errors import InputError

FLOOR_MINUTES: Final = 0.1
"""A drive that takes less has the weight of one that takes this."""
LEAST_TRIPS: Final = 30
LEAST_FACTOR: Final = 1e-3
LONGEST: Final = 0.025
"""The part of drives, the longest, without which the fit begins."""
RARE: Final = 0.1
"""A drive counts if at least so many among all drives were expected to take so long."""
TAIL: Final = 0.1
LEAST_SCALE: Final = 1e-3
MOST_SCALE: Final = 2.0
"""In mean drives."""
STEP: Final = 0.1
"""Of log θ, over which the share between the quantiles is compared."""
SOME: Final = np.linspace(0.025, 0.975, 20)
"""Quantiles of the mean drives, in place of all of them."""
FINE: Final = 0.1
"""A clock with steps of this part of a standard deviation is as good as exact."""
FAR: Final = 6.0
"""Standard deviations; next to no drive takes so much longer than the mean."""
EXACT_MINUTES: Final = 1.0 / 60.0
"""A clock of no larger steps counts as exact."""
LEAST_CHANCE: Final = 1e-12
WIDEST: Final = 0.5
"""A class of road whose factor is known to no better than this part of it is put together with others."""
SINGULAR: Final = 1e-9
SETTLED: Final = 1e-10
MOST_ROUNDS: Final = 100
MOST_TRIMS: Final = 30
REST: Final = "other"

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DrivingFit:
    """The start, factors by class of road, the scale θ, and the interval of each as half its width."""

    start_minutes: float
    start_half: float
    classes: tuple[str, ...]
    """The classes that have a factor of their own; the last may stand for all others."""
    group: Ints
    """[class of the city] its place in `classes`."""
    factors: Floats
    factor_halves: Floats
    scale_minutes: float
    scale_half: float
    num_trips: int
    counted: NDArray[np.bool_]
    """[trip] whether it is not too slow to be of the law."""
    explained: float
    """The part of the variance of driving times that routes explain."""
    implied: float
    """The part that they explain if driving times follow the fitted law, on the same clock."""
    step_minutes: float
    """Of the clock."""
    lognormal_better: float
    """By how much a drive is likelier under lognormal times of the same mean and variance, in log likelihood."""

    def mean(self, by_class: Floats) -> Floats:
        """[trip] M, given minutes [trip, class of the city]."""
        found: Floats = self.start_minutes + by_class @ self.factors[self.group]
        return found


def fit_driving(
    minutes: Floats, by_class: Floats, incident: Ints, classes: Sequence[str], *, step_minutes: float = 0.0
) -> DrivingFit:
    """The fit to driving times [trip], given minutes on each class of road [trip, class] and incidents [trip].

    The clock of the driving times goes in steps of `step_minutes`.
    """
    if len(minutes) < LEAST_TRIPS:
        raise InputError(
            f"expected at least {LEAST_TRIPS} drives from a station with times on the road and on scene, "
            f"got {len(minutes)}"
        )
    counted = minutes <= np.quantile(minutes, 1.0 - LONGEST)
    for _ in range(MOST_TRIMS):
        group, columns, solved = _grouped(minutes, by_class, incident, counted, classes, step_minutes)
        mean = solved.values[0] + columns @ solved.values[1:]
        shorter, _ = shown_by(minutes, np.maximum(mean, FLOOR_MINUTES), solved.scale, step_minutes)
        before, counted = counted, (1.0 - shorter) * len(minutes) >= RARE
        if (before == counted).all():
            break
    if solved.values[1:].min() <= LEAST_FACTOR:
        raise InputError("expected longer routes to take longer, got driving times that do not grow with the route")
    names = [
        classes[int(np.flatnonzero(group == place)[0])] if (group == place).sum() == 1 else REST
        for place in range(int(group.max()) + 1)
    ]
    if len(names) == 1 and len(classes) > 1:
        names = ["all"]
    own, left, likely = minutes[counted], (minutes - mean)[counted], np.maximum(mean[counted], FLOOR_MINUTES)
    return DrivingFit(
        start_minutes=float(solved.values[0]),
        start_half=float(solved.halves[0]),
        classes=tuple(names),
        group=group,
        factors=solved.values[1:],
        factor_halves=solved.halves[1:],
        scale_minutes=solved.scale,
        scale_half=_scale_half(own, likely, incident[counted], solved.scale, step_minutes),
        num_trips=int(counted.sum()),
        counted=counted,
        explained=float(1.0 - np.var(left) / np.var(own)) if np.var(own) > 0.0 else 0.0,
        implied=float(
            np.var(mean[counted])
            / (np.var(mean[counted]) + solved.scale * mean[counted].mean() + step_minutes**2 / 6.0)
        ),
        step_minutes=step_minutes,
        lognormal_better=_lognormal_better(own, likely, solved.scale, max(step_minutes, EXACT_MINUTES)),
    )


def _grouped(
    minutes: Floats,
    by_class: Floats,
    incident: Ints,
    counted: NDArray[np.bool_],
    classes: Sequence[str],
    step_minutes: float,
) -> tuple[Ints, Floats, "_Solved"]:
    """The group of each class, minutes [trip, group], and the fit to drives that count."""
    group = np.arange(len(classes))
    while True:
        num = int(group.max()) + 1
        columns = np.zeros((len(minutes), num))
        for of, place in enumerate(group):
            columns[:, place] += by_class[:, of]
        solved = _solve(minutes[counted], columns[counted], incident[counted], step_minutes)
        factors, halves = solved.values[1:], solved.halves[1:]
        unseen = columns[counted].sum(axis=0) == 0.0
        poor = np.flatnonzero((factors <= 0.0) | (halves >= WIDEST * factors) | unseen).tolist() if num > 1 else []
        if not poor:
            return group, columns, solved
        group = _merged(group, poor, columns.sum(axis=0))


def shown_by(minutes: Floats, mean: Floats, scale: float | Floats, step_minutes: float) -> tuple[Floats, Floats]:
    """The chances that a clock of these steps shows less than these minutes of a drive, and that it shows no more."""
    if step_minutes <= EXACT_MINUTES:
        below = gammainc(mean / scale, minutes / scale)
        return below, below
    return _shown_in_steps(minutes, mean, scale, step_minutes)


def _shown_in_steps(
    minutes: Floats, mean: Floats, scale: float | Floats, steps: float | Floats
) -> tuple[Floats, Floats]:
    before, here, after = (_excess(minutes + ahead * steps, mean, scale) for ahead in (-1.0, 0.0, 1.0))
    return 1.0 - (before - here) / steps, 1.0 - (here - after) / steps


def _excess(minutes: Floats, mean: Floats, scale: float | Floats) -> Floats:
    """E (D - x)+ in minutes of drives of these means, each for its own x."""
    shape, y = mean / scale, np.maximum(minutes, 0.0) / scale
    late = mean * gammaincc(shape + 1.0, y) - minutes * gammaincc(shape, y)
    return np.asarray(np.where(minutes > 0.0, late, mean - minutes))


def _lognormal_better(minutes: Floats, mean: Floats, scale: float, step: float) -> float:
    """The mean difference of log likelihoods; drives of less than `FLOOR_MINUTES` are buttons pressed late."""
    some = minutes >= FLOOR_MINUTES
    if not some.any():
        return 0.0
    x, m = minutes[some], mean[some]
    s = np.sqrt(np.log1p(scale / m))

    def of_lognormal(at: Floats) -> Floats:
        d = s / 2.0 - np.log(np.maximum(at, 1e-300) / m) / s
        return np.asarray(np.where(at > 0.0, m * ndtr(d) - at * ndtr(d - s), m - at))

    def likelihood(excess: Callable[[Floats], Floats]) -> float:
        chance = (excess(x - step) - 2.0 * excess(x) + excess(x + step)) / step
        return float(np.log(np.maximum(chance, LEAST_CHANCE)).mean())

    return likelihood(of_lognormal) - likelihood(lambda at: _excess(at, m, scale))


def _merged(group: Ints, poor: list[int], totals: Floats) -> Ints:
    """Groups of classes after the poorly known ones are put together, and with the least driven one if that is one."""
    together = set(poor)
    if len(together) == 1:
        others = [place for place in range(len(totals)) if place not in together]
        together.add(min(others, key=lambda place: totals[place]))
    target = min(together)
    found = np.where(np.isin(group, list(together)), target, group)
    _, renumbered = np.unique(found, return_inverse=True)
    # The group of the rest comes last.
    rest = int(renumbered[np.flatnonzero(found == target)[0]])
    last = int(renumbered.max())
    return np.where(renumbered == rest, last, np.where(renumbered == last, rest, renumbered)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Solved:
    values: Floats
    """s, then b."""
    halves: Floats
    scale: float


def _solve(minutes: Floats, columns: Floats, incident: Ints, step_minutes: float) -> _Solved:
    """Weighted least squares with a start, which is 0 if it would be less."""
    free = _least_squares(minutes, np.column_stack([np.ones(len(minutes)), columns]), incident, step_minutes)
    if free.values[0] >= 0.0:
        return free
    found = _least_squares(minutes, columns, incident, step_minutes)
    # It may still be as large as the free fit says.
    start_half = max(0.0, float(free.values[0] + free.halves[0]))
    return _Solved(np.append(0.0, found.values), np.append(start_half, found.halves), found.scale)


def _least_squares(minutes: Floats, design: Floats, incident: Ints, step_minutes: float) -> _Solved:
    mean, values = design.sum(axis=1), np.zeros(design.shape[1])
    for _ in range(MOST_ROUNDS):
        weights = 1.0 / np.maximum(mean, FLOOR_MINUTES)
        before, normal = values, design.T @ (weights[:, None] * design)
        values = np.linalg.lstsq(normal, design.T @ (weights * minutes), rcond=None)[0]
        mean = np.maximum(design @ values, 0.0)
        if np.abs(values - before).max() <= SETTLED * np.abs(values).max():
            break
    left = minutes - design @ values
    inverse = np.linalg.pinv(normal)
    scores = cluster_sums(design * (weights * left)[:, None], incident)
    spread = inverse @ (scores.T @ scores) @ inverse
    scale = _scale(minutes, np.maximum(mean, FLOOR_MINUTES), step_minutes)
    halves = np.where(_undecided(normal), np.inf, Z * np.sqrt(np.maximum(np.diag(spread), 0.0)))
    return _Solved(values, halves, scale)


def _undecided(normal: Floats) -> NDArray[np.bool_]:
    """[number] whether the drives do not say it: only its sum with others, or nothing at all."""
    size = np.sqrt(np.diag(normal))
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh(normal / np.outer(size, size))
    found: NDArray[np.bool_] = (np.abs(vectors[:, values < SINGULAR]) > 1e-3).any(axis=1)
    return found


def _inside(shorter: Floats, up_to: Floats) -> Floats:
    """The parts of drives that are between the quantiles, given the chances of less and of no more than is shown."""
    chance = up_to - shorter
    part = np.minimum(up_to, 1.0 - TAIL) - np.maximum(shorter, TAIL)
    middle = (shorter > TAIL) & (shorter < 1.0 - TAIL)
    return np.where(chance > LEAST_CHANCE, np.maximum(part, 0.0) / np.maximum(chance, LEAST_CHANCE), middle)


def _scale(minutes: Floats, mean: Floats, step_minutes: float) -> float:
    """θ."""

    def missing(logarithm: float) -> float:
        return float(_inside(*shown_by(minutes, mean, exp(logarithm), step_minutes)).mean()) - (1.0 - 2.0 * TAIL)

    # Beyond that, times vary more than exponential ones.
    low, high = log(LEAST_SCALE), log(MOST_SCALE * mean.mean())
    if missing(low) >= 0.0 or missing(high) <= 0.0:
        return exp(low if missing(low) >= 0.0 else high)
    return exp(brentq(missing, low, high, xtol=1e-6))


def _scale_half(minutes: Floats, mean: Floats, incident: Ints, scale: float, step_minutes: float) -> float:
    """Half the width of the interval of θ."""
    if not 1.001 * LEAST_SCALE < scale < 0.999 * MOST_SCALE * mean.mean():
        return scale  # at an end of what is possible
    off = cluster_sums(_inside(*shown_by(minutes, mean, scale, step_minutes)) - (1.0 - 2.0 * TAIL), incident)
    slope = _slope(np.quantile(mean, SOME)[:, None], scale, step_minutes)
    return scale * Z * float(np.sqrt((off**2).sum())) / len(minutes) / max(slope, 1e-9)


def _slope(mean: Floats, scale: float, step_minutes: float) -> float:
    """By how much more drives of these means are between the quantiles of log θ + STEP than of log θ - STEP, per step.

    That of the law: counted among the drives themselves it would be as noisy as θ.
    """
    deviation = np.sqrt(scale * mean)
    steps = np.maximum(step_minutes, FINE * deviation)
    minutes = steps * np.arange(np.ceil((mean + FAR * deviation) / steps).max())
    shorter, up_to = _shown_in_steps(minutes, mean, scale, steps)
    shares = []
    for ahead in (-STEP, STEP):
        inside = _inside(*_shown_in_steps(minutes, mean, scale * exp(ahead), steps))
        shares.append(float(((up_to - shorter) * inside).sum(axis=1).mean()))
    return (shares[1] - shares[0]) / (2.0 * STEP)


@dataclass(frozen=True, slots=True)
class SharedDelayFit:
    """The shared delay q, its interval before it is cut to [0, 1], and the pairs that it comes from."""

    value: float
    low: float
    high: float
    num_pairs: int
    shared_minutes: float
    """The mean minutes that a pair drives together."""
    correlation: float
    """Of the residuals of pairs, whatever they share; NaN where there are too few pairs."""
    apart: str = ""
    """What pairs of one station, and of different ones, say by themselves, in words."""


def fit_shared_delay(
    left: Floats,
    mean: Floats,
    shared: Floats,
    pairs: Ints,
    incident: Ints,
    route: Ints,
    *,
    dilution: float = 1.0,
    step_minutes: float = 0.0,
    at_once: Floats | float = 0.0,
) -> SharedDelayFit:
    """The fit, given r, M, incident and route [trip], S [pair], and the two trips of each pair [pair, 2].

    Routes are numbers: those from one station to one area have the same. If the interval is to hold a q that strays
    made smaller, `dilution` says by how much. The clock goes in steps of `step_minutes`, and `at_once` [pair] is the
    chance that both left at the same moment.
    """
    if (shared > 0.0).sum() < LEAST_TRIPS:
        return _unknown_delay(shared)
    apart = _Apart(left, incident, route)
    known = np.isfinite(np.column_stack([apart.mean(*pairs.T), *(apart.mean(own, own) for own in pairs.T)])).all(axis=1)
    pairs, shared, at_once = pairs[known], shared[known], np.broadcast_to(at_once, len(pairs))[known]
    one, other = pairs.T
    product = left[one] * left[other] - apart.mean(one, other) - at_once * step_minutes**2 / 12.0
    trips, together = np.unique(pairs), shared > 0.0
    # The clock adds s²/6 to every r².
    spread = left[trips] ** 2 - apart.mean(trips, trips) - step_minutes**2 / 6.0
    if together.sum() < LEAST_TRIPS or spread.sum() <= 0.0:
        return _unknown_delay(shared)
    weights = 1.0 / (np.maximum(mean[one], FLOOR_MINUTES) * np.maximum(mean[other], FLOOR_MINUTES))
    scale, squares = float(spread.sum() / mean[trips].sum()), float((weights * shared**2).sum())
    value = float((weights * shared * product).sum()) / (scale * squares)
    # What each incident adds, by its pairs and, because the variance is found from the same drives, by its drives.
    by_pair = weights * shared * (product - value * scale * shared)
    by_trip = -value * squares * (spread - scale * mean[trips]) / mean[trips].sum()
    off = cluster_sums(np.append(by_pair, by_trip), np.append(incident[one], incident[trips]))
    half = Z * float(np.sqrt((off**2).sum())) / (scale * squares)
    size = np.sqrt((left[one] ** 2).mean() * (left[other] ** 2).mean())
    low, high = value - half, value + half
    low, high = min(low, dilution * low), max(high, dilution * high)
    return SharedDelayFit(
        value=0.0 if low <= 0.0 and high >= 1.0 else min(1.0, max(0.0, value)),
        low=low,
        high=high,
        num_pairs=int(together.sum()),
        shared_minutes=float(shared[together].mean()),
        correlation=float(product.mean() / size) if size > 0.0 else 0.0,
    )


def _unknown_delay(shared: Floats) -> SharedDelayFit:
    """What too few pairs say."""
    return SharedDelayFit(0.0, 0.0, 1.0, int((shared > 0.0).sum()), 0.0, float("nan"))


class _Apart:
    """Products of residuals over all pairs of trips to different incidents, by the routes of the two."""

    def __init__(self, left: Floats, incident: Ints, route: Ints) -> None:
        _, self.route = np.unique(route, return_inverse=True)
        _, event = np.unique(incident, return_inverse=True)
        self.sums, self.counts = np.bincount(self.route, left), np.bincount(self.route)
        sums, counts = (csr_matrix((values, (self.route, event))) for values in (left, np.ones(len(left))))
        # [route, route] what belongs to one incident.
        self.together, self.num_together = csr_matrix(sums @ sums.T), csr_matrix(counts @ counts.T)

    def mean(self, first: Ints, second: Ints) -> Floats:
        """[pair] the mean product for the routes of two trips; NaN where no two incidents have them."""
        one, other = self.route[first], self.route[second]
        total = self.sums[one] * self.sums[other] - np.asarray(self.together[one, other]).ravel()
        number = self.counts[one] * self.counts[other] - np.asarray(self.num_together[one, other]).ravel()
        found: Floats = np.where(number > 0.5, total / np.maximum(number, 1.0), np.nan)
        return found
