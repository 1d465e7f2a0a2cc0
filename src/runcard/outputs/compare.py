"""Policies of one city side by side: late fraction with its proof, mean response time, and who does the work."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from runcard.assess.policy_choice import PolicyChoice, check_week, policy_choices
from runcard.assess.steps import NO_STEPS, Steps, city_problem
from runcard.city.model import LATE, City, Standard
from runcard.errors import RuncardError
from runcard.mdp.evaluate import Evaluation
from runcard.mdp.memory import check_states
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.standards import StandardTables, error_of_standards, standard_tables
from runcard.policy.base import Policy
from runcard.policy.solve import evaluate
from runcard.policy.solve_options import DEFAULTS, SolveOptions
from runcard.policy.warm_up import load_kernels

DEFAULT_POLICIES = ("closest-first", "one-step", "optimal")


@dataclass(frozen=True)
class StandardResult:
    """How often a policy misses a standard: the part of the incidents of its type, which lies in [lower, upper].

    None where there are no incidents of the type.
    """

    standard: Standard
    miss_fraction: float | None = None
    lower: float | None = None
    upper: float | None = None
    mean_minutes: float | None = None
    """The mean time of the arrival that it is about, if that is the first or the last, at incidents of its type."""

    def document(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        found = {"miss_fraction": self.miss_fraction, "lower": self.lower, "upper": self.upper}
        return self.standard.document() | found | {"mean_minutes": self.mean_minutes}


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparedPolicy:
    """What one policy of a comparison achieves.

    Its late fraction lies in [lower, upper], proven or estimated, and its mean cost, which is the late fraction unless
    the city has another objective, in [cost_lower, cost_upper]; where solving gave bounds on the smallest mean cost of
    any policy, as for the optimal one, that lies in [cost_lower, cost_upper] too.
    """

    choice: PolicyChoice
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
    standards: tuple[StandardResult, ...] = ()
    """How often each standard is missed; () where the late fraction says it."""
    of_other_rates: bool = False
    """Whether the policy was made for other rates than it was evaluated at."""

    @property
    def late_by_rule(self) -> dict[str, float]:
        """The late fraction of the incidents of each rule (see `City.rule_of`), where there are several."""
        return {one.standard.rule: one.miss_fraction for one in self.standards if one.miss_fraction is not None}

    @property
    def proven(self) -> bool:
        """Whether its intervals are proven; else they are estimated."""
        return self.policy.problem.proven

    @property
    def is_optimum(self) -> bool:
        """Whether its lower bound holds for every policy."""
        return self.policy.name == "optimal" and not self.of_other_rates

    @property
    def name(self) -> str:
        """What it is called: the name of the policy, or the file that holds it."""
        return self.choice.label

    def entry(self, *, with_cost: bool) -> dict[str, Any]:
        """What it achieves as plain values; its mean cost, too, if wanted."""
        cost = {"cost": self.evaluation.cost, "cost_lower": self.cost_lower, "cost_upper": self.cost_upper}
        return {
            "name": self.name,
            "late_fraction": self.evaluation.late_fraction,
            "late_per_day": self.evaluation.late_per_day,
            "mean_response_minutes": self.evaluation.mean_response_minutes,
            "lower": self.lower,
            "upper": self.upper,
            "improvement_over_first": self.improvement_over_first,
            "seconds": self.seconds,
            "converged": self.converged,
            "proven": self.proven,
            **self.arrivals,
        } | (cost if with_cost else {})

    @property
    def arrivals(self) -> dict[str, float]:
        """The minutes of the first and the last arrival beside the mean response, where they are known."""
        last = {} if self.evaluation.last_minutes is None else {"last_minutes": self.evaluation.last_minutes}
        return last | {f"{which}_p90_minutes": minutes for which, minutes in self.evaluation.p90_minutes.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """The results of several policies for one city, in the order in which they were asked for."""

    city: City
    problem: DispatchProblem
    results: tuple[ComparedPolicy, ...]

    @property
    def proven(self) -> bool:
        """Whether the intervals are proven; else they are estimated."""
        return self.problem.proven

    @property
    def failed(self) -> list[str]:
        """The policies that did not converge."""
        return [result.name for result in self.results if not result.converged]

    def _repr_html_(self) -> str:
        """The comparison in a notebook."""
        from runcard.outputs.notebook import comparison_html  # it knows this class

        return comparison_html(self)

    def result(self, name: str) -> ComparedPolicy:
        """The result of the policy of that name."""
        return next(result for result in self.results if result.name == name)

    def document(self) -> dict[str, Any]:
        """The comparison as plain values, ready for JSON; fractions are fractions, not percentages.

        An objective other than the late fraction stands beside the city, and the mean cost with each policy.
        """
        objective = self.problem.objective
        named = {} if objective == LATE else {"objective": asdict(objective)}
        return {"city": self.city.name} | named | {"policies": [self._entry(result) for result in self.results]}

    def _entry(self, result: ComparedPolicy) -> dict[str, Any]:
        evaluation = result.evaluation
        shares, busy = evaluation.dispatch_share.tolist(), evaluation.busy_fractions.tolist()
        columns = zip(self.problem.station_ids, shares, busy, strict=True)
        stations = [{"station_id": one, "dispatch_share": share, "busy_fraction": part} for one, share, part in columns]
        own: dict[str, Any] = {
            "gap_to_optimum": result.gap_to_optimum,
            "stations": stations,
            "outside_share": evaluation.outside_share,
        }
        if result.standards and self.city.plain:
            own["late_by_rule"] = result.late_by_rule
        if result.standards:
            own["rules" if self.city.plain else "standards"] = [one.document() for one in result.standards]
        return result.entry(with_cost=self.problem.objective != LATE) | own


def compare_policies(
    city: City,
    policies: Sequence[str] = DEFAULT_POLICIES,
    options: SolveOptions = DEFAULTS,
    *,
    kind: str | None = None,
    steps: Steps = NO_STEPS,
    problem: DispatchProblem | None = None,
    ready: Mapping[str, Policy] | None = None,
) -> Comparison:
    """The comparison of policies, given by name, paper label or file; one that is named twice is taken once.

    A city with several kinds of units is compared for one `kind`; see `department_comparison.py` for all. Where the
    problem is known it need not be made again. Policies that are `ready`, by what they are called, may have been made
    for other rates. The periods of a city are another matter: see `week_comparison.py`.
    """
    choices = policy_choices(policies, options)
    if ready is None:
        check_week(city.of_week, choices)
    city = city.of_kind(kind)
    (kind,) = city.kinds
    # Evaluation needs every state, whatever the policy.
    check_states(city.trucks, kind=city.said(kind))
    problem = city_problem(city, arrivals=True, steps=steps) if problem is None else problem
    tables = standard_tables(city, problem)
    load_kernels(problem, [choice.name_for(kind) for choice in choices])
    results: list[ComparedPolicy] = []
    for choice in choices:
        first = results[0].evaluation if results else None
        one = solved_result(
            problem,
            choice,
            options,
            kind=kind,
            first=first,
            steps=steps,
            standards=tables,
            ready=(ready or {}).get(choice.label),
        )
        results.append(one)
    lower = next((result.cost_lower for result in results if result.is_optimum), 0.0)
    if lower > 0.0:
        results = [replace(result, gap_to_optimum=max(0.0, result.cost_upper / lower - 1.0)) for result in results]
    return Comparison(city=city, problem=problem, results=tuple(results))


def solved_result(
    problem: DispatchProblem,
    choice: PolicyChoice,
    options: SolveOptions,
    *,
    kind: str,
    first: Evaluation | None = None,
    steps: Steps = NO_STEPS,
    words: str = "",
    standards: Mapping[Standard, StandardTables] | None = None,
    ready: Policy | None = None,
) -> ComparedPolicy:
    """The result of a policy, solved and evaluated; `first` is what it improves on, if not itself.

    A policy that is `ready` is only evaluated, and its certificate, which is about other rates, does not count.
    """
    began = time.perf_counter()
    steps.begin(f"{choice.label}{words}")
    policy = choice.policy(problem, options, kind) if ready is None else ready
    steps.begin(f"{choice.label}{words}, evaluated")
    tables = dict(enumerate((standards or {}).values()))
    of_standards = {f"missed {number}": one.missed for number, one in tables.items() if one.missed is not None}
    minutes = {f"minutes {number}": one.minutes for number, one in tables.items() if one.minutes is not None}
    evaluation = evaluate(
        policy,
        problem=problem,
        measures={**of_standards, **minutes},
        proven=tuple(of_standards),
        errors=dict.fromkeys(of_standards, error_of_standards(problem)),
        threads=options.threads,
        device=options.device,
        progress=options.progress,
    )
    seconds = time.perf_counter() - began
    cost, certificate = evaluation.cost, policy.certificate if ready is None else None
    lower, upper, converged = evaluation.cost_lower, evaluation.cost_upper, evaluation.converged
    if certificate is not None:
        if max(lower, certificate.lower) > min(upper, certificate.upper):
            raise RuncardError(f"{choice.label}: its certificate contradicts its evaluation; please report this")
        # Evaluation gives the closer upper bound; the lower one of `optimal` holds for every policy, so it stays.
        lower, upper = certificate.lower, min(upper, certificate.upper)
        converged = converged and certificate.converged
    if ready is not None and ready.certificate is not None:
        converged = converged and ready.certificate.converged
    cost_lower, cost_upper = min(max(lower, 0.0), cost), max(upper, cost)
    of_late = problem.objective == LATE
    missed = tuple(_missed(one, number, evaluation) for number, one in enumerate(standards or ()))
    late_before = (first or evaluation).late_fraction
    return ComparedPolicy(
        choice=choice,
        policy=policy,
        evaluation=evaluation,
        lower=cost_lower if of_late else max(evaluation.lower, 0.0),
        upper=cost_upper if of_late else evaluation.upper,
        cost_lower=cost_lower,
        cost_upper=cost_upper,
        improvement_over_first=1.0 - evaluation.late_fraction / late_before if late_before > 0.0 else 0.0,
        converged=converged,
        seconds=seconds,
        standards=missed,
        of_other_rates=ready is not None,
    )


def _missed(standard: Standard, number: int, evaluation: Evaluation) -> StandardResult:
    """How often a standard is missed, which is no more than always, and when the arrival is that it is about."""
    found, minutes = (evaluation.measures.get(f"{name} {number}") for name in ("missed", "minutes"))
    if found is None or found.lower is None or found.upper is None:
        return StandardResult(standard)
    mean, lower, upper = (min(part, 1.0) for part in (found.mean, found.lower, found.upper))
    return StandardResult(standard, mean, lower, upper, None if minutes is None else minutes.mean)
