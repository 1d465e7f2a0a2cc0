"""What a run card is worth: how much of a policy's gain over closest-first cards of 1, 2, 4, ... lines keep.

With c the mean cost of an incident, as the policy counts it, cards of depth d keep

    (c(closest-first) - c(cards of depth d)) / (c(closest-first) - c(policy))

of the gain. Cards of depth 0 are the order that cards fall back on. Costs are exact where states times demand points
are few enough, else they come from one simulation in which all meet the same incidents, with 95 % intervals. Where the
week has periods, exact costs are means over all incidents of the week, each period as if it lasted for ever.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from runcard.assess.steps import NO_STEPS, Steps
from runcard.city.model import LATE
from runcard.city.periods import ALWAYS
from runcard.errors import InputError
from runcard.interval import Interval
from runcard.outputs.cards.book import CardBook
from runcard.plan.fleet import fleet_of
from runcard.plan.plan import Plan
from runcard.plan.words import CHANCE_ONLY, counted
from runcard.policy.base import Policy
from runcard.policy.run_card import RunCards
from runcard.policy.solve import evaluate
from runcard.simulate.engine import simulate_plans
from runcard.simulate.result import ratio_interval

DEPTHS: Final = (1, 2, 4, 8)
EXACT_WORK: Final = 1 << 26
"""States times demand points, of a kind in all periods, up to which cards are evaluated exactly."""
ALL_OF_IT: Final = 0.995
QUICK_WORK: Final = 1 << 24
"""The same of all kinds, up to which that takes a few seconds."""
AT_ONCE_WORK: Final = 1 << 22
"""The same, up to which `runcard cards` measures without being asked for it: that takes no longer than the cards."""
INCIDENTS: Final = 200_000
"""Of a simulation, where nothing else is said."""


Measured = tuple[Interval, float | None, Interval | None]
"""What is missed, the mean minutes and what is kept: see `DepthRow`."""


@dataclass(frozen=True, kw_only=True)
class DepthRow:
    """What cards of some depth achieve, or what they are compared with."""

    name: str
    """In the words of the trade."""
    depth: int | None
    """None: not a card."""
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
    policy: str
    exact: bool
    incidents: int
    """Of the simulation; 0 if exact."""
    rows: tuple[DepthRow, ...]

    @property
    def words(self) -> str:
        """What the table says, in a sentence or two."""
        fixed, *cards = (row for row in self.rows if row.depth is not None)
        shown = next((row for row in cards if row.depth == 4), cards[-1] if cards else fixed)
        if fixed.kept is None or shown.kept is None or not cards:
            return f"{self.kind}: {self.policy} does not gain enough over closest-first to say what cards keep of it."
        lines = counted(int(shown.depth or 0), "line")
        found = (
            f"{self.kind}: of what {self.policy} gains over closest-first, a fixed order of units keeps "
            f"{_percent(fixed.kept)}{_response(fixed)}, and cards of {lines} keep {_percent(shown.kept)}"
            f"{_response(shown)}{_against(self.rows[0], self.rows[-1], self.policy)}."
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


def is_quick(plan: Plan, kind: str | None = None, *, work: int = QUICK_WORK) -> bool:
    """Whether the depths of the cards of a policy file, or of one kind, can be measured with so much work."""
    plans = plan.by_period.values()
    fleets = [fleet for of_period in plans for fleet in of_period.fleets if kind in (None, fleet.kind)]
    return sum(fleet.problem.num_states * fleet.problem.num_points for fleet in fleets) <= work


def is_exact(book: CardBook, kind: str) -> bool:
    """Whether the depths of a kind are measured exactly."""
    problems = [by_kind[kind].problem for by_kind in book.sets.values()]
    return sum(problem.num_states * problem.num_points for problem in problems) <= EXACT_WORK


def measure_depths(
    book: CardBook,
    *,
    incidents: int = INCIDENTS,
    seed: int = 1,
    threads: int | None = None,
    steps: Steps = NO_STEPS,
) -> tuple[DepthTable, ...]:
    """A table for each kind; cards of a book that has all periods, and lines enough, are measured."""
    tables = []
    for kind in next(iter(book.sets.values())):
        steps.begin(f"what cards keep of the gain, {kind}")
        # A card has no more lines than there are ways to be short of units.
        depth = max(int((sets[kind].lines >= 0).sum(axis=1).max()) for sets in book.sets.values())
        depths = sorted({one for one in (*DEPTHS, 16) if one < depth} | {depth})
        rivals = {
            period: _rivals(sets[kind], book.fleets[period][kind].policy, depths) for period, sets in book.sets.items()
        }
        policy, exact = next(iter(rivals.values()))[-1].name, is_exact(book, kind)
        cards = [(f"cards of {counted(depth, 'line')}", depth) for depth in depths]
        last = (f"{policy}, looking at the state", None)
        names = [("closest-first", None), ("fixed order of units", 0), *cards, last]
        if exact:
            num, measured = 0, _exactly(book, kind, rivals, threads, steps)
        else:
            num, measured = _simulated(book, kind, rivals, [name for name, _ in names], incidents, seed, threads, steps)
        rows = [
            DepthRow(name=name, depth=depth, missed=missed, minutes=minutes, kept=kept)
            for (name, depth), (missed, minutes, kept) in zip(names, measured, strict=True)
        ]
        tables.append(DepthTable(kind=kind, policy=policy, exact=exact, incidents=num, rows=tuple(rows)))
    return tuple(tables)


def _rivals(made: RunCards, policy: Policy, depths: Sequence[int]) -> list[Policy]:
    """Closest-first, the order alone, cards of each depth, and the policy."""
    none = made.at_depth(0)
    closest = replace(none, order=np.array(made.problem.order), name="closest-first")
    return [closest, none, *(made.at_depth(depth) for depth in depths), policy]


def _exactly(
    book: CardBook, kind: str, rivals: Mapping[str, Sequence[Policy]], threads: int | None, steps: Steps
) -> list[Measured]:
    """Exact means, with the incidents of each period as weights."""
    found, weights = [], []
    for period, policies in rivals.items():
        problem, results = replace(book.fleets[period][kind].problem, arrivals=None), []
        for number, policy in enumerate(policies):
            results.append(evaluate(policy, problem=problem, threads=threads))
            steps.part((number + 1) / len(policies))
        found.append(results)
        share = next((len(one.hours) for one in book.periods if one.name == period), 1)
        weights.append(share * problem.total_incidents_per_day)

    def mean(name: str) -> list[Any]:
        """A number of each rival; None where it is not known."""
        values = [[getattr(result, name) for result in results] for results in zip(*found, strict=True)]
        return [None if None in own else float(np.average(own, weights=weights)) for own in values]

    costs, missed, minutes = mean("cost"), mean("late_fraction"), mean("mean_response_minutes")
    gain = costs[0] - costs[-1]
    kept = [(costs[0] - cost) / gain if gain > 1e-6 * costs[0] else None for cost in costs]
    return [
        (Interval(late, late, late), first, None if part is None else Interval(part, part, part))
        for late, first, part in zip(missed, minutes, kept, strict=True)
    ]


def _simulated(
    book: CardBook, kind: str, rivals: Mapping[str, Sequence[Policy]], names: Sequence[str], incidents: int, seed: int,
    threads: int | None, steps: Steps,
) -> tuple[int, list[Measured]]:  # fmt: skip
    """How many incidents were simulated in the city, and means with intervals of paired differences."""
    if book.city is None:
        raise InputError("expected a policy file that holds its city to simulate cards: solve it again")
    if book.periods and len(book.periods) < len(book.city.periods):
        raise InputError("expected the cards of every period to measure them: leave out --period, or --measure")
    of_rivals = zip(*rivals.values(), strict=True)
    fleets = [fleet_of(*own, periods=book.periods or (ALWAYS,), kind=kind) for own in of_rivals]
    plans = [Plan(fleets=(fleet,)) for fleet in fleets]
    found = simulate_plans(
        book.city.of_kind(kind), plans, incidents=incidents, seed=seed, names=names, threads=threads,
        progress=lambda progress: steps.part(min(1.0, progress.part)),
    ).first  # fmt: skip
    closest, best = found.policies[0].misses, found.policies[-1].misses
    gain = closest.weights - best.weights
    sure = closest.fewer_in(best).low > 0.0 and book.objective == LATE
    return found.policies[0].num_incidents, [
        (
            one.missed,
            one.minutes("first_mean").value,
            ratio_interval(closest.weights - one.misses.weights, gain) if sure else None,
        )
        for one in found.policies
    ]
