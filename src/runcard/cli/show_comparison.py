"""Plans, or weights of a minute, side by side, for the terminal; the best of each column stands out."""

from collections.abc import Iterable, Mapping, Sequence

from runcard.assess.assessment import Assessment
from runcard.assess.outcome import FleetOutcome
from runcard.assess.policy_choice import PolicyChoice
from runcard.assess.tables import fewer_words, period_table, policy_cell, policy_table, standard_table, why_table
from runcard.city.model import LATE
from runcard.cli.terminal import make_console
from runcard.outputs.weights import minutes_saved, more_late, weight_of
from runcard.plan.words import (
    certainty,
    city_line,
    decimals_for,
    in_decimals,
    incidents_a_day,
    kind_line,
    objective_words,
    outward,
)
from runcard.table import BEST, Cell, Row, Table, visible

EVERY_POLICY = "No policy that sends as many trucks as incidents ask for, or all that are idle,"


def print_files(choices: Iterable[PolicyChoice]) -> None:
    """Print which policy each file holds."""
    for choice in choices:
        if choice.file is not None:
            make_console().print(f"{choice.label} holds {choice.name}.", soft_wrap=True)


def print_assessment(found: Assessment) -> None:
    """Print the plans side by side: of all periods and kinds together, every standard, then each period or kind."""
    console, city = make_console(), found.city
    console.print(city_line(city), style="bold")
    print_files(found.choices)
    if city.has_periods:
        console.print("The mean of the week:", style="bold")
        console.print(policy_table(found, response=True, above_best=True))
    elif len(city.kinds) > 1:
        console.print(policy_table(found, response=False, above_best=True))
    if not city.plain:
        sure = certainty(found.proven)
        console.print(f"Missed, % of the incidents of each type, with {sure} intervals and mean minutes:", style="bold")
        console.print(standard_table(found))
    if city.has_periods:
        _print_periods(found)
    for kind in () if city.has_periods else city.kinds:
        of_kind = found.of_kind(kind)
        if not city.plain:
            console.print(kind_line(of_kind.city, kind), style="bold")
        _print_kind(of_kind)
    console.print(why_table(city, {outcome.name: outcome.why_missed for outcome in found}))


def _print_periods(found: Assessment) -> None:
    """Print what plans miss in each period, what knowing the hour gains, and which hours a period has."""
    console, city = make_console(), found.city
    console.print(f"{'Late, %,' if city.plain else 'Missed per 100 incidents'} in each period:", style="bold")
    console.print(period_table(found))
    for blind, knowing, gain in found.knowing_the_hour:
        console.print(f"Knowing the hour: {knowing.name} misses {fewer_words(gain)} % less than {blind.name}.")
    for period in city.periods:
        rate = incidents_a_day(found.first.cities[period.name].incidents_per_day)
        share = 100.0 * found.first.shares[period.name]
        console.print(f"{period.name}: {period.words}; {rate}, {share:.1f} % of all.")
    console.print("Every period is taken as if it lasted for ever; simulate switches between them as time passes.")


def _print_kind(found: Assessment) -> None:
    """Print what plans achieve with the one kind of a city, and what its stations do."""
    console, fleets = make_console(), found.fleets
    console.print(policy_table(found, response=True, objective=True))
    _print_arrivals(fleets, found.names, truck=found.city.kinds[0])
    if any(fleet.is_optimum for fleet in fleets):
        console.print(*optimum_lines(found), "", sep="\n")
    if found.city.plain and fleets[0].standards:
        console.print("Late, %, by how many trucks must be there and when:", style="bold")
        console.print(rule_table(found))
    console.print("Share of all trucks sent, and how much of the time a truck is busy:", style="bold")
    console.print(station_table(found))


def print_weights(curves: Mapping[str, Assessment]) -> None:
    """Print the weights of each policy."""
    console = make_console()
    console.print(city_line(next(iter(curves.values())).city), style="bold")
    for policy, found in curves.items():
        console.print()
        console.print(f"{policy} for late + weight × minutes:", style="bold")
        console.print(weight_table(found))
        _print_arrivals(found.fleets, [f"{weight_of(outcome):g}" for outcome in found], "weight")
    console.print("Weight: how many late incidents a minute of mean response counts as. With 0 only late ones count.")


def _print_arrivals(
    fleets: Sequence[FleetOutcome], names: Sequence[str], heading: str = "policy", *, truck: str = "truck"
) -> None:
    """Print when the first and the last truck are there, or that there are too many teams for that."""
    if not fleets[0].evaluation.p90_minutes:
        make_console().print("Too many teams to find when the last truck is there: simulate says it.")
    else:
        make_console().print(f"Minutes until the first and the last {truck} are there:", style="bold")
        make_console().print(arrival_table(fleets, names, heading))


def arrival_table(fleets: Sequence[FleetOutcome], names: Sequence[str], heading: str = "policy") -> Table:
    """The mean and the 90th percentile of the first and the last arrival; the best of each column stands out."""
    numbers = [
        (
            of.evaluation.mean_response_minutes or 0.0,
            of.evaluation.p90_minutes["first"],
            of.evaluation.last_minutes or 0.0,
            of.evaluation.p90_minutes["last"],
        )
        for of in fleets
    ]
    best = [min(column) for column in zip(*numbers, strict=True)]
    rows: list[Row] = []
    for name, minutes in zip(names, numbers, strict=True):
        cells = zip(minutes, best, strict=True)
        rows.append([name, *(Cell(f"{mean:.2f}", BEST if mean == least else "") for mean, least in cells)])
    return Table([heading, "first\nmean", "first\n90 %", "last\nmean", "last\n90 %"], rows)


def optimum_lines(found: Assessment) -> list[str]:
    """What the lower bound of the optimal policy proves, and how much each policy is above the best at most."""
    objective, of_standards = found.city.objective, not found.city.plain
    limit = f"{EVERY_POLICY} can be late less often than the lower end of optimal's interval."
    if of_standards:
        limit = f"{EVERY_POLICY} can miss fewer standards than the lower end of optimal's interval."
    if objective != LATE:
        limit = (
            f"{EVERY_POLICY} can bring {objective_words(objective)} below the lower end of optimal's interval of it."
        )
    gaps = [(outcome, found.gap_to_optimum(outcome)) for outcome in found if not outcome.optimum]
    words = [f"{outcome.name} {100.0 * gap:.2f} %" for outcome, gap in gaps if gap is not None]
    what = "Late more often than" if objective == LATE and not of_standards else "Above"
    return [limit, f"{what} the best possible, at most: {', '.join(words)}." if words else ""]


def rule_table(found: Assessment) -> Table:
    """The late fraction of each policy for the incidents of each rule."""
    fleets = found.fleets
    decimals = decimals_for(100.0 * late for fleet in fleets for late in fleet.late_by_rule.values())
    rows: list[Row] = [
        [
            policy_cell(outcome.name, converged=not outcome.failed),
            *(in_decimals(100.0 * late, decimals) for late in fleet.late_by_rule.values()),
        ]
        for outcome, fleet in zip(found, fleets, strict=True)
    ]
    return Table(["policy", *(rule.replace(" in ", "\nin ") for rule in fleets[0].late_by_rule)], rows)


def station_table(found: Assessment) -> Table:
    """The share of all trucks sent that comes from each station, and how busy its trucks are, for every policy."""
    evaluations = [fleet.evaluation for fleet in found.fleets]
    rows = [
        [
            station.station_id,
            str(station.trucks),
            *(f"{100.0 * of.dispatch_share[i]:6.2f}  {100.0 * of.busy_fractions[i]:6.2f}" for of in evaluations),
        ]
        for i, station in enumerate(found.city.stations)
    ]
    rows.append(["outside", "", *(f"{100.0 * of.outside_share:6.2f}  {'':6}" for of in evaluations)])
    headings = ["station", "trucks", *(f"{visible(name)}\nsent %  busy %" for name in found.names)]
    return Table(headings, rows, has_foot=True)


def weight_table(found: Assessment) -> Table:
    """The weights of one policy, with what each costs in late fraction and saves in minutes against weight 0."""
    decimals = decimals_for(100.0 * outcome.missed.value for outcome in found)
    finer = decimals_for((100.0 * more_late(found, outcome) for outcome in found.outcomes[1:]), significant=2)
    sure = certainty(found.proven)
    columns = ("late\n%", f"{sure}\ninterval, %", "response\nmean min", "more late\n% points", "saved\nmin", "time\ns")
    if not found.city.plain:
        columns = ("missed\nper 100", f"{sure}\ninterval", columns[2], "more missed\nper 100", *columns[4:])
    rows: list[Row] = []
    for outcome in found:
        more, saved = 100.0 * more_late(found, outcome), minutes_saved(found, outcome)
        first = outcome is found.first
        rows.append(
            (
                policy_cell(f"{weight_of(outcome):g}", converged=not outcome.failed),
                in_decimals(100.0 * outcome.missed.value, decimals),
                outward(outcome.missed.low, outcome.missed.high, decimals + 1),
                f"{outcome.first_minutes:.3f}",
                "" if first else f"{round(more, finer) + 0.0:.{finer}f}",
                "" if first else f"{round(saved, 3) + 0.0:.3f}",
                f"{outcome.seconds:.3f}",
            )
        )
    return Table(["weight", *columns], rows)
