"""The pictures of a fit, each as one `<svg>` element to stand in a page."""

import warnings
from collections.abc import Callable
from itertools import cycle
from typing import TYPE_CHECKING, Final

import numpy as np

from runcard.calibrate.goodness import QUANTILES, Goodness
from runcard.errors import MissingExtraError
from runcard.page.picture import LOOK_IN_PAGE, svg_element

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = ("#1f77b4", "#d9822b", "#2e8b57", "#8e44ad", "#b03a2e", "#5b6672")
WIDTH_INCHES, HEIGHT_INCHES = 4.6, 4.0

CAPTIONS: Final = {
    "calibration": (
        "How often response times stayed below what the model says they stay below. On the diagonal the model is "
        "right; below it units take longer than it thinks."
    ),
    "quantiles": "Quantiles of response times, 2 to 98 %: what happened, and what the model draws for the same units.",
    "areas": "Mean response time of units in each area that has at least five: what happened, and what is predicted.",
    "counts": "Hours of the log by their number of incidents, and what a Poisson law with the fitted rates gives.",
    "busy": "Part of its time that each unit is busy: in the log, and under closest-first in the fitted city.",
    "late": (
        "Part of incidents that missed each standard, with 95 % intervals: in the log, and as the model predicts for "
        "the units that were really sent."
    ),
}
"""By picture: how it is read."""


def pictures(goodness: Goodness) -> dict[str, str]:
    """The pictures of a fit by name."""
    try:
        from matplotlib import style
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("the page of a fit", "matplotlib", "report") from error
    found = {}
    with style.context(["default", LOOK_IN_PAGE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the reader's browser has the letters that are missing here
        for name, draw in _DRAWINGS.items():
            figure = Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")
            if draw(figure.add_subplot(), goodness):
                found[name] = svg_element(figure, name=name, label=CAPTIONS[name])
    return found


def _diagonal(axes: "Axes", low: float, high: float) -> None:
    axes.plot([low, high], [low, high], color="#5b6672", linewidth=1.0, linestyle="--")
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)


def _labelled(axes: "Axes", across: str, up: str) -> bool:
    """True, for a picture that is drawn, once its axes have their names."""
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    return True


def _calibration(axes: "Axes", goodness: Goodness) -> bool:
    if not goodness.responses:
        return False
    levels = np.linspace(0.0, 1.0, 101)
    for one, colour in zip(goodness.responses, cycle(COLOURS), strict=False):
        happened = np.searchsorted(one.share_below, levels, side="right") / one.num
        axes.plot(100.0 * levels, 100.0 * happened, color=colour, label=f"{one.kind}, {one.num:,} responses")
    _diagonal(axes, 0.0, 100.0)
    axes.legend(loc="upper left")
    return _labelled(axes, "predicted to stay below, %", "stayed below, %")


def _quantiles(axes: "Axes", goodness: Goodness) -> bool:
    if not goodness.responses:
        return False
    high = 0.0
    for one, colour in zip(goodness.responses, cycle(COLOURS), strict=False):
        axes.plot(one.predicted, one.observed, "o", markersize=3.0, color=colour, label=one.kind)
        high = max(high, float(one.predicted.max()), float(one.observed.max()))
        middle = len(QUANTILES) // 2
        axes.plot(one.predicted[middle], one.observed[middle], "o", markersize=8.0, color=colour, alpha=0.4)
    _diagonal(axes, 0.0, 1.05 * max(high, 1.0))
    axes.legend(loc="upper left")
    return _labelled(axes, "predicted, minutes (large dot: the median)", "in the log, minutes")


def _areas(axes: "Axes", goodness: Goodness) -> bool:
    if not goodness.areas:
        return False
    predicted, observed = (np.array([getattr(one, of) for one in goodness.areas]) for of in ("predicted", "observed"))
    axes.scatter(
        predicted, observed, s=[2.0 + 30.0 * one.num / 100.0 for one in goodness.areas], color=COLOURS[0], alpha=0.5
    )
    _diagonal(axes, 0.0, 1.05 * float(max(predicted.max(), np.quantile(observed, 0.98))))
    return _labelled(axes, "predicted, minutes", "in the log, minutes")


def _counts(axes: "Axes", goodness: Goodness) -> bool:
    numbers = np.arange(len(goodness.counts.observed))
    axes.bar(numbers, goodness.counts.observed, color=COLOURS[0], alpha=0.6, label="in the log")
    axes.plot(numbers, goodness.counts.predicted, "o-", markersize=3.5, color=COLOURS[1], label="Poisson")
    axes.legend(loc="upper right")
    return _labelled(axes, "incidents in an hour", "hours")


def _busy(axes: "Axes", goodness: Goodness) -> bool:
    if not goodness.busy:
        return False
    high = 0.0
    for kind, colour in zip(dict.fromkeys(one.kind for one in goodness.busy), cycle(COLOURS), strict=False):
        own = [one for one in goodness.busy if one.kind == kind]
        predicted, observed = (np.array([100.0 * getattr(one, of) for one in own]) for of in ("predicted", "observed"))
        axes.plot(predicted, observed, "o", markersize=4.0, color=colour, alpha=0.7, label=kind)
        high = max(high, float(predicted.max()), float(observed.max()))
        worst = sorted(range(len(own)), key=lambda place: -abs(predicted[place] - observed[place]))[:4]
        for place in worst:
            axes.annotate(
                own[place].unit,
                (predicted[place], observed[place]),
                fontsize=7.5,
                xytext=(3, 3),
                textcoords="offset points",
            )
    _diagonal(axes, 0.0, 1.08 * max(high, 1.0))
    axes.legend(loc="upper left")
    return _labelled(axes, "predicted, % of the time", "in the log, % of the time")


def _late(axes: "Axes", goodness: Goodness) -> bool:
    if not goodness.late:
        return False
    places = np.arange(len(goodness.late))[::-1]
    for place, one in zip(places.tolist(), goodness.late, strict=True):
        axes.plot([100.0 * one.low, 100.0 * one.high], [place, place], color=COLOURS[0], linewidth=3.0, alpha=0.4)
    observed, predicted = ([100.0 * getattr(one, of) for one in goodness.late] for of in ("observed", "predicted"))
    axes.plot(observed, places, "o", color=COLOURS[0], label="in the log")
    axes.plot(predicted, places, "x", color=COLOURS[1], markeredgewidth=2.0, label="predicted")
    names = [f"{one.standard.type}\n{one.standard.kind} {one.standard.rule}" for one in goodness.late]
    axes.set_yticks(places.tolist(), names, fontsize=7.5)
    axes.set_xlim(left=0.0)
    axes.set_xlabel("missed, %")
    axes.legend(loc="best")
    return True


_DRAWINGS: Final[dict[str, Callable[["Axes", Goodness], bool]]] = {
    "calibration": _calibration,
    "quantiles": _quantiles,
    "areas": _areas,
    "counts": _counts,
    "busy": _busy,
    "late": _late,
}
