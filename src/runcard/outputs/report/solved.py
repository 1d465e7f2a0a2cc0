"""What policies do in one city, the same numbers whether every state is solved or incidents are simulated.

Each kind gets the policy of `policy_choice.best_policy`, which is `optimal` where it is small, or closest-first where
another policy costs more than that over the same incidents, by the 95 % interval of the difference. Where every kind is
small, all numbers are exact and their intervals proven or estimated; else all are simulated over the same incidents, as
means of the chances of those who went, with 95 % intervals (see `assess/chances.py`); only percentiles and the work of
units are counted. A gain is 1 - m / m₀, with m₀ what closest-first misses. Of bounds m in [l, u] and m₀ in [l₀, u₀] it
lies in [1 - u / l₀, 1 - l / u₀].
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.assess.assessment import Assessment
from runcard.assess.chances import ChanceKeeper, Sums, chance_interval
from runcard.assess.exact import outcomes_of
from runcard.assess.outcome import FleetOutcome, avoided, more
from runcard.assess.policy_choice import best_policy, is_small
from runcard.assess.steps import NO_STEPS, NamedSteps, Steps, city_problem
from runcard.assess.team_shares import TeamShares, exact_shares
from runcard.city.model import DAYS_PER_YEAR, City, Standard
from runcard.interval import Interval
from runcard.mdp.from_city import with_rates_of
from runcard.mdp.problem import DispatchProblem
from runcard.plan.fleet import Fleet, fleet_of
from runcard.plan.plan import Plan, plan_of
from runcard.plan.words import certainty
from runcard.policy.base import Policy
from runcard.policy.closest_first import quick_closest_first
from runcard.policy.fixed_card import quick_fixed_card
from runcard.policy.solve import solve_named
from runcard.policy.solve_options import SolveOptions
from runcard.simulate.department import DepartmentSimulation, simulate_plans
from runcard.simulate.result import ratio_interval

CLOSEST: Final = "closest-first"
CARD: Final = "fixed-card"
OPTIMAL: Final = "optimal"
RECOMMENDED: Final = "recommended"
"""The best policy that each kind is small enough for."""
MOST_INCIDENTS: Final = 60_000
"""Of a city like San Francisco, where they tell a gain to within 0.06 % of the misses."""
FEWEST_INCIDENTS: Final = 4_000
FEW_TEAMS: Final = 64
"""With so many teams a decision takes a hundredth of a millisecond, with more of them longer in proportion."""

QUICK: Final[Mapping[str, Callable[..., Policy]]] = {CLOSEST: quick_closest_first, CARD: quick_fixed_card}

NOTHING: Final = Interval(0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How a report is computed."""

    incidents: int | None = None
    """To simulate for each policy; None: as many as take some seconds."""
    seed: int = 1
    options: SolveOptions = field(default_factory=SolveOptions)
    steps: Steps = NO_STEPS


@dataclass(frozen=True, eq=False, kw_only=True)
class KindResult:
    """What the units of one kind do under a policy."""

    mean_minutes: float
    """Until the first of them is there."""
    p90_minutes: float | None
    """In nine of ten incidents it is there by then; None where there are too many teams to find it."""
    busy_fractions: NDArray[np.float64]
    """[I] of a unit of each station."""
    calls_per_day: NDArray[np.float64]
    """[I] of a unit of each station."""


@dataclass(frozen=True, kw_only=True)
class StandardFinding:
    """How often a standard is missed, and the mean time of the arrival that it is about; None where not known."""

    standard: Standard
    missed: Interval | None
    minutes: float | None
    fewer: Interval | None = None
    """By how much less often than under the first policy, incident by incident."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PolicyResult:
    """What one policy does with all kinds together."""

    name: str
    missed: Interval
    """The late fraction, or the weighted sum of missed standards, for each incident of the city."""
    gain: Interval
    """The part of the misses of the first policy that it avoids."""
    fewer: Interval
    """The same for each incident of the city."""
    mean_minutes: float
    """Until the first unit of a kind is there, over all kinds that incidents need."""
    standards: tuple[StandardFinding, ...]
    kinds: Mapping[str, KindResult]


@dataclass(frozen=True, eq=False, kw_only=True)
class Solved:
    """A city with its policies, the first of which is closest-first, and what they do."""

    city: City
    exact: bool
    incidents: int | None
    """Simulated for each policy; None if all is exact."""
    policies: tuple[Mapping[str, Policy], ...]
    """By kind, in the order of the results."""
    results: tuple[PolicyResult, ...]
    shares: tuple[Mapping[str, TeamShares], ...] = ()
    """By kind, who goes how often to each demand point; () if not asked for."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """By kind the policy that would be recommended, where it is worse than closest-first: that is in its place."""
    failed: tuple[str, ...] = ()
    """The policies that were not solved to the tolerance; their intervals still hold."""

    @property
    def last(self) -> PolicyResult:
        """What the recommended policy does."""
        return self.results[-1]

    @property
    def sure(self) -> str:
        """What intervals are: proven, estimated, or at 95 %."""
        proven = all(problem.proven for problem in self.problems.values())
        return certainty(proven) if self.exact else "95 %"

    @property
    def problems(self) -> dict[str, DispatchProblem]:
        """The problem of each kind."""
        return {kind: policy.problem for kind, policy in self.policies[0].items()}


def policy_for(city: City, name: str) -> str:
    """The name of the policy of a city of one kind, where `recommended` stands for the best that it allows."""
    return best_policy(city) if name == RECOMMENDED else name


def solved_city(
    city: City,
    names: tuple[str, ...],
    effort: Effort,
    *,
    known: Mapping[str, DispatchProblem] | None = None,
    with_shares: bool = False,
) -> Solved:
    """A city without periods, solved for policies of these names; `known` are problems that differ in rates only."""
    cities = {kind: city.of_kind(kind) for kind in city.sent_kinds}
    exact = all(is_small(cities[kind]) for kind in city.kinds)
    problems = {}
    for kind, seen in cities.items():
        if known is not None and kind in known:
            problems[kind] = with_rates_of(known[kind], seen)
        elif kind in city.kinds or not exact:
            steps = effort.steps if len(cities) == 1 else NamedSteps(effort.steps, kind)
            problems[kind] = city_problem(seen, arrivals=exact or _asks_for_last(seen), steps=steps)
    if exact:
        plans = {
            name: Plan(fleets=tuple(_fleet(cities[kind], name, problems[kind], effort) for kind in city.kinds))
            for name in names
        }
        outcomes = outcomes_of(city, plans, problems, effort.options, effort.steps)
        return of_assessment(Assessment(city=city, outcomes=outcomes), effort, with_shares=with_shares)
    return _simulated(city, cities, names, problems, effort, with_shares=with_shares)


def _asks_for_last(city: City) -> bool:
    """Whether a standard, or one of several rules of a city without any, is about the last of several units."""
    several = not city.plain or len(city.standards) > 1
    return several and any(1 < one.arrivals == one.trucks for one in city.standards)


def _fleet(city: City, name: str, problem: DispatchProblem, effort: Effort) -> Fleet:
    """The fleet of one kind under the policy of a name."""
    (kind,), policy = city.kinds, policy_for(city, name)
    effort.steps.begin(f"{kind}: {policy}" if city.said(kind) else policy)
    return fleet_of(solve_named(problem, policy, effort.options), kind=kind)


def of_assessment(found: Assessment, effort: Effort, *, with_shares: bool = False) -> Solved:
    """What an exact assessment says; its first policy is closest-first and its last the recommended one."""
    results = tuple(
        PolicyResult(
            name=" and ".join(dict.fromkeys(fleet.policy.name for fleet in outcome.fleets.values())),
            missed=outcome.missed,
            gain=avoided(found.first.missed, outcome.missed) if number else NOTHING,
            fewer=more(outcome.missed, found.first.missed) if number else NOTHING,
            mean_minutes=outcome.first_minutes,
            standards=tuple(
                StandardFinding(
                    standard=after.standard,
                    missed=after.missed,
                    minutes=after.minutes,
                    fewer=more(after.missed, before.missed) if before.missed and after.missed else None,
                )
                for before, after in zip(found.first.standards, outcome.standards, strict=True)
            ),
            kinds={kind: _exact_kind(fleet) for kind, fleet in outcome.fleets.items()},
        )
        for number, outcome in enumerate(found)
    )
    shares = []
    for outcome in found if with_shares else ():
        effort.steps.begin(f"{outcome.name} by area")
        shares.append(
            {
                kind: exact_shares(fleet.policy, fleet.evaluation, threads=effort.options.threads)
                for kind, fleet in outcome.fleets.items()
            }
        )
    return Solved(
        city=found.city,
        exact=True,
        incidents=None,
        policies=tuple({kind: fleet.policy for kind, fleet in outcome.fleets.items()} for outcome in found),
        results=results,
        shares=tuple(shares),
        failed=tuple(found.failed),
    )


def _simulated_gain(first: NDArray[np.float64], own: NDArray[np.float64]) -> Interval:
    """The same by batches of a simulation; nobody avoids more than all."""
    found = ratio_interval(first - own, first)
    return Interval(found.value, found.low, min(1.0, found.high))


def _exact_kind(fleet: FleetOutcome) -> KindResult:
    """What one kind does, from its exact evaluation."""
    return KindResult(
        mean_minutes=fleet.first_minutes,
        p90_minutes=fleet.evaluation.p90_minutes.get("first"),
        busy_fractions=fleet.evaluation.busy_fractions,
        calls_per_day=fleet.calls_per_day,
    )


def incidents_for(problems: Mapping[str, DispatchProblem]) -> int:
    """How many incidents can be simulated in some seconds for each policy."""
    most = max(problem.num_teams for problem in problems.values())
    return max(FEWEST_INCIDENTS, int(MOST_INCIDENTS * min(1.0, FEW_TEAMS / most)))


def _simulated(
    city: City,
    cities: Mapping[str, City],
    names: tuple[str, ...],
    problems: Mapping[str, DispatchProblem],
    effort: Effort,
    *,
    with_shares: bool,
) -> Solved:
    """The same where some kind is too large: every kind over the same incidents."""
    solved: list[dict[str, Policy]] = []
    for name in names:
        own = {}
        for kind, problem in problems.items():
            word = policy_for(cities[kind], name) if kind in city.kinds else CLOSEST
            effort.steps.begin(word if len(problems) == 1 else f"{kind}: {word}")
            # Nobody looks at the prices of closest-first and of the card here, and they take long.
            solve = QUICK.get(word, partial(solve_named, name=word))
            own[kind] = solve(problem, options=effort.options)
        solved.append(own)
    incidents, replaced = incidents_for(problems) if effort.incidents is None else effort.incidents, dict[str, str]()
    while True:
        plans = {name: plan_of(city, own) for name, own in zip(names, solved, strict=True)}
        keeper = ChanceKeeper(city, plans)
        effort.steps.begin(f"simulating {incidents:,} incidents")
        simulation = simulate_plans(
            city,
            list(plans.values()),
            incidents=incidents,
            seed=effort.seed,
            names=names,
            threads=effort.options.threads,
            progress=lambda done: effort.steps.part(done.part),
            keep_records=keeper.keep,
        )
        worse = _worse_kinds(city, dict(zip(names, solved, strict=True)), keeper)
        if not worse:
            break
        replaced |= worse
        solved[names.index(RECOMMENDED)] |= {kind: solved[names.index(CLOSEST)][kind] for kind in worse}
    shares = keeper.shares() if with_shares else {}
    return Solved(
        city=city,
        exact=False,
        incidents=incidents,
        policies=tuple({kind: own[kind] for kind in city.kinds} for own in solved),
        results=tuple(_simulated_result(city, cities, simulation, keeper, number) for number in range(len(names))),
        shares=tuple({kind: shares[name][kind] for kind in city.kinds} for name in names if shares),
        replaced=replaced,
    )


def _worse_kinds(city: City, solved: Mapping[str, Mapping[str, Policy]], keeper: ChanceKeeper) -> dict[str, str]:
    """By kind the recommended policy, where that is worse than closest-first and not proven to be the best."""
    if RECOMMENDED not in solved or CLOSEST not in solved:
        return {}
    names = {kind: solved[RECOMMENDED][kind].name for kind in city.kinds}
    return {
        kind: name
        for kind, name in names.items()
        if name not in (CLOSEST, OPTIMAL) and keeper.is_worse(RECOMMENDED, CLOSEST, kind)
    }


def _simulated_result(
    city: City, cities: Mapping[str, City], simulation: DepartmentSimulation, keeper: ChanceKeeper, number: int
) -> PolicyResult:
    """What a simulation found for one policy."""
    name, kinds, per_day = simulation.names[number], {}, {kind: cities[kind].incidents_per_day for kind in city.kinds}
    for kind, one in simulation.kinds.items():
        policy, homes = one.policies[number], np.array(one.station_of)
        stations = [station.station_id for station in cities[kind].stations]
        kinds[kind] = KindResult(
            mean_minutes=ratio_interval(*keeper.first_minutes(name, kind)).value,
            p90_minutes=policy.minutes("first_p90").value,
            busy_fractions=np.array([policy.busy_fractions[homes == home].mean() for home in stations]),
            calls_per_day=np.array([policy.dispatches_per_day[homes == home].mean() for home in stations]),
        )
    first, own = (_missed(simulation, keeper, one) for one in (simulation.names[0], name))
    return PolicyResult(
        name=name,
        missed=chance_interval(own, simulation.most_weight),
        gain=_simulated_gain(first[0], own[0]) if number else NOTHING,
        fewer=ratio_interval(first[0] - own[0], own[1]) if number else NOTHING,
        mean_minutes=sum(per_day[kind] * one.mean_minutes for kind, one in kinds.items()) / sum(per_day.values()),
        standards=_simulated_standards(city, keeper, simulation.names[0], name),
        kinds=kinds,
    )


def _missed(simulation: DepartmentSimulation, keeper: ChanceKeeper, name: str) -> Sums:
    """By batch: the weighted sum of standards that all kinds miss, and the incidents of the city."""
    batches = next(iter(simulation.kinds.values())).policies[0].batches
    total = np.sum([keeper.missed(name, kind)[0] for kind in simulation.kinds], axis=0)
    return total, np.array([float(batch.of_city) for batch in batches])


def _simulated_standards(city: City, keeper: ChanceKeeper, first: str, name: str) -> tuple[StandardFinding, ...]:
    """How often each standard is missed under a policy, and how much less often than under the first one.

    Of a city without standards that has several rules: each of these.
    """
    found, several = {}, not city.plain or any(len(rules) > 1 for rules in keeper.rules.values())
    for kind, rules in keeper.rules.items() if several else ():
        for number, rule in enumerate(rules):
            before, own = (keeper.standard(one, kind, number) for one in (first, name))
            seen, minutes = own[1].any(), keeper.standard_minutes(name, kind, number)
            found[rule.standard] = StandardFinding(
                standard=rule.standard,
                missed=chance_interval(own) if seen else None,
                minutes=ratio_interval(*minutes).value if seen and minutes is not None else None,
                fewer=ratio_interval(before[0] - own[0], own[1]) if seen else None,
            )
    return tuple(found[one] for one in city.standards if one in found)


def quicker(effort: Effort, incidents: int | None, part: float) -> Effort:
    """The same effort with a part of the incidents."""
    return effort if incidents is None else replace(effort, incidents=max(1, round(part * incidents)))


def per_year(per_incident: float, city: City) -> float:
    """What happens a year, given how often it happens for each incident of a city."""
    return DAYS_PER_YEAR * per_incident * city.incidents_per_day
