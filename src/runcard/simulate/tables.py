"""Simulations as tables: one scenario with all that was found, or many side by side."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite, isnan
from typing import Final

import numpy as np

from runcard.city.model import City
from runcard.interval import Interval
from runcard.plan.words import LATE_WORDS, MISSED_WORDS, PLUS_MINUS, Missed, counted, decimals_of, table_words
from runcard.simulate.result import KindSimulation, Simulation
from runcard.simulate.scenario import PAPER
from runcard.table import BAD, BEST, Cell, Row, Table, html_note, visible

SHOWN: Final = ("mean", "median", "p90")
"""What is said about the minutes until the first and the last truck are there."""


def survives(improvement: Interval) -> str:
    """Whether a gain survives: its interval is above 0, below it, or on both sides."""
    return "yes" if improvement.low > 0.0 else "no, worse" if improvement.high < 0.0 else "not clear"


def gain_left(simulations: Sequence[Simulation], one: Simulation, number: int) -> float | None:
    """The gain of a policy in a scenario as a part of that in the paper's model; None where there is none."""
    for other in simulations:
        gain = other.improvement(number).value
        if other.scenario.name == PAPER and gain > 0.0:
            return one.improvement(number).value / gain
    return None


def with_error(given: Interval, decimals: int, times: float = 1.0) -> str:
    """A number with what it may be off by: "5.20 ± 0.03"; "?" where nothing is known about that."""
    half = f"{times * given.half:.{decimals}f}" if isfinite(given.half) else "?"
    return f"{times * given.value:.{decimals}f} ± {half}"


def late_words(given: Interval) -> str:
    """A late fraction in percent, with as many decimals as its error asks for."""
    if isnan(given.value):
        return "no incidents"
    least, significant = (given.half, 1) if isfinite(given.half) else (given.value, 3)
    return with_error(given, decimals_of(least, significant=significant), 100.0)


def simulation_line(found: Simulation) -> str:
    """A simulation in one line."""
    batches = found.first.policies[0].batches
    return (
        f"{found.scenario.name}: {found.scenario.title}. {counted(found.num_incidents, 'incident')} for each "
        f"policy in {len(batches):,} batch{'es' if len(batches) > 1 else ''}, seed {found.seed}; {PLUS_MINUS}."
    )


def simulation_html(found: Simulation) -> str:
    """A simulation as HTML: the tables of all kinds together, of every standard, and of each kind by itself."""
    tables = [simulated_department_table(found)] if len(found.kinds) > 1 else []
    tables += [simulated_standard_table(found)] if found.order else []
    for kind, of_kind in found.kinds.items():
        title = kind if len(found.kinds) > 1 else ""
        tables.append(replace(simulation_table(of_kind, MISSED_WORDS if found.order else LATE_WORDS), title=title))
    line = simulation_line(found) + ("" if found.precise else " Not as precise as was asked for.")
    return f"<div>{html_note(line)}{''.join(table.html() for table in tables)}</div>"


def simulated_department_table(found: Simulation) -> Table:
    """The missed standards of all kinds together, for each policy."""
    best = min(found.missed(number).value for number in range(len(found.names)))
    rows: list[Row] = []
    for number, name in enumerate(found.names):
        missed = found.missed(number)
        fewer = with_error(found.improvement(number), 1, 100.0) if number else ""
        rows.append([Cell(name, BEST if missed.value == best else ""), late_words(missed), fewer])
    return Table(["policy", "missed per 100", "fewer missed\nthan first, %"], rows)


def simulated_standard_table(found: Simulation) -> Table:
    """How often each policy misses each standard."""
    by_policy = [dict(found.standards(number)) for number in range(len(found.names))]
    rows: list[Row] = [
        [
            Cell(f"{one.type}: {one.kind}", below=[one.rule]),
            *(late_words(missed[one]) for missed in by_policy),
        ]
        for one in by_policy[0]
    ]
    return Table(["standard", *map(visible, found.names)], rows)


def simulation_table(simulation: KindSimulation, words: Missed) -> Table:
    """The late fraction, or the missed standards, and the arrivals of each policy."""
    arrivals = [(which, of) for which in ("first", "last") for of in SHOWN]
    headings = ["policy", words.column, f"fewer {words.called}\nthan first, %"]
    headings += [f"{which}, {of}\nmin" for which, of in arrivals]
    rows: list[Row] = []
    best = min(result.missed.value for result in simulation.policies)
    for number, result in enumerate(simulation.policies):
        name = Cell(result.name, BEST if result.missed.value == best else "")
        fewer = with_error(simulation.improvement(number), 1, 100.0) if number else ""
        minutes = [with_error(result.minutes(f"{which}_{of}"), 2) for which, of in arrivals]
        rows.append([name, late_words(result.missed), fewer, *minutes])
    return Table(headings, rows)


def work_table(simulation: KindSimulation) -> Table:
    """How busy the trucks of each station are, and how often they are sent."""
    results = simulation.policies
    headings = [f"{visible(result.name)}\n{of}" for result in results for of in ("busy, %", "sent a day")]
    stations, rows = np.array(simulation.station_of), []
    for station in dict.fromkeys(simulation.station_of):
        here = stations == station
        label = station if here.sum() == 1 else f"{station} ({here.sum()} trucks)"
        work = [(result.busy_fractions[here].mean(), result.dispatches_per_day[here].sum()) for result in results]
        rows.append([label, *(cell for busy, sent in work for cell in (f"{100.0 * busy:.1f}", f"{sent:.2f}"))])
    return Table(["station", *headings], rows)


def stress_table(city: City, simulations: Sequence[Simulation]) -> Table:
    """The late fractions of all policies in each scenario, and whether the gain over the first survives."""
    names = [visible(name) for name in simulations[0].names]
    words = table_words(city)
    headings, rows = ["scenario", f"{names[0]}\n{words.column}"], []
    for name in names[1:]:
        headings += [f"{name}\n{words.column}", f"{name}\nfewer {words.called}, %", f"{name}\nsurvives"]
    for one in simulations:
        cells: list[str | Cell] = [one.scenario.name, late_words(one.missed(0))]
        for number in range(1, len(names)):
            gain = one.improvement(number)
            word, left = survives(gain), gain_left(simulations, one, number)
            share = "" if left is None or word != "yes" else f", {100.0 * left:.0f} %"
            cells += [
                late_words(one.missed(number)),
                with_error(gain, 1, 100.0),
                Cell(f"{word}{share}", BEST if word == "yes" else BAD if word.startswith("no,") else ""),
            ]
        rows.append(cells)
    return Table(headings, rows)


def stress_standards(simulations: Sequence[Simulation]) -> Table:
    """How often each standard is missed in each scenario, for all policies in turn."""
    headings, rows = ["scenario"], []
    for one in simulations:
        by_policy = [one.standards(number) for number in range(len(one.names))]
        headings = ["scenario", *(f"{visible(own.type)}: {visible(own.kind)}\n{own.rule}" for own, _ in by_policy[0])]
        cells = (
            ", ".join("-" if isnan(missed.value) else f"{100.0 * missed.value:.2f}" for _, missed in of_standard)
            for of_standard in zip(*by_policy, strict=True)
        )
        rows.append([one.scenario.name, *cells])
    return Table(headings, rows)


def stress_arrivals(city: City, simulations: Sequence[Simulation]) -> Table:
    """When the first and the last truck of each kind are there in each scenario."""
    names = [visible(name) for name in simulations[0].names]
    headings = ["scenario", *(f"{name}\n{which}" for name in names for which in ("first", "last"))]
    rows = []
    for one in simulations:
        for kind, found in one.kinds.items():
            minutes = (
                f"{result.minutes(f'{which}_mean').value:.2f}, {result.minutes(f'{which}_p90').value:.2f}"
                for result in found.policies
                for which in ("first", "last")
            )
            rows.append([one.scenario.name if city.plain else f"{one.scenario.name}: {kind}", *minutes])
    return Table(headings, rows)
