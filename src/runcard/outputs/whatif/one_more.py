"""Where one more unit should stand: every place ranked by the smallest mean cost that any policy reaches with it there.

A department whose states fit in memory is ranked exactly (`one_more_exact.py`), every place if that is no more than
`MOST_SECONDS` of work, by a rough count; otherwise the stations and the nodes with incidents, or the best guesses among
these. In a department with too many states the best guesses are simulated (`one_more_simulated.py`). Where a place was
only guessed at, the ranking is not proven, and says so.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from runcard.assess.policy_choice import SECONDS_OF_CHOICE
from runcard.assess.steps import NO_STEPS, Steps
from runcard.city.model import City
from runcard.errors import InputError, SizeError
from runcard.mdp.memory import check_states, count_states
from runcard.outputs.whatif.candidates import OneMoreCity
from runcard.outputs.whatif.one_more_exact import ExactRanking
from runcard.outputs.whatif.one_more_simulated import simulated_places
from runcard.outputs.whatif.places import OneMore, Place
from runcard.response.routes import road_graph
from runcard.response.teams import Teams
from runcard.threads import checked_threads

MOST_SECONDS: Final = 300.0
"""Of one core, about, for all places together."""
SECONDS_OF_ROUTE: Final = {True: 2e-6, False: 2e-4}
"""For each station and node with incidents; if all links have one mean, times have a closed form."""


def rank_one_more(
    city: City,
    kind: str | None = None,
    *,
    anywhere: bool = False,
    top: int = 10,
    period: str | None = None,
    tolerance: float = 1e-9,
    incidents: int | None = None,
    seed: int = 1,
    threads: int | None = None,
    steps: Steps = NO_STEPS,
) -> OneMore:
    """The places for one more unit of a kind, ranked: every station, with `anywhere` every node of the roads.

    The kind may be left out where incidents need only one. Rates are the means of the week, or those of one `period`.
    `incidents` and `seed` are those of a simulation, where it comes to that; if `incidents` are given, it does.
    """
    began = time.perf_counter()
    if top < 1:
        raise InputError(f"expected at least one place to rank, got {top}")
    (kind,) = city.of_kind(kind).kinds
    threads = checked_threads(threads)
    ground = OneMoreCity(city.of_week if period is None else city.in_period(period), kind)
    possible = 0 if incidents is not None else places_that_can_be_solved(ground.base)
    places = ground.candidates(anywhere=anywhere)
    thinned = anywhere and len(places) > possible
    if thinned:
        places = ground.candidates(anywhere=anywhere, only_demand=True)
    simulated = possible < min(top, len(places))
    if simulated:
        found = simulated_places(ground, places, top=top, incidents=incidents, seed=seed, threads=threads, steps=steps)
        sure = proven = False
    else:
        found, sure, proven = ExactRanking(ground, top, tolerance, threads, steps).ranked(places, possible)
    base, *ranked = found
    return OneMore(
        city=city,
        kind=kind,
        base=base,
        places=tuple(_near(ground, ranked)),
        top=min(top, len(ranked)),
        incidents_per_day=ground.base.incidents_per_day,
        anywhere=anywhere,
        thinned=thinned,
        sure=sure,
        proven=proven,
        simulated=simulated,
        asked_to_simulate=incidents is not None,
        period=period,
        seconds=time.perf_counter() - began,
    )


def _near(ground: OneMoreCity, places: Sequence[Place]) -> list[Place]:
    """The places, those without a station with the nearest one."""
    nearest = ground.nearest_stations()
    found = []
    for place in places:
        if place.station_id is None and place.node_id in nearest:
            station_id, minutes = nearest[place.node_id]
            place = replace(place, near_station=station_id, near_minutes=minutes)
        found.append(place)
    return found


def places_that_can_be_solved(base: City) -> int:
    """How many problems with one more unit take no more than `MOST_SECONDS`; 0 if their states are too many."""
    trucks = [*base.trucks, 1]
    try:
        check_states(trucks)
    except SizeError:
        return 0
    most = max(base.trucks_for(point) for point in base.demand)
    num_nodes = len({point.node_id for point in base.demand})
    choices = float(count_states(trucks)) * len(Teams.of(trucks, most)) * len(base.demand)
    closed_form = base.driving.model == "exponential" and road_graph(base).one_mean
    seconds = choices * SECONDS_OF_CHOICE + num_nodes * len(trucks) * SECONDS_OF_ROUTE[closed_form]
    return int(MOST_SECONDS / seconds)
