"""Tables as HTML, for notebooks: every text is escaped, and colours are those of the notebook, light or dark."""

from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import Final

MOST_LETTERS: Final = 80
"""Of longer texts only the beginning is shown."""

LEFT, RIGHT = "text-align:left", "text-align:right"


def escaped(text: str, most: int = MOST_LETTERS) -> str:
    """A text as HTML, cut after so many letters."""
    return escape(text if len(text) <= most else f"{text[: most - 1]}…")


def html_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "", strong: Collection[int] = ()
) -> str:
    """A table whose first column names the rows; the rows of the numbers `strong` stand out."""

    def line(cells: Sequence[str], *, head: bool = False, stands_out: bool = False) -> str:
        tag = "th" if head else "td"
        weight = ";font-weight:bold" if stands_out else ""
        ways = (LEFT, *(RIGHT for _ in cells[1:]))
        inner = (f'<{tag} style="{way}{weight}">{escaped(cell)}</{tag}>' for way, cell in zip(ways, cells, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    caption = f'<caption style="{LEFT}"><b>{escaped(title, 200)}</b></caption>' if title else ""
    head = f"<thead>{line(headings, head=True)}</thead>" if any(headings) else ""
    body = "".join(line(row, stands_out=number in strong) for number, row in enumerate(rows))
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>"


def html_title(text: str) -> str:
    """A line above tables."""
    return f"<p><b>{escaped(text, 200)}</b></p>"


def html_note(text: str) -> str:
    """A sentence below a table."""
    return f"<p><small>{escaped(text, 1_000)}</small></p>"
