"""Roads from tables of nodes and links: GMNS folders, whose columns are known, and others, by a mapping file.

GMNS is read by the same code, with a mapping that the specification gives (github.com/zephyr-data-specs/GMNS). Its
`config.csv` has the units, `long_length` for link lengths and `speed`; without it lengths are kilometres and speeds
km/h. A city folder of ours is a GMNS folder with `mean_minutes` and `length_m`.
"""

from collections.abc import Mapping as MappingType
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import shown
from runcard.city.importers.mapping import Mapping, Section
from runcard.city.importers.measures import KILOMETRES_PER_HOUR, METRES, MINUTES, factor, first_word, speed_kph
from runcard.city.importers.roads import ARC, Arcs, ReadRoads, arcs_of, coordinate_system, whole_roads
from runcard.city.importers.rows import NO_VALUE, Columns, cleaned, open_csv, to_ids, usual_columns
from runcard.errors import InputError

Floats = NDArray[np.float64]

MOST_KPH: Final = 400.0
"""No road is faster."""
TWO_WAY: Final = ("0", "0.0", "false", "no", "f", "n", "")
ONE_WAY: Final = ("1", "1.0", "true", "yes", "t", "y")
"""What a column of one-way roads may say, in small letters."""

_GMNS_LINKS: Final = {
    "id": ("link_id",),
    "from": ("from_node_id",),
    "to": ("to_node_id",),
    "length": ("length_m", "length"),
    "speed": ("free_speed",),
    "minutes": ("mean_minutes",),
    "road_class": ("road_class", "facility_type", "link_type_name"),
    "one_way": ("directed",),
}


def read_csv_roads(folder: Path, mapping: Mapping) -> ReadRoads:
    """The roads of the tables in a folder that a mapping names."""
    nodes, links = mapping.nodes, mapping.links
    if nodes is None or links is None:
        lacking = "nodes" if nodes is None else "links"
        raise InputError(f"mapping file: expected a section [{lacking}] for roads from tables, got none")
    nodes.need("file", "id", "x", "y")
    links.need("file", "from", "to")
    if not {"speed", "minutes", "road_class"} & links.columns.keys():
        raise InputError("mapping file: expected speed, minutes or road_class in [links], got none of them")
    node_table = Columns.read(open_csv(folder / nodes.settings["file"], **nodes.reading), nodes.columns, "nodes")
    ids, x, y = _nodes(node_table)
    lonlat = coordinate_system(x, y, nodes.settings.get("crs"), node_table.file)
    link_table = Columns.read(open_csv(folder / links.settings["file"], **links.reading), links.columns, "links")
    arcs = _arcs(link_table, links, {node_id: place for place, node_id in enumerate(ids)})
    roads, minutes_from, computed = whole_roads(ids, x, y, arcs, lonlat=lonlat)
    return ReadRoads(
        roads=roads,
        num_links=len(link_table),
        rejected=(*node_table.rejected, *link_table.rejected),
        num_cleaned=cleaned(node_table.cells["id"])[1],
        minutes_from=minutes_from,
        computed_lengths=computed,
        guessed_crs="crs" not in nodes.settings,
    )


def read_gmns(folder: Path, *, crs: str | None = None) -> ReadRoads:
    """The roads of a GMNS folder."""
    return read_csv_roads(folder, gmns_mapping(folder, crs=crs))


def gmns_mapping(folder: Path, *, crs: str | None = None) -> Mapping:
    """The mapping of a GMNS folder: its columns by the specification, and its units by its configuration."""
    stated = usual_columns(open_csv(folder / "link.csv").header, _GMNS_LINKS)
    columns = {"from": "from_node_id", "to": "to_node_id"} | stated
    length_unit, speed_unit = _gmns_units(folder / "config.csv")
    settings: dict[str, Any] = {"file": "link.csv", "speed_unit": speed_unit, "minutes_unit": "minutes"}
    settings["length_unit"] = "m" if columns.get("length") == "length_m" else length_unit
    if not {"speed", "minutes", "road_class"} & columns.keys():
        raise InputError(
            "link.csv: expected free_speed, mean_minutes or facility_type for driving times, got none of them"
        )
    of_nodes = {"file": "node.csv"} | ({} if crs is None else {"crs": crs})
    nodes = Section("nodes", {"id": "node_id", "x": "x_coord", "y": "y_coord"}, of_nodes)
    return Mapping(nodes=nodes, links=Section("links", columns, settings))


def _gmns_units(path: Path) -> tuple[str, str]:
    """The units of link lengths and of speeds."""
    units: dict[str, str] = {}
    if path.exists():
        text = open_csv(path)
        stated: dict[str, str] = {name: name for name in ("long_length", "speed") if name in text.header}
        if stated:
            units = {name: cells[0].strip() for name, cells in Columns.read(text, stated).cells.items()}
    return units.get("long_length") or "km", units.get("speed") or "km/h"


def _nodes(table: Columns) -> tuple[list[str], Floats, Floats]:
    """The ids and coordinates of the nodes that can be used."""
    ids = to_ids(table.cells["id"])
    x, y = (table.numbers(key, needed=True) for key in ("x", "y"))
    first: dict[str, int] = {}
    for row in table.kept:
        node_id, number = ids[row], table.row_numbers[row]
        if not node_id:
            table.leave_out(row, "expected an id, got none")
        elif (before := first.setdefault(node_id, row)) != row:
            if (x[before], y[before]) != (x[row], y[row]):
                also = f"also in row {table.row_numbers[before]}, at another place"
                raise InputError(f"{table.file} row {number}: expected ids to be unique, got {shown(node_id)}, {also}")
            table.leave_out(row, f"id {shown(node_id)} again, at the same place")
    table.refuse_if_most("nodes")
    return [ids[row] for row in table.kept], x[table.good], y[table.good]


def _arcs(table: Columns, section: Section, node_of: MappingType[str, int]) -> Arcs:
    """The links that can be used."""
    settings, cells, size = section.settings, table.cells, len(table)
    arcs = arcs_of(np.zeros(size, ARC))
    for field, key in (("start", "from"), ("end", "to")):
        arcs[field] = [node_of.get(node_id, -1) for node_id in to_ids(cells[key])]
        table.reject(arcs[field] < 0, f"expected {key} to be a known node", key)
    for field, key, units, unit in (("length_m", "length", METRES, "m"), ("minutes", "minutes", MINUTES, "minutes")):
        metric = factor(units, settings.get(f"{key}_unit", unit), f"[links] {key}_unit")
        arcs[field] = metric * table.numbers(key, least=0.0)
    arcs.kph = _speeds(cells["speed"], settings) if "speed" in cells else np.nan
    too_fast = f"expected speed > 0 and at most {MOST_KPH:g} km/h"
    table.reject((arcs.kph <= 0.0) | (arcs.kph > MOST_KPH), too_fast, "speed")
    one_way = _one_way(cells, settings, size)
    table.reject(one_way < 0, "expected one_way to be 1 or 0, true or false, yes or no", "one_way")
    table.refuse_if_most("links")
    arcs.both_ways = one_way == 0
    arcs.link_id = _link_ids(table) if "id" in cells else [str(number) for number in table.row_numbers]
    classes = cells.get("road_class", ("",) * size)
    class_of = {cell: cleaned([first_word(cell)])[0][0] for cell in set(classes)}
    arcs.road_class = [class_of[cell] for cell in classes]
    return arcs[table.good]


def _speeds(cells: Sequence[str], settings: MappingType[str, Any]) -> Floats:
    """[link] its speed in km/h, NaN where there is none; "30 mph" is understood whatever the unit."""
    known: dict[str, float] = {}
    by_unit = factor(KILOMETRES_PER_HOUR, settings.get("speed_unit", "km/h"), "[links] speed_unit")
    for cell in set(cells):
        try:
            known[cell] = float(cell) * by_unit
        except ValueError:
            known[cell] = speed_kph(cell) or np.nan
    return np.array([known[cell] for cell in cells])


def _one_way(cells: MappingType[str, Sequence[str]], settings: MappingType[str, Any], size: int) -> NDArray[np.int64]:
    """[link] 1 if it is one way, 0 if not, -1 where nobody can know."""
    if "one_way" not in cells:
        return np.full(size, int(settings.get("directed", True)))
    meaning = dict.fromkeys(TWO_WAY, 0) | dict.fromkeys(ONE_WAY, 1)
    return np.array([meaning.get(cell.strip().lower(), -1) for cell in cells["one_way"]], np.int64)


def _link_ids(table: Columns) -> list[str]:
    """[link] its id; one that is there before, or none, gets its row, because links are told apart by nothing else."""
    ids = to_ids(table.cells["id"])
    seen: set[str] = set()
    for place, one in enumerate(ids):
        if one in seen or one.lower() in NO_VALUE:
            ids[place] = f"{one}-row-{table.row_numbers[place]}"
        seen.add(ids[place])
    return ids
