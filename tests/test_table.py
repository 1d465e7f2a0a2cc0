"""Tables as HTML, as text, and on terminals of every width."""

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.markup import HOSTILE, Markup

from runcard.table import BAD, BEST, MOST_LETTERS, Cell, Table, escaped, html_title

TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=MOST_LETTERS)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4), TEXTS)
def test_every_text_comes_back_as_it_is(rows: list[tuple[str, str]], title: str) -> None:
    """Whatever a name is, a browser shows just that, and no tag of it becomes one."""
    page = Markup(Table(("name", "number"), rows, title=title, notes=[title]).html() + html_title(title))
    assert page.tables == [[["name", "number"], *map(list, rows)]]
    assert page.words.count(title) >= 2
    assert page.names <= {"table", "caption", "b", "thead", "tbody", "tr", "th", "td", "p", "small"}


def test_a_long_text_is_cut() -> None:
    """A name of a million letters takes no more than a line, and no entity is cut in half."""
    assert escaped("&" * 1_000_000) == "&amp;" * (MOST_LETTERS - 1) + "…"
    assert escaped("a" * MOST_LETTERS) == "a" * MOST_LETTERS


def test_hostile_text_is_only_text() -> None:
    """A name that is a script is shown, and does nothing, in any part of a cell."""
    cell = Cell(HOSTILE, BEST, below=[HOSTILE], warning=HOSTILE)
    page = Markup(Table((HOSTILE,), [(HOSTILE,), [cell]], title=HOSTILE, notes=[HOSTILE], strong={0}).html())
    assert page.tables == [[[HOSTILE], [HOSTILE], [f"{HOSTILE}\n{HOSTILE} ({HOSTILE})"]]]
    assert not {"script", "img"} & page.names


def test_what_stands_out_does_so_in_html_and_on_a_terminal() -> None:
    """A strong row and a cell with a style are bold on a page, and have their colours on a terminal."""
    table = Table(["policy", "late"], [["a", "1"], ["b", Cell("2", BAD)], [Cell("c", warning="open"), "3"]], strong=[0])
    bold = [dict(attributes)["style"] for tag, attributes in Markup(table.html()).tags if tag == "td"]
    assert ["bold" in (style or "") for style in bold] == [True, True, False, True, False, False]
    console = Console(file=StringIO(), width=40, force_terminal=True, color_system="standard")
    console.print(table)
    assert isinstance(console.file, StringIO)
    printed = console.file.getvalue().splitlines()
    assert [line.count("\x1b[1;32m") for line in printed[-5:-1]] == [2, 0, 0, 0]
    assert [line.count("\x1b[1;31m") for line in printed[-5:-1]] == [0, 1, 0, 1]


def shown(table: Table, width: int) -> list[str]:
    """The lines of a table on a terminal of that width."""
    console = Console(file=StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines() if line.strip()]


def numbers_table(name: str) -> Table:
    """A table of one named row and six numbers of ten digits."""
    row = [name, *(str(number) * 10 for number in range(6))]
    return Table(["team", *(f"column\n{number}" for number in range(6))], [row])


@pytest.mark.parametrize("width", [200, 80, 50, 40, 30, 25])
def test_every_number_stands_whole_beside_its_name(width: int) -> None:
    """However narrow the terminal, each number is in a row that begins with the name, and no line is too long."""
    lines = shown(numbers_table("optimal"), width)
    rows = [line.split() for line in lines if line.startswith(" optimal")]
    assert [cell for row in rows for cell in row[1:]] == [str(number) * 10 for number in range(6)]
    assert max(map(len, lines)) <= width


def test_a_list_of_names_is_wrapped_before_the_table_is_split() -> None:
    """A team of many stations takes several lines between words, and the numbers stay together."""
    lines = shown(numbers_table("north-gate, harbour, market"), 88)
    assert sum("column" in line for line in lines) == 1
    assert all(any(name in line for line in lines) for name in ("north-gate,", "harbour,", "market"))


def test_a_name_longer_than_the_terminal_is_broken_but_whole() -> None:
    """Its letters are all there, and so are the numbers."""
    lines = shown(numbers_table("x" * 100), 60)
    assert sum(line.count("x") for line in lines) % 100 == 0
    assert max(map(len, lines)) <= 60


def test_title_and_notes_stand_around_the_rows() -> None:
    """The title above, the notes below; without lines the first row follows the headings."""
    table = Table(["name", "number"], [["a", "1"]], title="Names", notes=["One.", "Two."], ruled=False)
    assert shown(table, 60) == ["Names", "name  number", "a          1", "One.", "Two."]
