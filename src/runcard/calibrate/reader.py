"""What the rows of a log say: who went where and when, and why some cannot be used.

The order of rows changes nothing. An incident has the type and the place that most of its rows say; of two that as many
say, the type that comes first in the mapping or the alphabet, and the smaller place.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.clock import DAY_SECONDS, NAN, TIME_FAULTS, UNREADABLE, Clock
from runcard.calibrate.mapping import TIMES, LogMapping, Vocabulary
from runcard.calibrate.rejected import SECOND_FILE, Rejected
from runcard.calibrate.rows import Column, Rows
from runcard.city.conditions import is_text, plain, shown

MOST_DRIVE_SECONDS: Final = 2 * 3600.0
MOST_TURNOUT_SECONDS: Final = 3600.0
MOST_BUSY_SECONDS: Final = 24 * 3600.0
FARTHEST: Final = 1e9
LEFT_OUT: Final = -2
"""The number of a type that the mapping leaves out."""
NAMES: Final = ("incident", "unit", "station", "kind", "type", "node")
"""The columns in which control characters are refused."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

RESPONSE: Final = np.dtype(
    [(name, np.int64) for name in ("line", "incident", "unit", "station", "kind", "order")]
    + [(name, np.float64) for name in TIMES]
)
"""A unit response: its line in the file, the numbers of its incident, unit, station, kind and order (-1: the log
does not say), and its moments in seconds since 1970, NaN where the log has none."""

INCIDENT: Final = np.dtype(
    [(name, np.int64) for name in ("line", "type", "node")] + [(name, np.float64) for name in ("x", "y", "time")]
)
"""An incident: the line where it is first named, the numbers of its type and of its node in `places` (-1: none), its
position, and its first moment in seconds since 1970."""

ABOUT: Final = np.dtype(
    [(name, INCIDENT[name]) for name in INCIDENT.names or ()]
    + [(name, np.float64) for name in ("received", "unsure_time")]
    + [(name, np.bool_) for name in ("second_file", "answered")],
    align=True,
)
"""What is known of an incident so far: besides, when the call came by the second file; the first moment of rows whose
times cannot be right; whether only the second file has named it, whose line it then has; and whether a unit of a kind
of the mapping was sent."""
NOTHING: Final = np.array([(-1, -1, -1, NAN, NAN, NAN, NAN, np.inf, False, False)], ABOUT)


class Reader:
    """Takes the rows of the second file, if there is one, and those of the log."""

    def __init__(self, rows: Rows, mapping: LogMapping, clock: Clock, rejected: Rejected) -> None:
        self._rows, self._columns, self._mapping = rows, rows.columns, mapping
        self._clock, self._rejected = clock, rejected
        self._incident = rows.columns["incident"].numbers
        self.about = np.repeat(NOTHING, len(rows.columns["incident"].texts))
        """[incident, by name] what is known of it."""
        second, log = self._named_rows()
        for is_second, taken in ((True, second), (False, log)):  # an incident of both is known by its line in the log
            backwards = taken[::-1]  # the first row of an incident comes last, and stays
            self.about["line"][self._incident[backwards]] = rows.lines[backwards]
            self.about["second_file"][self._incident[taken]] = is_second
        self.about["received"][self._incident[second]] = clock.moments([rows.times["received"]], second)[0][0]
        self.types, of_type = self._take_types(second, log)
        self.places = self._take_places(np.append(second, log))
        kinds, known = self._take_kinds(log, of_type)
        self.about["answered"][self._incident[known]] = True
        used, moments = self._take_times(known)
        self.responses = np.empty(len(used), RESPONSE)
        self.responses["line"], self.responses["incident"] = rows.lines[used], self._incident[used]
        for name, seconds in zip(TIMES, moments, strict=True):
            self.responses[name] = seconds
        self.kinds, self.responses["kind"] = _names(kinds, used, mapping.kinds)
        self.units, self.responses["unit"] = _names(rows.columns["unit"], used)
        self.stations, self.responses["station"] = _names(rows.columns["station"], used)
        self.responses["order"] = _names(rows.columns["order"], used)[1]
        rejected.in_order()
        only_second = np.flatnonzero(self.about["second_file"])
        for number in only_second[np.argsort(self.about["line"][only_second])].tolist():
            line, incident = int(self.about["line"][number]), rows.columns["incident"].texts[number]
            rejected.add(line, f"{SECOND_FILE}the log has no such incident", incident=incident)
        if len(used):  # a wrong year must not make the log longer
            dispatched, unsure = self.responses["dispatched"], self.about["unsure_time"]
            first, last = dispatched.min() - DAY_SECONDS, dispatched.max() + DAY_SECONDS
            is_unsure = np.isnan(self.about["time"]) & (first <= unsure) & (unsure <= last)
            self.about["time"][is_unsure] = unsure[is_unsure]

    def _named_rows(self) -> tuple[Ints, Ints]:
        """The rows of the second file and of the log that name their incident, without control characters in a name."""
        every = np.arange(len(self._incident))
        is_second = (self._rows.sources == 0) & bool(self._mapping.incident_columns)
        is_named = self._columns["incident"].each(bool, every)
        is_clean = np.ones(len(every), np.bool_)
        for names in (self._columns[key] for key in NAMES):
            if not is_text("".join(names.texts)):
                is_clean &= names.each(is_text, every)
        for row in np.flatnonzero(~(is_named & is_clean)).tolist():
            prefix = SECOND_FILE if is_second[row] else ""
            if is_named[row]:
                self._reject(row, f"{prefix}control characters in a name", written=shown)
            else:
                self._reject(row, f"{prefix}no incident number")
        is_named &= is_clean
        second = np.flatnonzero(is_named & is_second)
        first = np.sort(np.unique(self._incident[second], return_index=True)[1])
        for row in np.delete(second, first).tolist():
            self._reject(row, f"{SECOND_FILE}the same incident again")
        return second[first], np.flatnonzero(is_named & ~is_second)

    def _take_types(self, second: Ints, log: Ints) -> tuple[tuple[str, ...], Ints]:
        """The types that rows say, and [row] its type, after every incident has that of most of its rows."""
        words, vocabulary, taken = self._columns["type"], Vocabulary(self._mapping.types), np.append(second, log)
        meant = words.renamed(lambda word: word and vocabulary.find(word))
        of_type = np.full(len(self._incident), -1)
        types, of_type[taken] = _names(meant, taken, vocabulary.names)
        of_type[taken[words.each(bool, taken) & ~meant.each(bool, taken)]] = LEFT_OUT
        said = taken[of_type[taken] >= 0]
        said = said[_most_said(self._incident[said], of_type[said])]
        self.about["type"][self._incident[said]] = of_type[said]
        left_out = second[of_type[second] == LEFT_OUT]
        self.about["type"][self._incident[left_out]] = LEFT_OUT
        return types, of_type

    def _take_places(self, rows: Ints) -> tuple[str, ...]:
        """The nodes that rows say, after every incident has the node or the position of most of its rows."""
        x, y = (self._columns[key].each(_number, rows) for key in ("x", "y"))
        if self._mapping.position_pattern:
            position = partial(_position, re.compile(self._mapping.position_pattern))
            texts = self._columns["position"]
            x, y = np.where(texts.each(bool, rows), texts.each(position, rows).T, (x, y))
        nodes, node = _names(self._columns["node"], rows)
        is_said = (node >= 0) | ((np.abs(x) < FARTHEST) & (np.abs(y) < FARTHEST))
        incident, node = self._incident[rows[is_said]], node[is_said]
        x, y = (np.where(node >= 0, 0.0, at[is_said]) for at in (x, y))
        said = _most_said(incident, node, x, y)
        for key, values in (("node", node), ("x", x), ("y", y)):
            self.about[key][incident[said]] = values[said]
        of_node = incident[said][node[said] >= 0]
        self.about["x"][of_node] = self.about["y"][of_node] = NAN
        return nodes

    def _take_kinds(self, log: Ints, of_type: Ints) -> tuple[Column, Ints]:
        """The column of kinds, and the rows of kinds and types that the mapping knows."""
        words, types = self._columns["kind"], self._columns["type"]
        every_kind, has_kinds = self._mapping.every_kind, "kind" in self._mapping.columns
        kinds = words.renamed(Vocabulary(self._mapping.kinds).find) if has_kinds else words
        if every_kind is not None:
            kinds = words.renamed(lambda _: every_kind)
        is_kind = kinds.each(bool, log) | (not has_kinds)
        is_left_out = (of_type[log] == LEFT_OUT) | (self.about["type"][self._incident[log]] == LEFT_OUT)
        for row in log[~is_kind].tolist():
            self._reject(row, f"kind {plain(words.text(row)) or 'empty'} is not in the mapping")
        for row in log[is_kind & is_left_out].tolist():
            word = types.text(row)
            self._reject(row, f"type {plain(word) if word else 'of the incident'} is not in the mapping")
        return kinds, log[is_kind & ~is_left_out]

    def _take_times(self, rows: Ints) -> tuple[Ints, Floats]:
        """The rows with times that can be right, and [moment, row] these; incidents get their first moment."""
        about, incident = self.about, self._incident[rows]
        moments, time_faults = self._clock.moments([self._rows.times[key] for key in TIMES], rows)
        received, dispatched = moments[:2]
        received[:] = np.where(np.isnan(received), about["received"][incident], received)
        wait = dispatched - received
        received[~((wait >= 0.0) & (wait <= MOST_BUSY_SECONDS))] = NAN  # no call is answered before it comes, or later
        reasons, numbers = self._faults(rows, moments, time_faults)
        is_bad = numbers < len(reasons)
        for place in np.flatnonzero(is_bad).tolist():
            reason = reasons[numbers[place]]
            self._reject(rows[place], reason, found=self._times(rows[place])[:80] if reason == UNREADABLE else "")
        first_moment = np.take_along_axis(moments, np.isnan(moments).argmin(axis=0)[None], axis=0)[0]
        np.fmin.at(about["unsure_time"], incident[is_bad], first_moment[is_bad])
        known = np.where(np.isnan(received), dispatched, received)
        np.fmin.at(about["time"], incident[~is_bad], known[~is_bad])
        return rows[~is_bad], moments[:, ~is_bad]

    def _faults(self, rows: Ints, moments: Floats, time_faults: Ints) -> tuple[list[str], Ints]:
        """Why rows cannot be used, and [row] the number of the first reason; none: their number. The log may lack any
        moment but the dispatch."""
        _, dispatched, en_route, on_scene, available = moments
        has_unit = self._columns["unit"].each(bool, rows) | self._columns["station"].each(bool, rows)
        conditions = {
            **{reason: time_faults == number for number, reason in enumerate(TIME_FAULTS) if reason},
            "no unit": ~has_unit,
            "no time of dispatch": np.isnan(dispatched),
            "on the road before it was dispatched": en_route < dispatched,
            "on scene before it was dispatched or on the road": (on_scene < dispatched) | (on_scene < en_route),
            "free before it was dispatched or on scene": (
                (available < dispatched) | (available < en_route) | (available < on_scene)
            ),
            "on the road for more than 2 hours": on_scene - en_route > MOST_DRIVE_SECONDS,
            "on the road more than an hour after dispatch": en_route - dispatched > MOST_TURNOUT_SECONDS,
            "busy for more than a day": available - dispatched > MOST_BUSY_SECONDS,
        }
        return list(conditions), np.select(list(conditions.values()), range(len(conditions)), len(conditions))

    def _times(self, row: int) -> str:
        """The texts of the times of a row."""
        texts = (days.text(row) + clocks.text(row) for days, clocks in (self._rows.times[key] for key in TIMES))
        return " ".join(filter(None, texts))

    def _reject(self, row: int, reason: str, *, found: str = "", written: Callable[[str], str] = str) -> None:
        names = {key: self._columns[key].text(row) for key in ("incident", "unit")}
        names = {key: name and written(name) for key, name in names.items()}
        self._rejected.add(int(self._rows.lines[row]), reason, **names, found=found)


def _names(column: Column, rows: Ints, first: Iterable[str] = ()) -> tuple[tuple[str, ...], Ints]:
    """The different texts of some rows, those of a mapping as it has them and then the others by the alphabet; and
    [row] the number of its own, -1 for an empty one."""
    used = {column.texts[number] for number in np.flatnonzero(np.bincount(column.numbers[rows])).tolist()} - {""}
    names = (*(name for name in first if name in used), *sorted(used.difference(first)))
    numbers = {name: number for number, name in enumerate(names)}
    return names, column.each(lambda text: numbers.get(text, -1), rows)


def _number(text: str) -> float:
    """The number that a text states, NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return NAN


def _position(pattern: "re.Pattern[str]", text: str) -> tuple[float, float]:
    """The numbers that a pattern finds in a text, NaN if there are none."""
    match = pattern.search(text)
    return (_number(match["x"] or ""), _number(match["y"] or "")) if match else (NAN, NAN)


def _most_said(incident: Ints, *columns: NDArray[Any]) -> Ints:
    """For each incident a row that says what most of its rows say; of several the first by the columns."""
    order = np.lexsort((*columns[::-1], incident))
    differs = np.any([np.diff(column[order]) != 0 for column in (incident, *columns)], axis=0)
    begins = np.flatnonzero(np.append(True, differs)[: len(order)])
    rows, times = order[begins], np.diff(np.append(begins, len(order)))
    best = rows[np.lexsort((-times, incident[rows]))]  # of as many the first stays first
    return best[np.unique(incident[best], return_index=True)[1]]
