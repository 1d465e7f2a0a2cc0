"""A policy on the map: which stations send trucks to each demand point when every truck is idle.

Two maps stand side by side, closest-first and the policy. A demand point is a disc with one sector for each truck sent,
in the colour of its station and turned towards it; the more incidents, the larger the disc. A ring marks where the
policy does not send the closest trucks. Bars beside the maps are the legend and the reason: the price of a truck of
each station, h(f-e_i) - h(f) with every truck idle, which is what taking it is expected to cost later: late
incidents, unless the city has another objective.
"""

from cmath import phase, rect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import degrees, inf, radians, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from runcard.city.check import OUTSIDE_ID
from runcard.city.model import City, Objective, Station
from runcard.errors import InputError, MissingExtraError
from runcard.mdp.evaluate import Evaluation
from runcard.outputs.files import write_whole
from runcard.outputs.words import percent
from runcard.policy.base import Policy
from runcard.policy.solve import evaluate, solve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Wedge

PALETTE: Final = (
    "#332288", "#DDCC77", "#117733", "#88CCEE", "#AA4499", "#999933", "#CC6677", "#44AA99", "#882255",
)  # fmt: skip
"""Paul Tol's muted colours: nine that can be told apart with any kind of colour vision."""

OUTSIDE_COLOUR: Final = "#BBBBBB"
ROAD_COLOUR: Final = "#D9DCE0"
INK: Final = "#1B2631"
MAP_INCHES: Final = 6.4
BARS_INCHES: Final = 3.2

STYLE: Final[dict[Any, Any]] = {"text.usetex": False, "text.parse_math": False, "svg.hashsalt": "runcard"}
"""Names are words, even with a $ in them, and the ids inside an SVG file are the same every time."""

METADATA: Final[Mapping[str, Mapping[str, Any]]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""What each format would say about when it was made and by what; left out, so that the same map is the same file."""

Teams = Mapping[str, tuple[str, ...]]
"""The team sent to each node."""


@dataclass(frozen=True)
class Canvas:
    """What both maps share. Places are complex numbers, x + iy."""

    city: City
    places: Mapping[str, complex]
    """By node."""
    stations: Mapping[str, complex]
    """By station."""
    colours: Mapping[str, str]
    """By station, and "outside"."""
    points: Mapping[str, int]
    """By node: its demand point, and of several the one with the most incidents."""
    radius: Mapping[str, float]
    """By node with a demand point."""


def draw_policy_map(
    city: City, policy: Policy, *paths: str | Path, results: Mapping[str, Evaluation] | None = None
) -> None:
    """Write the map of a policy beside closest-first to each path, as .png, .svg or .pdf.

    `results` holds the evaluations of policies by name; what is missing there is computed.
    """
    targets = [Path(path) for path in paths]
    for target in targets:
        picture_format(target, "a map")
    figure = policy_map(city, policy, results=results)
    for target in targets:
        write_picture(figure, target, "a map")


def picture_format(path: Path, noun: str) -> str:
    """The format that the name of a picture asks for; an InputError if there is none."""
    ending = path.suffix[1:].lower()
    if ending not in METADATA:
        raise InputError(f"{path}: expected {noun} to end in .{', .'.join(METADATA)}, got {path.suffix!r}")
    return ending


def write_picture(figure: "Figure", path: Path, noun: str) -> Path:
    """The file that now holds a figure, in the format of its name; the same figure is the same bytes."""
    import matplotlib

    content, ending = BytesIO(), picture_format(path, noun)
    with matplotlib.rc_context(STYLE):
        figure.savefig(content, format=ending, dpi=140, metadata=dict(METADATA[ending]))
    return write_whole(path, content.getvalue())


def policy_map(city: City, policy: Policy, *, results: Mapping[str, Evaluation] | None = None) -> "Figure":
    """The map of a policy beside closest-first, as a matplotlib figure."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError as error:
        raise MissingExtraError("the map", "matplotlib", "report") from error
    canvas = canvas_of(city)
    closest = solve(policy.problem, "closest-first")
    closest_teams, teams = _teams(canvas, closest), _teams(canvas, policy)
    differing = [node_id for node_id, team in teams.items() if team != closest_teams[node_id]]
    known = results or {}
    with matplotlib.rc_context(STYLE):
        layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1, wspace=0.0)
        figure = Figure(figsize=_size(canvas), layout=layout, facecolor="white")
        left, middle, right = figure.subplots(1, 3, width_ratios=[MAP_INCHES, MAP_INCHES, BARS_INCHES])
        _draw_map(left, canvas, closest_teams)
        _draw_map(middle, canvas, teams, ringed=differing)
        _draw_prices(right, canvas, policy)
        for axes, one in ((left, closest), (middle, policy)):
            _write_heading(axes, one.name, known.get(one.name) or evaluate(one))
        _write_title(figure, city.name, policy.name, len(differing), len(teams))
    return figure


def _write_title(figure: "Figure", city_name: str, policy_name: str, num_differing: int, num_nodes: int) -> None:
    """Write the title above the maps, and below them how they are read."""
    title = f"{city_name}: who is sent when every truck is idle"
    figure.suptitle(title, x=0.008, ha="left", fontsize=19, fontweight="bold", color=INK)
    caption = (
        "Each disc is a demand point, larger where there are more incidents; its sectors are the stations that send a "
        f"truck.\nRinged: the {num_differing} of {num_nodes} demand points where {policy_name} does not send the "
        "closest trucks."
    )
    figure.supxlabel(caption, x=0.008, ha="left", fontsize=11.5, color=INK, linespacing=1.5)


def canvas_of(city: City) -> Canvas:
    """The canvas of a city: where everything is, how large and in which colour."""
    places = {node.node_id: complex(node.x_coord, node.y_coord) for node in city.nodes}
    points: dict[str, int] = {}
    for number, point in enumerate(city.demand):
        before = points.get(point.node_id)
        if before is None or point.incidents_per_day > city.demand[before].incidents_per_day:
            points[point.node_id] = number
    stations = {station.station_id: places[station.node_id] for station in city.stations}
    colours = dict(zip(stations, colours_for(list(stations.values())), strict=True)) | {OUTSIDE_ID: OUTSIDE_COLOUR}
    rates = {node_id: city.demand[number].incidents_per_day for node_id, number in points.items()}
    return Canvas(city, places, stations, colours, points, _radii(city, places, rates))


def _radii(city: City, places: Mapping[str, complex], rates: Mapping[str, float]) -> dict[str, float]:
    """The radius of each disc: its area grows with the rate, within limits that keep it legible and off the others."""
    lengths = [abs(places[link.from_node_id] - places[link.to_node_id]) for link in city.links]
    spacing = float(np.quantile([length for length in lengths if length > 0.0] or [1.0], 0.25))
    high = float(np.quantile(list(rates.values()), 0.95)) or 1.0
    return {node_id: spacing * min(0.46, max(0.26, 0.46 * sqrt(rate / high))) for node_id, rate in rates.items()}


def colours_for(places: Sequence[complex]) -> list[str]:
    """A colour for each place; where there are more places than colours, those of one colour lie far apart."""
    chosen: list[str] = []
    for place in places:
        nearest = dict.fromkeys(PALETTE, inf)
        for other, colour in zip(places, chosen, strict=False):
            nearest[colour] = min(nearest[colour], abs(place - other))
        chosen.append(max(PALETTE, key=nearest.__getitem__))
    return chosen


def _size(canvas: Canvas) -> tuple[float, float]:
    """The width and height of the figure in inches: maps of a fixed width, as high as the city asks for."""
    places = np.array(list(canvas.places.values()))
    width, height = np.ptp(places.real), np.ptp(places.imag)
    shape = min(1.6, max(0.5, height / width)) if width > 0.0 else 1.0
    return 2 * MAP_INCHES + BARS_INCHES, MAP_INCHES * shape + 2.1


def _teams(canvas: Canvas, policy: Policy) -> Teams:
    """The teams that a policy sends with every truck idle."""
    idle = policy.problem.trucks
    return {node_id: policy.decide(idle, point).team for node_id, point in canvas.points.items()}


def _draw_map(axes: "Axes", canvas: Canvas, teams: Teams, ringed: Sequence[str] = ()) -> None:
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Circle

    ends = [(canvas.places[link.from_node_id], canvas.places[link.to_node_id]) for link in canvas.city.links]
    roads = [((start.real, start.imag), (end.real, end.imag)) for start, end in ends]
    axes.add_collection(LineCollection(roads, colors=ROAD_COLOUR, linewidths=3.5, capstyle="round", zorder=1))
    sectors = [sector for node_id, team in teams.items() for sector in sectors_of(canvas, node_id, team)]
    colours = [canvas.colours[station_id] for _, station_id in sectors]
    wedges = [wedge for wedge, _ in sectors]
    axes.add_collection(PatchCollection(wedges, facecolors=colours, edgecolors="white", linewidths=0.7, zorder=2))
    rings = [Circle(_point(canvas.places[node_id]), canvas.radius[node_id]) for node_id in ringed]
    axes.add_collection(PatchCollection(rings, facecolors="none", edgecolors=INK, linewidths=1.6, zorder=3))
    _draw_stations(axes, canvas)
    axes.set_aspect("equal", anchor="N")
    axes.margins(0.02)
    axes.autoscale_view()
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top + 0.06 * (top - bottom))  # for the name of a station at the very top
    axes.set_axis_off()


def sectors_of(canvas: Canvas, node_id: str, team: Sequence[str]) -> list[tuple["Wedge", str]]:
    """The sectors of a disc and their stations, one for each truck, each turned to its station as far as can be."""
    from matplotlib.patches import Wedge

    here, radius, size = canvas.places[node_id], canvas.radius[node_id], 360.0 / len(team)
    ways = [(canvas.stations.get(station_id, here) - here, station_id) for station_id in team]
    ways.sort(key=lambda pair: phase(pair[0]))
    # The middle of sector r is at the angle turn + r × size: this turn fits the directions of the stations best.
    turn = phase(sum(way / (abs(way) or 1.0) * rect(1.0, -radians(r * size)) for r, (way, _) in enumerate(ways)))
    first = degrees(turn) - size / 2.0
    return [
        (Wedge(_point(here), radius, first + r * size, first + (r + 1) * size), station_id)
        for r, (_, station_id) in enumerate(ways)
    ]


def _draw_stations(axes: "Axes", canvas: Canvas) -> None:
    """Draw a triangle and a name above the node of each station."""
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import ScaledTranslation

    above = axes.transData + ScaledTranslation(0.0, 8.0 / 72.0, axes.figure.dpi_scale_trans)
    for station in canvas.city.stations:
        place = canvas.stations[station.station_id]
        at = _point(place + 1j * canvas.radius.get(station.node_id, 0.0))
        colour = canvas.colours[station.station_id]
        axes.plot(*at, "^", ms=14, mfc=colour, mec="white", mew=1.8, transform=above, zorder=5)
        axes.annotate(
            _label(station), at, xytext=(0.0, 14.0), textcoords="offset points", ha="center", va="bottom", fontsize=9.5,
            fontweight="bold", color=INK, path_effects=[withStroke(linewidth=2.5, foreground="white")], zorder=6,
        )  # fmt: skip


def _draw_prices(axes: "Axes", canvas: Canvas, policy: Policy) -> None:
    """Draw a bar for the price of one truck of each station, the highest on top."""
    single_trucks = np.arange(1, policy.problem.num_stations + 1)
    times, unit = _price_unit(policy.problem.objective)
    prices = times * policy.prices(policy.problem.trucks, single_trucks)
    ranked = np.argsort(prices, kind="stable").tolist()
    stations = [canvas.city.stations[i] for i in ranked]
    colours = [canvas.colours[station.station_id] for station in stations]
    bars = axes.barh(range(len(ranked)), prices[ranked], color=colours, height=0.72)
    axes.set_yticks(range(len(ranked)), [_label(station) for station in stations])
    axes.bar_label(bars, fmt="%#.3g", padding=4, fontsize=11, color=INK)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=11, labelcolor=INK)
    axes.set_xticks([])
    axes.margins(x=0.2)
    _write_lines(axes, "Price of a truck", unit)


def _price_unit(objective: Objective) -> tuple[float, str]:
    """How many times the price a bar shows, and what that is."""
    match objective.minimise:
        case "late":
            return 100.0, "late incidents later, per\n100 times it is sent now"
        case "minutes":
            return 1.0, "extra response minutes later,\neach time it is sent now"
        case _:
            return 100.0, f"late incidents later, a minute of\nresponse as {objective.weight:g}, per 100 times sent"


def _write_heading(axes: "Axes", name: str, evaluation: Evaluation) -> None:
    minutes = evaluation.mean_response_minutes
    mean = "" if minutes is None else f"\nfirst truck after {minutes:.2f} min on average"
    per_day = f"{evaluation.late_per_day:#.3g} late incidents a day"
    _write_lines(axes, f"{name.capitalize()}: {percent(evaluation.late_fraction)} late", per_day + mean)


def _write_lines(axes: "Axes", bold: str, plain: str) -> None:
    """Write a bold line and plain ones above the axes."""
    height = 16.0 * (plain.count("\n") + 1)
    axes.set_title(bold, loc="left", fontsize=15, fontweight="bold", color=INK, pad=height + 8.0)
    axes.annotate(
        plain, (0.0, 1.0), xycoords="axes fraction", xytext=(0.0, 6.0), textcoords="offset points", ha="left",
        va="bottom", fontsize=11.5, color=INK, annotation_clip=False,
    )  # fmt: skip


def _point(place: complex) -> tuple[float, float]:
    return place.real, place.imag


def _label(station: Station) -> str:
    return station.name or station.station_id
