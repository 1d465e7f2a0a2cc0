"""One-step-queueing: one improvement step on an M/M/1/1 approximation of closest-first (the paper's OSIA).

    a(f, j) = argmin over teams a of { cost(a, j) + J(f-a) - J(f) },

with J(f) the expected late incidents of closest-first within a horizon T, from a fixed point of the busy chances of the
trucks as separate queues (`mdp.queueing`); the difference is the price of the team. Three kinds:

- `one-step-queueing`: the normalisation that the paper has swapped set right, exact request rates, and T = 2/(μ+D)
  for a truck that is asked at rate D: twice the time in which a queue forgets where it began. At low load that is 2/μ.
- the same with T = `horizon_busy_times`/μ, as in the paper, if that is given.
- `one-step-queueing-printed`: the paper's equations to the letter, with T = 1/μ.

**Online.** Only `rule` has the size of the state space. A decision takes one fixed point for the state, and one for
each team that may be among those that are listed. `mdp.queueing` has a lower bound on every price, and teams that it
excludes are left out: none of them is better than a listed one by more than 1e-8 late incidents. Where the bound is not
proven (with anything as printed, or a horizon of less than 2 busy times), every team is looked at.
"""

from dataclasses import dataclass
from functools import cached_property, partial

from runcard.errors import PolicyFileError
from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.queueing import TruckQueues
from runcard.policy.base import Recipe, Stored
from runcard.policy.online import OnlinePolicy
from runcard.policy.options import NUM_ALTERNATIVES
from runcard.policy.solve_options import DEFAULTS, SolveOptions, check_busy_times

RELAXATION_TIMES = 2.0
PRINTED_BUSY_TIMES = 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class QueueingPolicy(OnlinePolicy):
    """One improvement step on queues; `horizon_busy_times` is μT, where T is not to follow from the load."""

    horizon_busy_times: float | None = None
    printed: bool = False
    printed_rates: bool = False
    """For the study: only the printed request rates, with the normalisation set right. Not for policy files."""

    def __post_init__(self) -> None:
        """Check the horizon."""
        check_busy_times(self.name, self.horizon_busy_times)

    @property
    def name(self) -> str:
        """The name on the command line, where it can be asked for there."""
        kind = "-printed" if self.printed else "-printed-rates" if self.printed_rates else ""
        return f"one-step-queueing{kind}"

    @cached_property
    def queues(self) -> TruckQueues:
        """The queues."""
        given, relaxing = self.horizon_busy_times, self.horizon_busy_times is None and not self.printed
        horizon = given if given is not None else RELAXATION_TIMES if relaxing else PRINTED_BUSY_TIMES
        return TruckQueues(
            name=self.name, problem=self.problem, horizon=float(horizon), relaxing=relaxing,
            printed_chances=self.printed, printed_rates=self.printed or self.printed_rates,
        )  # fmt: skip

    def _fill_values(self, start: int, stop: int, value: Floats) -> None:
        """Set J of the states start..stop-1."""
        value[start:stop] = self.queues.horizon_days * self.queues.late_in(start, stop)

    def stored(self) -> Stored:
        """Its horizon, for a policy file: the rest follows from the problem."""
        if self.name not in (RECIPE.name, PRINTED.name):
            raise PolicyFileError(f"{self.name}: a part of the printed version is for study, and has no policy file")
        return Stored(settings={"horizon_busy_times": self.horizon_busy_times}, certificate=self.certificate)

    def _prices(self, idle: Ints, teams: Ints) -> Floats:
        """The prices J(f-a) - J(f) of teams."""
        state = self.queues.fixed_point(idle)
        return self.queues.horizon_days * (self.queues.late_without(state, idle, teams) - state.late)

    def best_prices(self, idle: Ints, teams: Ints, cost: Floats) -> Floats:
        """The same, infinite for teams that cannot be among those that are listed."""
        state = self.queues.fixed_point(idle)
        late = self.queues.late_without_best(state, idle, teams, cost, NUM_ALTERNATIVES + 1)
        return self.queues.horizon_days * (late - state.late)


def solve_queueing(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> QueueingPolicy:
    """One-step-queueing; nothing is computed before a decision or the rule is asked for."""
    return QueueingPolicy(problem=problem, horizon_busy_times=options.horizon_busy_times, threads=options.threads)


def solve_queueing_printed(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> QueueingPolicy:
    """One-step-queueing as printed; see `solve_queueing`."""
    return QueueingPolicy(problem=problem, printed=True, threads=options.threads)


def read_queueing(problem: DispatchProblem, stored: Stored, *, printed: bool = False) -> QueueingPolicy:
    """One-step-queueing as a policy file holds it."""
    horizon = stored.settings["horizon_busy_times"]
    return QueueingPolicy(problem=problem, horizon_busy_times=horizon, printed=printed)


RECIPE = Recipe(name="one-step-queueing", label="OSIA", solve=solve_queueing, read=read_queueing, has_horizon=True)
PRINTED = Recipe(
    name="one-step-queueing-printed", solve=solve_queueing_printed, read=partial(read_queueing, printed=True)
)
