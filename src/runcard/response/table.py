"""The response table: P(late) and the mean response time of every team at every demand point.

For demand point j, which needs k_j trucks and m_j of them by the target t_j, and a team of at most k_j trucks, the
others come from outside the region, independent of everything:

    p_late[team, j] = P(R_m > t_j),    mean_minutes[team, j] = E[R_1],    R_m the m-th arrival.

Where all links have the same mean, driving times are exponential, trucks leave at once, and no more than two are needed
and one of them in time, that is a sum of positive terms (`erlang.py`); otherwise times are on a lattice
(`lattice_table.py`). Where a link may be met together or not, see `line_table.py` if there are few ways to do so, as
among links of one mean, and otherwise `pair_table.py` and `team_table.py`.

A larger team than k_j may not be sent: its entries are +inf.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City, Outside
from runcard.errors import SizeError
from runcard.memory import SMALL_BYTES, available_bytes, in_words
from runcard.response.erlang import fill_response
from runcard.response.fixed_times import FixedTable, is_fixed
from runcard.response.lattice_table import LatticeTable, Needs
from runcard.response.line_table import LineTable, has_few_ways
from runcard.response.pair_table import PairTable
from runcard.response.routes import Routes, find_routes, outside_route, read_roads
from runcard.response.team_table import TeamTable
from runcard.response.team_times import room_bytes
from runcard.response.teams import count_stations, list_stations

MAX_TRUCKS_PER_STATION = 1000


@dataclass(frozen=True, slots=True)
class ResponseTable:
    """P(late) and mean response minutes of every team at every demand point, and the routes behind them."""

    teams: NDArray[np.int8]  # trucks of each station [team, station], in the order of `enumerate_teams`
    p_late: NDArray[np.float64]  # [team, demand point]; inf where the team is too large
    mean_minutes: NDArray[np.float64]  # mean time of the first arrival [team, demand point]; inf the same
    routes: Routes


def response_table(city: City, *, minutes: bool = True) -> ResponseTable:
    """P(late) and the mean response time of every team at every demand point; the latter has no rows if not wanted."""
    needs = _needs(city)
    _check_stations(city)
    _check_size(city, needs, minutes=minutes)
    routes = find_routes(city)
    trucks, targets = needs.trucks, needs.targets
    stations = list_stations([station.trucks for station in city.stations], needs.most_trucks)
    counts = count_stations(stations, len(city.stations))
    if not _has_closed_form(city, needs):
        tree = LatticeTable(city, read_roads(city), routes, stations, needs)
        p_late, mean_minutes = _by_lattice(tree, minutes=minutes)
        return ResponseTable(counts, p_late, mean_minutes, routes)
    if needs.most_trucks == 1:
        stations = np.pad(stations, ((0, 0), (0, 1)), constant_values=-1)
    p_late = np.empty((len(stations), len(trucks)))
    mean_minutes = np.empty_like(p_late if minutes else p_late[:0])
    max_links, link_minutes = int(routes.num_links.max()), city.links[0].mean_minutes
    outside_links, outside_minutes = outside_route(city, max_links, link_minutes)
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
        outside_links,
        outside_minutes,
        p_late,
        mean_minutes,
    )
    return ResponseTable(counts, p_late, mean_minutes, routes)


def at_points(city: City, points: Sequence[int]) -> City:
    """The same city with some of its demand points only; trucks from outside come from as far as before."""
    minutes = {link.mean_minutes for link in city.links}
    mean = minutes.pop() if len(minutes) == 1 else float(read_roads(city).minutes.mean())
    outside = outside_route(city, int(find_routes(city).num_links.max()), mean)
    return replace(city, demand=tuple(city.demand[point] for point in points), outside=Outside(*outside))


def _by_lattice(tree: LatticeTable, *, minutes: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(late) and, if wanted, mean minutes; demand points apart that are found in different ways."""
    city, several = tree.city, tree.needs.trucks > 2
    between, roads = _may_be_together(city), city.driving.second_route == "disjoint"
    if is_fixed(city) or not (between or (roads and several.any())):
        whole = FixedTable(tree) if is_fixed(city) else tree
        p_late = whole.late()
        return p_late, whole.means() if minutes else p_late[:0]
    few = (tree.needs.trucks > 1) & has_few_ways(tree) if between and not roads else np.zeros_like(several)
    p_late = np.full((len(tree.teams), len(several)), np.inf)
    mean_minutes = np.full_like(p_late if minutes else p_late[:0], np.inf)
    groups, kind = np.unique(np.stack([few, several]), axis=1, return_inverse=True)
    for number, (has_few, has_several) in enumerate(groups.T.tolist()):
        points = np.flatnonzero(kind.reshape(-1) == number)
        part = tree if len(points) == len(several) else tree.at_points(points)
        table = TeamTable(part) if has_several else PairTable(part) if between else part
        late = LineTable(part).late() if has_few else table.late()
        p_late[: len(late), points] = late
        if minutes:
            of_line = has_few and has_several
            mean_minutes[: len(late), points] = LineTable(part).means() if of_line else table.means()
    return p_late, mean_minutes


def _may_be_together(city: City) -> bool:
    """Whether a link may be met together or not."""
    return city.shared_delay not in (0.0, 1.0) or city.driving.coupled_branch is not None


def _needs(city: City) -> Needs:
    """What incidents at each demand point need."""
    demand = city.demand
    return Needs(
        np.array([point.trucks or city.trucks_per_incident for point in demand], np.int32),
        np.array([point.arrivals or city.arrivals_per_incident for point in demand], np.int32),
        np.array([point.target_minutes or city.target_minutes for point in demand], np.float64),
    )


def _check_stations(city: City) -> None:
    """Raise an error for the first station with more trucks than can be modelled."""
    for station in city.stations:
        if station.trucks > MAX_TRUCKS_PER_STATION:
            raise SizeError(
                f"station {station.station_id}: expected at most {MAX_TRUCKS_PER_STATION} trucks, got {station.trucks}"
            )


def _check_size(city: City, needs: Needs, *, minutes: bool) -> None:
    """Raise a SizeError if the table, or the links that routes share, would not fit in memory."""
    num_stations, num_points = len(city.stations), len(city.demand)
    num_teams = comb(num_stations + needs.most_trucks, needs.most_trucks)
    needed = float(num_points) * ((16 if minutes else 8) * num_teams + 4 * num_stations**2)
    if not _has_closed_form(city, needs):
        needed += 4 * 8 * float(num_points) * num_teams  # on two lattices, and what they lead to
        if needs.most_trucks > 2 and _may_be_together(city):
            needed += 8 * float(num_points) * num_stations**2 + room_bytes(num_stations, needs.most_trucks)
    if needed > SMALL_BYTES and needed > available_bytes():
        raise SizeError(
            f"{num_stations} stations and {num_points} demand points: P(late) of every team takes {in_words(needed)} "
            f"of memory and {in_words(available_bytes())} are free: expected fewer, or a machine with more memory"
        )


def _has_closed_form(city: City, needs: Needs) -> bool:
    """Whether the times are those of the paper: exponential, of one mean, nothing before, and the first of two."""
    driving = city.driving
    times = driving.model == "exponential" and driving.fixed_part == 0.0 and city.turnout.mean_minutes == 0.0
    first_of_two = needs.most_trucks <= 2 and needs.arrivals.max() == 1 and driving.second_route == "same"
    return times and first_of_two and all(link.mean_minutes == city.links[0].mean_minutes for link in city.links)
