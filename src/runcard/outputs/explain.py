"""A decision explained: which team goes, what that costs now and later, and what else could have gone.

The reason of a value policy is one sum, P(late now) + price, where the price h(f-a) - h(f) is the expected number of
extra late incidents later from taking those trucks now. The team that is surest to be in time now and the team that
closest-first would send are shown with the same two numbers, so that the difference can be seen.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.check import OUTSIDE_ID
from runcard.outputs.situation import class_words
from runcard.outputs.words import percent, team_words
from runcard.policy.base import Decision, Option, Policy
from runcard.policy.options import checked_situation, first_in_order, idle_teams, option_of

MOST_EQUALLY_SURE: Final = 32
PRICE_IN_WORDS: Final = "Price: the expected number of extra late incidents later from taking these trucks now."


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A decision and what it is compared with: the team surest to be in time now, and that of closest-first."""

    node_id: str
    policy: str
    decision: Decision
    surest: Option
    closest: Option
    num_teams: int
    """How many teams could go."""
    truck_prices: dict[str, float]
    """The price of one truck of each station that has an idle one."""
    class_words: str = ""
    """Which incident class of the node it is, in words; empty where the node has only one."""

    def document(self) -> dict[str, Any]:
        """The decision as plain values, ready for JSON."""
        alternatives = [_plain(other) for other in self.decision.alternatives]
        return _plain(self.decision) | {"alternatives": alternatives, "truck_prices": self.truck_prices}

    @property
    def headline(self) -> str:
        """What to do, in one sentence."""
        team = self.decision.team
        place = f"{self.node_id} ({self.class_words})" if self.class_words else self.node_id
        if set(team) == {OUTSIDE_ID}:
            return f"No truck is idle: {team_words(team)} must come to {place}."
        return f"Send {team_words(team)} to {place}."

    @property
    def reasons(self) -> list[str]:
        """Why, in plain words: a few sentences."""
        decision = self.decision
        if self.num_teams == 1:
            return [f"It is the only team that could go: {_sum_of(decision)}."]
        if self.policy == "closest-first":
            going = f"Of the {self.num_teams} teams that could go it is the closest: {_sum_of(decision)}."
            return [going, "Closest-first does not look at prices."]
        if self.policy == "fixed-card":
            going = f"Of the {self.num_teams} teams that could go it comes first on the card: {_sum_of(decision)}."
            return [going, "A fixed card does not look at prices."]
        of_teams = f"Of the {self.num_teams} teams that could go"
        reasons = [f"{of_teams} it minimises P(late now) + price of the team: {_sum_of(decision)}."]
        surest, closest = self.surest.team, self.closest.team
        if surest == decision.team:
            reasons.append("No other team is surer to be in time now.")
        else:
            also = ", which closest-first would send" if closest == surest else ""
            reasons.append(f"Surest to be in time now is {team_words(surest)}{also}: {_sum_of(self.surest)}.")
        if closest not in (decision.team, surest):
            reasons.append(f"Closest-first would send {team_words(closest)}: {_sum_of(self.closest)}.")
        return reasons

    @property
    def truck_words(self) -> str:
        """The prices of the trucks that go, one by one."""
        going = dict.fromkeys(station_id for station_id in self.decision.team if station_id != OUTSIDE_ID)
        return ", ".join(f"{station_id} {percent(self.truck_prices[station_id])}" for station_id in going)


def explain(policy: Policy, idle: NDArray[np.int64], point: int) -> Explanation:
    """The decision of a policy for an incident at demand point `point` when `idle` [I] trucks are idle, explained."""
    problem = policy.problem
    idle, point = checked_situation(problem, idle, point)
    teams = idle_teams(problem, idle, point)
    p_late = problem.cost[teams, point]
    # Of teams that are equally sure now, the one that costs less later; a few of them are enough to look at.
    equally_sure = teams[p_late == p_late.min()][:MOST_EQUALLY_SURE]
    closest = first_in_order(problem, problem.order, idle, point)
    with_idle = np.flatnonzero(idle)
    truck_prices = policy.prices(idle, 1 + with_idle)  # team 1 + i is one truck of station i
    asked = np.append(equally_sure, closest)
    prices = policy.prices(idle, asked)
    surest = int(prices[:-1].argmin())
    return Explanation(
        node_id=problem.point_ids[point],
        policy=policy.name,
        decision=policy.decide(idle, point),
        surest=option_of(problem, point, int(asked[surest]), float(prices[surest])),
        closest=option_of(problem, point, closest, float(prices[-1])),
        num_teams=len(teams),
        truck_prices={problem.station_ids[i]: float(price) for i, price in zip(with_idle, truck_prices, strict=True)},
        class_words=class_words(problem, point),
    )


def _plain(option: Option) -> dict[str, Any]:
    return {"team": list(option.team), "p_late": option.p_late, "price": option.price}


def _sum_of(option: Option) -> str:
    return f"P(late now) {percent(option.p_late)} + price {percent(option.price)} = {percent(option.total)}"
