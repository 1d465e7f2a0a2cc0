"""The figures of the study, each as one `<svg>` element to stand in a page.

δ is the improvement over closest-first in percent (see `tables.py`). Cities without and with correlation have a colour
and a marker each, the same in every figure. The same rows give the same bytes: the ids inside an element come from its
content and the name of the experiment, and nothing says when it was drawn.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from runcard.city.conditions import OUTSIDE_ID
from runcard.errors import InputError, MissingExtraError
from runcard.mdp.from_city import dispatch_problem
from runcard.outputs.panels import Drawing, drawing_of
from runcard.page.picture import INK, LOOK_IN_PAGE, PALETTE, ROAD_COLOUR, shape_path, svg_element
from runcard.simulate.result import interval_of
from runcard.study.tables import HEADS, ExperimentResult, improvement, late_fractions
from runcard.study.tasks import city_of, solved

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES: Final = 9.0

POLICY_LOOKS: Final[Mapping[str, tuple[str, str]]] = {
    "closest-first": ("#777777", "x"),
    "optimal": (INK, "o"),
    "one-step": (PALETTE[2], "s"),
    "one-step-queueing-printed": (PALETTE[1], "P"),
    "one-step-queueing": (PALETTE[8], "D"),
    "one-step-mean-field": (PALETTE[3], "^"),
    "fixed-card": (PALETTE[5], "v"),
}
"""By policy: a colour and a marker."""

LOOK: Final[dict[Any, Any]] = LOOK_IN_PAGE | {
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
}

_CURVES: Final = (
    "Improvement δ over closest-first in percent against {}, each panel one random graph. Broad lines: OPT. Thin "
    "dashed lines: mean field, which is ours."
)
CAPTIONS: Final[Mapping[str, str]] = {
    "against-load": _CURVES.format("the load ρ"),
    "against-gamma": _CURVES.format("γ, the target as a part of the longest route"),
    "late": (
        "Late incidents under OPT in percent, means over random graphs with 95 % confidence intervals, each panel one "
        "number of trucks."
    ),
    "map": (
        "Each area lies around a demand point; its colour and its numbers are the team that OPT sends with every truck "
        "idle. Areas with a black edge are where the maps differ."
    ),
    "seconds": (
        "Seconds to find a policy on one thread, with its decision in every state. The scale is logarithmic: each line "
        "of the grid is ten times the one below."
    ),
}
"""By kind of figure: how it is read."""


def figure_svg(result: ExperimentResult) -> str:
    """The figure of an experiment as an `<svg>` element."""
    try:
        from matplotlib import style
    except ImportError as error:
        raise MissingExtraError("a figure of the study", "matplotlib", "report") from error
    experiment = result.experiment
    if experiment.kind not in _DRAWINGS:
        raise InputError(f"expected the result of a figure, got {experiment.name}, which is a table")
    with style.context(["default", LOOK]):
        return svg_element(_DRAWINGS[experiment.kind](result), name=experiment.name, label=experiment.title)


def look_of(shared_delay: float) -> tuple[str, str, str]:
    """What a shared delay is called, such as "with correlation", and its colour and marker."""
    known = {0.0: ("without correlation", PALETTE[0], "o"), 1.0: ("with correlation", PALETTE[6], "s")}
    return known.get(shared_delay, (f"shared delay {shared_delay:g}", PALETTE[4], "D"))


def _panels(num_panels: int, *, height: float, x: str = "", y: str = "") -> tuple["Figure", list["Axes"]]:
    """A figure of panels in rows of two that share their axes, and its panels; a row is `height` inches high."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = min(2, num_panels)
    rows = ceil(num_panels / columns)
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    figure = Figure(figsize=(WIDTH_INCHES, height * rows + 0.5), layout=layout)
    panels = list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    for unused in panels[num_panels:]:
        unused.remove()
    for column in range(columns):
        # Where the last row is not full, the panel above the gap has the labels.
        panels[column:num_panels:columns][-1].tick_params(labelbottom=True)
    if x:
        figure.supxlabel(x, fontsize=9.5)
        figure.supylabel(y, fontsize=9.5)
    return figure, panels[:num_panels]


def _legend(figure: "Figure", axes: "Axes") -> None:
    """Write the legend of all panels above them, from the lines of one."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2)


def _draw_curves(result: ExperimentResult) -> "Figure":
    """δ of each graph against the load or γ, a panel for each of the graphs that the experiment asks for."""
    experiment, rows = result.experiment, result.rows
    by_load = experiment.kind == "against-load"
    places = experiment.loads if by_load else experiment.gammas
    num_panels = min(experiment.graphs, result.num_graphs)
    figure, panels = _panels(num_panels, height=2.5, x="load ρ" if by_load else "γ", y="improvement δ (%)")
    for shared_delay, policy in product(experiment.shared_delays, experiment.policies):
        if policy == "closest-first":
            continue
        words, colour, marker = look_of(shared_delay)
        broad = {"color": (colour, 0.35), "lw": 3.2, "marker": marker, "ms": 4.0, "mfc": colour, "mec": colour}
        thin = {"color": colour, "lw": 1.0, "ls": "--", "zorder": 3}  # above the broad one, on which it often lies
        looks: dict[str, Any] = broad if policy == "optimal" else thin
        late = [
            [late_fractions(rows, setting, shared_delay, one) for setting in experiment.settings]
            for one in (policy, "closest-first")
        ]
        for panel, curve in zip(panels, improvement(*np.array(late)).T, strict=False):
            panel.plot(places, curve, label=f"{HEADS[policy]} {words}", **looks)
    for number, panel in enumerate(panels, start=1):
        panel.set_title(f"Graph {number}")
        if by_load:
            _plain_log(panel, "x")
    _legend(figure, panels[0])
    return figure


def _plain_log(axes: "Axes", which: str) -> None:
    """Make the x or y axis logarithmic, with numbers such as 0.01 instead of powers of ten."""
    from matplotlib.ticker import LogLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}scale": "log"})
    axis.set_major_locator(LogLocator(base=10.0, numticks=20))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def _draw_late(result: ExperimentResult) -> "Figure":
    """The late fraction of the optimal policy against the side, a panel for each number of trucks."""
    experiment = result.experiment
    labels = {"x": "side of the city (nodes)", "y": "late incidents under OPT (%)"}
    figure, panels = _panels(len(experiment.trucks), height=2.5, **labels)
    middle = (len(experiment.shared_delays) - 1) / 2.0
    for trucks, panel in zip(experiment.trucks, panels, strict=True):
        for number, shared_delay in enumerate(experiment.shared_delays):
            words, colour, marker = look_of(shared_delay)
            found = [
                interval_of(100.0 * late_fractions(result.rows, setting, shared_delay, "optimal"))
                for setting in experiment.settings
                if setting.trucks == trucks
            ]
            panel.errorbar(
                # Apart, so that one interval does not hide the other.
                [side + 0.1 * (number - middle) for side in experiment.sides], [one.value for one in found],
                # Of one graph nothing is known about the error.
                yerr=[one.half if isfinite(one.half) else 0.0 for one in found], color=colour, marker=marker, ms=4.5,
                lw=1.2, elinewidth=1.6, capsize=3, label=words.capitalize(),
            )  # fmt: skip
        panel.set(title=f"{trucks} trucks", xticks=experiment.sides, ylim=(0.0, None))
    _legend(figure, panels[0])
    return figure


def _draw_seconds(result: ExperimentResult) -> "Figure":
    """The seconds of each policy against what varies: the number of trucks, or that of demand points."""
    experiment, rows = result.experiment, result.rows
    by_trucks = len(experiment.trucks) > 1
    numbers = rows["trucks"] if by_trucks else rows["side"] ** 2
    places = np.unique(numbers)
    means = {
        policy: [float(np.mean(rows["seconds"][(rows["policy"] == policy) & (numbers == one)])) for one in places]
        for policy in experiment.policies
    }
    figure, (axes,) = _panels(1, height=4.2)
    # The slowest first, so that the legend has the order of the lines at their right end.
    for policy in sorted(means, key=lambda one: -means[one][-1]):
        colour, marker = POLICY_LOOKS[policy]
        axes.plot(places, means[policy], color=colour, marker=marker, ms=5, lw=1.5, label=HEADS[policy])
    _plain_log(axes, "y")
    axes.set(xticks=places, xlabel="trucks" if by_trucks else "demand points", ylabel="seconds")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")
    return figure


def _draw_map(result: ExperimentResult) -> "Figure":
    """The teams of the optimal policy with every truck idle, a map for each shared delay."""
    experiment, maps = result.experiment, []
    for shared_delay in experiment.shared_delays:
        city = city_of(experiment.settings[0], 0, shared_delay=shared_delay, seed=result.seed)
        ground = drawing_of(city)
        numbers = {station.station_id: str(i + 1) for i, station in enumerate(city.stations)} | {OUTSIDE_ID: "out"}
        policy = solved(dispatch_problem(city, minutes=False), "optimal")
        teams = [policy.decide(policy.problem.trucks, point).team for point in ground.points]
        maps.append([tuple(numbers[one] for one in team) for team in teams])
    differing = [len(set(teams)) > 1 for teams in zip(*maps, strict=True)]
    used = sorted({team for teams in maps for team in teams})
    colours = {"+".join(team): PALETTE[i % len(PALETTE)] for i, team in enumerate(used)}
    figure, panels = _panels(len(maps), height=4.6)
    for shared_delay, found, panel in zip(experiment.shared_delays, maps, panels, strict=True):
        _draw_cells(panel, ground, ["+".join(team) for team in found], colours, differing)
        _draw_stations(panel, ground)
        panel.set(title=look_of(shared_delay)[0].capitalize(), aspect="equal")
        panel.autoscale_view()
        panel.set_axis_off()
    _write_key(figure, colours, f"The maps differ here ({sum(differing)} of {len(differing)})")
    return figure


def _draw_cells(
    axes: "Axes", ground: Drawing, teams: Sequence[str], colours: Mapping[str, str], differing: Sequence[bool]
) -> None:
    """Draw the cell of each demand point with its team, and the links."""
    from matplotlib.collections import LineCollection
    from matplotlib.patches import PathPatch

    areas = ground.areas
    for shape, (x, y), team, differs in zip(areas.shapes, areas.middles, teams, differing, strict=True):
        edge: dict[str, Any] = {"ec": "black", "lw": 2.4} if differs else {"ec": "white", "lw": 0.7}
        axes.add_patch(PathPatch(shape_path(shape), fc=colours[team], zorder=2 if differs else 1, **edge))
        axes.text(
            x, y, team, ha="center", va="center_baseline", fontsize=7.5, color=_on(colours[team]), zorder=4,
        )  # fmt: skip
    axes.add_collection(LineCollection([*ground.roads], colors=ROAD_COLOUR, linewidths=0.6, alpha=0.5, zorder=3))


def _on(colour: str) -> str:
    """The colour of letters that can be read on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 140.0 else INK


def _draw_stations(axes: "Axes", ground: Drawing) -> None:
    """Draw a triangle with the number of each station north-east of its node, where no link of a grid is."""
    for i, (x, y) in enumerate(ground.stations + 0.28 * ground.areas.spacing):
        axes.plot(x, y, "^", ms=15, mfc=INK, mec="white", mew=1.0, zorder=5)
        axes.annotate(
            str(i + 1), (x, y), xytext=(0.0, -2.0), textcoords="offset points", ha="center", va="center_baseline",
            fontsize=8, fontweight="bold", color="white", zorder=6,
        )  # fmt: skip


def _write_key(figure: "Figure", colours: Mapping[str, str], differ: str) -> None:
    """Write the legend of the maps below them: the teams, the triangles and the black edges."""
    from matplotlib.lines import Line2D

    def mark(label: str, shape: str, **looks: Any) -> Line2D:
        return Line2D([], [], ls="none", marker=shape, ms=11, label=label, **looks)

    marks = [mark(team, "s", mfc=colour, mec="white") for team, colour in colours.items()]
    figure.legend(handles=marks, loc="outside lower left", ncols=6, title="Team", alignment="left", handletextpad=0.2)
    others = [mark("Station", "^", mfc=INK, mec="white"), mark(differ, "s", mfc="none", mec="black", mew=2.0)]
    figure.legend(handles=others, loc="outside lower right", alignment="left", handletextpad=0.2)


_DRAWINGS: Final[Mapping[str, Callable[[ExperimentResult], "Figure"]]] = {
    "against-load": _draw_curves,
    "against-gamma": _draw_curves,
    "late": _draw_late,
    "map": _draw_map,
    "seconds": _draw_seconds,
}
