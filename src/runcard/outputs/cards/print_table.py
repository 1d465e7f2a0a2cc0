"""The table of a district in print, in the largest letters with which all its rows stand on one page.

Where a column has to be narrower than its widest cell, wider cells become paragraphs. They break at their blanks, but
not at the wide ones that hold a team together. With columns of widths w_c and cells that take x_rc on one line, the
rows have about

    Σ_r max_c ⌈x_rc / w_c⌉

lines, and step by step that column becomes narrower that adds the fewest to them. Where letters would be too small to
be read, the table goes on on a further page.
"""

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.sax.saxutils import escape

import numpy as np
from reportlab.lib.colors import HexColor
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase.pdfmetrics import registerFont, registerFontFamily, stringWidth
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import LongTable, Paragraph

from runcard.mdp.arrays import Floats
from runcard.outputs.cards.print_rows import HOLD, PrintCell, PrintRow
from runcard.page.picture import INK

POINTS: Final = 72.0
PAGE: Final = (11.69 * POINTS, 8.27 * POINTS)
"""A4 across; it and all that stands on it is in points."""
MARGIN: Final = 0.4 * POINTS
INSIDE: Final = PAGE[0] - 2 * MARGIN
SIZES: Final = tuple(7.0 + 0.1 * step for step in range(31))
"""Letters of a table; smaller ones only where the words of a row are too wide for the page."""
CONTINUED: Final = 8.0
"""Letters of a table that takes several pages, at most."""
BETWEEN, MOST_BETWEEN = 0.75, 2.5
"""Blank between columns, in sizes of the letters: the least, and the most where there is room."""
LINE, HEADING, ROW, MOST_ROW = 1.06, 0.36, 0.12, 0.62
"""From one line of a row to the next, what is below the heading, and the air of each row, in sizes of the letters."""
RAISED: Final = 0.12
"""By how much letters stand higher than the library puts them, in sizes of the letters: in the middle of a row."""
STEP: Final = 0.5
"""By how much a column becomes narrower at once, in sizes of the letters."""
INK_COLOUR, BAND_COLOUR, RULE_COLOUR = map(HexColor, (INK, "#EDEDED", "#8A8A8A"))


@cache
def font_name(*, bold: bool = False, italic: bool = False) -> str:
    """The name of the font, which is registered with its letters: those of the maps, which have most alphabets."""
    from matplotlib import get_data_path

    family = {style: f"DejaVuSans{style}" for style in ("", "-Bold", "-Oblique", "-BoldOblique")}
    for name in family.values():
        registerFont(TTFont(name, Path(get_data_path()) / "fonts" / "ttf" / f"{name}.ttf"))
    registerFontFamily("DejaVuSans", *family.values())
    return family["-Bold" if bold else "-Oblique" if italic else ""]


@lru_cache(maxsize=1 << 16)
def width_of(text: str, *, bold: bool = False) -> float:
    """How wide a text is, in sizes of its letters."""
    return float(stringWidth(text, font_name(bold=bold), 1.0))


def fitting(text: str, width: float, largest: float) -> float:
    """The size of bold letters with which a text is no wider than some points, or the largest."""
    return min(largest, width / max(1e-9, width_of(text, bold=True)))


class TableLayout(NamedTuple):
    """How the table of a district can be laid out."""

    size: float
    """Of the letters."""
    widths: Floats
    """[column] In sizes of the letters, without the blank between columns."""
    num_lines: float
    """About how many lines the rows have."""

    @property
    def worth(self) -> float:
        """How readable it is: twice as many lines are worth letters that are √2 times as large."""
        return self.size**2 / self.num_lines


def tables_of(headings: Sequence[str], rows: Sequence[PrintRow], heights: tuple[float, float]) -> list[Any]:
    """The table, as one for each page; `heights` are the room on the first page and on each further one."""
    areas = (PrintCell(row.area if row.starts_area else "", "" if row.number else "all") for row in rows)
    cells = [
        [PrintCell(heading, "all") for heading in headings],
        *([area, *row.cells] for area, row in zip(areas, rows, strict=True)),
    ]
    best_first = sorted(_layouts(cells), key=lambda layout: layout.worth, reverse=True)
    for layout in best_first:
        lines = LINE * (layout.num_lines + 2.0) + HEADING  # the heading has two lines
        air = min(MOST_ROW, (heights[0] / layout.size - lines) / (len(rows) + 1.0))
        if air >= ROW:
            table = _table(cells, rows, layout, air)
            if table.wrap(INSIDE, heights[0])[1] <= heights[0]:
                return [table]
    layout = next(layout for layout in best_first if layout.size <= CONTINUED)
    tables, room = [_table(cells, rows, layout, ROW)], heights[0]
    while len(parts := tables[-1].split(INSIDE, room)) > 1:
        tables[-1:], room = parts, heights[1]
    return tables


def _layouts(cells: Sequence[Sequence[PrintCell]]) -> Iterator[TableLayout]:
    """Layouts with letters of every size with which each word is narrower than the page, the smallest ones first."""
    wide = np.array([[_widths(cell)[0] for cell in row] for row in cells[1:]])
    least: Floats = np.array([[_widths(cell)[1] for cell in row] for row in cells]).max(axis=0)

    def num_lines(widths: Floats) -> float:
        return float(np.ceil(wide / widths - 1e-9).max(axis=1).sum())

    widths: Floats = np.maximum(least, wide.max(axis=0))
    largest = INSIDE / (least.sum() + BETWEEN * len(least))
    for size in [size for size in SIZES if size <= largest] or [part * largest for part in (0.9, 1.0)]:
        room = max(least.sum(), INSIDE / size - BETWEEN * len(least))
        while (excess := widths.sum() - room) > 1e-9:
            narrower = np.maximum(least, widths - min(STEP, excess))
            tries = np.where(np.eye(len(widths), dtype=bool), narrower, widths)[narrower < widths]
            added = np.array([num_lines(tried) for tried in tries]) - num_lines(widths)
            widths = tries[np.argmin(added / (widths.sum() - tries.sum(axis=1)))]
        yield TableLayout(float(size), widths, num_lines(widths))


def _table(cells: Sequence[Sequence[PrintCell]], rows: Sequence[PrintRow], layout: TableLayout, air: float) -> Any:
    """The table in some layout, with some air in each row."""
    size, widths, _ = layout
    columns = size * (widths + min(MOST_BETWEEN, INSIDE / size / len(widths) - widths.mean()))
    columns[-1] += INSIDE - columns.sum()
    texts = [
        [
            _paragraph(cell, size) if cell.bold or _widths(cell)[0] > width + 1e-9 else cell.text.replace(HOLD, " ")
            for cell, width in zip(row, widths.tolist(), strict=True)
        ]
        for row in cells
    ]
    everywhere = (0, 0), (-1, -1)
    starts = [*(n for n, row in enumerate(rows, start=1) if row.starts_area), len(cells)]
    style = [
        ("FONT", *everywhere, font_name(), size, LINE * size),
        ("TEXTCOLOR", *everywhere, INK_COLOUR),
        ("VALIGN", *everywhere, "TOP"),
        ("LEFTPADDING", *everywhere, 0.03 * POINTS),
        ("RIGHTPADDING", *everywhere, 0),
        ("TOPPADDING", *everywhere, (air / 2 - RAISED) * size),
        ("BOTTOMPADDING", *everywhere, (air / 2 + RAISED) * size),
        ("BOTTOMPADDING", (0, 0), (-1, 0), HEADING * size),
        ("RIGHTPADDING", (0, 0), (-1, 0), BETWEEN * size / 2),
        *(("LINEBELOW", (0, row), (-1, row), 0.7, RULE_COLOUR) for row in (0, "splitlast", -1)),
        *(("BACKGROUND", (0, n), (-1, n), BAND_COLOUR) for n, row in enumerate(rows, start=1) if row.number % 2),
        *(("NOSPLIT", (0, first), (-1, end - 1)) for first, end in pairwise(starts) if end - first > 1),
    ]
    return LongTable(texts, columns.tolist(), style=style, repeatRows=1)


def _paragraph(cell: PrintCell, size: float) -> Paragraph:
    """The text of a cell, which breaks where its column is too narrow for it."""
    first, blank, other = cell.text.partition(" ")
    text = f"<b>{escape(first)}</b>{blank}{escape(other)}" if cell.bold == "first" else escape(cell.text)
    font = font_name(bold=cell.bold == "all")
    style = ParagraphStyle(
        "", fontName=font, fontSize=size, leading=LINE * size, textColor=INK_COLOUR, splitLongWords=0
    )
    return Paragraph(text, style)


@lru_cache(maxsize=1 << 16)
def _widths(cell: PrintCell) -> tuple[float, float]:
    """The width of a cell on one line, and that of its widest word."""
    first, *others = cell.text.split(" ")
    words = [width_of(first, bold=cell.bold != ""), *(width_of(word, bold=cell.bold == "all") for word in others)]
    return sum(words) + width_of(" ") * len(others), max(words)
