"""From a city to its dispatch problems, one for each kind of units: the last place that knows a road.

**Why one for each kind.** What counts is a weighted sum of missed standards, each of one kind, so the long-run cost is
a sum over kinds, and the mean of a sum needs no independence. The units of a kind become busy only by what is sent of
that kind, and idle by themselves. The units of other kinds, and all that happened before, say nothing about its future
incidents (a Poisson process) or returns (exponential). So a rule that also looks at them is, for this kind, only a
rule with chance and memory, and none of these beats the optimum of the kind's own problem. That optimum bounds the
kind's part of the cost from below, and following the optima of all kinds at once reaches every bound.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from runcard.city.model import MINUTES_PER_DAY, City
from runcard.city.parts import FIRST
from runcard.mdp.arrays import Floats
from runcard.mdp.fingerprint import source_of
from runcard.mdp.objective import with_objective
from runcard.mdp.problem import MINUTES, DispatchProblem, standard_measure
from runcard.response.table import response_table


def dispatch_problem(
    city: City,
    *,
    kind: str | None = None,
    minutes: bool = True,
    arrivals: bool = False,
    progress: Callable[[float], None] | None = None,
    on_road: Collection[int] = (),
) -> DispatchProblem:
    """The dispatch problem of a city: its routes, the cost of every team by its objective, and its rates per day.

    A city with several kinds of units has one for each `kind`; the best dispatch of all is the best of each. Without
    the response minutes, which only evaluation reports, it takes half the memory; an objective that counts minutes has
    them in any case. With `arrivals` it also has the mean time of the last arrival, and percentiles of the first and
    the last. `progress` is told how much of the driving times is done, from 0 to 1. The stations numbered in `on_road`
    have one truck each, which is on the road already (see `plan/anywhere.py`).
    """
    city = city.of_kind(kind)
    minutes = minutes or arrivals or city.objective.minimise != "late"
    table = response_table(city, minutes=minutes, arrivals=arrivals, progress=progress, on_road=on_road)
    measures, errors = ({MINUTES: table.mean_minutes}, {MINUTES: table.minutes_error}) if minutes else ({}, {})
    p90, found = {}, table.arrivals
    if found is not None:
        alone = max(city.trucks_for(point) for point in city.demand) == 1
        measures |= {name: table.mean_minutes if alone else mean for name, mean in found.means.items() if name != FIRST}
        errors |= {name: table.minutes_error if alone else off for name, off in found.errors.items() if name != FIRST}
        p90 = {which: found.p90(which) for which in found.means}
    cost, cost_error = table.p_late, table.late_error
    weights = _weights(city, len(table.missed))
    if len(weights) > 1 or (weights != 1.0).any():
        measures |= {standard_measure(number): one for number, one in enumerate(table.missed)}
        errors |= dict.fromkeys((standard_measure(number) for number in range(len(weights))), table.late_error)
        cost, cost_error = _weighted(table.missed, weights), float(weights.max(axis=1).sum()) * cost_error
    for array in (cost, *measures.values(), *p90.values()):
        array.flags.writeable = False  # nobody else has them, so that the problem need not copy them
    # A stable sort: of two stations equally close, the one listed first comes first.
    order = np.argsort(table.routes.drive_minutes, axis=0, kind="stable").T
    proven = table.proven
    del table  # its routes take as much memory as the costs
    problem = DispatchProblem(
        trucks=np.array(city.trucks, np.int64),
        returns_per_day=MINUTES_PER_DAY / city.mean_busy_minutes,
        incidents_per_day=np.array([point.incidents_per_day for point in city.demand]),
        trucks_needed=np.array([city.trucks_for(point) for point in city.demand], np.int64),
        cost=cost,
        order=np.ascontiguousarray(order),
        measures=measures,
        cost_error=cost_error,
        measure_errors=errors,
        proven=proven,
        p90_minutes=p90,
        arrivals=found,
        station_ids=tuple(station.station_id for station in city.stations),
        point_ids=tuple(point.node_id for point in city.demand),
        class_names=_class_names(city),
    )
    if not on_road:  # else the city does not say all
        problem = problem.made_from(partial(source_of, city))
    return with_objective(problem, city.objective)


def with_rates_of(problem: DispatchProblem, city: City) -> DispatchProblem:
    """The problem of a city that differs from that of `problem` in its rates only; it shares the tables.

    Costs and arrivals do not depend on rates. The mean busy time does, where types have their own.
    """
    rates = np.array([point.incidents_per_day for point in city.demand])
    returns = MINUTES_PER_DAY / city.mean_busy_minutes
    return replace(problem, incidents_per_day=rates, returns_per_day=returns).made_from(partial(source_of, city))


def _class_names(city: City) -> tuple[str, ...]:
    """What tells the incidents of each demand point apart; nothing where every node has one class of them."""
    if len({point.node_id for point in city.demand}) == len(city.demand):
        return ()
    names = (point.name or point.type for point in city.demand)
    rules = map(city.rule_of, city.demand)
    return tuple(f"{name}, {rule}" if name else rule for name, rule in zip(names, rules, strict=True))


def _weights(city: City, num: int) -> Floats:
    """[standard, J] how much the first standard of each demand point counts, the second, ...; 0 if there is none."""
    found = np.zeros((num, len(city.demand)))
    for j, point in enumerate(city.demand):
        own = [standard.weight for standard in city.standards_of(point)]
        found[: len(own), j] = own
    return found


def _weighted(missed: Sequence[Floats], weights: Floats) -> Floats:
    """[T, J] the weighted sum of missed standards; inf where a team is too large."""
    allowed, total = np.isfinite(missed[0]), np.zeros_like(missed[0])
    for one, weight in zip(missed, weights, strict=True):
        total += np.where(allowed, one, 0.0) * weight
    return np.where(allowed, total, np.inf)
