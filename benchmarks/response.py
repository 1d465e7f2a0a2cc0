"""P(late) of all pairs of 20 stations at 400 demand points on a road graph of 5,000 links, against the targets."""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.cases import Row
from runcard.city.grid import grid_edges
from runcard.city.model import City, DemandPoint, Driving, Link, Node, Station
from runcard.response.table import response_table

SIDE, NUM_STATIONS, NUM_POINTS = 51, 20, 400
LAWS = (
    Driving(),
    Driving("gamma", cv=0.5),
    Driving("lognormal", cv=1.0),
    Driving("hyperexponential", cv=1.5),
    Driving("pareto", tail_index=2.5),
    Driving(fixed_part=0.5),
)


def road_city(driving: Driving, *, one_mean: bool) -> City:
    """A grid of roads with random means, or all of one, and stations and demand points at random nodes."""
    rng, num_nodes, edges = np.random.default_rng(0), SIDE * SIDE, grid_edges(SIDE)
    means = np.ones(len(edges)) if one_mean else rng.lognormal(-0.5, 0.5, len(edges))
    places = rng.permutation(num_nodes)
    return City(
        name="roads", busy_minutes=60.0, target_minutes=12.0, driving=driving,
        nodes=tuple(Node(f"n{k}", float(k % SIDE), float(k // SIDE)) for k in range(num_nodes)),
        links=tuple(
            Link(f"e{k}", f"n{a}", f"n{b}", False, float(mean))
            for k, ((a, b), mean) in enumerate(zip(edges, means, strict=True))
        ),
        stations=tuple(Station(f"s{k}", f"n{places[k]}", 1) for k in range(NUM_STATIONS)),
        demand=tuple(DemandPoint(f"n{places[NUM_STATIONS + k]}", 1.0) for k in range(NUM_POINTS)),
    )  # fmt: skip


def response_cases(*, quick: bool) -> Iterator[Row]:
    """The paper's driving times in closed form, and others on the lattice; `quick` takes one law."""
    cases = [(Driving(), True, 0.5), *((law, False, 10.0) for law in (LAWS[:1] if quick else LAWS))]
    for driving, one_mean, limit in cases:
        city = road_city(driving, one_mean=one_mean)
        response_table(city, minutes=False)  # loads the kernels
        began = time.perf_counter()
        table = response_table(city, minutes=False)
        seconds = time.perf_counter() - began
        assert ((table.p_late >= 0.0) & (table.p_late <= 1.0)).all()
        what = "equal means" if one_mean else f"cv {driving.cv}, fixed part {driving.fixed_part:g}"
        name = f"P(late) of all pairs, 20 x 400, {len(city.links)} links, {driving.model}, {what}"
        yield Row(name, f"{seconds:.2f} s", f"< {limit:g} s", seconds < limit)
