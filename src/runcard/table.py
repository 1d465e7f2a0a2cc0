"""One way to show a table: on a terminal, as text, and as HTML in a notebook or on a page.

Names and ids come from files, and files from anywhere. So nothing in a table is markup, neither on a terminal nor in a
browser, and a control character is shown, as \\x1b, and not sent. A table that is too wide for its terminal is split
into several, one below the other, that each begin with its first column: neither the names nor any digit are lost.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table as RichTable
    from rich.text import Text

BEST: Final = "bold green"
BAD: Final = "bold red"
DOUBTFUL: Final = "yellow"
"""How a cell stands out."""
MIN_NAME: Final = 6
"""Letters of a name that stay together even on the narrowest terminal."""
MOST_LETTERS: Final = 80
"""Of longer texts only the beginning is shown in HTML."""

_LEFT, _RIGHT = "text-align:left", "text-align:right"
_CONTROLS: Final = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""Those of ASCII and its extension, ends of lines and paragraphs, and what turns the direction of writing around."""
_SHOWN: Final = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _CONTROLS}
_SHOWN_IN_LINES: Final = {code: shown for code, shown in _SHOWN.items() if code != ord("\n")}


def visible(text: str) -> str:
    """The text as one line, with control characters as \\x1b or \\u202e."""
    return text.translate(_SHOWN)


def visible_lines(text: str) -> str:
    """The same of a text that has several lines."""
    return text.translate(_SHOWN_IN_LINES)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that stands out, or has more lines below its first, or a warning; any other cell is a plain string."""

    text: str
    style: str = ""
    below: Sequence[str] = ()
    warning: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines of the cell, control characters made visible."""
        return [visible(line) for line in (self.text, *self.below)]


Row = Sequence[str | Cell]


@dataclass(frozen=True)
class Table:
    """Rows of cells below headings, of which the first column names the rows; its notes stand below it.

    Rows whose numbers are `strong` stand out; with `has_foot` the last one stands below a line. A heading may have
    several lines. The first `left` columns are words, and begin at the left; all others end at the right. On a terminal
    there is a line below the headings, unless it is not `ruled`.
    """

    headings: Sequence[str]
    rows: Sequence[Row]
    title: str = ""
    notes: Sequence[str] = ()
    strong: Collection[int] = ()
    has_foot: bool = False
    left: int = 1
    ruled: bool = True

    def html(self) -> str:
        """The table as HTML, in the colours of its page, light or dark."""
        caption = f'<caption style="{_LEFT}"><b>{escaped(self.title, 200)}</b></caption>' if self.title else ""
        head = f"<thead>{self._html_row(self.headings, tag='th')}</thead>" if any(self.headings) else ""
        rows = (self._html_row(row, strong=number in self.strong) for number, row in enumerate(self.rows))
        notes = "".join(html_note(note) for note in self.notes)
        return f"<table>{caption}{head}<tbody>{''.join(rows)}</tbody></table>{notes}"

    def text(self, width: int = 100) -> str:
        """The table as plain text."""
        from rich.console import Console

        console = Console(width=width, color_system=None, markup=False, highlight=False)
        with console.capture() as captured:
            console.print(self)
        return captured.get().rstrip()

    def _html_row(self, cells: Row, *, tag: str = "td", strong: bool = False) -> str:
        inner = []
        for number, cell in enumerate(map(_as_cell, cells)):
            weight = ";font-weight:bold" if strong or cell.style else ""
            words = "<br/>".join(escaped(line) for line in (cell.text, *cell.below))
            words += f" ({escaped(cell.warning)})" if cell.warning else ""
            inner.append(f'<{tag} style="{_LEFT if number < self.left else _RIGHT}{weight}">{words}</{tag}>')
        return f"<tr>{''.join(inner)}</tr>"

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """The table, or the tables that it is split into, as `rich` prints them."""
        from rich.measure import measure_renderables
        from rich.text import Text

        if self.title:
            yield Text(visible(self.title), "bold")
        rows = [[Text(visible_lines(heading)) for heading in self.headings]]
        for number, row in enumerate(self.rows):
            rows.append([_rich_text(cell, BEST if number in self.strong else "") for cell in map(_as_cell, row)])
        names, *columns = (measure_renderables(console, options, column) for column in zip(*rows, strict=True))
        # Words may be wrapped, numbers may not. Two more are what separates a column from its neighbour.
        widths = [2 + (size.minimum if n < self.left else size.maximum) for n, size in enumerate(columns, start=1)]
        # A name is broken only where it would take more than half of the terminal, or leave no room for a number.
        least = min(names.minimum, options.max_width // 2, max(MIN_NAME, options.max_width - max(widths) - 2))
        first = 0
        while first < len(widths):
            last, room = first + 1, options.max_width - (least + 2) - widths[first]
            while last < len(widths) and widths[last] <= room:
                room -= widths[last]
                last += 1
            yield self._rich_table(rows, range(first + 1, last + 1), min_width=least)
            first = last
        yield from (Text(visible(note)) for note in self.notes)

    def _rich_table(self, rows: "Sequence[Sequence[Text]]", columns: range, *, min_width: int) -> "RichTable":
        """The first column, of at least that width, and some of the others, below their headings."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable

        box, right = (SIMPLE_HEAD, 0) if self.ruled else (None, 1)
        table = RichTable(box=box, padding=(0, right, 0, 1), pad_edge=False, header_style="bold")
        for number in (0, *columns):
            side: Literal["left", "right"] = "left" if number < self.left else "right"
            table.add_column(rows[0][number], justify=side, no_wrap=number >= max(1, self.left))
        names = table.columns[0]
        names.overflow, names.min_width = "fold", min_width
        names.vertical = "top" if self.left > 1 else "bottom"  # beside the numbers of a name of several lines
        for number, row in enumerate(rows[1:], start=1):
            if self.has_foot and number == len(self.rows):
                table.add_section()
            table.add_row(row[0], *(row[column] for column in columns))
        return table


def _as_cell(cell: str | Cell) -> Cell:
    return Cell(cell) if isinstance(cell, str) else cell


def _rich_text(cell: Cell, style: str) -> "Text":
    from rich.text import Text

    text = Text("\n".join(cell.lines), cell.style or style)
    return text.append(f"\n{visible(cell.warning)}", BAD) if cell.warning else text


def escaped(text: str, most: int = MOST_LETTERS) -> str:
    """A text as HTML, cut after so many letters."""
    return escape(text if len(text) <= most else f"{text[: most - 1]}…")


def html_title(text: str) -> str:
    """A line above tables."""
    return f"<p><b>{escaped(text, 200)}</b></p>"


def html_note(text: str) -> str:
    """A sentence below a table."""
    return f"<p><small>{escaped(text, 1_000)}</small></p>"
