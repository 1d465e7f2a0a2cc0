"""The small map of a district: its areas shaded and numbered, with the roads and stations around it."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.outputs.cards.print_rows import District
from runcard.outputs.map import INK
from runcard.outputs.page.ground import ground_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AROUND: Final = 0.2
"""What a map shows around a district, as a part of its size."""
SHADE: Final = "#C9CDD2"
LOCATOR: Final = 0.24
"""The part of the map that the locator of the district takes, in its corner."""


class DistrictMaps:
    """The maps of the districts of a city."""

    def __init__(self, city: City) -> None:
        ground = ground_of(city)
        stretch = _stretch(city, lonlat=bool(ground["lonlat"]))
        self._rings: dict[str, list[NDArray[np.float64]]] = {
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

    def draw(
        self,
        figure: "Figure",
        page: tuple[float, float],
        corner: tuple[float, float],
        size: tuple[float, float],
        district: District,
    ) -> None:
        """Draw the map of a district on a page, all in inches, the corner from its upper left."""
        place = (
            corner[0] / page[0], 1.0 - (corner[1] + size[1]) / page[1], size[0] / page[0], size[1] / page[1],
        )  # fmt: skip
        axes = figure.add_axes(place)
        axes.set(xticks=[], yticks=[], facecolor="white")
        low, high = self._frame(district, size)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        self._draw_areas(axes, district, low, high, size[1])
        self._draw_stations(axes, district, low, high)
        self._draw_locator(figure, place, low, high)

    def _frame(self, district: District, size: tuple[float, float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The corners of what is shown: the district with something around it, in the shape of the map."""
        shown = [ring for area in district.areas for ring in self._rings.get(area, [])]
        shown += [self._nodes[area][None] for area in district.areas]
        if district.station_id in self._stations:
            shown.append(self._stations[district.station_id][None])
        places = np.vstack(shown)
        low, high = places.min(axis=0), places.max(axis=0)
        middle, wide = (low + high) / 2.0, np.maximum((high - low) * (1.0 + AROUND), 1e-9)
        scale = max(wide[0] / size[0], wide[1] / size[1])
        half: NDArray[np.float64] = scale * np.array(size) / 2.0
        return middle - half, middle + half

    def _draw_areas(self, axes: "Axes", district: District, low: Any, high: Any, inches: float) -> None:
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.patheffects import withStroke

        rings = [ring for area in district.areas for ring in self._rings.get(area, [])]
        axes.add_collection(PolyCollection(rings, fc=SHADE, ec="white", lw=1.2, zorder=1))
        near = ((self._roads.max(axis=1) >= low) & (self._roads.min(axis=1) <= high)).all(axis=1)
        width = float(np.clip(60.0 / np.sqrt(max(1, near.sum())), 0.25, 1.0))
        axes.add_collection(LineCollection(list(self._roads[near]), colors="#7F8890", lw=width, zorder=2))
        halo = [withStroke(linewidth=2.0, foreground="white")]
        size = float(np.clip(13.0 * inches / np.sqrt(len(district.areas)), 5.0, 9.0))
        for number, area in enumerate(district.areas, start=1):
            x, y = self._nodes[area]
            apart = min(np.abs(self._nodes[area] - place).max() for place in self._stations.values())
            close = apart < 0.03 * (high[1] - low[1])
            x += (0.09 + size / 144.0) / inches * (high[1] - low[1]) if close else 0.0  # not below a triangle
            axes.text(
                x, y, str(number), fontsize=size, ha="center", va="center", color=INK, path_effects=halo, zorder=5
            )

    def _draw_stations(self, axes: "Axes", district: District, low: Any, high: Any) -> None:
        from matplotlib.patheffects import withStroke

        halo = [withStroke(linewidth=2.5, foreground="white")]
        for station_id, place in self._stations.items():
            if not ((place >= low) & (place <= high)).all():
                continue
            own = station_id == district.station_id
            looks: dict[str, Any] = {"c": INK if own else "white", "edgecolors": INK, "lw": 1.0, "zorder": 6}
            axes.scatter(place[0], place[1], s=60 if own else 40, marker="^", **looks)
            if own:
                continue  # its units are beside the map: there they would hide the numbers of areas
            up = place[1] + 0.035 * (high[1] - low[1])
            x = float(np.clip(place[0], low[0] + 0.06 * (high - low)[0], high[0] - 0.06 * (high - low)[0]))
            looks = {"fontsize": 7.0, "path_effects": halo, "zorder": 7}
            axes.text(x, up, self._labels[station_id], ha="center", va="bottom", color=INK, clip_on=True, **looks)

    def _draw_locator(self, figure: "Figure", place: tuple[float, ...], low: Any, high: Any) -> None:
        """Draw all stations as dots, and what the map shows as a box, in the lower right corner."""
        from matplotlib.patches import Rectangle

        x, y, wide, up = place
        inset = figure.add_axes((x + (1.0 - LOCATOR) * wide, y, LOCATOR * wide, 1.2 * LOCATOR * up))
        inset.set(xticks=[], yticks=[], facecolor="white")
        stations = np.array(list(self._stations.values()))
        ends = np.vstack([self._roads.reshape(-1, 2), stations]) if len(self._roads) else stations
        inset.scatter(stations[:, 0], stations[:, 1], s=3, c=INK, lw=0)
        inset.add_patch(Rectangle(tuple(low), *(high - low), fc="#00000022", ec=INK, lw=0.9))
        margin = 0.04 * (np.ptp(ends, axis=0) + 1e-9)
        inset.set(
            xlim=(ends[:, 0].min() - margin[0], ends[:, 0].max() + margin[0]),
            ylim=(ends[:, 1].min() - margin[1], ends[:, 1].max() + margin[1]),
            aspect="equal",
            anchor="SE",
        )


def _stretch(city: City, *, lonlat: bool) -> NDArray[np.float64]:
    """What x and y are multiplied by to be drawn to scale."""
    if not lonlat:
        return np.ones(2)
    latitude = np.radians(np.mean([node.y_coord for node in city.nodes]))
    return np.array([np.cos(latitude), 1.0])
