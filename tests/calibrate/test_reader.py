"""Taking rows column by column: the same as one by one."""

import csv
import random
import re
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.calibrate import rows
from runcard.calibrate.clock import Clock, TimeError
from runcard.calibrate.mapping import LOG_COLUMNS, TIMES, LogMapping, Vocabulary
from runcard.calibrate.reader import Reader
from runcard.city.conditions import is_text

PACIFIC = "America/Los_Angeles"
FORMATS = ("iso", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%d %b %Y %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f")
BAD_TIMES = (
    "soon", "2024-02-30T10:00:00", "30/02/2024 10:00:00", "2024-05-01T10:00:00Z", "2024-05-01T10:00:61",
    "1850-01-01 10:00", "2250-01-01T10:00:00", "05/01/2024 00:10:00 AM", "2024-05-01T10:00:00\0", "2024-05-01T24:00:00",
    "2024-05-01T10:00 :30", "２０24-05-01T10:00:00", "2024-05-01 10:00:00.25",
)  # fmt: skip
BAD_CELLS = ("", " ", "a\x07", "\u202e", "\xa0", "nan", "1e99", "x\ny", "ü")
MOMENTS = (datetime(2024, 5, 1), datetime(2024, 3, 9, 22), datetime(2024, 11, 2, 22))
"""A common day, and those before the clocks change."""


def dirty_rows(rng: random.Random, time_format: str) -> list[list[str]]:
    """Rows in the order of LOG_COLUMNS, many of them wrong."""

    def written(moment: datetime) -> str:
        if rng.random() < 0.1:
            return rng.choice(("", *BAD_TIMES))
        if time_format == "iso":
            return moment.isoformat(sep=rng.choice("TTT "), timespec=rng.choice(("seconds", "seconds", "minutes")))
        return moment.strftime(time_format)

    found, begin, num_incidents = [], rng.choice(MOMENTS), rng.choice((3, 40))
    for _ in range(rng.choice((5, 120))):
        incident = rng.randrange(num_incidents)
        moments = [begin + timedelta(minutes=10 * incident, seconds=rng.randrange(3600))]
        for most in (60, 90, 600, 3000):
            moments.append(moments[-1] + timedelta(seconds=rng.randrange(-most // 20, most)))
        names = [f"i{incident}", rng.choice("UVW "), rng.choice("S "), rng.choice("12 "), rng.choice("ETB")]
        place = [f"{rng.random():.2f}", "7", rng.choice(("", "", "n1", "n2")), rng.choice(("", "(1, 2)", "(3)"))]
        cells = [*names, rng.choice(("fire", "M", "X", "")), *map(written, moments), *place]
        for at in (0, 1, 4, 5, 11, 12, 13):
            if rng.random() < 0.06:
                cells[at] = rng.choice(BAD_CELLS)
        found.append(cells if rng.random() < 0.97 else cells[:3])
    return found


class OneByOne:
    """What stands in the rows of a log, each taken by itself: plainly, and slowly."""

    def __init__(self, mapping: LogMapping) -> None:
        self.clock = Clock(mapping.time_format, mapping.time_zone)
        self.kind_of, self.type_of = Vocabulary(mapping.kinds).find, Vocabulary(mapping.types).find
        self.mapping, self.about, self.used = mapping, dict[str, dict[str, Any]](), list[tuple[Any, ...]]()
        self.rejected, self.types, self.nodes = list[tuple[int, str]](), dict[str, None](), dict[str, None]()

    def take(self, line: int, cells: list[str]) -> str:
        """Take a row. Why it is rejected, if it is."""
        row = {key: cell.strip() for key, cell in zip(LOG_COLUMNS, cells, strict=True)}
        name, kind_word, word = row["incident"], row["kind"], row["type"]
        if not name:
            return "no incident number"
        if not is_text("".join(row[key] for key in ("incident", "unit", "station", "kind", "type", "node"))):
            return "control characters in a name"
        about = self.about.setdefault(name, {"line": line, "types": [], "places": [], "time": None, "unsure": None})
        if kind := self.type_of(word) if word else "":
            about["types"].append(kind)
            self.types[kind] = None
        if (place := self.place(row)) is not None:
            about["places"].append(place)
        if not self.kind_of(kind_word):
            return f"kind {kind_word or 'empty'} is not in the mapping"
        if word and not self.type_of(word):
            return f"type {word} is not in the mapping"
        about["answered"] = True
        texts, reason = [row[key] for key in TIMES], ""
        try:
            moments = self.clock.times(texts)
        except TimeError as error:
            reason, moments = str(error), [self.moment(text) for text in texts]
        if not 0.0 <= moments[1] - moments[0] <= 86400.0:
            moments[0] = np.nan
        known = [moment for moment in moments if moment == moment]
        reason = reason or ("" if row["unit"] or row["station"] else "no unit") or fault(moments)
        if reason:
            about["unsure"] = min(
                [*known[:1], *([about["unsure"]] if about["unsure"] is not None else [])], default=None
            )
            return reason
        about["time"] = known[0] if about["time"] is None else min(known[0], about["time"])
        self.used.append((line, name, row["unit"], row["station"], self.kind_of(kind_word), row["order"], *moments))
        return ""

    def moment(self, text: str) -> float:
        """One moment, NaN if it cannot be read."""
        try:
            return self.clock.times([text])[0]
        except TimeError:
            return float("nan")

    def place(self, row: dict[str, str]) -> Any:
        """The node or the position of a row, None if there is none."""
        if row["node"]:
            self.nodes[row["node"]] = None
            return row["node"]
        match = re.search(self.mapping.position_pattern or "", row["position"]) if row["position"] else None
        x, y = (row["x"], row["y"]) if not row["position"] else (match["x"], match["y"]) if match else ("", "")
        try:
            return (float(x), float(y)) if abs(float(x)) < 1e9 and abs(float(y)) < 1e9 else None
        except ValueError:
            return None


def most_said(listed: list[Any], order: list[Any]) -> Any:
    """What most say, or of as many the first in order; None of none."""
    times = Counter(listed)
    return min(times, key=lambda said: (-times[said], order.index(said)), default=None)


def fault(moments: list[float]) -> str:
    """Why the moments of a row cannot be right."""
    _, sent, left, there, free = moments
    if sent != sent:
        return "no time of dispatch"
    if left < sent:
        return "on the road before it was dispatched"
    if there < sent or there < left:
        return "on scene before it was dispatched or on the road"
    if free < sent or free < left or free < there:
        return "free before it was dispatched or on scene"
    limits = ((there - left, 7200.0, "on the road for more than 2 hours"),
              (left - sent, 3600.0, "on the road more than an hour after dispatch"),
              (free - sent, 86400.0, "busy for more than a day"))  # fmt: skip
    return next((reason for seconds, most, reason in limits if seconds > most), "")


@each_seed(60)
def test_columns_are_taken_as_rows_one_by_one(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dirty logs give the same incidents, responses, names and rejected rows, wherever one chunk ends."""
    rng = random.Random(seed)
    mapping = LogMapping(
        "m.toml",
        {key: key for key in LOG_COLUMNS},
        kinds={"engine": ("E*",), "ladder": ("T",)},
        types={"blaze": ("fire", "F*"), "medical": ("M",)},
        position_pattern=r"\((?P<x>[0-9.]+), *(?P<y>[0-9.]+)\)",
        time_format=FORMATS[seed % len(FORMATS)],
        time_zone=rng.choice((None, PACIFIC)),
    )
    path, cells = tmp_path / "log.csv", dirty_rows(rng, mapping.time_format)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([LOG_COLUMNS, *cells])
    monkeypatch.setattr(rows, "FEW", few := rng.choice((1, 2, 7, 250)))
    monkeypatch.setattr(rows, "CHUNK", few * rng.choice((1, 3)))
    reader, plain = Reader(mapping), OneByOne(mapping)
    for lines, columns in rows.log_columns(path, mapping, mapping.columns, reader.rejected):
        reader.take(lines, columns)
    reader.rejected.in_order()
    reader.settle()
    line, rejected = 2, []
    for row in cells:
        reason = plain.take(line, row) if len(row) == len(LOG_COLUMNS) else f"expected {len(LOG_COLUMNS)} cells"
        if reason:
            rejected.append((line, reason))
        line += 1 + sum(cell.count("\n") for cell in row)
    assert [one[:2] for one in reader.rejected.rows] == rejected
    assert (reader.clock.with_offset, reader.clock.without_offset, reader.clock.read_twice) == (
        plain.clock.with_offset, plain.clock.without_offset, plain.clock.read_twice,
    )  # fmt: skip
    assert (reader.incidents.all, reader.types.all, reader.places.all) == (
        tuple(plain.about), tuple(plain.types), tuple(plain.nodes),
    )  # fmt: skip
    used = reader.responses
    names = [reader.incidents.all, *((*names.all, "") for names in (reader.units, reader.stations, reader.kinds))]
    own = [tuple(of[number] for of, number in zip(names, row, strict=True))
           for row in used[["incident", "unit", "station", "kind"]].tolist()]  # fmt: skip
    assert own == [row[1:5] for row in plain.used]
    assert used["line"].tolist() == [row[0] for row in plain.used]
    expected = np.array([row[6:] for row in plain.used]).reshape(-1, len(TIMES))
    np.testing.assert_array_equal(np.array([used[name] for name in TIMES]).T, expected)
    numbers: dict[str, int] = {}
    assert used["order"].tolist() == [numbers.setdefault(row[5], len(numbers)) if row[5] else -1 for row in plain.used]
    for about, one in zip(reader.about, plain.about.values(), strict=True):
        kind, points = (
            most_said(one["types"], ["blaze", "medical"]),
            [at for at in one["places"] if at not in plain.nodes],
        )
        place = most_said(one["places"], [*sorted(points), *sorted(plain.nodes)])
        node = isinstance(place, str)
        number = -1 if kind is None else [*plain.types].index(kind)
        assert (about["line"], about["type"], about["answered"]) == (one["line"], number, one.get("answered", False))
        assert about["node"] == ([*plain.nodes].index(place) if node else -1)
        position = (np.nan, np.nan) if node or place is None else place
        times = [np.nan if one["time"] is None else one["time"], np.inf if one["unsure"] is None else one["unsure"]]
        np.testing.assert_array_equal(
            [about["x"], about["y"], about["time"], about["unsure_time"]], [*position, *times]
        )
