"""The 90th percentile of the first and of the last arrival under a policy.

An incident gets team a at demand point j with the long-run share w(a, j). So the chance that its first truck is later
than t is the mean of the measure P(R(a, j) > t), and the same holds for the last. A few such measures around the
percentile are enough. Where it is to be expected is told by the teams that go when every truck is idle; with fewer idle
it is later, so that most of the times are beyond that.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.evaluate import Evaluation
from runcard.mdp.problem import DispatchProblem
from runcard.response.arrivals import p90_of

ARRIVALS: Final = ("first", "last")
LATE: Final = 0.1
BELOW, ABOVE = 2, 5
"""How many times there are on either side of what is expected."""

Windows = Mapping[str, range]
"""For the first and the last truck: which of the times of `Arrivals` are looked at."""


def expected_windows(problem: DispatchProblem, teams: Sequence[int]) -> Windows:
    """The times around the percentiles of incidents that get these teams [J]."""
    arrivals, points = problem.arrivals, np.arange(problem.num_points)
    assert arrivals is not None
    shares, found = problem.incidents_per_day / problem.total_incidents_per_day, {}
    for which, later in zip(ARRIVALS, (arrivals.first_later, arrivals.last_later), strict=True):
        curve = later[:, list(teams), points] @ shares
        place = int((curve > LATE).sum())
        last = len(arrivals.minutes)
        first = min(max(0, place - BELOW), last - 1)
        found[which] = range(first, min(last, place + ABOVE))
    return found


def later_windows(problem: DispatchProblem, windows: Windows, evaluation: Evaluation) -> Windows | None:
    """Other times to look at where a percentile lies beyond those; None if none does."""
    assert problem.arrivals is not None
    last, found = len(problem.arrivals.minutes), {}
    for which, places in windows.items():
        found[which] = places
        if evaluation.measures[_name(which, places[-1])].mean > LATE and places.stop < last:
            found[which] = range(places.stop - 2, min(last, places.stop + 2 * len(places)))
    return None if found == windows else found


def window_measures(problem: DispatchProblem, windows: Windows) -> dict[str, NDArray[np.float64]]:
    """[T, J] the measures at these times."""
    arrivals = problem.arrivals
    assert arrivals is not None
    tables = {"first": arrivals.first_later, "last": arrivals.last_later}
    return {
        _name(which, place): tables[which][place].astype(np.float64)
        for which, places in windows.items()
        for place in places
    }


def percentiles(problem: DispatchProblem, windows: Windows, evaluation: Evaluation) -> dict[str, float]:
    """The 90th percentile of the first and of the last arrival, given the means of the measures."""
    assert problem.arrivals is not None
    found = {}
    for which, places in windows.items():
        later = np.array([evaluation.measures[_name(which, place)].mean for place in places])
        found[which] = float(p90_of(problem.arrivals.minutes[list(places)], later))
    return found


def named(windows: Windows) -> set[str]:
    """The names of the measures at these times."""
    return {_name(which, place) for which, places in windows.items() for place in places}


def _name(which: str, place: int) -> str:
    return f"{which} later than time {place}"
