"""The curve of late fraction against mean response minutes: what each weight of a minute buys, and what it costs.

Each policy is a line through its points, one for each weight. Where `optimal` is among them, a region is shaded that no
policy can reach: with c(w) the proven lower bound of late + w minutes, every policy lies on or above each line

    late = c(w) - w minutes,

so that the shaded region is all that lies below one of them.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from runcard.assess.assessment import Assessment
from runcard.assess.outcome import Outcome
from runcard.outputs.weights import weight_of
from runcard.page.picture import LOOK, PALETTE, ROAD_COLOUR, check_picture_file, write_picture
from runcard.plan.words import certainty

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UNREACHED: Final = "#ECEEF1"
LINES: Final = tuple(zip((PALETTE[number] for number in (0, 6, 2, 4, 5, 1, 3)), "os^DvPX", strict=True))
"""A colour and a marker for each policy, in the order in which they were asked for."""

TOGETHER: Final = 0.025
"""Points of a line that are closer than this part of the picture share a label."""


def draw_curve(curves: Mapping[str, Assessment], path: Path) -> Path:
    """The file that now holds the curve of every policy, as .png, .svg or .pdf."""
    check_picture_file(path, "curve")
    return write_picture(weight_figure(curves), path)


def weight_figure(curves: Mapping[str, Assessment]) -> "Figure":
    """Late fraction against mean response minutes, as a matplotlib figure."""
    from matplotlib import style
    from matplotlib.figure import Figure

    city = next(iter(curves.values())).city
    with style.context(["default", LOOK | {"font.size": 11.0}]):
        figure = Figure(figsize=(9.0, 6.0), layout="constrained", facecolor="white")
        axes = figure.subplots()
        for (policy, points), (colour, marker) in zip(curves.items(), LINES, strict=False):
            minutes, late = _places(points).T
            axes.plot(
                minutes, late, color=colour, marker=marker, ms=7, mec="white", mew=1.0, lw=1.8, zorder=3,
                label=policy, clip_on=False,
            )  # fmt: skip
        axes.margins(0.1, 0.18)
        axes.autoscale_view()
        for (policy, points), (colour, _) in zip(curves.items(), LINES, strict=False):
            _write_weights(axes, points, colour, below=policy == "optimal")
        optimal = curves.get("optimal")
        if optimal:
            (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
            minutes = np.linspace(left, right, 801)
            lines = [100.0 * (point.cost.low - weight_of(point) * minutes) for point in optimal]
            axes.fill_between(minutes, bottom, np.max(lines, axis=0), color=UNREACHED, linewidth=0.0, zorder=1)
            axes.set(xlim=(left, right), ylim=(bottom, top))
        axes.grid(color=ROAD_COLOUR, linewidth=0.7, zorder=0)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
        axes.set(xlabel="mean response, minutes", ylabel="late incidents, %")
        title = f"{city.name}\nWhat a shorter mean response costs in late incidents"
        axes.set_title(title, loc="left", fontweight="bold", fontsize=13, pad=10)
        figure.legend(loc="outside right upper")
        words = "Numbers are weights: how many late incidents a minute of mean response counts as. 0 counts late only."
        if optimal:
            sure = certainty(optimal.proven)
            words += f"\nGrey: no policy that sends as many trucks as are asked for can be there; {sure}."
        figure.supxlabel(words, x=0.01, ha="left", fontsize=10)
    return figure


def _places(points: Iterable[Outcome]) -> NDArray[np.float64]:
    """[points, 2] mean response minutes and late incidents in percent."""
    return np.array([(point.first_minutes, 100.0 * point.missed.value) for point in points])


def _write_weights(axes: "Axes", points: Assessment, colour: str, *, below: bool) -> None:
    """Write the weight beside each point, and one range of weights where points lie together.

    Those of `optimal` stand below it, where no other line can be. They are slanted, so that long ones do not overlap.
    """
    offset, side = ((-4.0, -7.0), "right") if below else ((4.0, 7.0), "left")
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    at, weights = _places(points), [weight_of(point) for point in points]
    places = (at - (left, bottom)) / (right - left, top - bottom)
    first = 0
    for after in range(1, len(weights) + 1):
        if after < len(weights) and np.hypot(*(places[after] - places[first])) < TOGETHER:
            continue
        words = " to ".join(f"{weight:g}" for weight in dict.fromkeys((weights[first], weights[after - 1])))
        axes.annotate(
            words, at[first], xytext=offset, textcoords="offset points", ha=side, va="center", rotation=45.0,
            rotation_mode="anchor", fontsize=10, color=colour, zorder=4, annotation_clip=False,
        )  # fmt: skip
        first = after
