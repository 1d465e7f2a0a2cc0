"""The Markov chain of one policy: its values, with bounds on what it costs, and the probabilities of its states.

Values are swept until the bounds on g (see `bounds.py`) are well within the tolerance of each other, relatively.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runcard.mdp.arrays import Floats
from runcard.mdp.backend import Backend, Rows, StateProbabilities, backend_for
from runcard.mdp.bounds import stalled
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.mdp.rows import CardRule, DecisionRule

AIM = 1e-3
"""Values are swept until the bounds are this part of the tolerance apart, or as close as rounding lets them be."""

MAX_SWEEPS = 2000


@dataclass(frozen=True, eq=False, kw_only=True)
class PolicyValue:
    """The values of a policy: g in [lower, upper] per day, and h [states + padding], 0 with every truck idle."""

    value: Floats
    lower: float
    upper: float
    converged: bool


@dataclass(frozen=True, eq=False)
class Chain:
    """The chain of one policy: its rows on a backend."""

    backend: Backend
    rows: Rows
    below: float = 0.0
    """The size of the most negative number in the tables of its sums."""

    def values(
        self,
        measure: int | None = None,
        *,
        start: Floats | None = None,
        tolerance: float = 1e-9,
        max_sweeps: int = MAX_SWEEPS,
        progress: Callable[[Progress], None] | None = None,
    ) -> PolicyValue:
        """The values of the cost, or of a measure, found from the values `start` if there are any close to them."""
        problem = self.backend.problem
        total, num_sweeps = problem.total_incidents_per_day, self.backend.sweeps_per_cycle
        value = self.backend.start(start)
        gaps: list[float] = []
        for step in range(1, max(1, max_sweeps // num_sweeps) + 1):
            value = self.backend.sweep(self.rows, value, num_sweeps, measure)
            residuals = self.backend.residuals(self.rows, value, measure)
            bounds = problem.bounds(residuals, below=self.below)
            gaps.append(bounds.gap)
            if progress is not None:
                lower, upper = bounds.lower / total, bounds.upper / total
                progress(Progress(step=step, lower=lower, upper=upper, tolerance=tolerance))
            if bounds.within(AIM * tolerance, total) or bounds.exhausted(total) or stalled(gaps):
                break
        return PolicyValue(
            value=self.backend.levelled(value, residuals),
            lower=bounds.lower,
            upper=bounds.upper,
            converged=bounds.within(tolerance, total),
        )

    def probabilities(self, *, tolerance: float = 1e-12, max_sweeps: int = MAX_SWEEPS) -> StateProbabilities:
        """The long-run probability of every state."""
        return self.backend.probabilities(self.rows, tolerance=tolerance, max_sweeps=max_sweeps)


def chain_of(
    problem: DispatchProblem,
    rule: DecisionRule,
    measures: Sequence[Floats] = (),
    *,
    threads: int | None = None,
    device: str = "auto",
) -> Chain:
    """The chain of the policy of a rule, with the sums of these tables [T, J]."""
    if device == "auto" and isinstance(rule, CardRule):
        device = "cpu"  # no GPU knows run cards
    backend = backend_for(problem, threads, device)
    return Chain(backend, backend.rows(rule, measures), problem.size_below(measures))
