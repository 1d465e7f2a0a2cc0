"""The optimal policy by policy iteration, with bounds on g that are proven at every step.

Each step takes the policy that is greedy for the current values h, by `kernels/value_rows.py`, which also gives the
residuals of the Bellman equation and so (see `bounds.py`)

    lower = Σ_n P(n) min_{|f|=n} residual(f)  <=  g*  <=  g of the greedy policy  <=  Σ_n P(n) max_{|f|=n} residual(f).

It stops when upper - lower <= tolerance × upper. Otherwise a few sweeps and an extrapolation move h most of the way to
the values of that policy; solving for them exactly takes many more sweeps and saves no step. A step that is likely the
last, by how fast the bounds closed before, looks at the residuals only. While the bounds are far apart, coarse numbers
choose the teams, where a backend has them; their rounding is part of the bounds, too.

Who only wants to know whether the optimum is below a limit says so: the lower bound holds at every step, so that a
solve can give up as soon as it is above the limit.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from runcard.errors import InputError
from runcard.mdp.arrays import Floats
from runcard.mdp.backend import backend_for
from runcard.mdp.bounds import stalled
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The optimal policy as its values h [states + padding], and proven bounds on its mean cost of an incident.

    Both the optimum and the mean cost of the policy that is greedy for `value` lie in [lower, upper], whatever the true
    costs are that the problem allows for. `converged` says that the bounds for the costs as they are met the tolerance.
    """

    value: Floats
    lower: float
    upper: float
    tolerance: float
    converged: bool
    improvements: int
    sweeps: int
    seconds: float


def solve_optimal(
    problem: DispatchProblem,
    *,
    tolerance: float = 1e-9,
    max_improvements: int = 200,
    give_up_above: float = inf,
    threads: int | None = None,
    device: str = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> Solution:
    """The optimal policy of a problem; not even nearly, if its mean cost is proven to be above `give_up_above`."""
    if max_improvements < 1:
        raise InputError(f"expected max_improvements >= 1, got {max_improvements}")
    began = time.perf_counter()
    backend = backend_for(problem, threads, device)
    total, num_sweeps = problem.total_incidents_per_day, backend.sweeps_per_cycle
    value = backend.start()
    coarse, sweeps, gaps, wanted_gap = backend.has_coarse, 0, list[float](), 0.0
    for improvements in range(1, max_improvements + 1):
        likely_last = not coarse and len(gaps) > 1 and gaps[-1] ** 2 < gaps[-2] * wanted_gap
        rows, residuals = backend.improve(value, coarse=coarse, want_rows=not likely_last)
        bounds = problem.bounds(residuals)
        gaps.append(bounds.gap)
        wanted_gap = tolerance * bounds.upper
        if progress is not None:
            lower, upper = bounds.lower / total, bounds.upper / total
            progress(Progress(step=improvements, lower=lower, upper=upper, tolerance=tolerance))
        done = bounds.within(tolerance, total) or (not coarse and bounds.exhausted(total)) or stalled(gaps)
        done = done or problem.interval(bounds.lower, bounds.upper)[0] > give_up_above
        if done or improvements == max_improvements:
            break
        coarse = coarse and bounds.gap >= backend.coarse_units * residuals.unit > 0.0
        if not rows:
            rows, _ = backend.improve(value, coarse=coarse)
        value = backend.sweep(rows, value, num_sweeps)
        sweeps += num_sweeps
        del rows  # else the next rows are made before these are let go
    lower, upper = problem.interval(bounds.lower, bounds.upper)
    return Solution(
        value=backend.levelled(value, residuals),
        lower=lower,
        upper=upper,
        tolerance=tolerance,
        converged=bounds.within(tolerance, total),
        improvements=improvements,
        sweeps=sweeps,
        seconds=time.perf_counter() - began,
    )
