"""What an import did, as numbers: everything that was read, changed, moved and left out."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StationMoved:
    """A station that is far from the node where it is placed."""

    station_id: str
    node_id: str
    metres: float


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """The counts of an import. Links are counted as the files have them, arcs by direction."""

    nodes_read: int
    links_read: int
    coordinates: str
    """lonlat or metres."""
    coordinates_guessed: bool
    minutes_from: dict[str, int]
    """Links by where their minutes come from: minutes, speed, or usual for the usual speed of their class."""
    computed_lengths: int
    """Links whose length is the straight distance of their ends."""
    texts_cleaned: int
    self_loops: int
    short_links: int
    parallel_links: int
    dropped_nodes: int
    """Outside the largest strongly connected part."""
    dropped_links: int
    contracted_nodes: int
    contracted_loops: int
    contracted_parallel: int
    nodes: int
    links: int
    stations_read: int
    stations: int
    farthest_station_metres: float
    far_stations: tuple[StationMoved, ...]
    units: dict[str, int]
    """By kind."""
    stations_without_units: int
    areas: int
    areas_asked: int
    widest_area_minutes: float
    """Along the streets; with one-way signs obeyed the farthest node of an area is `farthest_drive_minutes` away."""
    farthest_drive_minutes: float
    rates_are_data: bool
    """Whether the rates come from incidents; an import shares a total by road length, so they do not."""
    rejected: dict[str, int]
    """Rows that were left out, by file."""

    def document(self) -> dict[str, Any]:
        """The same as plain values, ready for JSON."""
        return asdict(self) | {"far_stations": [asdict(one) for one in self.far_stations]}
