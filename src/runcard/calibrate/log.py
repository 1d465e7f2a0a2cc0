"""A department's log: incidents, and what every unit did, as arrays. Rows that cannot be used are counted by reason.

A row is one unit that was sent to one incident. An incident takes its type and its place from the first of its rows
that has them, or from a second file. A row that is rejected because of what its unit did still says that there was an
incident.

Reading never stops at a bad row. It stops where nothing could be trusted: a column that is missing, a file that is no
text, or times with and without an offset from UTC where no time zone is given.
"""

import re
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.clock import DAY_SECONDS, NAN, Clock, TimeError
from runcard.calibrate.mapping import LOG_COLUMNS, PLACE_COLUMNS, TIMES, LogMapping, Vocabulary
from runcard.calibrate.rejected import Rejected
from runcard.calibrate.rows import read_rows
from runcard.city.conditions import is_text, plain, shown
from runcard.errors import InputError

CHUNK: Final = 50_000
"""Rows between two reports of progress, and between two packings of lists into arrays."""
MOST_DRIVE_SECONDS: Final = 2 * 3600.0
MOST_TURNOUT_SECONDS: Final = 3600.0
MOST_BUSY_SECONDS: Final = 24 * 3600.0
SECOND_FILE: Final = "incidents file: "
"""The begin of the reasons for which rows of the second file are rejected."""
ALONE_DAYS: Final = 60.0
MOST_IN_ONE: Final = 0.9
"""If at least this part of the moments are without such a gap, the others are wrong."""
ALONE: Final = "more than 60 days before or after all other rows"
MOST_WORDS: Final = 60
"""Kinds, or types: a log with more has another column in their place."""
OVERLAP_SECONDS: Final = 60.0
"""A unit that is sent again this much before it is free is in two places at once."""

TIME, PLACE = LOG_COLUMNS.index(TIMES[0]), LOG_COLUMNS.index(PLACE_COLUMNS[0])
NODE: Final = PLACE_COLUMNS.index("node")
"""Where the cells of a row are."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESPONSE: Final = np.dtype(
    [
        ("line", np.int64),
        ("incident", np.int64),
        ("unit", np.int64),
        ("station", np.int64),
        ("kind", np.int64),
        *((name, np.float64) for name in TIMES),
    ]
)
"""A unit response: its line in the file, the numbers of its incident, unit, station and kind (-1: the log does not
say), and its moments in seconds since 1970, NaN where the log has none."""

INCIDENT: Final = np.dtype(
    [
        ("line", np.int64),
        ("type", np.int64),
        ("node", np.int64),
        ("x", np.float64),
        ("y", np.float64),
        ("time", np.float64),
    ]
)
"""An incident: the line where it is first named, the numbers of its type and of its node in `places` (-1: none), its
position, and its first moment in seconds since 1970."""


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

    @property
    def num_days(self) -> float:
        """How long it is: from its first to its last incident, and as much more as lies between two on average."""
        times = self.incidents["time"]
        if len(times) < 2:
            return 0.0
        return float((times.max() - times.min()) / 86400.0 * (len(times) + 1) / (len(times) - 1))


class _Names:
    """The numbers of names, in the order in which they are met."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers)) if name else -1


@dataclass(slots=True)
class _About:
    """What is known of an incident so far."""

    line: int
    type: int = -1
    node: int = -1
    x: float = NAN
    y: float = NAN
    time: float = NAN
    received: float = NAN
    """When the call came, by the second file."""
    unsure_time: float = float("inf")
    """The first moment of rows whose times cannot be right."""
    second_file: bool = False
    """Whether only the second file has named it so far; its line is one of that file."""
    answered: bool = False
    """Whether a unit of a kind of the mapping was sent."""


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
    reader = _Reader(mapping)
    if incidents is not None:
        if not mapping.incident_columns:
            raise InputError(f"{mapping.name}: expected a section [incidents] for {incidents}, got none")
        for line, cells in read_rows(incidents, mapping, mapping.incident_columns, reader.rejected, SECOND_FILE):
            reader.take_incident(line, cells)
    num_rows = 0
    for line, cells in read_rows(path, mapping, mapping.columns, reader.rejected):
        reader.take(line, cells)
        num_rows += 1
        if num_rows % CHUNK == 0:
            reader.pack()
            if progress is not None:
                progress(num_rows)
    return reader.log(path.name, num_rows + reader.rejected.misshapen)


class _Reader:
    """Takes rows one by one."""

    def __init__(self, mapping: LogMapping) -> None:
        self.mapping = mapping
        self.clock = Clock(mapping.time_format, mapping.time_zone)
        self.rejected = Rejected()
        self.incidents, self.units, self.stations = _Names(), _Names(), _Names()
        self.kinds, self.types, self.places, self.orders = _Names(), _Names(), _Names(), _Names()
        self.about: list[_About] = []
        self._kinds, self._types = Vocabulary(mapping.kinds), Vocabulary(mapping.types)
        self._pattern = re.compile(mapping.position_pattern) if mapping.position_pattern else None
        self._rows: list[tuple[Any, ...]] = []
        self._packed: list[NDArray[np.void]] = []
        self._orders = array("q")
        self._has_kinds = "kind" in mapping.columns

    def take_incident(self, line: int, cells: tuple[str, ...]) -> None:
        """Take a row of the second file."""
        name, _, _, _, _, type_word, received, _, _, _, _, *place = cells
        if not name:
            self.rejected.add(line, f"{SECOND_FILE}no incident number")
            return
        if not is_text(name + type_word + place[NODE]):
            self.rejected.add(line, f"{SECOND_FILE}control characters in a name", incident=shown(name))
            return
        _, about = self._incident(line, name)
        if about.second_file:
            self.rejected.add(line, f"{SECOND_FILE}the same incident again", incident=name)
            return
        about.second_file = True
        self._place(about, place)
        with suppress(TimeError):
            (about.received,) = self.clock.times((received,))
        if type_word:
            about.type = self._type(type_word)

    def take(self, line: int, cells: tuple[str, ...]) -> None:
        """Take a row of the log."""
        name, unit, station, order, kind_word, type_word, *_ = cells
        reject = self.rejected.add
        if not name:
            reject(line, "no incident number", unit=unit)
            return
        if not is_text(f"{name}{unit}{station}{kind_word}{type_word}{cells[PLACE + NODE]}"):
            reject(line, "control characters in a name", incident=shown(name), unit=shown(unit))
            return
        number, about = self._incident(line, name)
        if about.second_file:  # from here on it is known by its line in the log
            about.line, about.second_file = line, False
        if about.type == -1 and type_word:
            about.type = self._type(type_word)
        if about.x != about.x and about.node < 0:
            self._place(about, cells[PLACE:])
        kind = self.mapping.every_kind or (self._kinds.find(kind_word) if self._has_kinds else "")
        if not kind and self._has_kinds:
            reject(line, f"kind {plain(kind_word) or 'empty'} is not in the mapping", incident=name, unit=unit)
            return
        if about.type == -2:
            word = plain(type_word) if type_word else "of the incident"
            reject(line, f"type {word} is not in the mapping", incident=name, unit=unit)
            return
        about.answered = True
        moments, reason = self._moments(cells[TIME:PLACE])
        if moments[0] != moments[0]:
            moments[0] = about.received
        if not 0.0 <= moments[1] - moments[0] <= MOST_BUSY_SECONDS:
            moments[0] = NAN  # no call is answered before it comes, nor after a day
        known = moments[0] if moments[0] == moments[0] else moments[1]
        if reason := reason or ("" if unit or station else "no unit") or _bad_times(moments):
            known = next((moment for moment in moments if moment == moment), NAN)
            about.unsure_time = min(known, about.unsure_time) if known == known else about.unsure_time
            found = " ".join(filter(None, cells[TIME:PLACE])) if "read" in reason else ""
            reject(line, reason, incident=name, unit=unit, found=found[:80])
            return
        of_unit, of_station = self.units.number(unit), self.stations.number(station)
        self._orders.append(self.orders.number(order))
        about.time = min(known, about.time)
        self._rows.append((line, number, of_unit, of_station, self.kinds.number(kind), *moments))

    def _incident(self, line: int, name: str) -> tuple[int, _About]:
        number = self.incidents.number(name)
        if number == len(self.about):
            self.about.append(_About(line))
        return number, self.about[number]

    def _type(self, word: str) -> int:
        """The number of a type; -2 if the mapping leaves it out."""
        found = self._types.find(word)
        return self.types.number(found) if found else -2

    def _place(self, about: _About, place: Sequence[str]) -> None:
        """Take the place of an incident, if the row has one that can be read."""
        x, y, node, position = place
        if node:
            about.node = self.places.number(node)
            return
        if self._pattern is not None and position:
            match = self._pattern.search(position)
            x, y = (match["x"] or "", match["y"] or "") if match else ("", "")
        try:
            about.x, about.y = float(x), float(y)
        except ValueError:
            return
        if not (abs(about.x) < 1e9 and abs(about.y) < 1e9):
            about.x = about.y = NAN

    def _moments(self, texts: tuple[str, ...]) -> tuple[list[float], str]:
        """The moments of a row, and why it cannot be used: then they are those that can be read."""
        try:
            return self.clock.times(texts), ""
        except TimeError as error:
            moments = []
            for text in texts:
                try:
                    moments += self.clock.times((text,))
                except TimeError:
                    moments.append(NAN)
            return moments, str(error)

    def pack(self) -> None:
        """Pack the rows taken since the last time into an array."""
        self._packed.append(np.array(self._rows, RESPONSE))
        self._rows.clear()

    def _once(self, responses: NDArray[np.void]) -> NDArray[np.void]:
        """The responses without those that repeat an earlier one: the same number of order, or the same moment."""
        orders = np.frombuffer(self._orders, np.int64)
        moments = np.where(orders < 0, responses["dispatched"], 0.0)
        columns = [orders, moments, *(responses[name] for name in ("incident", "unit", "station"))]
        sorted_rows = np.lexsort(columns)  # equal ones stay in the order of the file
        again = np.ones(len(responses), np.bool_)
        again[:1] = False
        for column in columns:
            again[1:] &= np.diff(column[sorted_rows]) == 0
        repeated = np.sort(sorted_rows[again])
        names, units = tuple(self.incidents.numbers), tuple(self.units.numbers)
        for row in responses[repeated]:
            unit = units[row["unit"]] if row["unit"] >= 0 else ""
            reason = "the same unit at the same incident again"
            self.rejected.add(int(row["line"]), reason, incident=names[row["incident"]], unit=unit)
        return np.delete(responses, repeated)

    def log(self, name: str, num_rows: int) -> Log:
        """The log of all rows taken."""
        self.pack()
        if self.clock.with_offset and self.clock.without_offset and self.mapping.time_zone is None:
            raise InputError(
                f"{name}: {self.clock.with_offset:,} times have an offset from UTC and "
                f"{self.clock.without_offset:,} have none; say the time zone of these as log.time_zone in "
                f"{self.mapping.name}"
            )
        for number, one in zip(self.incidents.numbers, self.about, strict=True):
            if one.second_file:
                self.rejected.add(one.line, f"{SECOND_FILE}the log has no such incident", incident=number)
        responses = self._once(np.concatenate(self._packed))
        if len(responses):  # a wrong year must not make the log longer
            first, last = responses["dispatched"].min() - DAY_SECONDS, responses["dispatched"].max() + DAY_SECONDS
            for one in self.about:
                if one.time != one.time and first <= one.unsure_time <= last:
                    one.time = one.unsure_time
        rows = [(a.line, a.type, a.node, a.x, a.y, a.time) for a in self.about]
        answered = np.array([a.answered for a in self.about], np.bool_)
        log = Log(
            name=name,
            incidents=np.array(rows, INCIDENT),
            responses=responses,
            incident_ids=tuple(self.incidents.numbers),
            units=tuple(self.units.numbers),
            stations=tuple(self.stations.numbers),
            kinds=tuple(self.kinds.numbers),
            types=tuple(self.types.numbers),
            places=tuple(self.places.numbers),
            rejected=self.rejected,
            num_rows=num_rows,
            time_zone=self.mapping.time_zone,
            read_twice=self.clock.read_twice,
        )
        for words, listed in (("kinds", log.kinds), ("types", log.types)):
            if len(listed) > MOST_WORDS:
                raise InputError(
                    f"{name}: expected at most {MOST_WORDS} {words}, got {len(listed):,}: is the column right? A "
                    f"section [{words}] of the mapping puts words together"
                )
        found = _usable(log, answered) if len(responses) else log
        if not len(found.responses):
            reasons = "; ".join(f"{number:,} rows: {reason}" for reason, number in [*log.rejected.counts.items()][:3])
            raise InputError(f"{name}: expected rows that can be used, got none{': ' + reasons if reasons else ''}")
        return found


def _bad_times(moments: Sequence[float]) -> str:
    """Why the moments of a row cannot be right; empty if they can. The log may lack any but the dispatch."""
    _, dispatched, en_route, on_scene, available = moments
    if dispatched != dispatched:
        return "no time of dispatch"
    if en_route < dispatched:
        return "on the road before it was dispatched"
    if on_scene < dispatched or on_scene < en_route:
        return "on scene before it was dispatched or on the road"
    if available < dispatched or available < en_route or available < on_scene:
        return "free before it was dispatched or on scene"
    if on_scene - en_route > MOST_DRIVE_SECONDS:
        return "on the road for more than 2 hours"
    if en_route - dispatched > MOST_TURNOUT_SECONDS:
        return "on the road more than an hour after dispatch"
    if available - dispatched > MOST_BUSY_SECONDS:
        return "busy for more than a day"
    return ""


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
    ids = tuple(name for name, fine in zip(log.incident_ids, good.tolist(), strict=True) if fine)
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
        elif end == end:
            free = max(free, end)
    return np.array(found, np.int64)


def shown_rejections(log: Log, most: int = 12) -> list[str]:
    """The reasons for which rows are not used, most common first, in words."""
    counts = list(log.rejected.counts.items())
    lines = [f"{number:,} rows: {reason}" for reason, number in counts[:most]]
    if len(counts) > most:
        rest = sum(number for _, number in counts[most:])
        lines.append(f"{rest:,} rows: {len(counts) - most} other reasons, {shown(counts[most][0])} among them")
    return lines
