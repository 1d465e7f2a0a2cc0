"""What policies do in one city, the same numbers whether every state is solved or incidents are simulated.

Each kind gets the policy of `policy_choice.best_policy`, which is `optimal` where it is small, or closest-first where
another policy costs more than that over the same incidents, by the 95 % interval of the difference. Where every kind is
small, all numbers are exact and their intervals proven or estimated; else all are simulated (see `simulated.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from runcard.assess.assessment import Assessment
from runcard.assess.chances import ChanceKeeper
from runcard.assess.exact import outcomes_of
from runcard.assess.plans import solve_quickly
from runcard.assess.policy_choice import best_policy, is_small
from runcard.assess.simulated import simulated_outcomes
from runcard.assess.steps import NO_STEPS, NamedSteps, Steps, city_problem
from runcard.assess.team_shares import exact_shares
from runcard.assess.workers import HERE, Workers
from runcard.city.model import DAYS_PER_YEAR, City
from runcard.mdp.from_city import with_rates_of
from runcard.mdp.problem import DispatchProblem
from runcard.plan.fleet import fleet_of
from runcard.plan.plan import Plan, plan_of
from runcard.policy.base import Policy
from runcard.policy.solve import solve_named
from runcard.policy.solve_options import SolveOptions

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


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How a report is computed."""

    incidents: int | None = None
    """To simulate for each policy; None: as many as take some seconds."""
    seed: int = 1
    options: SolveOptions = field(default_factory=SolveOptions)
    steps: Steps = NO_STEPS
    workers: Workers = HERE
    """Who solves cities that are looked at besides."""

    @property
    def elsewhere(self) -> "Effort":
        """The effort of a task that a worker does: on one thread, and telling nobody how far it is."""
        options = replace(self.options, threads=1, progress=None)
        return replace(self, options=options, steps=NO_STEPS, workers=HERE)


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
) -> Assessment:
    """A city without periods, assessed under policies of these names, the first of which is closest-first.

    `known` are problems that differ in rates only.
    """
    cities = {kind: city.of_kind(kind) for kind in city.sent_kinds}
    exact = all(is_small(cities[kind]) for kind in city.kinds)
    problems = {}
    for kind, seen in cities.items():
        if known is not None and kind in known:
            problems[kind] = with_rates_of(known[kind], seen)
        elif kind in city.kinds or not exact:
            steps = effort.steps if len(cities) == 1 else NamedSteps(effort.steps, kind)
            problems[kind] = city_problem(seen, arrivals=exact or _asks_for_others(seen), steps=steps)
    if not exact:
        return _simulated(city, cities, names, problems, effort, with_shares=with_shares)
    plans: dict[str, Plan] = {}
    for name in names:
        word, fleets = policy_for(cities[city.kinds[0]], name), []
        for kind in city.kinds:
            effort.steps.begin(word if len(city.kinds) == 1 else f"{kind}: {word}")
            fleets.append(fleet_of(solve_named(problems[kind], word, effort.options), kind=kind))
        plans[word] = Plan(fleets=tuple(fleets))
    outcomes = outcomes_of(city, plans, problems, effort.options, effort.steps)
    found = Assessment(city=city, outcomes=outcomes)
    return with_team_shares(found, effort) if with_shares else found


def with_team_shares(found: Assessment, effort: Effort) -> Assessment:
    """The same exact assessment, with who goes how often to each demand point."""
    shares = []
    for outcome in found:
        effort.steps.begin(f"{outcome.name} by area")
        shares.append(
            {
                kind: exact_shares(fleet.policy, fleet.evaluation, threads=effort.options.threads)
                for kind, fleet in outcome.fleets.items()
            }
        )
    return replace(found, shares=tuple(shares))


def _asks_for_others(city: City) -> bool:
    """Whether a standard, or one of several rules of a city without any, is about another unit than the first."""
    several = not city.plain or len(city.standards) > 1
    return several and any(standard.arrivals > 1 for standard in city.standards)


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
) -> Assessment:
    """The same where some kind is too large: every kind over the same incidents."""
    solved: list[dict[str, Policy]] = []
    for name in names:
        policies = {}
        for kind, problem in problems.items():
            word = policy_for(cities[kind], name) if kind in city.kinds else CLOSEST
            effort.steps.begin(word if len(problems) == 1 else f"{kind}: {word}")
            policies[kind] = solve_quickly(problem, word, effort.options)
        solved.append(policies)
    incidents, replaced = incidents_for(problems) if effort.incidents is None else effort.incidents, dict[str, str]()
    while True:
        plans = {name: plan_of(city, policies) for name, policies in zip(names, solved, strict=True)}
        outcomes, keeper = simulated_outcomes(
            city, plans, incidents=incidents, seed=effort.seed, threads=effort.options.threads, steps=effort.steps
        )
        worse = _worse_kinds(city, dict(zip(names, solved, strict=True)), keeper)
        if not worse:
            break
        replaced |= worse
        solved[names.index(RECOMMENDED)] |= {kind: solved[names.index(CLOSEST)][kind] for kind in worse}
    shares = keeper.shares() if with_shares else {}
    return Assessment(
        city=city,
        outcomes=outcomes,
        num_incidents=incidents,
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


def quicker(effort: Effort, incidents: int | None, part: float) -> Effort:
    """The same effort with a part of the incidents."""
    return effort if incidents is None else replace(effort, incidents=max(1, round(part * incidents)))


def per_year(per_incident: float, city: City) -> float:
    """What happens a year, given how often it happens for each incident of a city."""
    return DAYS_PER_YEAR * per_incident * city.incidents_per_day
