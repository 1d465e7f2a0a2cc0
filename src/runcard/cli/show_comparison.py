"""Plans, or weights of a minute, side by side, for the terminal; the best of each column stands out."""

from collections.abc import Iterable, Mapping, Sequence

from runcard.assess.assessment import Assessment
from runcard.assess.outcome import FleetOutcome
from runcard.assess.policy_choice import PolicyChoice
from runcard.assess.tables import (
    arrival_table,
    arrivals_of,
    fewer_words,
    optimum_lines,
    period_table,
    policy_table,
    rule_table,
    standard_table,
    station_table,
    why_table,
)
from runcard.cli.terminal import make_console
from runcard.outputs.weights import weight_of, weight_table
from runcard.plan.words import and_list, certainty, city_line, incidents_a_day, kind_line, table_words


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
    console.print(f"{table_words(city).in_period} in each period:", style="bold")
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
        which = and_list([f"the {word}" for word in arrivals_of(fleets).values()])
        make_console().print(f"Minutes until {which} {truck} are there:", style="bold")
        make_console().print(arrival_table(fleets, names, heading))
