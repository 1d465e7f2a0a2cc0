"""The optimal policy by policy iteration, with bounds on g that are certified at every step.

Each step takes the policy that is greedy for the current values h, by `kernels/value_rows.py`, which also gives the
residuals of the Bellman equation and so (see `bounds.py`)

    lower = Σ_n P(n) min_{|f|=n} residual(f)  <=  g*  <=  g of the greedy policy  <=  Σ_n P(n) max_{|f|=n} residual(f).

It stops when upper - lower <= tolerance × upper. Otherwise a few sweeps and an extrapolation move h most of the way to
the values of that policy; solving for them exactly takes many more sweeps and saves no step. A step that is likely the
last, by how fast the bounds closed before, looks at the residuals only. While the bounds are far apart, keys of 32 bits
choose the teams, at twice the speed; their rounding is part of the bounds, too.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runcard.errors import InputError
from runcard.mdp.bounds import Residuals, stalled
from runcard.mdp.chain import Chain, RowsOnDemand
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.mdp.rows import Chunk, Rows, ValueRule
from runcard.mdp.space import StateSpace, state_space
from runcard.threads import run_each

UNITS_OF_32_BITS = 64.0
"""Keys of 32 bits are used while the bounds are at least this many of their units apart."""

SMALL = 1 << 20
"""Problems of fewer states × demand points than this use keys of 64 bits throughout."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The optimal policy as its values h [states + padding], and certified bounds on its late fraction.

    Both the optimum and the late fraction of the policy that is greedy for `value` lie in [lower, upper].
    """

    value: NDArray[np.float64]
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
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Solution:
    """The optimal policy of a problem."""
    if max_improvements < 1:
        raise InputError(f"expected max_improvements >= 1, got {max_improvements}")
    began = time.perf_counter()
    space = state_space(problem, threads)
    total = problem.total_incidents_per_day
    value = np.zeros(problem.num_states + VALUE_PADDING)
    key_bits = 64 if problem.num_states * problem.num_points < SMALL else 32
    sweeps, gaps, wanted_gap = 0, list[float](), 0.0
    for improvements in range(1, max_improvements + 1):
        likely_last = key_bits == 64 and len(gaps) > 1 and gaps[-1] ** 2 < gaps[-2] * wanted_gap
        rows, residuals = _improve(space, value, key_bits, want_rows=not likely_last)
        bounds = space.bounds(residuals)
        gaps.append(bounds.gap)
        wanted_gap = tolerance * bounds.upper
        if progress is not None:
            lower, upper = bounds.lower / total, bounds.upper / total
            progress(Progress(step=improvements, lower=lower, upper=upper, tolerance=tolerance))
        done = bounds.within(tolerance, total) or (key_bits == 64 and bounds.exhausted(total)) or stalled(gaps)
        if done or improvements == max_improvements:
            break
        if key_bits == 32 and bounds.gap < UNITS_OF_32_BITS * residuals.unit:
            key_bits = 64
        if likely_last and space.keeps_rows:
            rows, _ = _improve(space, value, key_bits, want_rows=True)
        chain = Chain(space, rows)
        value = chain.improve_values(value)
        sweeps += chain.sweeps_per_cycle
        del rows, chain  # else the next rows are made before these are let go
    return Solution(
        value=space.levelled(value, residuals),
        lower=bounds.lower / total,
        upper=bounds.upper / total,
        tolerance=tolerance,
        converged=bounds.within(tolerance, total),
        improvements=improvements,
        sweeps=sweeps,
        seconds=time.perf_counter() - began,
    )


def _improve(
    space: StateSpace, value: NDArray[np.float64], key_bits: int, *, want_rows: bool
) -> tuple[Sequence[Rows], Residuals]:
    """The rows of the greedy policy in every state, if wanted, and the residuals of the Bellman equation."""
    rule = ValueRule(value if space.keeps_rows else value.copy(), key_bits)
    want_rows = want_rows and space.keeps_rows

    def improve(chunk: Chunk) -> tuple[Rows | None, Residuals]:
        return rule.improvement(space.layout, chunk, want_rows=want_rows)

    improved = run_each(improve, space.chunks, space.threads)
    residuals = Residuals.over([found for _, found in improved], space.layout.keyed(key_bits).unit)
    kept = [rows for rows, _ in improved if rows is not None]
    return kept if space.keeps_rows else RowsOnDemand(space, rule, minutes=False), residuals
