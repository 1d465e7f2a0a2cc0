"""A decision explained: which team goes, what that costs now and later, and what else could have gone.

The reason of a value policy is one sum, cost now + price, where the price h(f-a) - h(f) is the expected extra cost
later from taking those trucks now. Unless the city has another objective, costs are late incidents: the cost now is
P(late now). The team that is best now and the team that closest-first would send are shown with the same numbers, so
that the difference can be seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeVar

import numpy as np

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import LATE, Objective, Standard
from runcard.mdp.problem import is_standard
from runcard.plan.answer import MINUTE_NAMES, Answer, KnownMinutes, unit_prices
from runcard.plan.fleet import Fleet, KindDecision
from runcard.plan.words import class_words, decimals_for, in_decimals, percent, team_words
from runcard.policy.base import Decision, Option
from runcard.policy.options import first_in_order, idle_teams, option_of
from runcard.table import Table

MOST_EQUALLY_GOOD: Final = 32
AnyOption = TypeVar("AnyOption", bound=Option)


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


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A decision and what it is compared with: the team that is best now, and that of closest-first."""

    place: str
    """The node, and which of its incident classes, if it has several."""
    fleet: Fleet
    decision: Decision
    """With what units are called, as in the options below."""
    best_now: Option
    """The team with the smallest cost now: unless the objective is another one, the surest to be in time."""
    closest: Option
    num_teams: int
    """How many teams could go."""
    truck_prices: Mapping[str, float]
    """The price of each idle unit, or of one truck of each station that has an idle one."""
    arrivals: Mapping[tuple[str, ...], tuple[float, ...]] = field(default_factory=dict)
    """When the trucks of each team that is named are there, where that is known: see `MINUTE_NAMES`."""
    between: tuple[tuple[str, float, float], ...] = ()
    """The trucks of the team between the first and the last that standards name, with their mean and 90th percentile
    minutes, where these are known."""
    standards: tuple[tuple[Standard, float], ...] = ()
    """What counts, with the chance to miss it."""

    @property
    def objective(self) -> Objective:
        """What policies minimise."""
        return self.fleet.problem.objective

    @property
    def counts(self) -> str:
        """The same, as in `PHRASES`."""
        of_standards = any(map(is_standard, self.fleet.problem.measures))
        return "standards" if of_standards and self.objective == LATE else self.objective.minimise

    @property
    def headline(self) -> str:
        """What to do, in one sentence."""
        team = self.decision.team
        if set(team) == {OUTSIDE_ID}:
            return f"No {self.fleet.kind} is idle: {team_words(team)} must come to {self.place}."
        return f"Send {team_words(team)} to {self.place}."

    @property
    def reasons(self) -> list[str]:
        """Why, in plain words: a few sentences."""
        decision, policy = self.decision, self.fleet.policy
        if self.num_teams == 1:
            return [f"It is the only team that could go: {self._sum_of(decision)}."]
        of_teams = f"Of the {self.num_teams} teams that could go it"
        if policy.reason:  # else cost now + price is the smallest
            going = f"{of_teams} {policy.reason}: {self._sum_of(decision)}."
            return [going, f"{policy.name.capitalize()} does not look at prices."]
        phrases = PHRASES[self.counts]
        now = phrases.now.format(weight=self.objective.weight)
        reasons = [f"{of_teams} minimises {now} + price of the team: {self._sum_of(decision)}."]
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
        """The chance to meet each standard, and when the units are there, in words, where that is known."""
        met = [f"{standard.rule}: {percent(1.0 - missed)}" for standard, missed in self.standards]
        words = [f"Chance to meet the standards: {'; '.join(met)}."] if met else []
        if self.decision.team not in self.arrivals:
            return words
        first, first_p90, last, last_p90 = self.arrivals[self.decision.team]
        there = f"after {first:.1f} min on average, 9 times of 10 in {first_p90:.1f} min"
        if len(self.decision.team) == 1:
            return [*words, f"It is there {there}."]
        others = [*self.between, ("last", last, last_p90)]
        then = (f"the {name} after {mean:.1f} min, 9 times of 10 in {p90:.1f} min" for name, mean, p90 in others)
        return [*words, f"The first is there {there}; {'; '.join(then)}."]

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


def explained(answer: Answer) -> tuple[Explanation, ...]:
    """What each kind sends, explained."""
    place = f"{answer.node_id} ({answer.type})" if answer.type else ""
    return tuple(explain(kind, place) for kind in answer.kinds)


def explain(kind: KindDecision, place: str = "") -> Explanation:
    """What one kind sends, explained in units where there is a roster; the policy is not asked for it again."""
    fleet, idle, point, problem = kind.fleet, kind.trucks, kind.point, kind.fleet.problem
    teams = idle_teams(problem, idle, point)
    cost = problem.cost[teams, point]
    # Of teams that are equally good now, the one that costs less later; a few of them are enough to look at.
    equally_good = teams[cost == cost.min()][:MOST_EQUALLY_GOOD]
    asked = np.append(equally_good, first_in_order(problem, problem.order, idle, point))
    prices = fleet.policy.prices(idle, asked)
    numbers = int(prices[:-1].argmin()), len(asked) - 1
    best_now, closest = (option_of(problem, point, int(asked[n]), float(prices[n])) for n in numbers)

    def named(option: AnyOption) -> AnyOption:
        return replace(option, team=fleet.unit_ids(option.team, kind.idle))

    minutes, alternatives = KnownMinutes.of(kind, every=True), tuple(map(named, kind.decision.alternatives))
    decision = replace(named(kind.decision), alternatives=alternatives)
    tables = zip((decision, *alternatives), minutes.of_teams(every=True), strict=True)
    known = {option.team: [number for number in of.values() if number is not None] for option, of in tables}
    missed = fleet.chances(point, kind.decision)
    return Explanation(
        place=place or problem.point_ids[point] + class_words(problem, point),
        fleet=fleet,
        decision=decision,
        best_now=named(best_now),
        closest=named(closest),
        num_teams=len(teams),
        truck_prices=unit_prices(kind),
        arrivals={team: tuple(of) for team, of in known.items() if len(of) == len(MINUTE_NAMES)},
        between=minutes.between,
        standards=tuple(zip(fleet.standards_at(point), missed, strict=True)),
    )


def headline_of(answer: Answer, kinds: Sequence[Explanation]) -> str:
    """What to do, in one sentence."""
    if len(kinds) == 1:
        return kinds[0].headline
    of_type = f" ({answer.type})" if answer.type else ""
    teams = [f"{team_words(kind.decision.team)} ({kind.fleet.kind})" for kind in kinds]
    return f"Send {', '.join(teams[:-1])} and {teams[-1]} to {answer.node_id}{of_type}."


def decision_table(explanation: Explanation) -> Table:
    """The team that goes, then the alternatives, with what counts now, price and their sum; P(late now) always."""
    minimise, options = explanation.objective.minimise, [explanation.decision, *explanation.decision.alternatives]
    several = len(explanation.decision.team) > 1
    if minimise == "late":
        now = "missed\nnow, %" if explanation.counts == "standards" else "late now\n%"
        times, headings = 100.0, [now, "price\n%", "sum\n%"]
    elif minimise == "minutes":
        times, headings = 1.0, ["minutes\nnow", "price\nmin", "sum\nmin", "late now\n%"]
    else:
        times, headings = 1.0, ["P(late)\nnow", "minutes\nnow", "price", "sum"]
    decimals, rows = decimals_for(times * option.total for option in options), []
    for option in options:
        cells = [in_decimals(times * number, decimals) for number in (option.p_late, option.price, option.total)]
        if option.minutes is not None:
            cells.insert(1, f"{option.minutes:.3f}")
        if minimise == "minutes":
            cells = [*cells[1:], f"{100.0 * option.p_late:.3f}"]
        if option.team in explanation.arrivals:
            known = explanation.arrivals[option.team]
            cells += [f"{minutes:.1f}" for minutes in (known if several else known[:2])]
        rows.append([", ".join(option.team), *cells])
    if explanation.arrivals:
        headings += ["first\nmean min", "90 % in\nmin", "last\nmean min", "90 % in\nmin"][: 4 if several else 2]
    return Table(["team", *headings], rows, strong=[0])
