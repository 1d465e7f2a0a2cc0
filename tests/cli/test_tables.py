"""Tables on terminals of every width."""

from io import StringIO

import pytest
from rich.console import Console

from runcard.cli.tables import SplitTable


def shown(table: SplitTable, width: int) -> list[str]:
    """The lines of a table on a terminal of that width."""
    console = Console(file=StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines() if line.strip()]


def numbers_table(name: str) -> SplitTable:
    """A table of one named row and six numbers of ten digits."""
    row = [name, *(str(number) * 10 for number in range(6))]
    return SplitTable(["team", *(f"column\n{number}" for number in range(6))], [row])


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
