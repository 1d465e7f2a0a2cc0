"""Run cards in print: a first page that says what a card is and what it is worth, and a page for each district.

A4 across. Lightness, bold and marks carry the meaning, so that black and white is enough. The same cards are the same
bytes: nothing says when they were printed.
"""

from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Frame, Paragraph, Spacer, Table

from runcard.output_file import write_whole
from runcard.outputs.cards.about import MARK, RULE, about_lines, depth_cells, depth_headings, title_of
from runcard.outputs.cards.book import CardBook
from runcard.outputs.cards.depth import DepthTable
from runcard.outputs.cards.district_map import DistrictMap, DistrictMaps
from runcard.outputs.cards.print_rows import (
    MOST_ALTERNATES,
    SHOWN_IN_ORDER,
    District,
    districts_of,
    headings_of,
    standard_lines,
)
from runcard.outputs.cards.print_table import (
    INSIDE,
    MARGIN,
    PAGE,
    POINTS,
    RULE_COLOUR,
    fitting,
    font_name,
    tables_of,
)
from runcard.page.picture import INK
from runcard.plan.words import counted

TOP, BOTTOM = 0.3 * POINTS, 0.36 * POINTS
"""Above what is printed, and below the table: the foot of the page."""
MAP_WIDTH: Final = 4.2 * POINTS
MAP_HEIGHTS: Final = (1.9 * POINTS, 3.1 * POINTS)
"""Of the map of a district: the smallest, and the largest where there is room."""
HEADING: Final = 0.85 * POINTS
"""Of the further pages of a district."""


def write_cards_pdf(book: CardBook, tables: Sequence[DepthTable], path: Path) -> Path:
    """The print of the cards; the book has its city."""
    assert book.city is not None
    content, maps = BytesIO(), DistrictMaps(book.city)
    canvas = Canvas(content, pagesize=PAGE, pageCompression=1, invariant=1)
    canvas.setDateFormatter(lambda *_: "")
    canvas.setTitle(title_of(book))
    canvas.setAuthor("runcard")
    canvas.setCreator("runcard")
    canvas.setSubject("run cards")
    _print_about(canvas, book, tables)
    for district in districts_of(book):
        _print_district(canvas, book, district, maps)
    canvas.save()
    return write_whole(path, content.getvalue())


def _paragraph(text: str, size: float, *, bold: bool = False, italic: bool = False) -> Paragraph:
    """Words that are broken where they are too wide."""
    font = font_name(bold=bold, italic=italic)
    return Paragraph(escape(text), ParagraphStyle("", fontName=font, fontSize=size, leading=1.3 * size, textColor=INK))


def _stack(canvas: Canvas, parts: Iterable[Any], y: float, width: float) -> None:
    """Draw parts below one another from a height on."""
    for part in parts:
        y -= part.wrapOn(canvas, width, y)[1]
        part.drawOn(canvas, MARGIN, y)
        y -= 0.035 * POINTS


def _print_about(canvas: Canvas, book: CardBook, tables: Sequence[DepthTable]) -> None:
    """Print what the cards are, how they are read, and what depth is worth."""
    title, half, gap = title_of(book), PAGE[0] / 2, 0.08 * POINTS
    words = [part for line in about_lines(book) for part in (_paragraph(line, 9.5), Spacer(0, gap))]
    words.append(_paragraph("Standards, in the order of the chances on the cards", 10.0, bold=True))
    words += [_paragraph(line, 8.5) for line in standard_lines(book)]
    worth = [_paragraph("What looking at which units are free is worth", 12.0, bold=True), Spacer(0, gap)]
    worth += [part for table in tables for part in _depth_table(table)]
    worth += [] if tables else [_paragraph("Not measured: runcard cards --measure does it.", 10.0)]
    while words or worth:
        _stack(canvas, [_paragraph(title, fitting(title, INSIDE, 22.0), bold=True)], PAGE[1] - TOP, INSIDE)
        for x, story in ((MARGIN, words), (half, worth)):
            room = half - (0.25 * POINTS if x == MARGIN else 0.0) - MARGIN, PAGE[1] - 0.95 * POINTS - MARGIN
            Frame(x, MARGIN, *room, leftPadding=0, rightPadding=0, topPadding=0, bottomPadding=0).addFromList(
                story, canvas
            )
        canvas.showPage()


def _depth_table(table: DepthTable) -> list[Any]:
    """What cards of each depth keep, and in words."""
    first, *others = depth_headings(table)
    cells = [[_paragraph(first, 9.0, bold=True), *(_paragraph(heading, 8.5) for heading in others)]]
    cells += [[_paragraph(cell, 9.0) for cell in row] for row in depth_cells(table)]
    style = [
        ("LINEBELOW", (0, 0), (-1, 0), 0.7, RULE_COLOUR), ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LEFTPADDING", (0, 0), (-1, -1), 0), ("TOPPADDING", (0, 0), (-1, -1), 1),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 1), ("BOTTOMPADDING", (0, 0), (-1, 0), 4),
    ]  # fmt: skip
    widths = [POINTS * width for width in (2.3, 1.2, 1.15, 0.8)]
    gap = Spacer(0, 0.06 * POINTS)
    return [Table(cells, widths, style=style), gap, _paragraph(table.words, 9.0, italic=True), gap, gap, gap]


def _print_district(canvas: Canvas, book: CardBook, district: District, maps: DistrictMaps) -> None:
    """Print the page of a district: a map, and its table; further pages where letters would be too small to read."""
    room, title = PAGE[1] - BOTTOM - TOP - 0.1 * POINTS, _title(book, district)
    tables = tables_of(headings_of(book), district.rows, (room - MAP_HEIGHTS[0], room - HEADING))
    for number, table in enumerate(tables):
        height, (_, taken) = HEADING, table.wrapOn(canvas, INSIDE, room)
        if number == 0:
            height = min(MAP_HEIGHTS[1], max(MAP_HEIGHTS[0], room - taken)) if len(tables) == 1 else MAP_HEIGHTS[0]
            width, size = INSIDE - MAP_WIDTH - 0.25 * POINTS, 7.6 if height < 2.4 * POINTS else 9.2
            words = [_paragraph(title, fitting(title, width, 16.0), bold=True)]
            words += [_paragraph(line, size) for line in (*_to_know(book, district), maps.legend(district))]
            _stack(canvas, words, PAGE[1] - TOP + 0.1 * POINTS, width)
            corner = PAGE[0] - MARGIN - MAP_WIDTH, PAGE[1] - TOP - height
            DistrictMap(maps, district, MAP_WIDTH, height).drawOn(canvas, *corner)
        else:
            words = [_paragraph(f"{title} (continued)", 14.0, bold=True), _paragraph(_rule(book), 7.6)]
            _stack(canvas, words, PAGE[1] - TOP, INSIDE)
        table.drawOn(canvas, MARGIN, PAGE[1] - TOP - 0.1 * POINTS - height - taken)
        whole = f", page {number + 1} of {len(tables)}" if len(tables) > 1 else ""
        _stack(canvas, [_paragraph(f"{title_of(book)}, {district.station_id}{whole}", 7.5)], BOTTOM - 4.0, INSIDE)
        canvas.showPage()


def _title(book: CardBook, district: District) -> str:
    """The name of the district, and the period."""
    assert book.city is not None
    number = book.city.station_numbers.get(district.station_id)
    name = (number is not None and book.city.stations[number].name) or district.station_id
    same = name.casefold() == district.station_id.casefold()
    words = f"District {name}" + ("" if same else f" ({district.station_id})")
    return words + (f", {district.period}" if district.period else "")


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
