"""The small map of a district: its areas shaded and numbered, with the roads and stations around it."""

from typing import Any, Final

import numpy as np
from reportlab.platypus import Flowable

from runcard.city.model import City
from runcard.mdp.arrays import Floats
from runcard.outputs.cards.print_rows import District
from runcard.outputs.cards.print_table import POINTS, font_name, width_of
from runcard.outputs.ground import ground_of
from runcard.page.picture import INK

AROUND: Final = 0.2
"""What a map shows around a district, as a part of its size."""
SHADE, ROAD = "#C9CDD2", "#7F8890"
LETTERS: Final = 7.0
"""Of the units of a station."""
STROKE, FILL = 1, 0
"""Ways to write letters in a PDF file: their outline, and their inside."""
LOCATOR: Final = 0.24
"""The part of the map that the locator of the district takes, in its corner."""


class DistrictMaps:
    """The maps of the districts of a city."""

    def __init__(self, city: City) -> None:
        ground = ground_of(city)
        latitude = np.radians(np.mean([node.y_coord for node in city.nodes]))
        stretch = np.array([np.cos(latitude) if ground["lonlat"] else 1.0, 1.0])  # to scale
        self.rings: dict[str, list[Floats]] = {
            area["id"]: [np.array(ring).reshape(-1, 2) * stretch for ring in area["rings"]] for area in ground["areas"]
        }
        self.roads = np.array(ground["roads"], np.float64).reshape(-1, 2, 2) * stretch
        self.stations = {one["id"]: np.array([one["x"], one["y"]]) * stretch for one in ground["stations"]}
        self.nodes = {node.node_id: np.array([node.x_coord, node.y_coord]) * stretch for node in city.nodes}
        self.labels = {
            one["id"]: ", ".join(unit["id"] for unit in one["units"]) or one["id"] for one in ground["stations"]
        }

    def legend(self, district: District) -> str:
        """How the map of a district is read."""
        return (
            "Map: the areas of the district are grey and numbered, lines are roads, triangles are stations with their "
            f"units, black with {self.labels.get(district.station_id, 'none')}. The small map shows where it lies."
        )


class DistrictMap(Flowable):  # type: ignore[misc, unused-ignore]
    """The map of a district, of some size: the district with something around it, in the shape of the map."""

    def __init__(self, maps: DistrictMaps, district: District, width: float, height: float) -> None:
        super().__init__()
        self.maps, self.district, self.size = maps, district, np.array([width, height])
        shown = [ring for area in district.areas for ring in (*maps.rings.get(area, []), maps.nodes[area][None])]
        shown += [maps.stations[name][None] for name in [district.station_id] if name in maps.stations]
        places = np.vstack(shown)
        low, high = places.min(axis=0), places.max(axis=0)
        wide = np.maximum((high - low) * (1.0 + AROUND), 1e-9)
        half = (wide / self.size).max() * self.size / 2.0
        self.low, self.high = (low + high) / 2.0 - half, (low + high) / 2.0 + half

    def draw(self) -> None:
        """Draw it."""
        self.canv.saveState()
        self._clip(0.0, 0.0, *self.size.tolist())
        self._draw_areas()
        self._draw_stations()
        self.canv.restoreState()
        self._outline(0.0, 0.0, *self.size.tolist())
        self._draw_locator()

    def _points(self, places: Floats) -> Floats:
        """[place, 2] where places of the city stand on the map."""
        points: Floats = (places - self.low) / (self.high - self.low) * self.size
        return points

    def _draw_areas(self) -> None:
        maps, areas, (_, height) = self.maps, self.district.areas, self.size
        self._pen(SHADE, "white", 1.2)
        for ring in (ring for area in areas for ring in maps.rings.get(area, [])):
            self._draw_ring(self._points(ring))
        near = ((maps.roads.max(axis=1) >= self.low) & (maps.roads.min(axis=1) <= self.high)).all(axis=1)
        self._pen(INK, ROAD, float(np.clip(60.0 / np.sqrt(max(1, near.sum())), 0.25, 1.0)))
        self.canv.lines(self._points(maps.roads[near].reshape(-1, 2)).reshape(-1, 4).tolist())
        letters = float(np.clip(13.0 * height / POINTS / np.sqrt(len(areas)), 5.0, 9.0))
        stations = self._points(np.array(list(maps.stations.values())))
        for number, area in enumerate(areas, start=1):
            x, y = self._points(maps.nodes[area]).tolist()
            hidden = np.abs(stations - (x, y)).max(axis=1).min() < 0.03 * height
            down = 4.5 + 0.8 * letters if hidden else 0.36 * letters  # below the triangle of a station, not under it
            self._write_with_halo(x, y - down, str(number), letters)

    def _draw_stations(self) -> None:
        width, height = self.size.tolist()
        for station_id, place in self.maps.stations.items():
            if not ((place >= self.low) & (place <= self.high)).all():
                continue
            is_home = station_id == self.district.station_id
            x, y = self._points(place).tolist()
            self._pen(INK if is_home else "white", INK, 1.0)
            half = 3.9 if is_home else 3.2
            self._draw_ring(np.array([(x - half, y - half), (x + half, y - half), (x, y + half)]))
            if not is_home:  # its units are beside the map: there they would hide the numbers of areas
                label = self.maps.labels[station_id]
                half = 0.5 * LETTERS * width_of(label) + 2.0
                self._write_with_halo(
                    float(np.clip(x, half, max(half, width - half))), y + 0.035 * height, label, LETTERS
                )

    def _draw_locator(self) -> None:
        """Draw all stations as dots, and what the map shows as a box, in the lower right corner."""
        stations = np.array(list(self.maps.stations.values()))
        ends = np.vstack([self.maps.roads.reshape(-1, 2), stations])
        margin = 0.04 * (np.ptp(ends, axis=0) + 1e-9)
        first, last = ends.min(axis=0) - margin, ends.max(axis=0) + margin
        scale = (LOCATOR * self.size * (1.0, 1.2) / (last - first)).min()
        width, height = ((last - first) * scale).tolist()
        corner = np.array([self.size[0] - width, 0.0])
        self.canv.setFillColor("white")
        self._outline(*corner.tolist(), width, height, fill=1)
        self._clip(*corner.tolist(), width, height)
        self.canv.setFillColor(INK)
        for x, y in (corner + (stations - first) * scale).tolist():
            self.canv.circle(x, y, 0.9, stroke=0, fill=1)
        self.canv.setFillColor(INK, alpha=0.13)
        self.canv.setLineWidth(0.9)
        shown = corner + (self.low - first) * scale, (self.high - self.low) * scale
        self.canv.rect(*shown[0].tolist(), *shown[1].tolist(), stroke=1, fill=1)

    def _pen(self, fill: str, stroke: str, width: float) -> None:
        """Fill and draw lines in some colours from now on."""
        self.canv.setFillColor(fill)
        self.canv.setStrokeColor(stroke)
        self.canv.setLineWidth(width)

    def _clip(self, *box: float) -> None:
        """Let nothing be drawn outside of a box from now on."""
        path: Any = self.canv.beginPath()
        path.rect(*box)
        self.canv.clipPath(path, stroke=0, fill=0)

    def _outline(self, *box: float, fill: int = 0) -> None:
        """Draw a thin line around a box."""
        self.canv.setStrokeColor(INK)
        self.canv.setLineWidth(0.8)
        self.canv.rect(*box, stroke=1, fill=fill)

    def _draw_ring(self, points: Floats) -> None:
        """Fill and outline a ring."""
        path = self.canv.beginPath()
        path.moveTo(*points[0].tolist())
        for x, y in points[1:].tolist():
            path.lineTo(x, y)
        path.close()
        self.canv.drawPath(path, stroke=1, fill=1)

    def _write_with_halo(self, x: float, y: float, text: str, size: float) -> None:
        """Write a text in the middle above a place, with white around its letters, so that roads do not cross it."""
        self.canv.setFont(font_name(), size)
        self._pen(INK, "white", 2.0)
        self.canv.setLineJoin(1)
        for mode in (STROKE, FILL):
            self.canv.drawCentredString(x, y, text, mode=mode)
