"""Where the incidents of a log are on the roads of a city, and in which demand area.

An incident is at the road node nearest to its position. A node belongs to the demand node that reaches it fastest. The
rows of an incident that is farther from any road than a limit are rejected, and counted.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.log import Log
from runcard.city.areas import area_of_nodes, demand_nodes
from runcard.city.model import City
from runcard.city.places import nearest_nodes
from runcard.errors import InputError

FAR_METRES: Final = 1000.0
MOST_FAR: Final = 0.5
"""If more incidents than this part are far from any road, log and city do not belong together."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Placed:
    """The place of each incident of a log."""

    node: Ints
    """[incident] its node, by number in `city.nodes`; -1: far from any road."""
    area: Ints
    """[incident] its demand area, by number in `centres`; -1 where there is no node."""
    centres: tuple[str, ...]
    """The demand nodes, in the order of the city."""
    metres: Floats
    """[incident] how far its position is from its node."""


def place_incidents(city: City, log: Log) -> Placed:
    """Where each incident is; those far from any road are rejected in the log."""
    about = log.incidents
    node, metres = np.full(len(about), -1, np.int64), np.full(len(about), np.nan)
    by_position = np.isfinite(about["x"])
    if by_position.any():
        x, y = about["x"][by_position], about["y"][by_position]
        found, metres[by_position] = nearest_nodes(city, x, y)
        _check_swapped(city, log, x, y, metres[by_position])
        node[by_position] = np.where(metres[by_position] <= FAR_METRES, found, -1)
    if log.places:
        of_place = np.array([city.node_numbers.get(name, -1) for name in log.places], np.int64)
        named = about["node"] >= 0
        node[named], metres[named] = of_place[about["node"][named]], 0.0
    lost, known = node < 0, set(log.rejected.rows)  # a log that is fitted twice has its rows rejected once
    for response in log.responses[lost[log.responses["incident"]]]:
        number = int(response["incident"])
        far = f"{metres[number]:.0f} m" if np.isfinite(metres[number]) else "unknown node"
        reason = "the incident is far from any road, or at an unknown node"
        unit = log.units[response["unit"]] if response["unit"] >= 0 else log.stations[response["station"]]
        row = (int(response["line"]), reason, log.incident_ids[number], unit, far)
        if row not in known:
            log.rejected.rows.append(row)
    if lost.mean() > MOST_FAR:
        raise InputError(
            f"{log.name}: expected incidents near the roads of {city.name}, got {lost.sum():,} of {len(lost):,} "
            f"farther than {FAR_METRES:g} m from any: is it the log of this city, with coordinates of the same kind?"
        )
    return Placed(node, np.where(lost, -1, area_of_nodes(city)[node]), demand_nodes(city), metres)


def of_placed(log: Log, placed: Placed) -> Log:
    """The log without the responses to incidents that are far from any road, which are rejected."""
    return replace(log, responses=log.responses[placed.node[log.responses["incident"]] >= 0])


def _check_swapped(city: City, log: Log, x: Floats, y: Floats, metres: Floats) -> None:
    """Raise an error if positions lie near the roads only when x and y change places."""
    if np.median(metres) > FAR_METRES and np.median(nearest_nodes(city, y, x)[1]) <= FAR_METRES:
        raise InputError(
            f"{log.name}: the positions lie near the roads only if x and y, longitude and latitude, change places: "
            "swap the two in the mapping"
        )
