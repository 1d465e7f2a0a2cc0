"""Does the gain survive if the city is not as it was described? The city with one thing changed, solved again.

Loads and periods change only the rates, so driving times are found once for them. A changed city is solved anew: its
row is what a comparison of that city says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from runcard.assess.assessment import Assessment
from runcard.assess.auto import CLOSEST, RECOMMENDED, Effort, quicker, solved_city
from runcard.assess.steps import NamedSteps
from runcard.city.model import City
from runcard.interval import Interval
from runcard.mdp.problem import DispatchProblem
from runcard.outputs.whatif.words import sends_several
from runcard.plan.words import round_percent

LOADS: Final = (0.5, 0.8, 1.25, 1.5)
SHARED_DELAYS: Final = (0.0, 0.5, 1.0)
DELAY_WORDS: Final = {0.0: "units never held up together", 1.0: "units on one road always held up together"}
TARGET_MINUTES: Final = (-1.0, 1.0)
LEAST_TARGET_MINUTES: Final = 0.5
PART: Final = 1 / 3
"""Of the incidents that the city itself is simulated for; gains are over the same incidents, so they are precise."""
TITLES: Final = {
    "load": "More or fewer incidents",
    "period": "Times of the week",
    "target": "Other standards",
    "delay": "Traffic that holds up several units at once",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Variant:
    """One way in which a city could be different."""

    about: str
    """A key of `TITLES`."""
    words: str
    city: City
    rates_only: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Row:
    """A changed city under closest-first, and last under the recommended dispatch."""

    about: str
    words: str
    solved: Assessment

    @property
    def gain(self) -> Interval:
        """The part of the misses of closest-first that is avoided."""
        return self.solved.gain(self.solved.last)


def changes_of(given: City) -> list[Variant]:
    """Every change of a city that is looked at; those that would change nothing are left out."""
    city = given.of_week
    found = []
    for times in LOADS:
        demand = tuple(replace(one, incidents_per_day=times * one.incidents_per_day) for one in city.demand)
        words = f"{round_percent(abs(times - 1.0))} {'more' if times > 1.0 else 'fewer'} incidents"
        found.append(Variant(about="load", words=words, city=replace(city, demand=demand), rates_only=True))
    for period in given.periods if given.has_periods else ():
        of_period = given.in_period(period.name)
        words = f"{period.name} ({period.words}): {of_period.incidents_per_day:.0f} incidents a day"
        found.append(Variant(about="period", words=words, city=of_period, rates_only=True))
    for more in TARGET_MINUTES:
        words = f"every standard {abs(more):g} minute {'longer' if more > 0.0 else 'shorter'}"
        found.append(Variant(about="target", words=words, city=with_targets(city, more)))
    for shared in SHARED_DELAYS if sends_several(city) else ():
        if shared != city.shared_delay:
            words = DELAY_WORDS.get(shared, f"held up together on {round_percent(shared)} of the roads that they share")
            found.append(Variant(about="delay", words=words, city=replace(city, shared_delay=shared)))
    return found


def with_targets(city: City, more_minutes: float) -> City:
    """The city with every target so many minutes longer, but none shorter than half a minute."""

    def moved(minutes: float | None) -> float | None:
        return None if minutes is None else max(LEAST_TARGET_MINUTES, minutes + more_minutes)

    standards = tuple(
        replace(one, target_minutes=max(LEAST_TARGET_MINUTES, one.target_minutes + more_minutes))
        for one in city.standards
        if not city.plain
    )
    demand = tuple(replace(one, target_minutes=moved(one.target_minutes)) for one in city.demand)
    return replace(city, target_minutes=moved(city.target_minutes), standards=standards, demand=demand)


def sensitivity(given: City, base: Assessment, effort: Effort) -> tuple[Row, ...]:
    """A row for the city as it is, and one for each change."""
    rows = [Row(about="", words="as described", solved=base)]
    changes = changes_of(given)
    effort, here = quicker(effort, base.num_incidents, PART), effort.workers.here
    names = [f"{number} of {len(changes)}, {change.words}" for number, change in enumerate(changes, start=1)]
    tasks = [
        _Task(
            change=change,
            known=base.first.problems if change.rates_only else None,
            effort=replace(effort, steps=NamedSteps(effort.steps, name)) if here else effort.elsewhere,
        )
        for change, name in zip(changes, names, strict=True)
    ]

    def begin(number: int) -> None:
        if not here:  # else the task says more
            effort.steps.begin(names[number])

    return (*rows, *effort.workers.each(_row, tasks, begin))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Task:
    """A change to solve the city with; problems that differ in their rates only may be known."""

    change: Variant
    known: Mapping[str, DispatchProblem] | None
    effort: Effort


def _row(task: _Task) -> Row:
    """What a change makes of closest-first and of the recommended dispatch."""
    change = task.change
    solved = solved_city(change.city, (CLOSEST, RECOMMENDED), task.effort, known=task.known)
    return Row(about=change.about, words=change.words, solved=solved)
