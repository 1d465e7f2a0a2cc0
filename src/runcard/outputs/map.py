"""Policies on the map: which stations send trucks to each area when every truck is idle (see `panels.py`).

The area of a demand node has the colour and the label of the station that its truck comes from. It is hatched
where closest-first sends another truck. Bars beside the maps are the legend and the reason: the price of a truck of
each station, h(f-e_i) - h(f) with every truck idle, which is what taking it is expected to cost later: late incidents,
unless the city has another objective.
"""

import textwrap
from collections.abc import Collection, Iterable, Sequence
from math import ceil, inf, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import shapely

from runcard.assess.auto import CLOSEST
from runcard.assess.plans import plans_for
from runcard.assess.policy_choice import best_policy, exact_seconds, policy_choices, worse_note
from runcard.assess.simulated import simulated_policies
from runcard.assess.steps import Steps
from runcard.city.model import City
from runcard.errors import InputError
from runcard.mdp.evaluate import Evaluation
from runcard.output_file import size_in_words
from runcard.outputs.areas import NOBODY
from runcard.outputs.panels import Drawing, Panel, area_colours, drawing_of, panels_of
from runcard.page.picture import INK, STYLE, check_picture_file, shape_path, write_picture
from runcard.plan.words import article, expected_one_of, misses
from runcard.policy.base import Policy
from runcard.policy.solve import evaluate
from runcard.policy.solve_options import SolveOptions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Box = tuple[float, float, float, float]
"""Left, bottom, right and top."""

MAPS_INCHES: Final = (16.0, 10.5)
MAPS_SQUARE_INCHES: Final = 86.0
"""What all maps together take at most: width and height, and area. A city of more than 16 stations gets more."""
TITLE_INCHES, HEADING_INCHES, CAPTION_INCHES, GAP_INCHES = 0.6, 0.8, 0.75, 0.25
NAME_INCHES, BAR_INCHES = 2.0, 1.3
ROW_INCHES: Final = (0.17, 0.4)
"""The smallest and the largest height of a bar with its name."""
COMPARED_INCIDENTS: Final = 20_000
"""Simulated to see whether a policy that nobody named is worse than closest-first."""
MOST_SECONDS: Final = 20.0
"""About that of 20 trucks and 400 demand points. A map of a larger city is not solved exactly unless somebody asks for
it."""


def draw_maps(
    city: City,
    path: Path,
    options: SolveOptions,
    steps: Steps,
    *,
    named: Sequence[str] | None = None,
    incident_type: str | None = None,
) -> list[str]:
    """The maps of every kind of a city, drawn to files, and what is to be said of each; of a type, if one is asked for.

    Where no policy is named, closest-first is drawn beside the best one that the size allows.
    """
    lines = []
    for kind in city.kinds:
        seen, file = city.of_kind(kind), path_of_kind(path, kind, len(city.kinds))
        if incident_type is not None and incident_type not in {standard.type for standard in seen.standards}:
            continue  # such incidents do not need this kind
        exact, note = exact_seconds(seen) <= MOST_SECONDS, ""
        names = named or [CLOSEST, best_policy(seen, exact=exact)]
        if named is None and not exact:
            shown, note = compared_policies(seen, names, options, steps)
        else:
            plans = plans_for(seen, policy_choices(names, options), options, steps, arrivals=exact)
            shown = [plan.fleets[0].policy for plan in plans.values()]
        steps.begin("evaluating the policies")
        results = [evaluate(policy, threads=options.threads) if exact else None for policy in shown]
        steps.begin("drawing the map")
        draw_map(seen, shown, file, results=results, incident_type=incident_type)
        of_kind = city.said(kind)
        if named is None and not exact:
            lines.append(
                f"{f'{of_kind}: to' if of_kind else 'To'} solve so many states exactly takes long, so "
                f"{shown[-1].name} is drawn instead of optimal; --policies closest-first,optimal solves them all the "
                "same, if they fit in memory."
            )
        if note:
            lines.append(f"{of_kind}: {note}" if of_kind else note)
        drawn = " and ".join(policy.name for policy in shown)
        lines.append(f"Wrote {file} ({size_in_words(file)}): {drawn}")
    if not lines:
        none = "it has no incident types"
        types = expected_one_of("type of incident", city.types, str(incident_type)) if city.types else none
        raise InputError(f"{city.name}: {types}")
    return lines


def compared_policies(
    city: City, names: Sequence[str], options: SolveOptions, steps: Steps
) -> tuple[list[Policy], str]:
    """Closest-first and a policy that nobody named, or closest-first alone and a note if that policy is worse."""
    first, name = names
    fleets, keeper = simulated_policies(
        city, [name, first], options, steps, incidents=COMPARED_INCIDENTS, like=city, arrivals=False
    )
    if keeper.is_worse(name, first, city.kinds[0]):
        return [fleets[first].policy], worse_note(name)
    return [fleets[first].policy, fleets[name].policy], ""


class Sheet:
    """Where everything stands on the paper, in inches from its lower left corner.

    It has the largest maps: of a row for each rank, all in one row, and all in one column.
    """

    def __init__(self, ground: Drawing, num_panels: int, num_policies: int) -> None:
        shown = shapely.total_bounds([*ground.areas.shapes, shapely.multipoints(ground.stations)])
        margin = 0.03 * float(max(shown[2:] - shown[:2]))
        self.frame: Box = tuple((shown + margin * np.array([-1.0, -1.0, 1.0, 1.0])).tolist())
        """What each map shows."""
        wide, high = self.frame[2] - self.frame[0], self.frame[3] - self.frame[1]
        more = max(1.0, (len(ground.stations) / 16.0) ** 0.25)
        plans = []
        for columns in (num_policies if num_policies > 1 else ceil(sqrt(num_panels)), num_panels, 1):
            rows = ceil(num_panels / columns)
            across, up = more * MAPS_INCHES[0] / columns - GAP_INCHES, more * MAPS_INCHES[1] / rows - HEADING_INCHES
            by_area = more * sqrt(MAPS_SQUARE_INCHES / (num_panels * wide * high))
            plans.append((min(across / wide, up / high, by_area), columns, rows))
        self.scale, columns, rows = max(plans, key=lambda sheet: sheet[0])
        """Inches on paper for 1 on the map, and maps beside and above one another."""
        self.map_size = self.scale * wide, self.scale * high
        self.heading_width = max(self.map_size[0], 2.7)
        wide, high = self.heading_width + GAP_INCHES, self.map_size[1] + HEADING_INCHES
        tall = max(rows * high, 4.0, HEADING_INCHES + ROW_INCHES[0] * len(ground.stations) / 4)
        top, table = CAPTION_INCHES + tall, GAP_INCHES + columns * wide
        self.maps = [(GAP_INCHES + k % columns * wide, top - (k // columns + 1) * high) for k in range(num_panels)]
        """By panel: the lower left corner of its map."""
        table_columns = ceil(len(ground.stations) * ROW_INCHES[0] / (tall - HEADING_INCHES))
        self.table = (table, top)
        """The upper left corner of the bars."""
        self.num_rows = ceil(len(ground.stations) / table_columns)
        """How many bars one column has."""
        self.row = min(ROW_INCHES[1], (tall - HEADING_INCHES) / self.num_rows)
        """The height of a bar with its name."""
        self.size = table + table_columns * (NAME_INCHES + BAR_INCHES + GAP_INCHES), top + TITLE_INCHES

    def axes(self, figure: "Figure", corner: tuple[float, float], size: tuple[float, float]) -> "Axes":
        """Axes of this size, with nothing on them."""
        (width, height), (x, y) = self.size, corner
        axes = figure.add_axes((x / width, y / height, size[0] / width, size[1] / height))
        axes.set_axis_off()
        return axes

    def write(self, figure: "Figure", x: float, y: float, words: str, size: float, **looks: Any) -> None:
        """Write words below a place."""
        looks = {"va": "top", "color": INK, "linespacing": 1.25, "fontsize": size} | looks
        figure.text(x / self.size[0], y / self.size[1], words, looks)

    def head(self, figure: "Figure", corner: tuple[float, float], bold: str, plain: str, width: float) -> None:
        """Write a bold line and plain ones below a place, within a width."""
        x, y = corner
        size = min(13.5, 100.0 * width / len(bold))
        self.write(figure, x, y - 0.18, bold, size, fontweight="bold", va="baseline")
        lines = [textwrap.fill(line, int(14.2 * width)) for line in plain.splitlines()]
        self.write(figure, x, y - 0.26, "\n".join(lines), 9.5)


def draw_map(
    city: City,
    policies: Sequence[Policy],
    *paths: str | Path,
    results: Sequence[Evaluation | None] = (),
    incident_type: str | None = None,
) -> None:
    """Write the maps of policies to each path, as .png, .svg or .pdf; `results` are their evaluations where known.

    The city has one kind of units.
    """
    for path in paths:
        check_picture_file(Path(path), "map")
    figure = map_figure(city, policies, results, incident_type)
    for path in paths:
        write_picture(figure, Path(path))


def path_of_kind(path: Path, kind: str, num_kinds: int) -> Path:
    """Where the map of a kind goes: to the path itself, or where there are several, one with the kind in its name."""
    return path if num_kinds == 1 else path.with_stem(f"{path.stem}-{kind}")


def map_figure(
    city: City,
    policies: Sequence[Policy],
    results: Sequence[Evaluation | None] = (),
    incident_type: str | None = None,
) -> "Figure":
    """The maps of policies, and the prices of the last of them, as a matplotlib figure."""
    import matplotlib
    from matplotlib.figure import Figure

    ground = drawing_of(city, incident_type)
    panels = panels_of(ground, policies, results)
    colours = area_colours(ground, panels)
    sheet = Sheet(ground, len(panels), len(policies))
    with matplotlib.rc_context(STYLE | {"hatch.linewidth": 0.6}):
        figure = Figure(figsize=sheet.size, facecolor="white")
        for panel, corner in zip(panels, sheet.maps, strict=True):
            axes = sheet.axes(figure, corner, sheet.map_size)
            _draw_areas(axes, ground, panel, colours, sheet)
            _draw_stations(axes, ground, panel, colours, sheet)
            above = (corner[0], corner[1] + sheet.map_size[1] + HEADING_INCHES)
            sheet.head(figure, above, panel.title, panel.words, sheet.heading_width)
        _draw_prices(figure, ground, policies[-1], colours, sheet)
        _write_words(figure, ground, panels, sheet)
    return figure


def _draw_areas(axes: "Axes", ground: Drawing, panel: Panel, colours: Sequence[str], sheet: Sheet) -> None:
    """Draw the ground of a map: cells, roads, borders, incidents, and where closest-first sends another truck."""
    from matplotlib.collections import PathCollection

    def lines(segments: Iterable[Any], colour: str, width: float, zorder: int) -> None:
        # One line with gaps instead of many lines: small files.
        broken = np.vstack([np.vstack([segment, [(np.nan, np.nan)]]) for segment in segments] or [np.empty((0, 2))])
        axes.plot(*broken.T, color=colour, lw=width, zorder=zorder, solid_capstyle="round")

    def borders(numbers: Sequence[int]) -> list[Any]:
        """The lines around areas together."""
        edges = shapely.get_parts(shapely.boundary(ground.areas.union(numbers)))
        return [shapely.get_coordinates(edge) for edge in edges]

    areas, owners = ground.areas, np.array(panel.owners)
    pitch = areas.spacing * sheet.scale * 72.0  # lines are thinner where areas are small
    axes.set(xlim=(sheet.frame[0], sheet.frame[2]), ylim=(sheet.frame[1], sheet.frame[3]))
    paths = [shape_path(shape) for shape in areas.shapes]
    filled = ["white" if owner == NOBODY else colours[owner] for owner in panel.owners]
    axes.add_collection(PathCollection(paths, fc=filled, ec="white", lw=min(0.35, 0.04 * pitch), zorder=1, gid="areas"))
    lines(ground.roads, "#7F889073", min(0.7, 0.045 * pitch), 2)
    of_owners = [borders(np.flatnonzero(owners == owner).tolist()) for owner in dict.fromkeys(panel.owners)]
    lines([line for of_owner in of_owners for line in of_owner], "white", min(1.5, 0.2 * pitch), 3)
    usual = np.quantile(ground.incidents_per_day, 0.95) or 1.0
    sizes = min(9.0, 0.35 * pitch) ** 2 * np.minimum(1.0, ground.incidents_per_day / usual)
    axes.scatter(areas.middles[:, 0], areas.middles[:, 1], s=sizes, c=INK, alpha=0.4, lw=0, zorder=4)
    marked = [paths[area] for area in panel.departing]
    axes.add_collection(
        PathCollection(marked, fc="none", ec=INK, alpha=0.5, lw=0, hatch="////", zorder=5, gid="departing")
    )
    lines(borders(panel.departing), INK, 1.2, 6)


def _draw_stations(axes: "Axes", ground: Drawing, panel: Panel, colours: Sequence[str], sheet: Sheet) -> None:
    """Draw a triangle for each station, and labels that do not hide one another: of stations, then of territories."""
    from matplotlib.patheffects import withStroke

    size = 8.5 if len(ground.stations) <= 20 else 6.5
    mark, point = size * (0.7 if panel.rank else 1.0), 1.0 / (72.0 * sheet.scale)
    stations, halo = ground.stations @ (1, 1j), [withStroke(linewidth=2.0, foreground="white", alpha=0.85)]
    axes.scatter(stations.real, stations.imag, s=mark**2, marker="^", c=colours[:-1], ec=INK, lw=0.8, zorder=7)
    taken, written = [box_around(place, mark * point, mark * point) for place in stations.tolist()], set[str]()

    def write(label: str, spots: Sequence[complex], size: float, weight: str) -> None:
        width, height = 0.66 * size * len(label) * point, 1.05 * size * point
        tried = [spot + step * height * 1j for step in (0.0, 0.7, -0.7) for spot in spots]
        spot = free_spot(tried, width, height, taken, sheet.frame)
        if spot is None and label in written:
            return  # of several, some may be left out
        spot = spots[0] if spot is None else spot
        taken.append(box_around(spot, width, height))
        written.add(label)
        axes.text(
            spot.real, spot.imag, label, fontsize=size, fontweight=weight, ha="center", va="center", color=INK,
            path_effects=halo, zorder=8,
        )  # fmt: skip

    for label, place in zip(ground.labels, stations.tolist(), strict=True) if panel.rank == 0 else ():
        across, up = (0.33 * size * len(label) + 0.6 * mark) * point, (0.5 * size + 0.7 * mark) * point
        steps = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))
        write(label, [place + complex(a * across, b * up) for a, b in steps], size, "bold")
    # The largest territory of each station first, and of these the smallest, where there are the fewest free spots.
    groups = ground.areas.territories(panel.owners)
    largest = {panel.owners[areas[0]]: areas for areas in reversed(groups)}
    for areas in sorted(groups, key=lambda group: len(group) if group is largest[panel.owners[group[0]]] else inf):
        owner, middles = panel.owners[areas[0]], (ground.areas.middles[areas] @ (1, 1j)).tolist()
        at_home = panel.rank == 0 and [i for i, area in enumerate(ground.home_areas) if area in areas] == [owner]
        if 0 <= owner < len(ground.labels) and not at_home:  # at home the label of the station says it
            centre = sum(middles) / len(middles)
            by_distance = sorted(middles, key=lambda middle: abs(middle - centre))
            write(ground.labels[owner], by_distance, (0.85 if len(areas) < 20 else 1.1) * size, "normal")


def free_spot(
    spots: Iterable[complex], width: float, height: float, taken: Collection[Box], frame: Box
) -> complex | None:
    """The first spot around which a label of this size is free of boxes that are taken and stays in the frame."""
    for spot in spots:
        left, bottom, right, top = box_around(spot, width, height)
        inside = left >= frame[0] and bottom >= frame[1] and right <= frame[2] and top <= frame[3]
        if inside and not any(left < x2 and right > x1 and bottom < y2 and top > y1 for x1, y1, x2, y2 in taken):
            return spot
    return None


def box_around(spot: complex, width: float, height: float) -> Box:
    """The box of this size with a spot, x + iy, in its middle."""
    return spot.real - width / 2, spot.imag - height / 2, spot.real + width / 2, spot.imag + height / 2


def _draw_prices(figure: "Figure", ground: Drawing, policy: Policy, colours: Sequence[str], sheet: Sheet) -> None:
    """Draw a bar for the price of one truck of each station, the highest on top, with its label and name."""
    objective = policy.problem.objective
    times = 1.0 if objective.minimise == "minutes" else 100.0
    unit = {
        "late": "late incidents later, per 100 times it is sent now",
        "minutes": "extra response minutes later, each time it is sent now",
    }.get(objective.minimise)
    unit = unit or f"late incidents later, a minute of response as {objective.weight:g}, per 100 times sent"
    unit = unit.replace("late incidents", misses(ground.city))
    prices = times * policy.prices(policy.problem.trucks, np.arange(1, policy.problem.num_stations + 1))
    least, most, size = min(0.0, prices.min()), max(0.0, prices.max()), 72.0 * min(0.13, 0.6 * sheet.row)
    left, top = sheet.table
    heading = f"Price of {article(ground.truck)} {ground.truck}"
    sheet.head(figure, sheet.table, heading, f"{policy.name}: {unit}", NAME_INCHES + BAR_INCHES)
    ranked = np.argsort(-prices, kind="stable").tolist()
    for first in range(0, len(ranked), sheet.num_rows):
        shown = ranked[first : first + sheet.num_rows]
        corner = (left + NAME_INCHES, top - HEADING_INCHES - sheet.row * len(shown))
        axes = sheet.axes(figure, corner, (BAR_INCHES, sheet.row * len(shown)))
        axes.set_xlim(least, least + 1.5 * ((most - least) or 1.0))
        axes.set_ylim(len(shown) - 0.5, -0.5)
        looks: dict[str, Any] = {"color": [colours[i] for i in shown], "ec": INK, "lw": 0.4, "height": 0.7}
        axes.bar_label(axes.barh(range(len(shown)), prices[shown], **looks), fmt="%#.3g", padding=3, fontsize=size)
        for row, i in enumerate(shown):
            name = ground.city.stations[i].name or ground.city.stations[i].station_id
            words = name if name == ground.labels[i] else f"{ground.labels[i]}  {name}"
            longest = int(72.0 * NAME_INCHES / (0.6 * size)) - 1
            words = words if len(words) <= longest else f"{words[: longest - 1]}…"
            y = top - HEADING_INCHES - (row + 0.5) * sheet.row
            sheet.write(figure, left, y, words, size, va="center")
        left += NAME_INCHES + BAR_INCHES + GAP_INCHES


def _write_words(figure: "Figure", ground: Drawing, panels: Sequence[Panel], sheet: Sheet) -> None:
    """Write the title, and below the maps how they are read."""
    width, height = sheet.size
    title = f"{ground.city.name}: who is sent when every {ground.truck} is idle"
    if ground.type:
        rules = ", ".join(standard.rule for standard in ground.city.standards if standard.type == ground.type)
        title += f", incidents of the type {ground.type} ({rules})"
    size = min(18.0, 100.0 * (width - 0.5) / len(title))
    sheet.write(figure, GAP_INCHES, height - 0.12, title, size, fontweight="bold")
    one = article(ground.truck)
    several_kinds = len(ground.city.demand) > len(ground.points)
    facts = {
        "Each area is what lies nearest to a demand point by driving time, "
        f"in the colour of the station that sends the {ground.truck}.": True,
        "Triangles are stations. A dot is larger where there are more incidents.": True,
        f"Hatched: closest-first sends another {ground.truck}.": any(panel.departing for panel in panels),
        f"Grey: {one} {ground.truck} from outside.": any(len(ground.stations) in panel.owners for panel in panels),
        f"White: no such {ground.truck} is needed{', or no such incident happens' if ground.type else ''}.": any(
            NOBODY in panel.owners for panel in panels
        ),
        "Of several kinds of incidents in one place the most frequent is shown.": several_kinds and not ground.type,
    }
    caption = textwrap.fill(" ".join(fact for fact, holds in facts.items() if holds), int(12.0 * (width - 0.5)))
    sheet.write(figure, GAP_INCHES, CAPTION_INCHES - 0.1, caption, 10.5)
