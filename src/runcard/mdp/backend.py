"""What the solvers ask of a machine: four operations on the states of one problem.

    improve          the greedy policy for some values, and the residuals of the Bellman equation
    sweep            values that are closer to those of a policy
    residuals        of the value equations of a policy, for any values
    probabilities    the long-run probability of every state under a policy

A policy comes as its rows (see `rows.py`), in whatever form a backend keeps them, and so do values between two
operations: they start and end as plain arrays. A measure is named by its place among the tables that the rows were made
with; None is the cost.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from runcard.errors import InputError, RuncardError
from runcard.mdp.arrays import Floats
from runcard.mdp.bounds import Residuals
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import DecisionRule

Rows: TypeAlias = Any
"""The rows of a policy in every state; only the backend that made them looks inside."""

Values: TypeAlias = Any
"""The values of every state; only the backend that made them looks inside."""

DEVICES: Final = ("auto", "cpu", "gpu")
"""Where the work may be done; "auto" is the GPU where there is one that the problem fits on and is worth it."""

WORTH_STATES: Final = 1 << 16
"""With fewer states a GPU saves nothing worth having."""


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

    @property
    def coarse_units(self) -> float:
        """Coarse numbers are used while the bounds are at least this many of their units apart."""
        ...

    @property
    def sweeps_per_cycle(self) -> int:
        """Sweeps before values are looked at again."""
        ...

    def start(self, value: Floats | None = None) -> Values:
        """Values to start from: these [states + padding], or 0."""
        ...

    def levelled(self, value: Values, residuals: Residuals) -> Floats:
        """[states + padding] the values with the part that depends on the number of idle trucks alone set right."""
        ...

    def rows(self, rule: DecisionRule, measures: Sequence[Floats] = ()) -> Rows:
        """The rows of the policy of a rule, with the sums of these tables [T, J]."""
        ...

    def improve(self, value: Values, *, coarse: bool = False, want_rows: bool = True) -> Improvement:
        """The policy that is greedy for `value`, and the residuals."""
        ...

    def sweep(self, rows: Rows, value: Values, num_sweeps: int, measure: int | None = None) -> Values:
        """The values after some sweeps from `value` and an extrapolation; `value` may be used up."""
        ...

    def residuals(self, rows: Rows, value: Values, measure: int | None = None) -> Residuals:
        """The residuals of the value equations of the policy at `value`, which bound its rate per day."""
        ...

    def probabilities(self, rows: Rows, *, tolerance: float, max_sweeps: int) -> StateProbabilities:
        """The probabilities, swept until they change by at most `tolerance` in all."""
        ...


def backend_for(problem: DispatchProblem, threads: int | None = None, device: str = "auto") -> Backend:
    """The backend for a problem on one of `DEVICES`; on every processor there is unless told otherwise.

    A SizeError where the states do not fit in memory.
    """
    checked_device(device)
    if device == "gpu" or (device == "auto" and problem.num_states >= WORTH_STATES):
        from runcard.mdp.gpu.machine import gpu

        try:
            machine = gpu()
            from runcard.mdp.gpu.backend import gpu_backend  # once it is known that there is one

            return gpu_backend(problem, machine)
        except RuncardError:
            if device == "gpu":
                raise
    from runcard.mdp.cpu import cpu_backend

    return cpu_backend(problem, threads)


def checked_device(device: str) -> str:
    """One of `DEVICES`; anything else is an InputError."""
    if device not in DEVICES:
        raise InputError(f"expected a device, one of {', '.join(DEVICES)}; got {device!r}")
    return device
