"""The values of the neighbourhoods of a department, as small tables by station.

The bound finds values h_G of what is idle in each neighbourhood G, and payments under which the neighbourhoods nearly
agree on who goes. Where they agree, Σ_G h_G solves the Bellman equation; so it is near the optimal values, and the team
with the smallest cost and price by it is near the best one.

The bound tells trucks of one station apart. Here nobody can, and any of them is as likely to be the idle one: if m of
the C trucks of a station are in G and c of C are idle, the chance that k of the m are is hypergeometric.
"""

from math import comb
from typing import Final

import numpy as np

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.bound import climbed
from runcard.mdp.bound.neighbourhoods import find_neighbourhoods
from runcard.mdp.factored import FactoredValues
from runcard.mdp.independent import IndependentTrucks
from runcard.mdp.problem import DispatchProblem

MEMBERS: Final = 8
STEPS: Final = 400


def neighbourhood_values(problem: DispatchProblem, *, threads: int | None = None) -> FactoredValues:
    """The values of a problem by its neighbourhoods, which do not look at how many trucks are idle in all."""
    found = find_neighbourhoods(problem, MEMBERS)
    # One band at every load: where incidents often find too few trucks it proves little, but its values are the better
    # ones. Where no state has trucks enough for an incident there is no band, and levels count by their chance.
    band = 1.0 if problem.num_trucks >= problem.trucks_needed.max() else 0.0
    ascent = climbed(problem, found, STEPS, threads, None, band=band)
    values = np.tensordot(ascent.values, ascent.spaces[0].chance, axes=(1, 0)) / ascent.spaces[0].chance.sum()
    stations = np.repeat(np.arange(problem.num_stations), problem.trucks)
    tables = [
        by_station(value, stations[members], problem.trucks)
        for value, members in zip(values, found.members, strict=True)
    ]
    busy = IndependentTrucks(problem, problem.order).steady_busy()
    groups = range(len(found))
    return FactoredValues(
        problem,
        tuple(np.unique(stations[members]) for members in found.members),
        tuple(np.flatnonzero(found.home == g) for g in groups),
        np.concatenate([table.ravel() for table in tables]),
        busy,
    )


def by_station(value: Floats, stations: Ints, trucks: Ints) -> Floats:
    """[C + 1, for each station] the mean value [2^s] of patterns, bit b of them a truck of stations[b]."""
    table = value.reshape((2,) * len(stations)).transpose(range(len(stations))[::-1])
    for station in np.unique(stations)[::-1].tolist():
        axes = np.flatnonzero(stations == station)
        table = np.moveaxis(table, axes, range(len(axes)))
        table = table.reshape(1 << len(axes), *table.shape[len(axes) :])
        table = np.tensordot(_shares(len(axes), int(trucks[station])), table, axes=1)
        stations = np.concatenate([[station], np.delete(stations, axes)])
    return np.ascontiguousarray(table)


def _shares(num_members: int, num_trucks: int) -> Floats:
    """[C + 1, 2^m] how likely each pattern of m trucks is, if so many of the C trucks of their station are idle."""
    shares = np.zeros((num_trucks + 1, 1 << num_members))
    for idle in range(num_trucks + 1):
        for pattern in range(1 << num_members):
            here = pattern.bit_count()
            if here <= idle and idle - here <= num_trucks - num_members:
                shares[idle, pattern] = comb(num_trucks - num_members, idle - here) / comb(num_trucks, idle)
    return shares
