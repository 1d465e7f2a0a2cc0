"""The rules by which policies choose, and the rows that say what they do.

A rule says how a policy chooses. Evaluation asks for its rows (see `cpu.py`), and never for a table of all states
and demand points. The row of state f lists, for each team a that the policy sends from f, the rate
Σ_j λ_j [a(f, j) = a]; demand points that get the same team are one entry.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class OrderRule:
    """The idle trucks that come first in the order [J, I] of each demand point."""

    order: NDArray[np.int64]
    start: NDArray[np.float64] | None = None
    """[states + padding] values close to those of the policy, for evaluation to start from, if there are any."""


@dataclass(frozen=True, eq=False)
class TableRule:
    """The team number of every state and demand point, for policies that are given as a table."""

    table: NDArray[np.int64]
    start: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class ValueRule:
    """The team with the smallest cost(a, j) + h(f-a), for a value function h [states + padding]."""

    value: NDArray[np.float64]

    @property
    def start(self) -> NDArray[np.float64]:
        """The values themselves."""
        return self.value


@dataclass(frozen=True, eq=False)
class CardRule:
    """The first of some teams of each demand point that is idle; the first trucks in an order where none of them is."""

    lines: NDArray[np.int64]
    """[J, depth] team numbers, of the size that the demand point needs; -1 behind the last."""
    order: NDArray[np.int64]
    """[J, I]"""
    start: NDArray[np.float64] | None = None


DecisionRule: TypeAlias = OrderRule | TableRule | ValueRule | CardRule
"""How a policy chooses its teams in every state."""


class PolicyRows(NamedTuple):
    """The rows of a range of states: state s of the range has the entries end[s-1]..end[s]-1."""

    end: NDArray[np.int64]
    team: NDArray[np.uint16]
    """[entries] its number: a problem with more teams than 16 bits count has at least 2^33 states."""
    rate: NDArray[np.float64]
    """[entries] incidents per day that get the team."""
    cost: NDArray[np.float64]
    """[states] Σ_j λ_j × cost."""
    measured: NDArray[np.float64]
    """[measures, states] Σ_j λ_j × each measure that was asked for."""
    unit: float
    """How far a cost may be off because it was read from keys, which are whole numbers; measures never are."""
