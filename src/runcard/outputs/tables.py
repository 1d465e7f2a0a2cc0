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

from runcard.city.model import LATE, City, Objective
from runcard.outputs.compare import Comparison, PolicyResult
from runcard.outputs.explain import Explanation
from runcard.outputs.lateness import ClassLateness
from runcard.outputs.weights import Curve
from runcard.outputs.words import (
    TINY,
    counted,
    decimals_of,
    in_decimals,
    incidents_a_day,
    objective_words,
    outward,
)

BEST: Final = "bold green"
MIN_NAME: Final = 6
"""Letters of a name that stay together even on the narrowest terminal."""


def city_line(city: City) -> str:
    """A city in one line: its size, its load and its target."""
    return (
        f"{city.name}: {counted(len(city.stations), 'station')}, {counted(city.num_trucks, 'truck')}, "
        f"{counted(len(city.demand), 'demand point')}, {incidents_a_day(city.incidents_per_day)}, "
        f"load {city.load:.2g}, target {_target_words(city)}"
        + ("" if city.objective == LATE else f"; minimised: {objective_words(city.objective)}")
    )


def _target_words(city: City) -> str:
    targets = sorted({point.target_minutes or city.target_minutes for point in city.demand})
    return f"{targets[0]:g} min" if len(targets) == 1 else f"{targets[0]:g} to {targets[-1]:g} min"


def class_line(one: ClassLateness) -> str:
    """An incident class in one line."""
    name = f"{one.name}, " if one.name else ""
    in_time = "" if one.arrivals == 1 else f", {one.arrivals} of them in time"
    return (
        f"{name}{counted(one.trucks, 'truck')}{in_time}, target {one.target_minutes:g} min, "
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


def rule_table(comparison: Comparison) -> SplitTable:
    """The late fraction of each policy for the incidents of each rule."""
    rules = list(comparison.results[0].late_by_rule)
    table = SplitTable("policy", [rule.replace(" in ", "\nin ") for rule in rules])
    decimals = _decimals(100.0 * late for result in comparison.results for late in result.late_by_rule.values())
    for result in comparison.results:
        table.add_row(
            _policy_cell(result), *(in_decimals(100.0 * result.late_by_rule[rule], decimals) for rule in rules)
        )
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
    headings = ["late\n%", "proven\ninterval, %", "late\nper day", "response\nmean min", fewer, "time\ns"]
    counts_late = comparison.problem.objective == LATE
    if not counts_late:
        headings.append(_cost_heading(comparison.problem.objective))
    table = SplitTable("policy", headings)
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
            *([] if counts_late else [outward(result.cost_lower, result.cost_upper, 5, times=1)]),
        )
    return table


def _cost_heading(objective: Objective) -> str:
    return "minutes,\nproven" if objective.weight is None else f"late + {objective.weight:g} min,\nproven"


def limit_line(comparison: Comparison) -> str:
    """What the lower bound of the optimal policy proves of every policy."""
    objective = comparison.problem.objective
    if objective == LATE:
        return "No policy can be late less often than the lower end of optimal's interval."
    return f"No policy can bring {objective_words(objective)} below the lower end of optimal's interval of it."


def gap_line(comparison: Comparison) -> str:
    """By how much each policy is above the best possible at most; empty where that is not known."""
    gaps = [
        f"{result.name} {100.0 * result.gap_to_optimum:.2f} %"
        for result in comparison.results
        if result.gap_to_optimum is not None and result.name != "optimal"
    ]
    what = "Late more often than" if comparison.problem.objective == LATE else "Above"
    return f"{what} the best possible, at most: {', '.join(gaps)}." if gaps else ""


def weight_table(curve: Curve) -> SplitTable:
    """The weights of one policy, with what each costs in late fraction and saves in minutes against weight 0."""
    points = curve.points
    decimals = _decimals(100.0 * point.late_fraction for point in points)
    finer = _decimals((100.0 * point.more_late for point in points[1:]), significant=2)
    table = SplitTable(
        "weight",
        ["late\n%", "proven\ninterval, %", "response\nmean min", "more late\n% points", "saved\nmin", "time\ns"],
    )
    for point in points:
        cell = Text(f"{point.weight:g}")
        table.add_row(
            cell if point.result.converged else cell.append("\nnot converged", "bold red"),
            in_decimals(100.0 * point.late_fraction, decimals),
            outward(point.result.lower, point.result.upper, decimals + 1),
            f"{point.mean_minutes:.3f}",
            "" if point is points[0] else f"{round(100.0 * point.more_late, finer) + 0.0:.{finer}f}",
            "" if point is points[0] else f"{round(point.minutes_saved, 3) + 0.0:.3f}",
            f"{point.result.seconds:.3f}",
        )
    return table


def station_table(comparison: Comparison) -> SplitTable:
    """The share of all trucks sent that comes from each station, and how busy its trucks are, for every policy."""
    results = comparison.results
    table = SplitTable("station", ["trucks", *(f"{result.name}\nsent %  busy %" for result in results)])
    for i, station in enumerate(comparison.city.stations):
        cells = (
            f"{100.0 * result.evaluation.dispatch_share[i]:6.2f}  {100.0 * result.evaluation.busy_fractions[i]:6.2f}"
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
    """The team that goes, then the alternatives, with what counts now, price and their sum; P(late now) always."""
    minimise, options = explanation.objective.minimise, [explanation.decision, *explanation.decision.alternatives]
    if minimise == "late":
        times, headings = 100.0, ["late now\n%", "price\n%", "sum\n%"]
    elif minimise == "minutes":
        times, headings = 1.0, ["minutes\nnow", "price\nmin", "sum\nmin", "late now\n%"]
    else:
        times, headings = 1.0, ["P(late)\nnow", "minutes\nnow", "price", "sum"]
    table = SplitTable("team", headings)
    decimals = _decimals(times * option.total for option in options)
    for option in options:
        cells = [in_decimals(times * number, decimals) for number in (option.p_late, option.price, option.total)]
        if option.minutes is not None:
            cells.insert(1, f"{option.minutes:.3f}")
        if minimise == "minutes":
            cells = [*cells[1:], f"{100.0 * option.p_late:.3f}"]
        style = BEST if option is explanation.decision else ""
        table.add_row(Text(", ".join(option.team), style), *(Text(cell, style) for cell in cells))
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
