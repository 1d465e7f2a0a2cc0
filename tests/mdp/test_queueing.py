"""Tests of the queues behind one-step-queueing: rates, fixed points, and bounds on prices."""

from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.errors import NotConvergedError
from runcard.mdp.kernels.independent import num_below
from runcard.mdp.kernels.queueing import request_rates, settle
from runcard.mdp.kernels.queueing_best import add_pairs
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.queueing import QueueingPicture

from .problems import make_problem, random_problem

LOADS = [1e-6, 1e-3, 0.1, 0.6, 2.0, 10.0, 500.0]


def picture_of(problem: DispatchProblem, kind: str = "relaxing", horizon: float = 2.0) -> QueueingPicture:
    """The queues of a problem: "relaxing", "fixed" or "printed", or with only "printed rates" or "printed chances"."""
    return QueueingPicture(
        name=kind, problem=problem, horizon=horizon, relaxing=kind == "relaxing",
        printed_chances=kind in ("printed", "printed chances"), printed_rates=kind in ("printed", "printed rates"),
    )  # fmt: skip


def printed_rates(problem: DispatchProblem, busy: NDArray[np.float64]) -> NDArray[np.float64]:
    """[N] the printed rates: an incident asks each team of own trucks that all other trucks before its last allow.

    A team with fewer than k own trucks is filled up from outside: it is asked if all other trucks are busy.
    """
    station = np.repeat(np.arange(problem.num_stations), problem.trucks)
    rates = np.zeros(problem.num_trucks)
    for j, rate in enumerate(problem.incidents_per_day):
        order = [n for i in problem.order[j] for n in np.flatnonzero(station == i)]
        k = int(problem.trucks_needed[j])
        for size in range(1, k + 1):
            for team in combinations(range(len(order)), size):
                end = team[-1] if size == k else len(order)
                chance = np.prod([busy[order[c]] for c in range(end) if c not in team])
                rates[[order[c] for c in team]] += rate * chance
    return rates


@pytest.mark.parametrize("seed", range(25))
def test_printed_rates(seed: int) -> None:
    """The printed rates, by polynomials, are those of listing every team that an incident may ask."""
    problem = random_problem(seed)
    picture = picture_of(problem, "printed", 1.0)
    room = picture.room().alone
    busy = np.random.default_rng(seed).random(problem.num_trucks)
    request_rates(picture.queues, picture.independent.with_outside(busy), room, room.asked)
    expected = printed_rates(problem, busy)
    np.testing.assert_allclose(room.asked[: problem.num_trucks], expected, rtol=1e-11)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize(
    ("kind", "horizon"),
    [
        ("relaxing", 2.0),
        ("fixed", 2.0),
        ("fixed", 0.7),
        ("printed", 1.0),
        ("printed", 0.5),
        ("printed rates", 2.0),
        ("printed chances", 2.0),
    ],
)
def test_fixed_points_at_any_load(kind: str, horizon: float, load: float) -> None:
    """At every load each state has a fixed point: its rates give its chances, and those give the rates again."""
    for trucks, needed, rates in (
        ([1], [1], None),
        ([1], [3, 2], None),
        ([1] * 6, [4, 2, 4], None),
        ([1, 1, 1, 1], [2] * 8, None),
        ([3, 1, 2], [1, 2, 3, 2], [1.0, 0.0, 2.0, 1.0]),
    ):
        problem = make_problem(trucks, needed, load=load, seed=3, rates=rates)
        picture = picture_of(problem, kind, horizon)
        mu, room = problem.returns_per_day, picture.room().alone
        for idle in product(*(range(count + 1) for count in trucks)):
            state = picture.settle(np.array(idle))
            request_rates(picture.queues, state.busy, room, room.asked)
            asked, x = room.asked[: problem.num_trucks], np.maximum(state.demand / mu, 1e-30)
            np.testing.assert_allclose(asked, state.demand, rtol=2e-10, atol=1e-13 * problem.total_incidents_per_day)
            share, now = x / (1.0 + x), state.idle == 1
            if kind == "relaxing":
                expected = np.where(now, share - share / horizon, share + (1.0 - share) / horizon)
            elif kind in ("fixed", "printed rates"):
                cost = np.where(now, -(share**2), share - share**2)  # the relative costs of the queue, corrected
                expected = share + cost / (x * horizon)
            else:
                cost = np.where(now, share**2 - share, share**2)  # as printed
                expected = share + cost / (x * horizon)
            np.testing.assert_allclose(state.busy[: problem.num_trucks], expected.clip(0.0, 1.0), rtol=1e-9, atol=1e-9)


def test_trucks_that_are_never_asked() -> None:
    """A truck without demand is no exception: idle it stays idle, and busy it is so for its share of the horizon."""
    problem = make_problem([1, 1, 1], [1], rates=[1.0], load=1e-6)
    last = int(problem.order[0, -1])
    for kind, when_busy in (("relaxing", 0.5), ("fixed", 0.5), ("printed", 0.0)):
        for idle in (0, 1):
            state = np.ones(3, np.int64)
            state[last] = idle
            found = picture_of(problem, kind).settle(state)
            assert found.busy[last] == pytest.approx(0.0 if idle else when_busy, abs=1e-6)


@pytest.mark.parametrize(("kind", "horizon"), [("relaxing", 1.0), ("relaxing", 2.0), ("fixed", 2.0), ("fixed", 5.0)])
@pytest.mark.parametrize("seed", range(15))
def test_one_fixed_point_that_rises(seed: int, kind: str, horizon: float) -> None:
    """Where it is proven, any start leads to the same fixed point, and no chance falls when a truck becomes busy."""
    problem = random_problem(seed)
    picture, rng = picture_of(problem, kind, horizon), np.random.default_rng(seed)
    assert picture.proven
    idle = rng.integers(0, problem.trucks + 1)
    state = picture.settle(idle)
    other = picture.settle_from(rng.random(problem.num_trucks) * problem.total_incidents_per_day, idle)
    np.testing.assert_allclose(other.busy, state.busy, rtol=1e-8, atol=1e-12)
    assert other.late == pytest.approx(state.late, rel=1e-8)
    for i in np.flatnonzero(idle):
        fewer = idle.copy()
        fewer[i] -= 1
        assert (picture.settle(fewer).busy >= state.busy - 1e-9).all()


@pytest.mark.parametrize(
    ("kind", "horizon"),
    [("printed", 0.5), ("printed", 1.0), ("printed rates", 2.0), ("printed rates", 1.0), ("printed chances", 2.0)],
)
@pytest.mark.parametrize("seed", range(10))
def test_smallest_fixed_point(seed: int, kind: str, horizon: float) -> None:
    """With anything printed nothing is proven, and every way of asking gives what plain steps from p = 0 reach."""
    problem = random_problem(seed)
    picture = picture_of(problem, kind, horizon)
    assert not picture.proven
    room, late = picture.room().alone, picture.late_in(0, problem.num_states)

    def number(idle: NDArray[np.int64]) -> int:
        return int(np.ravel_multi_index(tuple(idle), tuple(problem.trucks + 1)))

    for idle in (np.array(counts) for counts in np.ndindex(tuple(problem.trucks + 1))):
        demand = picture.queues.first_demand.copy()
        assert settle(picture.idle_trucks(idle), picture.queues, demand, room.busy, room)
        _, expected = picture.independent.asked_and_late(room.busy[: problem.num_trucks])
        assert late[number(idle)] == pytest.approx(expected, rel=1e-8, abs=1e-13 * problem.total_incidents_per_day)
        state = picture.settle(idle)
        np.testing.assert_allclose(state.demand, demand, rtol=1e-8, atol=1e-12)
        teams = np.flatnonzero((problem.teams.counts <= idle).all(axis=1))
        without = [late[number(idle - problem.teams.counts[team])] for team in teams]
        np.testing.assert_allclose(picture.late_without(state, idle, teams), without, rtol=1e-7)


def test_no_fixed_point_is_said() -> None:
    """A search that does not end names the policy, the state and the load."""
    picture = picture_of(make_problem([1, 2], [2, 1], load=0.3), "printed", 1.0)
    vars(picture)["queues"] = picture.queues._replace(left_out=-1e9)
    with pytest.raises(NotConvergedError, match=r"printed: no fixed point .* \[1, 0\] idle .* load of 0\.3 "):
        picture.settle(np.array([1, 0]))
    with pytest.raises(NotConvergedError, match=r"\[0, 0\] idle"):
        picture.late_in(0, 6)


@pytest.mark.parametrize(("kind", "horizon"), [("relaxing", 2.0), ("fixed", 2.0)])
@pytest.mark.parametrize("seed", range(15))
def test_lanes_agree_with_plain_steps(seed: int, kind: str, horizon: float) -> None:
    """Fixed points of several states at once are those of plain steps, state by state, and so is their lateness."""
    problem = random_problem(seed)
    picture = picture_of(problem, kind, horizon)
    room = picture.room().alone
    for n, late in enumerate(picture.late_in(0, problem.num_states)):
        idle = picture.idle_trucks(np.array(np.unravel_index(n, tuple(problem.trucks + 1))))
        demand = picture.queues.first_demand.copy()
        assert settle(idle, picture.queues, demand, room.busy, room)
        _, expected = picture.independent.asked_and_late(room.busy[: problem.num_trucks])
        assert late == pytest.approx(expected, rel=1e-8, abs=1e-13 * problem.total_incidents_per_day)


@pytest.mark.parametrize("needed", [1, 2, 3, 4])
def test_lateness_of_long_walks(needed: int) -> None:
    """Where trucks behind those whose costs are laid out are asked, their costs are looked up: the same lateness."""
    problem = make_problem([1] * 40, [needed] * 3, load=20.0, seed=needed)
    picture = picture_of(problem)
    assert picture.independent.walks.depth < 40
    state = picture.settle(np.zeros(40, np.int64))
    assert state.busy[:40].min() > 0.8
    _, expected = picture.independent.asked_and_late(state.busy[:40])
    assert state.late == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("most", [2, 4])
@pytest.mark.parametrize("seed", range(30))
def test_two_trucks_that_rise(seed: int, most: int) -> None:
    """What a truck or two cost when their chances rise is what is said: lateness is linear in each."""
    rng = np.random.default_rng(seed)
    trucks, needed = rng.integers(1, 4, rng.integers(1, 5)), rng.integers(1, most + 1, rng.integers(1, 12))
    problem = make_problem(trucks.tolist(), needed.tolist(), load=float(10.0 ** rng.uniform(-3.0, 0.5)), seed=seed)
    picture = picture_of(problem)
    idle = rng.integers(1, problem.trucks + 1)
    state, num_all = picture.settle(idle), problem.num_trucks + picture.independent.num_outside
    harm, extra = np.zeros((num_all, num_all)), np.zeros((num_all, num_all))
    add_pairs(
        state.idle, state.demand, state.busy, state.late, 2, picture.queues, picture._falls, picture._groups,
        picture._bounds_room(), picture.room(), harm, extra,
    )  # fmt: skip
    for team in combinations_with_replacement(np.flatnonzero(state.idle).tolist(), 2):
        busy = state.busy[: problem.num_trucks].copy()
        for n in set(team):
            busy[n] += 0.5
        _, late = picture.independent.asked_and_late(busy)
        assert extra[team] == pytest.approx(late - state.late, abs=1e-8 * problem.total_incidents_per_day)


@pytest.mark.parametrize("seed", range(12))
def test_falls(seed: int) -> None:
    """The fall of a team is its cost less that of the best team that comes no earlier, by listing them all."""
    problem = random_problem(seed)
    picture = picture_of(problem)
    walks, falls = picture.independent.walks, picture._falls
    number = {tuple(team): n for n, team in enumerate(problem.teams.counts.tolist())}
    for j, k in enumerate(problem.trucks_needed.tolist()):
        stations = walks.station[walks.truck[j]]
        costs = {}
        for places in combinations(range(len(stations)), k):
            team = [0] * problem.num_stations
            for i in stations[list(places)]:
                if i >= 0:
                    team[i] += 1
            costs[places] = problem.cost[number[tuple(team)], j]
        for rank, places in enumerate(sorted(costs, key=lambda places: places[::-1])):
            later = [cost for other, cost in costs.items() if (np.array(other) >= places).all()]
            assert falls.fall[falls.first_fall[j] + rank] == pytest.approx(costs[places] - min(later), abs=1e-15)
        assert rank + 1 == num_below(k, len(stations))


@pytest.mark.parametrize(("kind", "horizon"), [("relaxing", 2.0), ("fixed", 2.0), ("fixed", 4.0)])
@pytest.mark.parametrize("seed", range(40))
def test_prices_are_not_below_their_bounds(seed: int, kind: str, horizon: float) -> None:
    """No price is smaller than its lower bound, though costs here have no structure and may well fall."""
    problem = random_problem(seed)
    picture, rng = picture_of(problem, kind, horizon), np.random.default_rng(seed)
    for _ in range(3):
        idle = rng.integers(0, problem.trucks + 1)
        state = picture.settle(idle)
        for size in range(1, int(min(problem.trucks_needed.max(), idle.sum())) + 1):
            teams = np.flatnonzero((problem.teams.sizes == size) & (problem.teams.counts <= idle).all(axis=1))
            least = picture.least_prices(state, picture.taken_trucks(idle, teams))
            late = picture.late_without(state, idle, teams)
            assert (picture.horizon_days * (late - state.late) >= least).all()


def test_bounds_of_falling_costs_are_tight() -> None:
    """With costs that never fall there is no harm, and a bound is what the trucks cost at unchanged demand."""
    problem = make_problem([1] * 6, [2] * 10, load=0.1, seed=2)
    station_late = (
        np.random.default_rng(5).uniform(0.01, 0.5, (problem.num_points, problem.num_stations)).cumsum(axis=1)
    )
    lateness = np.empty_like(station_late)
    np.put_along_axis(lateness, problem.order, station_late / station_late[:, -1:] * 0.9, axis=1)
    cost = np.array([[np.prod(late[team > 0]) for late in lateness] for team in problem.teams.counts])
    names = ("trucks", "returns_per_day", "incidents_per_day", "trucks_needed", "order")
    problem = DispatchProblem(**{name: getattr(problem, name) for name in names}, cost=cost)
    picture, idle = picture_of(problem), np.ones(6, np.int64)
    state = picture.settle(idle)
    teams = np.flatnonzero(problem.teams.sizes == 2)
    taken = picture.taken_trucks(idle, teams)
    for team, least in zip(taken, picture.least_prices(state, taken), strict=True):
        busy = state.busy[:6].copy()
        busy[team] += 0.5
        _, late = picture.independent.asked_and_late(busy)
        assert least == pytest.approx(picture.horizon_days * (late - state.late), rel=1e-6)


def test_trucks_of_one_station() -> None:
    """The idle trucks of a station are its first ones, and a team takes the last of them."""
    problem = make_problem([3, 1, 2], [3], seed=0)
    picture, idle = picture_of(problem), np.array([2, 1, 1])
    np.testing.assert_array_equal(picture.idle_trucks(idle), [1, 1, 0, 1, 1, 0])
    stations = problem.teams.stations.tolist()
    teams = np.array([stations.index([0, 0, 2]), stations.index([1, 2, -1]), stations.index([0, -1, -1])])
    np.testing.assert_array_equal(picture.taken_trucks(idle, teams), [[1, 0, 4], [3, 4, -1], [1, -1, -1]])
