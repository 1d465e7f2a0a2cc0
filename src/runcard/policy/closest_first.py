"""Closest-first: the k idle trucks with the smallest expected driving time; ties go to the station listed first.

Its values h, from which its prices come, solve the Bellman equation with only its own teams allowed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.chain import Chain, policy_rows
from runcard.mdp.evaluate import PolicyValue, policy_value
from runcard.mdp.layout import Layout
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.mdp.rows import OrderRule
from runcard.mdp.space import state_space
from runcard.policy.base import Certificate, Decision
from runcard.policy.options import options_at, whole_numbers

_values: WeakKeyDictionary[DispatchProblem, PolicyValue] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False, kw_only=True)
class ClosestFirst:
    """The policy that everyone uses, with its own exact values."""

    problem: DispatchProblem
    value: NDArray[np.float64]
    certificate: Certificate | None
    name: str = "closest-first"

    @cached_property
    def rule(self) -> OrderRule:
        """The order of the stations of each demand point."""
        return OrderRule(self.problem.order)

    @cached_property
    def _layout(self) -> Layout:
        return Layout(self.problem)

    def decide(self, idle: NDArray[np.int64], point: int) -> Decision:
        """The closest idle trucks for an incident at demand point `point`."""
        idle = whole_numbers(idle)
        options = options_at(self._layout, self.value, idle, point)
        team, wanted = [0] * self.problem.num_stations, int(self.problem.trucks_needed[point])
        for i in self.problem.order[point].tolist():
            team[i] = min(int(idle[i]), wanted)
            wanted -= team[i]
        chosen = (self.problem.teams[options.team] == team).all(axis=1)
        return options.decision(int(chosen.argmax()))


def closest_first_value(
    problem: DispatchProblem, *, threads: int | None = None, progress: Callable[[Progress], None] | None = None
) -> PolicyValue:
    """The exact values of closest-first, computed once for each problem."""
    if problem not in _values:
        space = state_space(problem, threads)
        chain = Chain(space, policy_rows(space, OrderRule(problem.order), minutes=False))
        _values[problem] = policy_value(chain, progress=progress)
    return _values[problem]


def solve_closest_first(
    problem: DispatchProblem, *, threads: int | None = None, progress: Callable[[Progress], None] | None = None
) -> ClosestFirst:
    """Closest-first with its exact values."""
    solved = closest_first_value(problem, threads=threads, progress=progress)
    total = problem.total_incidents_per_day
    certificate = Certificate(lower=solved.lower / total, upper=solved.upper / total, converged=solved.converged)
    return ClosestFirst(problem=problem, value=solved.value, certificate=certificate)
