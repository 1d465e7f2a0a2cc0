"""The rates at which trucks are asked, given the chance that each of them is busy.

An incident walks along the order of its demand point until it has found k idle trucks. The walk stops where the chance
that it goes on is at most `walks.stop`. Trucks from outside are the last in every order, and are never busy.
"""

from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats


# Nearly all time of a search is spent here; "contract" makes one operation of a product and a sum.
@njit(nogil=True, cache=True, fastmath={"contract"})
def exact_rates(walks: Any, busy: Floats, asked: Floats) -> None:
    """Set asked[n] to the rate at which fewer than k of the trucks before n are idle."""
    truck, needed, rate = walks.truck, walks.needed, walks.rate
    asked[:] = 0.0
    for j in range(len(needed)):
        k, least = needed[j], walks.stop * rate[j]
        # The rates at which one, two, three or four trucks are missing: a loop over an array takes twice the time.
        one = rate[j] if k == 1 else 0.0
        two = rate[j] if k == 2 else 0.0
        three = rate[j] if k == 3 else 0.0
        four = rate[j] if k == 4 else 0.0
        for place in range(truck.shape[1]):
            goes_on = one + two + three + four
            if goes_on <= least:
                break
            n = truck[j, place]
            p, q = busy[n], 1.0 - busy[n]
            asked[n] += goes_on
            one = one * p + two * q
            two = two * p + three * q
            if k > 2:
                three = three * p + four * q
                four *= p


@njit(nogil=True, cache=True)
def printed_rates(walks: Any, busy: Floats, asked: Floats) -> None:
    """Set asked[n] to the rate as the paper prints it.

    An incident counts for every team if all other trucks before its last one are busy, whether or not its own are idle.
    missing[m] is the sum of these chances over the sets of trucks so far that lack m + 1 trucks.
    """
    missing, without = np.empty(np.max(walks.needed)), np.empty(np.max(walks.needed))
    asked[:] = 0.0
    for j in range(len(walks.needed)):
        k, rate, truck, num = walks.needed[j], walks.rate[j], walks.truck[j], 0
        lacking = missing[:k]
        lacking[:] = 0.0
        lacking[-1] = 1.0
        while num < len(truck) and lacking.sum() > walks.stop:  # truck[num] is the last one of its team
            asked[truck[num]] += rate * lacking[0]
            _pass(busy[truck[num]], lacking)
            num += 1
        if k == 1:
            continue
        lacking, others = missing[: k - 1], without[: k - 1]
        lacking[:] = 0.0
        lacking[-1] = 1.0
        for place in range(num):  # truck[place] belongs to the team, and another one is the last
            others[:] = lacking
            for last in range(place + 1, num):
                asked[truck[place]] += rate * others[0]
                _pass(busy[truck[last]], others)
            _pass(busy[truck[place]], lacking)


@njit(nogil=True, cache=True)
def _pass(p: float, lacking: Floats) -> None:
    """Pass a truck of busy chance p: it joins a set, or it does not and is busy."""
    for m in range(len(lacking) - 1):
        lacking[m] = lacking[m] * p + lacking[m + 1]
    lacking[-1] *= p
