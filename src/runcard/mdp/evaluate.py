"""Exact evaluation of a policy: late rate with bounds, relative values, and the probability of every state.

Values are swept (see `chain.py`) until the bounds on g (see `bounds.py`) are well within `tolerance` of each other,
relatively; probabilities until they stop changing. From the probabilities p(f) and the policy's rows r(f, a) follow

    dispatches per day of station i     d_i = Σ_f p(f) Σ_a r(f, a) a_i,
    busy fraction of its trucks         d_i / (μ C_i)                                    (Little's law),
    mean response minutes               Σ_f p(f) Σ_j λ_j minutes(a(f, j), j) / Λ.

Values are those of the problem's cost. Where that is not P(late), the late rate is found like g, from values of its
own for the same policy, so that its bounds are certified too.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.bounds import stalled
from runcard.mdp.chain import Chain, policy_rows
from runcard.mdp.kernels.order_rows import team_use
from runcard.mdp.layout import VALUE_PADDING, Layout
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.mdp.rows import Chunk, Rows, Rule
from runcard.mdp.space import state_space

AIM = 0.01
"""Values are swept until the bounds are this part of the tolerance apart, or as close as rounding lets them be."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PolicyValue:
    """The values of a policy: g in [lower, upper] per day, and h [states + padding], 0 with every truck idle."""

    value: NDArray[np.float64]
    lower: float
    upper: float
    converged: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """What a policy achieves in the long run. Arrays are by station."""

    late_fraction: float
    late_per_day: float
    lower: float
    """The late fraction is certified to lie in [lower, upper]."""
    upper: float
    mean_response_minutes: float | None
    cost: float
    """The mean cost of an incident, as the objective of the problem counts it: the late fraction, if that is it."""
    cost_lower: float
    """The mean cost is certified to lie in [cost_lower, cost_upper]."""
    cost_upper: float
    dispatch_share: NDArray[np.float64]
    """[I] share of all trucks sent that come from each station."""
    outside_share: float
    """Share of all trucks sent that come from outside."""
    busy_fraction: NDArray[np.float64]
    """[I] long-run fraction of time that a truck of the station is busy."""
    idle_distribution: NDArray[np.float64]
    """[N + 1] chance that n trucks are idle; the same for every policy."""
    value: NDArray[np.float64]
    """[states + padding] relative values h of the cost, 0 with every truck idle."""
    probability: NDArray[np.float64]
    """[states] long-run probability of each state."""
    converged: bool
    seconds: float


def policy_value(
    chain: Chain,
    *,
    start: NDArray[np.float64] | None = None,
    tolerance: float = 1e-9,
    max_cycles: int = 400,
    progress: Callable[[Progress], None] | None = None,
) -> PolicyValue:
    """The values of the policy of a chain, found from the values `start` if there are any close to them."""
    problem, space = chain.space.layout.problem, chain.space
    total = problem.total_incidents_per_day
    value = np.zeros(problem.num_states + VALUE_PADDING) if start is None else start.copy()
    gaps: list[float] = []
    for step in range(1, max(1, max_cycles) + 1):
        value = chain.improve_values(value)
        residuals = chain.residuals(value)
        bounds = space.bounds(residuals)
        gaps.append(bounds.gap)
        if progress is not None:
            progress(Progress(step=step, lower=bounds.lower / total, upper=bounds.upper / total, tolerance=tolerance))
        if bounds.within(AIM * tolerance, total) or bounds.exhausted(total) or stalled(gaps):
            break
    return PolicyValue(
        value=space.levelled(value, residuals),
        lower=bounds.lower,
        upper=bounds.upper,
        converged=bounds.within(tolerance, total),
    )


@dataclass(frozen=True, eq=False)
class _LateRule:
    """The teams of another rule, with their late incidents for a cost; its layouts have P(late) in place of minutes."""

    rule: Rule
    start: None = None

    def rows(self, layout: Layout, chunk: Chunk, *, minutes: bool) -> Rows:
        """The rows of a chunk, without response minutes."""
        del minutes
        rows = self.rule.rows(layout, chunk, minutes=True)
        return rows._replace(cost=rows.minutes, minutes=np.empty(0))


def _late_value(
    problem: DispatchProblem, rule: Rule, *, tolerance: float, max_sweeps: int, threads: int | None
) -> PolicyValue:
    """The values of a rule in late incidents, whatever the cost is by which the rule chooses."""
    space = state_space(replace(problem, response_minutes=problem.p_late), threads)
    chain = Chain(space, policy_rows(space, _LateRule(rule), minutes=False))
    return policy_value(chain, tolerance=tolerance, max_cycles=max_sweeps // chain.sweeps_per_cycle)


def evaluate_rule(
    problem: DispatchProblem,
    rule: Rule,
    *,
    tolerance: float = 1e-9,
    max_sweeps: int = 2000,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """What the policy of a rule achieves in the long run."""
    began = time.perf_counter()
    space = state_space(problem, threads)
    total = problem.total_incidents_per_day
    wants_minutes = problem.response_minutes is not None
    late = None
    if problem.late is not None:  # before the rows of the cost are made: those of both need not be kept at once
        late = _late_value(problem, rule, tolerance=tolerance, max_sweeps=max_sweeps, threads=threads)
    chain = Chain(space, policy_rows(space, rule, minutes=wants_minutes))
    max_cycles = max_sweeps // chain.sweeps_per_cycle
    solved = policy_value(chain, start=rule.start, tolerance=tolerance, max_cycles=max_cycles, progress=progress)
    probability, _, steady = chain.probabilities(tolerance=1e-3 * tolerance, max_sweeps=max_sweeps)

    use = np.zeros(problem.num_teams)
    minutes = 0.0
    for chunk, rows in zip(space.chunks, chain.rows, strict=True):
        team_use(chunk.start, probability, rows, use)
        if wants_minutes:
            minutes += float(probability[chunk.start : chunk.stop] @ rows.minutes)
    dispatches = use @ problem.teams.counts
    sent = float(problem.incidents_per_day @ problem.trucks_needed)
    late = solved if late is None else late
    late_per_day = (late.lower + late.upper) / 2
    return Evaluation(
        late_fraction=late_per_day / total,
        late_per_day=late_per_day,
        lower=late.lower / total,
        upper=late.upper / total,
        mean_response_minutes=minutes / total if wants_minutes else None,
        cost=(solved.lower + solved.upper) / (2.0 * total),
        cost_lower=solved.lower / total,
        cost_upper=solved.upper / total,
        dispatch_share=dispatches / sent,
        outside_share=max(0.0, 1.0 - float(dispatches.sum()) / sent),
        busy_fraction=dispatches / (problem.returns_per_day * problem.trucks),
        idle_distribution=space.idle_distribution,
        value=solved.value,
        probability=probability,
        converged=solved.converged and late.converged and steady,
        seconds=time.perf_counter() - began,
    )


def late_fraction_at(
    problem: DispatchProblem,
    rule: Rule,
    probability: NDArray[np.float64],
    points: NDArray[np.bool_],
    *,
    threads: int | None = None,
) -> float:
    """The late fraction of the incidents at some demand points [J], given the probability of every state."""
    late = np.where(points[None, :] | np.isinf(problem.p_late), problem.p_late, 0.0)
    space = state_space(replace(problem, response_minutes=late), threads)
    per_day = 0.0
    for chunk, rows in zip(space.chunks, policy_rows(space, rule, minutes=True), strict=True):
        per_day += float(probability[chunk.start : chunk.stop] @ rows.minutes)
    return per_day / float(problem.incidents_per_day[points].sum())
