"""What prices that look one event ahead are found from: teams and tables for `mdp.kernels.lookahead`, laid out once.

Nothing here grows with the number of states or of decisions. The numbers of a table are as many as its states times its
teams, and each demand point has its cheapest teams by cost, up to a limit for all points together.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.arrays import Flags, Floats, Ints
from runcard.mdp.factored import FactoredValues, Tables, team_parts
from runcard.mdp.kernels.lookahead import AheadScratch
from runcard.mdp.kernels.lookahead_rows import fill_rows
from runcard.mdp.layout import starts
from runcard.mdp.problem import DispatchProblem
from runcard.threads import checked_threads, run_each

FEW_TEAMS = 256
"""With no more teams than this, an incident to come may be given any of them; else one of its neighbourhood."""

MOST_RANKED = 1 << 22
"""Teams that are ranked by cost, of all demand points together, 12 bytes each; the others are rarely looked at."""


class TeamArrays(NamedTuple):
    """The teams and demand points as the kernels see them.

    Listed are the L teams that belong to a table or are chosen from, and those of a single station: they have numbers
    of their own.
    """

    members: NDArray[np.int32]
    number_of_code: Ints
    """The stations of each team, and its number by its code (see `response.teams`)."""
    first_team: Ints
    """[k + 2] where the teams of each size begin."""
    cost: Floats
    least_cost: Floats
    """[J] the smallest cost of any team at each demand point."""
    order: Ints
    parts: Ints
    """[T, 2^k - 2] the parts of each team (see `team_parts`), -1 where there are fewer."""
    needed: Ints
    most_needed: int
    total_rate: float
    trucks: Ints
    returns_per_day: float
    first_point: Ints
    """[G + 1] where the demand points of each table begin in `point`."""
    point: Ints
    rate: Floats
    """Incidents per day of each entry of `point`."""
    any_team: bool
    """Whether every team is listed for every point; all points are then with the first table."""
    near: Flags
    """[I, G] whether a truck of each station may change what the teams cost that incidents of each table choose from:
    a station of these and that station are in one table."""
    number_listed: NDArray[np.int32]
    """[T] the number of each team among those listed; -1 if it is not."""
    first_listed: Ints
    """[k + 2] where those of each size begin."""
    listed_parts: NDArray[np.uint32]
    """[L, 2^k - 2] the parts of each."""
    of_station: NDArray[np.int32]
    """[I, k] the team of 1, 2, ... trucks of each station; the first one's where it has fewer."""
    local: NDArray[np.uint32]
    """The teams of each table, as `Tables.local_team` has them."""
    first_row: Ints
    """[G] where the rows of a table begin, one for each of its states with a number for each of its teams."""
    increment: Floats
    slack: Floats
    """Those rows: see `fill_rows`."""
    first_choice: Ints
    """[G, k + 1] where the teams of 1, 2, ... trucks begin that demand points of each table choose from."""
    choice: NDArray[np.uint32]
    first_cost: Ints
    """Where those teams begin for each entry of `point`: of the size that it needs, the cheapest first."""
    choice_cost: Floats
    team_of_cost: NDArray[np.uint32]

    def scratch(self) -> AheadScratch:
        """Room for the prices of one thread."""
        num_listed, num_points, num_teams = len(self.listed_parts), len(self.point), len(self.members)
        num_stations, num_tables = self.near.shape
        return AheadScratch(
            place=np.empty(num_tables, np.int64),
            increment=np.empty(num_listed),
            price=np.empty(num_listed),
            total=np.empty(num_points),
            after_increment=np.empty(num_listed),
            after_price=np.empty(num_listed),
            after_total=np.empty(num_points),
            cheapest=np.empty(self.most_needed + 1),
            short=np.empty(num_tables, np.bool_),
            part=np.empty(num_listed),
            lost=np.empty(num_stations),
            team_price=np.empty(num_teams),
            ahead=np.empty(num_teams),
            best=np.empty(1),
            candidate=np.empty(num_teams, np.int64),
            cost=np.empty(num_teams),
            bound=np.empty(num_teams),
        )


class RankedTeams(NamedTuple):
    """The cheapest teams of each demand point, by cost."""

    first: Ints
    """[J + 1] where the teams of the size that each demand point needs begin, the cheapest first."""
    team: NDArray[np.int32]
    cost: Floats


class AheadRule(NamedTuple):
    """How a policy that looks one event ahead decides, for kernels."""

    ranked: RankedTeams
    teams: TeamArrays
    tables: Tables

    def scratch(self) -> AheadScratch:
        """Room for the decisions of one thread."""
        return self.teams.scratch()


def team_arrays(values: FactoredValues, *, threads: int | None = None) -> TeamArrays:
    """The teams that may go, and what the points of each table choose from."""
    problem, tables, groups = values.problem, values.tables, list(values.points)
    teams, most, any_team = problem.teams, problem.teams.max_size, problem.num_teams <= FEW_TEAMS
    choices = np.split(tables.local_team, tables.first_local[1:-1])
    if any_team:
        # All points choose alike: as one group they are quicker, and the tables after the first have none.
        nothing = [np.zeros(0, np.int64)] * (len(groups) - 1)
        groups, choices = [np.concatenate(groups), *nothing], [np.arange(1, problem.num_teams), *nothing]
    of_station = np.array(
        [
            [teams.number([i] * (number if number <= trucks else 1)) for number in range(1, most + 1)]
            for i, trucks in enumerate(problem.trucks.tolist())
        ]
    )
    listed = np.unique(np.concatenate([*choices, of_station.ravel()]))
    numbers = np.full(problem.num_teams, -1, np.int32)
    numbers[listed] = np.arange(len(listed))
    # Two tables overlap if they have a station in common.
    has = (tables.stride > 0).astype(np.float32)
    near = (has.T @ (has @ has.T > 0.0).astype(np.float32)) > 0.0
    parts, point = team_parts(teams), np.concatenate(groups)
    return TeamArrays(
        members=teams.stations,
        number_of_code=teams.number_of_code,
        first_team=np.array(teams.first_of_size),
        cost=problem.cost,
        least_cost=problem.cost.min(axis=0),
        order=problem.order,
        parts=parts,
        needed=problem.trucks_needed,
        most_needed=most,
        total_rate=problem.total_incidents_per_day,
        trucks=problem.trucks,
        returns_per_day=float(problem.returns_per_day),
        first_point=starts([len(points) for points in groups]),
        point=point,
        rate=problem.incidents_per_day[point],
        any_team=any_team,
        near=np.ones_like(near) if any_team else near,
        number_listed=numbers,
        first_listed=np.searchsorted(teams.sizes[listed], np.arange(most + 2)).astype(np.int64),
        listed_parts=numbers[np.maximum(parts[listed], 0)].astype(np.uint32),
        of_station=numbers[of_station],
        local=numbers[tables.local_team].astype(np.uint32),
        **_rows(values, threads),
        **_choices(problem, groups, choices, numbers),
    )


def _rows(values: FactoredValues, threads: int | None) -> dict[str, NDArray[Any]]:
    """What the teams of each table add to prices and bounds, in each of its states."""
    problem, tables = values.problem, values.tables
    shapes = np.column_stack([np.diff(tables.first_value), np.diff(tables.first_local)])
    first_row = starts(shapes.prod(axis=1))
    increment, slack = np.empty(first_row[-1]), np.empty(first_row[-1])

    def fill(g: int) -> None:
        rows = slice(first_row[g], first_row[g + 1])
        fill_rows(
            g, problem.trucks, problem.teams.max_size, problem.total_incidents_per_day,
            float(problem.returns_per_day), tables, increment[rows].reshape(shapes[g]), slack[rows].reshape(shapes[g]),
        )  # fmt: skip

    run_each(fill, range(len(shapes)), checked_threads(threads))
    return {"first_row": first_row[:-1], "increment": increment, "slack": slack}


def _choices(
    problem: DispatchProblem, groups: list[Ints], choices: list[Ints],
    numbers: NDArray[np.int32],
) -> dict[str, NDArray[Any]]:  # fmt: skip
    """The teams that the demand points of each table choose from, by size, and for each point by their costs."""
    firsts, chosen, costs, ordered = [], list[Ints](), [], []
    for points, teams in zip(groups, choices, strict=True):
        wanted = teams[np.isin(problem.teams.sizes[teams], problem.trucks_needed[points])]
        # Teams are listed by size.
        begins = np.searchsorted(problem.teams.sizes[wanted], np.arange(1, problem.teams.max_size + 2))
        firsts.append(sum(len(before) for before in chosen) + begins)
        chosen.append(wanted)
        for j in points.tolist():
            needed = problem.trucks_needed[j]
            of_size = wanted[begins[needed - 1] : begins[needed]]
            of_size = of_size[np.argsort(problem.cost[of_size, j], kind="stable")]
            costs.append(problem.cost[of_size, j])
            ordered.append(numbers[of_size])
    return {
        "first_choice": np.array(firsts, np.int64),
        "choice": numbers[np.concatenate(chosen)].astype(np.uint32),
        "first_cost": starts([len(cost) for cost in costs]),
        "choice_cost": np.concatenate(costs),
        "team_of_cost": np.concatenate(ordered).astype(np.uint32),
    }


def ranked_teams(problem: DispatchProblem, *, threads: int | None = None) -> RankedTeams:
    """The cheapest teams of each demand point, as many as there is room for."""
    most = MOST_RANKED // problem.num_points

    def cheapest(point: int) -> tuple[NDArray[np.int32], Floats]:
        part = problem.teams.of_size(int(problem.trucks_needed[point]))
        cost = np.ascontiguousarray(problem.cost[part, point])
        chosen = np.argpartition(cost, most)[:most] if len(cost) > most else np.arange(len(cost))
        chosen = chosen[np.argsort(cost[chosen], kind="stable")]
        return (part.start + chosen).astype(np.int32), cost[chosen]

    teams, costs = zip(*run_each(cheapest, range(problem.num_points), checked_threads(threads)), strict=True)
    return RankedTeams(starts([len(chosen) for chosen in teams]), np.concatenate(teams), np.concatenate(costs))
