"""Roads as arrays, whatever file they came from, and the steps that make them fit for routing.

An *arc* is one direction of a road. What is done, in this order, with everything counted:

    self loops      an arc from a node to itself leads nowhere and goes
    short arcs      an arc of less than 0.001 minutes, mostly of length 0, takes 0.001 minutes (0.06 seconds)
    parallel arcs   of arcs from one node to another the fastest stays
    one part        the largest set of nodes that all reach one another stays (strongly connected), with its arcs
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.areas import driving_graph
from runcard.city.conditions import MAX_COORDINATE, MAX_MINUTES
from runcard.city.importers.measures import METRES_AND_KPH_TO_MINUTES, usual_kph
from runcard.city.importers.rows import RejectedRow
from runcard.city.places import are_exchanged, distance_metres, is_lonlat
from runcard.errors import InputError

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]
Flags = NDArray[np.bool_]

LEAST_LINK_MINUTES: Final = 0.001
"""Far below what a driver notices, and far above what gets lost beside a route of an hour."""

SPEED_SOURCES: Final = ("minutes", "speed", "usual")
"""Where the minutes of a link come from: stated, from a stated speed, or from the usual speed of its class."""


class Arc(NamedTuple):
    """An arc by the positions of its nodes. As a file states it, it has NaN where that says nothing, and no street."""

    start: int
    end: int
    link_id: str
    """The two arcs of a two-way link may have the same."""
    minutes: float
    length_m: float
    kph: float
    road_class: str
    both_ways: bool = False
    street: int = 0
    """Two arcs of one street are the two directions of one road."""


ARC: Final = np.dtype([(name, object if of is str else of) for name, of in Arc.__annotations__.items()])
Arcs = Any
"""A record array of arcs."""


@dataclass(frozen=True, eq=False)
class Roads:
    """Nodes with coordinates, and arcs between them."""

    node_ids: tuple[str, ...]
    x: Floats
    y: Floats
    lonlat: bool
    arcs: Arcs

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return len(self.node_ids)

    @property
    def listed(self) -> list[Arc]:
        """The arcs one by one, which a record array is slow to give."""
        return list(map(Arc._make, self.arcs.tolist()))

    @property
    def graph(self) -> Any:
        """The minutes from node to node as a sparse matrix."""
        return driving_graph(self.num_nodes, self.arcs.start, self.arcs.end, self.arcs.minutes)

    @property
    def pairs(self) -> Positions:
        """[arc] a number for its two nodes, whichever way it goes."""
        start, end = self.arcs.start, self.arcs.end
        return np.asarray(np.minimum(start, end) * self.num_nodes + np.maximum(start, end))

    def with_nodes(self, kept: Flags) -> "Roads":
        """Only the nodes that are kept, and the arcs between them."""
        arcs, number = self.arcs[kept[self.arcs.start] & kept[self.arcs.end]], np.cumsum(kept) - 1
        arcs.start, arcs.end = number[arcs.start], number[arcs.end]
        return Roads(tuple(compress(self.node_ids, kept)), self.x[kept], self.y[kept], self.lonlat, arcs)


@dataclass(frozen=True, eq=False)
class ReadRoads:
    """Roads as they were read, and what is worth saying about them."""

    roads: Roads
    num_links: int
    """Links as the file counts them: a two-way street may be one or two."""
    rejected: tuple[RejectedRow, ...] = ()
    num_cleaned: int = 0
    """Texts that had control characters."""
    minutes_from: dict[str, int] = field(default_factory=dict)
    """How many links have their minutes from each of SPEED_SOURCES."""
    computed_lengths: int = 0
    """Links whose length is the straight distance of their ends, because none was stated."""
    guessed_crs: bool = True


@dataclass(frozen=True, slots=True)
class Cleaning:
    """What was done to roads before they could be used."""

    self_loops: int
    short_links: int
    parallel_links: int
    dropped_nodes: int
    dropped_links: int


def coordinate_system(x: Floats, y: Floats, crs: str | None, where: str) -> bool:
    """Whether coordinates are longitude and latitude; an InputError if they are exchanged or out of range."""
    fix = "exchange x and y, in [nodes] of the mapping file or in the file"
    if crs != "metres" and are_exchanged(x, y):
        raise InputError(
            f"{where}: expected y to be latitudes from -90 to 90, got {y.min():g} to {y.max():g} with x from "
            f"{x.min():g} to {x.max():g}; longitude and latitude are swapped: {fix}"
        )
    if crs == "lonlat" and (np.abs(x).max() > 180.0 or np.abs(y).max() > 90.0):
        raise InputError(
            f'{where}: expected longitudes and latitudes, as crs = "lonlat" says, got x from {x.min():g} to '
            f"{x.max():g} and y from {y.min():g} to {y.max():g}"
        )
    if max(np.abs(x).max(), np.abs(y).max()) > MAX_COORDINATE:
        raise InputError(f"{where}: expected coordinates up to {MAX_COORDINATE:g}, got larger ones")
    return crs == "lonlat" or (crs is None and is_lonlat(x, y))


def arcs_of(arcs: Any) -> Arcs:
    """Arcs as a record array."""
    return np.asarray(arcs, ARC).view(np.recarray)


def whole_roads(
    node_ids: Sequence[str], x: Floats, y: Floats, arcs: Arcs, *, lonlat: bool
) -> tuple[Roads, dict[str, int], int]:
    """The roads of stated arcs; how many minutes come from where, and how many lengths are straight distances."""
    straight = distance_metres(x[arcs.start], y[arcs.start], x[arcs.end], y[arcs.end], lonlat=lonlat)
    no_length, stated, by_speed = np.isnan(arcs.length_m), ~np.isnan(arcs.minutes), ~np.isnan(arcs.kph)
    known = arcs.kph[by_speed].tolist()
    usual = {name: usual_kph(name, known) for name in set(arcs.road_class.tolist())}
    counts = (int(stated.sum()), int((by_speed & ~stated).sum()), int((~by_speed & ~stated).sum()))
    arcs.length_m = np.where(no_length, straight, arcs.length_m)
    arcs.kph = np.where(by_speed, arcs.kph, [usual[name] for name in arcs.road_class])
    arcs.minutes = np.where(stated, arcs.minutes, METRES_AND_KPH_TO_MINUTES * arcs.length_m / arcs.kph)
    back = arcs[arcs.both_ways]
    back.start, back.end = back.end.copy(), back.start.copy()
    roads = Roads(tuple(node_ids), x, y, lonlat, arcs_of(np.concatenate([arcs, back])))
    return roads, dict(zip(SPEED_SOURCES, counts, strict=True)), int(no_length.sum())


def clean_roads(roads: Roads) -> tuple[Roads, Cleaning]:
    """Roads that trucks can be routed on, from every node to every other, and what was done for it."""
    from scipy.sparse.csgraph import connected_components  # here, because it takes a while to import

    loops = roads.arcs.start == roads.arcs.end
    arcs = roads.arcs[~loops]
    if not len(arcs):
        raise InputError("expected roads between different nodes, got none")
    if arcs.minutes.max() > MAX_MINUTES:
        raise InputError(f"expected links of at most {MAX_MINUTES:g} minutes, got {arcs.minutes.max():g}")
    short = arcs.minutes < LEAST_LINK_MINUTES
    arcs.minutes[short] = LEAST_LINK_MINUTES
    roads = replace(roads, arcs=arcs[fastest_arcs(arcs)])
    part = connected_components(roads.graph, connection="strong")[1]
    kept = part == np.bincount(part).argmax()
    if kept.sum() < 2:
        raise InputError("expected roads on which some nodes reach one another and back, got only one-way roads")
    whole = roads.with_nodes(kept)
    return whole, Cleaning(
        self_loops=int(loops.sum()),
        short_links=int(short.sum()),
        parallel_links=len(arcs) - len(roads.arcs),
        dropped_nodes=int((~kept).sum()),
        dropped_links=len(roads.arcs) - len(whole.arcs),
    )


def fastest_arcs(arcs: Arcs) -> Positions:
    """The arcs that are the fastest from their start to their end, in their order; of equal ones the first."""
    order = np.lexsort((np.arange(len(arcs)), arcs.minutes, arcs.end, arcs.start))
    first = np.ones(len(order), np.bool_)
    first[1:] = (np.diff(arcs.start[order]) != 0) | (np.diff(arcs.end[order]) != 0)
    return np.sort(order[first])
