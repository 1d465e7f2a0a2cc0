"""Where one more unit should stand in a department with too many states: the best guesses, simulated.

Every place gets a first guess (see `assess/first_guess.py`), and the best of them are simulated beside the city as it
is, with the same incidents. Both cities send the closest units. Nothing here is proven.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from runcard.assess.change import Change, FleetChange
from runcard.assess.first_guess import FirstGuess
from runcard.assess.outcome import FleetOutcome
from runcard.assess.simulated import simulated_policies
from runcard.assess.steps import NamedSteps, Steps
from runcard.city.model import City, Objective
from runcard.interval import Interval
from runcard.outputs.whatif.candidates import OneMoreCity, by_guess
from runcard.outputs.whatif.places import Place
from runcard.policy.solve_options import SolveOptions

POLICY: Final = "closest-first"
INCIDENTS: Final = 100_000
"""Simulated in each city, where nothing else is said."""


def simulated_places(
    ground: OneMoreCity,
    places: Sequence[Place],
    *,
    top: int,
    incidents: int | None,
    seed: int,
    threads: int,
    steps: Steps,
) -> list[Place]:
    """The city as it is, then every place: those that were simulated, the best first, then the others by guess."""
    num, options = incidents or INCIDENTS, SolveOptions(threads=threads)

    def simulated(city: City, words: str) -> FleetOutcome:
        by_name, _ = simulated_policies(
            city, [POLICY], options, NamedSteps(steps, words), incidents=num, seed=seed, like=ground.base,
            arrivals=False,
        )  # fmt: skip
        return by_name[POLICY]

    base = simulated(ground.base, "the department as it is")
    first = FirstGuess(ground.base, base.busy_fractions, threads)
    guessed = by_guess(places, first, steps)
    chosen = guessed[:top]
    found = []
    for number, place in enumerate(chosen, start=1):
        outcome = simulated(ground.with_unit_at(place), f"{place.place}, {number} of {len(chosen)}")
        found.append(_simulated(place, FleetChange(base, outcome), ground.base.objective))
    found.sort(key=_change)
    today = _simulated(Place("", guess=first.today()), FleetChange(base, base), ground.base.objective)
    return [today, *found, *guessed[top:]]


def _change(place: Place) -> float:
    assert place.change is not None
    return place.change


def _simulated(place: Place, effect: FleetChange, objective: Objective) -> Place:
    """A place with what a simulation found there."""
    found = _cost(effect, objective)
    return replace(
        place,
        cost=found.after.value,
        lower=found.after.low,
        upper=found.after.high,
        change=found.difference.value,
        change_lower=found.difference.low,
        change_upper=found.difference.high,
        misses=effect.missed.after.value,
        mean_response_minutes=effect.first_minutes.after.value,
    )


def _cost(effect: FleetChange, objective: Objective) -> Change:
    """What the objective counts."""
    if objective.minimise == "late":
        return effect.missed
    if objective.weight is None:
        return effect.first_minutes
    weight = objective.weight

    def total(late: Interval, minutes: Interval) -> Interval:
        ends = (late.value, minutes.value), (late.low, minutes.low), (late.high, minutes.high)
        value, low, high = (missed + weight * waited for missed, waited in ends)
        return Interval(value, low, high)

    late, minutes = effect.missed, effect.first_minutes
    return Change(
        total(late.before, minutes.before), total(late.after, minutes.after), total(late.difference, minutes.difference)
    )
