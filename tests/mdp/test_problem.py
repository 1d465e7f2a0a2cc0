"""Tests of the dispatch problem: what it refuses, and how a city fills it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from runcard.city import DemandPoint, generate_grid
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem
from runcard.response.table import response_table
from runcard.response.teams import Teams

from .problems import make_problem


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trucks": np.array([1, 0])}, "at least one truck"),
        ({"returns_per_day": 0.0}, "returns_per_day > 0"),
        ({"returns_per_day": float("nan")}, "returns_per_day > 0"),
        ({"incidents_per_day": np.array([1.0, -1.0])}, "incidents_per_day >= 0"),
        ({"incidents_per_day": np.array([1.0, np.inf])}, "incidents_per_day >= 0"),
        ({"incidents_per_day": np.zeros(2)}, "incidents_per_day > 0"),
        ({"trucks_needed": np.array([2, 5])}, "trucks_needed of 1 to 4"),
        ({"trucks_needed": np.array([2, 0])}, "trucks_needed of 1 to 4"),
        ({"trucks_needed": np.array([2])}, "trucks_needed of shape"),
        ({"trucks_needed": np.array([2, 2])}, "finite cost exactly"),
        ({"cost": np.zeros((4, 2))}, "cost of shape"),
        ({"cost": np.full((5, 2), np.nan), "measures": {}}, "finite cost"),
        ({"order": np.zeros((2, 3), np.int64)}, "order of shape"),
        ({"order": np.array([[0, 0], [0, 1]])}, "order"),
        ({"order": np.array([[0, 1], [1, 2]])}, "order"),
        ({"measures": {"minutes": np.zeros((1, 1))}}, "minutes of shape"),
        ({"measures": {"minutes": np.full((5, 2), np.nan)}}, "finite minutes"),
        ({"measures": {"late": np.zeros((5, 2))}}, "late to be the cost"),
        ({"station_ids": ("a", "a")}, "station id once, got 'a' several times"),
        ({"trucks": np.ma.masked_array([1, 2], [False, True])}, "trucks, got a masked array"),
        (
            {"incidents_per_day": np.array([1e50, 1.0])},
            "a load of at most 1000 incidents per truck and busy time, got 1",
        ),
        ({"incidents_per_day": np.array([1e3, 3e3]), "returns_per_day": 1.0}, r"at most 1000 .* got 1\.33e\+03"),
        *(({"cost_error": error}, "error >= 0 of cost") for error in (-1e-9, float("nan"))),
        ({"measure_errors": {"minutes": float("inf")}}, "error >= 0 of minutes"),
        ({"measure_errors": {"hours": 1.0}}, "errors only for measures that are there"),
        ({"measures": {"minutes": np.ma.masked_invalid(np.full((5, 2), np.nan))}}, "minutes, got a masked array"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    """Arrays that do not fit together, or numbers without a meaning, are refused with a message that says which."""
    problem = make_problem([1, 2], [2, 1])
    with pytest.raises(InputError, match=message):
        replace(problem, **changes)


def test_a_city_as_arrays() -> None:
    """A city's rates per day, needs, teams and P(late) arrive in the problem as they are in the city."""
    city = generate_grid(side=4, num_stations=3, load=0.2, seed=4, trucks_per_station=2, busy_minutes=30.0)
    demand = tuple(DemandPoint(p.node_id, p.incidents_per_day, trucks=1 + j % 2) for j, p in enumerate(city.demand))
    city = replace(city, demand=demand)
    problem, table = dispatch_problem(city), response_table(city)
    assert problem.trucks.tolist() == [2, 2, 2]
    assert problem.returns_per_day == 48.0
    assert problem.incidents_per_day.tolist() == [point.incidents_per_day for point in demand]
    assert problem.trucks_needed.tolist() == [1 + j % 2 for j in range(16)]
    assert problem.teams == Teams((2, 2, 2), 2)
    assert np.array_equal(problem.cost, table.p_late)
    assert problem.station_ids == ("s0", "s1", "s2")
    assert problem.point_ids == tuple(f"n{j}" for j in range(16))
    assert (problem.num_states, problem.num_trucks, problem.num_stations, problem.num_points) == (27, 6, 3, 16)


def test_the_order_is_by_driving_time_and_then_as_listed() -> None:
    """Stations come from the closest to the farthest; of two equally close, the one listed first comes first."""
    city = generate_grid(side=4, num_stations=5, load=0.2, seed=4)
    problem, minutes = dispatch_problem(city), response_table(city).routes.drive_minutes
    num_ties = 0
    for j, order in enumerate(problem.order.tolist()):
        ranked = [(minutes[i, j], i) for i in order]
        assert ranked == sorted(ranked)
        num_ties += len(ranked) - len({time for time, _ in ranked})
    assert num_ties > 0


def test_the_fingerprint_tells_problems_apart() -> None:
    """Anything that a decision depends on changes the fingerprint; making the same problem again does not."""
    problem = make_problem([1, 2], [2, 1])
    assert problem.fingerprint == make_problem([1, 2], [2, 1]).fingerprint
    finite = np.isfinite(problem.cost)
    others = [
        replace(problem, cost=np.where(finite, problem.cost * (1 + 1e-15) + 1e-16, np.inf), measures={}),
        replace(problem, incidents_per_day=problem.incidents_per_day[::-1].copy()),
        replace(problem, returns_per_day=25.0),
        replace(problem, order=problem.order[:, ::-1].copy()),
        replace(problem, station_ids=("a", "b")),
        replace(problem, point_ids=("a", "b")),
    ]
    assert len({problem.fingerprint, *[other.fingerprint for other in others]}) == 1 + len(others)


def test_the_arrays_cannot_be_written() -> None:
    """A problem is frozen down to its arrays, without freezing those it was made from, which change nothing later."""
    problem = make_problem([2, 1], [2, 1])
    with pytest.raises(ValueError, match="read-only"):
        problem.trucks[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        problem.measures["minutes"][0] = 5.0
    mine, minutes = np.array(problem.incidents_per_day), np.array(problem.measures["minutes"])
    view = minutes.view()
    view.flags.writeable = False  # but not what it is a view of
    other = replace(problem, incidents_per_day=mine, measures={"minutes": view})
    expected = mine[0], minutes[0, 0], other.fingerprint
    mine[0] = minutes[0, 0] = 1.0
    assert (other.incidents_per_day[0], other.measures["minutes"][0, 0], other.fingerprint) == expected
    again = replace(problem, returns_per_day=30.0)  # from arrays that nobody can write to: no more memory for them
    assert again.cost is problem.cost is again.measures["late"]
    assert again.measures["minutes"] is problem.measures["minutes"]


def test_ids_are_made_up_if_left_out() -> None:
    """Stations are s0, s1, ... and demand points n0, n1, ..., and decisions use them; too few are an error."""
    problem = replace(make_problem([2, 1], [2, 1]), station_ids=(), point_ids=())
    assert problem.station_ids == ("s0", "s1")
    assert problem.point_ids == ("n0", "n1")
    with pytest.raises(InputError, match="expected 2 station_ids, got 1"):
        replace(problem, station_ids=("only",))


def test_lists_will_do() -> None:
    """Arrays may come as lists; numbers of trucks with a fraction are refused."""
    problem = make_problem([2, 1], [2, 1])
    again = replace(problem, trucks=problem.trucks.tolist(), cost=problem.cost.tolist())
    assert again.fingerprint == problem.fingerprint
    for wrong in ([1.5, 1], [np.nan, 1]):
        with pytest.raises(InputError, match="expected whole numbers for trucks"):
            replace(problem, trucks=wrong)
