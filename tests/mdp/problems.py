"""Dispatch problems for tests: most are made of random numbers, where no city stands behind the costs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runcard.city import generate_grid
from runcard.mdp.factored import FactoredValues
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.problem import DispatchProblem
from runcard.response.teams import Teams


def make_problem(
    trucks: Sequence[int],
    needed: Sequence[int],
    *,
    load: float = 0.3,
    seed: int = 0,
    cost: Sequence[float] | None = None,
    rates: Sequence[float] | None = None,
    returns_per_day: float = 24.0,
) -> DispatchProblem:
    """A problem with random rates scaled to the load, costs from U(0, 1) or drawn from `cost`, and random orders.

    Costs have no structure: a larger or closer team may well be later. Minutes are from U(1, 20).
    """
    rng = np.random.default_rng(seed)
    num_stations, num_points = len(trucks), len(needed)
    teams = Teams.of(trucks, max(needed))
    too_large = teams.sizes[:, None] > np.array(needed)
    shape = (len(teams), num_points)
    costs = rng.random(shape) if cost is None else rng.choice(np.array(cost), shape)
    weights = rng.random(num_points) if rates is None else np.array(rates, float)
    return DispatchProblem(
        trucks=np.array(trucks, np.int64),
        returns_per_day=returns_per_day,
        incidents_per_day=weights * (load * sum(trucks) * returns_per_day / weights.sum()),
        trucks_needed=np.array(needed, np.int64),
        cost=np.where(too_large, np.inf, costs),
        order=np.array([rng.permutation(num_stations) for _ in range(num_points)]),
        measures={"minutes": np.where(too_large, np.inf, rng.uniform(1.0, 20.0, shape))},
        station_ids=tuple(f"s{i}" for i in range(num_stations)),
        point_ids=tuple(f"n{j}" for j in range(num_points)),
    )


def random_problem(seed: int) -> DispatchProblem:
    """A problem of 1 to 4 stations of 1 to 3 trucks, 1 to 6 points that need 1 to 4, and a load from 0.001 to 5."""
    rng = np.random.default_rng([seed, 1])
    trucks = rng.integers(1, 4, rng.integers(1, 5)).tolist()
    needed = rng.integers(1, 5, rng.integers(1, 7)).tolist()
    return make_problem(trucks, needed, load=float(10 ** rng.uniform(-3.0, np.log10(5.0))), seed=seed)


def random_values(problem: DispatchProblem, seed: int, *, size: float = 1.0) -> NDArray[np.float64]:
    """Values from U(0, size) for every state, padded as the kernels want them."""
    return padded(np.random.default_rng([seed, 2]).random(problem.num_states) * size)


def padded(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values [states] with the padding that the kernels want; what it holds must not matter."""
    return np.concatenate([value, np.full(VALUE_PADDING, -1e9)])


def every_state(problem: DispatchProblem) -> list[NDArray[np.int64]]:
    """The idle trucks of every state, in the order of their numbers."""
    return [np.array(idle, np.int64) for idle in np.ndindex(tuple(problem.trucks + 1))]


def ids_of(problem: DispatchProblem, team: int, point: int) -> tuple[str, ...]:
    """The station ids of a team, and "outside" for what is missing, from its counts of trucks."""
    ids = [problem.station_ids[i] for i, taken in enumerate(problem.teams.counts[team]) for _ in range(taken)]
    return (*ids, *["outside"] * (int(problem.trucks_needed[point]) - len(ids)))


def grid_problem(num_stations: int, load: float, *, side: int = 6, seed: int = 1, **options: Any) -> DispatchProblem:
    """The problem of a grid, as the paper draws them."""
    return dispatch_problem(generate_grid(side=side, num_stations=num_stations, load=load, seed=seed, **options))


def random_tables(problem: DispatchProblem, neighbourhoods: Sequence[Sequence[int]], seed: int = 0) -> FactoredValues:
    """Tables of some neighbourhoods, whose values fall with idle trucks, more or less, and busy chances.

    Demand points with incidents are dealt out to them; the others are in none, as in the mean field.
    """
    rng = np.random.default_rng([seed, 4])
    stations = tuple(np.array(members) for members in neighbourhoods)
    alive = rng.permutation(np.flatnonzero(problem.incidents_per_day > 0))
    points = tuple(np.sort(alive[g :: len(stations)]) for g in range(len(stations)))
    tables = []
    for members in stations:
        idle = np.indices(tuple(problem.trucks[members] + 1)).reshape(len(members), -1)
        tables.append(0.2 * rng.random(idle.shape[1]) - 0.1 * rng.random(len(members)) @ idle)
    return FactoredValues(
        problem, stations, points, np.concatenate(tables), rng.uniform(0.05, 0.9, problem.num_stations)
    )


def sum_of_tables(values: FactoredValues) -> NDArray[np.float64]:
    """[states + padding] h of every state of the department; 0 with every truck idle."""
    trucks, first = values.problem.trucks, values.tables.first_value
    total = np.zeros(tuple(trucks + 1))
    for g, stations in enumerate(values.stations):
        shape = np.ones(len(trucks), np.int64)
        shape[stations] = trucks[stations] + 1
        total += values.value[first[g] : first[g + 1]].reshape(shape)
    return padded(total.ravel() - total.flat[-1])
