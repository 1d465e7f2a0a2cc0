"""How quickly raw files are read: a log of a million rows, roads of Manhattan's size, a department of San Francisco's.

All of it is made up here. Real files are read only from a folder that somebody names.
"""

import csv
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from scipy.sparse.csgraph import dijkstra

from benchmarks.cases import Row
from benchmarks.heuristics import print_peak
from benchmarks.known_city import known_cities
from runcard.calibrate.generator import generate_log
from runcard.calibrate.log import read_log
from runcard.calibrate.mapping import read_mapping
from runcard.city.aprons import with_aprons
from runcard.city.areas import demand_nodes, driving_graph
from runcard.city.importers import Imported, ImportOptions, import_city, mapping_of, read_import_mapping
from runcard.city.importers.build import read_standards
from runcard.city.model import City, DemandPoint, Driving, Turnout, Unit

EXAMPLES: Final = Path(__file__).parent.parent / "examples"
SAN_FRANCISCO: Final = EXAMPLES / "san-francisco"
FILLER: Final = (
    ",some block of some street,San Francisco,94100,B01,1,1234,3,3,3,true,Alarm,1,1,1,1,some neighbourhood,1"
)
"""What real rows have besides, so that made-up ones are as long."""
AVENUES, STREETS, CHAIN_NODES = 28, 223, 10_567
"""As many crossings, and nodes along roads, as Manhattan has: 16,811 nodes."""
WEST, SOUTH = -122.5, 37.7


def run_python(*words: str) -> None:
    """Run Python with these words."""
    subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True)


def build_san_francisco(data: Path, folder: Path) -> Path:
    """The city folder of San Francisco in `folder`, built from the raw files below `data`."""
    run_python(str(SAN_FRANCISCO / "build.py"), str(data / "sanfrancisco"), str(folder))
    return folder / "city"


def raw_file_cases(*, quick: bool = False, data: Path | None = None) -> Iterator[Row]:
    """Every figure about raw files."""
    yield long_roads()
    yield department()
    if not quick:
        yield from million_rows()
    if data is not None:
        yield example("manhattan", data / "manhattan", 20.0)
        yield example("san-francisco", data / "sanfrancisco", 60.0)


def million_rows(num_rows: int = 1_000_000) -> Iterator[Row]:
    """Seconds and memory of a process that reads a log of so many rows."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        write_rows(path, num_rows)
        code = f"import benchmarks.raw_files as c; c.print_reading({str(path)!r})"
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        size = path.stat().st_size / 2**20
    seconds, by_clock, responses, gib = map(float, done.stdout.split())
    assert 0.999 * num_rows <= responses <= num_rows
    name = f"a log of {num_rows:,} rows, {size:.0f} MiB"
    yield Row(f"{name}: read", f"{by_clock:.1f} s, {seconds:.1f} s of processors", "< 5 s", by_clock < 5.0)
    yield Row(f"{name}: memory", f"{gib:.2f} GiB", "< 1 GiB", gib < 1.0)


def write_rows(path: Path, num_rows: int, incidents: int = 20_000) -> None:
    """A log in San Francisco's format: a made-up one again and again, each time later and with other incidents."""
    _, city = known_cities()
    made = generate_log(city, read_mapping("san-francisco"), incidents=incidents, seed=1)
    head, body = made.text.split("\r\n", 1)
    lines = body.replace("\r\n", f"{FILLER}\r\n").splitlines(keepends=True)
    days = (made.happened[-1].time - made.happened[0].time) / 86400.0 + 2.0
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write(head + "".join(f",more {number}" for number in range(FILLER.count(","))) + "\r\n")
        for copy in range(-(-num_rows // len(lines))):
            # Whole weeks, so that every incident stays in its period.
            shift = timedelta(days=7.0 * np.ceil(days / 7.0) * copy)
            later = _Later(shift)
            for line in lines[: num_rows - copy * len(lines)]:
                file.write(f"{copy:03}{re.sub(r'[0-9]{2}/[0-9]{2}/[0-9]{4}', later, line)}")


class _Later:
    """Dates some days later."""

    def __init__(self, shift: timedelta) -> None:
        self.shift, self.known = shift, dict[str, str]()

    def __call__(self, found: "re.Match[str]") -> str:
        date = found[0]
        if date not in self.known:
            self.known[date] = (datetime.strptime(date, "%m/%d/%Y") + self.shift).strftime("%m/%d/%Y")
        return self.known[date]


def print_reading(path: str) -> None:
    """Print the seconds of reading a log, of this process and by the clock, its responses, and the memory it took."""
    began, spent = time.perf_counter(), time.process_time()
    log = read_log(Path(path), read_mapping("san-francisco"))
    print(time.process_time() - spent, time.perf_counter() - began, len(log.responses))
    print_peak()


def long_roads() -> Row:
    """Roads of 16,811 nodes are imported, and contraction changes no route time."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        raw = write_long_roads(folder)
        mapping = mapping_of(
            {
                "nodes": {"file": "nodes.csv", "id": "id", "x": "x", "y": "y"},
                "links": {"file": "arcs.csv", "id": "id", "from": "from", "to": "to", "minutes": "minutes"},
                "stations": {"id": "id", "x": "x", "y": "y"},
            }
        )
        began = time.perf_counter()
        found = import_city(folder, folder / "stations.csv", mapping=mapping)
        seconds = time.perf_counter() - began
    summary = found.summary
    assert (summary.nodes_read, summary.dropped_nodes, summary.stations) == (16_811, 0, 47)
    assert summary.nodes + summary.contracted_nodes == 16_811
    ids = list(dict.fromkeys([one.node_id for one in found.city.stations] + list(demand_nodes(found.city))))
    places = [int(one) for one in ids]
    graph = driving_graph(16_811, *(np.array(column) for column in zip(*raw, strict=True)))
    assert np.abs(_minutes(found, ids) - dijkstra(graph, indices=places[:47])[:, places]).max() < 1e-9
    return Row(
        f"import of {summary.nodes_read:,} nodes and {summary.links_read:,} links, made up like Manhattan's",
        f"{seconds:.1f} s; {summary.nodes:,} nodes after contraction, no route time changed",
        "< 20 s",
        seconds < 20.0,
    )


def _minutes(found: Imported, ids: Sequence[str]) -> Any:
    """[start, end] minutes of an imported city from the first 47 of some nodes to all of them."""
    number = {node.node_id: place for place, node in enumerate(found.city.nodes)}
    ways = [(one.from_node_id, one.to_node_id, one.mean_minutes) for one in found.city.links]
    ways += [(one.to_node_id, one.from_node_id, one.mean_minutes) for one in found.city.links if not one.directed]
    starts, ends = ([number[one] for one in column] for column in ([way[0] for way in ways], [way[1] for way in ways]))
    graph = driving_graph(len(number), np.array(starts), np.array(ends), np.array([way[2] for way in ways]))
    places = [number[one] for one in ids]
    return dijkstra(graph, indices=places[:47])[:, places]


def write_long_roads(folder: Path) -> list[tuple[int, int, float]]:
    """One-way avenues and streets of many nodes along the way, and stations; the arcs come back."""
    rng = np.random.default_rng(1)
    blocks = list(_blocks(STREETS, AVENUES, rng, both_ways=0.0))
    num = AVENUES * STREETS
    # A third of the blocks have all the nodes along roads.
    along = np.zeros(len(blocks), np.int64)
    some = rng.choice(len(blocks), len(blocks) // 3, replace=False)
    np.add.at(along, rng.choice(some, CHAIN_NODES), 1)
    place = {one: (0.003 * (one % AVENUES), 0.0008 * (one // AVENUES)) for one in range(num)}
    arcs: list[tuple[int, int, float]] = []
    for (start, end, ways), number in zip(blocks, along.tolist(), strict=True):
        chain = [start, *range(len(place), len(place) + number), end]
        for step, one in enumerate(chain[1:-1], start=1):
            part = step / (number + 1)
            (x, y), (right, up) = place[start], place[end]
            place[one] = ((1.0 - part) * x + part * right, (1.0 - part) * y + part * up)
        for a, b in pairwise(chain):
            minutes = float(rng.uniform(0.2, 0.4)) / (number + 1)
            arcs += [(a, b, minutes), (b, a, minutes)][:ways]
    _write(folder / "nodes.csv", ("id", "x", "y"), ((one, WEST + x, SOUTH + y) for one, (x, y) in place.items()))
    _write(folder / "arcs.csv", ("id", "from", "to", "minutes"), ((n, *arc) for n, arc in enumerate(arcs)))
    homes = rng.choice(num, 47, replace=False).tolist()
    rows = ((n, WEST + place[one][0], SOUTH + place[one][1]) for n, one in enumerate(homes))
    _write(folder / "stations.csv", ("id", "x", "y"), rows)
    return arcs


def _blocks(
    num_rows: int, num_columns: int, rng: np.random.Generator, *, both_ways: float
) -> Iterator[tuple[int, int, int]]:
    """The blocks of a grid: from, to, and 1 or 2 ways; one-way streets take turns, and those around it go both ways."""
    for r in range(num_rows):
        for c in range(num_columns):
            for down, right in ((0, 1), (1, 0)):
                if r + down < num_rows and c + right < num_columns:
                    line, last = (r, num_rows - 1) if right else (c, num_columns - 1)
                    ends = (r * num_columns + c, (r + down) * num_columns + c + right)
                    ways = 2 if line in (0, last) or rng.random() < both_ways else 1
                    yield *(ends if line % 2 else ends[::-1]), ways


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def department(num_rows: int = 8000) -> Row:
    """Raw files of a department of San Francisco's size to a fitted city, by the command line; homes are found."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        city = write_department(folder, num_rows)
        began = time.perf_counter()
        raw, log, fitted = (str(folder / one) for one in ("raw", "raw/calls.csv", "fitted"))
        mapping = str(SAN_FRANCISCO / "mapping.toml")
        stations = str(folder / "raw" / "stations.csv")
        _runcard("import", str(folder / "city"), "--roads", raw, "--stations", stations, "--mapping", mapping,
                 "--areas", "135")  # fmt: skip
        _runcard("fit", str(folder / "city"), "--log", log, "--mapping", mapping, "-o", fitted,
                 "--standards", str(SAN_FRANCISCO / "standards.csv"))  # fmt: skip
        seconds = time.perf_counter() - began
        found = json.loads((folder / "fitted" / "fit.json").read_text())
    numbers = {one["name"]: one for one in found["numbers"]}
    scale, truth = numbers["driving.scale_minutes"], city.driving.scale_minutes
    assert truth is not None
    assert abs(scale["value"] - truth) < scale["high"] - scale["low"]  # four standard errors
    station = {unit.unit_id: unit.station_id for unit in city.units}
    right = sum(station[one["unit"]] == one["station"] for one in found["homes"])
    return Row(
        f"raw files to fitted city: 1,900 nodes, 45 stations, 64 units, {found['rows']:,} rows",
        f"{seconds:.1f} s; {right} of 64 homes are right",
        "< 60 s",
        seconds < 60.0,
    )


def _runcard(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "runcard", *words], check=True, capture_output=True, text=True)


def write_department(folder: Path, num_rows: int) -> City:
    """Roads, stations and a dirty log in the format of San Francisco's raw files; the city that made it comes back."""
    rng, raw = np.random.default_rng(2), folder / "raw"
    raw.mkdir()
    rows, columns = 38, 50
    place = [(WEST + 0.0028 * (one % columns), SOUTH + 0.0022 * (one // columns)) for one in range(rows * columns)]
    _write(raw / "road_nodes.csv", ("osmid", "x", "y"), ((one, *at) for one, at in enumerate(place)))
    edges: list[tuple[int, int, int, float, int]] = []
    for start, end, ways in _blocks(rows, columns, rng, both_ways=0.15):
        speed = 35 if (start // columns) % 6 == (end // columns) % 6 == 3 else int(rng.choice([25, 25, 30]))
        for a, b in [(start, end), (end, start)][:ways]:
            edges.append((len(edges), a, b, 245.0, speed))
    _write(raw / "road_edges.csv", ("uniqueid", "u", "v", "length", "speed_mph"), edges)
    homes = rng.choice(len(place), 45, replace=False).tolist()
    sites = ((n, f"{n} Some St", place[one][1] + 0.0003, place[one][0]) for n, one in enumerate(homes, start=1))
    _write(raw / "stations.csv", ("station", "address", "latitude", "longitude"), sites)
    mapping = SAN_FRANCISCO / "mapping.toml"
    imported = import_city(
        raw, raw / "stations.csv", mapping=read_import_mapping(mapping), options=ImportOptions(num_areas=135)
    )
    city = _staffed(imported.city, rng)
    made = generate_log(city, read_mapping(str(mapping)), incidents=num_rows, seed=2, dirt=0.05)
    text = made.text.splitlines(keepends=True)
    (raw / "calls.csv").write_text("".join(text[: num_rows + 1]), encoding="utf-8", newline="")
    return city


def _staffed(city: City, rng: np.random.Generator) -> City:
    """The city with 44 engines, 20 ladders, four types of incidents and the laws of its times."""
    per_day = {"medical": 240.0, "outside": 18.0, "alarm": 33.0, "fire": 19.0}
    ids = [station.station_id for station in city.stations]
    units = [Unit(f"E{number:02}", f"{number}", "engine") for number in range(1, 45)]
    ladders = sorted(rng.choice(ids, 20, replace=False).tolist(), key=int)
    units += [Unit(f"T{number:02}", home, "ladder") for number, home in enumerate(ladders, start=1)]
    total = sum(point.incidents_per_day for point in city.demand)
    staffed = replace(
        city,
        busy_minutes={"engine": 16.0, "ladder": 13.0},
        target_minutes=None,
        stations=tuple(replace(station, trucks=0) for station in city.stations),
        units=tuple(units),
        standards=read_standards(SAN_FRANCISCO / "standards.csv"),
        demand=tuple(
            DemandPoint(point.node_id, number * point.incidents_per_day / total, type=name)
            for point in city.demand
            for name, number in per_day.items()
        ),
        shared_delay=0.1,
        driving=Driving("gamma", scale_minutes=0.7),
        turnout_by_kind={"engine": Turnout(1.3, "gamma", 0.85), "ladder": Turnout(1.5, "gamma", 0.8)},
    )
    return with_aprons(staffed, 1.0)


def example(name: str, data: Path, limit_seconds: float) -> Row:
    """The seconds in which an example builds its city from real files."""
    with TemporaryDirectory() as folder:
        began = time.perf_counter()
        command = [sys.executable, str(EXAMPLES / name / "build.py"), str(data), str(Path(folder) / "city")]
        subprocess.run(command, check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - began
    return Row(
        f"examples/{name}: raw files to city", f"{seconds:.1f} s", f"< {limit_seconds:.0f} s", seconds < limit_seconds
    )
