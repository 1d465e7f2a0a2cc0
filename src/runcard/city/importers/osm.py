"""Roads of OSMnx: a graph in memory, its GraphML file, or its GeoPackage.

A node has `x` and `y`. An edge has `length` in metres, and its minutes are the first of these that it has:

    travel_time   seconds, as OSMnx adds them
    speed_kph     with the length
    maxspeed      with the length; "30 mph" and lists are understood, and of a list the mean counts
    highway       with the length and the usual speed of this class

The class of a road is its `highway`, the first of several. Two-way streets are two edges in such a graph.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from runcard.city.conditions import shown
from runcard.city.importers.measures import first_word, speed_kph
from runcard.city.importers.roads import Arc, Arcs, ReadRoads, arcs_of, coordinate_system, whole_roads
from runcard.city.importers.rows import RejectedRow, cleaned, refuse_if_most, to_ids
from runcard.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import networkx as nx

Edge = tuple[Any, Any, Any, Mapping[str, Any]]
"""Its nodes, its key among parallel ones, and its attributes."""

_SECONDS: Final = 60.0


def read_graphml(path: Path, *, crs: str | None = None) -> ReadRoads:
    """The roads of a GraphML file that OSMnx wrote."""
    import networkx as nx  # here, because it takes a while to import

    try:
        graph = nx.read_graphml(path, force_multigraph=True)
    except FileNotFoundError as error:
        raise InputError(f"{path}: the file is missing") from error
    except (SyntaxError, nx.NetworkXError, ValueError, KeyError, StopIteration) as error:
        raise InputError(f"{path}: expected roads in GraphML: {error or type(error).__name__}") from error
    return roads_from_graph(graph, crs=crs, where=path.name)


def roads_from_graph(graph: "nx.MultiDiGraph", *, crs: str | None = None, where: str = "graph") -> ReadRoads:
    """The roads of a graph in memory, such as OSMnx makes; in an undirected one `oneway` says what is not two-way.

    `crs` is lonlat or metres; it is guessed if left out.
    """
    if not len(graph):
        raise InputError(f"{where}: expected roads, got a graph without nodes")
    if graph.is_multigraph():
        edges: Iterable[Edge] = graph.edges(keys=True, data=True)
    else:
        edges = ((start, end, 0, data) for start, end, data in graph.edges(data=True))
    return _roads(graph.nodes(data=True), edges, directed=graph.is_directed(), crs=crs, where=where)


def read_geopackage(path: Path, *, crs: str | None = None) -> ReadRoads:
    """The roads of a GeoPackage as OSMnx writes it, with the layers nodes and edges."""
    try:
        import geopandas
    except ImportError as error:
        raise MissingExtraError("a GeoPackage of roads", "geopandas", "geo") from error
    if not path.is_file():
        raise InputError(f"{path}: the file is missing")
    tables = []
    for layer in ("nodes", "edges"):
        try:
            tables.append(geopandas.read_file(path, layer=layer))
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(f"{path}: expected a GeoPackage with a layer {layer}: {error}") from error
    nodes, edges = tables
    for table, name, wanted in ((nodes, "nodes", ("osmid",)), (edges, "edges", ("u", "v"))):
        for column in wanted:
            if column not in table.columns:
                raise InputError(f"{path}: expected column {column} in the layer {name}, got none")
    if not {"x", "y"} <= set(nodes.columns):
        nodes = nodes.assign(x=nodes.geometry.x, y=nodes.geometry.y)
    places = ((one["osmid"], one) for one in nodes[["osmid", "x", "y"]].to_dict("records"))
    records = edges.drop(columns=edges.geometry.name).to_dict("records")
    lines = ((one["u"], one["v"], one.get("key", 0), one) for one in records)
    return _roads(places, lines, directed=True, crs=crs, where=path.name)


def _roads(
    nodes: Iterable[tuple[Any, Mapping[str, Any]]],
    edges: Iterable[Edge],
    *,
    directed: bool,
    crs: str | None,
    where: str,
) -> ReadRoads:
    """The roads of nodes and edges with attributes."""
    listed = list(nodes)
    texts = [str(one) for one, _ in listed]
    ids, num_cleaned = to_ids(texts), cleaned(texts)[1]
    x, y = (np.array([_number(data.get(axis)) for _, data in listed]) for axis in ("x", "y"))
    good = np.isfinite(x) & np.isfinite(y)
    rejected = [
        RejectedRow(where, 0, f"node {shown(ids[one])}: expected numbers x and y, got none")
        for one in np.flatnonzero(~good).tolist()
    ]
    if 2 * len(rejected) > len(ids):
        raise InputError(f"{where}: expected numbers x and y at its nodes, {len(rejected):,} of {len(ids):,} have none")
    kept = np.flatnonzero(good).tolist()
    names = tuple(ids[one] for one in kept)
    x, y = x[good], y[good]
    node_of = {listed[one][0]: place for place, one in enumerate(kept)}
    if len(set(names)) < len(names):
        raise InputError(f"{where}: expected ids of nodes to be unique, got some twice")
    lonlat = coordinate_system(x, y, crs, where)
    arcs, more, num_edges = _arcs(edges, node_of, directed=directed, where=where)
    roads, minutes_from, computed = whole_roads(names, x, y, arcs, lonlat=lonlat)
    return ReadRoads(
        roads=roads,
        num_links=num_edges,
        rejected=(*rejected, *more),
        num_cleaned=num_cleaned,
        minutes_from=minutes_from,
        computed_lengths=computed,
        guessed_crs=crs is None,
    )


def _arcs(
    edges: Iterable[Edge], node_of: Mapping[Any, int], *, directed: bool, where: str
) -> tuple[Arcs, list[RejectedRow], int]:
    """The edges that can be used, those that cannot, and how many there are."""
    rejected: list[RejectedRow] = []
    rows: list[Arc] = []
    for start, end, key, data in edges:
        name = f"{start}-{end}-{key}"
        length = _number(data.get("length"))
        if start not in node_of or end not in node_of:
            rejected.append(
                RejectedRow(where, 0, f"edge {shown(name)}: expected its nodes to be known, with coordinates")
            )
        elif length < 0.0:
            rejected.append(RejectedRow(where, 0, f"edge {shown(name)}: expected length >= 0, got {length:g}"))
        else:
            seconds = _number(data.get("travel_time"))
            minutes = seconds / _SECONDS if seconds >= 0.0 else np.nan
            kph = speed_kph(data.get("speed_kph")) or speed_kph(data.get("maxspeed")) or np.nan
            one_way = directed or str(data.get("oneway", "")).strip().lower() in ("true", "yes", "1")
            road_class = first_word(data.get("highway"))
            rows.append(Arc(node_of[start], node_of[end], name, minutes, length, kph, road_class, not one_way))
    if not rows:
        raise InputError(f"{where}: expected roads between its nodes, got none")
    number = len(rows) + len(rejected)
    refuse_if_most(rejected, number, "edges")
    arcs = arcs_of(rows)
    for texts in ("link_id", "road_class"):
        arcs[texts] = cleaned(arcs[texts].tolist())[0]
    return arcs, rejected, number


def _number(value: Any) -> float:
    """A number, NaN if it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return float("nan")
    return number if np.isfinite(number) else float("nan")
