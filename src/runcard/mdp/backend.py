"""What the solvers ask of a machine: four operations on the states of one problem.

    improve          the greedy policy for some values, and the residuals of the Bellman equation
    sweep            values that are closer to those of a policy
    residuals        of the value equations of a policy, for any values
    probabilities    the long-run probability of every state under a policy

A policy comes as its rows (see `rows.py`), in whatever form a backend keeps them. Values and probabilities are plain
arrays. A measure is named by its place among the tables that the rows were made with; None is the cost.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from runcard.mdp.arrays import Floats
from runcard.mdp.bounds import Residuals
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import DecisionRule

Rows: TypeAlias = Any
"""The rows of a policy in every state; only the backend that made them looks inside."""


class Improvement(NamedTuple):
    """The rows of a greedy policy, empty if they were not wanted, and the residuals of the Bellman equation."""

    rows: Rows
    residuals: Residuals


class StateProbabilities(NamedTuple):
    """The long-run probability of every state under a policy, and what follows from it."""

    probability: Floats
    """[states]"""
    team_use: Floats
    """[T] the incidents per day that get each team."""
    measured: Floats
    """[measures] the long-run rate per day of each measure."""
    converged: bool


class Backend(Protocol):
    """A machine that does the work of the solvers for one problem."""

    @property
    def problem(self) -> DispatchProblem:
        """The problem."""
        ...

    @property
    def has_coarse(self) -> bool:
        """Whether `improve` is worth doing in coarse numbers first, as long as the bounds are far apart."""
        ...

    def rows(self, rule: DecisionRule, measures: Sequence[Floats] = ()) -> Rows:
        """The rows of the policy of a rule, with the sums of these tables [T, J]."""
        ...

    def improve(self, value: Floats, *, coarse: bool = False, want_rows: bool = True) -> Improvement:
        """The policy that is greedy for `value` [states + padding], and the residuals."""
        ...

    def sweep(self, rows: Rows, value: Floats, num_sweeps: int, measure: int | None = None) -> Floats:
        """[states + padding] the values after some sweeps from `value` and an extrapolation."""
        ...

    def residuals(self, rows: Rows, value: Floats, measure: int | None = None) -> Residuals:
        """The residuals of the value equations of the policy at `value`, which bound its rate per day."""
        ...

    def probabilities(self, rows: Rows, *, tolerance: float, max_sweeps: int) -> StateProbabilities:
        """The probabilities, swept until they change by at most `tolerance` in all."""
        ...


def backend_for(problem: DispatchProblem, threads: int | None = None) -> Backend:
    """The backend for a problem; on every processor there is unless told otherwise.

    A SizeError where the states do not fit in memory.
    """
    from runcard.mdp.cpu import cpu_backend

    return cpu_backend(problem, threads)
