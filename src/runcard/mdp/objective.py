"""The objective of a problem: what its costs count, and so what every solver makes smallest.

    late            cost = P(late)                       g / Λ is the late fraction
    minutes         cost = mean minutes                  g / Λ is the mean response time
    late+minutes    cost = P(late) + weight × minutes    g / Λ is the sum of the late fraction and the weighted mean

Nothing else of a problem changes. With w the weight, a policy that is optimal for late+minutes touches the line
late + w minutes = g / Λ from above, and every policy lies above that line. So as w grows, the optimum has never more
minutes and never fewer late incidents, and the points of all w lie on one convex curve.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from runcard.city.check import objective_faults
from runcard.city.model import Objective
from runcard.errors import InputError
from runcard.mdp.problem import DispatchProblem


def cost_of(
    objective: Objective, p_late: NDArray[np.float64], minutes: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """[T, J] the cost of each team, +inf where P(late) is."""
    if objective.minimise == "late":
        return p_late
    if minutes is None:
        raise InputError(
            f"expected the mean response minutes of every team, which minimising {objective.minimise} needs"
        )
    counted = minutes if objective.weight is None else p_late + objective.weight * minutes
    return np.where(np.isfinite(p_late), counted, np.inf)


def with_objective(problem: DispatchProblem, objective: Objective) -> DispatchProblem:
    """The same problem with costs that count what another objective does."""
    faults = objective_faults(objective)
    if faults:
        raise InputError(f"Objective: {'; '.join(faults)}")
    if objective == problem.objective:
        return problem
    cost = cost_of(objective, problem.p_late, problem.response_minutes)
    late = None if objective.minimise == "late" else problem.p_late
    return replace(problem, cost=cost, late=late, objective=objective)
