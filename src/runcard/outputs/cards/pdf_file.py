"""Run cards in print: a first page that says what a card is and what it is worth, and a page for each district.

A4 across. Lightness, bold and marks carry the meaning, so that black and white is enough. The same cards are the same
bytes: nothing says when they were printed.
"""

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Final

from runcard.errors import MissingExtraError
from runcard.output_file import write_whole
from runcard.outputs.cards.about import MARK, RULE, about_lines, depth_cells, depth_headings, title_of
from runcard.outputs.cards.book import CardBook
from runcard.outputs.cards.depth import DepthTable
from runcard.outputs.cards.district_map import DistrictMaps
from runcard.outputs.cards.print_page import INSIDE, MARGIN, PAGE, POINTS, PrintPage, fitting
from runcard.outputs.cards.print_rows import (
    MOST_ALTERNATES,
    SHOWN_IN_ORDER,
    District,
    districts_of,
    headings_of,
    standard_lines,
)
from runcard.outputs.cards.print_table import LARGEST, PagedTable, draw_table, laid_out
from runcard.plan.words import counted

TOP: Final = 0.3
BOTTOM: Final = 0.36
"""Below the table: the foot of the page."""
MAP_WIDTH: Final = 4.2
MAP_HEIGHTS: Final = (1.9, 3.1)
"""Of the map of a district: the smallest, and the largest where there is room."""
HEADING: Final = 0.85
"""Of the further pages of a district."""


def check_print_library() -> None:
    """Raise an error that says how to get the library that prints, if it is not there."""
    try:
        import reportlab  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("the print of run cards", "reportlab", "report") from error


def write_cards_pdf(book: CardBook, tables: Sequence[DepthTable], path: Path) -> Path:
    """The print of the cards; the book has its city."""
    from reportlab.pdfgen.canvas import Canvas

    content = BytesIO()
    size = (POINTS * PAGE[0], POINTS * PAGE[1])
    canvas = Canvas(content, pagesize=size, pageCompression=1, invariant=1)
    canvas.setDateFormatter(lambda *_: "")
    canvas.setTitle(title_of(book))
    canvas.setAuthor("runcard")
    canvas.setCreator("runcard")
    canvas.setSubject("run cards")
    for page in pages_of(book, tables):
        page.draw(canvas)
    canvas.save()
    return write_whole(path, content.getvalue())


def pages_of(book: CardBook, tables: Sequence[DepthTable]) -> Iterator[PrintPage]:
    """The pages: the first one, and those of every district."""
    assert book.city is not None
    maps = DistrictMaps(book.city)
    yield _first_page(book, tables)
    for district in districts_of(book):
        yield from _district_pages(book, district, maps)


def _first_page(book: CardBook, tables: Sequence[DepthTable]) -> PrintPage:
    """What the cards are, how they are read, and what depth is worth."""
    page, half = PrintPage(), PAGE[0] / 2
    page.write(MARGIN, TOP, title_of(book), fitting(title_of(book), INSIDE, 22.0), bold=True)
    y = 0.95
    for line in about_lines(book):
        y = page.fill(MARGIN, y, half - MARGIN - 0.25, line, 9.5) + 0.08
    standards = standard_lines(book)
    if y < 7.0:
        y = page.write(MARGIN, y + 0.06, "Standards, in the order of the chances on the cards", 10.0, bold=True) + 0.03
        room = int((PAGE[1] - MARGIN - y) / 0.16)
        more = [f"and {len(standards) - room + 1} more"] if len(standards) > room else []
        page.write(MARGIN, y, "\n".join([*standards[: room - 1 if more else room], *more]), 8.5)
    y = page.write(half, 0.95, "What looking at which units are free is worth", 12.0, bold=True) + 0.1
    if not tables:
        page.fill(half, y, half - MARGIN, "Not measured: runcard cards --measure does it.", 10.0)
    for table in tables:
        if y + 1.1 + 0.2 * len(table.rows) > PAGE[1] - MARGIN:
            page.write(half, y, "More kinds of units: see the workbook (.xlsx).", 9.5)
            break
        y = _depth_table(page, half, y, table)
    return page


def _depth_table(page: PrintPage, x: float, y: float, table: DepthTable) -> float:
    """Write what cards of each depth keep; where the next thing would begin."""
    places = (0.0, 2.3, 3.5, 4.65)
    first, *rest = depth_headings(table)
    page.fill(x, y, places[1], first, 9.0, bold=True)
    for place, heading in zip(places[1:], rest, strict=True):
        page.write(x + place, y, heading.replace(" per", "\nper").replace(", ", ",\n"), 8.5)
    y += 0.4
    page.rule(y - 0.04, x, PAGE[0] - MARGIN - x)
    for cells in depth_cells(table):
        for place, cell in zip(places, cells, strict=True):
            page.write(x + place, y, cell, fitting(cell, 2.2, 9.0))
        y += 0.19
    return page.fill(x, y + 0.06, PAGE[0] - MARGIN - x, table.words, 9.0, italic=True) + 0.2


def _district_pages(book: CardBook, district: District, maps: DistrictMaps) -> Iterator[PrintPage]:
    """The page of a district: a map, and its table; further pages only where letters would be too small to read."""
    room = PAGE[1] - BOTTOM - TOP
    heights = (room - MAP_HEIGHTS[0] - 0.1, room - HEADING)
    table = laid_out(headings_of(book), district.rows, heights)
    for number in range(len(table.pages)):
        page = PrintPage()
        if number == 0:
            top = TOP + 0.1 + _top_of_district(page, book, district, maps, table)
        else:
            page.write(MARGIN, TOP, f"{_title(book, district)} (continued)", 14.0, bold=True)
            page.fill(MARGIN, TOP + 0.3, INSIDE, _rule(book), 7.6)
            top = TOP + HEADING
        draw_table(page, table, number, district.rows, top, PAGE[1] - BOTTOM - top)
        whole = f", page {number + 1} of {len(table.pages)}" if len(table.pages) > 1 else ""
        page.write(MARGIN, PAGE[1] - 0.3, f"{title_of(book)}, {district.station_id}{whole}", 7.5)
        yield page


def _title(book: CardBook, district: District) -> str:
    """The name of the district, and the period."""
    assert book.city is not None
    number = book.city.station_numbers.get(district.station_id)
    name = (number is not None and book.city.stations[number].name) or district.station_id
    same = name.casefold() == district.station_id.casefold()
    words = f"District {name}" + ("" if same else f" ({district.station_id})")
    return words + (f", {district.period}" if district.period else "")


def _top_of_district(
    page: PrintPage, book: CardBook, district: District, maps: DistrictMaps, table: PagedTable
) -> float:
    """Draw the map of the district, as large as there is room, and write beside it what is to be known; its height."""
    layout, width = table.layout, INSIDE - MAP_WIDTH - 0.25
    lines = layout.heading_height + sum(1.08 * layout.height_of(row) for row in table.pages[0])
    room = PAGE[1] - BOTTOM - TOP - 0.1 - lines * table.size / POINTS
    height = min(MAP_HEIGHTS[1], max(MAP_HEIGHTS[0], room)) if len(table.pages) == 1 else MAP_HEIGHTS[0]
    page.pictures.append(maps.picture(district, (PAGE[0] - MARGIN - MAP_WIDTH, TOP), (MAP_WIDTH, height)))
    title = _title(book, district)
    y = page.write(MARGIN, TOP - 0.04, title, fitting(title, width, 16.0), bold=True) + 0.02
    size = 7.6 if height < 2.4 else min(LARGEST, 9.2)
    for words in (*_to_know(book, district), maps.legend(district)):
        y = page.fill(MARGIN, y, width, words, size) + 0.035
    return height


def _rule(book: CardBook) -> str:
    """How whoever holds only this page follows a card."""
    more = " Cards have more lines than are printed: see the .csv or .xlsx file." * (book.depth > 1 + MOST_ALTERNATES)
    return f"{' '.join(RULE)} That order is on the right, units of one house with a slash between.{more}"


def _to_know(book: CardBook, district: District) -> Iterator[str]:
    """What is to be known to use the cards of a district."""
    yearly = f"{district.incidents_per_year:,.0f} incidents a year" + (" in this period" if district.period else "")
    departing = f"{district.num_departing:,} of {counted(district.num_cards, 'card')}"
    yield (
        f"{counted(len(district.areas), 'area')}, {yearly}. {MARK} and bold: not what closest-first sends ({departing} "
        "on line 1)."
    )
    yield _rule(book)
    yield (
        "The chance is that of line 1 to meet each standard, in the order of the first page; the minutes are mean ones "
        f"until its first and last unit are there; the gain is in {book.counted} per 1,000 incidents. In brackets: who "
        "is out when the line is for. A row for several areas or types has the lowest and the highest figure."
    )
    if any(cell.text.endswith("…") for row in district.rows for cell in row.cells[-1:]):
        yield f"Of each order the first {SHOWN_IN_ORDER} units are printed; the spreadsheet has all of them."
