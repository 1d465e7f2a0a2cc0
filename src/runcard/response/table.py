"""The response table: P(late) and the mean response time of every team at every demand point.

For demand point j, which needs k_j trucks and has the target t_j, and a team of m <= k_j trucks, the other k_j - m come
from outside the region, independent of everything:

    p_late[team, j] = P(R > t_j),    mean_minutes[team, j] = E[R],    R the first arrival, as in `erlang.py`.

A larger team than k_j may not be sent: its entries are +inf.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.errors import SizeError, UnsupportedError
from runcard.memory import SMALL_BYTES, available_bytes, in_words
from runcard.response.erlang import fill_response
from runcard.response.routes import Routes, find_routes
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

    Raises `UnsupportedError` where links differ in their mean, or an incident needs more than two trucks.
    """
    trucks = np.array([point.trucks or city.trucks_per_incident for point in city.demand], dtype=np.int32)
    targets = np.array([point.target_minutes or city.target_minutes for point in city.demand], dtype=np.float64)
    _check_trucks(city, trucks)
    _check_size(city, minutes=minutes)
    link_minutes = _common_mean(city)
    routes = find_routes(city)
    stations = list_stations([station.trucks for station in city.stations], MAX_TRUCKS_PER_INCIDENT)
    if trucks.max() < MAX_TRUCKS_PER_INCIDENT:
        stations = stations[stations[:, 1] < 0]
    max_links = int(routes.num_links.max())
    outside = city.outside
    p_late = np.empty((len(stations), len(trucks)))
    mean_minutes = np.empty_like(p_late if minutes else p_late[:0])
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
    if needed > SMALL_BYTES and needed > available_bytes():
        raise SizeError(
            f"{num_stations} stations and {num_points} demand points: P(late) of every team takes {in_words(needed)} "
            f"of memory and {in_words(available_bytes())} are free: expected fewer, or a machine with more memory"
        )


def _common_mean(city: City) -> float:
    """The mean minutes of every link; raises `UnsupportedError` where two differ."""
    first = city.links[0]
    for link in city.links:
        if link.mean_minutes != first.mean_minutes:
            raise UnsupportedError(
                "link.csv: every link must have the same mean_minutes in this version: "
                f"found {first.mean_minutes:g} (link {first.link_id}) and {link.mean_minutes:g} (link {link.link_id})"
            )
    return float(first.mean_minutes)
