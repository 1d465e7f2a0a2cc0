"""The response table: P(late) and the mean response time of every team at every demand point.

For demand point j, which needs k_j trucks and m_j of them by the target t_j, and a team of at most k_j trucks, the
others come from outside the region, independent of everything:

    p_late[team, j] = P(R_m > t_j),    mean_minutes[team, j] = E[R_1],    R_m the m-th arrival.

Four engines find them. Each has `late(points)` and `means(points)`, which say how exact they are:

    Erlang  exponential links of one mean, the first of one or two trucks: sums of positive terms
    Tree    any law; every link is met together, or none is
    Plane   any law; a link is met together with some chance; one or two trucks
    Sets    the same for three and four trucks

A larger team than k_j may not be sent: its entries are +inf.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.errors import InputError, SizeError
from runcard.memory import SMALL_BYTES, available_bytes, in_words
from runcard.response.erlang import Erlang
from runcard.response.plane import Plane
from runcard.response.routes import Routes
from runcard.response.sets import Sets
from runcard.response.teams import Teams
from runcard.response.travel import Needs, Travel, needs_of, travel_of
from runcard.response.tree import Tree


class Engine(Protocol):
    """What finds P(late) and mean minutes of every team at some demand points."""

    def late(
        self, points: NDArray[np.int64], settled: Callable[[int], None] | None = None
    ) -> tuple[NDArray[np.float64], float]:
        """P(late) [team, place in points], and its stated error; `settled` is told of points that are done."""
        ...

    def means(self, points: NDArray[np.int64]) -> tuple[NDArray[np.float64], float]:
        """The mean minutes until the first truck [team, place in points], and their stated error."""
        ...


@dataclass(frozen=True, slots=True)
class ResponseTable:
    """P(late) and mean response minutes of every team at every demand point, and the routes behind them."""

    teams: Teams
    p_late: NDArray[np.float64]
    """[team, demand point]; inf where the team is too large."""
    mean_minutes: NDArray[np.float64]
    """[team, demand point] mean time of the first arrival; inf the same."""
    missed: tuple[NDArray[np.float64], ...]
    """The chance to miss the first standard of each demand point (p_late), the second, ...: 0 if there is none."""
    routes: Routes
    late_error: float
    """No entry of p_late is off by more."""
    minutes_error: float
    """No entry of mean_minutes is off by more."""


def response_table(
    city: City,
    *,
    minutes: bool = True,
    points: Sequence[int] | None = None,
    progress: Callable[[float], None] | None = None,
) -> ResponseTable:
    """P(late) and the mean response time of every team at every demand point, or at some `points` only.

    The mean response times have no rows if they are not wanted. `progress` is told which part is done. The city has one
    kind of units.
    """
    needs, *others = needs_of(city)
    wanted = np.arange(len(city.demand)) if points is None else np.array(points, np.int64)
    _check_size(city, needs, len(wanted), len(others), minutes=minutes)
    travel = travel_of(city)
    teams = Teams.of((station.trucks for station in city.stations), int(needs.trucks[wanted].max()))
    shape = (len(teams), len(wanted))
    p_late, mean_minutes = np.empty(shape), np.empty(shape if minutes else (0, len(wanted)))
    missed = [np.zeros(shape) for _ in others]
    late_error, minutes_error, done = 0.0, 0.0, 0
    total = len(wanted) + sum(int(np.isfinite(other.targets[wanted]).sum()) for other in others)

    def settled(num: int) -> None:
        nonlocal done
        done += num
        if progress is not None:
            progress(done / total)

    for several in (False, True):
        (places,) = np.nonzero((needs.trucks[wanted] > 2) == several)
        if not len(places):
            continue
        few = teams if several else Teams.of(teams.trucks, int(needs.trucks[wanted[places]].max()))
        engine = _engine(travel, few, needs, wanted[places])
        late, error = engine.late(wanted[places], settled)
        p_late, late_error = _placed(p_late, late, places), max(late_error, error)
        if minutes:
            means, error = engine.means(wanted[places])
            mean_minutes, minutes_error = _placed(mean_minutes, means, places), max(minutes_error, error)
        for number, other in enumerate(others):
            some = places[np.isfinite(other.targets[wanted[places]])]
            if len(some):
                late, error = _engine(travel, few, other, wanted[some]).late(wanted[some], settled)
                missed[number], late_error = _placed(missed[number], late, some), max(late_error, error)
    for one in missed:
        one[np.isinf(p_late)] = np.inf
    return ResponseTable(teams, p_late, mean_minutes, (p_late, *missed), travel.routes, late_error, minutes_error)


def _placed(table: NDArray[np.float64], part: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The table with a part of its columns, or the part if that is all: a large table is not copied."""
    if part.shape == table.shape:
        return part
    table[: len(part), places], table[len(part) :, places] = part, np.inf
    return table


def _engine(travel: Travel, teams: Teams, needs: Needs, points: NDArray[np.int64]) -> Engine:
    """The engine for some demand points, all of which need at most two trucks, or more."""
    several = int(needs.trucks[points].max()) > 2
    if several and travel.second:
        raise InputError(
            'driving.second_route = "disjoint" is for incidents of one or two trucks: with three or more, expected '
            'driving.second_route = "same"'
        )
    closed_form = travel.paper_times and not several and not travel.second and needs.arrivals[points].max() == 1
    if closed_form:
        return Erlang(travel, teams, needs)
    if travel.fixed or not travel.laws.mixed or teams.max_size == 1:
        return Tree(travel, teams, needs)
    return Sets(travel, teams, needs) if several else Plane(travel, teams, needs)


def _check_size(city: City, needs: Needs, num_points: int, num_others: int, *, minutes: bool) -> None:
    """Raise a SizeError if the table, or the links that routes share, would not fit in memory."""
    num_stations = len(city.stations)
    num_teams = comb(num_stations + int(needs.trucks.max()), int(needs.trucks.max()))
    # The table, what two lattices give and what they lead to; and the links that each two routes share
    needed = float(num_points) * (8 * num_teams * (5 + minutes + num_others) + 4 * num_stations**2)
    if needed > SMALL_BYTES and needed > available_bytes():
        raise SizeError(
            f"{num_stations} stations and {num_points} demand points: P(late) of every team takes {in_words(needed)} "
            f"of memory and {in_words(available_bytes())} are free: expected fewer, or a machine with more memory"
        )
