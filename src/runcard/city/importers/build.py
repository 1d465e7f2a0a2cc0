"""A city from raw files: read, cleaned, with stations, areas and demand, contracted, and checked.

Without a log nobody knows where incidents start. Then a given number of incidents a day is shared among the areas by
the length of their roads, and equally among types. With ℓ the length of a road between two nodes, counted once for both
directions, half of it counts for the area of either end:

    incidents_per_day(a) = total · Σ_{roads} (ℓ/2) (1[one end in a] + 1[other end in a]) / Σ_{roads} ℓ
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.areas import Areas, drive_minutes, spread_areas, street_graph
from runcard.city.check import standard_faults
from runcard.city.csv_text import CsvText, read_text, readable
from runcard.city.importers.contract import Contraction, contract_chains
from runcard.city.importers.csv_roads import read_csv_roads, read_gmns
from runcard.city.importers.mapping import Mapping
from runcard.city.importers.osm import read_geopackage, read_graphml, roads_from_graph
from runcard.city.importers.roads import Cleaning, ReadRoads, Roads, clean_roads
from runcard.city.importers.rows import RejectedRow
from runcard.city.importers.stations import PlacedStations, read_roster, read_stations
from runcard.city.importers.summary import ImportSummary, StationMoved
from runcard.city.model import City, DemandPoint, Link, Node, Standard, Station, Unit
from runcard.city.places import FAR_METRES
from runcard.city.tables import TABLES, parse_table
from runcard.errors import CityError, InputError

if TYPE_CHECKING:
    import networkx as nx

ONLY_TYPE: Final = "incident"
"""The type of every incident where nobody says more."""
SAME: Final = 1e-12
"""Two directions of a street that take the same time but for rounding are one link."""
LEAST_SHARE: Final = 1e-3
"""Of the mean: no area has less of the incidents than this, however short its roads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What the files do not say."""

    name: str = "city"
    num_areas: int = 400
    widest_minutes: float = 3.0
    incidents_per_day: float = 100.0
    target_minutes: float = 6.0
    busy_minutes: float = 40.0

    def __post_init__(self) -> None:
        for field, what in (
            ("widest_minutes", "the width of areas"),
            ("incidents_per_day", "the incidents per day"),
            ("target_minutes", "the target"),
            ("busy_minutes", "the busy minutes"),
        ):
            if not 0.0 < (value := getattr(self, field)) < 1e9:
                raise InputError(f"expected {what} to be > 0 and finite, got {value:g}")
        if self.num_areas < 1:
            raise InputError(f"expected at least one area, got {self.num_areas}")


@dataclass(frozen=True, eq=False)
class Imported:
    """A city, what was done to make it, and the rows that were left out."""

    city: City
    summary: ImportSummary
    rejected: tuple[RejectedRow, ...]


def read_roads(path: Path, mapping: Mapping | None = None) -> ReadRoads:
    """The roads of a GraphML file, a GeoPackage, a GMNS folder, or the tables that a mapping names in a folder."""
    nodes, links = (mapping.nodes, mapping.links) if mapping is not None else (None, None)
    crs = nodes.settings.get("crs") if nodes is not None else None
    if path.suffix.lower() in (".graphml", ".xml"):
        return read_graphml(path, crs=crs)
    if path.suffix.lower() == ".gpkg":
        return read_geopackage(path, crs=crs)
    is_mapped = links is not None or (nodes is not None and "file" in nodes.settings)
    if path.is_dir() and mapping is not None and is_mapped:
        return read_csv_roads(path, mapping)
    if path.is_dir() and all((path / name).exists() for name in ("node.csv", "link.csv")):
        return read_gmns(path, crs=crs)
    if path.is_dir():
        words = (
            "a GMNS folder (node.csv and link.csv), or [nodes] and [links] in a mapping file, got a folder without them"
        )
    else:
        found = f"a file that ends in {path.suffix or 'nothing'}" if path.exists() else "nothing"
        words = f"a GraphML file (.graphml), a GeoPackage (.gpkg) or a folder, got {found}"
    raise InputError(f"{path}: expected roads as {words}")


def import_city(
    roads: "Path | ReadRoads | nx.MultiDiGraph",
    stations: Path,
    *,
    roster: Path | None = None,
    standards: Path | None = None,
    mapping: Mapping | None = None,
    options: ImportOptions | None = None,
) -> Imported:
    """The city of roads (a path, roads that were read, or a live OSMnx graph) and of tables of stations and units."""
    options, mapping = options or ImportOptions(), mapping or Mapping()
    if isinstance(roads, str | Path):
        read = read_roads(Path(roads), mapping)
    else:
        read = roads if isinstance(roads, ReadRoads) else roads_from_graph(roads)
    used, cleaning = clean_roads(read.roads)
    placed = read_stations(Path(stations), mapping.stations, used, read.roads)
    rejected = (*read.rejected, *placed.rejected)
    units: tuple[Unit, ...] = ()
    if roster is not None:
        units, more = read_roster(Path(roster), mapping.units, placed, used, read.roads)
        rejected += more
    files = list(dict.fromkeys(one.file for one in rejected))
    rejected = tuple(sorted(rejected, key=lambda one: (files.index(one.file), one.row)))
    streets = street_graph(used.num_nodes, used.arcs.start, used.arcs.end, used.arcs.minutes)
    areas = spread_areas(streets, num_areas=options.num_areas, widest_minutes=options.widest_minutes)
    needed = np.zeros(used.num_nodes, np.bool_)
    needed[placed.nodes] = needed[areas.centres] = True
    short = contract_chains(used, needed)
    rules = _standards(standards, units, options)
    homes = [used.node_ids[node] for node in placed.nodes.tolist()]
    city = City(
        name=options.name,
        busy_minutes=options.busy_minutes,
        target_minutes=None if rules else options.target_minutes,
        nodes=tuple(map(Node, short.roads.node_ids, short.roads.x.tolist(), short.roads.y.tolist())),
        links=_links(short.roads),
        stations=tuple(map(Station, placed.ids, homes, [0] * len(homes) if units else placed.trucks, placed.names)),
        demand=_demand(used, areas, rules, options.incidents_per_day),
        units=units,
        standards=rules,
    )
    summary = _summary(read, used, cleaning, placed, units, areas, short, city, options, rejected)
    return Imported(city, summary, rejected)


def _standards(path: Path | None, units: Sequence[Unit], options: ImportOptions) -> tuple[Standard, ...]:
    """The standards of a file; without one, one of each kind by the target, where there are several kinds."""
    if path is None:
        kinds = tuple(dict.fromkeys(unit.kind for unit in units))
        if len(kinds) < 2:
            return ()
        return tuple(Standard(ONLY_TYPE, kind, 1, 1, options.target_minutes) for kind in kinds)
    return read_standards(path)


def read_standards(path: Path) -> tuple[Standard, ...]:
    """The standards of a file in the form of incident_type.csv."""
    with readable(path):
        found = parse_table(TABLES["standards"], CsvText(read_text(path)))
    faults = [*found.faults, *standard_faults(found.rows, lambda _, index: f"row {found.row_numbers[index or 0]}")]
    if faults or not found.rows:
        texts = [one.text if one.index is None else f"row {found.row_numbers[one.index]}: {one.text}" for one in faults]
        raise CityError(str(path), texts or ["expected at least one row, got none"])
    return found.rows


def _links(roads: Roads) -> tuple[Link, ...]:
    """The links of contracted roads: a street whose directions take the same time is one, other arcs are directed."""
    arcs = roads.listed
    place_of = {(arc.start, arc.end): place for place, arc in enumerate(arcs)}
    classified = any(arc.road_class for arc in arcs)
    taken: set[str] = set()
    links, merged = [], set[int]()
    for place, arc in enumerate(arcs):
        if place in merged:
            continue
        other = place_of.get((arc.end, arc.start))
        directed = (
            other is None
            or (arcs[other].street, arcs[other].road_class) != (arc.street, arc.road_class)
            or abs(arcs[other].minutes - arc.minutes) > SAME * arc.minutes
        )
        if not directed and other is not None:
            merged.add(other)
        extra = (("road_class", arc.road_class),) if classified else ()
        ends = (roads.node_ids[arc.start], roads.node_ids[arc.end])
        link_id = _unique(arc.link_id or "link", taken)
        links.append(Link(link_id, *ends, directed, arc.minutes, round(arc.length_m, 3), extra))
    return tuple(links)


def _unique(name: str, taken: set[str]) -> str:
    """The name, or with a number if it is taken; then it is taken."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}-{number}", number + 1
    taken.add(found)
    return found


def _demand(roads: Roads, areas: Areas, rules: Sequence[Standard], per_day: float) -> tuple[DemandPoint, ...]:
    """The demand points: a total shared by road length, and equally among types."""
    types = tuple(dict.fromkeys(rule.type for rule in rules)) or ("",)
    rates = per_day * road_shares(roads, areas) / len(types)
    nodes = [roads.node_ids[one] for one in areas.centres.tolist()]
    pairs = zip(nodes, rates.tolist(), strict=True)
    return tuple(DemandPoint(node, rate, type=one) for node, rate in pairs for one in types)


def road_shares(roads: Roads, areas: Areas) -> NDArray[np.float64]:
    """[area] its part of the length of all roads; each is counted once, whether it can be used both ways or not."""
    once = roads.arcs[np.unique(roads.pairs, return_index=True)[1]]
    half = np.repeat(once.length_m / 2.0, 2)
    ends = np.column_stack([once.start, once.end]).ravel()
    lengths = np.bincount(areas.area_of[ends], weights=half, minlength=len(areas.centres)).astype(np.float64)
    lengths = np.maximum(lengths, LEAST_SHARE * lengths.mean()) if lengths.sum() > 0.0 else np.ones(len(lengths))
    return np.asarray(lengths / lengths.sum())


def _summary(
    read: ReadRoads,
    used: Roads,
    cleaning: Cleaning,
    placed: PlacedStations,
    units: Sequence[Unit],
    areas: Areas,
    short: Contraction,
    city: City,
    options: ImportOptions,
    rejected: tuple[RejectedRow, ...],
) -> ImportSummary:
    """What was done, as numbers."""
    homes = {unit.station_id for unit in units}
    far = [
        StationMoved(placed.ids[one], used.node_ids[placed.nodes[one]], round(float(placed.metres[one]), 1))
        for one in np.flatnonzero(placed.metres > FAR_METRES).tolist()
    ]
    return ImportSummary(
        nodes_read=read.roads.num_nodes,
        links_read=read.num_links,
        coordinates="lonlat" if used.lonlat else "metres",
        coordinates_guessed=read.guessed_crs,
        minutes_from=read.minutes_from,
        computed_lengths=read.computed_lengths,
        texts_cleaned=read.num_cleaned + placed.num_cleaned,
        **asdict(cleaning),
        contracted_nodes=short.num_nodes,
        contracted_loops=short.num_loops,
        contracted_parallel=short.num_parallel,
        nodes=len(city.nodes),
        links=len(city.links),
        stations_read=len(placed.ids) + len(placed.rejected),
        stations=len(city.stations),
        farthest_station_metres=round(float(placed.metres.max()), 1),
        far_stations=tuple(far),
        units=dict(Counter(unit.kind for unit in units)),
        stations_without_units=sum(station_id not in homes for station_id in placed.ids) if units else 0,
        areas=len(areas.centres),
        areas_asked=options.num_areas,
        widest_area_minutes=areas.widest_minutes,
        farthest_drive_minutes=float(drive_minutes(used.graph, areas).max()),
        rates_are_data=False,
        rejected=dict(Counter(row.file for row in rejected)),
    )
