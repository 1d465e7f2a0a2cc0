"""One kind of units of a city in a scenario, laid out for the kernels (see `kernels/day.py`).

Every random number has a key (see `kernels/draws.py`), so kinds are simulated one after another and yet together: each
kind meets the incidents of the whole city at the same moments, with the same delays on every link. Those that do not
need it pass. What trucks of different kinds do not share, they draw by numbers of their own.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import MAX_TRUCKS_PER_INCIDENT
from runcard.city.model import MINUTES_PER_DAY, City, Standard
from runcard.city.periods import HOURS_PER_WEEK
from runcard.errors import InputError
from runcard.mdp.layout import strides
from runcard.response.routes import Routes, find_routes
from runcard.response.travel import outside_route
from runcard.simulate.incident_log import INCIDENT, read_incident_log
from runcard.simulate.sampling import LinkLaws, SampledLaw, link_laws, sampled_law
from runcard.simulate.scenario import Scenario
from runcard.simulate.shifts import shifts_of, station_numbers, truck_numbers

LEAST_SCENE = 0.1
"""The time on scene is at least this part of the city's busy time, however long the drives are."""


LINK = np.dtype([("minutes", np.float64), ("ends", np.int64), ("one_way", np.bool_)])
"""A link: its mean, the sum of the numbers of its two nodes (minus one of them: the other), and if it is one-way."""
STATION = np.dtype(
    [
        ("node", np.int64),
        ("stride", np.int64),  # what a truck adds to the number of a state; with many stations it overflows, unused
        ("first_truck", np.int64),
        ("last_truck", np.int64),
        ("number", np.int64),  # in the whole city
        ("draws", np.int64),  # what tells its draws from those of other stations
    ]
)
"""A station."""
POINT = np.dtype(
    [
        ("node", np.int64),
        ("row", np.int64),  # of routes; the same for all demand points at one node
        ("own", np.int64),  # its number in the problem of the kind
        ("needed", np.int64),  # 0: incidents there do not need the kind
        ("arrivals", np.int64),  # the most of its standards: the truck that decides
        ("busy_minutes", np.float64),  # the mean of a truck, or of its time on scene
        ("first_standard", np.int64),
        ("last_standard", np.int64),
    ]
)
"""A demand point of the whole city."""
STANDARD = np.dtype([("number", np.int64), ("arrivals", np.int64), ("target", np.float64), ("weight", np.float64)])
"""A standard, and its number among those of the kind. Those of one demand point stand together."""


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
    standards: NDArray[np.void]
    shifts: NDArray[np.void]
    log: NDArray[np.void]
    station_of: NDArray[np.int64]
    """[N] the station of each truck."""
    truck_number: NDArray[np.int64]
    """[N] what tells the draws of each truck from those of others, of any kind."""
    first_outside: int
    """The same for trucks from outside."""
    most_needed: int
    most_standards: int
    """Of a demand point."""
    incidents_per_minute: float
    """At the busiest hour."""
    rate_below: NDArray[np.float64]
    """[row, J] the incidents per day of each demand point and those before it; a row for each period of the city."""
    rate_row: NDArray[np.int64]
    """[168] the row of each hour of the week; empty if there is only one."""
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
    away_minutes: float
    """The mean drive there and back of the closest trucks, with turnout; 0 where busy times are one time. If busy times
    are by type, that of the type where it is the longest."""
    in_parts: bool
    back_factor: float
    turn_back: float
    redirect: bool
    breakdowns_per_year: float
    repair_minutes: float


def build_model(whole: City, scenario: Scenario, kind: str | None = None, *, like: City | None = None) -> Model:
    """The model of a city in a scenario, as one kind sees it; the kind may be left out where there is only one.

    Trucks and stations that another city, `like` this one, has as well meet the same draws there.
    """
    check_busy(whole, scenario)
    city = scenario.changed(whole.of_kind(kind))
    kind = kind or whole.kinds[0]
    kinds_before = whole.kinds[: whole.kinds.index(kind)]
    routes = find_routes(city)
    roads = routes.roads
    point_links, no_links = [], np.empty((0, roads.num_nodes), np.int32)
    for _, nodes, minutes in roads.minutes_to(routes.nodes) if scenario.redirect else ():
        point_links.append(roads.next_links(nodes, minutes))
    home_links, back = ways_home(city, routes) if scenario.drives_home else (no_links, np.empty((0, 0)))
    first_link, listed, second = _with_second_routes(city, routes)
    links, link_minutes = outside_route(city, routes)
    rates = np.array([point.incidents_per_day for point in whole.demand])
    by_period, rate_row = rates_by_period(whole, scenario)
    shares = np.array(scenario.rates) if len(rate_row) == 0 else by_period.sum(axis=1)[rate_row] / rates.sum()
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
    trucks = np.array(city.trucks)
    last = np.cumsum(trucks)
    numbers = [whole.station_numbers[station.station_id] for station in city.stations]
    by_station = station_numbers(whole, like or whole)
    draws = [by_station[station.station_id] for station in city.stations]
    points, standards = _points(whole, city, routes)
    own = points["needed"] > 0
    points["busy_minutes"][own], away = _busy(city, scenario, routes, back, rates[own])
    return Model(
        roads=on_roads,
        home_roads=home_roads,
        stations=np.array(
            [*zip(routes.stations, strides(trucks), last - trucks, last, numbers, draws, strict=True)], STATION
        ),
        points=points,
        standards=standards,
        shifts=shifts_of(whole, scenario, kind),
        log=np.empty(0, INCIDENT) if scenario.log is None else read_incident_log(scenario.log, whole),
        station_of=np.repeat(np.arange(len(trucks)), trucks),
        truck_number=truck_numbers(whole, like or whole, kind),
        first_outside=MAX_TRUCKS_PER_INCIDENT * len(kinds_before),
        most_needed=int(points["needed"].max()),
        most_standards=int((points["last_standard"] - points["first_standard"]).max()),
        incidents_per_minute=float(rates.sum() / MINUTES_PER_DAY * (shares.max() if len(shares) else 1.0)),
        rate_below=np.cumsum(by_period, axis=1),
        rate_row=rate_row,
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
        away_minutes=away,
        in_parts=busy.kind == "parts",
        back_factor=busy.back_factor,
        turn_back=scenario.turn_back,
        redirect=scenario.redirect,
        breakdowns_per_year=scenario.breakdowns_per_year,
        repair_minutes=60.0 * scenario.repair_hours,
    )


def rates_by_period(city: City, scenario: Scenario) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """[row, J] the incidents per day of each demand point, and [168] the row of each hour; no hours if rows are alike.

    A scenario with rates or a log of its own has them in place of the periods'.
    """
    mean, no_hours = np.array([[point.incidents_per_day for point in city.demand]]), np.empty(0, np.int64)
    if scenario.rates or scenario.log is not None:
        return mean, no_hours
    found = np.array([[city.rate_in(period, point) for point in city.demand] for period in city.periods])
    if (found == mean).all():
        return mean, no_hours
    hours = np.empty(HOURS_PER_WEEK, np.int64)
    for row, period in enumerate(city.periods):
        hours[list(period.hours)] = row
    return found, hours


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


def _points(whole: City, city: City, routes: Routes) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """The demand points of the whole city as the city of one kind sees them, and its standards."""
    places = {one: number for number, one in enumerate(city.standards)}
    listed: dict[tuple[Standard, ...], int] = {}  # those of a demand point, and where they begin
    rows: list[tuple[int, int, float, float]] = []
    found = []
    for j, point in enumerate(city.demand):
        own = city.standards_of(point)
        if own not in listed:
            listed[own] = len(rows)
            rows += [(places[one], one.arrivals, one.target_minutes, one.weight) for one in own]
        row, first, arrivals = routes.row[j], listed[own], max(one.arrivals for one in own)
        found.append((routes.nodes[row], row, j, own[0].trucks, arrivals, 0.0, first, first + len(own)))
    kind = city.standards[0].kind
    points = np.zeros(len(whole.demand), POINT)
    points["own"] = -1
    needs = [any(one.kind == kind for one in whole.standards_of(point)) for point in whole.demand]
    points[needs] = np.array(found, POINT)
    return points, np.array(rows, STANDARD)


def _busy(
    city: City, scenario: Scenario, routes: Routes, back: NDArray[np.float64], rates: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """[J] the mean busy time of a truck at each demand point, or that on scene; and the longest mean minutes away.

    Trucks are busy as long on average as the city says if the closest trucks go.
    """
    means = np.full(len(city.demand), city.mean_busy_minutes)
    parts = [np.arange(len(means))]
    if scenario.busy.by_type:
        of_type = {one.type: one.busy_minutes for one in city.standards if one.busy_minutes is not None}
        types = np.array([point.type for point in city.demand])
        means = np.array([of_type.get(one, city.busy_minutes) for one in types.tolist()])
        parts = [np.flatnonzero(types == one) for one in dict.fromkeys(types.tolist())]
    longest = 0.0
    for part in parts:
        away = _away_minutes(city, scenario, routes.drive_minutes.T, back.T, rates, part)
        longest = max(longest, away)
        means[part] = np.maximum(means[part] - away, LEAST_SCENE * means[part])
    if scenario.busy.mean_minutes is not None:
        means[:] = scenario.busy.mean_minutes
    return means, longest


def check_busy(city: City, scenario: Scenario) -> None:
    """Raise an error if busy times are to be by type and no type of the city has any."""
    if scenario.busy.by_type and all(one.busy_minutes is None for one in city.standards):
        raise InputError(
            f"scenario {scenario.name}: expected busy_minutes in incident_type.csv of {city.name} with busy.by_type, "
            "got none"
        )


def _away_minutes(
    city: City,
    scenario: Scenario,
    there: NDArray[np.float64],
    back: NDArray[np.float64],
    rates: NDArray[np.float64],
    points: NDArray[np.int64],
) -> float:
    """The mean minutes of turnout and the drives there and back at some points if the closest trucks go, or 0."""
    if scenario.busy.kind == "total":
        return 0.0
    trucks = city.trucks
    there, back = np.repeat(there[points], trucks, axis=1), np.repeat(back[points], trucks, axis=1)
    order = np.argsort(there, axis=1, kind="stable")
    drives = np.take_along_axis(there + scenario.busy.back_factor * back, order, axis=1)
    needed = np.array([min(city.trucks_for(city.demand[j]), drives.shape[1]) for j in points])
    taken = np.arange(drives.shape[1]) < needed[:, None]
    weights = rates[points] if rates[points].any() else np.ones(len(points))
    return float((weights @ (drives * taken).sum(axis=1)) / (weights @ needed)) + city.turnout.mean_minutes
