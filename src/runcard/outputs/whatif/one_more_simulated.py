"""Where one more unit should stand in a department with too many states: the best guesses, simulated.

Every place gets a first guess (see `first_guess.py`), and the best of them are simulated beside the city as it is, with
the same incidents (see `paired.py`). Both cities send the closest units. Nothing here is proven.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from runcard.assess.steps import NamedSteps, Steps
from runcard.city.model import Objective
from runcard.interval import Interval
from runcard.outputs.whatif.candidates import Candidate, OneMoreCity
from runcard.outputs.whatif.first_guess import FirstGuess
from runcard.outputs.whatif.paired import SimulatedCity, paired_effect
from runcard.outputs.whatif.places import Place
from runcard.outputs.whatif.result import BeforeAfter, PolicyEffect
from runcard.plan.words import counted
from runcard.policy.solve_options import SolveOptions

POLICY: Final = "closest-first"
INCIDENTS: Final = 100_000
"""Simulated in each city, where nothing else is said."""


def simulated_places(
    ground: OneMoreCity,
    places: Sequence[Candidate],
    *,
    top: int,
    incidents: int | None,
    seed: int,
    threads: int,
    steps: Steps,
) -> list[Place]:
    """The city as it is, then every place: those that were simulated, the best first, then the others by guess."""
    num, options = incidents or INCIDENTS, SolveOptions(threads=threads)
    base = SimulatedCity(ground.base, [POLICY], options, NamedSteps(steps, "the department as it is"), arrivals=False)
    base.simulate(num, seed, like=ground.base)
    steps.begin(f"a first guess at {counted(len(places), 'place')}")
    by_station = base.busy(POLICY)
    busy = np.array([by_station[station.station_id] for station in ground.base.stations])
    first = FirstGuess(ground.base, busy, threads)
    guesses = first.costs(places, steps.part)
    order = np.argsort(guesses, kind="stable").tolist()
    guessed = [
        Place(node_id=places[n].node_id, station_id=places[n].station_id, guess=float(guesses[n])) for n in order
    ]
    chosen = guessed[:top]
    found = []
    for number, place in enumerate(chosen, start=1):
        changed = ground.with_unit_at(Candidate(place.node_id, place.station_id))
        named = NamedSteps(steps, f"{place.place}, {number} of {len(chosen)}")
        run = SimulatedCity(changed, [POLICY], options, named, arrivals=False)
        run.simulate(num, seed, like=ground.base)
        found.append(_simulated(place, paired_effect(POLICY, base, run), ground.base.objective))
    found.sort(key=_change)
    here = paired_effect(POLICY, base, base)
    today = _simulated(Place(node_id="", station_id=None, guess=first.today()), here, ground.base.objective)
    return [today, *found, *guessed[top:]]


def _change(place: Place) -> float:
    assert place.change is not None
    return place.change


def _simulated(place: Place, effect: PolicyEffect, objective: Objective) -> Place:
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


def _cost(effect: PolicyEffect, objective: Objective) -> BeforeAfter:
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
    return BeforeAfter(
        total(late.before, minutes.before), total(late.after, minutes.after), total(late.difference, minutes.difference)
    )
