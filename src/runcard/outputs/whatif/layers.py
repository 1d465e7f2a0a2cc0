"""The map of a what-if: who gains, who loses, and what areas got before and after (layers as in `page/map.js`).

Changes are in seven classes around "about the same", whose limits are steps of 1, 2, 5, 10, ... below the largest
change. Blue is a gain, hatched orange a loss.
"""

from collections.abc import Sequence
from math import floor, log10
from typing import Any, Final

from runcard.assess.area_changes import AreaChange
from runcard.city.model import City
from runcard.outputs.ground import ground_of, stations_of
from runcard.outputs.whatif.changes import truck_changes, unit_moves
from runcard.outputs.whatif.result import Effect
from runcard.outputs.whatif.words import a_year, closest_words, signed, span
from runcard.page.colours import Classes, classes_of, diverging, sequential
from runcard.plan.words import misses

LADDER: Final = (1.0, 2.0, 5.0)
UNKNOWN: Final = "too few incidents to tell"


def map_data(effect: Effect) -> dict[str, Any]:
    """All that the map shows, ready for JSON."""
    what = misses(effect.before)
    units = " or ".join(effect.changed_kinds)
    ground = ground_of(effect.after)
    ground["stations"] = _stations(effect, ground["stations"])
    missed = [100.0 * area.more_missed.value for area in effect.areas]
    minutes = [area.minutes_after - area.minutes_before for area in effect.areas]
    both = [100.0 * one for area in effect.areas for one in (area.missed_before, area.missed_after)]
    levels = classes_of(both, num=6, label=lambda limit: f"{limit:.6g}")
    layers = [
        _changes(effect, "change", f"Change in {what} per 100 incidents", missed, ("fewer", "more")),
        _changes(effect, "minutes", f"Change in minutes to the first {units}", minutes, ("quicker", "slower")),
        _level(effect, "before", f"{what.capitalize()} per 100 incidents, before", levels, "missed_before"),
        _level(effect, "after", f"{what.capitalize()} per 100 incidents, after", levels, "missed_after"),
    ]
    _add_unknown([one["id"] for one in ground["areas"]], layers)
    note = "Blue: the area gains. Hatched orange: it loses."
    return {"ground": ground, "layers": layers, "note": note}


def _add_unknown(node_ids: Sequence[str], layers: Sequence[dict[str, Any]]) -> None:
    """Give the areas that say nothing a class of their own, so that no print takes them for "about the same"."""
    for layer in layers:
        unknown = [node_id for node_id in node_ids if node_id not in layer["areas"]]
        if unknown:
            layer["legend"].append({"colour": "#FFFFFF", "hatch": ".", "label": UNKNOWN})
        for node_id in unknown:
            lines = [f"Area {node_id}", UNKNOWN]
            layer["areas"][node_id] = {"class": len(layer["legend"]) - 1, "lines": lines, "mark": ""}


def _stations(effect: Effect, after: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The stations of both cities; new, changed and closed ones have a `state`."""
    old = {one["id"]: one for one in stations_of(effect.before)}
    new = {one["id"]: one for one in after}
    found = []
    for station_id in dict.fromkeys([*old, *new]):
        one = dict(new.get(station_id) or old[station_id])
        if station_id not in new:
            one["state"] = "closed"
        elif station_id not in old:
            one["state"] = "new"
        elif one["units"] != old[station_id]["units"]:
            one["state"] = "changed"
        found.append(one)
    return found


def station_change_lines(before: City, after: City) -> dict[str, list[str]]:
    """What happens at each station that changes, for its label on the map."""
    lines: dict[str, list[str]] = {}
    for unit, start, end in unit_moves(before, after):
        if start is not None:
            lines.setdefault(start, []).append(f"{unit.unit_id} {'goes' if end is None else f'moves to {end}'}")
        if end is not None:
            lines.setdefault(end, []).append(f"{unit.unit_id} {'is new' if start is None else f'comes from {start}'}")
    for station_id, trucks, left in truck_changes(before, after):
        lines.setdefault(station_id, []).append(f"{left} trucks instead of {trucks}")
    return lines


def _lines(effect: Effect, area: AreaChange) -> list[str]:
    """What the label of an area says."""
    what, between = misses(effect.before), span(area.per_year, 1.0, 1, sign=True)
    noise = f"95 % sure: {between}" if between else "too few simulated incidents to be sure"
    return [
        f"Area {area.name or area.node_id}",
        f"{what} per 100 incidents: {100.0 * area.missed_before:.1f} before, {100.0 * area.missed_after:.1f} after "
        f"({signed(100.0 * area.more_missed.value, 1)})",
        f"first {' or '.join(effect.changed_kinds)}: {area.minutes_before:.2f} min before, "
        f"{area.minutes_after:.2f} after",
        f"closest station: {closest_words(area)}",
        f"{area.incidents_after:.3g} incidents a day: {signed(area.per_year.value, 1)} {what} {a_year(effect.period)}",
        *([] if area.more_missed.half == 0.0 else [noise if area.is_clear else f"no clear change; {noise}"]),
    ]


def change_classes(values: Sequence[float], words: tuple[str, str]) -> Classes:
    """Seven classes around 0 for changes, with `words` for less and more."""
    largest = max((abs(value) for value in values), default=0.0)
    if largest == 0.0:
        return Classes((), ("no change",))
    power = floor(log10(largest))
    steps = [one * 10.0**place for place in range(power - 2, power + 1) for one in LADDER]
    limits = [float(f"{step:.6g}") for step in steps if step <= largest * (1.0 + 1e-9)][-3:]
    low, middle, high = (f"{limit:g}" for limit in limits)
    less, more = words
    down = (f"at least {high} {less}", f"{middle} to {high} {less}", f"{low} to {middle} {less}")
    up = (f"{low} to {middle} {more}", f"{middle} to {high} {more}", f"at least {high} {more}")
    return Classes((*(-limit for limit in reversed(limits)), *limits), (*down, f"within {low}: about the same", *up))


def _changes(
    effect: Effect, layer_id: str, title: str, values: Sequence[float], words: tuple[str, str]
) -> dict[str, Any]:
    classes = change_classes(values, words)
    legend = classes.legend(diverging(len(classes)))
    clear = [area.is_clear or layer_id != "change" for area in effect.areas]
    if not all(clear) and not effect.exact and len(legend) > 1:
        legend[classes.of(0.0)]["label"] += ", or not clear"
    # An area whose change may be noise has the colour of no change.
    numbers = [classes.of(value if sure else 0.0) for value, sure in zip(values, clear, strict=True)]
    return _layer(effect, layer_id, title, legend, numbers)


def _level(effect: Effect, layer_id: str, title: str, classes: Classes, field: str) -> dict[str, Any]:
    numbers = [classes.of(100.0 * getattr(area, field)) for area in effect.areas]
    return _layer(effect, layer_id, title, classes.legend(sequential(len(classes))), numbers)


def _layer(
    effect: Effect, layer_id: str, title: str, legend: list[dict[str, str]], numbers: Sequence[int]
) -> dict[str, Any]:
    areas = {
        area.node_id: {"class": number, "lines": _lines(effect, area), "mark": ""}
        for area, number in zip(effect.areas, numbers, strict=True)
    }
    stations = station_change_lines(effect.before, effect.after)
    return {"id": layer_id, "title": title, "legend": legend, "areas": areas, "outlined": [], "stations": stations}
