"""How often each standard is missed, as measures of a problem.

The measure of a standard is the chance that a team misses it, at the demand points of its type, and 0 elsewhere. It is
divided by the share of incidents that are of the type, so that its mean over all incidents is the part of the incidents
of that type that miss the standard. That mean is an average of chances, so it is off by no more than they are. The mean
minutes of the arrival that a standard is about are found in the same way.
"""

from typing import NamedTuple

import numpy as np

from runcard.city.model import City, Standard
from runcard.city.parts import FIRST
from runcard.mdp.arrays import Flags, Floats
from runcard.mdp.problem import MINUTES, P_LATE, DispatchProblem, standard_measure


class StandardTables(NamedTuple):
    """[T, J] the measures of a standard; None if its type has no incidents."""

    missed: Floats | None
    minutes: Floats | None
    """The time of the arrival that it is about; None if that is not known."""


class Rule(NamedTuple):
    """A standard, the chance [T, J] that a team misses it, and [J] the demand points that it is about.

    `minutes` [T, J] are those of the arrival that it is about, if they are known.
    """

    standard: Standard
    table: Floats
    here: Flags
    minutes: Floats | None


def rules_of(city: City, problem: DispatchProblem) -> list[Rule]:
    """The standards of a city of one kind; in a plain one those that say the same of several types are one."""
    first = {standard.rule: standard for standard in reversed(city.standards)}
    alike = {standard: first[standard.rule] if city.plain else standard for standard in city.standards}
    together, found = [[alike[standard] for standard in city.standards_of(point)] for point in city.demand], []
    for standard in dict.fromkeys(alike.values()):
        here = np.array([standard in standards for standards in together])
        place = together[int(here.argmax())].index(standard) if here.any() else 0
        minutes = problem.measures.get(MINUTES if standard.arrival == FIRST else standard.arrival)
        found.append(Rule(standard, problem.missed(place), here, minutes))
    return found


def standard_tables(city: City, problem: DispatchProblem) -> dict[Standard, StandardTables]:
    """The measures of each standard of a city of one kind; none where a plain city has one: the late fraction is it."""
    found: dict[Standard, StandardTables] = {}
    rules = rules_of(city, problem)
    for standard, missed, here, minutes in rules if len(rules) > 1 or not city.plain else ():
        share = float(problem.incidents_per_day[here].sum() / problem.total_incidents_per_day)
        found[standard] = StandardTables(_scaled(missed, here, share), _scaled(minutes, here, share))
    return found


def _scaled(table: Floats | None, here: Flags, share: float) -> Floats | None:
    """A measure of some demand points, whose mean over all incidents is that over theirs; None if they have none."""
    if table is None or share == 0.0:
        return None
    return table if share == 1.0 else np.where(here, table, 0.0) / share


def error_of_standards(problem: DispatchProblem) -> float:
    """How far the chance to miss a standard may be off, the same for all of them."""
    name = standard_measure(0) if standard_measure(0) in problem.measures else P_LATE
    return problem.measure_errors.get(name, 0.0)
