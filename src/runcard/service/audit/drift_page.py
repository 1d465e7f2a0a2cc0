"""Drift as a page that stands on its own: a verdict, and for each standard a picture and a table.

The picture of a standard has its latest months, with the range that the model expects and what was met. It needs no
colour: a striped bar is the expected range, the line across it the prediction, a round dot what was met; a month that
warns has a square in place of the dot, larger, with the word "drift" at it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from runcard import __version__
from runcard.page import page_of
from runcard.plan.words import percent, round_percent
from runcard.service.audit.drift import DriftDocument, DriftRowDocument, by_standard

STEP: Final = 56
"""From month to month."""
LEFT, TOP, HIGH, BOTTOM = 62, 16, 150, 34
MOST_MONTHS: Final = 36
"""The latest months that a picture shows."""


def drift_page(drift: DriftDocument, *, title: str = "Audit log", made: datetime | None = None) -> str:
    """The page as HTML."""
    charts = [(rows[0].words, _chart(rows), rows) for rows in by_standard(drift.rows)]
    return page_of(
        "drift.html", drift=drift, charts=charts, title=title, luck=luck, version=__version__, left=LEFT,
        foot=TOP + HIGH, made="" if made is None else f"{made:%Y-%m-%d %H:%M %Z}",
    )  # fmt: skip


def luck(p_value: float) -> str:
    """How likely so large a difference is if the model is right, in a cell."""
    if p_value < 1e-6:
        return "under 1 in a million"
    return round_percent(p_value) if p_value >= 0.05 else f"1 in {float(f'{1.0 / p_value:.2g}'):,.0f}"


def _chart(of_standard: Sequence[DriftRowDocument]) -> Mapping[str, Any]:
    """The picture of one standard: its size, its words, the lines at tenths with their numbers, and its months."""
    rows = [row for row in of_standard if row.month is not None][-MOST_MONTHS:]
    lowest = min(min(row.low, row.met_fraction) for row in rows)
    highest = max(max(row.high, row.met_fraction) for row in rows)
    # The axis is in tenths, with some room.
    bottom = max(0, int(lowest * 10 - 0.2))
    tenths = max(bottom + 1, min(10, int(highest * 10 + 0.999) + (highest * 10 % 1 > 0.8))) - bottom

    def y(fraction: float) -> float:
        return round(TOP + HIGH * (bottom + tenths - 10 * fraction) / tenths, 1)

    months = []
    for number, row in enumerate(rows):
        low, high, met = y(row.low), y(row.high), y(row.met_fraction)
        beside = met - 12 if met - 24 > TOP and row.met_fraction >= row.predicted else met + 20
        months.append(
            {
                "row": row, "x": LEFT + STEP * (number + 0.5), "high": high, "tall": max(3.0, round(low - high, 1)),
                "predicted": y(row.predicted), "met": met, "beside": round(min(beside, TOP + HIGH - 2), 1),
            }
        )  # fmt: skip
    words = "; ".join(
        f"{row.when}: met {percent(row.met_fraction)}, predicted {percent(row.predicted)}"
        + (", drift" if row.warns else "")
        for row in rows
    )
    lines = range(bottom, bottom + tenths + 1, 1 if tenths <= 5 else 2)
    return {
        "label": f"{rows[0].words}. {words}", "width": LEFT + STEP * len(rows) + 12, "height": TOP + HIGH + BOTTOM,
        "grid": [(y(line / 10), f"{10 * line} %") for line in lines], "months": months,
    }  # fmt: skip
