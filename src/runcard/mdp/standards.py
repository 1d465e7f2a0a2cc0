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
        minutes = problem.measures.get(_arrival(standard))
        found[standard] = StandardTables(_scaled(missed, here, float(share)), _scaled(minutes, here, float(share)))
    return found


def rule_tables(city: City, problem: DispatchProblem) -> dict[Standard, StandardTables]:
    """The same for a city of one kind without standards: of each rule by which its incidents are in time, if several.

    A rule is the standard of the first demand point that has it (see `City.rule_of`).
    """
    rules = np.array([city.rule_of(point) for point in city.demand])
    first = {city.rule_of(point): city.standards_of(point)[0] for point in reversed(city.demand)}
    if city.standards or len(first) == 1:
        return {}
    found = {}
    for rule in dict.fromkeys(rules.tolist()):
        here = rules == rule
        share = float(problem.incidents_per_day[here].sum() / problem.total_incidents_per_day)
        minutes = problem.measures.get(_arrival(first[rule]))
        found[first[rule]] = StandardTables(
            _scaled(problem.measures[P_LATE], here, share), _scaled(minutes, here, share)
        )
    return found


def _arrival(standard: Standard) -> str:
    """The measure with the minutes of the arrival that a standard is about; "" if there is none."""
    last = standard.arrivals == standard.trucks
    return MINUTES if standard.arrivals == 1 else LAST_MINUTES if last else ""


def _scaled(table: NDArray[np.float64] | None, here: NDArray[np.bool_], share: float) -> NDArray[np.float64] | None:
    """A measure of some demand points, whose mean over all incidents is that over theirs; None if they have none."""
    if table is None or share == 0.0:
        return None
    return table if share == 1.0 else np.where(here, table, 0.0) / share


def standard_error(problem: DispatchProblem) -> float:
    """How far the chance to miss a standard may be off, the same for all of them."""
    name = standard_measure(0) if standard_measure(0) in problem.measures else P_LATE
    return problem.measure_errors.get(name, 0.0)
