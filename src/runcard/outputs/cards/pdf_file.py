"""Run cards in print: a first page that says what a card is and what it is worth, and pages for each district.

A4 across. Lightness, bold and marks carry the meaning, so that black and white is enough. The same cards are the same
bytes: nothing says when they were printed.
"""

import textwrap
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from runcard.outputs.cards.about import MARK, RULE, about_lines, depth_cells, depth_headings, title_of
from runcard.outputs.cards.book import CardBook
from runcard.outputs.cards.depth import DepthTable
from runcard.outputs.cards.district_map import DistrictMaps
from runcard.outputs.cards.print_rows import (
    MOST_ALTERNATES,
    District,
    PrintRow,
    districts_of,
    headings_of,
    standard_lines,
)
from runcard.outputs.files import write_whole
from runcard.outputs.map import INK, METADATA, STYLE
from runcard.outputs.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE: Final = (11.69, 8.27)
"""A4 across, in inches."""
MARGIN: Final = 0.5
ROW: Final = 0.26
MAP_SIZE: Final = (4.6, 3.1)
BAND, RULE_COLOUR = "#EFEFEF", "#8A8A8A"
LARGEST, SMALLEST = 10.5, 6.0
"""Letters of a table, in points: smaller ones where a word is too long for its column."""
WIDTHS: Final = (1.85, 1.2, 0.65, 1.45, 1.0, 1.4)
"""Inches of the columns: area, incident, units, the first line, its chance, and the last; alternates share the rest."""


class _Page:
    """A page on which things are placed in inches from its upper left corner."""

    def __init__(self) -> None:
        from matplotlib.figure import Figure

        self.figure: Figure = Figure(figsize=PAGE, facecolor="white")

    def write(self, x: float, y: float, text: str, size: float, **looks: Any) -> None:
        """Write words below a place."""
        looks = {"va": "top", "color": INK, "linespacing": 1.3, "fontsize": size} | looks
        self.figure.text(x / PAGE[0], 1.0 - y / PAGE[1], text, looks)

    def band(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Fill a box whose upper left corner is given."""
        from matplotlib.patches import Rectangle

        corner = (x / PAGE[0], 1.0 - (y + height) / PAGE[1])
        box = Rectangle(corner, width / PAGE[0], height / PAGE[1], fc=colour, lw=0, transform=self.figure.transFigure)
        self.figure.add_artist(box)

    def rule(self, y: float, x: float = MARGIN, width: float = PAGE[0] - 2 * MARGIN) -> None:
        """Draw a thin line across."""
        self.band(x, y, width, 0.012, RULE_COLOUR)


def write_cards_pdf(book: CardBook, tables: Sequence[DepthTable], path: Path) -> Path:
    """The print of the cards; the book has its city."""
    import matplotlib
    from matplotlib.backends.backend_pdf import PdfPages

    content = BytesIO()
    with (
        matplotlib.rc_context(STYLE | {"hatch.linewidth": 0.6}),
        PdfPages(content, metadata=dict(METADATA["pdf"]) | {"Title": title_of(book)}) as pages,
    ):
        for page in pages_of(book, tables):
            pages.savefig(page)
    return write_whole(path, content.getvalue())


def pages_of(book: CardBook, tables: Sequence[DepthTable]) -> "list[Figure]":
    """The pages: the first one, and those of every district."""
    assert book.city is not None
    maps = DistrictMaps(book.city)
    found = [_first_page(book, tables)]
    for district in districts_of(book):
        found += _district_pages(book, district, maps)
    return found


def _first_page(book: CardBook, tables: Sequence[DepthTable]) -> "Figure":
    """What the cards are, how they are read, and what depth is worth."""
    page, half = _Page(), PAGE[0] / 2
    page.write(MARGIN, 0.45, title_of(book), _fitting(title_of(book), PAGE[0] - 2 * MARGIN, 24.0), fontweight="bold")
    y = _paragraphs(page, MARGIN, 1.15, half - MARGIN - 0.25, about_lines(book))
    standards = standard_lines(book)
    if y < 6.6:
        room = int((7.7 - y) / 0.19) - 2
        more = [f"and {len(standards) - room} more"] if len(standards) > room else []
        page.write(MARGIN, y + 0.08, "Standards, in the order of the chances on the cards", 10.5, fontweight="bold")
        page.write(MARGIN, y + 0.32, "\n".join([*standards[:room], *more]), 9.0)
    y = 1.15
    page.write(half, y, "What looking at which units are free is worth", 12.5, fontweight="bold")
    y += 0.35
    if not tables:
        page.write(half, y, textwrap.fill("Not measured: runcard cards --measure does it.", 70), 10.0)
    for table in tables:
        if y + 0.9 + 0.22 * len(table.rows) > PAGE[1] - MARGIN:
            page.write(half, y, "More kinds of units: see the workbook (.xlsx).", 9.5)
            break
        y = _depth_table(page, half, y, table)
    return page.figure


def _paragraphs(page: _Page, x: float, y: float, width: float, lines: Sequence[str]) -> float:
    """Write paragraphs below one another; where the next one would begin."""
    for line in lines:
        wrapped = textwrap.wrap(line, int(width * 13.6))
        page.write(x, y, "\n".join(wrapped), 10.0)
        y += 0.19 * len(wrapped) + 0.09
    return y


def _depth_table(page: _Page, x: float, y: float, table: DepthTable) -> float:
    """Write what cards of each depth keep; where the next thing would begin."""
    places = (0.0, 2.2, 3.45, 4.6)
    first, *rest = depth_headings(table)
    page.write(x, y, textwrap.fill(first, 34), 9.5, fontweight="bold")
    for place, heading in zip(places[1:], rest, strict=True):
        page.write(x + place, y, heading.replace(" per", "\nper").replace(", ", ",\n"), 9.0)
    y += 0.42
    page.rule(y - 0.04, x, PAGE[0] - MARGIN - x)
    for cells in depth_cells(table):
        for place, cell in zip(places, cells, strict=True):
            page.write(x + place, y, cell, _fitting(cell, places[1], 9.5))
        y += 0.21
    wrapped = textwrap.wrap(table.words, 78)
    page.write(x, y + 0.06, "\n".join(wrapped), 9.5, style="italic")
    return y + 0.19 * len(wrapped) + 0.3


def _district_pages(book: CardBook, district: District, maps: DistrictMaps) -> "list[Figure]":
    """The pages of a district: a map and the first rows, then the rest of them."""
    rows, found = list(district.rows), list["Figure"]()
    while rows or not found:
        page = _Page()
        top = _heading(page, book, district, continued=bool(found))
        if not found:
            _beside_map(page, book, district, maps, top)
            top += MAP_SIZE[1] + 0.12
        room = int((PAGE[1] - MARGIN - top - 0.3) / ROW)
        _table(page, book, rows[:room], top)
        rows = rows[room:]
        found.append(page.figure)
    for number, figure in enumerate(found, start=1):
        words = f"{district.station_id}, page {number} of {len(found)}. {MARK} and bold: not what closest-first sends."
        figure.text(MARGIN / PAGE[0], 0.25 / PAGE[1], words, fontsize=8.0, color=INK)
    return found


def _heading(page: _Page, book: CardBook, district: District, *, continued: bool) -> float:
    """Write the name of the district; where what is below begins."""
    assert book.city is not None
    names = {one.station_id: one.name for one in book.city.stations}
    name = names.get(district.station_id) or district.station_id
    words = f"District {name}" + (
        f" ({district.station_id})" if name.casefold() != district.station_id.casefold() else ""
    )
    words += f", {district.period}" if district.period else ""
    words += " (continued)" if continued else ""
    page.write(MARGIN, 0.4, words, _fitting(words, PAGE[0] - 2 * MARGIN, 20.0), fontweight="bold")
    if not continued:
        return 0.9
    page.write(MARGIN, 0.85, textwrap.fill(_how_to_read(book), 175), 8.5)
    return 1.45


def _how_to_read(book: CardBook) -> str:
    """What whoever holds only this page must know."""
    more = " Cards have more lines than are printed: see the .csv or .xlsx file." * (book.depth > 1 + MOST_ALTERNATES)
    return (
        f"{' '.join(RULE)} That order is on the right, units of one house with a slash between.{more} The chance is "
        "that of line 1 to meet each standard, in the order of the first page."
    )


def _beside_map(page: _Page, book: CardBook, district: District, maps: DistrictMaps, top: float) -> None:
    """Draw the map of the district, and write what is to be known of it beside."""
    maps.draw(page.figure, PAGE, (MARGIN, top), MAP_SIZE, district)
    x = MARGIN + MAP_SIZE[0] + 0.35
    departing = f"{district.num_departing:,} of {counted(district.num_cards, 'card')} with {MARK} on line 1"
    lines = [
        f"{counted(len(district.areas), 'area')}, numbered on the map and in the table",
        f"{district.incidents_per_year:,.0f} incidents a year" + (" in this period" if district.period else ""),
        departing,
    ]
    page.write(x, top + 0.05, "\n".join(lines), 11.5)
    page.write(x, top + 0.8, textwrap.fill(_how_to_read(book), 70), 10.0)
    page.write(x, top + 2.25, textwrap.fill(maps.legend, 68), 9.5)


def _table(page: _Page, book: CardBook, rows: Sequence[PrintRow], top: float) -> None:
    """Write the headings and some rows of the table."""
    headings = headings_of(book)
    alternates = len(headings) - len(WIDTHS)
    rest = PAGE[0] - 2 * MARGIN - sum(WIDTHS)
    widths = [*WIDTHS[:5], *[rest / alternates] * alternates, WIDTHS[5]] if alternates else list(WIDTHS)
    places = [MARGIN + sum(widths[:n]) for n in range(len(widths))]
    for place, width, heading in zip(places, widths, headings, strict=True):
        page.write(place + 0.04, top + 0.04, heading, _fitting(heading, width, 9.5), fontweight="bold")
    page.rule(top + 0.27)
    for number, row in enumerate(rows):
        y = top + 0.3 + ROW * number
        if row.number % 2:
            page.band(MARGIN, y, PAGE[0] - 2 * MARGIN, ROW, BAND)
        area = f"{row.number}  {row.area}" if row.starts_area or number == 0 else ""
        _cell(page, places[0], y, widths[0], area, bold=False)
        for place, width, cell in zip(places[1:], widths[1:], row.cells, strict=True):
            _cell(page, place, y, width, cell.text, bold=cell.bold)


def _cell(page: _Page, x: float, y: float, width: float, text: str, *, bold: bool) -> None:
    """Write a cell in one line, or in two of smaller letters where it is too long for one."""
    if not text:
        return
    size = _fitting(text, width / 1.12 if bold else width, LARGEST)
    if size < 8.0:
        text = "\n".join(textwrap.wrap(text, max(4, -(-len(text) // 2) + 3))[:2])
        size = max(SMALLEST, min(7.5, _fitting(max(text.split("\n"), key=len), width, LARGEST)))
        while len(text.split("\n")[0]) * 0.62 * size / 72.0 > 1.3 * width:
            text = "\n".join(f"{part[: int(0.75 * len(part))]}…" for part in text.split("\n"))
    looks = {"fontweight": "bold"} if bold else {}
    page.write(
        x + 0.04,
        y + ROW / 2,
        text,
        size,
        va="center_baseline" if "\n" not in text else "center",
        **(looks | {"linespacing": 1.0}),
    )


def _fitting(text: str, width: float, largest: float) -> float:
    """The size of letters, in points, with which text is as wide as its column, or the largest."""
    return min(largest, 72.0 * (width - 0.08) / (0.6 * max(1, len(text))))
