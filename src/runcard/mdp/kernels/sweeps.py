"""Sweeps over the states for the linear equations of one policy, given its rows.

With Λ = Σλ, the rows r(f, a) of the policy and its rate c(f) of the cost, or of a measure, the chain without its dummy
transitions has

    (Λ + μ Σ_i (C_i - f_i)) h(f) = c(f) - g + μ Σ_i (C_i - f_i) h(f+e_i) + Σ_a r(f, a) h(f-a)            (values)
    (Λ + μ Σ_i (C_i - f_i)) p(f) = μ Σ_i (C_i - f_i + 1) p(f-e_i) + Σ_a r(f+a, a) p(f+a)           (probabilities)

In the order of the state numbers f+e_i comes after f and f-a before it. So a sweep of the values from the last state
down takes all returns at their new values (Gauss-Seidel), and one from state 0 up takes all dispatches so; of the
probabilities the other way round. Down is right while trucks are mostly idle and returns bring every state back to the
last one, up where they are mostly busy: each error shrinks by the part of the rates that is taken at old values. Ranges
of states whose high digits have the same sum do not reach each other and may be swept at the same time. In state 0 no
truck is idle: dispatching changes nothing there, and Λ drops out on both sides.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.states import enter_state, next_state, previous_state

CONTRACT = {"contract", "nsz"}
"""Fused multiply-adds only: reassociation would make LLVM gather values in vectors, which is a third slower here."""


def _value_sweep(up: bool) -> Callable[..., None]:
    """The sweep of the values in one direction, compiled apart from the other."""

    @njit(nogil=True, cache=True, fastmath=CONTRACT)
    def value_sweep(
        start: int, stop: int, known: int, value: Floats, gain: Floats, space: Any, offset: Ints, total_rate: float,
        rows: Any, cost: Floats,
    ) -> None:  # fmt: skip
        """Update `value` in the states start..stop-1; the state `known` has value 0 and sets `gain[0]`."""
        idle, weight, step = enter_state(start if up else stop - 1, space)
        for f in range(start, stop) if up else range(stop - 1, start - 1, -1):
            row = f - start
            total, leaving = cost[row], total_rate
            for e in range(rows.end[row - 1] if row > 0 else 0, rows.end[row]):
                total += rows.rate[e] * value[np.uint64(f - offset[rows.team[e]])]
            if f == 0:
                total -= total_rate * value[0]
                leaving = 0.0
            for i in range(len(idle)):
                total += weight[i] * value[np.uint64(f + step[i])]
                leaving += weight[i]
            if f == known:
                gain[0] = total
                value[f] = 0.0
            else:
                value[f] = (total - gain[0]) / leaving
            if up:
                next_state(space, idle, weight, step)
            else:
                previous_state(space, idle, weight, step)

    return value_sweep


@njit(nogil=True, cache=True, fastmath=CONTRACT)
def residual_sweep(
    start: int, stop: int, value: Floats, space: Any, offset: Ints, rows: Any, cost: Floats, found: Any
) -> None:
    """Bring found.lowest and highest [levels] to the residuals, g left out, and found.largest to the largest |h|."""
    idle, weight, step = enter_state(start, space)
    for f in range(start, stop):
        row = f - start
        own = value[f]
        total = cost[row]
        for e in range(rows.end[row - 1] if row > 0 else 0, rows.end[row]):
            total += rows.rate[e] * (value[np.uint64(f - offset[rows.team[e]])] - own)
        level = 0
        for i in range(len(idle)):
            total += weight[i] * (value[np.uint64(f + step[i])] - own)
            level += idle[i]
        found.lowest[level] = min(found.lowest[level], total)
        found.highest[level] = max(found.highest[level], total)
        found.largest[level] = max(found.largest[level], abs(own))
        next_state(space, idle, weight, step)


def _probability_sweep(up: bool) -> Callable[..., None]:
    """The sweep of the probabilities in one direction, compiled apart from the other."""

    @njit(nogil=True, cache=True, fastmath=CONTRACT)
    def probability_sweep(
        start: int, stop: int, probability: Floats, arriving: Floats, next_arriving: Floats, space: Any, offset: Ints,
        total_rate: float, rows: Any,
    ) -> None:  # fmt: skip
        """Update `probability` in the states start..stop-1, and add its dispatches to `next_arriving` [states].

        `arriving` [parts, states] holds Σ_a r(f+a, a) p(f+a), in parts that are added here: of the sweep before for a
        sweep up, of this one for a sweep down, with `next_arriving` as one of the parts.
        """
        idle, weight, step = enter_state(start if up else stop - 1, space)
        for f in range(start, stop) if up else range(stop - 1, start - 1, -1):
            row = f - start
            total = 0.0
            for part in range(len(arriving)):
                total += arriving[part, f]
            leaving = total_rate if f > 0 else 0.0
            for i in range(len(idle)):
                leaving += weight[i]
                if idle[i] > 0:
                    total += (weight[i] + space.returns_per_day) * probability[np.uint64(f - space.stride[i])]
            probability[f] = total / leaving
            if f > 0:
                for e in range(rows.end[row - 1] if row > 0 else 0, rows.end[row]):
                    next_arriving[np.uint64(f - offset[rows.team[e]])] += rows.rate[e] * probability[f]
            if up:
                next_state(space, idle, weight, step)
            else:
                previous_state(space, idle, weight, step)

    return probability_sweep


value_sweep_up, value_sweep_down = _value_sweep(True), _value_sweep(False)
probability_sweep_up, probability_sweep_down = _probability_sweep(True), _probability_sweep(False)
