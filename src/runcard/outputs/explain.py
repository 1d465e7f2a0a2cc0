"""A decision explained: which team goes, what that costs now and later, and what else could have gone.

The reason of a value policy is one sum, cost now + price, where the price h(f-a) - h(f) is the expected extra cost
later from taking those trucks now. Unless the city has another objective, costs are late incidents: the cost now is
P(late now). The team that is best now and the team that closest-first would send are shown with the same numbers, so
that the difference can be seen.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import LATE, Objective
from runcard.mdp.problem import LAST_MINUTES, MINUTES, DispatchProblem, is_standard
from runcard.plan.words import class_words, in_decimals, percent, team_words
from runcard.policy.base import Decision, Option, Policy
from runcard.policy.options import checked_situation, first_in_order, idle_teams, option_of, team_number

MOST_EQUALLY_GOOD: Final = 32


class Phrases(NamedTuple):
    """An objective in the words of an explanation; {weight} is its weight."""

    now: str
    """The cost of a team now."""
    none_better: str
    best_now: str
    price: str


PHRASES: Final = {
    "late": Phrases(
        "P(late now)",
        "No other team is surer to be in time now.",
        "Surest to be in time now",
        "Price: the expected number of extra late incidents later from taking these trucks now.",
    ),
    "minutes": Phrases(
        "mean minutes now",
        "No other team is sooner there on average.",
        "Soonest there on average",
        "Price: the expected extra minutes of response, of all later incidents together, from taking these trucks now.",
    ),
    "late+minutes": Phrases(
        "P(late now) + {weight:g} × mean minutes now",
        "No other team is better now, prices aside.",
        "Best now, prices aside,",
        "Price: the expected number of extra late incidents later from taking these trucks now, with each extra minute "
        "of response counted as {weight:g} of one.",
    ),
    "standards": Phrases(
        "missed standards now",
        "No other team misses fewer standards now.",
        "Fewest standards missed now",
        "Price: the expected number of extra missed standards later, each with its weight, from taking these now.",
    ),
}
"""By what is minimised; "standards" where several of them, or their weights, count."""


class Arrival(NamedTuple):
    """When the first and the last truck of a team are there, in minutes: the mean, and the 90th percentile."""

    first_minutes: float
    first_p90_minutes: float
    last_minutes: float
    last_p90_minutes: float


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A decision and what it is compared with: the team that is best now, and that of closest-first."""

    place: str
    """The node, and which of its incident classes, if it has several."""
    policy: str
    reason: str
    """Why the team goes, if not because cost now + price is the smallest (see `Policy.reason`)."""
    decision: Decision
    best_now: Option
    """The team with the smallest cost now: unless the objective is another one, the surest to be in time."""
    closest: Option
    num_teams: int
    """How many teams could go."""
    truck_prices: dict[str, float]
    """The price of one truck of each station that has an idle one."""
    objective: Objective = LATE
    truck: str = "truck"
    """What a truck is called: the kind of the units, where there are kinds."""
    arrivals: Mapping[tuple[str, ...], Arrival] = field(default_factory=dict)
    """When the trucks of each team that is named are there, where that is known."""
    of_standards: bool = False
    """Whether several standards, or their weights, count."""

    @property
    def counts(self) -> str:
        """What is minimised, as in `PHRASES`."""
        return "standards" if self.of_standards and self.objective == LATE else self.objective.minimise

    @property
    def headline(self) -> str:
        """What to do, in one sentence."""
        team = self.decision.team
        if set(team) == {OUTSIDE_ID}:
            return f"No {self.truck} is idle: {team_words(team)} must come to {self.place}."
        return f"Send {team_words(team)} to {self.place}."

    @property
    def reasons(self) -> list[str]:
        """Why, in plain words: a few sentences."""
        decision = self.decision
        if self.num_teams == 1:
            return [f"It is the only team that could go: {self._sum_of(decision)}."]
        if self.reason:
            going = f"Of the {self.num_teams} teams that could go it {self.reason}: {self._sum_of(decision)}."
            return [going, f"{self.policy.capitalize()} does not look at prices."]
        phrases = PHRASES[self.counts]
        of_teams = f"Of the {self.num_teams} teams that could go it minimises"
        now = phrases.now.format(weight=self.objective.weight)
        reasons = [f"{of_teams} {now} + price of the team: {self._sum_of(decision)}."]
        best_now, closest = self.best_now.team, self.closest.team
        if best_now == decision.team:
            reasons.append(phrases.none_better)
        else:
            also = ", which closest-first would send" if closest == best_now else ""
            reasons.append(f"{phrases.best_now} is {team_words(best_now)}{also}: {self._sum_of(self.best_now)}.")
        if closest not in (decision.team, best_now):
            reasons.append(f"Closest-first would send {team_words(closest)}: {self._sum_of(self.closest)}.")
        return reasons

    def _sum_of(self, option: Option) -> str:
        """The cost of a team now, its price and their sum, as the objective counts them."""
        late, minutes = f"P(late now) {self._price(option.p_late)}", f"{option.minutes or 0.0:.3f} min"
        of_standards = f"missed standards now {self._price(option.p_late)}"
        now = {"late": late, "minutes": f"{minutes} now", "standards": of_standards}.get(self.counts)
        now = now or f"{late} + {self.objective.weight:g} × {minutes}"
        return f"{now} + price {self._price(option.price)} = {self._price(option.total)}"

    @property
    def notes(self) -> list[str]:
        """When the trucks are there, in words, where that is known."""
        known = self.arrivals.get(self.decision.team)
        if known is None:
            return []
        words = f"after {known.first_minutes:.1f} min on average, 9 times of 10 in {known.first_p90_minutes:.1f} min"
        if len(self.decision.team) == 1:
            return [f"It is there {words}."]
        last = f"after {known.last_minutes:.1f} min, 9 times of 10 in {known.last_p90_minutes:.1f} min"
        return [f"The first is there {words}; the last {last}."]

    @property
    def price_words(self) -> str:
        """What a price is, in one sentence."""
        return PHRASES[self.counts].price.format(weight=self.objective.weight)

    @property
    def truck_words(self) -> str:
        """The prices of the trucks that go, one by one."""
        going = dict.fromkeys(station_id for station_id in self.decision.team if station_id != OUTSIDE_ID)
        return ", ".join(f"{station_id} {self._price(self.truck_prices[station_id])}" for station_id in going)

    def _price(self, price: float) -> str:
        """A price or a sum in the unit of the objective."""
        if self.objective.minimise == "late":
            return percent(price)
        return f"{in_decimals(price, 3)} min" if self.objective.minimise == "minutes" else in_decimals(price, 4)


def explain(
    policy: Policy,
    idle: NDArray[np.int64],
    point: int,
    decision: Decision | None = None,
    find_arrivals: Callable[[Decision], DispatchProblem] | None = None,
) -> Explanation:
    """The decision of a policy for an incident at demand point `point` when `idle` [I] trucks are idle, explained.

    The policy is not asked again if its decision is given.
    """
    problem = policy.problem
    idle, point = checked_situation(problem, idle, point)
    teams = idle_teams(problem, idle, point)
    cost = problem.cost[teams, point]
    # Of teams that are equally good now, the one that costs less later; a few of them are enough to look at.
    equally_good = teams[cost == cost.min()][:MOST_EQUALLY_GOOD]
    closest = first_in_order(problem, problem.order, idle, point)
    with_idle = np.flatnonzero(idle)
    truck_prices = policy.prices(idle, 1 + with_idle)  # team 1 + i is one truck of station i
    asked = np.append(equally_good, closest)
    prices = policy.prices(idle, asked)
    best_now, decision = int(prices[:-1].argmin()), decision or policy.decide(idle, point)
    return Explanation(
        place=problem.point_ids[point] + class_words(problem, point),
        policy=policy.name,
        reason=policy.reason,
        decision=decision,
        best_now=option_of(problem, point, int(asked[best_now]), float(prices[best_now])),
        closest=option_of(problem, point, closest, float(prices[-1])),
        num_teams=len(teams),
        truck_prices={problem.station_ids[i]: float(price) for i, price in zip(with_idle, truck_prices, strict=True)},
        objective=problem.objective,
        of_standards=any(map(is_standard, problem.measures)),
        arrivals=_arrivals(problem if find_arrivals is None else find_arrivals(decision), point, decision),
    )


def _arrivals(problem: DispatchProblem, point: int, decision: Decision) -> dict[tuple[str, ...], Arrival]:
    """When the trucks of a decision and its alternatives are there, where the problem knows it."""
    means, p90 = problem.measures, problem.p90_minutes
    if not p90 or LAST_MINUTES not in means or MINUTES not in means:
        return {}
    tables = (means[MINUTES], p90["first"], means[LAST_MINUTES], p90["last"])
    return {
        option.team: Arrival(*(float(table[team_number(problem, option.team), point]) for table in tables))
        for option in (decision, *decision.alternatives)
    }
