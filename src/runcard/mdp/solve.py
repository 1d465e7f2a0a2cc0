"""The optimal policy by policy iteration, with bounds on g that are certified at every step.

Each step takes the policy that is greedy for the current values h, by `kernels/value_rows.py`, which also gives the
residuals of the Bellman equation and so (see `levels.py`)

    lower = Σ_n P(n) min_{|f|=n} residual(f)  <=  g*  <=  g of the greedy policy  <=  Σ_n P(n) max_{|f|=n} residual(f).

It stops when upper - lower <= tolerance × upper. Otherwise a few sweeps and an extrapolation move h most of the way to
the values of that policy; solving for them exactly takes many more sweeps and saves no step. While the bounds are far
apart, keys of 32 bits choose the teams, at twice the speed; the step that stops always uses 64.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runcard.errors import InputError
from runcard.mdp.chain import Chain, RowsOnDemand
from runcard.mdp.evaluate import within
from runcard.mdp.layout import VALUE_PADDING, Layout
from runcard.mdp.levels import Residuals
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import Chunk, Rows, ValueRule
from runcard.mdp.space import StateSpace, state_space
from runcard.mdp.threads import run_each

UNITS_OF_32_BITS = 64.0
"""Keys of 32 bits are used while the bounds are at least this many of their units apart."""

NEARLY_SETTLED = 1e-3
"""Closer bounds than this, relatively, mean that few decisions still change: then more sweeps save an improvement."""

SMALL = 1 << 20
"""Problems of fewer states × demand points than this use keys of 64 bits throughout."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a solve stands after an improvement step: bounds on the late fraction, and how close they must come."""

    improvements: int
    lower: float
    upper: float
    tolerance: float


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
    sweeps = 0
    for improvements in range(1, max_improvements + 1):
        rows, residuals = _improve(space, value, key_bits)
        lower, upper, met = within(residuals, tolerance, space, value)
        converged = met and key_bits == 64
        if progress is not None:
            progress(Progress(improvements=improvements, lower=lower / total, upper=upper / total, tolerance=tolerance))
        if converged or improvements == max_improvements:
            break
        if key_bits == 32 and upper - lower < UNITS_OF_32_BITS * _unit_of_32_bits(space.layout):
            key_bits = 64
        chain = Chain(space, rows)
        for _ in range(2 if upper - lower < NEARLY_SETTLED * upper else 1):
            value = chain.improve_values(value)
            sweeps += chain.sweeps_per_cycle
    return Solution(
        value=space.levelled(value, residuals),
        lower=lower / total,
        upper=upper / total,
        tolerance=tolerance,
        converged=converged,
        improvements=improvements,
        sweeps=sweeps,
        seconds=time.perf_counter() - began,
    )


def _improve(space: StateSpace, value: NDArray[np.float64], key_bits: int) -> tuple[Sequence[Rows], Residuals]:
    """The rows of the greedy policy in every state, and the residuals of the Bellman equation."""
    rule = ValueRule(value if space.keeps_rows else value.copy(), key_bits)

    def improve(chunk: Chunk) -> tuple[Rows | None, NDArray[np.float64], NDArray[np.float64]]:
        rows, lowest, highest = rule.improvement(space.layout, chunk)
        return rows if space.keeps_rows else None, lowest, highest

    improved = run_each(improve, space.chunks, space.threads)
    residuals = Residuals.over([(lowest, highest) for _, lowest, highest in improved])
    kept = [rows for rows, _, _ in improved if rows is not None]
    return kept if space.keeps_rows else RowsOnDemand(space, rule), residuals


def _unit_of_32_bits(layout: Layout) -> float:
    """What rounding the keys of 32 bits may change in a residual, as a late rate."""
    keyed = layout.keyed(32)
    return float((keyed.points.total_rate / keyed.keys.scale).sum())
