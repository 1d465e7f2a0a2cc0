"""Policies, or weights of a minute, side by side, for the terminal; the best of each column stands out."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runcard.assess.policy_choice import PolicyChoice
from runcard.city.model import LATE
from runcard.cli.terminal import make_console
from runcard.outputs.compare import ComparedPolicy, Comparison
from runcard.outputs.weights import WeightComparison, WeightResult
from runcard.plan.words import certainty, city_line, decimals_for, in_decimals, objective_words, outward
from runcard.table import BEST, Cell, Row, Table, visible

ROUNDING = 1e-9
"""Late fractions that differ by less are the same."""
EVERY_POLICY = "No policy that sends as many trucks as incidents ask for, or all that are idle,"


def print_results(comparison: Comparison) -> None:
    """Print what policies achieve, and the stations."""
    console = make_console()
    console.print(comparison_table(comparison))
    truck = comparison.city.kinds[0]
    _print_arrivals(comparison.results, [result.name for result in comparison.results], truck=truck)
    if any(result.is_optimum for result in comparison.results):
        console.print(*optimum_lines(comparison), "", sep="\n")
    if comparison.city.plain and comparison.results[0].standards:
        console.print("Late, %, by how many trucks must be there and when:", style="bold")
        console.print(rule_table(comparison))
    console.print("Share of all trucks sent, and how much of the time a truck is busy:", style="bold")
    console.print(station_table(comparison))


def print_files(choices: Iterable[PolicyChoice]) -> None:
    """Print which policy each file holds."""
    for choice in choices:
        if choice.file is not None:
            make_console().print(f"{choice.label} holds {choice.name}.", soft_wrap=True)


def print_weights(comparison: WeightComparison) -> None:
    """Print the weights of each policy."""
    console = make_console()
    console.print(city_line(replace(comparison.city, objective=LATE)), style="bold")
    for policy, points in comparison.curves.items():
        console.print()
        console.print(f"{policy} for late + weight × minutes:", style="bold")
        console.print(weight_table(points, of_standards=not comparison.city.plain))
        _print_arrivals([point.result for point in points], [f"{point.weight:g}" for point in points], "weight")
    console.print("Weight: how many late incidents a minute of mean response counts as. With 0 only late ones count.")


def comparison_table(comparison: Comparison) -> Table:
    """The policies side by side; the best of each column that has one stands out."""
    results = comparison.results
    late = [result.evaluation.late_fraction for result in results]
    minutes = [result.evaluation.mean_response_minutes for result in results]
    fastest = min((one for one in minutes if one is not None), default=None)
    decimals = decimals_for(100.0 * one for one in late)
    per_day = decimals_for(result.evaluation.late_per_day for result in results)
    more = max(late) > late[0] * (1.0 + ROUNDING)
    fewer = "fewer late\n(-: more), %" if more else "fewer\nlate, %"
    sure = certainty(comparison.proven)
    headings = ["policy", "late\n%", f"{sure}\ninterval, %", "late\nper day", "response\nmean min", fewer, "time\ns"]
    if not comparison.city.plain:
        fewer = fewer.replace("late", "missed")
        headings[1:4] = ["missed\nper 100", f"{sure}\ninterval", "missed\nper day"]
        headings[-2] = fewer
    objective = comparison.problem.objective
    if objective != LATE:
        what = "minutes" if objective.weight is None else f"late + {objective.weight:g} min"
        headings.append(f"{what},\n{sure}")
    rows: list[Row] = [
        [
            policy_cell(result.name, converged=result.converged),
            Cell(in_decimals(100.0 * part, decimals), BEST if part == min(late) else ""),
            outward(result.lower, result.upper, decimals + 1),
            in_decimals(result.evaluation.late_per_day, per_day),
            "" if mean is None else Cell(f"{mean:.3f}", BEST if mean == fastest else ""),
            "" if result is results[0] else fewer_words(result.improvement_over_first),
            f"{result.seconds:.3f}",
            *([] if objective == LATE else [outward(result.cost_lower, result.cost_upper, 5, times=1)]),
        ]
        for result, part, mean in zip(results, late, minutes, strict=True)
    ]
    return Table(headings, rows)


def _print_arrivals(
    results: Sequence[ComparedPolicy], names: Sequence[str], heading: str = "policy", *, truck: str = "truck"
) -> None:
    """Print when the first and the last truck are there, or that there are too many teams for that."""
    if not results[0].evaluation.p90_minutes:
        make_console().print("Too many teams to find when the last truck is there: simulate says it.")
    else:
        make_console().print(f"Minutes until the first and the last {truck} are there:", style="bold")
        make_console().print(arrival_table(results, names, heading))


def arrival_table(results: Sequence[ComparedPolicy], names: Sequence[str], heading: str = "policy") -> Table:
    """The mean and the 90th percentile of the first and the last arrival; the best of each column stands out."""
    numbers = [
        (
            result.evaluation.mean_response_minutes or 0.0,
            result.evaluation.p90_minutes["first"],
            result.evaluation.last_minutes or 0.0,
            result.evaluation.p90_minutes["last"],
        )
        for result in results
    ]
    best = [min(column) for column in zip(*numbers, strict=True)]
    rows: list[Row] = []
    for name, own in zip(names, numbers, strict=True):
        cells = zip(own, best, strict=True)
        rows.append([name, *(Cell(f"{minutes:.2f}", BEST if minutes == least else "") for minutes, least in cells)])
    return Table([heading, "first\nmean", "first\n90 %", "last\nmean", "last\n90 %"], rows)


def optimum_lines(comparison: Comparison) -> list[str]:
    """What the lower bound of the optimal policy proves, and how much each policy is above the best at most."""
    objective, of_late = comparison.problem.objective, comparison.problem.objective == LATE
    of_standards = not comparison.city.plain
    limit = f"{EVERY_POLICY} can be late less often than the lower end of optimal's interval."
    if of_standards:
        limit = f"{EVERY_POLICY} can miss fewer standards than the lower end of optimal's interval."
    if not of_late:
        limit = (
            f"{EVERY_POLICY} can bring {objective_words(objective)} below the lower end of optimal's interval of it."
        )
    gaps = [
        f"{result.name} {100.0 * result.gap_to_optimum:.2f} %"
        for result in comparison.results
        if result.gap_to_optimum is not None and not result.is_optimum
    ]
    what = "Late more often than" if of_late and not of_standards else "Above"
    return [limit, f"{what} the best possible, at most: {', '.join(gaps)}." if gaps else ""]


def rule_table(comparison: Comparison) -> Table:
    """The late fraction of each policy for the incidents of each rule."""
    results = comparison.results
    decimals = decimals_for(100.0 * late for result in results for late in result.late_by_rule.values())
    rows: list[Row] = [
        [
            policy_cell(result.name, converged=result.converged),
            *(in_decimals(100.0 * late, decimals) for late in result.late_by_rule.values()),
        ]
        for result in results
    ]
    return Table(["policy", *(rule.replace(" in ", "\nin ") for rule in results[0].late_by_rule)], rows)


def station_table(comparison: Comparison) -> Table:
    """The share of all trucks sent that comes from each station, and how busy its trucks are, for every policy."""
    results = comparison.results
    evaluations = [result.evaluation for result in results]
    rows = [
        [
            station.station_id,
            str(station.trucks),
            *(f"{100.0 * of.dispatch_share[i]:6.2f}  {100.0 * of.busy_fractions[i]:6.2f}" for of in evaluations),
        ]
        for i, station in enumerate(comparison.city.stations)
    ]
    rows.append(["outside", "", *(f"{100.0 * of.outside_share:6.2f}  {'':6}" for of in evaluations)])
    headings = ["station", "trucks", *(f"{visible(result.name)}\nsent %  busy %" for result in results)]
    return Table(headings, rows, has_foot=True)


def weight_table(points: Sequence[WeightResult], *, of_standards: bool = False) -> Table:
    """The weights of one policy, with what each costs in late fraction and saves in minutes against weight 0."""
    decimals = decimals_for(100.0 * point.late_fraction for point in points)
    finer = decimals_for((100.0 * point.more_late for point in points[1:]), significant=2)
    sure = certainty(points[0].result.proven)
    columns = ("late\n%", f"{sure}\ninterval, %", "response\nmean min", "more late\n% points", "saved\nmin", "time\ns")
    if of_standards:
        columns = ("missed\nper 100", f"{sure}\ninterval", columns[2], "more missed\nper 100", *columns[4:])
    rows: list[Row] = [
        (
            policy_cell(f"{point.weight:g}", converged=point.result.converged),
            in_decimals(100.0 * point.late_fraction, decimals),
            outward(point.result.lower, point.result.upper, decimals + 1),
            f"{point.mean_minutes:.3f}",
            "" if point is points[0] else f"{round(100.0 * point.more_late, finer) + 0.0:.{finer}f}",
            "" if point is points[0] else f"{round(point.minutes_saved, 3) + 0.0:.3f}",
            f"{point.result.seconds:.3f}",
        )
        for point in points
    ]
    return Table(["weight", *columns], rows)


def fewer_words(part: float) -> str:
    """The part of late incidents avoided, in percent; one that is negative can have any size."""
    share = round(100.0 * part, 2) + 0.0  # no -0.00
    return f"{share:.2f}" if share > -100.0 else f"{share:.1f}" if share > -1e5 else f"{share:.1e}"


def policy_cell(name: str, *, converged: bool) -> Cell:
    """The name of a policy in a table, with a warning if it did not converge."""
    return Cell(name, warning="" if converged else "not converged")
