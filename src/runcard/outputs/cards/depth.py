"""What a run card is worth: how much of a policy's gain over closest-first cards of 1, 2, 4, ... lines keep.

With c the mean cost of an incident, as the policy counts it, cards of depth d keep

    (c(closest-first) - c(cards of depth d)) / (c(closest-first) - c(policy))

of the gain. Cards of depth 0 are the order that cards fall back on. Costs are exact where states times demand points
are few enough, else they come from one simulation in which all meet the same incidents, with 95 % intervals. Where the
week has periods, exact costs are means over all incidents of the week, each period as if it lasted for ever.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from runcard.assess.steps import NO_STEPS, Steps
from runcard.city.model import LATE
from runcard.errors import InputError
from runcard.interval import Interval
from runcard.outputs.cards.book import CardBook
from runcard.plan.fleet import fleet_of
from runcard.plan.plan import Plan
from runcard.plan.words import counted
from runcard.policy.base import Policy
from runcard.policy.run_card import RunCards
from runcard.policy.solve import evaluate
from runcard.simulate.engine import SimulationProgress, simulate_fleets
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
        return found + (rest if shown.kept.value < ALL_OF_IT else "")


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
        measure = _exact_table if is_exact(book, kind) else _simulated_table
        tables.append(measure(book, kind, depths, _Work(incidents, seed, threads, steps)))
    return tuple(tables)


@dataclass(frozen=True)
class _Work:
    incidents: int
    seed: int
    threads: int | None
    steps: Steps


def _rivals(made: RunCards, policy: Policy, depths: Sequence[int]) -> list[Policy]:
    """Closest-first, the order alone, cards of each depth, and the policy."""
    none = made.at_depth(0)
    closest = replace(none, order=np.array(made.problem.order), name="closest-first")
    return [closest, none, *(made.at_depth(depth) for depth in depths), policy]


def _named(policy: str, depths: Sequence[int]) -> list[tuple[str, int | None]]:
    cards = [(f"cards of {counted(depth, 'line')}", depth) for depth in depths]
    return [("closest-first", None), ("fixed order of units", 0), *cards, (f"{policy}, looking at the state", None)]


def _exact_table(book: CardBook, kind: str, depths: Sequence[int], work: _Work) -> DepthTable:
    """Exact costs, with the incidents of each period as weights."""
    found: list[list[Any]] = []
    weights = []
    for period, by_kind in book.sets.items():
        fleet = book.fleets[period][kind]
        rivals = _rivals(by_kind[kind], fleet.policy, depths)
        results = []
        for number, one in enumerate(rivals):
            results.append(evaluate(one, problem=replace(fleet.problem, arrivals=None), threads=work.threads))
            work.steps.part((number + 1) / len(rivals))
        found.append(results)
        share = next((len(one.hours) for one in book.periods if one.name == period), 1)
        weights.append(share * fleet.problem.total_incidents_per_day)

    def mean(number: int, of: Callable[[Any], float | None]) -> float | None:
        values = [of(results[number]) for results in found]
        return None if None in values else float(np.average(np.array(values, np.float64), weights=weights))

    costs = [mean(number, lambda one: one.cost) or 0.0 for number in range(len(found[0]))]
    gain, policy = costs[0] - costs[-1], book.fleets[next(iter(book.sets))][kind].policy.name
    rows = []
    for number, (name, depth) in enumerate(_named(policy, depths)):
        missed = mean(number, lambda one: one.late_fraction) or 0.0
        kept = (costs[0] - costs[number]) / gain if gain > 1e-6 * costs[0] else None
        rows.append(
            DepthRow(
                name=name,
                depth=depth,
                missed=Interval(missed, missed, missed),
                minutes=mean(number, lambda one: one.mean_response_minutes),
                kept=None if kept is None else Interval(kept, kept, kept),
            )
        )
    return DepthTable(kind=kind, policy=policy, exact=True, incidents=0, rows=tuple(rows))


def _simulated_table(book: CardBook, kind: str, depths: Sequence[int], work: _Work) -> DepthTable:
    """Costs counted in a simulation of the city, with intervals of paired differences."""
    if book.city is None:
        raise InputError("expected a policy file that holds its city to simulate cards: solve it again")
    city = book.city.of_kind(kind)
    by_period = [_rivals(sets[kind], book.fleets[period][kind].policy, depths) for period, sets in book.sets.items()]
    policy = by_period[0][-1].name
    rivals = [fleet_of(policy) for policy in by_period[0]]
    if book.periods:
        if len(book.periods) < len(book.city.periods):
            raise InputError("expected the cards of every period to measure them: leave out --period, or --measure")
        rivals = [fleet_of(*policies, periods=book.periods) for policies in zip(*by_period, strict=True)]

    def told(progress: SimulationProgress) -> None:
        work.steps.part(min(1.0, progress.part))

    names = [name for name, _ in _named(policy, depths)]
    found = simulate_fleets(
        city, rivals, incidents=work.incidents, seed=work.seed, names=names, threads=work.threads, progress=told
    )
    closest, best = found.policies[0].misses, found.policies[-1].misses
    gain = closest.weights - best.weights
    sure = closest.fewer_in(best).low > 0.0 and book.objective == LATE
    rows = [
        DepthRow(
            name=name,
            depth=depth,
            missed=one.missed,
            minutes=one.minutes("first_mean").value,
            kept=ratio_interval(closest.weights - one.misses.weights, gain) if sure else None,
        )
        for (name, depth), one in zip(_named(policy, depths), found.policies, strict=True)
    ]
    return DepthTable(
        kind=kind, policy=policy, exact=False, incidents=found.policies[0].num_incidents, rows=tuple(rows)
    )
