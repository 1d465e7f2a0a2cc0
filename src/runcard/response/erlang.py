"""The lateness of one truck and of two: Erlang tails as sums of positive terms.

Time is in units of the common mean of a link, so that a route of n links takes Y ~ Er(n), the sum of n exponentials of
rate 1; Er(n, r) has rate r. The target is t.

**One truck.**   P(Er(n) > t) = Σ_{i<n} e^(-t) t^i / i!.

**Two trucks** on routes of n1 and n2 links that have s links in common. Each of these is met together with chance q, so
K ~ Bin(s, q) of them are, and with (w0, w1, w2) = (K, n1-K, n2-K) the first truck arrives after

    R = Y0 + min(Y1, Y2),    Y0 ~ Er(w0), Y1 ~ Er(w1), Y2 ~ Er(w2), independent.

*The minimum is a game of coins.* While both trucks drive apart, links end at rate 2, and the next to end is equally
likely to be either truck's. So min(Y1, Y2) ~ Er(M, 2), with M the number of flips of a fair coin until there are w1
heads or w2 tails:

    P(M = m) = c(w1, m) + c(w2, m)  for m < w1 + w2, else 0,    c(w, m) = C(m-1, w-1) 2^(-m).

c(w, m), the chance that the w-th head comes with flip m, is (c(w, m-1) + c(w-1, m-1)) / 2, with c(0, 0) = 1. If that
is the w1-th head and m < w1 + w2, there were fewer than w2 tails; so for each m the two events exclude each other.

*Lateness is a sum over the flips.* With A(a, b) = P(Er(a, 1) + Er(b, 2) > t),

    P(R > t) = Σ_m P(M = m) A(w0, m).

Watch a phase of rate 1 at rate 2: at each event it ends with chance 1/2, else it goes on. So, for a > 0,

    A(a, b) = (A(a-1, b+1) + A(a, b+1)) / 2,    A(0, b) = P(Poisson(2t) < b),    A(a, b) → 1 as b → ∞,

filled from b = B downwards, with A(a, B) = 1 where P(Poisson(2t) >= B) < 1e-20. Averages of positive numbers keep their
relative error and each of the B steps adds at most one rounding, so the error is below B × 1e-16. Nothing cancels,
unlike in the paper's Proposition 1, whose terms alternate (finding 9). Empty parts: for w1 = 0 or w2 = 0 it is
P(R > t) = P(Y0 > t); for w0 = 0 the product of two tails is shorter.

**The last of two** is late with P(Y0+Y1 > t) + P(Y0+Y2 > t) - P(R > t), which is no less than the larger of the tails:
little cancels.

**Mean of the first arrival.** For two independent Erlang times of rates r1 and r2, by the first event,

    E(w1, w2) = (1 + r1 E(w1-1, w2) + r2 E(w1, w2-1)) / (r1 + r2),    E(0, ·) = E(·, 0) = 0,

and E[R] = E[K + E(n1-K, n2-K)] with r1 = r2 = 1. For two equal times E(w, w) = w (1 - C(2w, w) 4^(-w)) / r.

Kernels copy in loops: whole-array expressions compile slowly.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.response.teams import Teams
from runcard.response.travel import Needs, Travel

ERROR = 1e-12
"""Relative, and so absolute for chances: far more than rounding was seen to do with routes of 200 links."""

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class Target(NamedTuple):
    """What depends on the target t, for routes of up to N links."""

    tails: Vector  # [n]: P(Er(n) > t)
    two_rate: Matrix  # [a, b]: A(a, b)


class Sharing(NamedTuple):
    """What does not, for routes of up to N links and one shared delay q."""

    coin: Matrix  # [w, m]: c(w, m)
    first_mean: Matrix  # [w1, w2]: E(w1, w2)
    binomial: Matrix  # [s, k]: P(Bin(s, q) = k)


@njit(cache=True, nogil=True)
def erlang_tails(t: float, max_phases: int) -> Vector:
    """P(Er(n) > t) for n = 0 to max_phases."""
    tails = np.zeros(max_phases + 1)
    if max_phases == 0:
        return tails
    # Poisson weights, tails[i + 1] holding that of i, from the largest outwards so that none is lost to underflow.
    largest = int(min(t, max_phases - 1.0))
    tails[largest + 1] = math.exp(largest * math.log(t) - t - math.lgamma(largest + 1.0))
    for i in range(largest, 0, -1):
        tails[i] = tails[i + 1] * i / t
    for i in range(largest + 1, max_phases):
        tails[i + 1] = tails[i] * t / i
    for n in range(1, max_phases + 1):
        tails[n] = min(tails[n] + tails[n - 1], 1.0)
    return tails


@njit(cache=True, nogil=True)
def two_rate_tails(t: float, max_slow: int, max_fast: int) -> Matrix:
    """A(a, b) for a = 0 to max_slow and b = 0 to max_fast, perhaps more columns."""
    surely_late = int(2.0 * t + 10.0 * math.sqrt(2.0 * t)) + 50  # P(Poisson(2t) >= this) < 1e-20
    last = max(max_fast, surely_late)
    table = np.empty((max_slow + 1, last + 1))
    tails = erlang_tails(2.0 * t, last)
    for b in range(last + 1):
        table[0, b] = tails[b]
    for a in range(1, max_slow + 1):
        table[a, last] = 1.0
        for b in range(last - 1, -1, -1):
            table[a, b] = 0.5 * (table[a - 1, b + 1] + table[a, b + 1])
    return table


@njit(cache=True, nogil=True)
def coin_table(max_heads: int) -> Matrix:
    """C(w, m), the chance that the w-th head comes with flip m, for w <= max_heads and m <= 2 max_heads."""
    table = np.zeros((max_heads + 1, 2 * max_heads + 1))
    table[0, 0] = 1.0
    for w in range(1, max_heads + 1):
        for m in range(w, 2 * max_heads + 1):
            table[w, m] = 0.5 * (table[w, m - 1] + table[w - 1, m - 1])
    return table


@njit(cache=True, nogil=True)
def binomial_table(max_trials: int, q: float) -> Matrix:
    """P(Bin(s, q) = k) for s and k up to max_trials."""
    table = np.zeros((max_trials + 1, max_trials + 1))
    table[0, 0] = 1.0
    for s in range(1, max_trials + 1):
        table[s, 0] = (1.0 - q) * table[s - 1, 0]
        for k in range(1, s + 1):
            table[s, k] = (1.0 - q) * table[s - 1, k] + q * table[s - 1, k - 1]
    return table


@njit(cache=True, nogil=True)
def first_mean_table(max_phases: int) -> Matrix:
    """E(w1, w2), the mean of the smaller of two Erlang times of rate 1, for w1, w2 <= max_phases."""
    table = np.zeros((max_phases + 1, max_phases + 1))
    for w1 in range(1, max_phases + 1):
        for w2 in range(1, max_phases + 1):
            table[w1, w2] = 0.5 * (1.0 + table[w1 - 1, w2] + table[w1, w2 - 1])
    return table


@njit(cache=True, nogil=True)
def first_means(max_phases: int, rate: float, other_phases: int, other_rate: float) -> Vector:
    """The mean of min(Er(n, rate), Er(other_phases, other_rate)) for n = 0 to max_phases."""
    means = np.zeros(max_phases + 1)
    both = rate + other_rate
    for _ in range(other_phases):
        for n in range(1, max_phases + 1):
            means[n] = (1.0 + rate * means[n - 1] + other_rate * means[n]) / both
    return means


@njit(cache=True, nogil=True)
def first_mean_of_equals(phases: int, rate: float) -> float:
    """The mean of the smaller of two Er(phases, rate)."""
    central = 1.0  # C(2w, w) 4^(-w)
    for w in range(1, phases + 1):
        central *= 1.0 - 0.5 / w
    return phases * (1.0 - central) / rate


@njit(cache=True, nogil=True)
def sharing_tables(max_links: int, q: float) -> Sharing:
    """The tables for routes of at most max_links links and shared delay q."""
    return Sharing(coin_table(max_links), first_mean_table(max_links), binomial_table(max_links, q))


@njit(cache=True, nogil=True)
def target_tables(t: float, max_links: int) -> Target:
    """The tables for routes of at most max_links links and a target of t links."""
    tails = erlang_tails(t, max_links)
    if tails[max_links] == 0.0:  # below the smallest number there is; A would take memory and time in proportion to t
        return Target(tails, np.zeros((max_links + 1, 2 * max_links + 1)))
    return Target(tails, two_rate_tails(t, max_links, 2 * max_links))


@njit(cache=True, nogil=True)
def tail_of_parts(target: Target, coin: Matrix, w0: int, w1: int, w2: int) -> float:
    """P(Y0 + min(Y1, Y2) > t)."""
    if w1 == 0 or w2 == 0:
        return float(target.tails[w0])
    if w0 == 0:
        return float(target.tails[w1] * target.tails[w2])
    late, heads, tails = target.two_rate[w0], coin[w1], coin[w2]
    total = 0.0
    for m in range(w1, w1 + w2):
        total += heads[m] * late[m]
    for m in range(w2, w1 + w2):
        total += tails[m] * late[m]
    return min(total, 1.0)


@njit(cache=True, nogil=True)
def pair_late(target: Target, sharing: Sharing, n1: int, n2: int, shared: int) -> float:
    """P(R > t) of two trucks on routes of n1 and n2 links with some in common."""
    late = 0.0
    for k in range(shared + 1):
        chance = sharing.binomial[shared, k]
        if chance > 0.0:
            late += chance * tail_of_parts(target, sharing.coin, k, n1 - k, n2 - k)
    return min(late, 1.0)


@njit(cache=True, nogil=True)
def pair_mean(sharing: Sharing, n1: int, n2: int, shared: int) -> float:
    """E[R] in links of two trucks on routes of n1 and n2 links with some in common."""
    mean = 0.0
    for k in range(shared + 1):
        mean += sharing.binomial[shared, k] * (k + sharing.first_mean[n1 - k, n2 - k])
    return mean


class Trips(NamedTuple):
    """Where trucks come from, for the kernels."""

    num_links: NDArray[np.int32]
    """[I, J]"""
    shared_links: NDArray[np.int32]
    """[I, I, J]"""
    link_minutes: float
    shared_delay: float
    outside_links: int
    outside_minutes: float


@njit(cache=True, nogil=True)
def fill_late(
    teams: NDArray[np.int32], trips: Trips, trucks: NDArray[np.int32], arrivals: NDArray[np.int32],
    target_minutes: Vector, order: NDArray[np.int64], out: Matrix,
) -> None:  # fmt: skip
    """Fill `out` [team, demand point] with P(late); inf where a team is larger than the demand point needs.

    `teams` [team, 2] lists the stations of each team, -1 where there is none; `trucks` [demand point] is how many are
    needed, 1 or 2, those missing from the team coming from outside, and `arrivals` which of them counts; `order` sorts
    the demand points by target.
    """
    max_links = trips.num_links.max()
    sharing = sharing_tables(max_links, trips.shared_delay)
    low = 0
    while low < len(order):  # demand points with the same target share its tables
        minutes = target_minutes[order[low]]
        high = low
        while high < len(order) and target_minutes[order[high]] == minutes:
            high += 1
        target = target_tables(minutes / trips.link_minutes, max_links)
        outside = erlang_tails(minutes / trips.outside_minutes, trips.outside_links)[-1]
        for row in range(teams.shape[0]):
            i1, i2 = teams[row, 0], teams[row, 1]
            for place in range(low, high):
                j = order[place]
                one = target.tails[trips.num_links[i1, j]] if i1 >= 0 else outside
                other = target.tails[trips.num_links[i2, j]] if i2 >= 0 else outside
                if trucks[j] < (i1 >= 0) + (i2 >= 0):
                    out[row, j] = np.inf
                    continue
                if trucks[j] == 1:
                    out[row, j] = one
                    continue
                first = one * other  # trucks from outside are independent
                if i2 >= 0:
                    n1, n2 = trips.num_links[i1, j], trips.num_links[i2, j]
                    first = pair_late(target, sharing, n1, n2, trips.shared_links[i1, i2, j])
                out[row, j] = first if arrivals[j] == 1 else min(one + other - first, 1.0)
        low = high


@njit(cache=True, nogil=True)
def fill_minutes(teams: NDArray[np.int32], trips: Trips, trucks: NDArray[np.int32], out: Matrix) -> None:
    """Fill `out` [team, demand point] with the mean minutes until the first truck, like `fill_late`."""
    max_links, mean = trips.num_links.max(), trips.link_minutes
    sharing = sharing_tables(max_links, trips.shared_delay)
    with_outside = first_means(max_links, 1.0 / mean, trips.outside_links, 1.0 / trips.outside_minutes)
    two_outside = first_mean_of_equals(trips.outside_links, 1.0 / trips.outside_minutes)
    for row in range(teams.shape[0]):
        i1, i2 = teams[row, 0], teams[row, 1]
        for j in range(len(trucks)):
            missing = trucks[j] - (i1 >= 0) - (i2 >= 0)
            if missing < 0:
                out[row, j] = np.inf
            elif i1 < 0:
                out[row, j] = two_outside if missing == 2 else trips.outside_links * trips.outside_minutes
            elif i2 < 0:
                n = trips.num_links[i1, j]
                out[row, j] = with_outside[n] if missing == 1 else n * mean
            else:
                n1, n2 = trips.num_links[i1, j], trips.num_links[i2, j]
                out[row, j] = mean * pair_mean(sharing, n1, n2, trips.shared_links[i1, i2, j])


@dataclass(frozen=True, eq=False)
class Erlang:
    """P(late) and mean minutes of one or two trucks on exponential links of one mean."""

    travel: Travel
    teams: Teams
    needs: Needs
    proven: ClassVar[bool] = True

    def late(self, points: NDArray[np.int64], settled: Callable[[int], None] | None = None) -> tuple[Matrix, float]:
        """P(late) of every team at some demand points, and the stated error."""
        found, needs = np.empty((len(self.teams), len(points))), self.needs
        targets, order = needs.targets[points], np.argsort(needs.targets[points], kind="stable")
        trips, trucks, arrivals = self._trips(points), needs.trucks[points], needs.arrivals[points]
        fill_late(self._stations, trips, trucks, arrivals, targets, order, found)
        if settled is not None:
            settled(len(points))
        return found, ERROR

    def means(self, points: NDArray[np.int64]) -> tuple[Matrix, float]:
        """The mean minutes until the first truck of every team at some demand points, and the stated error."""
        found = np.empty((len(self.teams), len(points)))
        fill_minutes(self._stations, self._trips(points), self.needs.trucks[points], found)
        return found, ERROR * float(np.max(found, where=np.isfinite(found), initial=0.0))

    @property
    def _stations(self) -> NDArray[np.int32]:
        """[team, 2] the stations of every team."""
        stations = self.teams.stations
        return np.pad(stations, ((0, 0), (0, 2 - stations.shape[1])), constant_values=-1)

    def _trips(self, points: NDArray[np.int64]) -> Trips:
        travel, routes = self.travel, self.travel.routes
        every = len(points) == len(routes.row) and bool((np.diff(points) == 1).all())
        return Trips(
            routes.num_links if every else np.ascontiguousarray(routes.num_links[:, points]),
            routes.shared_links if every else np.ascontiguousarray(routes.shared_links[:, :, points]),
            float(routes.roads.minutes[0]),
            travel.laws.chance,
            travel.outside_links,
            travel.outside_minutes,
        )
