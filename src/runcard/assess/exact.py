"""Plans assessed exactly: the policy of every kind evaluated at the rates of every period, as if it lasted for ever."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from runcard.assess.assessment import Assessment
from runcard.assess.outcome import FleetOutcome, Outcome, StandardOutcome, unknown_error
from runcard.assess.plans import of_each_kind, plans_for
from runcard.assess.policy_choice import check_week, policy_choices
from runcard.assess.steps import NO_STEPS, NamedSteps, Steps, city_problem
from runcard.assess.why import Reasons
from runcard.assess.workers import HERE, Workers
from runcard.city.model import City, Standard
from runcard.city.parts import MIDDLE
from runcard.errors import RuncardError
from runcard.interval import Interval
from runcard.mdp.evaluate import Evaluation
from runcard.mdp.memory import check_states
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.standards import StandardTables, error_of_standards, standard_tables
from runcard.plan.fleet import Fleet
from runcard.plan.plan import Plan, problems_of_periods
from runcard.policy.base import Policy
from runcard.policy.solve import evaluate
from runcard.policy.solve_options import DEFAULTS, SolveOptions
from runcard.policy.warm_up import load_kernels

DEFAULT_POLICIES: Final = ("closest-first", "one-step", "optimal")


def fleet_outcome(
    city: City,
    problem: DispatchProblem,
    policy: Policy,
    options: SolveOptions,
    *,
    name: str,
    tables: Mapping[Standard, StandardTables] | None = None,
    reasons: Reasons | None = None,
    solve_seconds: float = 0.0,
    steps: Steps = NO_STEPS,
) -> FleetOutcome:
    """What a policy achieves in a city of one kind; `problem` may differ from that of the policy in its rates.

    The certificate of a policy that was made for other rates does not count. `tables` are those of the standards, and
    `reasons` say why these are missed.
    """
    began = time.perf_counter()
    steps.begin(f"{name}, evaluated")
    (kind,) = city.kinds
    by_number = dict(enumerate((tables or {}).values()))
    missed = {f"missed {number}": of.missed for number, of in by_number.items() if of.missed is not None}
    minutes = {f"minutes {number}": of.minutes for number, of in by_number.items() if of.minutes is not None}
    evaluation = evaluate(
        policy,
        problem=problem,
        measures={**missed, **minutes},
        proven=tuple(missed),
        errors=dict.fromkeys(missed, error_of_standards(problem)),
        threads=options.threads,
        device=options.device,
        progress=options.progress,
    )
    own_rates, certificate = _same_rates(policy.problem, problem), policy.certificate
    lower, upper = evaluation.cost_lower, evaluation.cost_upper
    if certificate is not None and own_rates:
        if max(lower, certificate.lower) > min(upper, certificate.upper):
            raise RuncardError(f"{name}: its certificate contradicts its evaluation; please report this")
        # Evaluation gives the closer upper bound; the lower one of `optimal` holds for every policy, so it stays.
        lower, upper = certificate.lower, min(upper, certificate.upper)
    proven = problem.proven
    cost = Interval(evaluation.cost, min(max(lower, 0.0), evaluation.cost), max(upper, evaluation.cost), proven)
    late = Interval(evaluation.late_fraction, max(evaluation.lower, 0.0), evaluation.upper, proven)
    standards = []
    for number, standard in enumerate(tables or ()):
        chance, mean = (evaluation.measures.get(f"{which} {number}") for which in ("missed", "minutes"))
        if chance is None or chance.lower is None or chance.upper is None:
            standards.append(StandardOutcome(standard))
            continue
        value, low, high = (min(end, 1.0) for end in (chance.mean, chance.lower, chance.upper))  # no more than always
        minutes_of = None if mean is None else unknown_error(mean.mean)
        standards.append(StandardOutcome(standard, Interval(value, low, high, proven), minutes_of))
    return FleetOutcome(
        kind=kind,
        city=city,
        problem=problem,
        policy=policy,
        missed=cost if problem.objective.minimise == "late" else late,
        cost=cost,
        standards=tuple(standards),
        minutes=_minutes(evaluation),
        busy_fractions=evaluation.busy_fractions,
        calls_per_day=evaluation.busy_fractions * problem.returns_per_day,
        exact=evaluation,
        why_missed=None if reasons is None else reasons.why(evaluation.late_fraction, evaluation.probability),
        converged=evaluation.converged and (certificate is None or certificate.converged),
        seconds=solve_seconds + time.perf_counter() - began,
        own_rates=own_rates,
    )


def _minutes(evaluation: Evaluation) -> dict[str, Interval]:
    """The minutes of the first, the last and other arrivals that standards name, so far as they are known."""
    means = {"first_mean": evaluation.mean_response_minutes, "last_mean": evaluation.last_minutes}
    means |= {f"{name}_mean": of.mean for name, of in evaluation.measures.items() if name.startswith(MIDDLE)}
    p90 = {f"{which}_p90": minutes for which, minutes in evaluation.p90_minutes.items()}
    return {which: unknown_error(minutes) for which, minutes in (means | p90).items() if minutes is not None}


def _same_rates(problem: DispatchProblem, other: DispatchProblem) -> bool:
    """Whether incidents and returns come at the same rates."""
    rates = problem.incidents_per_day, other.incidents_per_day
    return problem.returns_per_day == other.returns_per_day and np.array_equal(*rates)


def assess_exactly(
    city: City,
    policies: Sequence[str] = DEFAULT_POLICIES,
    options: SolveOptions = DEFAULTS,
    *,
    steps: Steps = NO_STEPS,
    problems: Mapping[str, DispatchProblem] | None = None,
    workers: Workers = HERE,
) -> Assessment:
    """What policies achieve exactly, given by name, paper label or file; one that is named twice is taken once.

    Driving times are found once for all periods; `problems` of some kinds at the mean rates need not be made again.
    """
    choices = policy_choices(policies, options)
    check_week(city, choices)
    for kind in city.kinds:  # before any work: evaluation needs every state, whatever the policy
        check_states(city.of_kind(kind).trucks, kind=city.said(kind))
    known = dict(problems or {})
    for kind, of_kind in of_each_kind(city, steps).items():
        if kind not in known:
            known[kind] = city_problem(city.of_kind(kind), arrivals=True, steps=of_kind)
        load_kernels(known[kind], [choice.name_for(kind) for choice in choices])
    plans = plans_for(city, choices, options, steps, problems=known)
    outcomes = outcomes_of(city, plans, known, options, steps, workers)
    return Assessment(city=city, outcomes=outcomes, choices=tuple(choices))


def outcomes_of(
    city: City,
    plans: Mapping[str, Plan],
    problems: Mapping[str, DispatchProblem],
    options: SolveOptions = DEFAULTS,
    steps: Steps = NO_STEPS,
    workers: Workers = HERE,
) -> tuple[Outcome, ...]:
    """What plans achieve; `problems` are those of each kind at the mean rates of the week."""
    if not workers.here:
        options, steps = replace(options, threads=1, progress=None), NO_STEPS
    tasks = []
    for kind, of_kind in of_each_kind(city, steps).items():
        seen = city.of_kind(kind)
        for number, (period, problem) in enumerate(problems_of_periods(seen, problems[kind]).items()):
            fleets = {name: plan.fleet(kind) for name, plan in plans.items()}
            tasks.append(
                _Task(
                    period=period,
                    city=seen.in_period(period) if city.has_periods else seen.of_week,
                    problem=problem,
                    policies={
                        name: fleet.policies[number] if fleet.knows_hour else fleet.policy
                        for name, fleet in fleets.items()
                    },
                    solve_seconds={
                        name: 0.0 if _is_blind(city, fleet) else sum(fleet.seconds[number : number + 1])
                        for name, fleet in fleets.items()
                    },
                    options=options,
                    steps=NamedSteps(of_kind, period) if city.has_periods else of_kind,
                )
            )
    found: dict[str, dict[str, dict[str, FleetOutcome]]] = {
        name: {period.name: {} for period in city.periods} for name in plans
    }
    for task, outcomes in zip(tasks, workers.each(_fleet_outcomes, tasks), strict=True):
        for name, outcome in outcomes.items():
            found[name][task.period][outcome.kind] = outcome
    return tuple(
        Outcome(
            name=name,
            city=city,
            periods=found[name],
            solve_seconds=sum(sum(fleet.seconds) for fleet in plan.fleets if _is_blind(city, fleet)),
        )
        for name, plan in plans.items()
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Task:
    """The policies of one kind to evaluate in one period."""

    period: str
    city: City
    problem: DispatchProblem
    policies: Mapping[str, Policy]
    solve_seconds: Mapping[str, float]
    options: SolveOptions
    steps: Steps


def _fleet_outcomes(task: _Task) -> dict[str, FleetOutcome]:
    """What each policy of a task achieves, by the name of its plan."""
    tables = standard_tables(task.city, task.problem)
    reasons = Reasons(task.city, task.problem, task.options.threads)
    return {
        name: fleet_outcome(
            task.city,
            task.problem,
            policy,
            task.options,
            name=name,
            tables=tables,
            reasons=reasons,
            solve_seconds=task.solve_seconds[name],
            steps=task.steps,
        )
        for name, policy in task.policies.items()
    }


def _is_blind(city: City, fleet: Fleet) -> bool:
    """Whether a fleet does not know the hour in a city with periods."""
    return city.has_periods and not fleet.knows_hour
