"""Policies that decide online, and that also have a value of every state, found when it is asked for."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import numpy as np

from runcard.errors import SizeError
from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.kernels.lookahead_best import team_ahead
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.memory import check_states
from runcard.mdp.rows import ValueRule
from runcard.policy.base import BulkRule, Certificate
from runcard.policy.by_value import PricedPolicy
from runcard.policy.options import checked_idle, idle_teams
from runcard.threads import checked_threads, run_each

CHUNK_STATES: Final = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class OnlinePolicy(PricedPolicy):
    """A heuristic that finds the prices of one state at a time."""

    certificate: Certificate | None = None
    threads: int | None = None
    reason: str = ""
    states_per_decision: ClassVar[int] = 30
    """The values of so many states take as long as one decision, or less (measured: 40 to 300, on one thread, with 64
    to 400 demand points)."""

    @abstractmethod
    def _fill_values(self, start: int, stop: int, value: Floats) -> None:
        """Set the values of the states start..stop-1, up to what is the same for all states with equally many idle."""

    def _options(self, idle: Ints, point: int) -> tuple[Ints, Floats]:
        """The teams that a decision may list, and their prices."""
        teams = idle_teams(self.problem, idle, point)
        price = self.best_prices(idle, teams, self.problem.cost[teams, point])
        listed = np.isfinite(price)
        return teams[listed], price[listed]

    @cached_property
    def rule(self) -> ValueRule:
        """The same decisions in every state: the value of each, 0 with every truck idle."""
        num_states, threads = self.problem.num_states, checked_threads(self.threads)
        check_states(self.problem.trucks)
        value = np.zeros(num_states + VALUE_PADDING)

        def fill(start: int) -> None:
            self._fill_values(start, min(start + CHUNK_STATES, num_states), value)

        fill(0)  # alone: it lays out what all of them use
        run_each(fill, range(CHUNK_STATES, num_states, CHUNK_STATES), threads)
        value[:num_states] -= value[num_states - 1]
        return ValueRule(value)

    def teams(self, idle: Ints, points: Ints) -> Ints:
        """What `decide` sends to each of some demand points, in a kernel where there is one for that."""
        bulk = self.in_bulk(len(points))
        if bulk is None or bulk.ahead is None:
            return super().teams(idle, points)
        idle, room = checked_idle(self.problem, idle), bulk.ahead.scratch()
        return np.array([team_ahead(point, idle, room, *bulk.ahead) for point in points.tolist()], np.int64)

    def in_bulk(self, decisions: float) -> BulkRule | None:
        """The values of every state, where they are known, or found in less time than so many decisions take."""
        if "rule" not in vars(self) and self.problem.num_states > self.states_per_decision * decisions:
            return None
        try:
            return BulkRule(value=self.rule.value)
        except SizeError:
            return None
