"""What a map shows, before it is drawn: who sends the first, the second, ... truck to each area.

Every truck is idle. Of the trucks that go, the one with the shortest expected driving time counts as the first. A panel
is one map: the truck of one rank under one policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.errors import InputError
from runcard.mdp.evaluate import Evaluation
from runcard.outputs.areas import NOBODY, AreaShapes, Places, areas_of, roads_of, station_colours
from runcard.plan.everywhere import Everywhere, everywhere
from runcard.plan.fleet import fleet_of
from runcard.plan.words import expected_one_of, misses, table_words
from runcard.policy.base import Policy

OUTSIDE_COLOUR: Final = "#DDDDDD"

ORDINALS: Final = ("First", "Second", "Third", "Fourth")


@dataclass(frozen=True, eq=False)
class Drawing:
    """What all maps of a city share."""

    city: City
    areas: AreaShapes
    points: tuple[int, ...]
    """By area: its demand point, and of several the one with the most incidents."""
    incidents_per_day: NDArray[np.float64]
    """By area."""
    stations: Places
    home_areas: tuple[int, ...]
    """By station: the area whose middle is nearest."""
    labels: tuple[str, ...]
    """By station."""
    roads: NDArray[np.float64]
    """[road, end, axis]."""
    truck: str = "truck"
    """What a truck is called: the kind of the units, where there are kinds."""
    type: str = ""
    """The type of incident that is shown, where there are types."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One map and its heading."""

    title: str
    words: str
    rank: int
    """0 for the first truck."""
    owners: tuple[int, ...]
    """By area: the number of the station, one more than the last for outside, or `NOBODY`."""
    departing: tuple[int, ...]
    """The areas where closest-first sends a truck of another station."""


def drawing_of(city: City, incident_type: str | None = None) -> Drawing:
    """The areas, stations and roads of a city of one kind, each in its place.

    Of several types of incidents in one place the one that is asked for is shown, or else that to which most trucks go.
    """
    shown = _type_shown(city, incident_type)
    areas = areas_of(city)
    area_of, place_of = {node_id: n for n, node_id in enumerate(areas.node_ids)}, areas.plane.nodes
    numbers = np.array([area_of[point.node_id] for point in city.demand])
    rates = np.array([point.incidents_per_day for point in city.demand])
    other = np.array([bool(shown) and point.type != shown for point in city.demand])
    # What is shown comes last; of equal ones, the first listed.
    fewest_first = np.lexsort((-rates, other))[::-1].tolist()
    point_of = {int(numbers[point]): point for point in fewest_first}
    stations = place_of[[city.node_numbers[station.node_id] for station in city.stations]]
    return Drawing(
        city=city,
        areas=areas,
        points=tuple(point_of[area] for area in range(len(area_of))),
        incidents_per_day=np.bincount(numbers, weights=rates).astype(np.float64),
        stations=stations,
        home_areas=tuple(int(np.hypot(*(areas.middles - place).T).argmin()) for place in stations),
        labels=_labels(city),
        roads=place_of[roads_of(city)],
        truck=city.kinds[0],
        type=shown,
    )


def _type_shown(city: City, incident_type: str | None) -> str:
    """The type of incident that a map shows; "" if the city has no types."""
    trucks = {standard.type: standard.trucks for standard in city.standards if standard.type in city.types}
    if incident_type is not None and incident_type not in trucks:
        raise InputError(expected_one_of("type of incident", trucks, incident_type))
    return incident_type or max(trucks, key=trucks.__getitem__, default="")


def _labels(city: City) -> tuple[str, ...]:
    """What stands on the map for each station: names if they are short, else ids, else numbers from 1."""
    ids = tuple(station.station_id for station in city.stations)
    names = tuple(station.name or station.station_id for station in city.stations)
    for labels, longest in ((names, 14 if len(names) <= 20 else 6), (ids, 6)):
        if max(map(len, labels)) <= longest and len(set(labels)) == len(labels):
            return labels
    return tuple(str(number) for number in range(1, len(ids) + 1))


def panels_of(ground: Drawing, policies: Sequence[Policy], results: Sequence[Evaluation | None] = ()) -> list[Panel]:
    """The maps of policies: those of the first truck, then those of the second, and so on."""
    city, problem, panels = ground.city, policies[0].problem, []
    types = [city.demand[point].type for point in ground.points]
    areas = np.flatnonzero([ground.type in ("", of_type) for of_type in types])  # others have no such incidents
    sent = [everywhere(fleet_of(policy), points=np.array(ground.points)[areas]) for policy in policies]
    closest, *teams = (_stations(ground, areas, one) for one in (sent[0].closest, *sent))
    for rank in range(closest.shape[1]):
        for number, policy in enumerate(policies):
            owners = teams[number][:, rank]
            departing = np.flatnonzero(owners != closest[:, rank])
            title, words = policy.name.capitalize(), f"{ORDINALS[rank]} {ground.truck}"
            if len(departing):
                words += f": not as closest-first in {len(departing)} of {(owners != NOBODY).sum()} areas"
            if rank == 0:
                known, proven = results[number] if number < len(results) else None, policy.certificate
                if known is not None:
                    title += f": {table_words(city).share(known.late_fraction)}"
                    words += f"\n{known.late_per_day:#.3g} {misses(city)} a day"
                    words += ", all types" if ground.type else ""
                    if known.mean_response_minutes is not None:
                        words += f"; first {ground.truck} {_when(known.mean_response_minutes, known, 'first')}"
                elif proven is not None and proven.converged and problem.objective.minimise == "late":
                    title += f": {table_words(city).share(proven.upper)}"
            if 0 < rank == closest.shape[1] - 1 and number < len(results):
                known = results[number]
                if known is not None and known.last_minutes is not None:
                    of_all = ", all types," if ground.type else ""
                    words += f"\nlast {ground.truck}{of_all} {_when(known.last_minutes, known, 'last')}"
            panels.append(Panel(title, words, rank, tuple(owners.tolist()), tuple(departing.tolist())))
    return panels


def _when(mean: float, known: Evaluation, which: str) -> str:
    """When a truck is there, in words."""
    within = f", 9 times of 10 in {known.p90_minutes[which]:.1f} min" if which in known.p90_minutes else ""
    return f"after {mean:.2f} min on average{within}"


def _stations(ground: Drawing, areas: NDArray[np.int64], sent: Everywhere) -> NDArray[np.int64]:
    """[area, rank] the stations of the trucks that go, the closest first, then outside for the rest, then `NOBODY`."""
    problem = sent.fleet.problem
    needed = problem.trucks_needed[list(ground.points)]
    ranked = np.full((len(needed), int(needed.max())), NOBODY, np.int64)
    stations = sent.stations[:, : ranked.shape[1]]
    outside = np.where(np.arange(ranked.shape[1]) < needed[areas, None], problem.num_stations, NOBODY)
    ranked[areas] = np.where(stations >= 0, stations, outside)
    return ranked


def area_colours(ground: Drawing, panels: Sequence[Panel]) -> list[str]:
    """A colour for each station, then that of outside: on no map do areas of two stations with one colour touch."""
    return [*station_colours(ground.stations, ground.areas, [panel.owners for panel in panels]), OUTSIDE_COLOUR]
