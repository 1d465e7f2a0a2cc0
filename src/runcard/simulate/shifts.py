"""The roster of a city, the numbers of its trucks, and which of them a scenario takes out of service, when."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from runcard.city.conditions import near
from runcard.city.model import City
from runcard.errors import InputError
from runcard.simulate.scenario import Scenario, Shift

SHIFT = np.dtype([("start", np.float64), ("minutes", np.float64), ("truck", np.int64)])
"""When in the week a truck is out of service."""


def trucks_of(city: City, kind: str) -> list[int]:
    """The number in the roster of each truck of a kind, as the simulation counts them: station by station."""
    place, units = city.station_numbers, city.units
    return sorted((u for u, unit in enumerate(units) if unit.kind == kind), key=lambda u: place[units[u].station_id])


def truck_numbers(city: City, like: City, kind: str) -> NDArray[np.int64]:
    """[N] the number of each truck of a kind in a city `like` this one; those that it does not have come after all.

    A truck is the same in both if its unit has the same id. Where there is no roster, the first truck of a station is
    its first one in both, and so on.
    """
    known = {truck: number for number, truck in enumerate(_listed(like))}
    own = [known.get(truck, len(known) + number) for number, truck in enumerate(_listed(city))]
    first = sum(len(trucks_of(city, before)) for before in city.kinds[: city.kinds.index(kind)])
    return np.array(own[first : first + len(trucks_of(city, kind))], np.int64)


def station_numbers(city: City, like: City) -> dict[str, int]:
    """The number of each station in a city `like` this one; those that it does not have come after all."""
    known = like.station_numbers
    return {one.station_id: known.get(one.station_id, len(known) + i) for i, one in enumerate(city.stations)}


def _listed(city: City) -> list[tuple[str, str, int]]:
    """Every truck that some incident needs, kind by kind and station by station."""
    found, seen = [], Counter[str]()
    for unit in (city.units[u] for kind in city.kinds for u in trucks_of(city, kind)):
        found.append((unit.kind, unit.unit_id, 0) if city.has_roster else ("", unit.station_id, seen[unit.station_id]))
        seen[unit.station_id] += 1
    return found


def shifts_of(city: City, scenario: Scenario, kind: str) -> NDArray[np.void]:
    """When trucks of a kind are off, and which; raises an error for a shift of trucks that the city does not have."""
    truck_of = {u: n for n, u in enumerate(trucks_of(city, kind))}
    found = [
        (60.0 * shift.start_hour, 60.0 * shift.num_hours, truck_of[u])
        for shift in scenario.shifts
        for u in _off(city, scenario.name, shift)
        if u in truck_of
    ]
    return np.array(found, SHIFT)


def _off(city: City, name: str, shift: Shift) -> list[int]:
    """The numbers in the roster of the trucks that a shift puts out of service."""
    numbers, num_units = city.unit_numbers, len(city.units)
    if shift.unit is not None:
        if shift.unit not in numbers:
            found = f"got {shift.unit}{near(shift.unit, numbers)}"
            raise InputError(f"scenario {name}: expected a unit of the city in shift, {found}")
        return [numbers[shift.unit]]
    if shift.station is None:
        if shift.every > num_units:
            raise InputError(
                f"scenario {name}: expected every from 1 to {num_units}, the trucks of the city, in shift, "
                f"got {shift.every}: no truck would be off"
            )
        return list(range(shift.every - 1, num_units, shift.every))
    if shift.station not in city.units_at:
        found = f"got {shift.station}{near(shift.station, city.units_at)}"
        raise InputError(f"scenario {name}: expected a station of the city in shift, {found}")
    at_home = [numbers[unit.unit_id] for unit in city.units_at[shift.station]]
    if shift.trucks > len(at_home):
        raise InputError(
            f"scenario {name}: expected at most {len(at_home)} trucks of station {shift.station} in shift, "
            f"got {shift.trucks}"
        )
    return at_home[-shift.trucks :]
