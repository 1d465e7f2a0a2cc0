"""The table of a district in print, in the largest letters with which all its rows stand on one page.

With the cells of column c broken into at most n_c lines, the column is as wide as its widest cell needs, w_c(n_c) in
sizes of the letters, and row r has max_c l_cr(n_c) lines. On a page of width W and height H the letters are at most

    size(n) = min(W / Σ_c w_c(n_c), H / Σ_r (max_c l_cr(n_c) + some air)).

From n = 1 the column is broken further that leaves the largest letters, until nothing can be broken; the best n on the
way is taken, with less breaking before more. Where its letters are too small to be read, the table goes on on a further
page. A text breaks at its blanks only, not at the wide ones that hold a team together.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from reportlab.pdfbase.pdfmetrics import registerFont, registerFontFamily, stringWidth
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import Flowable, Table

from runcard.outputs.cards.print_rows import PrintCell, PrintRow
from runcard.page.picture import INK

POINTS: Final = 72.0
PAGE: Final = (11.69 * POINTS, 8.27 * POINTS)
"""A4 across; it and all that stands on it is in points."""
MARGIN: Final = 0.4 * POINTS
INSIDE: Final = PAGE[0] - 2 * MARGIN
LARGEST, SMALLEST = 10.0, 7.0
"""Letters of a table; smaller ones only where one word is too wide for the page."""
CONTINUED: Final = 8.0
"""Letters of a table that takes several pages, at most."""
MOST_LINES: Final = 4
"""Into which a cell is broken."""
WORTH: Final = 0.95
"""Letters that are smaller by so much are taken for one column less that is broken."""
BETWEEN, MOST_BETWEEN = 0.75, 2.5
"""Blank between columns, in sizes of the letters: the least, and the most where there is room."""
LINE, ROW = 1.06, 0.12
"""From one line of a row to the next, and what a row takes beside its lines, in sizes of the letters."""
BAND_COLOUR, RULE_COLOUR = "#EDEDED", "#8A8A8A"

Column = tuple[Sequence[tuple[str, ...]], float, NDArray[np.int64]]
"""The lines of each cell, the width that they need, and how many they are."""


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


class CellText(Flowable):  # type: ignore[misc, unused-ignore]
    """The lines of a cell, in letters of one size."""

    def __init__(self, lines: Sequence[str], bold: str, size: float) -> None:
        super().__init__()
        self.lines, self.bold, self.size = lines, bold, size

    def wrap(self, *_: float) -> tuple[float, float]:
        """Its width, which is that of its column, and its height."""
        return 0.0, LINE * self.size * len(self.lines)

    def draw(self) -> None:
        """Draw it."""
        self.canv.setFillColor(INK)
        for number, line in enumerate(self.lines):
            x, y = 0.0, self.size * (LINE * (len(self.lines) - number) - 0.88)
            first, blank, other = (line, "", "") if self.bold != "first" or number else line.partition(" ")
            bold = self.bold == "all" or (self.bold == "first" and number == 0)
            for text, is_bold in ((first + blank, bold), (other, False)):
                if text:
                    self.canv.setFont(font_name(bold=is_bold), self.size)
                    self.canv.drawString(x, y, text.replace("\u00a0", " "))
                    x += self.size * width_of(text, bold=is_bold)


def tables_of(headings: Sequence[str], rows: Sequence[PrintRow], heights: tuple[float, float]) -> list[Any]:
    """The table, as one for each page; `heights` are the room on the first page and on each further one."""
    areas = (PrintCell(row.area if row.starts_area else "", "" if row.number else "all") for row in rows)
    cells = [
        [PrintCell(heading, "all") for heading in headings],
        *([area, *row.cells] for area, row in zip(areas, rows, strict=True)),
    ]
    ways = [[_broken(column, most) for most in range(1, MOST_LINES + 1)] for column in zip(*cells, strict=True)]
    layouts = _layouts(ways, heights[0])
    sizes = [_size(layout, heights[0]) for layout in layouts]
    if max(sizes) >= SMALLEST:
        # Rows of one line are easier to follow: breaking one more column has to be worth it.
        best = max(range(len(sizes)), key=lambda n: (sizes[n] >= SMALLEST, min(LARGEST, sizes[n]) * WORTH**n))
        return [_table(cells, rows, layouts[best], min(LARGEST, sizes[best]), heights[0])]
    widest = [min(CONTINUED, _size(layout, np.inf)) for layout in layouts]
    readable = [n for n, size in enumerate(widest) if size >= min(SMALLEST, max(widest))]
    best = min(readable, key=lambda n: widest[n] * _lines(layouts[n]).sum())
    tables, room = [_table(cells, rows, layouts[best], widest[best])], heights[0]
    while sum(tables[-1]._rowHeights) > room and len(parts := tables[-1].split(INSIDE, room)) > 1:
        tables[-1:], room = parts, heights[1]
    return tables


def _broken(cells: Sequence[PrintCell], most: int) -> Column:
    """A column whose cells have at most so many lines, the heading up to two."""
    limits = [max(2, most), *[most] * (len(cells) - 1)]
    width = max(max(_parts(cell)) for cell in cells)
    width = max(width, *(width_of(text, bold=bool(bold)) / n for (text, bold), n in zip(cells, limits, strict=True)))
    while True:
        lines = [_lines_of(cell, width) for cell in cells]
        if all(len(own) <= limit for own, limit in zip(lines, limits, strict=True)):
            return lines, width, np.array([len(own) for own in lines])
        width *= 1.01


@lru_cache(maxsize=1 << 16)
def _parts(cell: PrintCell) -> tuple[float, ...]:
    """The widths of the words of a cell."""
    return tuple(
        width_of(word, bold=cell.bold == "all" or (cell.bold == "first" and n == 0))
        for n, word in enumerate(cell.text.split(" "))
    )


@lru_cache(maxsize=1 << 16)
def _lines_of(cell: PrintCell, width: float) -> tuple[str, ...]:
    """The lines of a cell in a column of some width."""
    lines, room, blank = list[str](), 0.0, width_of(" ")
    for word, wide in zip(cell.text.split(" "), _parts(cell), strict=True):
        if lines and wide + blank <= room + 1e-9:
            lines[-1] += f" {word}"
            room -= wide + blank
        else:
            lines.append(word)
            room = width - wide
    return tuple(lines)


def _layouts(ways: Sequence[Sequence[Column]], height: float) -> list[list[Column]]:
    """The layouts on the way from cells of one line to those of the most lines."""
    most = [0] * len(ways)
    layouts = [[columns[0] for columns in ways]]
    while any(n < MOST_LINES - 1 for n in most):
        tries = [[n + (c == at) for c, n in enumerate(most)] for at in range(len(ways)) if most[at] < MOST_LINES - 1]
        made = [[columns[n] for columns, n in zip(ways, numbers, strict=True)] for numbers in tries]
        best = max(range(len(made)), key=lambda n: (_size(made[n], height), _size(made[n], np.inf)))
        most = tries[best]
        layouts.append(made[best])
    return layouts


def _lines(layout: Sequence[Column]) -> NDArray[np.int64]:
    """The lines of the heading and of each row."""
    lines: NDArray[np.int64] = np.max([lines for _, _, lines in layout], axis=0)
    return lines


def _size(layout: Sequence[Column], height: float) -> float:
    """The largest letters with which the whole table fits the page and a height."""
    lines, width = _lines(layout), sum(width for _, width, _ in layout) + BETWEEN * len(layout)
    return float(min(INSIDE / width, height / (LINE * lines.sum() + ROW * (len(lines) + 3))))


def _table(
    cells: Sequence[Sequence[PrintCell]], rows: Sequence[PrintRow], layout: Sequence[Column], size: float,
    height: float = 0.0,
) -> Any:  # fmt: skip
    """The table in letters of a size, with some air where there is room."""
    tall = size * (LINE * _lines(layout) + ROW)
    tall[0] += 3 * ROW * size
    air = min(0.5 * size, max(0.0, height - tall.sum()) / len(rows))
    tall[1:] += air
    spare = INSIDE / size - sum(width for _, width, _ in layout)
    between = min(MOST_BETWEEN, spare / len(layout))
    texts = [
        [CellText(lines[row], cell.bold, size) for cell, (lines, _, _) in zip(cells[row], layout, strict=True)]
        for row in range(len(cells))
    ]
    starts = [*(n for n, row in enumerate(rows, start=1) if row.starts_area), len(cells)]
    bands = [("BACKGROUND", (0, n), (-1, n), BAND_COLOUR) for n, row in enumerate(rows, start=1) if row.number % 2]
    rules = [("LINEBELOW", (0, n), (-1, n), 0.7, RULE_COLOUR) for n in (0, "splitlast", -1)]
    whole = [("NOSPLIT", (0, a), (-1, b - 1)) for a, b in pairwise(starts) if b - a > 1]
    paddings = [(f"{side}PADDING", (0, 0), (-1, -1), 0.03 * POINTS * (side == "LEFT")) for side in _SIDES]
    style = [*bands, *rules, *whole, *paddings, ("VALIGN", (0, 0), (-1, -1), "TOP")]
    style += [("TOPPADDING", (0, 1), (-1, -1), (air + ROW * size) / 2)]
    widths = [size * (width + between) for _, width, _ in layout]
    widths[-1] += INSIDE - sum(widths)
    return Table(texts, widths, tall.tolist(), style=style, repeatRows=1)


_SIDES: Final = ("LEFT", "RIGHT", "TOP", "BOTTOM")
