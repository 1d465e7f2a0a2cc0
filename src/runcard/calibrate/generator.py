"""Logs of a known city in the format of a mapping, clean or with the dirt of real ones.

Dirt is what exports have: rows twice, cells missing or one too many, times that nobody can read, arrivals before
dispatch, units that are in two places at once or have no name, and units and incidents that the mapping does not know.
What was put in is counted by the reason for which a reader must reject it.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from runcard.calibrate.clock import HALF_HOUR, local_seconds
from runcard.calibrate.made_up import Happened, SentUnit, make_up
from runcard.calibrate.mapping import ISO, TIMES, LogMapping
from runcard.city.model import City
from runcard.errors import InputError

START: Final = datetime(2024, 1, 1)
"""A Monday."""
EPOCH: Final = datetime(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class MadeUpLog:
    """The texts of a log and of its second file, if the format has one, and what was made up."""

    text: str
    incidents_text: str | None
    happened: tuple[Happened, ...]
    sent: tuple[SentUnit, ...]
    dirt: dict[str, int]
    """The number of rows that a reader must reject, by reason."""
    encoding: str

    def contents(self) -> tuple[bytes, bytes | None]:
        """What the two files hold, in the encoding of the mapping."""
        second = self.incidents_text
        return self.text.encode(self.encoding), None if second is None else second.encode(self.encoding)

    def write(self, path: Path, incidents: Path | None = None) -> None:
        """Write the files."""
        content, second = self.contents()
        path.write_bytes(content)
        if incidents is not None and second is not None:
            incidents.write_bytes(second)


def generate_log(
    city: City,
    mapping: LogMapping,
    *,
    incidents: int,
    seed: int = 1,
    start: datetime = START,
    dirt: float = 0.0,
) -> MadeUpLog:
    """A log of so many incidents of a city; `dirt` is the part of its rows that are spoilt."""
    if not 0.0 <= dirt < 1.0:
        raise InputError(f"expected dirt from 0 to less than 1, got {dirt:g}")
    happened, sent = make_up(city, incidents=incidents, seed=seed, start=start)
    writer = _Writer(city, mapping, happened)
    rows = [writer.row(one) for one in sent]
    spoilt: Counter[str] = Counter()
    if dirt:
        rows, spoilt = _spoil(rows, writer, np.random.default_rng([seed, 1]), dirt)
    second = writer.incidents_text() if mapping.incident_columns else None
    # Readers pass over a byte order mark, but nobody needs one.
    encoding = "utf-8" if mapping.encoding == "utf-8-sig" else mapping.encoding
    return MadeUpLog(writer.text(rows), second, tuple(happened), tuple(sent), dict(spoilt), encoding)


class _WallClock:
    """Says by how much clocks on the wall are ahead of those that nobody changes after the first incident."""

    def __init__(self, time_zone: str | None, first: float) -> None:
        self.zone = time_zone
        self.offset = self._offset(first)
        self.known: dict[int, float] = {}

    def _offset(self, utc: float) -> float:
        return float(local_seconds(np.array([utc]), self.zone)[0] - utc)

    def shift(self, seconds: float) -> float:
        """The seconds to add to a moment."""
        if self.zone is None:
            return 0.0
        key = int((seconds - self.offset) // HALF_HOUR)
        if key not in self.known:
            self.known[key] = self._offset(key * HALF_HOUR) - self.offset
        return self.known[key]


class _Writer:
    """Writes rows in the format of a mapping."""

    def __init__(self, city: City, mapping: LogMapping, happened: list[Happened]) -> None:
        self.city, self.mapping, self.happened = city, mapping, happened
        self.header = tuple(dict.fromkeys(mapping.columns.values()))
        self.clock = _WallClock(mapping.time_zone, happened[0].time)
        if "position" in (mapping.incident_columns or mapping.columns) and mapping.position_pattern is not None:
            match = re.search(mapping.position_pattern, self._place(0)["position"])
            x = city.node(city.demand[happened[0].point].node_id).x_coord
            if match is None or match["x"] != repr(x):
                raise InputError(
                    f"{mapping.name}: a made-up log has positions as (y, x), which this pattern does not read"
                )

    def time(self, seconds: float) -> str:
        """A moment as the log writes it."""
        moment = EPOCH + timedelta(seconds=int(seconds + self.clock.shift(seconds)))
        return moment.isoformat() if self.mapping.time_format == ISO else moment.strftime(self.mapping.time_format)

    def word(self, section: str, name: str) -> str:
        """What the log calls a kind or type."""
        words = getattr(self.mapping, section)
        if not words:
            return name
        if name not in words:
            known = ", ".join(words)
            raise InputError(f"{self.mapping.name}: [{section}] has no words for {name}; expected one of {known}")
        return str(words[name][0]).replace("*", "X")

    def _place(self, incident: int) -> dict[str, str]:
        node = self.city.node(self.city.demand[self.happened[incident].point].node_id)
        return {
            "x": repr(node.x_coord),
            "y": repr(node.y_coord),
            "node": node.node_id,
            "position": f"({node.y_coord!r}, {node.x_coord!r})",
        }

    def row(self, sent: SentUnit) -> dict[str, str]:
        """The cells of a row, by what they hold."""
        mapping, point = self.mapping, self.city.demand[self.happened[sent.incident].point]
        cells: dict[str, str] = {
            "incident": f"{sent.incident + 1:07}",
            "unit": sent.unit,
            "station": self.city.stations[sent.station].station_id,
            "order": str(sent.order),
            **{name: self.time(getattr(sent, name)) for name in TIMES},
            **self._place(sent.incident),
        }
        if "kind" in mapping.columns:
            cells["kind"] = self.word("kinds", sent.kind)
        if "type" in mapping.columns:
            cells["type"] = self.word("types", point.type or "incident")
        return {key: cells[key] for key in mapping.columns}

    def text(self, rows: Sequence[dict[str, str] | list[str]]) -> str:
        """The text of a log; a row that is a list is written as it is."""
        out = io.StringIO()
        writer = csv.writer(out, delimiter=self.mapping.separator)
        writer.writerow(self.header)
        for row in rows:
            writer.writerow(row if isinstance(row, list) else self.cells(row))
        return out.getvalue()

    def cells(self, row: dict[str, str]) -> list[str]:
        """The cells of a row in the order of the columns."""
        by_column = {self.mapping.columns[key]: cell for key, cell in row.items()}
        return [by_column[name] for name in self.header]

    def incidents_text(self) -> str:
        """The text of the second file."""
        columns = self.mapping.incident_columns
        out = io.StringIO()
        writer = csv.writer(out, delimiter=self.mapping.separator)
        writer.writerow(columns.values())
        for number, one in enumerate(self.happened):
            cells = {
                "incident": f"{number + 1:07}",
                "type": self.word("types", self.city.demand[one.point].type or "incident"),
                "received": self.time(one.time),
                **self._place(number),
            }
            writer.writerow([cells[key] for key in columns])
        return out.getvalue()


class _Dirt(NamedTuple):
    """A way to spoil a row."""

    change: Callable[[dict[str, str], _Writer], dict[str, str] | list[str]]
    reason: str = ""
    """For which a reader must reject what comes out; empty if it must not."""
    needs: Set[str] = frozenset()
    """The columns, and the sections of words, without which it makes no sense."""
    added: bool = False
    """Whether the row stays, and what comes out is one more."""


_DIRT: Final[Mapping[str, _Dirt]] = {
    "again": _Dirt(lambda row, _: row, "the same unit at the same incident again", added=True),
    "no arrival": _Dirt(lambda row, _: row | {"on_scene": ""}),
    "unreadable": _Dirt(lambda row, _: row | {"on_scene": "not yet"}, "a time that cannot be read"),
    "early": _Dirt(
        lambda row, writer: row | {"on_scene": writer.time(writer.happened[0].time - 1e7)},
        "on scene before it was dispatched or on the road",
    ),
    "no dispatch": _Dirt(lambda row, _: row | {"dispatched": ""}, "no time of dispatch"),
    "one cell more": _Dirt(lambda row, writer: [*writer.cells(row), "?"], "expected {width} cells"),
    "no unit": _Dirt(lambda row, _: row | {"unit": " "}, "no unit", {"unit"}),
    "other kind": _Dirt(
        lambda row, _: row | {"kind": "PRIVATE", "unit": "P-1"},
        "kind PRIVATE is not in the mapping",
        {"kind", "unit", "kinds"},
        added=True,
    ),
    "other type": _Dirt(
        lambda row, _: row | {"incident": f"T{row['incident']}", "type": "Parade"},
        "type Parade is not in the mapping",
        {"type", "types"},
        added=True,
    ),
    "two places": _Dirt(
        lambda row, _: row | {"incident": f"P{row['incident']}"},
        "the unit was still busy with another incident",
        {"unit", "type"},
        added=True,
    ),
}


def _spoil(rows: list[Any], writer: _Writer, rng: np.random.Generator, dirt: float) -> tuple[list[Any], Counter[str]]:
    """The rows with some spoilt or added, and how many of which must be rejected for which reason."""
    mapping, spoilt, found = writer.mapping, Counter[str](), list[Any]()
    has = {*mapping.columns, *(name for name in ("kinds", "types") if getattr(mapping, name))}
    kinds = [kind for kind in _DIRT.values() if kind.needs <= has]
    for row in rows:
        if rng.random() >= dirt:
            found.append(row)
            continue
        kind = kinds[int(rng.integers(len(kinds)))]
        found += [row] * kind.added + [kind.change(row, writer)]
        if kind.reason:
            spoilt[kind.reason.format(width=len(writer.header))] += 1
    return found, spoilt
