"""Results as rich tables that fit the terminal; percentages, minutes and days are named in the headings.

A table that is too wide is split into several, one below the other, that each begin with its first column: neither the
names nor any digit are lost where the terminal is narrow. Names and ids come from files, so nothing here is markup: see
`terminal.py`.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from runcard.city.model import City
from runcard.outputs.compare import Comparison, PolicyResult
from runcard.outputs.explain import Explanation
from runcard.outputs.lateness import ClassLateness
from runcard.outputs.words import TINY, counted, decimals_of, in_decimals, incidents_a_day, outward

BEST: Final = "bold green"
MIN_NAME: Final = 6
"""Letters of a name that stay together even on the narrowest terminal."""


def city_line(city: City) -> str:
    """A city in one line: its size, its load and its target."""
    return (
        f"{city.name}: {counted(len(city.stations), 'station')}, {counted(city.num_trucks, 'truck')}, "
        f"{counted(len(city.demand), 'demand point')}, {incidents_a_day(city.incidents_per_day)}, "
        f"load {city.load:.2g}, target {city.target_minutes:g} min"
    )


def class_line(one: ClassLateness) -> str:
    """An incident class in one line."""
    name = f"{one.name}, " if one.name else ""
    return (
        f"{name}{counted(one.trucks, 'truck')}, target {one.target_minutes:g} min, "
        f"{incidents_a_day(one.incidents_per_day)}"
    )


class SplitTable:
    """A table whose first column names the rows; it is split between its other columns where it is too wide."""

    def __init__(self, first: str, others: Iterable[str]) -> None:
        self.headings = (first, *others)
        self.rows: list[tuple[str | Text, ...]] = []
        self.foot: tuple[str | Text, ...] | None = None
        """A last row, below a line."""

    def add_row(self, *cells: str | Text) -> None:
        """Add a row of one cell for each column."""
        self.rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, or the tables that it is split into."""
        # The width of each column, with what separates it from its neighbour.
        _, *widths = (2 + max(map(cell_len, _lines(column))) for column in self._columns())
        longest_word = max(cell_len(word) for line in _lines(next(self._columns())) for word in line.split())
        # A name is broken only where it would take more than half of the terminal, or leave no room for a number.
        least = min(longest_word, options.max_width // 2, max(MIN_NAME, options.max_width - max(widths) - 2))
        first = 0
        while first < len(widths):
            last, room = first + 1, options.max_width - (least + 2) - widths[first]
            while last < len(widths) and widths[last] <= room:
                room -= widths[last]
                last += 1
            yield self._table(range(first + 1, last + 1), min_width=least)
            first = last

    def _columns(self) -> Iterator[tuple[str | Text, ...]]:
        """The cells of each column, its heading first."""
        return zip(self.headings, *self.rows, *([self.foot] if self.foot else []), strict=True)

    def _table(self, columns: Iterable[int], *, min_width: int) -> Table:
        """The first column, of at least that width, and some of the others."""
        columns = list(columns)
        table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
        table.add_column(self.headings[0], overflow="fold", vertical="bottom", min_width=min_width)
        for column in columns:
            table.add_column(self.headings[column], justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(row[0], *(row[column] for column in columns))
        if self.foot:
            table.add_section()
            table.add_row(self.foot[0], *(self.foot[column] for column in columns))
        return table


def comparison_table(comparison: Comparison) -> SplitTable:
    """The policies side by side; the best of each column that has one stands out."""
    results = comparison.results
    late = [result.evaluation.late_fraction for result in results]
    minutes = [result.evaluation.mean_response_minutes for result in results]
    fastest = min((one for one in minutes if one is not None), default=None)
    decimals = _decimals(100.0 * one for one in late)
    per_day = _decimals(result.evaluation.late_per_day for result in results)
    fewer = "fewer\nlate, %" if all(one <= late[0] for one in late) else "fewer late\n(-: more), %"
    table = SplitTable(
        "policy", ["late\n%", "proven\ninterval, %", "late\nper day", "response\nmean min", fewer, "time\ns"]
    )
    for result, mean in zip(results, minutes, strict=True):
        evaluation = result.evaluation
        table.add_row(
            _policy_cell(result),
            Text(
                in_decimals(100.0 * evaluation.late_fraction, decimals),
                BEST if evaluation.late_fraction == min(late) else "",
            ),
            outward(result.lower, result.upper, decimals + 1),
            in_decimals(evaluation.late_per_day, per_day),
            "" if mean is None else Text(f"{mean:.3f}", BEST if mean == fastest else ""),
            "" if result is results[0] else _fewer_late(result.improvement_over_first),
            f"{result.seconds:.3f}",
        )
    return table


def gap_line(comparison: Comparison) -> str:
    """By how much each policy is late more often than the best possible at most; empty where that is not known."""
    gaps = [
        f"{result.name} {100.0 * result.gap_to_optimum:.2f} %"
        for result in comparison.results
        if result.gap_to_optimum is not None and result.name != "optimal"
    ]
    return f"Late more often than the best possible, at most: {', '.join(gaps)}." if gaps else ""


def station_table(comparison: Comparison) -> SplitTable:
    """The share of all trucks sent that comes from each station, and how busy its trucks are, for every policy."""
    results = comparison.results
    table = SplitTable("station", ["trucks", *(f"{result.name}\nsent %  busy %" for result in results)])
    for i, station in enumerate(comparison.city.stations):
        cells = (
            f"{100.0 * result.evaluation.dispatch_share[i]:6.2f}  {100.0 * result.evaluation.busy_fraction[i]:6.2f}"
            for result in results
        )
        table.add_row(station.station_id, str(station.trucks), *cells)
    table.foot = ("outside", "", *(f"{100.0 * result.evaluation.outside_share:6.2f}  {'':6}" for result in results))
    return table


def lateness_table(lateness: ClassLateness, *, top: int | None = None) -> SplitTable:
    """The teams of an incident class with P(late), best first; only the first `top` if given."""
    headings = ["late\n%", "response\nmean min"]
    shares = any(team.shared_links is not None for team in lateness.teams)
    table = SplitTable("team", [*headings, "shared\nlinks"] if shares else headings)
    decimals = _decimals((100.0 * team.p_late for team in lateness.teams), significant=2)
    for team in lateness.teams[:top]:
        row = [", ".join(team.team), in_decimals(100.0 * team.p_late, decimals), f"{team.mean_minutes:.3f}"]
        table.add_row(*row, *(["" if team.shared_links is None else str(team.shared_links)] if shares else []))
    return table


def decision_table(explanation: Explanation) -> SplitTable:
    """The team that goes, then the alternatives, with P(late now), price and their sum."""
    table = SplitTable("team", ["late now\n%", "price\n%", "sum\n%"])
    options = [explanation.decision, *explanation.decision.alternatives]
    decimals = _decimals(100.0 * option.total for option in options)
    for option in options:
        numbers = (in_decimals(100.0 * number, decimals) for number in (option.p_late, option.price, option.total))
        style = BEST if option is explanation.decision else ""
        table.add_row(Text(", ".join(option.team), style), *(Text(number, style) for number in numbers))
    return table


def _lines(cells: Iterable[str | Text]) -> list[str]:
    return [line for cell in cells for line in str(cell).split("\n")]


def _decimals(numbers: Iterable[float], *, significant: int = 3) -> int:
    """The decimals (3 or more) that show `significant` digits of each number that is not shown as a tiny one."""
    shown = [abs(number) for number in numbers if abs(number) >= TINY]
    return max(3, decimals_of(min(shown) / 100.0, significant=significant)) if shown else 3


def _fewer_late(part: float) -> str:
    """The part of late incidents avoided, in percent; one that is negative can have any size."""
    share = round(100.0 * part, 2) + 0.0  # no -0.00
    return f"{share:.2f}" if share > -100.0 else f"{share:.1f}" if share > -1e5 else f"{share:.1e}"


def _policy_cell(result: PolicyResult) -> Text:
    cell = Text(result.name)
    return cell if result.converged else cell.append("\nnot converged", "bold red")
