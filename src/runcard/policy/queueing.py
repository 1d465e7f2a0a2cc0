"""One-step-queueing: one improvement step on an M/M/1/1 approximation of closest-first (the paper's OSIA).

    a(f, j) = argmin over teams a of { cost(a, j) + J(f-a) - J(f) },

with J(f) the expected late incidents of closest-first within a horizon T, from a fixed point of the busy chances of the
trucks as separate queues (`mdp.queueing`); the difference is the price of the team. Three kinds:

- `one-step-queueing`: the normalisation that the paper has swapped set right, exact request rates, and T = 2/(μ+D)
  for a truck that is asked at rate D: twice the time in which a queue forgets where it began. At low load that is 2/μ.
- the same with T = `horizon_busy_times`/μ, as in the paper, if that is given.
- `one-step-queueing-printed`: the paper's equations to the letter, with T = 1/μ.

**Online.** Nothing here is of the size of the state space but `rule`. A decision takes one fixed point for the state,
and one for each team that is not left out.

**Pruning.** Teams are looked at in the order of a lower bound on P(late) + price, and no more of them when the bound
exceeds the total of the last that is listed, less `NEGLIGIBLE`. So no team that is left out is better than those that
are listed, by more than that. The bound, and its proof, are in `mdp.queueing`. Where the proof does not hold (with
anything as printed, or for a horizon of less than 2 busy times), every team is looked at.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.errors import InputError
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.memory import check_states
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.mdp.queueing import QueueingPicture
from runcard.mdp.rows import ValueRule
from runcard.policy.base import Certificate, Decision
from runcard.policy.options import (
    NUM_ALTERNATIVES,
    checked_idle,
    checked_situation,
    checked_teams,
    idle_teams,
    make_decision,
)
from runcard.threads import checked_threads, run_each

RELAXATION_TIMES = 2.0
PRINTED_BUSY_TIMES = 1.0
MOST_BUSY_TIMES = 1e6
"""Prices do not change any more at a hundredth of this; far above, they would drown in rounding."""
_CHUNK_STATES = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class QueueingPolicy:
    """One improvement step on queues; `horizon_busy_times` is μT, where T is not to follow from the load."""

    problem: DispatchProblem
    horizon_busy_times: float | None = None
    printed: bool = False
    printed_rates: bool = False
    """For the study: only the printed request rates, with the normalisation set right. Not for policy files."""
    prune: bool = True
    threads: int | None = None
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        """Check the horizon."""
        given: Any = self.horizon_busy_times  # from anybody, whatever the type says
        if given is None:
            return
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0.0 < given <= MOST_BUSY_TIMES:
            raise InputError(
                f"{self.name}: expected a horizon above 0 and up to {MOST_BUSY_TIMES:g} busy times, got {given!r}"
            )

    @property
    def name(self) -> str:
        """The name on the command line, where it can be asked for there."""
        kind = "-printed" if self.printed else "-printed-rates" if self.printed_rates else ""
        return f"one-step-queueing{kind}"

    @cached_property
    def picture(self) -> QueueingPicture:
        """The queues."""
        given, relaxing = self.horizon_busy_times, self.horizon_busy_times is None and not self.printed
        horizon = given if given is not None else RELAXATION_TIMES if relaxing else PRINTED_BUSY_TIMES
        return QueueingPicture(
            name=self.name, problem=self.problem, horizon=float(horizon), relaxing=relaxing,
            printed_chances=self.printed, printed_rates=self.printed or self.printed_rates,
        )  # fmt: skip

    @cached_property
    def online(self) -> QueueingPicture:
        """The queues for single decisions."""
        return self.picture.online()

    @cached_property
    def rule(self) -> ValueRule:
        """J of every state, less that of the state in which all trucks are idle."""
        problem, picture = self.problem, self.picture
        threads = checked_threads(self.threads)
        check_states(problem.trucks)
        value = np.zeros(problem.num_states + VALUE_PADDING)
        picture.prepare()

        def fill(start: int) -> None:
            stop = min(start + _CHUNK_STATES, problem.num_states)
            value[start:stop] = picture.late_in(start, stop)

        run_each(fill, range(0, problem.num_states, _CHUNK_STATES), threads)
        value[: problem.num_states] -= value[problem.num_states - 1]
        return ValueRule(picture.horizon_days * value)

    def prices(self, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.float64]:
        """The prices J(f-a) - J(f) of teams."""
        idle = checked_idle(self.problem, idle)
        teams = checked_teams(self.problem, idle, teams)
        state = self.online.settle(idle)
        return self.online.horizon_days * (self.online.late_without(state, idle, teams) - state.late)

    def decide(self, idle: NDArray[np.int64], point: int) -> Decision:
        """The team with the smallest P(late now) + price for an incident at demand point `point`."""
        idle, point = checked_situation(self.problem, idle, point)
        teams = idle_teams(self.problem, idle, point)
        p_late, picture = self.problem.cost[teams, point], self.online
        num_listed = NUM_ALTERNATIVES + 1
        if picture.proven and len(teams) > num_listed:
            late, now = picture.late_of_best(idle, teams, p_late, num_listed, prune=self.prune)
            seen = ~np.isnan(late)
            teams, p_late, late = teams[seen], p_late[seen], late[seen]
        else:
            state = picture.settle(idle)
            late, now = picture.late_without(state, idle, teams), state.late
        price = picture.horizon_days * (late - now)
        return make_decision(self.problem, point, teams, p_late, price, int((p_late + price).argmin()))


def solve_queueing(
    problem: DispatchProblem,
    *,
    horizon_busy_times: float | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> QueueingPolicy:
    """One-step-queueing; nothing is computed before a decision or the rule is asked for, so `progress` is not told."""
    del progress
    return QueueingPolicy(problem=problem, horizon_busy_times=horizon_busy_times, threads=threads)


def solve_queueing_printed(
    problem: DispatchProblem, *, threads: int | None = None, progress: Callable[[Progress], None] | None = None
) -> QueueingPolicy:
    """One-step-queueing as printed; see `solve_queueing`."""
    del progress
    return QueueingPolicy(problem=problem, printed=True, threads=threads)
