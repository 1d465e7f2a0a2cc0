"""Results in words, and as rich tables that fit the terminal; percentages, minutes and days are in the headings.

A table that is too wide is split into several, one below the other, that each begin with its first column: neither the
names nor any digit are lost where the terminal is narrow. Names and ids come from files, so nothing here is markup: see
`terminal.py`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from runcard.city.model import LATE, City, Objective
from runcard.cli.visible import visible
from runcard.plan.words import TINY, certainty, counted, decimals_of, incidents_a_day

BEST: Final = "bold green"
MIN_NAME: Final = 6
"""Letters of a name that stay together even on the narrowest terminal."""


def city_line(city: City) -> str:
    """A city in one line: its size, its load and its target."""
    targets = sorted({standard.target_minutes for point in city.demand for standard in city.standards_of(point)})
    target = f"{targets[0]:g}" if len(targets) == 1 else f"{targets[0]:g} to {targets[-1]:g}"
    counts = Counter(unit.kind for unit in city.units)
    types = f" of {counted(len({point.type for point in city.demand}), 'type')}" if not city.plain else ""
    load = f"load {city.load:.2g}, " if len(city.kinds) == 1 else ""  # each kind has its own
    return (
        f"{city.name}: {counted(len(city.stations), 'station')}, "
        f"{', '.join(counted(number, kind) for kind, number in counts.items())}, "
        f"{counted(len({point.node_id for point in city.demand}) if types else len(city.demand), 'demand point')}, "
        f"{incidents_a_day(city.incidents_per_day)}{types}, {load}target {target} min"
        + ("" if city.objective == LATE else f"; minimised: {objective_words(city.objective)}")
        + (f"; periods: {', '.join(one.name for one in city.periods)}" if city.has_periods else "")
    )


class SplitTable:
    """A table whose first column names the rows; it is split between its other columns where it is too wide."""

    def __init__(
        self, headings: Sequence[str], rows: Iterable[Iterable[str | Text]], *, has_foot: bool = False
    ) -> None:
        """A table of these rows; with `has_foot` the last one stands below a line."""
        self._headings, self._has_foot = headings, has_foot
        self._rows = [tuple(visible(cell) if isinstance(cell, str) else cell for cell in row) for row in rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, or the tables that it is split into."""
        # The width of each column, with what separates it from its neighbour.
        columns = [_lines(column) for column in zip(self._headings, *self._rows, strict=True)]
        _, *widths = (2 + max(map(cell_len, column)) for column in columns)
        longest_word = max(cell_len(word) for line in columns[0] for word in line.split())
        # A name is broken only where it would take more than half of the terminal, or leave no room for a number.
        least = min(longest_word, options.max_width // 2, max(MIN_NAME, options.max_width - max(widths) - 2))
        first = 0
        while first < len(widths):
            last, room = first + 1, options.max_width - (least + 2) - widths[first]
            while last < len(widths) and widths[last] <= room:
                room -= widths[last]
                last += 1
            yield self._table(slice(first + 1, last + 1), min_width=least)
            first = last

    def _table(self, columns: slice, *, min_width: int) -> Table:
        """The first column, of at least that width, and some of the others."""
        table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
        table.add_column(self._headings[0], overflow="fold", vertical="bottom", min_width=min_width)
        for heading in self._headings[columns]:
            table.add_column(Text(heading), justify="right", no_wrap=True)
        for row in self._rows:
            if self._has_foot and row is self._rows[-1]:
                table.add_section()
            table.add_row(row[0], *row[columns])
        return table


def _lines(cells: Iterable[str | Text]) -> list[str]:
    return [line for cell in cells for line in str(cell).split("\n")]


def decimals_for(numbers: Iterable[float], *, significant: int = 3) -> int:
    """The decimals (3 or more) that show `significant` digits of each number that is not shown as a tiny one."""
    shown = [abs(number) for number in numbers if abs(number) >= TINY]
    return max(3, decimals_of(min(shown) / 100.0, significant=significant)) if shown else 3


def outward(lower: float, upper: float, decimals: int, *, times: int = 100) -> str:
    """An interval in percent that is sure to hold the given one: its ends are rounded down and up.

    Where all of it is tiny, its ends have four digits in scientific notation. With `times` 1 it is not in percent.
    """
    if 0.0 < times * upper < TINY:
        ends = ((lower, ROUND_FLOOR), (upper, ROUND_CEILING))
        low, high = (Context(prec=4, rounding=way).multiply(Decimal(end), times) for end, way in ends)
        return f"{low:.3e} to {high:.3e}" if low else f"0 to {high:.3e}"
    unit = Decimal(1).scaleb(-decimals)
    low = (Decimal(lower) * times).quantize(unit, ROUND_FLOOR)
    high = (Decimal(upper) * times).quantize(unit, ROUND_CEILING)
    return f"{low:f}-{high:f}"


def objective_words(objective: Objective) -> str:
    """What an objective makes smallest, such as "late fraction + 0.05 × mean response minutes"."""
    alone = {"late": "late fraction", "minutes": "mean response minutes"}
    both = f"late fraction + {objective.weight or 0.0:g} × mean response minutes"
    return alone.get(objective.minimise, both)


def bounds_words(city: City, lower: float, upper: float, kind: str, *, proven: bool) -> str:
    """Where the mean cost of an incident that needs a kind is proven, or estimated, to lie, in words."""
    sure = certainty(proven)
    of_late = city.objective.minimise == "late"
    if of_late and not city.plain:
        return f"missed standards per 100 incidents {sure} to lie in {outward(lower, upper, 6)}"
    ends = outward(lower, upper, 6, times=100 if of_late else 1) + (" %" if of_late else "")
    return f"{objective_words(city.objective)} {sure} to lie in {ends}"
