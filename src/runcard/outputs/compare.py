"""Policies of one city side by side: late fraction with its proof, mean response time, and who does the work."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import LATE, City
from runcard.errors import InputError, RuncardError
from runcard.mdp.evaluate import Evaluation
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.memory import check_states
from runcard.mdp.problem import P_LATE, DispatchProblem
from runcard.mdp.progress import Progress
from runcard.outputs.warm_up import load_kernels
from runcard.policy.base import Policy
from runcard.policy.solve import evaluate, policy_name, solve
from runcard.threads import checked_threads

DEFAULT_POLICIES = ("closest-first", "one-step", "optimal")


@dataclass(frozen=True, eq=False, kw_only=True)
class PolicyResult:
    """What one policy of a comparison achieves.

    Its late fraction is proven to lie in [lower, upper], and its mean cost, which is the late fraction unless the city
    has another objective, in [cost_lower, cost_upper]; where solving gave bounds on the smallest mean cost of any
    policy, as for the optimal one, that lies in [cost_lower, cost_upper] too.
    """

    policy: Policy
    evaluation: Evaluation
    lower: float
    upper: float
    cost_lower: float
    cost_upper: float
    improvement_over_first: float
    """The part of the first policy's late fraction that this one avoids."""
    converged: bool
    seconds: float
    """Time to solve and evaluate."""
    gap_to_optimum: float | None = None
    """Its mean cost is at most this part above the optimum; None where `optimal` was not asked for."""
    late_by_rule: Mapping[str, float] = field(default_factory=dict)
    """The late fraction of the incidents of each rule (see `City.rule_of`), where there are several."""

    @property
    def name(self) -> str:
        """The name of the policy."""
        return self.policy.name


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """The results of several policies for one city, in the order in which they were asked for."""

    city: City
    problem: DispatchProblem
    results: tuple[PolicyResult, ...]

    @property
    def converged(self) -> bool:
        """Whether every result did."""
        return all(result.converged for result in self.results)

    def result(self, name: str) -> PolicyResult:
        """The result of the policy of that name."""
        return next(result for result in self.results if result.name == name)

    def document(self) -> dict[str, Any]:
        """The comparison as plain values, ready for JSON; fractions are fractions, not percentages.

        An objective other than the late fraction stands beside the city, and the mean cost with each policy.
        """
        objective = self.problem.objective
        named = {} if objective == LATE else {"objective": asdict(objective)}
        return {"city": self.city.name} | named | {"policies": [self._entry(result) for result in self.results]}

    def _entry(self, result: PolicyResult) -> dict[str, Any]:
        evaluation = result.evaluation
        stations = zip(
            self.problem.station_ids,
            evaluation.dispatch_share.tolist(),
            evaluation.busy_fractions.tolist(),
            strict=True,
        )
        return {
            "name": result.name,
            "late_fraction": evaluation.late_fraction,
            "late_per_day": evaluation.late_per_day,
            "mean_response_minutes": evaluation.mean_response_minutes,
            "lower": result.lower,
            "upper": result.upper,
            "improvement_over_first": result.improvement_over_first,
            "seconds": result.seconds,
            "converged": result.converged,
            "gap_to_optimum": result.gap_to_optimum,
            "stations": [
                {"station_id": station_id, "dispatch_share": share, "busy_fraction": busy}
                for station_id, share, busy in stations
            ],
            "outside_share": evaluation.outside_share,
            **({"late_by_rule": dict(result.late_by_rule)} if result.late_by_rule else {}),
        } | ({} if self.problem.objective == LATE else cost_entry(result))


def cost_entry(result: PolicyResult) -> dict[str, float]:
    """The mean cost of a policy and its proven bounds as plain values."""
    return {"cost": result.evaluation.cost, "cost_lower": result.cost_lower, "cost_upper": result.cost_upper}


def compare_policies(
    city: City,
    policies: Sequence[str] = DEFAULT_POLICIES,
    *,
    tolerance: float = 1e-9,
    horizon_busy_times: float | None = None,
    threads: int | None = None,
    begin: Callable[[str], None] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """The comparison of policies, given by name or paper label; one that is named twice is taken once.

    `begin` is told the name of each policy before it is solved, and `progress` each time its bounds close.
    """
    names = chosen_names(policies, horizon_busy_times)
    checked_threads(threads)
    check_states(station.trucks for station in city.stations)  # before the costs, which take long for many trucks
    problem = dispatch_problem(city)
    late_of_rules = _late_of_rules(city, problem)
    load_kernels(problem, names)
    results: list[PolicyResult] = []
    for name in names:
        if begin is not None:
            begin(name)
        results.append(
            solved_result(
                problem,
                name,
                first=results[0] if results else None,
                tolerance=tolerance,
                horizon_busy_times=horizon_busy_times,
                threads=threads,
                progress=progress,
                late_of_rules=late_of_rules,
            )
        )
    return Comparison(city=city, problem=problem, results=tuple(_with_gaps(results)))


def _late_of_rules(city: City, problem: DispatchProblem) -> dict[str, NDArray[np.float64]]:
    """[T, J] for each rule by which incidents are in time, if there are several: a measure of its late incidents.

    It is scaled so that its mean over all incidents is the late fraction of those of the rule.
    """
    rules = np.array([city.rule_of(point) for point in city.demand])
    found = {}
    for rule in dict.fromkeys(rules.tolist()) if len(set(rules.tolist())) > 1 else ():
        share = problem.incidents_per_day[rules == rule].sum() / problem.total_incidents_per_day
        if share > 0.0:
            found[rule] = np.where(rules == rule, problem.measures[P_LATE] / share, 0.0)
    return found


def chosen_names(policies: Sequence[str], horizon_busy_times: float | None) -> list[str]:
    """The names of policies, each once, given by name or paper label; a horizon must be for one of them."""
    names = list(dict.fromkeys(map(policy_name, policies)))
    if not names:
        raise InputError("expected at least one policy to compare, got none")
    if horizon_busy_times is not None and "one-step-queueing" not in names:
        raise InputError("expected a horizon only where one-step-queueing is among the policies")
    return names


def solved_result(
    problem: DispatchProblem,
    name: str,
    *,
    first: PolicyResult | None,
    tolerance: float,
    horizon_busy_times: float | None,
    threads: int | None,
    progress: Callable[[Progress], None] | None,
    late_of_rules: Mapping[str, NDArray[np.float64]] | None = None,
) -> PolicyResult:
    """The result of the policy of that name, solved and evaluated; `first` is what it improves on, if not itself."""
    began = time.perf_counter()
    horizon = horizon_busy_times if name == "one-step-queueing" else None
    policy = solve(problem, name, tolerance=tolerance, horizon_busy_times=horizon, threads=threads, progress=progress)
    evaluation = evaluate(policy, measures=late_of_rules, threads=threads, progress=progress)
    first_evaluation = evaluation if first is None else first.evaluation
    result = _result(policy, evaluation, first_evaluation, time.perf_counter() - began)
    return replace(result, late_by_rule={rule: evaluation.measures[rule].mean for rule in late_of_rules or ()})


def _with_gaps(results: Sequence[PolicyResult]) -> list[PolicyResult]:
    """The results with their distances to the optimum, if that is among them."""
    lower = next((result.cost_lower for result in results if result.name == "optimal"), 0.0)
    if lower <= 0.0:
        return list(results)
    return [replace(result, gap_to_optimum=max(0.0, result.cost_upper / lower - 1.0)) for result in results]


def _result(policy: Policy, evaluation: Evaluation, first: Evaluation, seconds: float) -> PolicyResult:
    late, cost, certificate = evaluation.late_fraction, evaluation.cost, policy.certificate
    lower, upper, converged = evaluation.cost_lower, evaluation.cost_upper, evaluation.converged
    if certificate is not None:
        if max(lower, certificate.lower) > min(upper, certificate.upper):
            raise RuncardError(f"{policy.name}: its certificate contradicts its evaluation; please report this")
        # Evaluation gives the closer upper bound; the lower one of `optimal` holds for every policy, so it stays.
        lower, upper = certificate.lower, min(upper, certificate.upper)
        converged = converged and certificate.converged
    cost_lower, cost_upper = min(max(lower, 0.0), cost), max(upper, cost)
    of_late = policy.problem.objective == LATE
    return PolicyResult(
        policy=policy,
        evaluation=evaluation,
        lower=cost_lower if of_late else max(evaluation.lower, 0.0),
        upper=cost_upper if of_late else evaluation.upper,
        cost_lower=cost_lower,
        cost_upper=cost_upper,
        improvement_over_first=1.0 - late / first.late_fraction if first.late_fraction > 0.0 else 0.0,
        converged=converged,
        seconds=seconds,
    )
