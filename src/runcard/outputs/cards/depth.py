"""What a run card is worth: how much of a policy's gain over closest-first cards of 1, 2, 4, ... lines keep.

With c the mean cost of an incident, as the policy counts it, cards of depth d keep

    (c(closest-first) - c(cards of depth d)) / (c(closest-first) - c(policy))

of the gain. Cards of depth 0 are the order that cards fall back on. Costs are exact where states times demand points
are few enough, else they come from one simulation in which all meet the same incidents, with 95 % intervals. Where the
week has periods, exact costs are means over all incidents of the week, each period as if it lasted for ever.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from runcard.assess.assessment import Assessment
from runcard.assess.exact import fleet_outcome
from runcard.assess.outcome import Outcome, larger_by
from runcard.assess.simulated import simulated_outcomes
from runcard.assess.steps import NO_STEPS, Steps
from runcard.city.model import City
from runcard.city.periods import ALWAYS
from runcard.errors import InputError
from runcard.interval import Interval
from runcard.outputs.cards.book import CardBook
from runcard.plan.fleet import Fleet, fleet_of
from runcard.plan.plan import Plan
from runcard.plan.words import CHANCE_ONLY, counted
from runcard.policy.base import Policy
from runcard.policy.solve_options import SolveOptions
from runcard.simulate.result import ratio_interval

DEPTHS: Final = (1, 2, 4, 8)
EXACT_WORK: Final = 1 << 26
"""States times demand points, of a kind in all periods, up to which cards are evaluated exactly."""
ALL_OF_IT: Final = 0.995
QUICK_WORK: Final = 1 << 24
"""The same of all kinds, up to which that takes a few seconds."""
AT_ONCE_WORK: Final = 1 << 22
"""The same, up to which `runcard cards` measures without being asked for it: that takes no longer than the cards."""
INCIDENTS: Final = 50_000
"""Of a simulation, where nothing else is said."""


class DepthRow(NamedTuple):
    """What is shown of cards of some depth, or of what they are compared with."""

    name: str
    """In the words of the trade."""
    missed: Interval
    """Missed standards per incident that needs the kind, each with its weight; the late fraction where there is one."""
    minutes: float | None
    """The mean response time: when the first is there; None where it is not known."""
    kept: Interval | None
    """The part of the policy's gain over closest-first; None where there is no gain, or it is not known."""


@dataclass(frozen=True, kw_only=True)
class DepthTable:
    """What looking at the state is worth for one kind of units."""

    kind: str
    found: Assessment
    """Closest-first, the order alone, cards of more and more lines, and the policy."""

    @property
    def exact(self) -> bool:
        """Whether every state was evaluated; else incidents were simulated."""
        return self.found.exact

    @property
    def incidents(self) -> int:
        """Of the simulation; 0 if exact."""
        return self.found.num_incidents or 0

    @cached_property
    def rows(self) -> tuple[DepthRow, ...]:
        """A row for each outcome."""
        fleets = [[of[self.kind] for of in outcome.periods.values()] for outcome in self.found]
        known = all("first_mean" in fleet.minutes for of_outcome in fleets for fleet in of_outcome)
        return tuple(
            DepthRow(outcome.name, outcome.missed, outcome.first_minutes if known else None, self._kept(outcome))
            for outcome in self.found
        )

    def _kept(self, outcome: Outcome) -> Interval | None:
        """The part of the policy's gain that an outcome keeps."""
        first, cost, last = self.found.first.cost, outcome.cost, self.found.last.cost
        if first.batches is None or cost.batches is None or last.batches is None:
            gain = first.value - last.value
            part = (first.value - cost.value) / gain if gain > 1e-6 * first.value else None
            return None if part is None else Interval(part, part, part)
        if larger_by(last, first).low <= 0.0:
            return None
        return ratio_interval(first.batches[0] - cost.batches[0], first.batches[0] - last.batches[0])

    @property
    def words(self) -> str:
        """What the table says, in a sentence or two."""
        closest, fixed, *cards, best = self.rows
        shown = next((row for row in cards if row.name == _cards_of(4)), cards[-1])
        policy = self.found.last.fleets[self.kind].policy.name
        if fixed.kept is None or shown.kept is None:
            return f"{self.kind}: {policy} does not gain enough over closest-first to say what cards keep of it."
        found = (
            f"{self.kind}: of what {policy} gains over closest-first, a fixed order of units keeps "
            f"{_percent(fixed.kept)}{_response(fixed)}, and {shown.name} keep {_percent(shown.kept)}"
            f"{_response(shown)}{_against(closest, best, policy)}."
        )
        rest = " The rest takes a dispatch system that looks at which units are free."
        found += rest if shown.kept.value < ALL_OF_IT else ""
        return found if self.exact else f"{found} {CHANCE_ONLY}"


def _response(row: DepthRow) -> str:
    return "" if row.minutes is None else f" at a mean response of {row.minutes:.2f} min"


def _against(closest: DepthRow, best: DepthRow, policy: str) -> str:
    """The mean responses at both ends, so that a gain that costs minutes is seen as such."""
    if closest.minutes is None or best.minutes is None:
        return ""
    return f" (closest-first: {closest.minutes:.2f} min, {policy}: {best.minutes:.2f} min)"


def _percent(part: Interval) -> str:
    more = f" (± {100.0 * part.half:.0f})" if part.half > 0.0 else ""
    return f"{100.0 * part.value:.0f} %{more}"


def _cards_of(depth: int) -> str:
    """What cards of so many lines are called."""
    return f"cards of {counted(depth, 'line')}"


def is_quick(plan: Plan, kind: str | None = None, *, work: int = QUICK_WORK) -> bool:
    """Whether the depths of the cards of a policy file, or of one kind, can be measured with so much work."""
    fleets = (fleet for of_period in plan.by_period.values() for fleet in of_period.fleets)
    return plan.ground is not None and _work(fleet for fleet in fleets if kind in (None, fleet.kind)) <= work


def is_exact(book: CardBook, kind: str) -> bool:
    """Whether the depths of a kind are measured exactly."""
    return _work(fleets[kind] for fleets in book.fleets.values()) <= EXACT_WORK


def _work(fleets: Iterable[Fleet]) -> int:
    return sum(fleet.problem.num_states * fleet.problem.num_points for fleet in fleets)


def measure_depths(
    book: CardBook,
    *,
    incidents: int = INCIDENTS,
    seed: int = 1,
    threads: int | None = None,
    steps: Steps = NO_STEPS,
) -> tuple[DepthTable, ...]:
    """A table for each kind; cards of a book that has all periods, and lines enough, are measured."""
    if book.city is None:
        raise InputError("expected a policy file that holds its city to measure cards: solve it again")
    tables = []
    for kind in next(iter(book.sets.values())):
        steps.begin(f"what cards keep of the gain, {kind}")
        rivals, city = _rivals(book, kind), book.city.of_kind(kind)
        if is_exact(book, kind):
            found = _exactly(book, city, kind, rivals, threads, steps)
        elif book.periods and len(book.periods) < len(city.periods):
            raise InputError("expected the cards of every period to measure them: leave out --period, or --measure")
        else:
            fleets = {
                name: fleet_of(*policies, periods=book.periods or (ALWAYS,), kind=kind)
                for name, policies in rivals.items()
            }
            plans = {name: Plan(fleets=(fleet,)) for name, fleet in fleets.items()}
            outcomes, _ = simulated_outcomes(city, plans, incidents=incidents, seed=seed, threads=threads, steps=steps)
            found = Assessment(city=city, outcomes=outcomes, num_incidents=incidents)
        tables.append(DepthTable(kind=kind, found=found))
    return tuple(tables)


def _rivals(book: CardBook, kind: str) -> dict[str, list[Policy]]:
    """Closest-first, the order alone, cards of each depth, and the policy, by period."""
    made = [sets[kind] for sets in book.sets.values()]
    policies = [fleets[kind].policy for fleets in book.fleets.values()]
    # A card has no more lines than there are ways to be short of units.
    most = max(int((cards.lines >= 0).sum(axis=1).max()) for cards in made)
    orders = [cards.at_depth(0) for cards in made]
    closest = [replace(order, order=np.array(order.problem.order), name="closest-first") for order in orders]
    depths = sorted({depth for depth in (*DEPTHS, 16) if depth < most} | {most})
    return {
        "closest-first": [*closest],
        "fixed order of units": [*orders],
        **{_cards_of(depth): [cards.at_depth(depth) for cards in made] for depth in depths},
        f"{policies[0].name}, looking at the state": policies,
    }


def _exactly(
    book: CardBook,
    city: City,
    kind: str,
    rivals: Mapping[str, Sequence[Policy]],
    threads: int | None,
    steps: Steps,
) -> Assessment:
    """Exact means over the periods of a book."""
    problems = [replace(fleets[kind].problem, arrivals=None) for fleets in book.fleets.values()]
    cities = {period or ALWAYS.name: city.in_period(period) if period else city.of_week for period in book.fleets}
    whole, outcomes = city if len(cities) > 1 else next(iter(cities.values())), list[Outcome]()
    for number, (name, policies) in enumerate(rivals.items(), start=1):
        periods = {
            period: {kind: fleet_outcome(of_period, problem, policy, SolveOptions(threads=threads), name=name)}
            for (period, of_period), problem, policy in zip(cities.items(), problems, policies, strict=True)
        }
        outcomes.append(Outcome(name=name, city=whole, periods=periods))
        steps.part(number / len(rivals))
    return Assessment(city=whole, outcomes=tuple(outcomes))
