"""How busy units are before and after changes of a city."""

from typing import NamedTuple

from runcard.assess.change import FleetChange
from runcard.plan.words import unit_name


class WorkChange(NamedTuple):
    """How busy a unit is under the recommended policy; None where it is not there.

    The units of one kind and station share their work, so each has the mean of its station. Where there is no roster,
    a station stands for its trucks.
    """

    unit_id: str
    kind: str
    station_before: str | None
    station_after: str | None
    busy_before: float | None
    busy_after: float | None


def work_of(kind: str, change: FleetChange) -> list[WorkChange]:
    """How busy each unit of a kind is, by how busy the units of its station are."""
    homes, busy = [], []
    for fleet in (change.before, change.after):
        homes.append({unit_name(fleet.city, unit): unit.station_id for unit in fleet.city.units})
        busy.append(dict(zip(fleet.problem.station_ids, fleet.busy_fractions.tolist(), strict=True)))
    units = []
    for unit_id in dict.fromkeys([*homes[0], *homes[1]]):
        old, new = (of.get(unit_id) for of in homes)
        parts = None if old is None else busy[0][old], None if new is None else busy[1][new]
        units.append(WorkChange(unit_id, kind, old, new, *parts))
    return units
