"""Reading all rows at once: the same as one by one, with Python's csv and zoneinfo."""

import csv
import random
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise, product
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.seeds import each_seed

from runcard.calibrate.clock import Clock
from runcard.calibrate.mapping import LOG_COLUMNS, TIMES, LogMapping, Vocabulary
from runcard.calibrate.reader import Reader
from runcard.calibrate.rejected import Rejected
from runcard.calibrate.rows import Source, read_rows
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


def damaged(rng: random.Random, text: str) -> str:
    """The text of a file with some lines spoilt, so that not every line is a row."""
    lines = text.split("\n")
    for place in rng.choices(range(1, len(lines)), k=rng.choice((1, 3, 8))):
        line, at = lines[place], rng.randrange(len(lines[place]) + 1)
        lines[place] = rng.choice((
            line[:at], "", line + ",x", f"{line[:at]}\"{line[at:]}", line.replace(",", ', "', 1), f" {line}\t",
            line.replace(",", ',"a" ,', 1), f"{line[:at]}\r{line[at:]}", f"{line[:at]}\0{line[at:]}",
            line.replace(",", "\xa0, "), line.replace(",", ',"', 1).replace(",", '",', 1), f"{line}\r",
        ))  # fmt: skip
    return "\n".join(lines)


def rows_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file behind its header, as Python's csv finds them, each with its first line."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        next(reader)
        line = reader.line_num + 1
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1


class OneByOne:
    """What stands in the rows of a log, each taken by itself: plainly, and slowly."""

    def __init__(self, mapping: LogMapping) -> None:
        self.with_offset = self.without_offset = self.read_twice = 0
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
        moments, reason = self.moments([row[key] for key in TIMES])
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

    def moments(self, texts: list[str]) -> tuple[list[float], str]:
        """The times of a row, NaN for what is none, and why they cannot be used.

        Of all ways to read what happened twice that are in order it is the shortest, with the most of the first hour.
        """
        ways, reason = [], ""
        for text in texts:
            found, fault = self.ways(text) if text else ([float("nan")], "")
            ways.append(found)
            reason = reason or fault
        first = [found[0] for found in ways]
        is_twice = any(len(found) > 1 for found in ways)
        self.read_twice += is_twice
        if reason or not is_twice:
            return first, reason
        lengths = {}
        for later in product(*(range(len(found)) for found in ways)):
            times = [found[hour] for found, hour in zip(ways, later, strict=True)]
            known = [moment for moment in times if moment == moment]
            if all(a <= b for a, b in pairwise(known)):
                lengths[known[-1] - known[0], sum(later)] = times
        return lengths[min(lengths)] if lengths else first, ""

    def ways(self, text: str) -> tuple[list[float], str]:
        """When a time may have been, and why it cannot."""
        time_format, zone = self.mapping.time_format, self.mapping.time_zone
        if "T" in time_format:  # a space may stand in its place
            text = text.replace(" ", "T", 1)
        try:
            read = datetime.fromisoformat(text) if time_format == "iso" else datetime.strptime(text, time_format)
        except ValueError:
            return [float("nan")], "a time that cannot be read"
        if not 1900 <= read.year <= 2200:
            return [float("nan")], "a time that cannot be read"
        self.with_offset += read.tzinfo is not None
        self.without_offset += read.tzinfo is None
        if read.tzinfo is not None:
            return [read.timestamp()], ""
        first, last = (read.replace(tzinfo=ZoneInfo(zone or "UTC"), fold=fold).timestamp() for fold in (0, 1))
        if first > last:
            return [float("nan")], "a time that the clocks skipped when they went forward"
        return [first] if first == last else [first, last], ""

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


@pytest.mark.slow
@each_seed(60)
def test_all_rows_at_once_are_taken_as_one_by_one(seed: int, tmp_path: Path) -> None:
    """Dirty logs, well written or damaged, give the same incidents, responses, names and rejected rows."""
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
    path = tmp_path / f"log'[{seed}]*.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator=rng.choice(("\n", "\r\n")))
        writer.writerows([LOG_COLUMNS, *dirty_rows(rng, mapping.time_format)])
    if seed % 2:
        path.write_bytes(damaged(rng, path.read_bytes().decode()).encode())
    clock, rejected, plain = Clock(mapping.time_format, mapping.time_zone), Rejected(), OneByOne(mapping)
    rows = read_rows([Source(path, mapping.columns)], mapping, clock.day_pattern, rejected)
    reader, reasons = Reader(rows, mapping, clock, rejected), []
    for line, row in rows_of(path):
        reason = plain.take(line, row) if len(row) == len(LOG_COLUMNS) else f"expected {len(LOG_COLUMNS)} cells"
        if reason:
            reasons.append((line, reason))
    assert [one[:2] for one in rejected.rows] == reasons
    assert (clock.with_offset, clock.without_offset, clock.read_twice) == (
        plain.with_offset, plain.without_offset, plain.read_twice,
    )  # fmt: skip
    ids, types, nodes = (rows.columns["incident"].texts, ["blaze", "medical"], sorted(plain.nodes))
    assert reader.types == tuple(kind for kind in types if kind in plain.types)
    assert reader.places == tuple(nodes)
    used = reader.responses
    names = [ids, *((*names, "") for names in (reader.units, reader.stations, reader.kinds))]
    own = [tuple(of[number] for of, number in zip(names, row, strict=True))
           for row in used[["incident", "unit", "station", "kind"]].tolist()]  # fmt: skip
    assert own == [row[1:5] for row in plain.used]
    assert used["line"].tolist() == [row[0] for row in plain.used]
    expected = np.array([row[6:] for row in plain.used]).reshape(-1, len(TIMES))
    np.testing.assert_array_equal(np.array([used[name] for name in TIMES]).T, expected)
    orders = sorted({row[5] for row in plain.used} - {""})
    assert used["order"].tolist() == [orders.index(row[5]) if row[5] else -1 for row in plain.used]
    for name, one in plain.about.items():
        about, points = reader.about[ids.index(name)], [at for at in one["places"] if at not in nodes]
        kind, place = most_said(one["types"], types), most_said(one["places"], [*sorted(points), *nodes])
        node = isinstance(place, str)
        number = -1 if kind is None else reader.types.index(kind)
        assert (about["line"], about["type"], about["answered"]) == (one["line"], number, one.get("answered", False))
        assert about["node"] == (nodes.index(place) if node else -1)
        position = (np.nan, np.nan) if node or place is None else place
        unsure = np.inf if one["unsure"] is None else one["unsure"]
        is_near = len(used) and used["dispatched"].min() - 86400.0 <= unsure <= used["dispatched"].max() + 86400.0
        time = one["time"] or (unsure if is_near else np.nan)
        np.testing.assert_array_equal(
            [about["x"], about["y"], about["time"], about["unsure_time"]], [*position, time, unsure]
        )
