"""How often each standard is missed, as measures of a problem.

The measure of a standard is the chance that a team misses it, at the demand points of its type, and 0 elsewhere. It is
divided by the share of incidents that are of the type, so that its mean over all incidents is the part of the incidents
of that type that miss the standard. That mean is an average of chances, so it is off by no more than they are.
"""

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City, Standard
from runcard.mdp.problem import P_LATE, DispatchProblem, standard_measure


def standard_tables(city: City, problem: DispatchProblem) -> dict[Standard, NDArray[np.float64] | None]:
    """[T, J] the measure of each standard of a city of one kind; None if its type has no incidents."""
    types = np.array([point.type for point in city.demand])
    number = dict.fromkeys(types.tolist(), 0)
    found: dict[Standard, NDArray[np.float64] | None] = {}
    for standard in city.standards:
        here = types == standard.type
        share = problem.incidents_per_day[here].sum() / problem.total_incidents_per_day
        missed = problem.measures.get(standard_measure(number[standard.type]), problem.measures[P_LATE])
        number[standard.type] += 1
        if share == 0.0:
            found[standard] = None
        elif share == 1.0:
            found[standard] = missed
        else:
            found[standard] = np.where(here, missed, 0.0) / share
    return found


def standard_error(problem: DispatchProblem) -> float:
    """How far the chance to miss a standard may be off, the same for all of them."""
    name = standard_measure(0) if standard_measure(0) in problem.measures else P_LATE
    return problem.measure_errors.get(name, 0.0)
