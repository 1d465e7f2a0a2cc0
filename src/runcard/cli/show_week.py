"""The policies of a city with periods, for the terminal: over the week, in every period, and what the hour is worth."""

from collections.abc import Sequence

from runcard.assess.policy_choice import PolicyChoice
from runcard.city.model import City
from runcard.cli.show_comparison import fewer_words, policy_cell, print_files
from runcard.cli.show_department import standard_table
from runcard.cli.show_simulation import with_error
from runcard.cli.terminal import make_console
from runcard.outputs.week_choice import pairs_by_hour
from runcard.outputs.week_comparison import WeekComparison
from runcard.plan.words import certainty, city_line, decimals_for, in_decimals, incidents_a_day, outward
from runcard.simulate.department import DepartmentSimulation
from runcard.table import BEST, Cell, Row, Table


def print_week(comparison: WeekComparison) -> None:
    """Print the policies side by side: the mean of the week, every standard, and each period."""
    console, city = make_console(), comparison.city
    console.print(city_line(city), style="bold")
    print_files(comparison.choices)
    console.print("The mean of the week:", style="bold")
    console.print(week_table(comparison))
    if not city.plain:
        sure = certainty(comparison.proven)
        console.print(f"Missed, % of the incidents of each type, with {sure} intervals and mean minutes:", style="bold")
        console.print(standard_table(comparison))
    what = "Late, %," if city.plain else "Missed per 100 incidents"
    console.print(f"{what} in each period:", style="bold")
    console.print(period_table(comparison))
    for blind, knowing, gain in comparison.knowing_the_hour:
        console.print(f"Knowing the hour: {knowing.name} misses {fewer_words(gain)} % less than {blind.name}.")
    for one in city.periods:
        rate = incidents_a_day(comparison.periods[one.name].city.incidents_per_day)
        console.print(f"{one.name}: {one.words}; {rate}, {100.0 * comparison.weights[one.name]:.1f} % of all.")
    console.print("Every period is taken as if it lasted for ever; simulate switches between them as time passes.")


def week_table(comparison: WeekComparison) -> Table:
    """The policies side by side, with the mean of the week."""
    results, per_day = comparison.results, comparison.city.incidents_per_day
    missed = [result.missed for result in results]
    decimals, of_day = decimals_for(100.0 * one for one in missed), decimals_for(per_day * one for one in missed)
    sure = certainty(comparison.proven)
    headings = ["policy", "late\n%", f"{sure}\ninterval, %", "late\nper day", "response\nmean min", "fewer\nlate, %"]
    if not comparison.city.plain:
        headings[1:] = ["missed\nper 100", f"{sure}\ninterval", "missed\nper day", headings[4], "fewer\nmissed, %"]
    rows: list[Row] = [
        [
            policy_cell(result.name, converged=result.converged),
            Cell(in_decimals(100.0 * result.missed, decimals), BEST if result.missed == min(missed) else ""),
            outward(result.lower, result.upper, decimals + 1),
            in_decimals(per_day * result.missed, of_day),
            f"{result.mean_minutes:.3f}",
            "" if result is results[0] else fewer_words(result.improvement_over_first),
            "" if result.gap_to_optimum is None else f"{100.0 * result.gap_to_optimum:.2f}",
            f"{result.seconds:.3f}",
        ]
        for result in results
    ]
    return Table([*headings, "above best\nat most, %", "time\ns"], rows)


def period_table(comparison: WeekComparison) -> Table:
    """What each policy misses in each period; the best of each column stands out."""
    columns = [[one.missed for one in period.results] for period in comparison.periods.values()]
    decimals = decimals_for(100.0 * one for column in columns for one in column)
    rows: list[Row] = []
    for number, name in enumerate(comparison.names):
        cells = (
            Cell(in_decimals(100.0 * column[number], decimals), BEST if column[number] == min(column) else "")
            for column in columns
        )
        rows.append([name, *cells])
    return Table(["policy", *comparison.periods], rows)


def print_periods(city: City, found: Sequence[DepartmentSimulation], choices: Sequence[PolicyChoice]) -> None:
    """Print what knowing the hour gains in each simulation, and which scenarios have rates of their own."""
    if not city.has_periods:
        return
    console = make_console()
    for one in found:
        where = f" in {one.scenario.name}" if len(found) > 1 else ""
        for blind, knowing in pairs_by_hour(choices):
            gain = with_error(one.gain_over(blind, knowing), 2, 100.0)
            labels = choices[knowing].label, choices[blind].label
            console.print(f"Knowing the hour{where}: {labels[0]} misses {gain} % less than {labels[1]}.")
        if one.scenario.rates or one.scenario.log is not None:
            console.print(f"{one.scenario.name} has rates of its own, in place of those of the periods.")
