"""Exact evaluation of a policy: its mean cost and measures, with bounds, and the probability of every state.

The values of the cost (see `chain.py`) give its long-run rate g with bounds; the probabilities p(f) are swept until
they stop changing. From these and the policy's rows r(f, a) follow

    dispatches per day of station i     d_i = Σ_f p(f) Σ_a r(f, a) a_i,
    busy fraction of its trucks         d_i / (μ C_i)                                    (Little's law),
    mean of a measure                   Σ_f p(f) Σ_j λ_j measure(a(f, j), j) / Λ.

The means of some measures are found like g instead, from values of their own for the same policy, so that they have
proven bounds too.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from runcard.errors import InputError
from runcard.mdp.arrays import Floats
from runcard.mdp.chain import MAX_SWEEPS, PolicyValue, chain_of
from runcard.mdp.cpu import cpu_backend
from runcard.mdp.problem import LAST_MINUTES, MINUTES, P_LATE, DispatchProblem
from runcard.mdp.progress import Progress
from runcard.mdp.rows import DecisionRule, checked_rule


class MeasureMean(NamedTuple):
    """The long-run mean of a measure over incidents, proven to lie in [lower, upper] where these are given."""

    mean: float
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """What a policy achieves in the long run. Arrays are by station."""

    cost: float
    """The mean cost of an incident, as the objective of the problem counts it: the late fraction, if that is it."""
    cost_lower: float
    """The mean cost is proven to lie in [cost_lower, cost_upper], with the errors of costs counted."""
    cost_upper: float
    measures: Mapping[str, MeasureMean]
    """The mean of each measure of the problem."""
    incidents_per_day: float
    dispatch_share: Floats
    """[I] share of all trucks sent that come from each station."""
    outside_share: float
    """Share of all trucks sent that come from outside."""
    busy_fractions: Floats
    """[I] long-run fraction of time that a truck of the station is busy."""
    idle_distribution: Floats
    """[N + 1] chance that n trucks are idle; the same for every policy."""
    value: Floats
    """[states + padding] relative values h of the cost, 0 with every truck idle."""
    probability: Floats
    """[states] long-run probability of each state."""
    converged: bool
    seconds: float
    p90_minutes: Mapping[str, float] = field(default_factory=dict)
    """The 90th percentile of the "first" and of the "last" arrival, where the problem has arrivals."""

    @property
    def late_fraction(self) -> float:
        """The fraction of incidents that are late; with standards, the weighted sum of those that one misses."""
        return self.measures[P_LATE].mean

    @property
    def late_per_day(self) -> float:
        """The late incidents per day."""
        return self.late_fraction * self.incidents_per_day

    @property
    def lower(self) -> float:
        """The late fraction is proven to lie in [lower, upper]."""
        lower = self.measures[P_LATE].lower
        assert lower is not None
        return lower

    @property
    def upper(self) -> float:
        """The late fraction is proven to lie in [lower, upper]."""
        upper = self.measures[P_LATE].upper
        assert upper is not None
        return upper

    @property
    def mean_response_minutes(self) -> float | None:
        """The mean time of the first arrival; None where the problem does not have it."""
        return self.measures[MINUTES].mean if MINUTES in self.measures else None

    @property
    def last_minutes(self) -> float | None:
        """The mean time of the last arrival; None where the problem does not have it."""
        return self.measures[LAST_MINUTES].mean if LAST_MINUTES in self.measures else None


def evaluate_rule(
    problem: DispatchProblem,
    rule: DecisionRule,
    *,
    measures: Mapping[str, Floats] | None = None,
    proven: Collection[str] = (P_LATE,),
    errors: Mapping[str, float] | None = None,
    tolerance: float = 1e-9,
    max_sweeps: int = MAX_SWEEPS,
    threads: int | None = None,
    device: str = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """What the policy of a rule achieves in the long run; an InputError for a rule that the problem cannot follow.

    `measures` are tables [T, J] beside those of the problem, off by `errors`, or by nothing; the means of those in
    `proven` have proven bounds.
    """
    began = time.perf_counter()
    total = problem.total_incidents_per_day
    for name, table in (measures or {}).items():
        if np.shape(table) != problem.cost.shape or isinstance(table, np.ma.MaskedArray):
            raise InputError(f"measure {name}: expected numbers for each team and demand point, {problem.cost.shape}")
    wanted = {**problem.measures, **(measures or {})}
    # A measure that is the cost itself needs nothing of its own, and neither does one that is another one.
    same = {id(table): name for name, table in reversed(wanted.items())}
    names = [name for name, table in wanted.items() if table is not problem.cost and same[id(table)] == name]
    rule = checked_rule(problem, rule)
    chain = chain_of(problem, rule, [wanted[name] for name in names], threads=threads, device=device)

    cost = chain.values(start=rule.start, tolerance=tolerance, max_sweeps=max_sweeps, progress=progress)
    solved = {
        own: chain.values(names.index(own), tolerance=tolerance, max_sweeps=max_sweeps) if own in names else cost
        for own in dict.fromkeys(same[id(wanted[name])] for name in proven)
    }
    found = {name: solved[same[id(wanted[name])]] for name in proven}
    steady = chain.probabilities(tolerance=1e-3 * tolerance, max_sweeps=max_sweeps)
    means = {name: MeasureMean(float(rate) / total) for name, rate in zip(names, steady.measured, strict=True)}
    off = {**problem.measure_errors, **(errors or {})}
    for name, values in found.items():
        below = problem.size_below([wanted[name]])
        means[name] = MeasureMean(*_proven_mean(problem, values, name, off.get(name, 0.0), below))
    mean_cost, cost_lower, cost_upper = _proven_mean(problem, cost)
    dispatches = steady.team_use @ problem.teams.counts
    sent = float(problem.incidents_per_day @ problem.trucks_needed)
    steady.probability.flags.writeable = False
    return Evaluation(
        cost=mean_cost,
        cost_lower=cost_lower,
        cost_upper=cost_upper,
        measures={name: means[name if name in means else same[id(table)]] for name, table in wanted.items()},
        incidents_per_day=total,
        dispatch_share=dispatches / sent,
        outside_share=max(0.0, 1.0 - float(dispatches.sum()) / sent),
        busy_fractions=dispatches / (problem.returns_per_day * problem.trucks),
        idle_distribution=problem.levels.idle_distribution,
        value=cost.value,
        probability=steady.probability,
        converged=cost.converged and all(values.converged for values in found.values()) and steady.converged,
        seconds=time.perf_counter() - began,
    )


def costs_by_state(problem: DispatchProblem, rule: DecisionRule, *, threads: int | None = None) -> Floats:
    """[states] what the teams that a rule sends cost in a day, in each state."""
    backend = cpu_backend(problem, threads)
    rows, cost = backend.rows(rule), np.empty(problem.num_states)
    for number, chunk in enumerate(backend.chunks):
        cost[chunk.start : chunk.stop] = rows[number].cost
    return cost


def _proven_mean(
    problem: DispatchProblem,
    solved: PolicyValue,
    measure: str | None = None,
    error: float | None = None,
    below: float = 0.0,
) -> tuple[float, float, float]:
    """The mean of the cost, or of a measure, whose values were solved for, and where it is proven to lie."""
    lower, upper = problem.interval(solved.lower, solved.upper, measure, error=error, below=below)
    middle = (solved.lower + solved.upper) / (2.0 * problem.total_incidents_per_day)
    return min(max(middle, lower), upper), lower, upper
