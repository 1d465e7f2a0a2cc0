"""What simulations found, for the terminal."""

from collections.abc import Sequence

from runcard.assess.assessment import pairs_by_hour
from runcard.assess.policy_choice import PolicyChoice
from runcard.city.model import City
from runcard.cli.show_comparison import print_files
from runcard.cli.terminal import make_console
from runcard.plan.words import PLUS_MINUS, city_line, counted, table_words
from runcard.simulate.result import Simulation
from runcard.simulate.tables import (
    simulated_department_table,
    simulated_standard_table,
    simulation_line,
    simulation_table,
    stress_arrivals,
    stress_standards,
    stress_table,
    survives,
    with_error,
    work_table,
)
from runcard.table import visible


def print_simulation(city: City, found: Simulation) -> None:
    """Print what policies do in one scenario."""
    console = make_console()
    console.print(city_line(city), style="bold")
    console.print(simulation_line(found))
    if len(found.kinds) > 1:
        console.print(simulated_department_table(found))
    if not city.plain:
        console.print("Missed, % of the incidents of each type:", style="bold")
        console.print(simulated_standard_table(found))
    for kind, one in found.kinds.items():
        if not city.plain:
            console.print(f"{kind}: {counted(one.policies[0].num_incidents, 'incident')}", style="bold")
        console.print(simulation_table(one, table_words(city)))
        they = "trucks" if city.plain else "they"
        console.print(f"How much of the time {they} are away, and how often they are sent:", style="bold")
        console.print(work_table(one))


def print_stress(city: City, simulations: Sequence[Simulation], not_possible: Sequence[tuple[str, str]]) -> None:
    """Print the scenarios side by side, and what they are."""
    console, first = make_console(), simulations[0]
    console.print(city_line(city), style="bold")
    console.print(f"Does the gain over {first.names[0]} survive?", style="bold")
    console.print(stress_table(city, simulations))
    if not city.plain:
        console.print(f"Missed, % of the incidents of each type: {', '.join(map(visible, first.names))}", style="bold")
        console.print(stress_standards(simulations))
    console.print("Minutes until the first and the last truck are there, mean and 90th percentile:", style="bold")
    console.print(stress_arrivals(city, simulations))
    console.print(
        *(f"{one.scenario.name}: {one.scenario.title}." for one in simulations),
        *(f"{name}: not possible here: {reason}." for name, reason in not_possible),
        f"{PLUS_MINUS}; every policy met the same incidents and delays. "
        "Per cent beside yes: what is left of the gain in the paper's model.",
        sep="\n",
    )
    others = range(1, len(first.names))
    if any(survives(one.improvement(number)) == "not clear" for one in simulations for number in others):
        console.print("Not clear: the gain is smaller than its error; more --incidents may tell.")


def print_periods(city: City, found: Sequence[Simulation], choices: Sequence[PolicyChoice]) -> None:
    """Print what knowing the hour gains, which scenarios have rates of their own, and which policy a file holds."""
    console = make_console()
    for one in found if city.has_periods else ():
        where = f" in {one.scenario.name}" if len(found) > 1 else ""
        for blind, knowing in pairs_by_hour(choices):
            gain = with_error(one.gain_over(blind, knowing), 2, 100.0)
            labels = choices[knowing].label, choices[blind].label
            console.print(f"Knowing the hour{where}: {labels[0]} misses {gain} % less than {labels[1]}.")
        if one.scenario.rates or one.scenario.log is not None:
            console.print(f"{one.scenario.name} has rates of its own, in place of those of the periods.")
    print_files(choices)
