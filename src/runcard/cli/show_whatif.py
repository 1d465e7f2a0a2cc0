"""What changes of a department change, for the terminal: in words, by standard, by kind, by unit and by area."""

from collections.abc import Sequence

from rich.console import Console

from runcard.assess.change import Change
from runcard.assess.tables import why_table
from runcard.cli.terminal import make_console
from runcard.outputs.fit_file import AGREEMENT, FAULTS, care_words
from runcard.outputs.whatif.page import changed_units, losing_and_gaining
from runcard.outputs.whatif.result import AreaChange, Effect
from runcard.outputs.whatif.words import (
    a_year,
    area_words,
    arrival_lines,
    closest_words,
    headline,
    method,
    policy_words,
    signed,
    span,
    standard_words,
    why_parts,
    why_words,
)
from runcard.plan.words import city_line, misses
from runcard.table import Cell, Row, Table

MOST_ROWS = 5
"""Areas that gain, areas that lose, and twice as many units."""


def print_effect(effect: Effect) -> None:
    """Print what changes."""
    console = make_console()
    console.print(city_line(effect.before), style="bold")
    for line in effect.changes:
        console.print(f"- {line}", soft_wrap=True)
    console.print()
    print_care(console, effect.fit_faults)
    console.print(headline(effect), style="bold", soft_wrap=True)
    for line in arrival_lines(effect):
        console.print(line, soft_wrap=True)
    console.print(f"Closest-first: {headline(effect, 1)}", soft_wrap=True)
    console.print(" ".join([policy_words(effect), method(effect), *effect.notes]), soft_wrap=True)
    console.print()
    console.print("Missed, % of the incidents of each type, and mean minutes until the unit is there:", style="bold")
    console.print(standard_change_table(effect))
    if effect.policies[0].why_missed is not None:
        console.print(why_table(effect.before, why_parts(effect), heading=""))
    if why_words(effect):
        console.print(why_words(effect), soft_wrap=True)
    console.print()
    losers, gainers = losing_and_gaining(effect, MOST_ROWS)
    for title, areas in (("Areas that lose", losers), ("Areas that gain", gainers)):
        if areas:
            console.print(f"{title}, per 100 incidents, and the change {a_year(effect.period)}:", style="bold")
            console.print(area_table(effect, areas))
    if not effect.exact:
        console.print(area_words(effect), soft_wrap=True)
        console.print()
    console.print("How much of the time units are busy, %, the most changed first:", style="bold")
    console.print(unit_table(effect))
    print_faults(console, effect.fit_faults)


def print_care(console: Console, faults: Sequence[str]) -> None:
    """Print, before all numbers, that the city is badly fitted, if it is."""
    if faults:
        console.print(care_words(faults), soft_wrap=True)


def print_faults(console: Console, faults: Sequence[str]) -> None:
    """Print in which ways the city is badly fitted, if it is."""
    if faults:
        console.print()
        console.print(AGREEMENT, style="bold")
        for line in (FAULTS, *(f"- {fault}" for fault in faults)):
            console.print(line, soft_wrap=True)


def _cells(change: Change | None, times: float) -> list[str | Cell]:
    """Before, after and the change with its interval."""
    if change is None:
        return ["", "", ""]
    between = span(change.difference, times, 2, sign=True)
    cell = Cell(signed(times * change.difference.value, 2), below=[between] if between else [])
    return [f"{times * change.before.value:.2f}", f"{times * change.after.value:.2f}", cell]


def _beside(name: str, between: str) -> Cell:
    """The name of a row, beside the first line of a number that has its interval in a second one."""
    return Cell(name, below=[""] if between else [])


def _in_two_lines(words: str) -> Cell:
    """A standard, its type on a line of its own."""
    before, colon, after = words.partition(": ")
    return Cell(f"{before}:", below=[after]) if colon else Cell(words)


def standard_change_table(effect: Effect) -> Table:
    """Every standard under the recommended policy, and how it changes under closest-first."""
    headings = ["standard", "missed\nbefore", "after", "change", "minutes\nbefore", "after", "change"]
    headings.append("change with\nclosest-first")
    plain = effect.before.plain
    rows = [
        [
            _in_two_lines(standard_words(one.standard, plain=plain)),
            *_cells(one.missed, 100.0),
            *_cells(one.minutes, 1.0),
            _cells(other.missed, 100.0)[2],
        ]
        for one, other in zip(effect.policies[0].standards, effect.policies[1].standards, strict=True)
    ]
    return Table(headings, rows)


def area_table(effect: Effect, areas: Sequence[AreaChange]) -> Table:
    """What some areas get before and after."""
    what = misses(effect.before).replace(" ", "\n")
    headings = ["area", "closest\nstation", f"{what}\nbefore", "after", "minutes\nbefore", "after", "change\na year"]
    rows: list[Row] = [
        [
            _beside(area.name or area.node_id, span(area.per_year, 1.0, 1, sign=True)),
            closest_words(area),
            f"{100.0 * area.missed_before:.1f}",
            f"{100.0 * area.missed_after:.1f}",
            f"{area.minutes_before:.2f}",
            f"{area.minutes_after:.2f}",
            Cell(signed(area.per_year.value, 1), below=[*filter(None, [span(area.per_year, 1.0, 1, sign=True)])]),
        ]
        for area in areas
    ]
    return Table(headings, rows)


def unit_table(effect: Effect) -> Table:
    """How busy the units are that change the most."""
    rows = []
    for unit in changed_units(effect, 2 * MOST_ROWS):
        stations = dict.fromkeys(one for one in (unit.station_before, unit.station_after) if one is not None)
        busy = ["" if one is None else f"{100.0 * one:.1f}" for one in (unit.busy_before, unit.busy_after)]
        rows.append([unit.unit_id, unit.kind, ", then ".join(stations), *busy])
    return Table(["unit", "kind", "station", "busy\nbefore", "after"], rows)
