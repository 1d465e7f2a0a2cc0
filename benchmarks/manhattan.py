"""What standards for the second truck cost, on real roads: `python -m benchmarks.manhattan FOLDER [--write]`.

FOLDER holds raw roads, firehouses and fires of Manhattan (`nodes.csv`, `arcs.csv`, `firehouses.csv`,
`incidents_2015.csv`). The southern 16 firehouses have one engine each. A fire needs two engines, the first within 4
minutes and both within 8, turnout included. Three optimal policies differ in what they count: the first engine only,
both standards, and both with the second counted twice. Nothing of the data is kept.

Made up, because the data do not say it: the law of driving times, turnout, the busy time and the number of fires, whose
places are those of 2015, each spread over the demand points near it.
"""

import argparse
import csv
import datetime
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import cos, radians
from pathlib import Path

import networkx as nx
import numpy as np

from runcard.assess.assessment import Assessment
from runcard.assess.exact import assess_exactly
from runcard.city import City, DemandPoint, Driving, Link, Node, Standard, Station, Turnout, Unit
from runcard.policy.solve_options import SolveOptions

NUM_STATIONS, NUM_POINTS = 16, 400
MINUTES_PER_DAY = 1440.0
SLOWER = 1.3
"""Trucks drive this many times as long as on free roads."""
SPREAD_METRES = 250.0
LEDGER = Path(__file__).parent.parent / "docs" / "guides" / "standards.md"
BEGIN, END = "<!-- manhattan -->", "<!-- end -->"


def read_rows(path: Path, first: str) -> Iterator[dict[str, str]]:
    """The rows of a table whose header begins with `first`; what stands above it is left out."""
    with path.open(newline="") as file:
        lines = file.read().splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith(first))
    yield from (row for row in csv.DictReader(lines[begin:]) if any(row.values()))


def read_roads(folder: Path) -> nx.DiGraph:
    """The roads, with minutes on each arc and places in metres on each node."""
    graph = nx.DiGraph()
    middle = cos(radians(40.75))
    for row in read_rows(folder / "nodes.csv", "index,"):
        x, y = 111_320.0 * middle * float(row["x"]), 111_320.0 * float(row["y"])
        graph.add_node(int(float(row["index"])), x=x, y=y)
    for row in read_rows(folder / "arcs.csv", "index,"):
        minutes = SLOWER * MINUTES_PER_DAY * float(row["mode_1"])
        start, end = int(float(row["fromNode"])), int(float(row["toNode"]))
        before = graph.get_edge_data(start, end, {"minutes": np.inf})["minutes"]
        graph.add_edge(start, end, minutes=min(minutes, before))
    return graph


def places(graph: nx.DiGraph, nodes: Sequence[int]) -> np.ndarray:
    """[node] where nodes are, as complex numbers in metres."""
    return np.array([complex(graph.nodes[node]["x"], graph.nodes[node]["y"]) for node in nodes])


def nearest(graph: nx.DiGraph, path: Path, first: str) -> list[int]:
    """The node nearest to each row of a table with Latitude and Longitude."""
    nodes = list(graph)
    where, middle, found = places(graph, nodes), cos(radians(40.75)), []
    for row in read_rows(path, first):
        if row["Latitude"] not in ("", "NA"):
            place = complex(111_320.0 * middle * float(row["Longitude"]), 111_320.0 * float(row["Latitude"]))
            found.append(nodes[int(np.abs(where - place).argmin())])
    return found


def contracted(graph: nx.DiGraph, kept: set[int]) -> nx.DiGraph:
    """The roads without nodes where nothing is decided: a way in, a way out, and the same ways back, if any."""
    graph = graph.copy()
    for node in [node for node in graph if node not in kept]:
        around = set(graph.predecessors(node)) | set(graph.successors(node))
        if len(around) != 2 or node in around:
            continue
        one, other = sorted(around)
        ways = [(one, other), (other, one)]
        there = [(a, b) for a, b in ways if graph.has_edge(a, node) and graph.has_edge(node, b)]
        if graph.degree(node) != 2 * len(there) or any(graph.has_edge(a, b) for a, b in there):
            continue
        for a, b in there:
            graph.add_edge(a, b, minutes=graph.edges[a, node]["minutes"] + graph.edges[node, b]["minutes"])
        graph.remove_node(node)
    return graph


def southern_city(folder: Path) -> City:
    """The southern firehouses and what is nearest to them, as a city with two standards of equal weight."""
    graph = read_roads(folder)
    homes = sorted(
        set(nearest(graph, folder / "firehouses.csv", "FacilityName")), key=lambda one: graph.nodes[one]["y"]
    )
    own = homes[:NUM_STATIONS]
    closest = nx.multi_source_dijkstra_path(graph, set(homes), weight="minutes")
    region = {node for node, path in closest.items() if path[0] in own}
    chosen = spread_out(graph, sorted(region), NUM_POINTS)
    fires = Counter(node for node in nearest(graph, folder / "incidents_2015.csv", "IM_INCIDENT") if node in region)
    rates = smoothed(graph, chosen, fires)
    roads = contracted(graph, {*homes, *chosen})
    needed = links_in_use(roads, own, chosen)
    units = tuple(Unit(f"E{number:02}", f"F{number:02}", "engine") for number in range(1, NUM_STATIONS + 1))
    used = {node for start, end in needed for node in (start, end)} | {*own, *chosen}
    return City(
        name="Manhattan, southern 16 firehouses",
        busy_minutes=60.0,
        target_minutes=None,
        nodes=tuple(Node(str(node), graph.nodes[node]["x"], graph.nodes[node]["y"]) for node in sorted(used)),
        links=tuple(
            Link(f"{start}-{end}", str(start), str(end), True, roads.edges[start, end]["minutes"])
            for start, end in needed
        ),
        stations=tuple(Station(f"F{number:02}", str(node)) for number, node in enumerate(own, start=1)),
        demand=tuple(DemandPoint(str(node), rate, type="fire") for node, rate in zip(chosen, rates, strict=True)),
        shared_delay=0.2,
        driving=Driving("lognormal", cv=0.8),
        turnout=Turnout(1.2, "gamma", 0.4),
        units=units,
        standards=standards(1.0, 1.0),
    )


def standards(first: float, both: float) -> tuple[Standard, ...]:
    """The first of two engines in 4 minutes, and both in 8, with their weights."""
    return (Standard("fire", "engine", 2, 1, 4.0, first), Standard("fire", "engine", 2, 2, 8.0, both))


def spread_out(graph: nx.DiGraph, nodes: list[int], number: int) -> list[int]:
    """So many of the nodes, each as far as can be from those before it."""
    where = places(graph, nodes)
    chosen, distance = [0], np.abs(where - where[0])
    while len(chosen) < number:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, np.abs(where - where[chosen[-1]]))
    return [nodes[place] for place in sorted(chosen)]


def smoothed(graph: nx.DiGraph, nodes: list[int], fires: Counter[int]) -> list[float]:
    """The fires a day at each demand point: each fire spread over those near it; a load of 0.1 in all."""
    where, weights = places(graph, nodes), np.full(len(nodes), 0.1 * sum(fires.values()) / len(nodes))
    for node, number in fires.items():
        near = np.exp(-0.5 * (np.abs(where - places(graph, [node])[0]) / SPREAD_METRES) ** 2)
        weights += number * near / near.sum()
    per_day = 0.1 * NUM_STATIONS * MINUTES_PER_DAY / 60.0
    return (per_day * weights / weights.sum()).tolist()


def links_in_use(roads: nx.DiGraph, homes: list[int], points: list[int]) -> list[tuple[int, int]]:
    """The links of the strongly connected roads around the shortest routes from firehouses to demand points."""
    used: dict[tuple[int, int], None] = defaultdict(lambda: None)
    for home in homes:
        routes = nx.single_source_dijkstra_path(roads, home, weight="minutes")
        for point in points:
            route = routes[point]
            used |= dict.fromkeys(pairwise(route))
    return sorted(used)


def compared(city: City) -> list[tuple[str, Assessment, str]]:
    """The comparisons, each for other weights: what they are called, and the policy that is shown."""
    uncounted = tuple(replace(station, trucks=0) for station in city.stations)

    def weighted(first: float, both: float, *names: str) -> Assessment:
        changed = replace(city, standards=standards(first, both), stations=uncounted)
        return assess_exactly(changed, names, SolveOptions())

    even = weighted(1.0, 1.0, "closest-first", "optimal")
    return [
        ("closest-first", even, "closest-first"),
        ("optimal, first in 4 only", weighted(1.0, 1e-6, "optimal"), "optimal"),
        ("optimal, first in 4 and both in 8", even, "optimal"),
        ("optimal, both in 8 counted twice", weighted(1.0, 2.0, "optimal"), "optimal"),
    ]


def table(rows: list[tuple[str, Assessment, str]]) -> list[str]:
    """The policies side by side, as Markdown."""
    lines = [
        "| policy | first not in 4 min | both not in 8 min | first: mean, 90 % | last: mean, 90 % |",
        "| --- | --- | --- | --- | --- |",
    ]
    for words, comparison, name in rows:
        (fleet,) = comparison[name].fleets.values()
        first, both = (100.0 * of.missed.value for of in fleet.standards if of.missed is not None)
        found = fleet.evaluation
        lines.append(
            f"| {words} | {first:.2f} % | {both:.2f} % | {found.mean_response_minutes:.2f}, "
            f"{found.p90_minutes['first']:.2f} min | {found.last_minutes:.2f}, {found.p90_minutes['last']:.2f} min |"
        )
    return lines


def main() -> None:
    """Print the table, or write it into the guide."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.manhattan", description=__doc__)
    parser.add_argument("folder", type=Path, help="the raw data of Manhattan")
    parser.add_argument("--write", action="store_true", help="write the table into the guide")
    given = parser.parse_args()
    city = southern_city(given.folder)
    print(f"{city.name}: {len(city.links)} links, {len(city.demand)} demand points, load {city.load:.2f}")
    lines = table(compared(city))
    print(*lines, sep="\n")
    if given.write:
        text = LEDGER.read_text(encoding="utf-8")
        before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
        said = f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}, {len(city.links):,} links."
        LEDGER.write_text("\n".join([before, "", *lines, "", said, "", ""]) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
