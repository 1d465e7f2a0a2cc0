"""The response table: P(late) and the mean response time of every team at every demand point.

For demand point j, which needs k_j trucks and has the target t_j, and a team of m <= k_j trucks, the other k_j - m come
from outside the region, independent of everything:

    p_late[team, j] = P(R > t_j),    mean_minutes[team, j] = E[R],    R the first arrival.

Where all links have the same mean, driving times are exponential and trucks leave at once, that is a sum of positive
terms (`erlang.py`); otherwise times are on a lattice (`lattice_table.py`).

A larger team than k_j may not be sent: its entries are +inf.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.errors import SizeError, UnsupportedError
from runcard.memory import SMALL_BYTES, available_bytes, in_words
from runcard.response.erlang import fill_response
from runcard.response.lattice_table import Arrivals, LatticeTable
from runcard.response.routes import Routes, find_routes, read_roads
from runcard.response.teams import count_stations, list_stations

MAX_TRUCKS_PER_INCIDENT = 2
MAX_TRUCKS_PER_STATION = 1000


@dataclass(frozen=True, slots=True)
class ResponseTable:
    """P(late) and mean response minutes of every team at every demand point, and the routes behind them."""

    teams: NDArray[np.int8]  # trucks of each station [team, station], in the order of `enumerate_teams`
    p_late: NDArray[np.float64]  # [team, demand point]; inf where the team is too large
    mean_minutes: NDArray[np.float64]  # mean time of the first arrival [team, demand point]; inf the same
    routes: Routes


def response_table(city: City, *, minutes: bool = True) -> ResponseTable:
    """P(late) and the mean response time of every team at every demand point; the latter has no rows if not wanted.

    Raises `UnsupportedError` where an incident needs more than two trucks, or where trucks share some delays and not
    others and driving times are not those of the paper.
    """
    trucks = np.array([point.trucks or city.trucks_per_incident for point in city.demand], dtype=np.int32)
    targets = np.array([point.target_minutes or city.target_minutes for point in city.demand], dtype=np.float64)
    _check_trucks(city, trucks)
    _check_size(city, minutes=minutes)
    routes = find_routes(city)
    stations = list_stations([station.trucks for station in city.stations], MAX_TRUCKS_PER_INCIDENT)
    if trucks.max() < MAX_TRUCKS_PER_INCIDENT:
        stations = stations[stations[:, 1] < 0]
    p_late = np.empty((len(stations), len(trucks)))
    mean_minutes = np.empty_like(p_late if minutes else p_late[:0])
    if not _has_closed_form(city):
        _check_sharing(city)
        table = LatticeTable(city, read_roads(city), routes)
        _fill(table.late(targets), stations, trucks, p_late)
        if minutes:
            _fill(table.means(), stations, trucks, mean_minutes)
        return ResponseTable(count_stations(stations, len(city.stations)), p_late, mean_minutes, routes)
    max_links, link_minutes, outside = int(routes.num_links.max()), city.links[0].mean_minutes, city.outside
    fill_response(
        stations,
        routes.num_links,
        routes.shared_links,
        max_links,
        trucks,
        targets,
        np.argsort(targets, kind="stable"),
        float(city.shared_delay),
        link_minutes,
        max(1, 2 * max_links) if outside.links is None else int(outside.links),
        link_minutes if outside.link_minutes is None else float(outside.link_minutes),
        p_late,
        mean_minutes,
    )
    return ResponseTable(count_stations(stations, len(city.stations)), p_late, mean_minutes, routes)


def _check_trucks(city: City, trucks: NDArray[np.int32]) -> None:
    """Raise an error for the first station or demand point with more trucks than this version models."""
    for station in city.stations:
        if station.trucks > MAX_TRUCKS_PER_STATION:
            raise SizeError(
                f"station {station.station_id}: expected at most {MAX_TRUCKS_PER_STATION} trucks, got {station.trucks}"
            )
    (rows,) = np.nonzero(trucks > MAX_TRUCKS_PER_INCIDENT)
    if len(rows):
        point = city.demand[int(rows[0])]
        where = (
            "city.toml: trucks_per_incident" if point.trucks is None else f"demand.csv: node {point.node_id}: trucks"
        )
        raise UnsupportedError(
            f"{where}: expected 1 or 2 in this version, got {trucks[rows[0]]}; "
            "P(late) of teams of 3 or more comes with a later version"
        )


def _check_size(city: City, *, minutes: bool) -> None:
    """Raise a SizeError if the table, or the links that routes share, would not fit in memory."""
    num_stations, num_points = len(city.stations), len(city.demand)
    num_teams = (num_stations + 1) * (num_stations + 2) // 2
    needed = float(num_points) * ((16 if minutes else 8) * num_teams + 4 * num_stations**2)
    if not _has_closed_form(city):
        needed += 5 * 8 * float(num_points) * num_stations**2  # pairs on three lattices, and what they lead to
    if needed > SMALL_BYTES and needed > available_bytes():
        raise SizeError(
            f"{num_stations} stations and {num_points} demand points: P(late) of every team takes {in_words(needed)} "
            f"of memory and {in_words(available_bytes())} are free: expected fewer, or a machine with more memory"
        )


def _check_sharing(city: City) -> None:
    """Raise an error for a shared_delay that this version does not model with other driving times than the paper's."""
    if city.shared_delay not in (0.0, 1.0):
        raise UnsupportedError(
            f"city.toml: shared_delay: expected 0 or 1 in this version, got {city.shared_delay:g}: where links differ "
            "in their mean, driving times are not exponential or trucks have a turnout time, others come later"
        )


def _has_closed_form(city: City) -> bool:
    """Whether the times are those of the paper: exponential, of one mean, and nothing before the first link."""
    first = city.links[0].mean_minutes
    driving = city.driving
    paper = driving.model == "exponential" and driving.fixed_part == 0.0 and city.turnout.mean_minutes == 0.0
    return paper and all(link.mean_minutes == first for link in city.links)


def _fill(arrivals: Arrivals, stations: NDArray[np.int32], trucks: NDArray[np.int32], out: NDArray[np.float64]) -> None:
    """Fill `out` [team, demand point] from what one truck and two do; inf where a team is too large."""
    size = (stations >= 0).sum(axis=1)
    for team, (members, own) in enumerate(zip(stations.tolist(), size.tolist(), strict=True)):
        if own == 0:
            two, one = arrivals.outside_first[-1], arrivals.outside
        elif own == 1:
            two, one = arrivals.outside_first[members[0]], arrivals.single[members[0]]
        else:
            two, one = arrivals.first[members[0], members[1]], np.full(len(trucks), np.inf)
        out[team] = np.where(trucks == 1, one, two)
