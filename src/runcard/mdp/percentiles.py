"""The 90th percentile of the first, the last and other arrivals that standards name, under a policy.

An incident gets team a at demand point j with the long-run share w(a, j). So the chance that its first truck is later
than t is the mean of the measure P(R(a, j) > t), and the same holds for the last. A few such measures around the
percentile are enough. Where it is to be expected is told by the teams that go when every truck is idle; with fewer idle
it is mostly later. If it turns out to lie beyond the times that were looked at, others are.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from runcard.mdp.arrays import Floats
from runcard.mdp.evaluate import MeasureMean
from runcard.mdp.problem import DispatchProblem
from runcard.response.arrivals import BEYOND, Arrivals, p90_of

BELOW, ABOVE = 2, 3
"""How many times there are on either side of what is expected."""

Windows = Mapping[str, range]
"""For each arrival: which of the times of `Arrivals` are looked at."""


def expected_windows(problem: DispatchProblem, arrivals: Arrivals, teams: Sequence[int]) -> Windows:
    """The times around the percentiles of incidents that get these teams [J]; of the first only if none needs two."""
    shares, found = problem.incidents_per_day / problem.total_incidents_per_day, {}
    for which in arrivals.laters if problem.trucks_needed.max() > 1 else ("first",):
        curve = arrivals.laters[which][:, list(teams), arrivals.column] @ shares
        place = int((curve > BEYOND).sum())
        last = len(arrivals.minutes)
        first = min(max(0, place - BELOW), last - 1)
        found[which] = range(first, min(last, place + ABOVE))
    return found


def later_windows(arrivals: Arrivals, windows: Windows, means: Mapping[str, MeasureMean]) -> Windows | None:
    """Other times to look at where a percentile lies beyond those, given the means there; None if none does."""
    last, found = len(arrivals.minutes), {}
    for which, places in windows.items():
        found[which] = places
        lowest, highest = (means[_name(which, place)].mean for place in (places[0], places[-1]))
        if highest > BEYOND and places.stop < last:
            found[which] = range(places.stop - 2, min(last, places.stop + 2 * len(places)))
        elif lowest <= BEYOND and places.start > 0:
            found[which] = range(max(0, places.start - 2 * len(places)), places.start + 2)
    return None if found == windows else found


def window_measures(arrivals: Arrivals, windows: Windows) -> dict[str, Floats]:
    """[T, J] the measures at these times."""
    return {_name(which, place): arrivals.later(which, place) for which, places in windows.items() for place in places}


def percentiles(arrivals: Arrivals, windows: Windows, means: Mapping[str, MeasureMean]) -> dict[str, float]:
    """The 90th percentile of each arrival, given the means of the measures."""
    found = {}
    for which, places in windows.items():
        later = np.array([means[_name(which, place)].mean for place in places])
        found[which] = float(p90_of(arrivals.minutes[list(places)], later))
    found.setdefault("last", found["first"])
    return found


def _name(which: str, place: int) -> str:
    return f"{which} later than time {place}"
