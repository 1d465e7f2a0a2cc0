"""The objective of a problem: what its costs count, and so what every solver makes smallest.

    late            cost = P(late)                       g / Λ is the late fraction
    minutes         cost = mean minutes                  g / Λ is the mean response time
    late+minutes    cost = P(late) + weight × minutes    g / Λ is the sum of the late fraction and the weighted mean

Nothing else of a problem changes. With w the weight, a policy that is optimal for late+minutes touches the line
late + w minutes = g / Λ from above, and every policy lies above that line. So as w grows, the optimum has never more
minutes and never fewer late incidents, and the points of all w lie on one convex curve.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from runcard.city.check import objective_faults
from runcard.city.model import Objective
from runcard.errors import InputError
from runcard.mdp.arrays import Floats
from runcard.mdp.problem import MINUTES, P_LATE, DispatchProblem


def cost_of(objective: Objective, measures: Mapping[str, Floats]) -> Floats:
    """[T, J] the cost of each team by its measures, +inf where P(late) is."""
    p_late = measures[P_LATE]
    if objective.minimise == "late":
        return p_late
    if MINUTES not in measures:
        raise InputError(
            f"expected the mean response minutes of every team, which minimising {objective.minimise} needs"
        )
    minutes = measures[MINUTES]
    counted = minutes if objective.weight is None else p_late + objective.weight * minutes
    return np.where(np.isfinite(p_late), counted, np.inf)


def error_of(objective: Objective, errors: Mapping[str, float]) -> float:
    """How far the cost of a team may be off, by the errors of its measures."""
    late, minutes = errors.get(P_LATE, 0.0), errors.get(MINUTES, 0.0)
    if objective.minimise == "late":
        return late
    return minutes if objective.weight is None else late + objective.weight * minutes


def with_objective(problem: DispatchProblem, objective: Objective) -> DispatchProblem:
    """The same problem with costs that count what another objective does."""
    faults = objective_faults(objective)
    if faults:
        raise InputError(f"Objective: {'; '.join(faults)}")
    if objective == problem.objective:
        return problem
    cost, error = cost_of(objective, problem.measures), error_of(objective, problem.measure_errors)
    changed = replace(problem, cost=cost, cost_error=error, objective=objective)
    return changed if problem.find_source is None else changed.made_from(problem.find_source)
