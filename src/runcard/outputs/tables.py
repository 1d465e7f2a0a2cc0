"""Results as rich tables that fit 80 columns; percentages, minutes and days are named in the headings.

Names and ids come from files, so nothing here is markup: see `terminal.py`.
"""

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from runcard.city.model import City
from runcard.outputs.compare import Comparison, PolicyResult
from runcard.outputs.explain import Explanation
from runcard.outputs.lateness import ClassLateness
from runcard.outputs.words import counted, decimals_of, outward

BEST = "bold green"


def city_line(city: City) -> str:
    """A city in one line: its size, its load and its target."""
    return (
        f"{city.name}: {counted(len(city.stations), 'station')}, {counted(city.num_trucks, 'truck')}, "
        f"{counted(len(city.demand), 'demand point')}, {city.incidents_per_day:.3g} incidents a day, "
        f"load {city.load:.2g}, target {city.target_minutes:g} min"
    )


def class_line(one: ClassLateness) -> str:
    """An incident class in one line."""
    name = f"{one.name}, " if one.name else ""
    return (
        f"{name}{counted(one.trucks, 'truck')}, target {one.target_minutes:g} min, "
        f"{one.incidents_per_day:.3g} incidents a day"
    )


def comparison_table(comparison: Comparison) -> Table:
    """The policies side by side; the best of each column that has one stands out."""
    results = comparison.results
    least_late = min(result.evaluation.late_fraction for result in results)
    minutes = [result.evaluation.mean_response_minutes for result in results]
    fastest = min((one for one in minutes if one is not None), default=None)
    decimals = max(3, decimals_of(least_late, significant=3))
    # As a percentage this number of incidents has the same digits.
    per_day = max(3, decimals_of(least_late * comparison.problem.total_incidents_per_day / 100.0, significant=3))
    headings = ["late\n%", "proven\ninterval, %", "late\nper day", "response\nmean min", "fewer\nlate, %", "time\ns"]
    table = _table("policy", headings)
    for result, mean in zip(results, minutes, strict=True):
        evaluation = result.evaluation
        late = f"{100.0 * evaluation.late_fraction:.{decimals}f}"
        table.add_row(
            _policy_cell(result),
            Text(late, BEST if evaluation.late_fraction == least_late else ""),
            outward(result.lower, result.upper, decimals + 1),
            f"{evaluation.late_per_day:.{per_day}f}",
            "" if mean is None else Text(f"{mean:.3f}", BEST if mean == fastest else ""),
            "" if result is results[0] else f"{100.0 * result.improvement_over_first:.2f}",
            f"{result.seconds:.3f}",
        )
    return table


def station_table(comparison: Comparison) -> Table:
    """The share of all trucks sent that comes from each station, and how busy its trucks are, for every policy."""
    table = _table("station", [])
    table.add_column("trucks", justify="right")
    for result in comparison.results:
        table.add_column(f"{result.name}\nsent %  busy %", justify="right", no_wrap=True)
    for i, station in enumerate(comparison.city.stations):
        cells = (
            f"{100.0 * result.evaluation.dispatch_share[i]:6.2f}  {100.0 * result.evaluation.busy_fraction[i]:6.2f}"
            for result in comparison.results
        )
        table.add_row(station.station_id, str(station.trucks), *cells)
    outside = (f"{100.0 * result.evaluation.outside_share:6.2f}  {'':6}" for result in comparison.results)
    table.add_section()
    table.add_row("outside", "", *outside)
    return table


def lateness_table(lateness: ClassLateness, *, top: int | None = None) -> Table:
    """The teams of an incident class with P(late), best first; only the first `top` if given."""
    headings = ["late\n%", "response\nmean min"]
    shares = any(team.shared_links is not None for team in lateness.teams)
    table = _table("team", [*headings, "shared\nlinks"] if shares else headings)
    decimals = min(6, max(3, decimals_of(lateness.teams[0].p_late, significant=2)))
    for team in lateness.teams[:top]:
        row = [", ".join(team.team), f"{100.0 * team.p_late:.{decimals}f}", f"{team.mean_minutes:.3f}"]
        table.add_row(*row, *(["" if team.shared_links is None else str(team.shared_links)] if shares else []))
    return table


def decision_table(explanation: Explanation) -> Table:
    """The team that goes, then the alternatives, with P(late now), price and their sum."""
    table = _table("team", ["late now\n%", "price\n%", "sum\n%"])
    options = [explanation.decision, *explanation.decision.alternatives]
    for option in options:
        numbers = (f"{100.0 * number:.3f}" for number in (option.p_late, option.price, option.total))
        style = BEST if option is explanation.decision else ""
        table.add_row(Text(", ".join(option.team), style), *(Text(number, style) for number in numbers))
    return table


def _policy_cell(result: PolicyResult) -> Text:
    cell = Text(result.name)
    return cell if result.converged else cell.append("\nnot converged", "bold red")


def _table(first: str, others: Iterable[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
    table.add_column(first, overflow="fold", vertical="bottom")
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
