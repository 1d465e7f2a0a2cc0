"""Who goes to every area at once is what each policy decides for one area after another."""

import numpy as np
import pytest
from tests.departments import grid_department

from runcard.city import City, generate_grid
from runcard.plan.answer import unit_prices
from runcard.plan.everywhere import everywhere
from runcard.plan.plan import Plan, solve
from runcard.plan.situation import Situation
from runcard.service.explorer.layers import points_of


@pytest.fixture(scope="module")
def town() -> City:
    """Four engines and two ladders on sixteen nodes."""
    return grid_department(side=4, engines=4, ladders=2)


def test_points_of_other_sizes_are_told_apart() -> None:
    """Demand points that need one, two and three trucks each get a team of their size."""
    city = generate_grid(side=3, num_stations=4, load=0.2, seed=3)
    demand = tuple(
        type(point)(point.node_id, point.incidents_per_day, trucks=1 + number % 3)
        for number, point in enumerate(city.demand)
    )
    fleet = solve(type(city)(**{**_fields(city), "demand": demand})).fleets[0]
    idle = fleet.problem.trucks.copy()
    sent = fleet.policy.teams(idle, np.arange(fleet.problem.num_points))
    assert fleet.problem.teams.sizes[sent].tolist() == [1 + number % 3 for number in range(len(demand))]


def _fields(city: City) -> dict[str, object]:
    return {name: getattr(city, name) for name in city.__dataclass_fields__}


@pytest.fixture(scope="module")
def department(town: City) -> Plan:
    """The town with its best policy."""
    return solve(town)


def test_units_chances_and_minutes_are_those_of_the_library(department: Plan) -> None:
    """For each area the units of `Plan.decide`, the closest first, and the chances of its fleets."""
    busy = ["E02", "T01"]
    idle = department.idle_in(Situation(at="", busy=busy))
    for fleet in department.fleets:
        points = points_of(fleet, "fire")
        scene = everywhere(fleet, idle, np.array([*points.values()]))
        for place, area in enumerate(points):
            decided = next(
                one for one in department.decide(Situation(at=area, type="fire", idle=idle)).kinds if one.fleet is fleet
            )
            assert sorted(scene.units[place]) == sorted(decided.units)
            chances = fleet.chances(points[area], decided.decision)
            missed = [float(scene.missed(number)[place]) for number in range(len(chances))]
            assert missed == pytest.approx(list(chances), abs=0.0)
            ranks = [fleet.problem.order[points[area]].tolist().index(i) for i in scene.stations[place] if i >= 0]
            assert ranks == sorted(ranks)


def test_a_gain_counts_what_comes_later(department: Plan) -> None:
    """Who sends the smallest sum of cost and price never loses, also where another team costs less now."""
    departs = []
    for fleet in department.fleets:
        scene = everywhere(fleet)
        own, other = (fleet.problem.cost[of.teams, of.points] for of in (scene, scene.closest))
        assert (scene.gains() >= 0.0).all()
        assert ((scene.gains() > 0.0) == (scene.teams != scene.closest.teams)).all()
        departs += (own > other).tolist()
    assert any(departs)


def test_those_that_are_missing_come_from_outside(department: Plan) -> None:
    """With one engine idle, it goes to every fire, and one comes from outside."""
    engines = department.fleet("engine")
    points = np.array([*points_of(engines, "fire").values()])
    one, nobody = (
        everywhere(engines, department.idle_in(Situation(at="", busy=busy)), points)
        for busy in (["E01", "E02", "E04"], ["E01", "E02", "E03", "E04"])
    )
    assert set(one.units) == {("E03", "outside")}
    assert set(nobody.units) == {("outside", "outside")}
    assert unit_prices(nobody) == {}
