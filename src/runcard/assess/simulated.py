"""Plans assessed by simulation: all kinds over the same incidents, as means of the chances of those who went.

Policies wait at home and drive as the problem says (the scenario `paper`), so that only who goes is left to chance (see
`chances.py`); percentiles and the work of units are counted.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from runcard.assess.chances import ChanceKeeper, chance_interval
from runcard.assess.outcome import FleetOutcome, Outcome, StandardOutcome
from runcard.assess.plans import solve_quickly
from runcard.assess.steps import NO_STEPS, Steps, city_problem
from runcard.city.model import City
from runcard.city.periods import ALWAYS
from runcard.interval import Interval
from runcard.plan.plan import Plan, plan_of
from runcard.policy.solve_options import SolveOptions
from runcard.simulate.engine import simulate_plans
from runcard.simulate.result import KindSimulation, ratio_interval


def simulated_outcomes(
    city: City,
    plans: Mapping[str, Plan],
    *,
    incidents: int,
    seed: int = 1,
    threads: int | None = None,
    like: City | None = None,
    steps: Steps = NO_STEPS,
) -> tuple[tuple[Outcome, ...], ChanceKeeper]:
    """What plans achieve over so many incidents, in the order of the plans; and who went, incident by incident.

    Units that a city `like` this one has as well meet the same draws in both.
    """
    keeper = ChanceKeeper(city, plans)
    steps.begin(f"simulating {incidents:,} incidents")
    kinds = simulate_plans(
        city,
        list(plans.values()),
        incidents=incidents,
        seed=seed,
        names=list(plans),
        threads=threads,
        progress=lambda done: steps.part(min(1.0, done.part)),
        keep_states=keeper.keep,
        like=like,
    ).kinds
    batches = kinds[city.kinds[0]].policies[0].batches
    of_city = np.array([float(batch.of_city) for batch in batches])
    outcomes = tuple(
        Outcome(
            name=name,
            city=city,
            periods={
                ALWAYS.name: {kind: _fleet(city.of_kind(kind), of, keeper, plan, name) for kind, of in kinds.items()}
            },
            incidents=of_city,
        )
        for name, plan in plans.items()
    )
    return outcomes, keeper


def simulated_policies(
    city: City,
    names: Sequence[str],
    options: SolveOptions,
    steps: Steps = NO_STEPS,
    *,
    incidents: int,
    seed: int = 1,
    like: City | None = None,
    arrivals: bool = True,
) -> tuple[dict[str, FleetOutcome], ChanceKeeper]:
    """What policies of these names achieve in a city of one kind, each solved for it; and who went."""
    (kind,) = city.kinds
    problem = city_problem(city, arrivals=arrivals, steps=steps)
    plans = {}
    for name in dict.fromkeys(names):
        steps.begin(name)
        plans[name] = plan_of(city, {kind: solve_quickly(problem, name, options)})
    outcomes, keeper = simulated_outcomes(
        city, plans, incidents=incidents, seed=seed, threads=options.threads, like=like, steps=steps
    )
    return {outcome.name: outcome.fleets[kind] for outcome in outcomes}, keeper


def _fleet(city: City, simulation: KindSimulation, keeper: ChanceKeeper, plan: Plan, name: str) -> FleetOutcome:
    """What one kind does under a plan."""
    (kind,) = city.kinds
    policy = next(result for result in simulation.policies if result.name == name)
    homes = np.array(simulation.station_of)
    stations = [station.station_id for station in city.stations]
    minutes = {"first_p90": policy.minutes("first_p90")}
    for which in ("first_mean", "last_mean"):
        sums = keeper.minutes(name, kind, last=which == "last_mean")
        minutes[which] = policy.minutes(which) if sums is None else ratio_interval(*sums)
    return FleetOutcome(
        kind=kind,
        city=city,
        problem=plan.fleet(kind).problem,
        policy=plan.fleet(kind).policy,
        missed=chance_interval(keeper.missed(name, kind), city.most_weight),
        cost=ratio_interval(*keeper.cost(name, kind)),
        standards=_standards(city, keeper, kind, name),
        minutes=minutes,
        busy_fractions=np.array([policy.busy_fractions[homes == home].mean() for home in stations]),
        calls_per_day=np.array([policy.dispatches_per_day[homes == home].mean() for home in stations]),
        why_missed=keeper.why_missed(name, kind),
    )


def _standards(city: City, keeper: ChanceKeeper, kind: str, name: str) -> tuple[StandardOutcome, ...]:
    """How often each standard is missed; () where the late fraction says it all."""
    rules = keeper.rules[kind]
    outcomes = []
    for number, rule in enumerate(rules if len(rules) > 1 or not city.plain else ()):
        missed, minutes = keeper.standard(name, kind, number), keeper.standard_minutes(name, kind, number)
        if not missed[1].any():
            outcomes.append(StandardOutcome(rule.standard))
            continue
        mean: Interval | None = None if minutes is None else ratio_interval(*minutes)
        outcomes.append(StandardOutcome(rule.standard, chance_interval(missed), mean))
    return tuple(outcomes)
