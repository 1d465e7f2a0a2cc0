"""Who is told what long work is doing, and how far it is."""

from runcard.city.model import City
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.outputs.words import counted


class Steps:
    """Is told what long work is doing; this one tells nobody."""

    def begin(self, words: str) -> None:
        """A step begins, which these words name."""

    def part(self, part: float) -> None:
        """So much of the step is done, from 0 to 1."""


NO_STEPS = Steps()


def city_problem(city: City, *, minutes: bool = True, steps: Steps = NO_STEPS) -> DispatchProblem:
    """The dispatch problem of a city; its driving times are a step that can take long."""
    steps.begin(f"driving times to {counted(len(city.demand), 'demand point')}")
    return dispatch_problem(city, minutes=minutes, progress=steps.part)
