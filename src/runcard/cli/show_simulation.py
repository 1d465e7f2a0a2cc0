"""What simulations found, for the terminal."""

from math import isfinite

import numpy as np
from rich.text import Text

from runcard.city.model import City
from runcard.cli.tables import BEST, SplitTable, city_line
from runcard.cli.terminal import make_console
from runcard.cli.visible import visible
from runcard.outputs.simulate import ARRIVALS, Stress, survives
from runcard.outputs.words import counted, decimals_of
from runcard.simulate.result import Interval, Simulation


def print_simulation(city: City, found: Simulation) -> None:
    """Print what policies do in one scenario."""
    console = make_console()
    console.print(city_line(city), style="bold")
    console.print(simulation_line(found))
    console.print(simulation_table(found))
    console.print("How much of the time trucks are away, and how often they are sent:", style="bold")
    console.print(work_table(found))


def print_stress(stress: Stress) -> None:
    """Print the scenarios side by side, and what they are."""
    console, first = make_console(), stress.simulations[0]
    console.print(city_line(stress.city), style="bold")
    console.print(f"Does the gain over {first.policies[0].name} survive?", style="bold")
    console.print(stress_table(stress))
    console.print(
        *(f"{one.scenario.name}: {one.scenario.title}." for one in stress.simulations),
        *(f"{name}: not possible here: {reason}." for name, reason in stress.not_possible),
        "± is half of a 95 % interval; every policy met the same incidents and delays. "
        "Per cent beside yes: what is left of the gain in the paper's model.",
        sep="\n",
    )
    others = range(1, len(first.policies))
    if any(survives(one.improvement(number)) == "not clear" for one in stress.simulations for number in others):
        console.print("Not clear: the gain is smaller than its error; more --incidents may tell.")


def with_error(given: Interval, decimals: int, times: float = 1.0) -> str:
    """A number with what it may be off by: "5.20 ± 0.03"; "?" where nothing is known about that."""
    half = f"{times * given.half:.{decimals}f}" if isfinite(given.half) else "?"
    return f"{times * given.mean:.{decimals}f} ± {half}"


def late_words(given: Interval) -> str:
    """A late fraction in percent, with as many decimals as its error asks for."""
    least, significant = (given.half, 1) if isfinite(given.half) else (given.mean, 3)
    return with_error(given, decimals_of(least, significant=significant), 100.0)


def simulation_line(simulation: Simulation) -> str:
    """A simulation in one line."""
    first = simulation.policies[0]
    return (
        f"{simulation.scenario.name}: {simulation.scenario.title}. {counted(first.num_incidents, 'incident')} for each "
        f"policy in {len(first.batches):,} batch{'es' if len(first.batches) > 1 else ''}, seed {simulation.seed}; "
        "± is half of a 95 % interval."
    )


def simulation_table(simulation: Simulation) -> SplitTable:
    """The late fraction and the arrivals of each policy."""
    arrivals = [(which, of) for which in ("first", "last") for of in ARRIVALS]
    headings = ["policy", "late, %", "fewer late\nthan first, %", *(f"{which}, {of}\nmin" for which, of in arrivals)]
    rows: list[list[str | Text]] = []
    best = min(result.late_fraction.mean for result in simulation.policies)
    for number, result in enumerate(simulation.policies):
        name = Text(visible(result.name), style=BEST if result.late_fraction.mean == best else "")
        fewer = with_error(simulation.improvement(number), 1, 100.0) if number else ""
        minutes = [with_error(result.minutes(f"{which}_{of}"), 2) for which, of in arrivals]
        rows.append([name, late_words(result.late_fraction), fewer, *minutes])
    return SplitTable(headings, rows)


def work_table(simulation: Simulation) -> SplitTable:
    """How busy the trucks of each station are, and how often they are sent."""
    results = simulation.policies
    headings = [f"{visible(result.name)}\n{of}" for result in results for of in ("busy, %", "sent a day")]
    stations, rows = np.array(simulation.station_of), []
    for station in dict.fromkeys(simulation.station_of):
        here = stations == station
        label = station if here.sum() == 1 else f"{station} ({here.sum()} trucks)"
        work = [(result.busy_fractions[here].mean(), result.dispatches_per_day[here].sum()) for result in results]
        rows.append([label, *(cell for busy, sent in work for cell in (f"{100.0 * busy:.1f}", f"{sent:.2f}"))])
    return SplitTable(["station", *headings], rows)


def stress_table(stress: Stress) -> SplitTable:
    """The late fractions of all policies in each scenario, and whether the gain over the first survives."""
    simulations = stress.simulations
    names = [visible(result.name) for result in simulations[0].policies]
    headings, rows = ["scenario", f"{names[0]}\nlate, %"], []
    for name in names[1:]:
        headings += [f"{name}\nlate, %", f"{name}\nfewer late, %", f"{name}\nsurvives"]
    for one in simulations:
        cells: list[str | Text] = [one.scenario.name, late_words(one.policies[0].late_fraction)]
        for number in range(1, len(names)):
            gain = one.improvement(number)
            word, left = survives(gain), stress.gain_left(one, number)
            share = "" if left is None or word != "yes" else f", {100.0 * left:.0f} %"
            cells += [
                late_words(one.policies[number].late_fraction),
                with_error(gain, 1, 100.0),
                Text(f"{word}{share}", style=BEST if word == "yes" else "bold red" if word.startswith("no,") else ""),
            ]
        rows.append(cells)
    return SplitTable(headings, rows)
