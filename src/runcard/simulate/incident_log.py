"""A log of real incidents that is replayed: a CSV file with a row for each, checked before anything runs.

    time,node_id[,class]        2015-01-03T14:05:00, n12, 1
    time,node_id[,type,class]   2015-01-03T14:05:00, n12, fire,     in a city with incident types

    time,x_coord,y_coord[,...]  2015-01-03T14:05:00, -122.41, 37.77,   in place of the node

`time` is an ISO date and time, in order. `class` says which row of the node in `demand.csv` is meant, from 1, where a
node has several; beside a `type`, which of its rows of that type. A gap of more than a month is an error. Minutes count
from the Monday before the first incident.

**Coordinates** are those of the city, x first. They stand for the nearest node of the roads, and this for the demand
point in whose area it lies (`city/areas.py`); in a city with types, of those that have the type of the row.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.address import fault_of
from runcard.city.areas import area_of_nodes
from runcard.city.conditions import MAX_COORDINATE, Condition, UnreadableError, not_among, plain, shown
from runcard.city.csv_text import CsvText, read_text, readable
from runcard.city.model import City
from runcard.city.places import nearest_nodes
from runcard.city.tables import CsvTable, parse_table, read_cell
from runcard.errors import InputError

MAX_GAP_DAYS = 31.0
"""A log with a longer time without any incident is likely not complete."""
EARLIEST_YEAR, LATEST_YEAR = 1900, 2200


INCIDENT = np.dtype([("minutes", np.float64), ("point", np.int64)])
"""An incident of a log."""


def _read_time(cell: str) -> datetime:
    text, expected = cell.strip(), "a date and a time, such as 2015-01-03T14:05:00"
    with suppress(ValueError):
        date.fromisoformat(text)
        text = ""  # a date alone is not enough
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(expected) from None
    if not EARLIEST_YEAR <= time.year <= LATEST_YEAR:
        raise ValueError(f"in a year from {EARLIEST_YEAR} to {LATEST_YEAR}")
    return time


def _read_coordinate(cell: str) -> float:
    value: float = read_cell(float, cell)
    if abs(value) > MAX_COORDINATE:
        raise ValueError(f"from {-MAX_COORDINATE:g} to {MAX_COORDINATE:g}")
    return value


COORDINATES: Final = ("x_coord", "y_coord")
MOST_METRES: Final = 1000.0
"""An incident further from every node of the roads is not of this city."""


def read_incident_log(path: Path, city: City) -> NDArray[np.void]:
    """The incidents of a log as records; raises an error that names the first row that is not sound."""
    with readable(path):
        text = CsvText(read_text(path))
        read = parse_table(_table_of(text.header, city), text)
    unread = {fault.index: fault.text for fault in reversed(read.faults)}
    if None in unread or not read.rows:
        raise InputError(f"{path.name}: {unread.get(None, 'expected at least one incident, got none')}")
    by_place = "node_id" not in read.rows[0]
    nodes = _nearest_demand(city, read.rows) if by_place else (row["node_id"] for row in read.rows)
    points_at: dict[str, list[int]] = defaultdict(list)
    for j, demand_point in enumerate(city.demand):
        points_at[demand_point.node_id].append(j)
    first: dict[tuple[Any, ...], int] = {}
    before = read.rows[0]["time"]
    for index, (row, row_number) in enumerate(zip(read.rows, read.row_numbers, strict=True)):
        try:
            if index in unread:
                raise UnreadableError(unread[index])
            _check_cells(row["extra"])
            point, time = _find_point(row, next(nodes), city, points_at), row["time"]
            _check_order(before, time)
            # Two incidents of one area may begin in the same minute.
            key = (time, point, *(row[name] for name in COORDINATES if by_place))
            if (same := first.setdefault(key, row_number)) != row_number:
                what = f"the same time and {'place' if by_place else 'node'} as in row {same}"
                raise UnreadableError(f"expected each incident once, got {what}")
        except UnreadableError as error:
            raise InputError(f"{path.name} row {row_number}: {error}") from error
        before = time
    start = read.rows[0]["time"]
    monday = start.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=start.weekday())
    return np.array([((time - monday).total_seconds() / 60.0, point) for time, point, *_ in first], INCIDENT)


def _table_of(header: list[str], city: City) -> CsvTable:
    """The table of a log, with coordinates in place of nodes if its header has them."""
    by_place = "node_id" not in header and {*header}.issuperset(COORDINATES)
    where = dict.fromkeys(COORDINATES, _read_coordinate) if by_place else {"node_id": str}
    optional = {"class": int} | ({"type": str} if city.types else {})  # else the type is not used
    columns = {name: Condition("", of=of) for name, of in ({"time": _read_time} | where).items()}
    return CsvTable("log", dict, columns | {name: Condition("", of=of, default=None) for name, of in optional.items()})


def _nearest_demand(city: City, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """[row] the node of the demand point that is closest to its coordinates; an error if these are far."""
    # Rows that could not be read are refused one by one, before their place is asked for.
    x, y = ([row[name] if isinstance(row[name], float) else 0.0 for row in rows] for name in COORDINATES)
    closest: dict[str | None, tuple[list[str], NDArray[np.int64]]] = {}
    places = zip(rows, x, y, *(found.tolist() for found in nearest_nodes(city, x, y)), strict=True)
    for row, x_coord, y_coord, place, metres in places:
        if fault := fault_of(city, x_coord, y_coord, metres, most=MOST_METRES):
            raise UnreadableError(fault)
        if (of_type := row.get("type")) not in closest:
            points = [point for point in city.demand if not of_type or point.type == of_type] or city.demand
            nodes = list(dict.fromkeys(point.node_id for point in points))
            closest[of_type] = nodes, area_of_nodes(city, nodes)
        nodes, area_of = closest[of_type]
        if (area := int(area_of[place])) < 0:
            node_id = city.nodes[place].node_id
            raise UnreadableError(f"expected a road from some demand point to node {node_id}, got none")
        yield nodes[area]


def _check_cells(extra: tuple[tuple[str, str], ...]) -> None:
    """Raise an error if a cell of several lines holds other rows: its quote was closed by that of another cell."""
    for name, cell in extra:
        for line in cell.splitlines()[1:]:
            for part in line.split(","):
                with suppress(ValueError):
                    _read_time(part)
                    words = f"expected no other row inside column {plain(name)}, got {shown(line)}"
                    raise UnreadableError(f"{words}: is a quote missing?")


def _find_point(row: Mapping[str, Any], node: str, city: City, points_at: Mapping[str, list[int]]) -> int:
    """The demand point of a row, given its node."""
    of_type: str = row.get("type", "")
    number: int | None = row.get("class")
    if node not in points_at:
        raise UnreadableError(not_among("a node of demand.csv", node, points_at))
    points, what = points_at[node], f"node {node}" + (f" with the type {of_type}" if of_type else "")
    types = dict.fromkeys(city.demand[j].type for j in points) if city.types else {}
    if not of_type and number is None and len(types) > 1:  # none has to be named where there is only one
        raise UnreadableError(f"expected a type, since node {node} has several ({', '.join(types)}), got none")
    if of_type and of_type not in city.types:
        raise UnreadableError(not_among(f"a type of incident_type.csv ({', '.join(city.types)})", of_type, city.types))
    if of_type and of_type not in types:
        known = f"a type that node {node} has in demand.csv ({', '.join(types)})"
        raise UnreadableError(f"expected {known}, got {shown(of_type)}")
    points = [j for j in points if not of_type or city.demand[j].type == of_type]
    if number is None and len(points) == 1:
        return points[0]
    if number is None or not 1 <= number <= len(points):
        got = "none" if number is None else number
        raise UnreadableError(f"expected a class from 1 to {len(points)}, which {what} has, got {got}")
    return points[number - 1]


def _check_order(before: datetime, time: datetime) -> None:
    """Raise an error if an incident comes before the last one, or too long after it."""
    if (before.tzinfo is None) != (time.tzinfo is None):
        raise UnreadableError("expected every time with a time zone or none, got both")
    if time < before:
        raise UnreadableError(f"expected rows in the order of time, got {time.isoformat()} after {before.isoformat()}")
    gap = (time - before).total_seconds() / 86400.0
    if gap > MAX_GAP_DAYS:
        within = f"expected an incident within {MAX_GAP_DAYS:g} days of the last, got a gap of {gap:.1f} days"
        raise UnreadableError(f"{within}: is a part of the log missing?")
