"""Drift as a picture: for each standard its months, with the range that the model expects and what was met.

The picture needs no colour: a striped bar is the expected range, the line across it the prediction, a round dot what
was met; a month that warns has a square in place of the dot, larger, with the word "drift" at it.
"""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Final

from runcard.plan.words import percent
from runcard.service.audit.drift import MONTHS, Drift, DriftRow

STEP: Final = 56
"""From month to month."""
LEFT, TOP, HIGH, BOTTOM = 62, 16, 150, 34
MOST_MONTHS: Final = 36
"""The latest months that a picture shows."""


def charts_of(drift: Drift) -> Iterator[tuple[str, str, list[DriftRow]]]:
    """The words of each standard, its picture as an `<svg>` element, and its rows."""
    for standard, of_standard in groupby(drift.rows, key=lambda row: row.standard):
        rows = list(of_standard)
        months = [row for row in rows if row.month is not None][-MOST_MONTHS:]
        yield standard.words, _chart(standard.words, months), rows


def _chart(title: str, rows: Sequence[DriftRow]) -> str:
    """One standard."""
    lowest = min(min(row.low, row.met_fraction) for row in rows)
    highest = max(max(row.high, row.met_fraction) for row in rows)
    bottom, top = _round_range(lowest, highest)
    width = LEFT + STEP * len(rows) + 12

    def y(fraction: float) -> float:
        return round(TOP + HIGH * (top - fraction) / (top - bottom), 1)

    parts = [_grid(bottom, top, width, y(bottom), y(top))]
    parts += [_month(row, LEFT + STEP * (number + 0.5), y) for number, row in enumerate(rows)]
    head = f'viewBox="0 0 {width} {TOP + HIGH + BOTTOM}" width="{width}" height="{TOP + HIGH + BOTTOM}"'
    said = "; ".join(
        f"{row.when}: met {percent(row.met_fraction)}, predicted {percent(row.predicted)}"
        + (", drift" if row.warns else "")
        for row in rows
    )
    label = escape(f"{title}. {said}", quote=True)
    return f'<svg class="drift" role="img" aria-label="{label}" {head}>{"".join(parts)}</svg>'


def _round_range(lowest: float, highest: float) -> tuple[float, float]:
    """The range of an axis, in tenths, with some room."""
    bottom = max(0, int(lowest * 10 - 0.2))
    top = min(10, int(highest * 10 + 0.999) + (highest * 10 % 1 > 0.8))
    return bottom / 10, max(bottom + 1, top) / 10


def _grid(bottom: float, top: float, width: int, y_bottom: float, y_top: float) -> str:
    """Lines at tenths, and their numbers."""
    count = round(10 * (top - bottom))
    lines = []
    for number in range(0, count + 1, 1 if count <= 5 else 2):
        at = round(y_bottom + (y_top - y_bottom) * number / count, 1)
        lines.append(f'<line class="grid" x1="{LEFT - 4}" x2="{width - 8}" y1="{at}" y2="{at}"/>')
        words = f"{round(100 * bottom + 10 * number)} %"
        lines.append(f'<text x="{LEFT - 10}" y="{at + 4}" text-anchor="end">{words}</text>')
    return "".join(lines)


def _month(row: DriftRow, x: float, y: Callable[[float], float]) -> str:
    """One month."""
    low, high, predicted, met = (y(one) for one in (row.low, row.high, row.predicted, row.met_fraction))
    tall = max(3.0, round(low - high, 1))
    year, month = (row.month or "-").split("-")
    dot = f'<circle class="met" cx="{x}" cy="{met}" r="4.5"/>'
    if row.warns:
        beside = met - 12 if met - 24 > TOP and row.met_fraction >= row.predicted else met + 20
        beside = min(beside, TOP + HIGH - 2)
        dot = (
            f'<rect class="met" x="{x - 7}" y="{round(met - 7, 1)}" width="14" height="14"/>'
            f'<text class="drift-word" x="{x}" y="{round(beside, 1)}" text-anchor="middle">drift</text>'
        )
    return (
        f"<g><title>{escape(row.words)}</title>"
        f'<rect class="expected" x="{x - 13}" y="{high}" width="26" height="{tall}"/>'
        f'<line class="predicted" x1="{x - 17}" x2="{x + 17}" y1="{predicted}" y2="{predicted}"/>{dot}'
        f'<text x="{x}" y="{TOP + HIGH + 16}" text-anchor="middle">{MONTHS[int(month) - 1][:3]}</text>'
        f'<text x="{x}" y="{TOP + HIGH + 29}" text-anchor="middle">{year}</text></g>'
    )
