"""Roads as arrays, whatever file they came from, and the steps that make them fit for routing.

An *arc* is one direction of a road. What is done, in this order, with everything counted:

    self loops      an arc from a node to itself leads nowhere and goes
    short arcs      an arc of less than 0.001 minutes, mostly of length 0, takes 0.001 minutes (0.06 seconds)
    parallel arcs   of arcs from one node to another the fastest stays
    one part        the largest set of nodes that all reach one another stays (strongly connected), with its arcs
"""

from dataclasses import dataclass, field, replace
from typing import Final

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


@dataclass(frozen=True, eq=False)
class Roads:
    """Nodes with coordinates, and arcs between them by the position of their nodes."""

    node_ids: tuple[str, ...]
    x: Floats
    y: Floats
    lonlat: bool
    starts: Positions
    ends: Positions
    minutes: Floats
    length_m: Floats
    class_of: Positions
    """[arc] its class, as a position in `classes`."""
    classes: tuple[str, ...]
    link_ids: tuple[str, ...]
    """[arc] the id of its link; the two arcs of a two-way link may have the same."""

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return len(self.node_ids)

    def with_arcs(self, kept: Positions) -> "Roads":
        """The same nodes with some of the arcs, in this order."""
        return replace(
            self,
            starts=self.starts[kept],
            ends=self.ends[kept],
            minutes=self.minutes[kept],
            length_m=self.length_m[kept],
            class_of=self.class_of[kept],
            link_ids=tuple(self.link_ids[one] for one in kept.tolist()),
        )

    def with_nodes(self, kept: Flags) -> "Roads":
        """Only the nodes that are kept, and the arcs between them."""
        roads = self.with_arcs(np.flatnonzero(kept[self.starts] & kept[self.ends]))
        number = np.cumsum(kept) - 1
        return replace(
            roads,
            node_ids=tuple(self.node_ids[one] for one in np.flatnonzero(kept).tolist()),
            x=self.x[kept],
            y=self.y[kept],
            starts=number[roads.starts],
            ends=number[roads.ends],
        )


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


@dataclass(frozen=True, eq=False)
class ArcTable:
    """Arcs as a file states them, NaN where it says nothing, before lengths and minutes are made whole."""

    starts: Positions
    ends: Positions
    link_ids: tuple[str, ...]
    minutes: Floats
    length_m: Floats
    kph: Floats
    road_class: tuple[str, ...]
    both_ways: Flags


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


def roads_of(
    node_ids: tuple[str, ...], x: Floats, y: Floats, arcs: ArcTable, *, lonlat: bool
) -> tuple[Roads, dict[str, int], int]:
    """The roads of a table of arcs; how many minutes come from where, and how many lengths are straight distances."""
    straight = distance_metres(x[arcs.starts], y[arcs.starts], x[arcs.ends], y[arcs.ends], lonlat=lonlat)
    no_length = np.isnan(arcs.length_m)
    length_m = np.where(no_length, straight, arcs.length_m)
    classes = tuple(dict.fromkeys(arcs.road_class))
    number = {name: place for place, name in enumerate(classes)}
    class_of = np.array([number[name] for name in arcs.road_class], np.int64)
    stated, by_speed = ~np.isnan(arcs.minutes), ~np.isnan(arcs.kph)
    known = arcs.kph[by_speed].tolist()
    usual = np.array([usual_kph(name, known) for name in classes])
    kph = np.where(by_speed, arcs.kph, usual[class_of] if len(class_of) else 0.0)
    minutes = np.where(stated, arcs.minutes, METRES_AND_KPH_TO_MINUTES * length_m / kph)
    counts = (int(stated.sum()), int((by_speed & ~stated).sum()), int((~by_speed & ~stated).sum()))
    back = np.flatnonzero(arcs.both_ways)
    roads = Roads(
        node_ids=node_ids,
        x=x,
        y=y,
        lonlat=lonlat,
        starts=np.append(arcs.starts, arcs.ends[back]),
        ends=np.append(arcs.ends, arcs.starts[back]),
        minutes=np.append(minutes, minutes[back]),
        length_m=np.append(length_m, length_m[back]),
        class_of=np.append(class_of, class_of[back]),
        classes=classes,
        link_ids=(*arcs.link_ids, *(arcs.link_ids[one] for one in back.tolist())),
    )
    return roads, dict(zip(SPEED_SOURCES, counts, strict=True)), int(no_length.sum())


def clean_roads(roads: Roads) -> tuple[Roads, Cleaning]:
    """Roads that trucks can be routed on, from every node to every other, and what was done for it."""
    from scipy.sparse.csgraph import connected_components  # here, because it takes a while to import

    loops = roads.starts == roads.ends
    roads = roads.with_arcs(np.flatnonzero(~loops))
    if not len(roads.starts):
        raise InputError("expected roads between different nodes, got none")
    if roads.minutes.max() > MAX_MINUTES:
        raise InputError(f"expected links of at most {MAX_MINUTES:g} minutes, got {roads.minutes.max():g}")
    short = roads.minutes < LEAST_LINK_MINUTES
    roads = replace(roads, minutes=np.maximum(roads.minutes, LEAST_LINK_MINUTES))
    fastest = fastest_arcs(roads.starts, roads.ends, roads.minutes)
    parallel = len(roads.starts) - len(fastest)
    roads = roads.with_arcs(fastest)
    graph = driving_graph(roads.num_nodes, roads.starts, roads.ends, roads.minutes)
    part = connected_components(graph, connection="strong")[1]
    kept = part == np.bincount(part).argmax()
    if kept.sum() < 2:
        raise InputError("expected roads on which some nodes reach one another and back, got only one-way roads")
    whole = roads.with_nodes(kept)
    dropped = len(roads.starts) - len(whole.starts)
    return whole, Cleaning(int(loops.sum()), int(short.sum()), parallel, int((~kept).sum()), dropped)


def fastest_arcs(starts: Positions, ends: Positions, minutes: Floats) -> Positions:
    """The arcs that are the fastest from their start to their end, in their order; of equal ones the first."""
    order = np.lexsort((np.arange(len(starts)), minutes, ends, starts))
    first = np.ones(len(order), np.bool_)
    first[1:] = (np.diff(starts[order]) != 0) | (np.diff(ends[order]) != 0)
    return np.sort(order[first])
