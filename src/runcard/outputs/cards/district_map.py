"""The small map of a district: its areas shaded and numbered, with the roads and stations around it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.outputs.cards.print_page import PAGE, POINTS, font_name
from runcard.outputs.cards.print_rows import District
from runcard.outputs.map import INK
from runcard.outputs.page.ground import ground_of

if TYPE_CHECKING:
    from reportlab.pdfgen.canvas import Canvas

Floats = NDArray[np.float64]

AROUND: Final = 0.2
"""What a map shows around a district, as a part of its size."""
SHADE: Final = "#C9CDD2"
STROKE, FILL = 1, 0
"""Ways to write letters in a PDF file: their outline, and their inside."""
LOCATOR: Final = 0.24
"""The part of the map that the locator of the district takes, in its corner."""


class DistrictMaps:
    """The maps of the districts of a city."""

    def __init__(self, city: City) -> None:
        ground = ground_of(city)
        stretch = _stretch(city, lonlat=bool(ground["lonlat"]))
        self._rings: dict[str, list[Floats]] = {
            area["id"]: [np.array(ring).reshape(-1, 2) * stretch for ring in area["rings"]] for area in ground["areas"]
        }
        self._roads = np.array(ground["roads"], np.float64).reshape(-1, 2, 2) * stretch
        self._stations = {one["id"]: np.array([one["x"], one["y"]]) * stretch for one in ground["stations"]}
        self._nodes = {
            node.node_id: np.array([node.x_coord, node.y_coord]) * stretch for node in city.nodes
        }  # fmt: skip
        self._labels = {
            one["id"]: ", ".join(unit["id"] for unit in one["units"]) or one["id"] for one in ground["stations"]
        }

    def legend(self, district: District) -> str:
        """How the map of a district is read."""
        return (
            "Map: the areas of the district are grey and numbered, lines are roads, triangles are stations with their "
            f"units, black with {self._labels.get(district.station_id, 'none')}. The small map shows where it lies."
        )

    def picture(
        self, district: District, corner: tuple[float, float], size: tuple[float, float]
    ) -> Callable[["Canvas"], None]:
        """What draws the map of a district on a page, its upper left corner and its size in inches."""
        box = Box(POINTS * corner[0], POINTS * (PAGE[1] - corner[1] - size[1]), POINTS * size[0], POINTS * size[1])
        low, high = self._frame(district, size)

        def draw(canvas: "Canvas") -> None:
            canvas.saveState()
            box.clip(canvas)
            self._draw_areas(canvas, district, _Scale(box, low, high))
            self._draw_stations(canvas, district, _Scale(box, low, high))
            canvas.restoreState()
            box.outline(canvas)
            self._draw_locator(canvas, box, low, high)

        return draw

    def _frame(self, district: District, size: tuple[float, float]) -> tuple[Floats, Floats]:
        """The corners of what is shown: the district with something around it, in the shape of the map."""
        shown = [ring for area in district.areas for ring in self._rings.get(area, [])]
        shown += [self._nodes[area][None] for area in district.areas]
        if district.station_id in self._stations:
            shown.append(self._stations[district.station_id][None])
        places = np.vstack(shown)
        low, high = places.min(axis=0), places.max(axis=0)
        middle, wide = (low + high) / 2.0, np.maximum((high - low) * (1.0 + AROUND), 1e-9)
        scale = max(wide[0] / size[0], wide[1] / size[1])
        half: Floats = scale * np.array(size) / 2.0
        return middle - half, middle + half

    def _draw_areas(self, canvas: "Canvas", district: District, scale: "_Scale") -> None:
        canvas.setFillColor(SHADE)
        canvas.setStrokeColor("white")
        canvas.setLineWidth(1.2)
        for ring in (ring for area in district.areas for ring in self._rings.get(area, [])):
            _draw_ring(canvas, scale.points(ring))
        near = ((self._roads.max(axis=1) >= scale.low) & (self._roads.min(axis=1) <= scale.high)).all(axis=1)
        canvas.setStrokeColor("#7F8890")
        canvas.setLineWidth(float(np.clip(60.0 / np.sqrt(max(1, near.sum())), 0.25, 1.0)))
        canvas.lines(scale.points(self._roads[near].reshape(-1, 2)).reshape(-1, 4).tolist())
        letters = float(np.clip(13.0 * scale.box.height / POINTS / np.sqrt(len(district.areas)), 5.0, 9.0))
        stations = scale.points(np.array(list(self._stations.values())))
        for number, area in enumerate(district.areas, start=1):
            x, y = scale.points(self._nodes[area][None])[0].tolist()
            hidden = np.abs(stations - (x, y)).max(axis=1).min() < 0.03 * scale.box.height
            down = 4.5 + 0.8 * letters if hidden else 0.36 * letters  # below the triangle of a station, not under it
            _write_with_halo(canvas, x, y - down, str(number), letters)

    def _draw_stations(self, canvas: "Canvas", district: District, scale: "_Scale") -> None:
        box = scale.box
        for station_id, place in self._stations.items():
            if not ((place >= scale.low) & (place <= scale.high)).all():
                continue
            own = station_id == district.station_id
            x, y = scale.points(place[None])[0].tolist()
            canvas.setFillColor(INK if own else "white")
            canvas.setStrokeColor(INK)
            canvas.setLineWidth(1.0)
            half = 3.9 if own else 3.2
            _draw_ring(canvas, np.array([(x - half, y - half), (x + half, y - half), (x, y + half)]))
            if not own:  # its units are beside the map: there they would hide the numbers of areas
                middle = float(np.clip(x, box.x + 0.06 * box.width, box.x + 0.94 * box.width))
                _write_with_halo(canvas, middle, y + 0.035 * box.height, self._labels[station_id], 7.0)

    def _draw_locator(self, canvas: "Canvas", box: "Box", low: Floats, high: Floats) -> None:
        """Draw all stations as dots, and what the map shows as a box, in the lower right corner."""
        stations = np.array(list(self._stations.values()))
        ends = np.vstack([self._roads.reshape(-1, 2), stations])
        margin = 0.04 * (np.ptp(ends, axis=0) + 1e-9)
        first, last = ends.min(axis=0) - margin, ends.max(axis=0) + margin
        most = np.array([LOCATOR * box.width, 1.2 * LOCATOR * box.height])
        width, height = ((last - first) * (most / (last - first)).min()).tolist()
        inset = Box(box.x + box.width - width, box.y, width, height)
        scale = _Scale(inset, first, last)
        canvas.setFillColor("white")
        inset.outline(canvas, fill=1)
        inset.clip(canvas)
        canvas.setFillColor(INK)
        for x, y in scale.points(stations).tolist():
            canvas.circle(x, y, 0.9, stroke=0, fill=1)
        (left, bottom), (right, top) = scale.points(np.array([low, high])).tolist()
        canvas.setFillColor(INK, alpha=0.13)
        canvas.setLineWidth(0.9)
        canvas.rect(left, bottom, right - left, top - bottom, stroke=1, fill=1)


@dataclass(frozen=True)
class Box:
    """A part of a page, in points from its lower left corner."""

    x: float
    y: float
    width: float
    height: float

    def clip(self, canvas: "Canvas") -> None:
        """Let nothing be drawn outside of it."""
        path = canvas.beginPath()
        path.rect(self.x, self.y, self.width, self.height)
        canvas.clipPath(path, stroke=0, fill=0)

    def outline(self, canvas: "Canvas", *, fill: int = 0) -> None:
        """Draw a thin line around it."""
        canvas.setStrokeColor(INK)
        canvas.setLineWidth(0.8)
        canvas.rect(self.x, self.y, self.width, self.height, stroke=1, fill=fill)


@dataclass(frozen=True, eq=False)
class _Scale:
    """Where places of the city between two corners stand in a box."""

    box: Box
    low: Floats
    high: Floats

    def points(self, places: Floats) -> Floats:
        """[place, 2] where places stand on the page."""
        size = np.array([self.box.width, self.box.height])
        found: Floats = (self.box.x, self.box.y) + (places - self.low) / (self.high - self.low) * size
        return found


def _draw_ring(canvas: "Canvas", points: Floats) -> None:
    """Fill and outline a ring."""
    path = canvas.beginPath()
    (x, y), *rest = points.tolist()
    path.moveTo(x, y)
    for x, y in rest:
        path.lineTo(x, y)
    path.close()
    canvas.drawPath(path, stroke=1, fill=1)


def _write_with_halo(canvas: "Canvas", x: float, y: float, text: str, size: float) -> None:
    """Write a text in the middle above a place, with white around its letters, so that roads do not cross it."""
    canvas.setFont(font_name(), size)
    canvas.setStrokeColor("white")
    canvas.setFillColor(INK)
    canvas.setLineWidth(2.0)
    canvas.setLineJoin(1)
    for mode in (STROKE, FILL):
        canvas.drawCentredString(x, y, text, mode=mode)


def _stretch(city: City, *, lonlat: bool) -> Floats:
    """What x and y are multiplied by to be drawn to scale."""
    if not lonlat:
        return np.ones(2)
    latitude = np.radians(np.mean([node.y_coord for node in city.nodes]))
    return np.array([np.cos(latitude), 1.0])
