"""A city in a scenario, laid out for the kernels (see `kernels/day.py`)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import near
from runcard.city.model import MINUTES_PER_DAY, City
from runcard.errors import InputError
from runcard.mdp.layout import strides
from runcard.response.routes import Routes, find_routes
from runcard.response.travel import outside_route
from runcard.simulate.incident_log import INCIDENT, read_log
from runcard.simulate.sampling import LinkLaws, SampledLaw, link_laws, sampled_law
from runcard.simulate.scenario import Scenario

LEAST_SCENE = 0.1
"""The time on scene is at least this part of the city's busy time, however long the drives are."""


LINK = np.dtype([("minutes", np.float64), ("ends", np.int64), ("one_way", np.bool_)])
"""A link: its mean, the sum of the numbers of its two nodes (minus one of them: the other), and if it is one-way."""
STATION = np.dtype([("node", np.int64), ("stride", np.int64), ("first_truck", np.int64), ("last_truck", np.int64)])
"""A station: `stride` is what a truck adds to the number of a state. (With many stations it overflows, unused.)"""
POINT = np.dtype(
    [("node", np.int64), ("row", np.int64), ("needed", np.int64), ("arrivals", np.int64), ("target", np.float64)]
)
"""A demand point; those at one node have the same `row` of routes."""
SHIFT = np.dtype([("start", np.float64), ("minutes", np.float64), ("first_truck", np.int64), ("last_truck", np.int64)])
"""When in the week which trucks are out of service."""


class RoadModel(NamedTuple):
    """Links, the laws of their times, and routes: the first one of each row and station, then second ones."""

    links: NDArray[np.void]
    laws: LinkLaws
    alike: bool
    """Whether all links are exponential with one mean."""
    first_link: NDArray[np.int64]
    """[route + 1] where each route begins in `route`."""
    route: NDArray[np.int32]


class Model(NamedTuple):
    """All that stays the same during a simulation.

    What belongs together is one array of records: a kernel is handed every array of every tuple by value, and a hundred
    of them would take longer than an incident.
    """

    roads: RoadModel
    home_roads: RoadModel
    """The same with the laws of the way home."""
    stations: NDArray[np.void]
    points: NDArray[np.void]
    shifts: NDArray[np.void]
    log: NDArray[np.void]
    station_of: NDArray[np.int64]
    """[N] the station of each truck."""
    most_needed: int
    incidents_per_minute: float
    """At the busiest hour."""
    rate_below: NDArray[np.float64]
    """[J] the incidents per day of each demand point and those before it."""
    hour_share: NDArray[np.float64]
    """[24 or 168] the part of the busiest hour's incidents that each hour has; empty if all are alike."""
    second: NDArray[np.int64]
    """[first route] the number of the route that a second truck takes; -1: the same."""
    home_link: NDArray[np.int32]
    """[I, node] the next link on the way home, -1 there; no rows where nobody drives home."""
    point_link: NDArray[np.int32]
    """[row, node] the next link on the way to a demand point; no rows where nobody starts on the way."""
    outside_links: int
    outside_minutes: float
    call_minutes: float
    turnout: SampledLaw
    turnout_minutes: float
    turnout_shared: bool
    exponential: SampledLaw
    busy: SampledLaw
    busy_minutes: float
    away_minutes: float
    """The mean drive there and back of the closest trucks, with turnout; 0 where busy times are one time."""
    in_parts: bool
    back_factor: float
    turn_back: float
    redirect: bool
    breakdowns_per_year: float
    repair_minutes: float


def build_model(city: City, scenario: Scenario) -> Model:
    """The model of a city in a scenario."""
    city = scenario.changed(city)
    routes = find_routes(city)
    roads = routes.roads
    point_links, no_links = [], np.empty((0, roads.num_nodes), np.int32)
    for _, nodes, minutes in roads.minutes_to(routes.nodes) if scenario.redirect else ():
        point_links.append(roads.next_links(nodes, minutes))
    home_links, back = ways_home(city, routes) if scenario.drives_home else (no_links, np.empty((0, 0)))
    first_link, listed, second = _with_second_routes(city, routes)
    links, link_minutes = outside_route(city, routes)
    rates = np.array([point.incidents_per_day for point in city.demand])
    shares = np.array(scenario.rates)
    busy = scenario.busy
    ends = roads.from_node.astype(np.int64) + roads.to_node
    home_roads = on_roads = RoadModel(
        np.array([*zip(roads.minutes, ends, roads.directed, strict=True)], LINK),
        link_laws(city.driving, city.shared_delay),
        city.driving.model == "exponential" and city.driving.fixed_part == 0.0 and roads.one_mean,
        first_link,
        listed,
    )
    if busy.back_model is not None:
        home_law = sampled_law(busy.back_model, busy.back_cv)
        home_roads = on_roads._replace(laws=LinkLaws(0.0, home_law, home_law), alike=False)
    trucks = np.array([station.trucks for station in city.stations])
    last = np.cumsum(trucks)
    needed = [city.trucks_for(point) for point in city.demand]
    arrivals = [point.arrivals or city.arrivals_per_incident for point in city.demand]
    targets = [point.target_minutes or city.target_minutes for point in city.demand]
    away = _away_minutes(city, scenario, routes.drive_minutes.T, back.T, rates)
    return Model(
        roads=on_roads,
        home_roads=home_roads,
        stations=np.array([*zip(routes.stations, strides(trucks), last - trucks, last, strict=True)], STATION),
        points=np.array([*zip(routes.nodes[routes.row], routes.row, needed, arrivals, targets, strict=True)], POINT),
        shifts=shifts_of(city, scenario),
        log=np.empty(0, INCIDENT) if scenario.log is None else read_log(scenario.log, city),
        station_of=np.repeat(np.arange(len(trucks)), trucks),
        most_needed=max(needed),
        incidents_per_minute=float(rates.sum() / MINUTES_PER_DAY * (shares.max() if len(shares) else 1.0)),
        rate_below=np.cumsum(rates),
        hour_share=shares / shares.max() if len(shares) else shares,
        second=second,
        home_link=home_links,
        point_link=np.concatenate([no_links, *point_links]),
        outside_links=links,
        outside_minutes=link_minutes,
        call_minutes=scenario.call_minutes,
        turnout=sampled_law(city.turnout.model, city.turnout.cv),
        turnout_minutes=float(city.turnout.mean_minutes),
        turnout_shared=city.turnout.shared,
        exponential=sampled_law("exponential"),
        busy=sampled_law(busy.model, busy.cv),
        # Trucks are busy as long on average as the city says if the closest trucks go.
        busy_minutes=busy.mean_minutes or max(city.mean_busy_minutes - away, LEAST_SCENE * city.mean_busy_minutes),
        away_minutes=away,
        in_parts=busy.kind == "parts",
        back_factor=busy.back_factor,
        turn_back=scenario.turn_back,
        redirect=scenario.redirect,
        breakdowns_per_year=scenario.breakdowns_per_year,
        repair_minutes=60.0 * scenario.repair_hours,
    )


def _with_second_routes(city: City, routes: Routes) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Where each route begins and the links of all, second ones behind; and [first route] the second, or -1."""
    num_stations = len(city.stations)
    second = np.full(len(routes.nodes) * num_stations, -1, np.int64)
    several = [i for i, station in enumerate(city.stations) if station.trucks > 1]
    found = routes.second_routes(several) if city.driving.second_route == "disjoint" else {}
    for number, (row, i) in enumerate(found):
        second[row * num_stations + i] = len(second) + number
    ends = routes.first_link[-1] + np.cumsum([len(links) for links in found.values()], dtype=np.int64)
    return np.concatenate([routes.first_link, ends]), np.concatenate([routes.links, *found.values()]), second


def ways_home(city: City, routes: Routes) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """[I, node] the next link on the way home, and [I, J] the mean minutes; an error where there is no way."""
    links, back = [], []
    for _, nodes, minutes in routes.roads.minutes_to(routes.stations):
        links.append(routes.roads.next_links(nodes, minutes))
        back.append(minutes[:, routes.nodes[routes.row]])
    found = np.concatenate(back)
    for station, minutes in zip(city.stations, found, strict=True):
        lost = np.flatnonzero(minutes == np.inf)
        if len(lost):
            raise InputError(
                f"link.csv: expected a way home to station {station.station_id} from node "
                f"{city.demand[int(lost[0])].node_id}, found none; the scenario lets trucks drive home"
            )
    return np.concatenate(links), found


def _away_minutes(
    city: City, scenario: Scenario, there: NDArray[np.float64], back: NDArray[np.float64], rates: NDArray[np.float64]
) -> float:
    """The mean minutes of turnout and the drives there and back if the closest trucks go; 0 without parts."""
    if scenario.busy.kind == "total":
        return 0.0
    trucks = [station.trucks for station in city.stations]
    there, back = np.repeat(there, trucks, axis=1), np.repeat(back, trucks, axis=1)
    order = np.argsort(there, axis=1, kind="stable")
    drives = np.take_along_axis(there + scenario.busy.back_factor * back, order, axis=1)
    needed = np.array([min(city.trucks_for(point), drives.shape[1]) for point in city.demand])
    taken = np.arange(drives.shape[1]) < needed[:, None]
    return float((rates @ (drives * taken).sum(axis=1)) / (rates @ needed)) + city.turnout.mean_minutes


def shifts_of(city: City, scenario: Scenario) -> NDArray[np.void]:
    """When trucks are off, and which: the last ones of a station, or every n-th truck of the city."""
    ids = [station.station_id for station in city.stations]
    last = np.cumsum([station.trucks for station in city.stations])
    found = []
    for shift in scenario.shifts:
        times = (60.0 * shift.start_hour, 60.0 * shift.num_hours)
        if shift.station is None:
            if shift.every > last[-1]:
                raise InputError(
                    f"scenario {scenario.name}: expected every from 1 to {last[-1]}, the trucks of the city, in shift, "
                    f"got {shift.every}: no truck would be off"
                )
            found += [(*times, n, n + 1) for n in range(shift.every - 1, int(last[-1]), shift.every)]
            continue
        if shift.station not in ids:
            raise InputError(
                f"scenario {scenario.name}: expected a station of the city in shift, got {shift.station}"
                f"{near(shift.station, ids)}"
            )
        i = ids.index(shift.station)
        if shift.trucks > city.stations[i].trucks:
            raise InputError(
                f"scenario {scenario.name}: expected at most {city.stations[i].trucks} trucks of station "
                f"{shift.station} in shift, got {shift.trucks}"
            )
        found.append((*times, int(last[i]) - shift.trucks, int(last[i])))
    return np.array(found, SHIFT)
