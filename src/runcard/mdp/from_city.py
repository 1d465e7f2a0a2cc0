"""From a city to its dispatch problem: the last place that knows a road."""

from collections.abc import Callable
from functools import partial

import numpy as np

from runcard.city.model import MINUTES_PER_DAY, City
from runcard.mdp.fingerprint import source_of
from runcard.mdp.objective import with_objective
from runcard.mdp.problem import MINUTES, DispatchProblem
from runcard.response.table import response_table


def dispatch_problem(
    city: City, *, minutes: bool = True, progress: Callable[[float], None] | None = None
) -> DispatchProblem:
    """The dispatch problem of a city: its routes, the cost of every team by its objective, and its rates per day.

    Without the response minutes, which only evaluation reports, it takes half the memory; an objective that counts
    minutes has them in any case. `progress` is told how much of the driving times is done, from 0 to 1.
    """
    minutes = minutes or city.objective.minimise != "late"
    table = response_table(city, minutes=minutes, progress=progress)
    p_late, means, late_error, minutes_error = table.p_late, table.mean_minutes, table.late_error, table.minutes_error
    for array in (p_late, means):
        array.flags.writeable = False  # nobody else has them, so that the problem need not copy them
    # A stable sort: of two stations equally close, the one listed first comes first.
    order = np.argsort(table.routes.drive_minutes, axis=0, kind="stable").T
    del table  # its routes take as much memory as the costs
    problem = DispatchProblem(
        trucks=np.array([station.trucks for station in city.stations], np.int64),
        returns_per_day=MINUTES_PER_DAY / city.busy_minutes,
        incidents_per_day=np.array([point.incidents_per_day for point in city.demand]),
        trucks_needed=np.array([point.trucks or city.trucks_per_incident for point in city.demand], np.int64),
        cost=p_late,
        order=np.ascontiguousarray(order),
        measures={MINUTES: means} if minutes else {},
        cost_error=late_error,
        measure_errors={MINUTES: minutes_error} if minutes else {},
        station_ids=tuple(station.station_id for station in city.stations),
        point_ids=tuple(point.node_id for point in city.demand),
        class_names=_class_names(city),
    )
    return with_objective(problem.made_from(partial(source_of, city)), city.objective)


def _class_names(city: City) -> tuple[str, ...]:
    """What tells the incidents of each demand point apart; nothing where every node has one class of them."""
    if len({point.node_id for point in city.demand}) == len(city.demand):
        return ()
    return tuple(f"{point.name}, {city.rule_of(point)}" if point.name else city.rule_of(point) for point in city.demand)
