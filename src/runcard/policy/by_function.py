"""A policy that is a function: a rule written by hand, or a learned one, to be compared with the optimum.

    choose(idle, point, teams)    one of `teams`

`idle` [I] are the idle trucks of each station, `point` is the number of the demand point, and `teams` are the numbers
of the teams that can go, in rising order; both can only be read. Asked again, the function has to choose the same
team. Where there are few enough states it is asked once for all of them, so that the policy can be evaluated exactly
and has prices: those of following it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any, ClassVar, Final

import numpy as np

from runcard.errors import InputError, PolicyFileError, SizeError
from runcard.mdp.arrays import Floats, Ints, frozen
from runcard.mdp.chain import chain_of
from runcard.mdp.rows import TableRule, cannot_go, numbered_team
from runcard.policy.base import BulkRule, Certificate, Stored
from runcard.policy.by_table import each_choice
from runcard.policy.by_value import PricedPolicy, Values

MOST_DECISIONS: Final = 1 << 22
"""States times demand points that a function is asked for: tens of seconds for a quick one."""

MOST_STATES_AT_ONCE: Final = 1 << 14
"""With more states a simulation asks for each decision: all states would take longer."""

Choose = Callable[[Ints, int, Ints], Any]
"""The number of one of the teams that can go, as any kind of whole number."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionPolicy(PricedPolicy):
    """The policy that sends the team that the function `choose(idle, point, teams)` returns."""

    name: str
    choose: Choose
    certificate: Certificate | None = None
    reason: str = "is what the function chose"
    decides_anywhere: ClassVar[bool] = False

    @cached_property
    def rule(self) -> TableRule:
        """What the function chooses in every state; a SizeError where there are too many to ask for."""
        problem = self.problem
        num = problem.num_states * problem.num_points
        if num > MOST_DECISIONS:
            raise SizeError(
                f"{self.name}: expected at most {MOST_DECISIONS:,} states times demand points to ask a function for, "
                f"got {num:,}: simulate the policy, or evaluate it for a part of the region"
            )
        table = np.empty((problem.num_states, problem.num_points), np.int64)
        for state, idle, points, teams in each_choice(problem):
            for point in points.tolist():
                table[state, point] = teams[self._choose(idle, point, teams)]
        return TableRule(table)

    @cached_property
    def _values(self) -> Values | None:
        """The values of following the policy, where they can be found."""
        try:
            rule = self.rule
        except SizeError:
            return None
        return Values(self.problem, chain_of(self.problem, rule).values().value)

    def in_bulk(self, decisions: float) -> BulkRule | None:
        """What the function chooses in every state, where there are few."""
        if self.problem.num_states > MOST_STATES_AT_ONCE:
            return None
        try:
            return BulkRule(table=self.rule.table)
        except SizeError:
            return None

    def stored(self) -> Stored:
        """No file holds a function: always a PolicyFileError."""
        raise PolicyFileError(f"{self.name}: a policy that is a function cannot be written to a file")

    def _prices(self, idle: Ints, teams: Ints) -> Floats:
        """The prices of teams, if this policy is followed afterwards; nan where there are too many states."""
        return np.full(len(teams), np.nan) if self._values is None else self._values.prices(idle, teams)

    def _choose(self, idle: Ints, point: int, teams: Ints, price: Floats | None = None) -> int:
        """Where the chosen team stands in `teams`; an error if it is none of them."""
        try:
            given = self.choose(_read_only(idle), point, _read_only(teams))
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise InputError(f"{self.name}: a function must not change its arguments") from error
        try:
            position = int(np.searchsorted(teams, index(given)))
        except TypeError as error:
            raise InputError(f"{self.name}: expected the number of a team, got {given!r}") from error
        if position == len(teams) or teams[position] != given:
            chosen = numbered_team(self.problem, index(given))
            raise InputError(f"{self.name}: {cannot_go(self.problem, idle, point, chosen)}")
        return position


def _read_only(array: Ints) -> Ints:
    """The same numbers, which nobody can write to: a function that changed them would be evaluated as another one."""
    return frozen(array.view())
