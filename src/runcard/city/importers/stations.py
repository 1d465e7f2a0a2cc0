"""Stations and the roster from CSV files, put at road nodes.

A station has coordinates or a node. It is placed at the nearest node of the roads that are used; how far that is, is
kept. A unit of the roster names its station, or has coordinates or a node and then belongs to the nearest station.
Columns may be left out of the mapping if they have one of the usual names.
"""

from collections.abc import Mapping as MappingType
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import RESERVED_IDS, not_among, shown
from runcard.city.importers.mapping import SECTIONS, Section
from runcard.city.importers.roads import Roads
from runcard.city.importers.rows import Columns, RejectedRow, cleaned, open_csv, to_ids, to_numbers, usual_columns
from runcard.city.model import Unit
from runcard.city.places import LOST_METRES, exchanged_places, is_lonlat, nearest_nodes
from runcard.errors import InputError

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

MAX_TRUCKS: Final = 1000
_PLACE: Final = {
    "x": ("x", "x_coord", "longitude", "lon", "lng", "long"),
    "y": ("y", "y_coord", "latitude", "lat"),
    "node": ("node_id", "node"),
}
_WHERE: Final = {*_PLACE, "station"}
USUAL_NAMES: Final[MappingType[str, MappingType[str, tuple[str, ...]]]] = {
    "stations": {
        "id": ("station_id", "id", "station", "station_number", "name"),
        **_PLACE,
        "name": ("name", "address"),
        "trucks": ("trucks",),
    },
    "units": {
        "id": ("unit_id", "unit", "id"),
        "station": ("station_id", "station"),
        "kind": ("kind", "type", "unit_type"),
        **_PLACE,
    },
}
"""What columns are usually called, in small letters, for sections that do not name them."""


@dataclass(frozen=True, eq=False)
class PlacedStations:
    """Stations at nodes of the roads that are used."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    trucks: tuple[int, ...]
    x: Floats
    y: Floats
    nodes: Positions
    """[station] its node, as a position."""
    metres: Floats
    """[station] how far the node is."""
    rejected: tuple[RejectedRow, ...]
    num_cleaned: int


def read_stations(path: Path, section: Section | None, roads: Roads, all_roads: Roads) -> PlacedStations:
    """The stations of a file at nodes of `roads`; nodes that were dropped from `all_roads` still have coordinates."""
    table = _table(path, section or Section("stations"))
    ids, num_cleaned = _ids(table)
    x, y = _places(table, all_roads)
    first: dict[str, int] = {}
    for row in table.kept:
        if fault := _id_fault(ids[row], "station"):
            table.leave_out(row, fault)
        elif (before := first.setdefault(ids[row], row)) != row:
            also = f"also in row {table.row_numbers[before]}"
            table.leave_out(row, f"expected stations to be unique, got {shown(ids[row])}, {also}")
    trucks = _trucks(table)
    table.refuse_if_most("stations")
    _refuse_exchanged(table, x, y, roads)
    nodes, metres = nearest_nodes((roads.x, roads.y), x, y, lonlat=roads.lonlat)
    for row in np.flatnonzero(table.good & (metres > LOST_METRES)).tolist():
        far = f"{metres[row] / 1000.0:,.0f} km from every road"
        table.leave_out(row, f"expected a station near the roads, got one {far}")
    kept = table.kept
    if not kept:
        first_reason = table.rejected[0].reason
        raise InputError(f"{table.file}: expected stations near the roads, got none; the first: {first_reason}")
    names, more = cleaned([name.strip() for name in table.cells.get("name", [""] * len(ids))])
    return PlacedStations(
        ids=tuple(ids[row] for row in kept),
        names=tuple(names[row] for row in kept),
        trucks=tuple(trucks[kept].tolist()),
        x=x[kept],
        y=y[kept],
        nodes=nodes[kept],
        metres=metres[kept],
        rejected=tuple(table.rejected),
        num_cleaned=num_cleaned + more,
    )


def read_roster(
    path: Path, section: Section | None, stations: PlacedStations, roads: Roads, all_roads: Roads
) -> tuple[tuple[Unit, ...], tuple[RejectedRow, ...]]:
    """The units of a file, and the rows that cannot be used."""
    table = _table(path, section or Section("units"))
    ids, _ = _ids(table)
    kinds = cleaned([cell.strip() for cell in table.cells["kind"]])[0]
    if "station" in table.cells:
        homes = [station_id.replace(",", " ") for station_id in to_ids(table.cells["station"])]
    else:
        x, y = _places(table, all_roads)
        _refuse_exchanged(table, x, y, roads)
        nearest = nearest_nodes((stations.x, stations.y), x, y, lonlat=roads.lonlat)[0]
        homes = [stations.ids[station] for station in nearest.tolist()]
    known, units = set(stations.ids), dict[str, Unit]()
    for row in table.kept:
        unit_id, home, kind = ids[row], homes[row], kinds[row]
        fault = _id_fault(unit_id, "unit")
        if not fault and unit_id in units:
            fault = f"expected units to be unique, got {shown(unit_id)} again"
        if not fault and home not in known:
            fault = not_among("a station that could be placed", home, known)
        if not fault and not kind:
            fault = "expected a kind, got none"
        if fault:
            table.leave_out(row, fault)
        else:
            kind = kind.replace(",", " ").replace("/", "-").replace("\\", "-")[:60].strip()
            units[unit_id] = Unit(unit_id, home, kind)
    table.refuse_if_most("units")
    return tuple(units.values()), tuple(table.rejected)


def _table(path: Path, section: Section) -> Columns:
    """The columns of a section, with usual names for those that it does not name."""
    text, stated = open_csv(path, **section.reading), section.columns
    usual = usual_columns(text.header, USUAL_NAMES[section.name])
    if _WHERE & stated.keys():
        usual = {key: name for key, name in usual.items() if key not in _WHERE}
    columns = {**usual, **stated}
    where = next((keys for keys in (("station",), ("x", "y"), ("node",)) if columns.keys() >= {*keys}), ())
    lacking = [key for key in ("id", "kind") if key in SECTIONS[section.name] and key not in columns]
    lacking += [key for key in ("x", "y") if not where and key not in columns]
    if lacking:
        listed = ", ".join(shown(name) for name in text.header if name)
        words = f"columns for {', '.join(lacking)}{'' if where else ' (or a node)'}"
        raise InputError(
            f"{path.name}: expected {words}; name them in [{section.name}] of a mapping file; its columns: {listed}"
        )
    wanted = columns.keys() - _WHERE.difference(where)
    columns = {key: columns[key] for key in SECTIONS[section.name] if key in wanted}
    if columns.get("name") == columns["id"]:
        del columns["name"]
    return Columns.read(text, columns, section.name)


def _ids(table: Columns) -> tuple[list[str], int]:
    """Ids without control characters and commas, which lists of them have between them."""
    ids = [one.replace(",", " ") for one in to_ids(table.cells["id"])]
    return ids, cleaned(table.cells["id"])[1]


def _id_fault(one: str, noun: str) -> str | None:
    """What is wrong with an id."""
    if not one:
        return f"expected the id of a {noun}, got none"
    return f"expected no {noun} called {one}, a word with a meaning of its own" if one in RESERVED_IDS else None


def _places(table: Columns, all_roads: Roads) -> tuple[Floats, Floats]:
    """[row] x and y; rows without a place are left out."""
    if "node" in table.cells:
        number = {node_id: place for place, node_id in enumerate(all_roads.node_ids)}
        where = np.array([number.get(node_id, -1) for node_id in to_ids(table.cells["node"])], np.int64)
        table.reject(where < 0, "expected a known node", "node")
        return all_roads.x[where], all_roads.y[where]
    x, y = (to_numbers(table.cells[key])[0] for key in ("x", "y"))
    for key, values in (("x", x), ("y", y)):
        for row in np.flatnonzero(table.good & ~np.isfinite(values)).tolist():
            found = f"expected {key} to be a number, got {shown(table.cells[key][row])}"
            table.leave_out(row, f"{shown(table.cells['id'][row])}: {found}")
    return np.where(table.good, x, 0.0), np.where(table.good, y, 0.0)


def _trucks(table: Columns) -> Positions:
    """[station] its trucks, 1 where the file does not say."""
    if "trucks" not in table.cells:
        return np.ones(len(table), np.int64)
    values, wrong = to_numbers(table.cells["trucks"])
    values = np.where(np.isnan(values), 1.0, values)
    wrong |= (values != np.round(values)) | (values < 1) | (values > MAX_TRUCKS)
    table.reject(wrong, f"expected trucks to be a whole number from 1 to {MAX_TRUCKS}", "trucks")
    return np.where(wrong, 1, values).astype(np.int64)


def _refuse_exchanged(table: Columns, x: Floats, y: Floats, roads: Roads) -> None:
    """Raise an InputError if places are near the roads only with x and y exchanged, or are of another kind."""
    good = table.good
    if "node" in table.cells or not good.any():
        return
    swapped = exchanged_places((roads.x, roads.y), x, y, lonlat=roads.lonlat) & good
    if swapped.any():
        row = table.row_numbers[int(np.flatnonzero(swapped)[0])]
        section = "stations" if "kind" not in table.cells else "units"
        raise InputError(
            f"{table.file} row {row}: longitude and latitude (x and y) are swapped: it lies near the roads only if "
            f"they are exchanged, as {int(swapped.sum())} of {len(x)} rows do; exchange x and y in [{section}] of the "
            "mapping file"
        )
    if not roads.lonlat and is_lonlat(x[good], y[good]) and not is_lonlat(roads.x, roads.y):
        raise InputError(
            f"{table.file}: expected metres as the roads have, got what looks like longitude and latitude; "
            "give both in the same coordinates"
        )
