"""What changes change, as tables: by standard, by area and by unit."""

from collections.abc import Sequence

from runcard.assess.area_changes import AreaChange
from runcard.assess.change import Change
from runcard.outputs.whatif.page import changed_units
from runcard.outputs.whatif.result import Effect
from runcard.outputs.whatif.words import closest_words, signed, span, standard_words
from runcard.plan.words import misses
from runcard.table import Cell, Row, Table


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


def unit_table(effect: Effect, most: int) -> Table:
    """How busy the units are that change the most."""
    rows = []
    for unit in changed_units(effect, most):
        stations = dict.fromkeys(one for one in (unit.station_before, unit.station_after) if one is not None)
        busy = ["" if one is None else f"{100.0 * one:.1f}" for one in (unit.busy_before, unit.busy_after)]
        rows.append([unit.unit_id, unit.kind, ", then ".join(stations), *busy])
    return Table(["unit", "kind", "station", "busy\nbefore", "after"], rows)
