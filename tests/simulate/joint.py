"""A joint simulation of all kinds of units, written plainly: one list of units, one loop over the incidents.

It draws by the same keys as the package, so that what happens can be compared incident by incident. It knows the
paper's model with turnout, closest-first and nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import numpy as np

from runcard.city import City
from runcard.response.routes import routes_to
from runcard.simulate.kernels import draws
from runcard.simulate.kernels.draws import draw_key, incident_key, uniform


def chance(key: np.uint64, what: int, who: int, link: int) -> float:
    """The number between 0 and 1 of a draw."""
    return uniform(np.uint64(draw_key(key, what, who, link)))


@dataclass
class Truck:
    """A unit, the number that its draws have, and when it is idle again."""

    kind: str
    station: int
    number: int
    idle_at: float = -np.inf


@dataclass(frozen=True)
class Outcome:
    """What became of one incident for one kind."""

    incident: int
    minutes: float
    point: int
    kind: str
    stations: list[int]
    arrivals: list[float]
    missed: list[int]
    """The numbers of the missed standards in `city.standards`."""


def trucks_of(city: City) -> list[Truck]:
    """Every unit, kind by kind, and station by station."""
    found: list[Truck] = []
    for kind in city.kinds:
        for i, station in enumerate(city.stations):
            for unit in city.units:
                if (unit.kind, unit.station_id) == (kind, station.station_id):
                    found.append(Truck(kind, i, len(found)))
    return found


def play(city: City, key: np.uint64, start: float, num: int) -> Iterator[Outcome]:
    """The outcomes of the first incidents of a batch, one for each kind that an incident needs."""
    trucks, now = trucks_of(city), start
    rates = np.array([point.incidents_per_day for point in city.demand])
    index = {link.link_id: number for number, link in enumerate(city.links)}
    routes = [[[index[link] for link in route] for route in routes_to(city, j)] for j in range(len(city.demand))]
    minutes = [link.mean_minutes for link in city.links]
    busy = {kind: city.of_kind(kind).mean_busy_minutes for kind in city.kinds}
    for incident in range(num):
        at = np.uint64(incident_key(key, incident))
        now -= log(chance(at, draws.GAP, -1, 0)) * 1440.0 / rates.sum()
        place = chance(at, draws.POINT, -1, 0) * rates.sum()
        j = int(np.searchsorted(np.cumsum(rates), place, side="right"))

        def drawn(what: int, who: int, link: int, mean: float, at: np.uint64 = at) -> float:
            return -mean * log(chance(at, what, who, link))

        for number, kind in enumerate(city.kinds):
            standards = [(n, one) for n, one in enumerate(city.standards) if one.type == city.demand[j].type]
            standards = [(n, one) for n, one in standards if one.kind == kind]
            if not standards:
                continue
            turnout = city.turnout_by_kind.get(kind, city.turnout).mean_minutes
            idle = [truck for truck in trucks if truck.kind == kind and truck.idle_at <= now]
            idle.sort(key=lambda truck: sum(minutes[link] for link in routes[j][truck.station]))
            sent, arrivals = idle[: standards[0][1].trucks], []
            for truck in sent:
                time = drawn(draws.TURNOUT, truck.station, -1, turnout) if turnout else 0.0
                for link in routes[j][truck.station]:
                    together = chance(at, draws.FLAG, -1, link) < city.shared_delay
                    time += drawn(draws.LINK, -1 if together else truck.number, link, minutes[link])
                arrivals.append(time)
                truck.idle_at = now + drawn(draws.BUSY, truck.number, 0, busy[kind])
            for n in range(standards[0][1].trucks - len(sent)):
                assert city.outside.links is not None
                assert city.outside.link_minutes is not None
                time = drawn(draws.TURNOUT, -1, 4 * number + n + 1, turnout) if turnout else 0.0
                for link in range(city.outside.links):
                    time += drawn(draws.OUTSIDE, 4 * number + n, link, city.outside.link_minutes)
                arrivals.append(time)
            arrivals.sort()
            missed = [n for n, one in standards if arrivals[one.arrivals - 1] > one.target_minutes]
            yield Outcome(incident, now, j, kind, sorted(truck.station for truck in sent), arrivals, missed)
