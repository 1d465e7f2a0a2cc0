"""The rows of a log as arrays, taken some thousand at a time, column by column.

Nothing depends on the order of rows but the numbers of names, which go by their first use. An incident has the type and
the place that most of its rows say; of two that as many say, the type that comes first in the mapping or the alphabet,
and the smaller place. Only a row that is rejected, or whose times need more than a sum, is looked at by itself.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from itertools import chain, compress, count
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.clock import MOST_KEPT, NAN, Clock, TimeError
from runcard.calibrate.mapping import PLACE_COLUMNS, TIMES, LogMapping, Vocabulary
from runcard.calibrate.rejected import Rejected
from runcard.calibrate.rows import Columns
from runcard.city.conditions import is_text, plain, shown

MOST_DRIVE_SECONDS: Final = 2 * 3600.0
MOST_TURNOUT_SECONDS: Final = 3600.0
MOST_BUSY_SECONDS: Final = 24 * 3600.0
SECOND_FILE: Final = "incidents file: "
"""The begin of the reasons for which rows of the second file are rejected."""
LEFT_OUT: Final = -2
"""The number of a type that the mapping leaves out."""
NAMES: Final = ("incident", "unit", "station", "kind", "type", "node")
"""The columns in which control characters are refused."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

RESPONSE: Final = np.dtype(
    [
        ("line", np.int64),
        ("incident", np.int64),
        ("unit", np.int64),
        ("station", np.int64),
        ("kind", np.int64),
        ("order", np.int64),
        *((name, np.float64) for name in TIMES),
    ]
)
"""A unit response: its line in the file, the numbers of its incident, unit, station, kind and order (-1: the log
does not say), and its moments in seconds since 1970, NaN where the log has none."""

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

ABOUT: Final = np.dtype(
    [
        *((name, INCIDENT[name]) for name in INCIDENT.names or ()),
        ("received", np.float64),
        ("unsure_time", np.float64),
        ("second_file", np.bool_),
        ("answered", np.bool_),
    ],
    align=True,
)
"""What is known of an incident so far: besides, when the call came by the second file; the first moment of rows whose
times cannot be right; whether only the second file has named it, whose line it then has; and whether a unit of a kind
of the mapping was sent."""
SAID: Final = np.dtype(
    [("incident", np.int64), ("type", np.int64), ("node", np.int64), ("x", np.float64), ("y", np.float64)]
)
"""What a row says of its incident."""
NOTHING: Final = np.array([(-1, -1, -1, NAN, NAN, NAN, NAN, np.inf, False, False)], ABOUT)


def sorted_names(names: Sequence[str], first: Iterable[str] = ()) -> tuple[tuple[str, ...], Ints]:
    """Names by the alphabet, but those that a mapping has as it has them; and [old number] the new one; -1, -2 stay."""
    places = {name: place for place, name in enumerate(first)}
    order = sorted(range(len(names)), key=names.__getitem__)
    if places:
        order.sort(key=lambda number: places.get(names[number], len(places)))
    new = np.append(np.zeros(len(names), np.int64), (-2, -1))
    new[order] = np.arange(len(names))
    return tuple(names[number] for number in order), new


class Names:
    """The numbers of names, in the order in which they are met; -1 for an empty one."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__, {"": -1})

    def __len__(self) -> int:
        return len(self._numbers) - 1

    def number(self, name: str) -> int:
        """The number of a name."""
        return self._numbers[name]

    def numbers(self, names: Sequence[str]) -> Ints:
        """[name] their numbers."""
        return np.fromiter(map(self._numbers.__getitem__, names), np.int64, len(names))

    @property
    def all(self) -> tuple[str, ...]:
        """The names, in the order of their numbers."""
        return tuple(self._numbers)[1:]


class Reader:
    """Takes the rows of the second file, if there is one, and then those of the log."""

    def __init__(self, mapping: LogMapping) -> None:
        self.clock = Clock(mapping.time_format, mapping.time_zone)
        self.rejected = Rejected()
        self.incidents, self.units, self.stations = Names(), Names(), Names()
        self.kinds, self.types, self.places, self._orders = Names(), Names(), Names(), Names()
        self._known = np.empty(0, ABOUT)
        self._responses = [np.empty(0, RESPONSE)]
        self._said_types, self._said_places = [np.empty(0, SAID)], [np.empty(0, SAID)]
        self._every_kind, self._has_kinds = mapping.every_kind, "kind" in mapping.columns
        self._kind = cache(Vocabulary(mapping.kinds).find)
        self._types, self._type = Vocabulary(mapping.types), cache(self._number_of_type)
        self._pattern = re.compile(mapping.position_pattern) if mapping.position_pattern else None
        self._position = lru_cache(MOST_KEPT)(self._read_position)

    @property
    def about(self) -> NDArray[np.void]:
        """[incident] what is known of each."""
        return self._known[: len(self.incidents)]

    @property
    def responses(self) -> NDArray[np.void]:
        """[response] all rows that can be used so far."""
        return np.concatenate(self._responses)

    def take_incidents(self, lines: list[int], columns: Columns) -> None:
        """Take rows of the second file."""
        lines, columns = self._named(lines, columns, SECOND_FILE)
        num_known = len(self.incidents)
        numbers = self._numbers(columns)
        own, first = np.unique(numbers, return_index=True)
        is_first = np.zeros(len(lines), np.bool_)
        is_first[first[own >= num_known]] = True
        for row in np.flatnonzero(~is_first).tolist():
            self.rejected.add(lines[row], f"{SECOND_FILE}the same incident again", incident=columns["incident"][row])
        lines, columns, numbers = *_chosen(lines, columns, is_first), numbers[is_first]
        self.about["line"][numbers] = lines
        self.about["second_file"][numbers] = True
        self._take_places(numbers, columns)
        is_left_out = self._take_types(numbers, columns["type"]) == LEFT_OUT
        self.about["type"][numbers[is_left_out]] = LEFT_OUT
        (received,), others = self.clock.columns([columns["received"]])
        for row in others.tolist():
            with suppress(TimeError):
                (received[row],) = self.clock.times((columns["received"][row],))
        self.about["received"][numbers] = received

    def take(self, lines: list[int], columns: Columns) -> None:
        """Take rows of the log."""
        lines, columns = self._named(lines, columns)
        num_known = len(self.incidents)
        numbers = self._numbers(columns)
        own, first = np.unique(numbers, return_index=True)
        is_new = (own >= num_known) | self.about["second_file"][own]  # from here on it is known by its line in the log
        self.about["line"][own[is_new]] = np.array(lines, np.int64)[first[is_new]]
        self.about["second_file"][own] = False
        of_type = self._take_types(numbers, columns["type"])
        self._take_places(numbers, columns)
        kinds = [self._every_kind] * len(lines) if self._every_kind else []
        if not kinds:
            kinds = list(map(self._kind, columns["kind"])) if self._has_kinds else [""] * len(lines)
        is_kind = _are_texts(kinds) | (not self._has_kinds)
        is_left_out = is_kind & ((of_type == LEFT_OUT) | (self.about["type"][numbers] == LEFT_OUT))
        for row in np.flatnonzero(~is_kind | is_left_out).tolist():
            if not is_kind[row]:
                reason = f"kind {plain(columns['kind'][row]) or 'empty'} is not in the mapping"
            else:
                word = columns["type"][row]
                reason = f"type {plain(word) if word else 'of the incident'} is not in the mapping"
            self.rejected.add(lines[row], reason, incident=columns["incident"][row], unit=columns["unit"][row])
        keep = is_kind & ~is_left_out
        self.about["answered"][numbers[keep]] = True
        self._take_responses(*_chosen(lines, columns | {"kind": kinds}, keep), numbers[keep])

    def _named(self, lines: list[int], columns: Columns, prefix: str = "") -> tuple[list[int], Columns]:
        """The rows that name their incident, without control characters in any name."""
        names, units = columns["incident"], columns["unit"]
        are_texts = is_text("".join("".join(columns[key]) for key in NAMES))
        if all(names) and are_texts:
            return lines, columns
        keep = _are_texts(names)
        for row in np.flatnonzero(~keep).tolist():
            self.rejected.add(lines[row], f"{prefix}no incident number", unit=units[row])
        for row in [] if are_texts else np.flatnonzero(keep).tolist():
            if not is_text("".join(columns[key][row] for key in NAMES)):
                keep[row] = False
                reason, unit = f"{prefix}control characters in a name", "" if prefix else shown(units[row])
                self.rejected.add(lines[row], reason, incident=shown(names[row]), unit=unit)
        return _chosen(lines, columns, keep)

    def _numbers(self, columns: Columns) -> Ints:
        """[row] the number of its incident, for which there is room in `about` from now on."""
        numbers = self.incidents.numbers(columns["incident"])
        if (missing := len(self.incidents) - len(self._known)) > 0:
            self._known = np.concatenate((self._known, np.repeat(NOTHING, missing + len(self._known))))
        return numbers

    def _take_types(self, numbers: Ints, words: list[str]) -> Ints:
        """[row] what it says of the type of its incident: a number, -1 for nothing, or `LEFT_OUT`."""
        found = np.fromiter(map(self._type, words), np.int64, len(words))
        said = np.zeros((found >= 0).sum(), SAID)
        said["incident"], said["type"] = numbers[found >= 0], found[found >= 0]
        self._said_types.append(said)
        return found

    def _number_of_type(self, word: str) -> int:
        if not word:
            return -1
        name = self._types.find(word)
        return self.types.number(name) if name else LEFT_OUT

    def _take_places(self, numbers: Ints, columns: Columns) -> None:
        """Take what rows say of the places of their incidents, where it can be read."""
        x, y, nodes, positions = (columns[key] for key in PLACE_COLUMNS)
        cells = chain.from_iterable(map(self._position, x, y, positions))
        at = np.fromiter(cells, np.float64, 2 * len(x)).reshape(-1, 2)
        at[_are_texts(nodes)] = 0.0
        is_said = np.isfinite(at[:, 0])
        said = np.zeros(is_said.sum(), SAID)
        said["incident"], said["node"] = numbers[is_said], self.places.numbers(nodes)[is_said]
        said["x"], said["y"] = at[is_said].T
        self._said_places.append(said)

    def settle(self) -> None:
        """Give every incident its type and its place, after all rows were taken."""
        about, types, places = self.about, np.concatenate(self._said_types), np.concatenate(self._said_places)
        rank = sorted_names(self.types.all, self._types.names)[1]
        types = types[_most_said(types["incident"], rank[types["type"]])]
        types = types[about["type"][types["incident"]] != LEFT_OUT]
        about["type"][types["incident"]] = types["type"]
        rank = sorted_names(self.places.all)[1]
        places = places[_most_said(places["incident"], rank[places["node"]], places["x"], places["y"])]
        for key in ("node", "x", "y"):
            about[key][places["incident"]] = places[key]
        of_node = places["incident"][places["node"] >= 0]
        about["x"][of_node] = about["y"][of_node] = NAN

    def _read_position(self, x: str, y: str, position: str) -> tuple[float, float]:
        """The position in the cells of a row, NaN if there is none that can be read."""
        if self._pattern is not None and position:
            match = self._pattern.search(position)
            x, y = (match["x"] or "", match["y"] or "") if match else ("", "")
        try:
            found = float(x), float(y)
        except ValueError:
            return NAN, NAN
        return found if abs(found[0]) < 1e9 and abs(found[1]) < 1e9 else (NAN, NAN)

    def _take_responses(self, lines: list[int], columns: Columns, numbers: Ints) -> None:
        """Take what the units did, in rows of incidents and kinds that the mapping knows."""
        moments, unread = self._moments([columns[name] for name in TIMES])
        received, dispatched = moments[:2]
        received[:] = np.where(np.isnan(received), self.about["received"][numbers], received)
        wait = dispatched - received
        received[~((wait >= 0.0) & (wait <= MOST_BUSY_SECONDS))] = NAN  # no call is answered before it comes, or later
        known = np.where(np.isnan(received), dispatched, received)
        fault = _faults(moments)
        is_bad = (fault > 0) | ~(_are_texts(columns["unit"]) | _are_texts(columns["station"]))
        is_bad[list(unread)] = True
        for row in np.flatnonzero(is_bad).tolist():
            unit = columns["unit"][row]
            no_unit = "" if unit or columns["station"][row] else "no unit"
            reason = unread.get(row) or no_unit or FAULTS[fault[row]]
            found = " ".join(filter(None, (columns[name][row] for name in TIMES))) if "read" in reason else ""
            self.rejected.add(lines[row], reason, incident=columns["incident"][row], unit=unit, found=found[:80])
        first_moment = np.take_along_axis(moments, np.isnan(moments).argmin(axis=0)[None], axis=0)[0]
        np.fmin.at(self.about["unsure_time"], numbers[is_bad], first_moment[is_bad])
        keep = ~is_bad
        np.fmin.at(self.about["time"], numbers[keep], known[keep])
        lines, names = _chosen(lines, {key: columns[key] for key in ("unit", "station", "kind", "order")}, keep)
        taken = np.empty(len(lines), RESPONSE)
        taken["line"], taken["incident"] = lines, numbers[keep]
        taken["unit"], taken["station"] = self.units.numbers(names["unit"]), self.stations.numbers(names["station"])
        taken["kind"] = self.kinds.numbers(names["kind"])
        taken["order"] = self._orders.numbers(names["order"])
        for name, seconds in zip(TIMES, moments, strict=True):
            taken[name] = seconds[keep]
        self._responses.append(taken)

    def _moments(self, columns: Sequence[Sequence[str]]) -> tuple[Floats, dict[int, str]]:
        """[moment, row] the moments of the rows; and by row why some cannot be used: then they are those that can be
        read."""
        found, others = self.clock.columns(columns)
        unread = {}
        for row in others.tolist():
            texts = [column[row] for column in columns]
            try:
                found[:, row] = self.clock.times(texts)
            except TimeError as error:
                unread[row] = str(error)
                for place, text in enumerate(texts):
                    try:
                        (found[place, row],) = self.clock.times((text,))
                    except TimeError:
                        found[place, row] = NAN
        return found, unread


FAULTS: Final = (
    "",
    "no time of dispatch",
    "on the road before it was dispatched",
    "on scene before it was dispatched or on the road",
    "free before it was dispatched or on scene",
    "on the road for more than 2 hours",
    "on the road more than an hour after dispatch",
    "busy for more than a day",
)
"""Why the moments of a row cannot be right; the first that is true is said."""


def _faults(moments: Floats) -> Ints:
    """[row] the number of its fault, 0 if it has none. The log may lack any moment but the dispatch."""
    _, dispatched, en_route, on_scene, available = moments
    return np.select(
        [
            np.isnan(dispatched),
            en_route < dispatched,
            (on_scene < dispatched) | (on_scene < en_route),
            (available < dispatched) | (available < en_route) | (available < on_scene),
            on_scene - en_route > MOST_DRIVE_SECONDS,
            en_route - dispatched > MOST_TURNOUT_SECONDS,
            available - dispatched > MOST_BUSY_SECONDS,
        ],
        range(1, len(FAULTS)),
    )


def _are_texts(texts: list[str]) -> Bools:
    """[text] whether it is not empty."""
    return np.fromiter(map(bool, texts), np.bool_, len(texts))


def _most_said(incident: Ints, *columns: NDArray[Any]) -> Ints:
    """For each incident a row that says what most of its rows say; of several the first by the columns."""
    order = np.lexsort((*columns[::-1], incident))
    differs = np.any([np.diff(column[order]) != 0 for column in (incident, *columns)], axis=0)
    begins = np.flatnonzero(np.append(True, differs)[: len(order)])
    rows, times = order[begins], np.diff(np.append(begins, len(order)))
    best = rows[np.lexsort((-times, incident[rows]))]  # of as many the first stays first
    return best[np.unique(incident[best], return_index=True)[1]]


def _chosen(lines: list[int], columns: Columns, keep: Bools) -> tuple[list[int], Columns]:
    """The rows that are kept."""
    if keep.all():
        return lines, columns
    chosen = keep.tolist()
    different = {id(texts): texts for texts in columns.values()}  # those that the mapping does not name are the same
    kept = {key: list(compress(texts, chosen)) for key, texts in different.items()}
    return list(compress(lines, chosen)), {key: kept[id(texts)] for key, texts in columns.items()}
