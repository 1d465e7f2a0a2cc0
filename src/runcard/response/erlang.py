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

**Mean of the first arrival.** For two independent Erlang times of rates r1 and r2, by the first event,

    E(w1, w2) = (1 + r1 E(w1-1, w2) + r2 E(w1, w2-1)) / (r1 + r2),    E(0, ·) = E(·, 0) = 0,

and E[R] = E[K + E(n1-K, n2-K)] with r1 = r2 = 1. For two equal times E(w, w) = w (1 - C(2w, w) 4^(-w)) / r.

All kernels that call each other are in this one file, because numba's cache notices a change in the file of the
function that is called, but not in files it calls into. They copy in loops: whole-array expressions compile slowly.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

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


class Alone(NamedTuple):
    """What a team with at most one own truck does, the others coming from outside.

    [k, n]: k trucks are needed (row 0 is unused) and the own one is n links away; n = N + 1 stands for no own truck.
    """

    p_late: Matrix
    mean_minutes: Matrix


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
def pair_response(target: Target, sharing: Sharing, n1: int, n2: int, shared: int) -> tuple[float, float]:
    """P(R > t) and E[R] in links, of two trucks on routes of n1 and n2 links with some in common."""
    late, mean = 0.0, 0.0
    for k in range(shared + 1):
        chance = sharing.binomial[shared, k]
        if chance > 0.0:
            late += chance * tail_of_parts(target, sharing.coin, k, n1 - k, n2 - k)
            mean += chance * (k + sharing.first_mean[n1 - k, n2 - k])
    return min(late, 1.0), mean


@njit(cache=True, nogil=True)
def alone_tables(max_links: int, link_minutes: float, outside_links: int, outside_minutes: float) -> Alone:
    """The means of teams with at most one own truck; `fill_alone_late` adds P(late) for a target."""
    mean = np.zeros((3, max_links + 2))
    first = first_means(max_links, 1.0 / link_minutes, outside_links, 1.0 / outside_minutes)
    for n in range(max_links + 1):
        mean[1, n] = n * link_minutes
        mean[2, n] = first[n]
    mean[1, -1] = outside_links * outside_minutes
    mean[2, -1] = first_mean_of_equals(outside_links, 1.0 / outside_minutes)
    return Alone(np.zeros((3, max_links + 2)), mean)


@njit(cache=True, nogil=True)
def fill_alone_late(tails: Vector, outside_late: float, alone: Alone) -> None:
    """Fill P(late) of teams with at most one own truck: outside trucks are independent, so chances multiply."""
    for n in range(len(tails)):
        alone.p_late[1, n] = tails[n]
        alone.p_late[2, n] = tails[n] * outside_late
    alone.p_late[1, -1] = outside_late
    alone.p_late[2, -1] = outside_late * outside_late


@njit(cache=True, nogil=True)
def fill_response(
    teams: NDArray[np.int32],
    num_links: NDArray[np.int32],
    shared_links: NDArray[np.int32],
    max_links: int,
    trucks: NDArray[np.int32],
    target_minutes: Vector,
    order: NDArray[np.intp],
    shared_delay: float,
    link_minutes: float,
    outside_links: int,
    outside_minutes: float,
    p_late: Matrix,
    mean_minutes: Matrix,
) -> None:
    """Fill p_late and mean_minutes [team, demand point]; inf where a team is larger than the demand point needs.

    A `mean_minutes` without rows is not filled.

    `teams` [team, 2] lists the stations of each team, -1 where there is none; `trucks` [demand point] is how many are
    needed, 1 or 2, those missing from the team coming from outside; `order` sorts the demand points by target.
    """
    sharing = sharing_tables(max_links, shared_delay)
    alone = alone_tables(max_links, link_minutes, outside_links, outside_minutes)
    low = 0
    while low < len(order):  # demand points with the same target share its tables
        minutes = target_minutes[order[low]]
        high = low
        while high < len(order) and target_minutes[order[high]] == minutes:
            high += 1
        target = target_tables(minutes / link_minutes, max_links)
        fill_alone_late(target.tails, erlang_tails(minutes / outside_minutes, outside_links)[-1], alone)
        for row in range(teams.shape[0]):
            i1, i2 = teams[row, 0], teams[row, 1]
            for place in range(low, high):
                j = order[place]
                k = trucks[j]
                if (i1 >= 0) + (i2 >= 0) > k:
                    late, mean = np.inf, np.inf
                elif i2 < 0:
                    n = num_links[i1, j] if i1 >= 0 else max_links + 1
                    late, mean = alone.p_late[k, n], alone.mean_minutes[k, n]
                else:
                    n1, n2, shared = num_links[i1, j], num_links[i2, j], shared_links[i1, i2, j]
                    late, mean = pair_response(target, sharing, n1, n2, shared)
                    mean *= link_minutes
                p_late[row, j] = late
                if len(mean_minutes):
                    mean_minutes[row, j] = mean
        low = high
