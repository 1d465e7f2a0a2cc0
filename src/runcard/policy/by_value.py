"""A policy that is its value function: the team with the smallest P(late now) + price goes.

a(f, j) = argmin over teams a of { cost(a, j) + h(f-a) - h(f) };  of equal teams, the one listed first.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.layout import Layout
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import ValueRule
from runcard.policy.base import Certificate, Decision
from runcard.policy.options import options_at


@dataclass(frozen=True, eq=False, kw_only=True)
class ValuePolicy:
    """The policy that is greedy for `value`."""

    name: str
    problem: DispatchProblem
    value: NDArray[np.float64]
    certificate: Certificate | None

    @cached_property
    def rule(self) -> ValueRule:
        """The value function, in memory: kernels are not compiled a second time for values of a mapped file."""
        return ValueRule(np.array(self.value))

    @cached_property
    def _layout(self) -> Layout:
        return Layout(self.problem)

    def decide(self, idle: NDArray[np.int64], point: int) -> Decision:
        """The team with the smallest P(late now) + price for an incident at demand point `point`."""
        options = options_at(self._layout, self.value, idle, point)
        return options.decision(int((options.p_late + options.price).argmin()))
