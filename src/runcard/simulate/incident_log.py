"""A log of real incidents, to be replayed: a CSV file with a row for each, checked before anything runs.

    time,node_id[,class]        2015-01-03T14:05:00, n12, 1

`time` is an ISO time, in order; `class` says which row of the node in `demand.csv` is meant, from 1, where a node has
several. A gap of more than a month is an error; minutes count from the Monday before the first incident.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runcard.city.check import near
from runcard.city.model import City
from runcard.errors import InputError

MAX_GAP_DAYS = 31.0
"""A log with a longer time without any incident is likely not complete."""
EARLIEST_YEAR, LATEST_YEAR = 1900, 2200
COLUMNS = ("time", "node_id", "class")


@dataclass(frozen=True, eq=False)
class IncidentLog:
    """Incidents in the order of their times."""

    minutes: NDArray[np.float64]
    """From Monday 0:00 before the first of them on."""
    points: NDArray[np.int64]
    begins: datetime


def read_log(path: Path, city: City) -> IncidentLog:
    """The incidents of a log; raises an error that names the first row that is not sound."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _read_rows(path.name, csv.reader(file), city)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: expected a CSV file in UTF-8: {error}") from error


def _read_rows(name: str, rows: Iterator[list[str]], city: City) -> IncidentLog:
    """The incidents of the rows of a log called `name`."""
    header = [cell.strip() for cell in next(rows, [])]
    for column in COLUMNS[:2]:
        if column not in header:
            raise InputError(f"{name}: expected the columns time and node_id, got {', '.join(header) or 'none'}")
    places: dict[str, list[int]] = {}
    for j, one in enumerate(city.demand):
        places.setdefault(one.node_id, []).append(j)
    at_time, at_node = header.index("time"), header.index("node_id")
    at_class = header.index("class") if "class" in header else None
    times: list[datetime] = []
    points: list[int] = []
    seen: dict[tuple[datetime, int], int] = {}
    for number, row in enumerate(rows, start=2):
        if not any(cell.strip() for cell in row):
            continue
        where = f"{name} row {number}"
        if len(row) < len(header):
            raise InputError(f"{where}: expected {len(header)} cells, got {len(row)}")
        time = _read_time(where, row[at_time].strip())
        point = _read_point(where, row[at_node].strip(), "" if at_class is None else row[at_class].strip(), places)
        if times:
            _check_order(where, times[-1], time)
        if (time, point) in seen:
            raise InputError(
                f"{where}: expected each incident once, got the same time and node as in row {seen[time, point]}"
            )
        if times and time != times[-1]:
            seen.clear()
        seen[time, point] = number
        times.append(time)
        points.append(point)
    if not times:
        raise InputError(f"{name}: expected at least one incident, got none")
    first = times[0].replace(hour=0, minute=0, second=0, microsecond=0)
    begins = first - timedelta(days=first.weekday())
    minutes = np.array([(time - begins).total_seconds() / 60.0 for time in times])
    return IncidentLog(minutes, np.array(points, np.int64), begins)


def _read_time(where: str, text: str) -> datetime:
    """The time of a row."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{where}: expected a time such as 2015-01-03T14:05:00, got {text!r}") from None
    if not EARLIEST_YEAR <= time.year <= LATEST_YEAR:
        raise InputError(f"{where}: expected a year from {EARLIEST_YEAR} to {LATEST_YEAR}, got {time.year}")
    return time


def _read_point(where: str, node: str, number: str, places: dict[str, list[int]]) -> int:
    """The demand point of a row."""
    if node not in places:
        raise InputError(f"{where}: expected a node of demand.csv, got {node!r}{near(node, places)}")
    points = places[node]
    if not number:
        if len(points) > 1:
            raise InputError(f"{where}: expected a class from 1 to {len(points)}, which node {node} has, got none")
        return points[0]
    if not number.isdecimal() or not 1 <= int(number) <= len(points):
        raise InputError(f"{where}: expected a class from 1 to {len(points)}, which node {node} has, got {number!r}")
    return points[int(number) - 1]


def _check_order(where: str, before: datetime, time: datetime) -> None:
    """Raise an error if an incident comes before the last one, or too long after it."""
    if (before.tzinfo is None) != (time.tzinfo is None):
        raise InputError(f"{where}: expected every time with a time zone or none, got both")
    if time < before:
        raise InputError(
            f"{where}: expected rows in the order of time, got {time.isoformat()} after {before.isoformat()}"
        )
    gap = (time - before).total_seconds() / 86400.0
    if gap > MAX_GAP_DAYS:
        raise InputError(
            f"{where}: expected an incident within {MAX_GAP_DAYS:g} days of the last, got a gap of {gap:.1f} days: "
            "is a part of the log missing?"
        )
