"""Tests of the lateness mathematics against high precision, the paper's own formula and closed forms."""

from functools import cache
from math import comb

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runcard.response import erlang

Parts = tuple[int, int, int]

# Parts (w0, w1, w2) and targets t with routes of up to 200 links, probabilities from 1 down to 1e-280.
CASES = [
    (1, 1, 1, 1.0),
    (3, 5, 7, 4.5),
    (1, 199, 199, 150.0),
    (199, 1, 1, 180.0),
    (100, 100, 100, 130.0),
    (50, 150, 150, 260.0),
    (150, 50, 3, 200.0),
    (20, 3, 180, 90.0),
    (10, 20, 30, 150.0),
    (60, 140, 100, 300.0),
    (5, 5, 5, 250.0),
    (2, 198, 198, 420.0),
    (1, 1, 1, 640.0),
    (40, 10, 20, 700.0),
    (3, 2, 2, 0.001),
    (100, 100, 100, 1e-6),
]


@pytest.fixture(autouse=True)
def fifty_digits() -> None:
    """Set the precision of the reference for every test."""
    mp.mp.dps = 50


def tail(n: int, t: mp.mpf) -> mp.mpf:
    """Return P(Er(n) > t) in high precision."""
    return mp.gammainc(n, t, regularized=True) if n else mp.mpf(0)


def reference(w0: int, w1: int, w2: int, t: float) -> mp.mpf:
    """Return P(Y0 + min(Y1, Y2) > t) by conditioning on Y0 and integrating term by term (finding 9 of the design)."""
    time = mp.mpf(t)
    if not w1 or not w2:
        return tail(w0, time)
    if not w0:
        return tail(w1, time) * tail(w2, time)
    total = tail(w0, time)
    for i in range(w1 + w2 - 1):
        pairs = mp.fsum(comb(i, n) for n in range(max(0, i - w2 + 1), min(w1, i + 1))) / mp.factorial(i)
        integral = time ** (w0 + i) * mp.beta(w0, i + 1) * mp.hyp1f1(w0, w0 + i + 1, time) / mp.factorial(w0 - 1)
        total += pairs * mp.exp(-2 * time) * integral
    return total


def tail_of_parts(w0: int, w1: int, w2: int, t: float) -> float:
    """Return the program's P(Y0 + min(Y1, Y2) > t)."""
    size = max(w0, w1, w2)
    return erlang.tail_of_parts(erlang.target_tables(t, size), erlang.coin_table(size), w0, w1, w2)


def proposition_one(w0: int, w1: int, w2: int, t: float, digits: int) -> mp.mpf:
    """Return the paper's Proposition 1 exactly as printed, with so many digits; 16 is what double precision has."""
    with mp.workdps(digits):
        time = mp.mpf(t)

        @cache
        def integral(power: int) -> mp.mpf:  # of y^power e^y from 0 to t
            return time ** (power + 1) / (power + 1) * mp.hyp1f1(power + 1, power + 2, time)

        total = mp.fsum(time**n / mp.factorial(n) * mp.exp(-time) for n in range(w0))
        for n in range(w1):
            for m in range(w2):
                for power in range(n + m + 1):
                    factor = mp.exp(-2 * time) * time**power * (-1) ** (n + m - power) * comb(n + m, power)
                    factor /= mp.factorial(n) * mp.factorial(m) * mp.factorial(w0 - 1)
                    total += factor * integral(n + m - power + w0 - 1)
        return total


def relative_error(value: float, exact: mp.mpf) -> float:
    """Return |value - exact| / exact."""
    return float(abs(mp.mpf(value) - exact) / exact)


@pytest.mark.parametrize("t", [1e-8, 0.3, 5.0, 37.5, 200.0, 600.0])
def test_erlang_tails(t: float) -> None:
    """P(Er(n) > t) agrees with the regularised gamma function to 1e-12 for up to 200 links."""
    tails = erlang.erlang_tails(t, 200)
    assert tails[0] == 0.0
    assert max(relative_error(tails[n], tail(n, mp.mpf(t))) for n in range(1, 201)) < 1e-12


@pytest.mark.parametrize(("w0", "w1", "w2", "t"), CASES)
def test_parts_in_high_precision(w0: int, w1: int, w2: int, t: float) -> None:
    """P(late) of two trucks has a relative error below 1e-11 for routes up to 200 links, however small it is."""
    assert relative_error(tail_of_parts(w0, w1, w2, t), reference(w0, w1, w2, t)) < 1e-11


@settings(max_examples=25, deadline=None)
@given(
    w0=st.integers(0, 40), w1=st.integers(0, 40), w2=st.integers(0, 40), t=st.floats(0.01, 100.0, allow_subnormal=False)
)
def test_any_parts_in_high_precision(w0: int, w1: int, w2: int, t: float) -> None:
    """P(late) of two trucks has a relative error below 1e-11 for any parts, empty ones included."""
    exact = reference(w0, w1, w2, t)
    assert abs(mp.mpf(tail_of_parts(w0, w1, w2, t)) - exact) <= 1e-11 * exact


@pytest.mark.parametrize("parts", [(1, 1, 1), (2, 3, 1), (4, 2, 5), (3, 6, 6), (12, 9, 7)])
@pytest.mark.parametrize("t", [0.5, 6.0, 20.0])
def test_proposition_one(parts: Parts, t: float) -> None:
    """With enough digits Proposition 1 as the paper prints it is the same number."""
    assert relative_error(tail_of_parts(*parts, t), proposition_one(*parts, t, 60)) < 1e-12


def test_proposition_one_cancels() -> None:
    """In double precision Proposition 1 as printed is right for short routes and nonsense for routes of 30 links.

    This is finding 9: its terms alternate and grow far beyond their sum. Ours stays right on the same parts.
    """
    short, long = (1, 2, 2), (10, 20, 20)
    assert relative_error(float(proposition_one(*short, 3.0, 16)), reference(*short, 3.0)) < 1e-10
    assert relative_error(float(proposition_one(*long, 24.0, 16)), reference(*long, 24.0)) > 1.0
    assert relative_error(tail_of_parts(*long, 24.0), reference(*long, 24.0)) < 1e-13


def test_empty_parts() -> None:
    """A route inside the other decides alone; with nothing shared tails multiply; a truck on the spot is on time."""
    tails = erlang.erlang_tails(3.0, 8)
    assert tail_of_parts(4, 0, 3, 3.0) == tail_of_parts(4, 3, 0, 3.0) == tail_of_parts(4, 0, 0, 3.0) == tails[4]
    assert tail_of_parts(0, 5, 3, 3.0) == tails[5] * tails[3]
    assert tail_of_parts(0, 0, 8, 3.0) == 0.0


def test_target_beyond_all_numbers() -> None:
    """A target that no truck can miss by any number a computer holds costs no memory and gives zero."""
    assert tail_of_parts(20, 30, 30, 1e9) == tail_of_parts(20, 30, 30, 1e300) == 0.0


def test_coin_game_ends() -> None:
    """The chances of the number of flips, P(M = m), add up to one for any parts."""
    coin = erlang.coin_table(60)
    for w1, w2 in [(1, 1), (1, 60), (60, 60), (17, 5)]:
        assert coin[w1, w1 : w1 + w2].sum() + coin[w2, w2 : w1 + w2].sum() == pytest.approx(1.0, abs=1e-14)


def test_routes_beyond_the_smallest_power_of_two() -> None:
    """Routes of 1,500 links, where 2^-1500 is below the smallest number, still agree with simulated times."""
    sharing = erlang.sharing_tables(1500, 1.0)
    late = erlang.pair_late(erlang.target_tables(1480.0, 1500), sharing, 1500, 1500, 750)
    mean = erlang.pair_mean(sharing, 1500, 1500, 750)
    rng = np.random.default_rng(4)
    apart = rng.gamma(750.0, size=(2, 200_000))
    times = rng.gamma(750.0, size=200_000) + apart.min(axis=0)
    assert late == pytest.approx((times > 1480.0).mean(), abs=4 * (times > 1480.0).std() / np.sqrt(200_000))
    assert mean == pytest.approx(times.mean(), abs=4 * times.std() / np.sqrt(200_000))


@pytest.mark.parametrize(("w1", "w2", "rate", "other"), [(1, 1, 1.0, 1.0), (3, 8, 0.5, 2.0), (40, 25, 1.0, 0.7)])
def test_mean_of_first(w1: int, w2: int, rate: float, other: float) -> None:
    """The mean of the smaller of two Erlang times is Σ C(n+m, n) p^n (1-p)^m / (r1 + r2) over n < w1, m < w2."""
    p = rate / (rate + other)
    exact = sum(comb(n + m, n) * p**n * (1 - p) ** m for n in range(w1) for m in range(w2)) / (rate + other)
    assert erlang.first_means(w1, rate, w2, other)[w1] == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("phases", [0, 1, 2, 30, 200])
def test_mean_of_first_of_equals(phases: int) -> None:
    """The closed form for two equal Erlang times agrees with the recursion for any two."""
    table = erlang.first_mean_table(phases)
    assert erlang.first_mean_of_equals(phases, 4.0) == pytest.approx(table[phases, phases] / 4.0, rel=1e-13)


def test_mean_is_the_integral_of_lateness() -> None:
    """E[R] is the integral of P(R > t) over t, for a shared delay between 0 and 1."""
    sharing = erlang.sharing_tables(12, 0.3)
    times, weights = np.polynomial.legendre.leggauss(200)
    lateness = [erlang.pair_late(erlang.target_tables(30 * (x + 1), 12), sharing, 12, 9, 5) for x in times]
    mean = erlang.pair_mean(sharing, 12, 9, 5)
    assert mean == pytest.approx(30 * float(weights @ lateness), rel=1e-12)


@settings(deadline=None)
@given(data=st.data(), n1=st.integers(0, 30), n2=st.integers(0, 30), t=st.floats(0.1, 60.0))
def test_rises_with_shared_delay(data: st.DataObject, n1: int, n2: int, t: float) -> None:
    """P(late) and the mean rise with the shared delay q, P(late) is a probability, and the second truck never hurts."""
    shared = data.draw(st.integers(0, min(n1, n2)))
    low, high = sorted(data.draw(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0))))
    target = erlang.target_tables(t, 30)
    few, many = erlang.sharing_tables(30, low), erlang.sharing_tables(30, high)
    late_low, late_high = (erlang.pair_late(target, one, n1, n2, shared) for one in (few, many))
    mean_low, mean_high = (erlang.pair_mean(one, n1, n2, shared) for one in (few, many))
    assert 0.0 <= late_low <= late_high * (1 + 1e-13) <= 1.0 + 1e-13
    assert late_high <= min(target.tails[n1], target.tails[n2]) * (1 + 1e-12)
    assert mean_low <= mean_high * (1 + 1e-13)
    assert mean_high <= min(n1, n2) * (1 + 1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "n1", "n2", "shared", "t"),
    [(0.25, 60, 50, 12, 150.0), (0.5, 60, 50, 12, 150.0), (0.9, 60, 50, 12, 150.0), (0.5, 200, 180, 12, 420.0)],
)
def test_long_mixture_in_high_precision(q: float, n1: int, n2: int, shared: int, t: float) -> None:
    """With 0 < q < 1 and long routes, up to 200 links, the binomial mixture keeps an error below 1e-11."""
    late = erlang.pair_late(erlang.target_tables(t, n1), erlang.sharing_tables(n1, q), n1, n2, shared)
    chances = [comb(shared, k) * mp.mpf(q) ** k * (1 - mp.mpf(q)) ** (shared - k) for k in range(shared + 1)]
    exact = mp.fsum(chance * reference(k, n1 - k, n2 - k, t) for k, chance in enumerate(chances))
    assert exact < 1e-20
    assert relative_error(late, exact) < 1e-11
