"""The four engines that find P(late) and mean minutes, and which of them is for which demand points.

    Erlang  exponential links of one mean, one or two trucks: sums of positive terms
    Tree    any law; every link is met together, or none is, or each is split into a part together and one apart
    Plane   any law; a link is met together with some chance; one or two trucks
    Sets    the same for three and four trucks

Each has `late(points)` and `means(points)`, [team, place in points] with the stated error; `late` tells `settled` how
many points are done. `proven` says whether these errors are bounds; those of a lattice are estimates.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from runcard.errors import InputError
from runcard.response.erlang import Erlang
from runcard.response.plane import Plane
from runcard.response.sets import Sets
from runcard.response.teams import Teams
from runcard.response.travel import Needs, Travel
from runcard.response.tree import Tree

Engine: TypeAlias = Erlang | Tree | Plane | Sets
"""What finds P(late) and mean minutes of every team at some demand points."""


def engine_for(travel: Travel, teams: Teams, needs: Needs, points: NDArray[np.int64]) -> Engine:
    """The engine for some demand points, all of which need at most two trucks, or more."""
    several = int(needs.trucks[points].max()) > 2
    if several and travel.second:
        raise InputError(
            'driving.second_route = "disjoint" is for incidents of one or two trucks: with three or more, expected '
            'driving.second_route = "same"'
        )
    if travel.paper_times and not several and not travel.second:
        return Erlang(travel, teams, needs)
    if travel.fixed or not travel.laws.mixed or teams.max_size == 1:
        return Tree(travel, teams, needs)
    return Sets(travel, teams, needs) if several else Plane(travel, teams, needs)
