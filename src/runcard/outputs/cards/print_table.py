"""How the table of a district is laid out: the largest letters with which all its rows stand on the page.

With the cells of column c broken into at most n_c lines, the column is as wide as its widest cell needs, w_c(n_c) in
sizes of the letters, and row r has max_c l_cr(n_c) lines. On a page of width W and height H the letters are at most

    size(n) = min(W / Σ_c w_c(n_c), H / Σ_r (max_c l_cr(n_c) + some air)).

From n = 1 the column is broken further that leaves the largest letters, until nothing can be broken; the best n on the
way is taken, with less breaking before more. Where its letters are too small to be read, the table goes on on a further
page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from runcard.outputs.cards.print_page import INSIDE, MARGIN, POINTS, FilledBox, PrintPage, Words, width_of
from runcard.outputs.cards.print_rows import HOLD, PrintRow

LARGEST, SMALLEST = 10.0, 7.0
"""Letters of a table, in points; smaller ones only where one word is too wide for the page."""
CONTINUED: Final = 8.0
"""Letters of a table that takes several pages, at most."""
MOST_LINES: Final = 4
"""Into which a cell is broken."""
WORTH: Final = 0.95
"""Letters that are smaller by so much are taken for one column less that is broken."""
BETWEEN: Final = 0.75
"""Blank between columns, in sizes of the letters."""
LINE, ROW = 1.06, 0.12
"""From one line of a row to the next, and what a row takes beside its lines, in sizes of the letters."""
BAND_COLOUR: Final = "#EDEDED"


Bold = Literal["", "first", "all"]
"""Which words of a text are bold."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TableLayout:
    """The columns of a table, each with a width."""

    texts: tuple[tuple[tuple[str, Bold], ...], ...]
    """By column, the heading and the cells, and what is bold."""
    widths: tuple[float, ...]
    """Of the columns, without what is between them, in sizes of the letters."""
    lines: NDArray[np.int64]
    """Of the heading and of each row."""

    @property
    def width(self) -> float:
        """In sizes of the letters."""
        return sum(self.widths) + BETWEEN * (len(self.widths) - 1)

    @property
    def heading_height(self) -> float:
        """In sizes of the letters."""
        return LINE * float(self.lines[0]) + 4 * ROW

    def height_of(self, row: int) -> float:
        """The height of a row, in sizes of the letters."""
        return LINE * float(self.lines[row + 1]) + ROW

    @property
    def height(self) -> float:
        """Of the heading and all rows, in sizes of the letters."""
        return LINE * float(self.lines.sum()) + ROW * (len(self.lines) + 3)

    def size(self, width: float, height: float) -> float:
        """The largest letters, in points, with which the whole table fits a place in inches."""
        return POINTS * min(width / self.width, height / self.height)

    def cell(self, column: int, row: int) -> tuple[tuple[str, Bold], ...]:
        """The lines of a cell, the heading as row -1, and what is bold in each."""
        text, bold = self.texts[column][row + 1]
        lines = _broken(text, bold, self.widths[column])
        return tuple((line, bold if number == 0 or bold == "all" else "") for number, line in enumerate(lines))


@dataclass(frozen=True, eq=False, kw_only=True)
class PagedTable:
    """A table that is laid out, with the rows of each page."""

    layout: TableLayout
    size: float
    """Of the letters, in points."""
    pages: tuple[range, ...]


def laid_out(headings: Sequence[str], rows: Sequence[PrintRow], heights: tuple[float, float]) -> PagedTable:
    """The table with the largest letters; `heights` are the inches of the first page and of each further one."""
    layouts = _layouts(_columns(headings, rows), heights[0])
    sizes = [min(LARGEST, one.size(INSIDE, heights[0])) for one in layouts]
    if max(sizes) >= SMALLEST:
        # Rows of one line are easier to follow: breaking one more column has to be worth it.
        best = max(range(len(sizes)), key=lambda n: (sizes[n] >= SMALLEST, sizes[n] * WORTH**n))
        return PagedTable(layout=layouts[best], size=sizes[best], pages=(range(len(rows)),))
    widest = max(one.size(INSIDE, np.inf) for one in layouts)
    readable = [one for one in layouts if one.size(INSIDE, np.inf) >= min(SMALLEST, widest)]
    shortest = min(readable, key=lambda one: one.height * min(CONTINUED, one.size(INSIDE, np.inf)))
    return _paged(shortest, min(CONTINUED, shortest.size(INSIDE, np.inf)), rows, heights)


def _columns(headings: Sequence[str], rows: Sequence[PrintRow]) -> tuple[tuple[tuple[str, Bold], ...], ...]:
    """By column, the heading and the cells."""
    areas: list[tuple[str, Bold]] = [(row.area if row.starts_area else "", "" if row.number else "all") for row in rows]
    found: list[tuple[tuple[str, Bold], ...]] = [((headings[0], "all"), *areas)]
    for number, heading in enumerate(headings[1:]):
        cells = (row.cells[number] for row in rows)
        own: list[tuple[str, Bold]] = [(cell.text, "first" if cell.bold else "") for cell in cells]
        found.append(((heading, "all"), *own))
    return tuple(found)


def _layouts(texts: tuple[tuple[tuple[str, Bold], ...], ...], height: float) -> list[TableLayout]:
    """The layouts on the way from cells of one line to those of the most lines."""
    columns = range(len(texts))
    widths = [
        [max(_least_width(text, bold, most if row else max(2, most)) for row, (text, bold) in enumerate(texts[c]))
         for most in range(1, MOST_LINES + 1)]
        for c in columns
    ]  # fmt: skip
    lines = [
        [np.array([len(_broken(text, bold, width)) for text, bold in texts[c]]) for width in widths[c]] for c in columns
    ]

    def layout(most: Sequence[int]) -> TableLayout:
        return TableLayout(
            texts=texts,
            widths=tuple(widths[c][most[c]] for c in columns),
            lines=np.max([lines[c][most[c]] for c in columns], axis=0),
        )

    most = [0] * len(texts)
    found = [layout(most)]
    while any(one < MOST_LINES - 1 for one in most):
        tries = [[one + (c == at) for c, one in enumerate(most)] for at in columns if most[at] < MOST_LINES - 1]
        made = [layout(one) for one in tries]
        best = max(range(len(made)), key=lambda n: (made[n].size(INSIDE, height), made[n].size(INSIDE, np.inf)))
        most = tries[best]
        found.append(made[best])
    return found


def _paged(layout: TableLayout, size: float, rows: Sequence[PrintRow], heights: tuple[float, float]) -> PagedTable:
    """The table over several pages; an area is not torn apart where it fits on the next page."""
    pages, begin = list[range](), 0
    while begin < len(rows):
        room = POINTS * heights[bool(pages)] / size - layout.heading_height
        end = begin
        while end < len(rows) and layout.height_of(end) <= room:
            room -= layout.height_of(end)
            end += 1
        whole = end
        while end < len(rows) and whole > begin and not rows[whole].starts_area:
            whole -= 1
        end = max(whole if whole > begin else end, begin + 1)
        pages.append(range(begin, end))
        begin = end
    return PagedTable(layout=layout, size=size, pages=tuple(pages))


@lru_cache(maxsize=1 << 16)
def _pieces(text: str, bold: Bold) -> tuple[tuple[str, float], ...]:
    """The parts of a text between its blanks, with their widths."""
    return tuple((part, width_of(part, bold=_is_bold(bold, number))) for number, part in enumerate(text.split(" ")))


def _is_bold(bold: Bold, number: int) -> bool:
    return bold == "all" or (bold == "first" and number == 0)


@lru_cache(maxsize=1 << 16)
def _least_width(text: str, bold: Bold, most: int) -> float:
    """The least width at which a text takes at most so many lines."""
    widths, blank = [width for _, width in _pieces(text, bold)], width_of(" ")
    best = [sum(widths[n:]) + blank * (len(widths) - n - 1) for n in range(len(widths))]
    for _ in range(most - 1):
        fewer = best
        best = []
        for begin in range(len(widths)):
            least, width = fewer[begin], -blank
            for end in range(begin, len(widths) - 1):
                width += blank + widths[end]
                if width >= least:
                    break
                least = min(least, max(width, fewer[end + 1]))
            best.append(least)
    return best[0]


@lru_cache(maxsize=1 << 16)
def _broken(text: str, bold: Bold, width: float) -> tuple[str, ...]:
    """The lines of a text in a column of some width."""
    lines, room, blank = list[str](), 0.0, width_of(" ")
    for part, wide in _pieces(text, bold):
        if lines and wide + blank <= room + 1e-9:
            lines[-1] += f" {part}"
            room -= wide + blank
        else:
            lines.append(part)
            room = width - wide
    return tuple(lines)


def draw_table(
    page: PrintPage, table: PagedTable, number: int, rows: Sequence[PrintRow], top: float, height: float
) -> None:
    """Draw the headings and the rows of a page of a table below `top`, with some air where there is room."""
    layout, inch = table.layout, table.size / POINTS
    spare = (INSIDE - 0.06) / inch - sum(layout.widths)
    between = min(2.5, spare / (len(layout.widths) - 1))
    places = [MARGIN + 0.03 + inch * (sum(layout.widths[:n]) + between * n) for n in range(len(layout.widths))]
    shown = table.pages[number]
    taken = inch * (layout.heading_height + sum(layout.height_of(row) for row in shown))
    air = min(0.5 * inch, max(0.0, height - taken) / max(1, len(shown)))
    for column, place in enumerate(places):
        _write(page, place, top, layout.cell(column, -1), table.size)
    y = top + inch * layout.heading_height
    page.rule(y - 1.5 * ROW * inch)
    for row in shown:
        tall = inch * layout.height_of(row) + air
        if rows[row].number % 2:
            page.bands.append(FilledBox(x=MARGIN, y=y, width=INSIDE, height=tall, colour=BAND_COLOUR))
        for column, place in enumerate(places):
            _write(page, place, y + air / 2, layout.cell(column, row), table.size)
        if row == shown[0] and not rows[row].starts_area:
            again = _broken(rows[row].area, "", layout.widths[0])
            _write(page, places[0], y + air / 2, [(line, "") for line in again], table.size)
        y += tall
    page.rule(y)


def _write(page: PrintPage, x: float, y: float, lines: Sequence[tuple[str, Bold]], size: float) -> None:
    """Write the lines of a cell."""
    for number, (line, bold) in enumerate(lines):
        at = y + (LINE * number + 0.88) * size / POINTS
        first, _, rest = (line, "", "") if bold != "first" else line.partition(" ")
        if first:
            page.words.append(Words(x=x, y=at, text=first.replace(HOLD, " "), size=size, bold=bold != ""))
        if rest:
            after = x + (width_of(first, bold=True) + width_of(" ")) * size / POINTS
            page.words.append(Words(x=after, y=at, text=rest.replace(HOLD, " "), size=size))
