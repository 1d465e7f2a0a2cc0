"""How often each standard is missed, as measures of a problem.

The measure of a standard is the chance that a team misses it, at the demand points of its type, and 0 elsewhere. It is
divided by the share of incidents that are of the type, so that its mean over all incidents is the part of the incidents
of that type that miss the standard. That mean is an average of chances, so it is off by no more than they are. The mean
minutes of the arrival that a standard is about are found in the same way.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City, Standard
from runcard.mdp.problem import LAST_MINUTES, MINUTES, P_LATE, DispatchProblem, standard_measure


class StandardTables(NamedTuple):
    """[T, J] the measures of a standard; None if its type has no incidents."""

    missed: NDArray[np.float64] | None
    minutes: NDArray[np.float64] | None
    """The time of the arrival that it is about; None if that is neither the first nor the last, or not known."""


def standard_tables(city: City, problem: DispatchProblem) -> dict[Standard, StandardTables]:
    """The measures of each standard of a city of one kind."""
    types = np.array([point.type for point in city.demand])
    number = dict.fromkeys(types.tolist(), 0)
    found: dict[Standard, StandardTables] = {}
    for standard in city.standards:
        here = types == standard.type
        share = problem.incidents_per_day[here].sum() / problem.total_incidents_per_day
        missed = problem.missed(number[standard.type])
        number[standard.type] += 1
        last = standard.arrivals == standard.trucks
        name = MINUTES if standard.arrivals == 1 else LAST_MINUTES if last else ""
        found[standard] = StandardTables(
            _scaled(missed, here, float(share)), _scaled(problem.measures.get(name), here, float(share))
        )
    return found


def _scaled(table: NDArray[np.float64] | None, here: NDArray[np.bool_], share: float) -> NDArray[np.float64] | None:
    """A measure of some demand points, whose mean over all incidents is that over theirs; None if they have none."""
    if table is None or share == 0.0:
        return None
    return table if share == 1.0 else np.where(here, table, 0.0) / share


def standard_error(problem: DispatchProblem) -> float:
    """How far the chance to miss a standard may be off, the same for all of them."""
    name = standard_measure(0) if standard_measure(0) in problem.measures else P_LATE
    return problem.measure_errors.get(name, 0.0)
