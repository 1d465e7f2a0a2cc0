"""The response table: P(late) and the mean response time of every team at every demand point.

For demand point j, which needs k_j trucks and m_j of them by the target t_j, and a team of at most k_j trucks, the
others come from outside the region, independent of everything:

    p_late[team, j] = P(R_m > t_j),    mean_minutes[team, j] = E[R_1],    R_m the m-th arrival.

The engines of `engine.py` find them. A larger team than k_j may not be sent: its entries are +inf.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import MAX_TRUCKS_PER_INCIDENT
from runcard.city.model import City
from runcard.errors import InputError, SizeError
from runcard.memory import SMALL_BYTES, available_bytes, in_words
from runcard.response.arrivals import Arrivals, find_arrivals, find_bands
from runcard.response.engine import engine_for
from runcard.response.routes import Routes
from runcard.response.teams import Teams
from runcard.response.travel import Needs, needs_of, travel_of


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
    """The largest stated error of an entry of p_late."""
    minutes_error: float
    """The same of mean_minutes."""
    proven: bool
    """Whether these errors are bounds; else they are estimated."""
    arrivals: Arrivals | None = None
    """When the first, the last and others that standards name are there, if asked for."""


def response_table(
    city: City,
    *,
    minutes: bool = True,
    points: Sequence[int] | None = None,
    progress: Callable[[float], None] | None = None,
    arrivals: bool = False,
    on_road: Collection[int] = (),
) -> ResponseTable:
    """P(late) and the mean response time of every team at every demand point, or at some `points` only.

    The mean response times have no rows if they are not wanted; `arrivals`, of the first and of the last truck, need
    them. `progress` is told which part is done. The city has one kind of units. The stations numbered in `on_road` have
    one truck each, which is on the road already: it has no turnout.
    """
    if arrivals and not minutes:
        raise InputError("arrivals need minutes: expected minutes=True with arrivals=True, got minutes=False")
    needs, *others = needs_of(city)
    wanted = np.arange(len(city.demand)) if points is None else np.array(points, np.int64)
    _check_size(city, needs, len(wanted), len(others), minutes=minutes)
    travel = travel_of(city, on_road=on_road)
    distinct = column = np.arange(len(wanted))
    if arrivals:
        # Demand points at one node that need equally many trucks have the same arrivals.
        alike = np.stack([travel.routes.row[wanted], needs.trucks[wanted]])
        _, first, shared = np.unique(alike, axis=1, return_index=True, return_inverse=True)
        if len(first) < len(wanted):
            distinct, column = first, shared.reshape(-1)
        num_times = sum(len(band.places) for band in find_bands(travel, wanted))
        _check_size(city, needs, len(distinct), num_times=num_times)
    teams = Teams.of(city.trucks, int(needs.trucks[wanted].max()))
    shape = (len(teams), len(wanted))
    p_late, mean_minutes = np.empty(shape), np.empty(shape if minutes else (0, len(wanted)))
    missed = [np.zeros(shape) for _ in others]
    late_error, minutes_error, proven, done = 0.0, 0.0, True, 0
    before_arrivals = 0.5 if arrivals else 1.0
    total = len(wanted) + sum(int(np.isfinite(other.targets[wanted]).sum()) for other in others)

    def settled(num: int) -> None:
        nonlocal done
        done += num
        if progress is not None:
            progress(before_arrivals * done / total)

    def arrived(part: float) -> None:
        if progress is not None:
            progress(before_arrivals + (1.0 - before_arrivals) * part)

    for least, most in ((1, 1), (2, 2), (3, MAX_TRUCKS_PER_INCIDENT)):  # more trucks are more work
        (places,) = np.nonzero((least <= needs.trucks[wanted]) & (needs.trucks[wanted] <= most))
        if not len(places):
            continue
        few = Teams.of(teams.trucks, int(needs.trucks[wanted[places]].max()))
        engine = engine_for(travel, few, needs, wanted[places])
        proven = proven and engine.proven
        late, error = engine.late(wanted[places], settled)
        p_late, late_error = _placed(p_late, late, places), max(late_error, error)
        if minutes:
            means, error = engine.means(wanted[places])
            mean_minutes, minutes_error = _placed(mean_minutes, means, places), max(minutes_error, error)
        for number, other in enumerate(others):
            some = places[np.isfinite(other.targets[wanted[places]])]
            if len(some):
                engine = engine_for(travel, few, other, wanted[some])
                proven = proven and engine.proven
                late, error = engine.late(wanted[some], settled)
                missed[number], late_error = _placed(missed[number], late, some), max(late_error, error)
    for one in missed:
        one[np.isinf(p_late)] = np.inf
    found = None
    if arrivals:
        means = np.ascontiguousarray(mean_minutes[:, distinct])
        found = find_arrivals(
            travel, teams, needs, wanted[distinct], means, minutes_error, arrived, middle=middle_arrivals(city)
        )
        found = found.spread(column)
    every = (p_late, *missed)
    return ResponseTable(teams, p_late, mean_minutes, every, travel.routes, late_error, minutes_error, proven, found)


def middle_arrivals(city: City) -> tuple[int, ...]:
    """The numbers of the arrivals that some standard is about, without the first and the last of its trucks."""
    return tuple(sorted({of.arrivals for of in city.standards if 1 < of.arrivals < of.trucks}))


def _placed(table: NDArray[np.float64], part: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The table with a part of its columns, or the part if that is all: a large table is not copied."""
    if part.shape == table.shape:
        return part
    table[: len(part), places], table[len(part) :, places] = part, np.inf
    return table


def _check_size(
    city: City, needs: Needs, num_points: int, num_others: int = 0, *, minutes: bool = True, num_times: int = 0
) -> None:
    """Raise a SizeError if the table, or the links that routes share, would not fit in memory."""
    num_stations = len(city.stations)
    num_teams = comb(num_stations + int(needs.trucks.max()), int(needs.trucks.max()))
    # The table, what two lattices give and what they lead to; two curves of arrivals, and what they come from;
    # and the links that each two routes share
    per_team = 8 * (5 + minutes + num_others) + (8 + 24) * num_times
    needed = float(num_points) * (num_teams * per_team + 4 * num_stations**2)
    if needed > SMALL_BYTES and needed > available_bytes():
        raise SizeError(
            f"{num_stations} stations and {num_points} demand points: P(late) of every team takes {in_words(needed)} "
            f"of memory and {in_words(available_bytes())} are free: expected fewer, or a machine with more memory"
        )
