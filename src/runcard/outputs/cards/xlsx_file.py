"""Run cards as a workbook: the cards with filters, what depth is worth, and how a card is read.

Texts are cells of text, whatever they begin with, so that no cell is a formula and 007 keeps its zeros. A line that
departs from closest-first is bold and has a mark, for eyes and printers without colours.
"""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from runcard.errors import MissingExtraError
from runcard.output_file import write_whole
from runcard.outputs.cards.about import MARK, about_lines, depth_headings, title_of
from runcard.outputs.cards.book import CardBook
from runcard.outputs.cards.csv_file import book_rows, columns_of
from runcard.outputs.cards.depth import DepthTable

WIDEST: Final = 44
"""Letters of a column, at most."""
FORMATS: Final = {"gain_per_1000": "0.0", "incidents_per_year": "0.0", "first_minutes": "0.0", "last_minutes": "0.0"}
LONGEST: Final = 32_767
"""Letters of a cell that Excel takes."""
NOT_MEASURED: Final = "Not measured: runcard cards --measure says what cards of each depth keep of the gain."


def open_workbooks() -> Any:
    """The library that writes workbooks; an error that says how to get it, if it is not there."""
    try:
        import openpyxl  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise MissingExtraError("a workbook of run cards", "openpyxl", "report") from error
    return openpyxl


class _Sheet:
    """A sheet that is filled from top to bottom."""

    def __init__(self, library: Any, workbook: Any, title: str, widths: Sequence[int]) -> None:
        self._library, self.sheet = library, workbook.create_sheet(title)
        self._styles: dict[tuple[str | None, bool, bool], Any] = {}
        for number, width in enumerate(widths, start=1):
            self.sheet.column_dimensions[library.utils.get_column_letter(number)].width = width

    def add(
        self, cells: Sequence[Any], formats: Sequence[str | None] = (), *, bold: bool = False, wrap: bool = False
    ) -> None:
        """Add a row; texts are texts, even those that look like formulas, without letters that no workbook holds."""
        row: list[Any] = []
        for number, value in enumerate(cells):
            is_text = isinstance(value, str)
            if value is None or value == "":
                row.append(None)
                continue
            if is_text:
                value = self._library.cell.cell.ILLEGAL_CHARACTERS_RE.sub("\ufffd", value)[:LONGEST]
            cell = self._library.cell.WriteOnlyCell(self.sheet, value=value)
            if is_text:
                cell.data_type = self._library.cell.cell.TYPE_STRING
            shown = "@" if is_text else formats[number] if number < len(formats) else None
            cell._style = self._style(shown, bold=bold, wrap=wrap)
            row.append(cell)
        self.sheet.append(row)

    def _style(self, shown: str | None, *, bold: bool, wrap: bool) -> Any:
        """A style of cells; each is made once, because looking one up takes longer than writing a cell."""
        key = (shown, bold, wrap)
        if key not in self._styles:
            cell = self._library.cell.WriteOnlyCell(self.sheet)
            if shown:
                cell.number_format = shown
            if bold:
                cell.font = self._library.styles.Font(bold=True)
            if wrap:
                cell.alignment = self._library.styles.Alignment(wrap_text=True)
            self._styles[key] = cell._style
        return self._styles[key]


def write_cards_xlsx(book: CardBook, tables: Sequence[DepthTable], path: Path) -> Path:
    """The workbook that now holds the cards."""
    library = open_workbooks()
    workbook = library.Workbook(write_only=True)
    _add_cards(library, workbook, book)
    _add_depth(_Sheet(library, workbook, "Depth", (44, 24, 20, 14, 10, 10)), tables)
    about = _Sheet(library, workbook, "About", (120,))
    about.add([title_of(book)], bold=True)
    for line in about_lines(book):
        about.add([line], wrap=True)
    content = BytesIO()
    workbook.save(content)
    return write_whole(path, content.getvalue())


def _add_cards(library: Any, workbook: Any, book: CardBook) -> None:
    """The sheet of the cards: a row for each line."""
    columns = columns_of(book)
    rows = [[row.get(name) for name in columns] for row in book_rows(book)]
    longest = [max(len(str(row[n] or "")) for row in rows) for n in range(len(columns))]
    widths = [min(WIDEST, 3 + max(len(name), most)) for name, most in zip(columns, longest, strict=True)]
    sheet = _Sheet(library, workbook, "Cards", widths)
    sheet.sheet.freeze_panes = "A2"
    sheet.sheet.auto_filter.ref = f"A1:{library.utils.get_column_letter(len(columns))}{len(rows) + 1}"
    sheet.add(columns, bold=True)
    formats = ["0.0%" if name.startswith("meets_") else FORMATS.get(name) for name in columns]
    place = columns.index("departs")
    for row in rows:
        departs = row[place] == "yes"
        row[place] = f"{MARK} yes" if departs else "no"
        sheet.add(row, formats, bold=departs)


def _add_depth(sheet: _Sheet, tables: Sequence[DepthTable]) -> None:
    """The sheet of what depth is worth; what it says, if it was not measured."""
    if not tables:
        sheet.add([NOT_MEASURED])
    for table in tables:
        sheet.add([*depth_headings(table), "from, %", "to, %"], bold=True)
        for row in table.rows:
            kept = (None, None, None) if row.kept is None else (row.kept.value, row.kept.low, row.kept.high)
            cells = [row.name, 100.0 * row.missed.value, row.minutes, *kept]
            sheet.add(cells, [None, "0.000", "0.00", "0%", "0%", "0%"])
        sheet.add([table.words])
        sheet.add([""])
