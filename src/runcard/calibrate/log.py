"""A department's log: incidents, and what every unit did, as arrays. Rows that cannot be used are counted by reason.

A row is one unit that was sent to one incident. An incident has the type and the place that most of its rows say, or a
second file. A row that is rejected because of what its unit did still says that there was an incident.

The order of rows is no information, and changes nothing: incidents are ordered by time, responses by incident, dispatch
and unit, names as in the mapping or by the alphabet. Of rows that repeat each other the first in this order is used.

Reading never stops at a bad row. It stops where nothing could be trusted: a column that is missing, a file that is no
text, or times with and without an offset from UTC where no time zone is given.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.clock import DAY_SECONDS, Clock, clock_step
from runcard.calibrate.mapping import TIMES, LogMapping
from runcard.calibrate.reader import INCIDENT, Floats, Ints, Reader
from runcard.calibrate.rejected import SECOND_FILE, Rejected
from runcard.calibrate.rows import Source, read_rows
from runcard.city.conditions import shown
from runcard.errors import InputError

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
    clock, rejected = Clock(mapping.time_format, mapping.time_zone), Rejected()
    sources = [Source(path, mapping.columns)]
    if incidents is not None:
        sources.insert(0, Source(incidents, mapping.incident_columns, SECOND_FILE))
    rows = read_rows(sources, mapping, clock.day_pattern, rejected)
    num_rows = int(np.count_nonzero(rows.sources == len(sources) - 1)) + rejected.misshapen
    if progress is not None:
        progress(num_rows)
    reader = Reader(rows, mapping, clock, rejected)
    if clock.with_offset and clock.without_offset and mapping.time_zone is None:
        raise InputError(
            f"{path.name}: {clock.with_offset:,} times have an offset from UTC and {clock.without_offset:,} have none; "
            f"say the time zone of these as log.time_zone in {mapping.name}"
        )
    for words, names in (("kinds", reader.kinds), ("types", reader.types)):
        if len(names) > MOST_WORDS:
            raise InputError(
                f"{path.name}: expected at most {MOST_WORDS} {words}, got {len(names):,}: is the column right? A "
                f"section [{words}] of the mapping puts words together"
            )
    log = Log(
        name=path.name,
        incidents=reader.about,
        responses=reader.responses,
        incident_ids=rows.columns["incident"].texts,
        units=reader.units,
        stations=reader.stations,
        kinds=reader.kinds,
        types=reader.types,
        places=reader.places,
        rejected=rejected,
        num_rows=num_rows,
        time_zone=mapping.time_zone,
        read_twice=clock.read_twice,
    )
    log = _usable(_once(_in_order(log)))
    if not len(log.responses):
        reasons = "; ".join(f"{number:,} rows: {reason}" for reason, number in [*rejected.counts.items()][:3])
        raise InputError(f"{path.name}: expected rows that can be used, got none{': ' + reasons if reasons else ''}")
    return log


def _in_order(log: Log) -> Log:
    """The log with its incidents by time, and its responses by incident, dispatch and unit."""
    by_time = np.argsort(log.incidents["time"], kind="stable")  # they are by name
    numbers = np.empty_like(by_time)
    numbers[by_time] = np.arange(len(by_time))
    responses = log.responses
    responses["incident"] = numbers[responses["incident"]]
    ids = tuple(log.incident_ids[number] for number in by_time.tolist())
    responses = responses[np.lexsort([responses[key] for key in ROW_ORDER[::-1]])]
    return replace(log, incidents=log.incidents[by_time], responses=responses, incident_ids=ids)


def _once(log: Log) -> Log:
    """The log without responses that repeat an earlier one: the same number of order, or the same moment."""
    responses = log.responses
    moments = np.where(responses["order"] < 0, responses["dispatched"], 0.0)
    both = responses["incident"] * (len(log.units) + 1) + responses["unit"]
    keys = [moments, responses["order"], responses["station"], both]
    order = np.lexsort(keys)  # equal ones stay in order
    repeated = np.sort(order[1:][np.all([np.diff(key[order]) == 0 for key in keys], axis=0)])
    for row in responses[repeated]:
        unit = log.units[row["unit"]] if row["unit"] >= 0 else ""
        reason = "the same unit at the same incident again"
        log.rejected.add(int(row["line"]), reason, incident=log.incident_ids[row["incident"]], unit=unit)
    return replace(log, responses=np.delete(responses, repeated))


def _usable(log: Log) -> Log:
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
    good = kept_incident & placed & about["answered"] & np.isfinite(about["time"])
    number = np.cumsum(good) - 1
    responses = responses[keep & good[responses["incident"]]]
    responses["incident"] = number[responses["incident"]]
    incidents = np.empty(np.count_nonzero(good), INCIDENT)
    for key in INCIDENT.names or ():
        incidents[key] = about[key][good]
    return replace(
        log, incidents=incidents, responses=responses, incident_ids=tuple(compress(log.incident_ids, good.tolist()))
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
