"""A department's log: incidents, and what every unit did, as arrays. Rows that cannot be used are counted by reason.

A row is one unit that was sent to one incident. An incident has the type and the place that most of its rows say, or a
second file. A row that is rejected because of what its unit did still says that there was an incident.

The order of rows is no information, and changes nothing: incidents are ordered by time, responses by incident, dispatch
and unit, names as in the mapping or by the alphabet. Of rows that repeat each other the first in this order is used.

Reading never stops at a bad row. It stops where nothing could be trusted: a column that is missing, a file that is no
text, or times with and without an offset from UTC where no time zone is given.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.clock import DAY_SECONDS, clock_step
from runcard.calibrate.mapping import TIMES, LogMapping
from runcard.calibrate.reader import INCIDENT, SECOND_FILE, Floats, Ints, Reader, sorted_names
from runcard.calibrate.rejected import Rejected
from runcard.calibrate.rows import log_columns
from runcard.city.conditions import shown
from runcard.errors import InputError

REPORTED: Final = 50_000
"""Rows between two reports of progress."""
ALONE_DAYS: Final = 60.0
MOST_IN_ONE: Final = 0.9
"""If at least this part of the moments are without such a gap, the others are wrong."""
ALONE: Final = "more than 60 days before or after all other rows"
MOST_WORDS: Final = 60
"""Kinds, or types: a log with more has another column in their place."""
ROW_ORDER: Final = (
    "incident",
    "dispatched",
    "unit",
    "station",
    "kind",
    "en_route",
    "on_scene",
    "available",
    "received",
)
"""By what responses are ordered; a time that is missing comes last."""
OVERLAP_SECONDS: Final = 60.0
"""A unit that is sent again this much before it is free is in two places at once."""


@dataclass(frozen=True, eq=False)
class Log:
    """What happened: incidents, unit responses, and the names that their numbers stand for."""

    name: str
    incidents: NDArray[np.void]
    responses: NDArray[np.void]
    incident_ids: tuple[str, ...]
    units: tuple[str, ...]
    stations: tuple[str, ...]
    kinds: tuple[str, ...]
    types: tuple[str, ...]
    places: tuple[str, ...]
    rejected: Rejected
    num_rows: int
    time_zone: str | None
    read_twice: int = 0
    """Rows with a clock time that happened twice, when clocks went back."""
    num_elsewhere: int = 0
    """Rows that can be used, and are in another part of a log that was split."""

    @property
    def num_days(self) -> float:
        """How long it is: from its first to its last incident, and as much more as lies between two on average."""
        times = self.incidents["time"]
        if len(times) < 2:
            return 0.0
        return float((times.max() - times.min()) / 86400.0 * (len(times) + 1) / (len(times) - 1))

    @cached_property
    def clock_steps(self) -> dict[str, int]:
        """The seconds in which the clock of each moment of responses goes."""
        return {name: clock_step(self.responses[name]) for name in TIMES}

    def steps_between(self, begin: str, end: str) -> tuple[Floats, float]:
        """[response] how often the coarser clock of two moments goes on from one to the other; its step in minutes."""
        step = max(self.clock_steps[begin], self.clock_steps[end])
        return np.floor(self.responses[end] / step) - np.floor(self.responses[begin] / step), step / 60.0


def read_log(
    path: Path,
    mapping: LogMapping,
    *,
    incidents: Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> Log:
    """The log in a file; `incidents` is the second file of a mapping that needs one, `progress` hears of rows read."""
    if mapping.incident_columns and incidents is None:
        raise InputError(f"{mapping.name}: expected a second file, with the incidents: name it with --incidents")
    if incidents is not None and not mapping.incident_columns:
        raise InputError(f"{mapping.name}: expected a section [incidents] for {incidents}, got none")
    with _no_collections():
        return _read(path, mapping, incidents, progress)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Rows are many small lists that live for a moment; looking for cycles among them finds none and takes long."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read(path: Path, mapping: LogMapping, incidents: Path | None, progress: Callable[[int], None] | None) -> Log:
    reader = Reader(mapping)
    if incidents is not None:
        for lines, columns in log_columns(incidents, mapping, mapping.incident_columns, reader.rejected, SECOND_FILE):
            reader.take_incidents(lines, columns)
    num_second, num_rows = reader.rejected.in_order(), 0
    for lines, columns in log_columns(path, mapping, mapping.columns, reader.rejected):
        reader.take(lines, columns)
        num_rows += len(lines)
        if progress is not None and num_rows % REPORTED == 0:
            progress(num_rows)
    reader.rejected.in_order(num_second)
    reader.settle()
    return _log(path.name, num_rows + reader.rejected.misshapen, mapping, reader)


def _log(name: str, num_rows: int, mapping: LogMapping, reader: Reader) -> Log:
    """The log of all rows that were taken."""
    clock, about, ids = reader.clock, reader.about, reader.incidents.all
    if clock.with_offset and clock.without_offset and mapping.time_zone is None:
        raise InputError(
            f"{name}: {clock.with_offset:,} times have an offset from UTC and {clock.without_offset:,} have none; say "
            f"the time zone of these as log.time_zone in {mapping.name}"
        )
    for number in np.flatnonzero(about["second_file"]).tolist():
        reason = f"{SECOND_FILE}the log has no such incident"
        reader.rejected.add(int(about["line"][number]), reason, incident=ids[number])
    responses = reader.responses
    if len(responses):  # a wrong year must not make the log longer
        first, last = responses["dispatched"].min() - DAY_SECONDS, responses["dispatched"].max() + DAY_SECONDS
        unsure = about["unsure_time"]
        taken = np.isnan(about["time"]) & (first <= unsure) & (unsure <= last)
        about["time"][taken] = unsure[taken]
    incidents = np.empty(len(about), INCIDENT)
    for key in INCIDENT.names or ():
        incidents[key] = about[key]
    log = Log(
        name=name,
        incidents=incidents,
        responses=responses,
        incident_ids=ids,
        units=reader.units.all,
        stations=reader.stations.all,
        kinds=reader.kinds.all,
        types=reader.types.all,
        places=reader.places.all,
        rejected=reader.rejected,
        num_rows=num_rows,
        time_zone=mapping.time_zone,
        read_twice=clock.read_twice,
    )
    for words, listed in (("kinds", log.kinds), ("types", log.types)):
        if len(listed) > MOST_WORDS:
            raise InputError(
                f"{name}: expected at most {MOST_WORDS} {words}, got {len(listed):,}: is the column right? A "
                f"section [{words}] of the mapping puts words together"
            )
    ordered, by_time = _in_order(log, mapping)
    found = _usable(_once(ordered), about["answered"][by_time]) if len(responses) else ordered
    if not len(found.responses):
        reasons = "; ".join(f"{number:,} rows: {reason}" for reason, number in [*log.rejected.counts.items()][:3])
        raise InputError(f"{name}: expected rows that can be used, got none{': ' + reasons if reasons else ''}")
    return found


def _in_order(log: Log, mapping: LogMapping) -> tuple[Log, Ints]:
    """The log with everything in its order, and [incident] the number that it had."""
    _, id_numbers = sorted_names(log.incident_ids)
    units, unit_numbers = sorted_names(log.units)
    stations, station_numbers = sorted_names(log.stations)
    kinds, kind_numbers = sorted_names(log.kinds, mapping.kinds)
    types, type_numbers = sorted_names(log.types, mapping.types)
    places, place_numbers = sorted_names(log.places)
    by_time = np.lexsort((id_numbers[: len(log.incidents)], log.incidents["time"]))
    incident_numbers = np.empty(len(by_time), np.int64)
    incident_numbers[by_time] = np.arange(len(by_time))
    incidents, responses = log.incidents[by_time], log.responses.copy()
    incidents["type"], incidents["node"] = type_numbers[incidents["type"]], place_numbers[incidents["node"]]
    for key, numbers in (
        ("incident", incident_numbers),
        ("unit", unit_numbers),
        ("station", station_numbers),
        ("kind", kind_numbers),
    ):
        responses[key] = numbers[responses[key]]
    ordered = replace(
        log,
        incidents=incidents,
        responses=responses[np.lexsort([responses[key] for key in ROW_ORDER[::-1]])],
        incident_ids=tuple(log.incident_ids[number] for number in by_time.tolist()),
        units=units,
        stations=stations,
        kinds=kinds,
        types=types,
        places=places,
    )
    return ordered, by_time


def _once(log: Log) -> Log:
    """The log without responses that repeat an earlier one: the same number of order, or the same moment."""
    responses = log.responses
    moments = np.where(responses["order"] < 0, responses["dispatched"], 0.0)
    both = responses["incident"] * (len(log.units) + 1) + responses["unit"]
    # Few units are sent to an incident twice, and sorting by one number that is nearly in order is fast.
    rows = _equal(np.arange(len(responses)), [both], first=True)
    repeated = _equal(rows, [responses["order"], moments, both, responses["station"]])
    for row in responses[repeated]:
        unit = log.units[row["unit"]] if row["unit"] >= 0 else ""
        reason = "the same unit at the same incident again"
        log.rejected.add(int(row["line"]), reason, incident=log.incident_ids[row["incident"]], unit=unit)
    return replace(log, responses=np.delete(responses, repeated))


def _equal(rows: Ints, columns: Sequence[NDArray[Any]], *, first: bool = False) -> Ints:
    """Those of the rows, given in order, that are equal to one before them in all columns; or also the `first` ones."""
    rows = rows[np.lexsort([column[rows] for column in columns])]  # equal ones stay in order
    again = np.ones(max(len(rows) - 1, 0), np.bool_)
    for column in columns:
        again &= np.diff(column[rows]) == 0
    before, after = np.append(again, False)[: len(rows)], np.insert(again, 0, False)[: len(rows)]
    return np.sort(rows[after | before if first else after])


def _usable(log: Log, answered: NDArray[np.bool_]) -> Log:
    """The log without responses of units that are in two places at once, and of incidents without type or place."""
    responses, about = log.responses, log.incidents
    keep = np.ones(len(responses), np.bool_)
    kept_incident = (about["type"] >= 0) | (len(log.types) == 0)
    placed = np.isfinite(about["x"]) | (about["node"] >= 0)

    def reject(places: Ints, reason: str) -> None:
        for place in places.tolist():
            row = responses[place]
            unit = log.units[row["unit"]] if row["unit"] >= 0 else log.stations[row["station"]]
            log.rejected.add(int(row["line"]), reason, incident=log.incident_ids[row["incident"]], unit=unit)
        keep[places] = False

    reject(np.flatnonzero(~placed[responses["incident"]]), "the incident has no position")
    lost = ~kept_incident[responses["incident"]] & keep
    reject(np.flatnonzero(lost), "the incident has no type of the mapping")
    reject(np.flatnonzero(keep & _is_alone(responses["dispatched"])), ALONE)
    about["time"][_is_alone(about["time"])] = np.nan
    known = np.flatnonzero(keep & (responses["unit"] >= 0))
    order = known[np.lexsort((responses["dispatched"][known], responses["unit"][known]))]
    reject(_overlapping(responses, order), "the unit was still busy with another incident")
    # Incidents of which no row is left are still incidents, if a row named their type, their place and a kind of unit.
    good = kept_incident & placed & answered & np.isfinite(about["time"])
    number = np.cumsum(good) - 1
    responses = responses[keep & good[responses["incident"]]]
    responses["incident"] = number[responses["incident"]]
    ids = tuple(compress(log.incident_ids, good.tolist()))
    return Log(
        **{name: getattr(log, name) for name in Log.__dataclass_fields__}
        | {"incidents": about[good], "responses": responses, "incident_ids": ids}
    )


def _is_alone(seconds: Floats) -> NDArray[np.bool_]:
    """[moment] whether it is months away from most others: a wrong year would make a log decades long."""
    known = np.sort(seconds[np.isfinite(seconds)])
    if not len(known):
        return np.zeros(len(seconds), np.bool_)
    borders = np.flatnonzero(np.diff(known) > ALONE_DAYS * DAY_SECONDS) + 1
    parts = np.split(known, borders)
    main = max(parts, key=len)
    if len(main) < MOST_IN_ONE * len(known):
        return np.zeros(len(seconds), np.bool_)
    found: NDArray[np.bool_] = (seconds < main[0]) | (seconds > main[-1])
    return found


def _overlapping(responses: NDArray[np.void], order: Ints) -> Ints:
    """The responses, ordered by unit and time, that begin before the unit was free from the one before."""
    found, unit, free = [], -1, -np.inf
    units, starts, ends = (responses[name][order].tolist() for name in ("unit", "dispatched", "available"))
    for place, of, start, end in zip(order.tolist(), units, starts, ends, strict=True):
        if of != unit:
            unit, free = of, -np.inf
        if start < free - OVERLAP_SECONDS:
            found.append(place)
        elif end > free:
            free = end
    return np.array(found, np.int64)


def shown_rejections(log: Log, most: int = 12) -> list[str]:
    """The reasons for which rows are not used, most common first, in words."""
    counts = list(log.rejected.counts.items())
    lines = [f"{number:,} rows: {reason}" for reason, number in counts[:most]]
    if len(counts) > most:
        rest = sum(number for _, number in counts[most:])
        lines.append(f"{rest:,} rows: {len(counts) - most} other reasons, {shown(counts[most][0])} among them")
    return lines
