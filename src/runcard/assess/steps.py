"""Who is told what long work is doing, and how far it is."""

from math import comb
from typing import Final

from runcard.city.model import City
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.plan.words import counted


class Steps:
    """Is told what long work is doing; this one tells nobody."""

    def begin(self, words: str) -> None:
        """A step begins, which these words name."""

    def part(self, part: float) -> None:
        """So much of the step is done, from 0 to 1."""


NO_STEPS = Steps()


class NamedSteps(Steps):
    """Steps of a part of the work, such as one kind or one period, whose name stands before them."""

    def __init__(self, steps: Steps, name: str) -> None:
        self._steps, self._name = steps, name

    def begin(self, words: str) -> None:
        """A step of this part begins."""
        self._steps.begin(f"{self._name}: {words}")

    def part(self, part: float) -> None:
        """So much of the step is done."""
        self._steps.part(part)


MOST_ARRIVALS: Final = 2 * 10**6
"""Teams times demand points that differ: the chances of when each arrives then take some 200 MB."""


def city_problem(
    city: City, *, minutes: bool = True, arrivals: bool = False, steps: Steps = NO_STEPS
) -> DispatchProblem:
    """The dispatch problem of a city of one kind; its driving times are a step that can take long.

    Its `arrivals`, if they are wanted, are left out where there are too many.
    """
    steps.begin(f"driving times to {counted(len(city.demand), 'demand point')}")
    most = max(city.trucks_for(point) for point in city.demand)
    distinct = len({(point.node_id, city.trucks_for(point)) for point in city.demand})
    entries = comb(len(city.stations) + most, most) * distinct
    return dispatch_problem(city, minutes=minutes, arrivals=arrivals and entries <= MOST_ARRIVALS, progress=steps.part)
