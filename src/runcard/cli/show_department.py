"""The policies of a department side by side, for the terminal: all kinds together, every standard, then each kind."""

from runcard.cli.show_comparison import fewer_words, policy_cell, print_files, print_results
from runcard.cli.terminal import make_console
from runcard.outputs.department_comparison import DepartmentComparison
from runcard.outputs.week_comparison import WeekComparison
from runcard.plan.words import certainty, city_line, counted, decimals_for, in_decimals, incidents_a_day, outward
from runcard.table import BEST, Cell, Row, Table, visible


def print_department(comparison: DepartmentComparison) -> None:
    """Print the policies side by side: of all kinds together, and of each."""
    console = make_console()
    city, kinds = comparison.city, comparison.kinds
    console.print(city_line(city), style="bold")
    print_files(result.choice for result in next(iter(kinds.values())).results)
    if len(kinds) > 1:
        console.print(department_table(comparison))
    if not city.plain:
        sure = certainty(comparison.proven)
        console.print(f"Missed, % of the incidents of each type, with {sure} intervals and mean minutes:", style="bold")
        console.print(standard_table(comparison))
    for kind, one in kinds.items():
        if not city.plain:
            units, incidents = counted(one.city.num_trucks, kind), incidents_a_day(one.city.incidents_per_day)
            console.print(f"{units}, {incidents} that need them, load {one.city.load:.2g}", style="bold")
        print_results(one)


def department_table(comparison: DepartmentComparison) -> Table:
    """The policies side by side, with the missed standards of all kinds together."""
    results = comparison.results
    missed = [result.missed for result in results]
    decimals = decimals_for(100.0 * one for one in missed)
    per_day = decimals_for(comparison.city.incidents_per_day * one for one in missed)
    headings = ["policy", "missed\nper 100", f"{certainty(comparison.proven)}\ninterval", "missed\nper day"]
    headings += ["fewer\nmissed, %", "above best\nat most, %", "time\ns"]
    rows: list[Row] = [
        [
            policy_cell(result.name, converged=result.converged),
            Cell(in_decimals(100.0 * result.missed, decimals), BEST if result.missed == min(missed) else ""),
            outward(result.lower, result.upper, decimals + 1),
            in_decimals(comparison.city.incidents_per_day * result.missed, per_day),
            "" if result is results[0] else fewer_words(result.improvement_over_first),
            "" if result.gap_to_optimum is None else f"{100.0 * result.gap_to_optimum:.2f}",
            f"{result.seconds:.3f}",
        ]
        for result in results
    ]
    return Table(headings, rows)


def standard_table(comparison: DepartmentComparison | WeekComparison) -> Table:
    """How often each standard is missed by each policy; the best of each row stands out."""
    results, city = comparison.results, comparison.city
    per_day = {
        one.type: sum(point.incidents_per_day for point in city.demand if point.type == one.type)
        for one in city.standards
    }
    rows: list[Row] = []
    for number, standard in enumerate(city.standards):
        found = [result.standards[number] for result in results]
        known = [one.miss_fraction for one in found if one.miss_fraction is not None]
        decimals = decimals_for(100.0 * one for one in known)
        cells: list[str | Cell] = []
        for one in found:
            if one.miss_fraction is None or one.lower is None or one.upper is None:
                cells.append("no incidents")
                continue
            interval = outward(one.lower, one.upper, decimals + 1)
            style = BEST if one.miss_fraction == min(known) else ""
            minutes = [] if one.mean_minutes is None else [f"{one.mean_minutes:.2f} min"]
            cells.append(Cell(in_decimals(100.0 * one.miss_fraction, decimals), style, [interval, *minutes]))
        weight = f", weight {standard.weight:g}" if standard.weight != 1.0 else ""
        about = "first" if standard.arrivals == 1 else "last" if standard.arrivals == standard.trucks else ""
        below = [f"{standard.rule}{weight}"]
        below += [f"{about} there, mean"] if about and found[0].mean_minutes is not None else []
        name = Cell(f"{standard.type}: {standard.kind}", below=below)
        rows.append([name, in_decimals(per_day[standard.type], 2), *cells])
    return Table(["standard", "incidents\nper day", *(visible(name) for name in comparison.names)], rows)
