"""Where units live, and whether they were there when they were sent.

**Homes.** A unit of the city's roster lives where that says. For a log without a roster a pattern in the mapping can
read the station from the unit's name. All others are placed by their drives: at first the home is the station for which
driving times D fit the routes best,

    Σ | log(D + 1/2) - log(a F + 1/2) |   smallest,   F the mean minutes from the station, a the median of all D / F.

This knows no start and no speeds of roads. When they are fitted, every station i has a likelihood

    l_i = Σ log( (1 - e) gamma(D; mean M_i, variance θ M_i) + e exponential(D; mean of all drives) ),    e = `ASTRAY`,

the second part being drives that began elsewhere, so that none of them decides. A unit is moved only if the likelihood
is sure, l_j - l_i > `SURE`: where routes explain little, the first way is the better one. The margin l_i - max l_j says
how sure a home is, and homes of less than `SURE` are named.

**Away.** A unit that is sent sooner after it was free than the drive home takes was not at home. So was one that
arrives in much less time than the road from home takes; but chance does that too, so these are only counted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.driving import EXACT_MINUTES, FLOOR_MINUTES, DrivingFit, shown_by
from runcard.calibrate.log import Log
from runcard.calibrate.placing import Placed
from runcard.calibrate.strays import log_density
from runcard.calibrate.trips import minutes_between
from runcard.city.model import City, Unit

LEAST_DRIVES: Final = 5
MOST_NAMED: Final = 10
"""Units that a note names; of more it says how many."""
TOO_FAST: Final = 1.0 / 3.0
"""A drive that takes less than this part of the mean is faster than the road allows."""
LONG: Final = 3.0
"""Standard deviations; next to no way home takes so much longer than usual."""
ASTRAY: Final = 0.1
"""The part of drives that may have begun elsewhere, when a home is looked for."""
SURE: Final = 4.0
"""In log likelihood: odds of 50 to 1."""
SHORT_MINUTES: Final = 2.0
"""From homes nearer than this nothing can be told."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Home:
    """Where a unit of the log lives, and how that is known: roster, name, or drives."""

    unit: str
    kind: str
    station: str
    known_by: str
    margin: float = 0.0
    """By drives: its log likelihood less that of the best other station, when driving is fitted."""


def station_nodes(city: City) -> Ints:
    """[station] its node."""
    return np.array([city.node_numbers[station.node_id] for station in city.stations], np.int64)


def with_roster_kinds(city: City, log: Log) -> Log:
    """The log with the kinds of the roster, if it has none of its own; -1 for units that the roster does not have."""
    if log.kinds or not city.has_roster:
        return log
    kinds = tuple(dict.fromkeys(unit.kind for unit in city.units))
    kind_of = {unit.unit_id: kinds.index(unit.kind) for unit in city.units}
    of_unit = np.array([*(kind_of.get(unit, -1) for unit in log.units), -1], np.int64)
    responses = log.responses.copy()
    responses["kind"] = of_unit[responses["unit"]]
    return replace(log, kinds=kinds, responses=responses)


def find_homes(city: City, log: Log, placed: Placed, pattern: str | None = None) -> list[Home]:
    """The homes of the units of a log that has unit names, in the order of the log; units without one are left out."""
    if city.has_roster:
        return [Home(unit.unit_id, unit.kind, unit.station_id, "roster") for unit in city.units]
    kinds = _kind_of_units(log)
    found: dict[str, Home] = {}
    for number, unit in enumerate(log.units):
        match = re.fullmatch(pattern, unit) if pattern else None
        if match and kinds[number] and match["station"] in city.station_numbers:
            found[unit] = Home(unit, kinds[number], match["station"], "name")
    missing = [number for number, unit in enumerate(log.units) if unit not in found and kinds[number]]
    if missing:
        for home in _by_drives(city, log, placed, missing, kinds):
            found[home.unit] = home
    return [found[unit] for unit in log.units if unit in found]


def _kind_of_units(log: Log) -> list[str]:
    """[unit] the kind that most of its rows have."""
    votes = np.zeros((len(log.units), len(log.kinds)), np.int64)
    known = (log.responses["unit"] >= 0) & (log.responses["kind"] >= 0)
    np.add.at(votes, (log.responses["unit"][known], log.responses["kind"][known]), 1)
    return [log.kinds[int(row.argmax())] if row.any() else "" for row in votes]


@dataclass(frozen=True, eq=False)
class _Trips:
    """The drives of units, and how far each would be from every station."""

    unit: Ints
    minutes: Floats
    from_station: Floats
    """[station, drive] mean minutes."""


def _trips(city: City, log: Log, placed: Placed) -> _Trips:
    rows = log.responses
    minutes = (rows["on_scene"] - rows["en_route"]) / 60.0
    node = placed.node[rows["incident"]]
    usable = np.isfinite(minutes) & (minutes > 0.0) & (node >= 0) & (rows["unit"] >= 0)
    ends, place = np.unique(node[usable], return_inverse=True)
    return _Trips(rows["unit"][usable], minutes[usable], minutes_between(city, station_nodes(city), ends)[:, place])


def _by_drives(city: City, log: Log, placed: Placed, units: list[int], kinds: list[str]) -> list[Home]:
    """A first guess, without a fit of driving."""
    trips = _trips(city, log, placed)
    if not len(trips.minutes):
        return []
    pace = float(np.median(trips.minutes / np.maximum(trips.from_station.min(axis=0), 0.25)))
    found = []
    for unit in units:
        own = trips.unit == unit
        if own.sum() < LEAST_DRIVES:
            continue
        drives, expected = np.log(trips.minutes[own] + 0.5), np.log(pace * trips.from_station[:, own] + 0.5)
        station = int(np.abs(drives - expected).mean(axis=1).argmin())
        found.append(Home(log.units[unit], kinds[unit], city.stations[station].station_id, "drives"))
    return found


def placed_again(
    homes: list[Home], city: City, log: Log, placed: Placed, driving: DrivingFit, *, move: bool = True
) -> list[Home]:
    """The homes with their margins on the roads of a fit; those found by drives move, if they may, where it is sure."""
    if all(home.known_by != "drives" for home in homes):
        return homes
    trips = _trips(city, log, placed)
    drives, usual = np.maximum(trips.minutes, FLOOR_MINUTES), float(trips.minutes.mean())
    elsewhere = np.log(ASTRAY) + log_density(drives, usual, usual**2)
    numbers = {name: number for number, name in enumerate(log.units)}
    found = []
    for home in homes:
        if home.known_by == "drives":
            own = trips.unit == numbers[home.unit]
            mean = np.maximum(driving.start_minutes + trips.from_station[:, own], FLOOR_MINUTES)
            from_here = np.log1p(-ASTRAY) + log_density(drives[own], mean, driving.scale_minutes * mean)
            likelihood, at = np.logaddexp(from_here, elsewhere[own]).sum(axis=1), city.station_numbers[home.station]
            best = int(likelihood.argmax())
            if move and likelihood[best] - likelihood[at] > SURE:
                at = best
            margin = float(likelihood[at] - np.delete(likelihood, at).max(initial=-np.inf))
            home = replace(home, station=city.stations[at].station_id, margin=margin)
        found.append(home)
    return found


def doubtful(homes: Sequence[Home]) -> list[str]:
    """A note on the units that were placed by their drives and may as well live elsewhere, if there are any."""
    unsure = sorted(home.unit for home in homes if home.known_by == "drives" and home.margin < SURE)
    if not unsure:
        return []
    return [
        f"the home of {_named(unsure)} is doubtful: from another station their drives are nearly as likely, or more "
        "(odds below 50 to 1); a roster says where they stand, or log.home_pattern in the mapping"
    ]


def _named(units: Sequence[str]) -> str:
    """The first units, and how many there are besides."""
    more = f" and {len(units) - MOST_NAMED} more" if len(units) > MOST_NAMED else ""
    return ", ".join(units[:MOST_NAMED]) + more


def without_home(log: Log, homes: Sequence[Home]) -> list[str]:
    """A note on the units of a log that no station is known for, if there are any."""
    known = {home.unit for home in homes}
    lost = sorted(unit for unit in log.units if unit not in known)
    if not lost:
        return []
    why = f"without {LEAST_DRIVES} drives they cannot be placed"
    if any(home.known_by == "roster" for home in homes):
        why = "they are not in the roster"
    return [f"no station is known for {_named(lost)}: {why} and are left out"]


def roster_of(homes: list[Home]) -> tuple[Unit, ...]:
    """The roster of some homes."""
    return tuple(Unit(home.unit, home.station, home.kind) for home in homes)


@dataclass(frozen=True, eq=False)
class Drives:
    """The drives of a log from a known station to a placed incident."""

    response: Ints
    """[drive] its place among the responses of the log."""
    start: Ints
    """[drive] the node that it begins at, if the unit was at home."""
    end: Ints
    minutes: Floats
    away: NDArray[np.bool_]
    """[drive] whether the unit cannot have been at home."""
    unknown_home: int
    """The drives left out because nobody knows where they began."""


def origins(city: City, log: Log, homes: list[Home]) -> Ints:
    """[response] the station that it comes from, by number: as the log says, or the home of its unit; -1: unknown."""
    rows = log.responses
    stations = {station.name: number for number, station in enumerate(city.stations) if station.name}
    stations |= city.station_numbers
    home_of = {home.unit: stations[home.station] for home in homes}
    of_unit = np.array([home_of.get(unit, -1) for unit in log.units] or [-1], np.int64)
    of_name = np.array([stations.get(name, -1) for name in log.stations] or [-1], np.int64)
    named = np.where(rows["station"] >= 0, of_name[rows["station"]], -1)
    return np.where(named >= 0, named, np.where(rows["unit"] >= 0, of_unit[rows["unit"]], -1))


def find_drives(city: City, log: Log, placed: Placed, station: Ints) -> Drives:
    """The drives of a log from these stations [response], and whether each began at home."""
    rows, nodes = log.responses, station_nodes(city)
    minutes = (rows["on_scene"] - rows["en_route"]) / 60.0
    end = placed.node[rows["incident"]]
    driven = np.isfinite(minutes) & (end >= 0)
    away = is_away(city, log, placed, station)
    used = np.flatnonzero(driven & (station >= 0))
    return Drives(
        response=used,
        start=nodes[station[used]],
        end=end[used],
        minutes=minutes[used],
        away=away[used],
        unknown_home=int((driven & (station < 0)).sum()),
    )


def is_away(city: City, log: Log, placed: Placed, station: Ints, *, scale_minutes: float = 0.0) -> NDArray[np.bool_]:
    """[response] whether a unit was sent sooner than it could be home from the incident before, on these roads.

    With the scale of driving times, also whether it may have been on its way yet because that took unusually long.
    """
    rows, found = log.responses, np.zeros(len(log.responses), np.bool_)
    end = placed.node[rows["incident"]]
    home_from = minutes_between(city, np.arange(len(city.nodes)), station_nodes(city))  # [node, station]
    known = np.flatnonzero((rows["unit"] >= 0) & (station >= 0))
    order = known[np.lexsort((rows["dispatched"][known], rows["unit"][known]))]
    before, after = order[:-1], order[1:]
    same = (rows["unit"][before] == rows["unit"][after]) & (end[before] >= 0) & np.isfinite(rows["available"][before])
    before, after = before[same], after[same]
    gap = (rows["dispatched"][after] - rows["available"][before]) / 60.0
    way = home_from[end[before], station[before]]
    found[after] = gap < way + LONG * np.sqrt(scale_minutes * way)
    return found


def expected_too_fast(mean: Floats, scale: float, step_minutes: float) -> float:
    """How many drives of these means are that fast by chance, as a clock of these steps shows them."""
    far = mean[mean > SHORT_MINUTES]
    limit = TOO_FAST * far
    if step_minutes > EXACT_MINUTES:
        limit = np.ceil(limit / step_minutes) * step_minutes
    return float(shown_by(limit, far, scale, step_minutes)[0].sum())


def too_fast(drives: Drives, mean: Floats) -> NDArray[np.bool_]:
    """[drive] whether it took much less time than the road from home takes on average."""
    return (mean > SHORT_MINUTES) & (drives.minutes < TOO_FAST * mean)
