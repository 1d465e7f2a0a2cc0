"""What one-step-mean-field needs to decide many times: tables for `mdp.kernels.lookahead_bulk`, found once.

Nothing here grows with the number of states or of decisions. The numbers of a table are as many as its states times its
teams, and each demand point has its cheapest teams by cost, up to a limit for all points together.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.factored import FactoredValues, Tables
from runcard.mdp.kernels.lookahead_bulk import DecisionScratch
from runcard.mdp.kernels.lookahead_rows import fill_rows
from runcard.mdp.layout import starts
from runcard.threads import checked_threads, run_each

if TYPE_CHECKING:
    from runcard.policy.ahead import TeamArrays

MOST_ROWS = 1 << 24
"""Numbers of all states and teams of the tables, twice 8 bytes each; with more of them there are no bulk decisions."""

MOST_RANKED = 1 << 22
"""Teams that are ranked by cost, of all demand points together, 12 bytes each; the others are rarely looked at."""


class BulkArrays(NamedTuple):
    """The listed teams, by numbers of their own: those that `TeamArrays` lists, and those of a single station."""

    number_listed: NDArray[np.int32]
    """[T] the number of each team among those listed; -1 if it is not."""
    first_listed: NDArray[np.int64]
    """[k + 2] where those of each size begin."""
    parts: NDArray[np.uint32]
    """[L, 2^k - 2] the parts of each."""
    of_station: NDArray[np.int32]
    """[I, k] the team of 1, 2, ... trucks of each station; the first one's where it has fewer."""
    local: NDArray[np.uint32]
    """The teams of each table, as `Tables.local_team` has them."""
    first_row: NDArray[np.int64]
    """[G] where the rows of a table begin, one for each of its states with a number for each of its teams."""
    increment: NDArray[np.float64]
    slack: NDArray[np.float64]
    """Those rows: see `fill_rows`."""
    first_choice: NDArray[np.int64]
    """[G, k + 1] where the teams of 1, 2, ... trucks begin that demand points of each table choose from."""
    choice: NDArray[np.uint32]
    first_cost: NDArray[np.int64]
    """Where those teams begin for each entry of `TeamArrays.point`: of the size that it needs, the cheapest first."""
    cost: NDArray[np.float64]
    team_of_cost: NDArray[np.uint32]
    first_ranked: NDArray[np.int64]
    """[J + 1] where the teams of the size that each demand point needs begin, the cheapest first."""
    ranked: NDArray[np.int32]
    ranked_cost: NDArray[np.float64]
    first_team: NDArray[np.int64]
    """[k + 2] where the teams of each size begin."""


class AheadRule(NamedTuple):
    """How a policy that looks one event ahead decides, for kernels."""

    bulk: BulkArrays
    teams: "TeamArrays"
    tables: Tables

    def scratch(self) -> DecisionScratch:
        """Room for the decisions of one thread."""
        num_listed, num_points, num_teams = len(self.bulk.parts), len(self.teams.point), len(self.teams.members)
        num_tables, num_stations = self.teams.near.shape[1], len(self.teams.trucks)
        listed = [np.zeros(num_listed) for _ in range(5)]
        return DecisionScratch(
            np.zeros(num_tables, np.int64), listed[0], listed[1], np.zeros(num_points), listed[2], listed[3],
            np.zeros(num_points), np.zeros(self.bulk.first_choice.shape[1]), listed[4], np.zeros(num_tables, np.bool_),
            np.zeros(num_stations), np.zeros(num_teams), np.zeros(num_teams, np.int64), np.zeros(num_teams),
        )  # fmt: skip


def ahead_rule(values: FactoredValues, teams: "TeamArrays", *, threads: int | None = None) -> AheadRule | None:
    """How the policy of these values and teams decides; None where that would take too much memory."""
    problem, tables = values.problem, values.tables
    sizes, num_local = np.diff(tables.first_value), np.diff(tables.first_local)
    if (sizes * num_local).sum() > MOST_ROWS:
        return None
    first_row = starts((sizes * num_local).tolist())
    increment, slack = np.empty(first_row[-1]), np.empty(first_row[-1])

    def fill(g: int) -> None:
        rows = slice(first_row[g], first_row[g + 1])
        shape = (sizes[g], num_local[g])
        fill_rows(
            g, problem.trucks, teams.most_needed, teams.total_rate, teams.returns_per_day, tables,
            increment[rows].reshape(shape), slack[rows].reshape(shape),
        )  # fmt: skip

    run_each(fill, range(len(sizes)), checked_threads(threads))
    most = problem.teams.max_size
    of_station = np.array([[_several(values, i, of) for of in range(1, most + 1)] for i in range(problem.num_stations)])
    listed = np.union1d(teams.listed, of_station.ravel())
    numbers = np.full(problem.num_teams, -1, np.int32)
    numbers[listed] = np.arange(len(listed))
    parts = teams.parts[listed]
    bulk = BulkArrays(
        number_listed=numbers,
        first_listed=np.searchsorted(problem.teams.sizes[listed], np.arange(most + 2)).astype(np.int64),
        parts=numbers[np.maximum(parts, 0)].astype(np.uint32),
        of_station=numbers[of_station],
        local=numbers[tables.local_team].astype(np.uint32),
        first_row=first_row[:-1],
        increment=increment,
        slack=slack,
        **_choices(values, teams, numbers),
        **_ranked(values, threads),
        first_team=np.array(problem.teams.first_of_size),
    )
    return AheadRule(bulk, teams, tables)


def _several(values: FactoredValues, station: int, trucks: int) -> int:
    """The team of some trucks of a station; of one, if it has fewer."""
    teams = values.problem.teams
    return teams.number([station] * (trucks if trucks <= values.problem.trucks[station] else 1))


def _choices(values: FactoredValues, teams: "TeamArrays", numbers: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """The teams that demand points choose from, by table and size, and for each point by their costs."""
    problem = values.problem
    most, firsts, costs, ordered = problem.teams.max_size, [], [], []
    for g in range(len(values.stations)):
        first = teams.first_choice[g]
        chosen = teams.choice[first : teams.first_choice[g + 1]]
        # Teams are listed by size.
        begins = np.searchsorted(problem.teams.sizes[chosen], np.arange(1, most + 2))
        firsts.append(first + begins)
        for j in teams.point[teams.first_point[g] : teams.first_point[g + 1]]:
            needed = problem.trucks_needed[j]
            of_size = chosen[begins[needed - 1] : begins[needed]]
            order = np.argsort(problem.cost[of_size, j], kind="stable")
            costs.append(problem.cost[of_size[order], j])
            ordered.append(numbers[of_size[order]])
    return {
        "first_choice": np.array(firsts, np.int64),
        "choice": numbers[teams.choice].astype(np.uint32),
        "first_cost": starts([len(cost) for cost in costs]),
        "cost": np.concatenate(costs),
        "team_of_cost": np.concatenate(ordered).astype(np.uint32),
    }


def _ranked(values: FactoredValues, threads: int | None) -> dict[str, NDArray[Any]]:
    """The cheapest teams of each demand point, by cost."""
    problem = values.problem
    most = MOST_RANKED // problem.num_points

    def cheapest(point: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        part = problem.teams.of_size(int(problem.trucks_needed[point]))
        cost = np.ascontiguousarray(problem.cost[part, point])
        chosen = np.argpartition(cost, most)[:most] if len(cost) > most else np.arange(len(cost))
        chosen = chosen[np.argsort(cost[chosen], kind="stable")]
        return (part.start + chosen).astype(np.int32), cost[chosen]

    found = run_each(cheapest, range(problem.num_points), checked_threads(threads))
    return {
        "first_ranked": starts([len(chosen) for chosen, _ in found]),
        "ranked": np.concatenate([chosen for chosen, _ in found]),
        "ranked_cost": np.concatenate([cost for _, cost in found]),
    }
