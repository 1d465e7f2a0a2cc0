"""A city in a notebook: what it has as a table, and a small map.

The map is drawn in pixels of a picture 720 wide. Roads that fall on the same pixels are drawn once, and of too many
roads or places the longest roads and the busiest places are drawn, so that the largest city stays below 200 kB.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from math import cos, radians, sqrt
from typing import Final

import numpy as np

from runcard.city.model import City
from runcard.city.places import coordinates_of, is_lonlat
from runcard.table import Table, escaped, html_note

WIDTH: Final = 720.0
MOST_HEIGHT: Final = 560.0
MARGIN: Final = 24.0
MOST_ROADS, MOST_PLACES, MOST_STATIONS = 6_000, 1_200, 300
"""What is drawn at most."""
MOST_LETTERS: Final = 24
LETTER, LINE = 7.5, 14.0
"""About how wide and high a letter is."""
MOST_ROWS: Final = 12
"""Of incident types and standards."""
LARGEST_DOT: Final = 9.0
DEMAND_COLOUR: Final = "#2E86C1"
"""A blue that stands out on white and on black, for every kind of colour vision."""

PLACES_NOTE: Final = (
    "Dots: where incidents start; the larger, the more a day. Squares: stations; the pointer shows their units."
)
HOLLOW: Final = f' fill="none" stroke="{DEMAND_COLOUR}"'

Pixels = dict[str, tuple[float, float]]
Box = tuple[float, float, float]


def city_html(city: City) -> str:
    """A city as HTML."""
    table = Table(("", ""), _rows(city), title=city.name).html()
    return f"<div>{table}{map_html(city, lambda pixels: places_svg(city, pixels), PLACES_NOTE)}</div>"


def _rows(city: City) -> list[tuple[str, str]]:
    """What the city has, in words."""
    kinds = Counter(unit.kind for unit in city.units)
    nodes = {point.node_id for point in city.demand}
    rows = [
        ("stations", f"{len(city.stations):,}"),
        *((f"units: {kind}", f"{number:,}") for kind, number in kinds.items()),
        ("demand points", f"{len(nodes):,}"),
        ("incidents a day", f"{city.incidents_per_day:.3g}"),
    ]
    by_type: dict[str, float] = defaultdict(float)
    for point in city.demand:
        by_type[point.type] += point.incidents_per_day
    if len(by_type) > 1:
        rows += _few([(f"incidents a day: {name or 'no type'}", f"{rate:.3g}") for name, rate in by_type.items()])
    rows += [("road nodes and links", f"{len(city.nodes):,} and {len(city.links):,}")]
    if not city.plain:
        rows += _few([(f"standard: {one.type}, {one.kind}", one.rule) for one in city.standards])
    else:
        rules = dict.fromkeys(city.rule_of(point) for point in city.demand)
        rows += _few([("in time", rule) for rule in rules])
    if city.has_periods:
        rows.append(("periods", ", ".join(period.name for period in city.periods)))
    return rows


def _few(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The first rows, and how many more there are."""
    more = len(rows) - MOST_ROWS
    return rows if more <= 0 else [*rows[:MOST_ROWS], (f"and {more:,} more", "")]


def map_html(city: City, drawn: Callable[[Pixels], str], note: str) -> str:
    """The roads, what is drawn on them, and the stations by name."""
    pixels, height = _pixels(city)
    inner = _roads(city, pixels) + drawn(pixels) + _stations(city, pixels)
    shape = f'viewBox="0 0 {WIDTH:g} {height:g}" width="{WIDTH:g}" style="max-width:100%;height:auto"'
    title = f"<title>Map of {escaped(city.name)}</title>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {shape}>{title}{inner}</svg>{html_note(note)}'


def _pixels(city: City) -> tuple[Pixels, float]:
    """Where each node is in the picture, and the height of the picture."""
    x, y = coordinates_of(city)
    if is_lonlat(x, y):
        x = x * cos(radians(float(np.median(y))))
    wide, high = float(np.ptp(x)), float(np.ptp(y))
    room = WIDTH - 2.0 * MARGIN, MOST_HEIGHT - 2.0 * MARGIN
    scale = min(room[0] / wide if wide > 0.0 else np.inf, room[1] / high if high > 0.0 else np.inf)
    scale = scale if np.isfinite(scale) else 1.0
    left = (WIDTH - scale * wide) / 2.0
    across = left + scale * (x - x.min())
    down = MARGIN + scale * (y.max() - y)  # north is up
    ids, places = (node.node_id for node in city.nodes), zip(across.tolist(), down.tolist(), strict=True)
    return dict(zip(ids, places, strict=True)), round(scale * high + 2.0 * MARGIN)


def _roads(city: City, pixels: Pixels) -> str:
    """One path of all roads."""
    pieces: dict[tuple[int, int, int, int], int] = {}
    for link in city.links:
        ends = sorted((round(x), round(y)) for x, y in (pixels[link.from_node_id], pixels[link.to_node_id]))
        (x, y), (to_x, to_y) = ends
        if ends[0] != ends[1]:
            pieces[x, y, to_x, to_y] = (to_x - x) ** 2 + (to_y - y) ** 2
    longest = sorted(pieces, key=pieces.__getitem__, reverse=True)[:MOST_ROADS]
    path = "".join(f"M{x} {y}l{to_x - x} {to_y - y}" for x, y, to_x, to_y in longest)
    return f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.3"/>'


def places_svg(city: City, pixels: Pixels, *, hollow: Collection[str] = ()) -> str:
    """Dots where incidents start, with an area that grows with their number; `hollow` ones are circles."""
    rates: dict[str, float] = defaultdict(float)
    for point in city.demand:
        rates[point.node_id] += point.incidents_per_day
    most = max(rates.values(), default=0.0)
    busiest = sorted(rates, key=rates.__getitem__, reverse=True)[:MOST_PLACES]
    largest = LARGEST_DOT if len(rates) < 200 else LARGEST_DOT / 2.0
    dots = "".join(
        f'<circle cx="{pixels[node][0]:.0f}" cy="{pixels[node][1]:.0f}" '
        f'r="{max(1.0, largest * sqrt(rates[node] / most)):.1f}"{HOLLOW if node in hollow else ""}/>'
        for node in busiest
        if most > 0.0
    )
    return f'<g fill="{DEMAND_COLOUR}" fill-opacity="0.8">{dots}</g>'


def _stations(city: City, pixels: Pixels) -> str:
    """A square for each station with its units under the pointer, and its name where there is room for it."""
    stations = city.stations[:MOST_STATIONS]
    spots = [pixels[station.node_id] for station in stations]
    taken: list[Box] = [(x - 5.0, x + 5.0, y) for x, y in spots]
    drawn = []
    for station, (x, y) in zip(stations, spots, strict=True):
        name = station.name or station.station_id
        units = ", ".join(unit.unit_id for unit in city.units_at[station.station_id])
        units = units if city.has_roster and units else f"trucks: {station.trucks}"
        title = f"<title>{escaped(name)}: {escaped(units)}</title>"
        drawn.append(f'<rect x="{x - 5:.0f}" y="{y - 5:.0f}" width="10" height="10">{title}</rect>')
        wide = LETTER * min(len(name), MOST_LETTERS)
        for anchor, side, box in (("start", 8, (x + 8, x + 8 + wide, y)), ("end", -8, (x - 8 - wide, x - 8, y))):
            if box[0] >= 0.0 and box[1] <= WIDTH and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                place = f'x="{x + side:.0f}" y="{y + 4:.0f}" text-anchor="{anchor}"'
                drawn.append(f"<text {place}>{escaped(name, MOST_LETTERS)}</text>")
                break
    return f'<g fill="currentColor" font-family="sans-serif" font-size="13">{"".join(drawn)}</g>'


def _overlap(one: Box, other: Box) -> bool:
    """Whether two boxes as high as a line touch: each from left to right, and its middle from above."""
    return abs(one[2] - other[2]) < LINE and one[0] < other[1] and other[0] < one[1]
