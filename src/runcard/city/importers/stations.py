"""Stations and the roster from CSV files, put at road nodes.

A station has coordinates or a node. It is placed at the nearest node of the roads that are used; how far that is, is
kept. A unit of the roster names its station, or has coordinates or a node and then belongs to the nearest station.
Columns may be left out of the mapping if they have one of the usual names.
"""

from collections.abc import Mapping as MappingType
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import RESERVED_IDS, near, shown
from runcard.city.importers.mapping import SECTIONS, Section
from runcard.city.importers.roads import Roads
from runcard.city.importers.rows import Columns, CsvFile, RejectedRow, cleaned, refuse_if_most, to_ids
from runcard.city.model import Unit
from runcard.city.places import LOST_METRES, exchanged_places, is_lonlat, nearest_nodes
from runcard.errors import InputError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Positions = NDArray[np.int64]

MAX_TRUCKS: Final = 1000
_PLACE: Final = {
    "x": ("x", "x_coord", "longitude", "lon", "lng", "long"),
    "y": ("y", "y_coord", "latitude", "lat"),
    "node": ("node_id", "node"),
}
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
    x, y, good, rejected = _places(table, all_roads)
    first: dict[str, int] = {}
    for place in np.flatnonzero(good).tolist():
        row, one = table.row_numbers[place], ids[place]
        if fault := _id_fault(one, "station"):
            rejected.append(RejectedRow(table.file, row, fault))
            good[place] = False
        elif first.setdefault(one, place) != place:
            also = f"also in row {table.row_numbers[first[one]]}"
            rejected.append(RejectedRow(table.file, row, f"expected stations to be unique, got {shown(one)}, {also}"))
            good[place] = False
    trucks = _trucks(table, good, rejected)
    refuse_if_most(rejected, len(table), "stations")
    _refuse_exchanged(table, x, y, good, roads)
    nodes, metres = np.zeros(len(ids), np.int64), np.zeros(len(ids))
    nodes[good], metres[good] = nearest_nodes((roads.x, roads.y), x[good], y[good], lonlat=roads.lonlat)
    lost = good & (metres > LOST_METRES)
    far = [f"{metres[one] / 1000.0:,.0f} km from every road" for one in np.flatnonzero(lost).tolist()]
    found = zip(table.rejected(lost, "station"), far, strict=True)
    rejected += [one._replace(reason=f"expected a station near the roads, got one {words}") for one, words in found]
    good &= ~lost
    kept = np.flatnonzero(good)
    if not len(kept):
        raise InputError(f"{table.file}: expected stations near the roads, got none; the first: {rejected[0].reason}")
    names, more = cleaned([one.strip() for one in table.cells.get("name", [""] * len(ids))])
    return PlacedStations(
        ids=tuple(ids[one] for one in kept.tolist()),
        names=tuple(names[one] for one in kept.tolist()),
        trucks=tuple(trucks[kept].tolist()),
        x=x[kept],
        y=y[kept],
        nodes=nodes[kept],
        metres=metres[kept],
        rejected=tuple(rejected),
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
        homes: Sequence[str] = [one.replace(",", " ") for one in to_ids(table.cells["station"])]
        good, rejected = np.ones(len(ids), np.bool_), list[RejectedRow]()
    else:
        x, y, good, rejected = _places(table, all_roads)
        _refuse_exchanged(table, x, y, good, roads)
        nearest = np.zeros(len(ids), np.int64)
        nearest[good] = nearest_nodes((stations.x, stations.y), x[good], y[good], lonlat=roads.lonlat)[0]
        homes = [stations.ids[one] for one in nearest.tolist()]
    known, seen, units = set(stations.ids), set[str](), []
    for place in np.flatnonzero(good).tolist():
        one, home, kind = ids[place], homes[place], kinds[place]
        fault = _id_fault(one, "unit")
        if not fault and one in seen:
            fault = f"expected units to be unique, got {shown(one)} again"
        if not fault and home not in known:
            hint = "" if home.isdigit() else near(home, known)  # no number is a misspelt other one
            fault = f"expected a station that could be placed, got {shown(home)}{hint}"
        if not fault and not kind:
            fault = "expected a kind, got none"
        if fault:
            rejected.append(RejectedRow(table.file, table.row_numbers[place], fault))
        else:
            seen.add(one)
            units.append(Unit(one, home, kind.replace(",", " ").replace("/", "-").replace("\\", "-")[:60].strip()))
    refuse_if_most(rejected, len(table), "units")
    return tuple(units), tuple(rejected)


def _table(path: Path, section: Section) -> Columns:
    """The columns of a section, with usual names for those that it does not name."""
    file = CsvFile(path, **section.reading)
    header = file.header
    columns = dict(section.columns)
    small = {name.lower(): name for name in reversed(header)}
    placed = bool({"node", "station", "x", "y"} & columns.keys())
    for key, names in USUAL_NAMES[section.name].items():
        found = next((small[name] for name in names if name in small), None)
        if key not in columns and found and not (placed and key in ("x", "y", "node", "station")):
            columns[key] = found
    if "station" in columns:
        columns = {key: name for key, name in columns.items() if key not in _PLACE}
    elif "node" in columns and not {"x", "y"} <= columns.keys():
        columns = {key: name for key, name in columns.items() if key not in ("x", "y")}
    elif {"x", "y"} <= columns.keys():
        columns.pop("node", None)
    _refuse_lacking(path, section.name, columns, header)
    order = {key: columns[key] for key in SECTIONS[section.name] if key in columns}
    if order.get("name") == order["id"]:
        del order["name"]
    return file.columns(order, section.name)


def _refuse_lacking(path: Path, name: str, columns: MappingType[str, str], header: Sequence[str]) -> None:
    """Raise an InputError if a column is not known that must be."""
    lacking = [key for key in ("id", *(["kind"] if name == "units" else [])) if key not in columns]
    if "node" not in columns and "station" not in columns:
        lacking += [key for key in ("x", "y") if key not in columns]
    if lacking:
        listed = ", ".join(shown(one) for one in header if one)
        words = "columns for " + ", ".join(lacking)
        if "x" in lacking or "y" in lacking:
            words += " (or a node)"
        raise InputError(
            f"{path.name}: expected {words}; name them in [{name}] of a mapping file; its columns: {listed}"
        )


def _ids(table: Columns) -> tuple[list[str], int]:
    """Ids without control characters and commas, which lists of them have between them."""
    ids = [one.replace(",", " ") for one in to_ids(table.cells["id"])]
    return ids, cleaned(table.cells["id"])[1]


def _id_fault(one: str, noun: str) -> str | None:
    """What is wrong with an id."""
    if not one:
        return f"expected the id of a {noun}, got none"
    return f"expected no {noun} called {one}, a word with a meaning of its own" if one in RESERVED_IDS else None


def _places(table: Columns, all_roads: Roads) -> tuple[Floats, Floats, Flags, list[RejectedRow]]:
    """[row] x, y and whether it has a place; and the rows that have none."""
    size = len(table)
    good, rejected = np.ones(size, np.bool_), list[RejectedRow]()
    if "node" in table.cells:
        number = {one: place for place, one in enumerate(all_roads.node_ids)}
        where = np.array([number.get(one, -1) for one in to_ids(table.cells["node"])], np.int64)
        rejected += table.rejected(where < 0, "expected a known node", "node")
        return all_roads.x[where], all_roads.y[where], where >= 0, rejected
    found = []
    names = table.cells["id"]
    for key in ("x", "y"):
        values, _ = table.numbers(key)
        wrong = good & ~np.isfinite(values)
        labelled = zip(
            table.rejected(wrong, f"expected {key} to be a number", key), np.flatnonzero(wrong).tolist(), strict=True
        )
        rejected += [one._replace(reason=f"{shown(names[place])}: {one.reason}") for one, place in labelled]
        good &= ~wrong
        found.append(np.where(np.isfinite(values), values, 0.0))
    return found[0], found[1], good, rejected


def _trucks(table: Columns, good: Flags, rejected: list[RejectedRow]) -> Positions:
    """[station] its trucks, 1 where the file does not say."""
    if "trucks" not in table.cells:
        return np.ones(len(table), np.int64)
    values, wrong = table.numbers("trucks")
    values = np.where(np.isnan(values) & ~wrong, 1.0, values)
    wrong = good & (wrong | (values != np.round(values)) | (values < 1) | (values > MAX_TRUCKS))
    rejected += table.rejected(wrong, f"expected trucks to be a whole number from 1 to {MAX_TRUCKS}", "trucks")
    good &= ~wrong
    return np.where(wrong, 1, values).astype(np.int64)


def _refuse_exchanged(table: Columns, x: Floats, y: Floats, good: Flags, roads: Roads) -> None:
    """Raise an InputError if places are near the roads only with x and y exchanged, or are of another kind."""
    if "node" in table.cells or not good.any():
        return
    swapped = np.zeros(len(x), np.bool_)
    swapped[good] = exchanged_places((roads.x, roads.y), x[good], y[good], lonlat=roads.lonlat)
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
