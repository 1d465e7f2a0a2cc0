"""Departments: decisions that name units, of each kind that an incident needs."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from tests.departments import grid_department

from runcard.city import Standard, Unit, generate_grid
from runcard.errors import InputError
from runcard.mdp.from_city import dispatch_problem
from runcard.plan.plan import Plan, plan_of, solve
from runcard.plan.situation import Situation
from runcard.policy.solve import solve_problem


def test_each_kind_decides_as_its_own_policy_does(department: Plan) -> None:
    """For every set of idle units the teams are those of the policies of the kinds, asked one by one."""
    city = grid_department(side=4, engines=4, ladders=2)
    alone = {kind: solve_problem(dispatch_problem(city, kind=kind)) for kind in city.kinds}
    home = {unit.unit_id: unit.station_id for unit in city.units}
    for number in range(len(home) + 1):
        for idle in combinations(home, number):
            decision = department.decide(Situation(at="n5", type="fire", idle=idle))
            for one in decision.kinds:
                problem = alone[one.fleet.kind].problem
                trucks = [
                    sum(home[unit.unit_id] == station for unit in one.fleet.units if unit.unit_id in idle)
                    for station in problem.station_ids
                ]
                expected = alone[one.fleet.kind].decide(np.array(trucks), one.point)
                assert one.decision == expected
                assert [home.get(unit, unit) for unit in one.units] == list(expected.team)
                assert all(unit in idle or unit == "outside" for unit in one.units)


def test_kinds_go_by_what_is_needed_and_there(department: Plan) -> None:
    """With no ladder idle one comes from outside, and the engines are our own; a medical call gets one engine only."""
    fire = department.decide(Situation(at="n5", type="fire", idle={"E01", "E02", "E03"}))
    engines, ladders = fire.kinds
    assert set(engines.units) <= {"E01", "E02", "E03"}
    assert (ladders.units, fire.units) == (("outside",), (*engines.units, "outside"))
    medical = department.decide(Situation(at="n5", type="medical", idle=department.unit_ids))
    assert [(one.fleet.kind, len(one.units)) for one in medical.kinds] == [("engine", 1)]


def test_of_several_units_of_a_station_the_first_of_the_roster_go() -> None:
    """Two engines of one station that go are its first two idle ones."""
    city = grid_department(side=3, engines=1, ladders=1)
    station = city.stations[0].station_id
    more = (*city.units, Unit("E02", station, "engine"), Unit("E03", station, "engine"))
    one = solve(replace(city, units=more, stations=(replace(city.stations[0], trucks=0),)))
    assert one.decide(Situation(at="n1", type="fire", idle={"E01", "E02", "E03", "T01"})).units == ("E01", "E02", "T01")
    assert one.decide(Situation(at="n1", type="fire", idle={"E03", "E02"})).units == ("E02", "E03", "outside")


def test_the_chance_to_miss_each_standard_is_that_of_the_team(department: Plan) -> None:
    """What a decision says of its standards adds up to what is minimised now."""
    for one in department.decide(Situation(at="n5", type="fire", idle=department.unit_ids)).kinds:
        standards, missed = one.fleet.standards_at(one.point), one.fleet.chances(one.point, one.decision)
        weighted = sum(standard.weight * chance for standard, chance in zip(standards, missed, strict=True))
        assert weighted == pytest.approx(one.decision.p_late, abs=1e-12)
        assert all(0.0 <= chance <= 1.0 for chance in missed)


def test_what_is_not_there_is_refused(department: Plan) -> None:
    """A unit, a node or a type that nobody knows is a mistake, never a guess; so is what is no collection of units."""
    for idle, at, incident_type, words in (
        ({"E01", "E99"}, "n5", "fire", "expected units of the roster, got 'E99'"),
        ({"E01"}, "n5", "fir", r"expected a type of incident \(fire, medical\), got 'fir' \(did you mean fire\?\)"),
        ({"E01"}, "x", "fire", "expected a node of grid-4x4-stations-4-load-0.1-seed-1, got 'x'"),
        *((idle, "n5", "fire", "expected") for idle in ([1, 2], 7, [["E01"]], {None}, "E01")),
        ({"E01"}, 3, "fire", "expected a place and a type as text"),
        ({"E01"}, "n5", ["fire"], "expected a place and a type as text"),
    ):
        with pytest.raises(InputError, match=words):
            department.decide(Situation(at=at, type=incident_type, idle=idle))  # type: ignore[arg-type]


def test_kinds_may_have_different_policies() -> None:
    """The ladders optimal and the engines closest-first are one department."""
    city = grid_department(side=4, engines=4, ladders=2)
    names = {"engine": "closest-first", "ladder": "optimal"}
    solved = {kind: solve_problem(dispatch_problem(city, kind=kind), name) for kind, name in names.items()}
    mixed = plan_of(city, solved)
    assert [fleet.policy.name for fleet in mixed.fleets] == ["closest-first", "optimal"]
    assert mixed.name == "closest-first (engine), optimal (ladder)"
    with pytest.raises(InputError, match=r"expected a kind of units \(engine, ladder\), got 'medic'"):
        mixed.fleet("medic")


def test_a_problem_is_not_taken_for_a_city() -> None:
    """`solve` solved a problem before there were plans; whoever still asks so learns what does it now."""
    problem = dispatch_problem(grid_department(side=4, engines=2, ladders=1), kind="engine")
    with pytest.raises(InputError, match="expected a city, got a DispatchProblem: solve_problem solves"):
        solve(problem)  # type: ignore[arg-type]


def test_a_kind_that_only_rare_types_need_is_sent_to_them() -> None:
    """A fire that has never happened gets a ladder, the one that is surest to be in time."""
    city = grid_department(side=4, engines=4, ladders=2)
    quiet = tuple(replace(point, incidents_per_day=0.0) if point.type == "fire" else point for point in city.demand)
    department = solve(replace(city, demand=quiet))
    engines, ladders = department.decide(Situation(at="n5", type="fire", idle=department.unit_ids)).kinds
    assert len(engines.units) == 2
    missed = {one.team: one.p_late for one in (ladders.decision, *ladders.decision.alternatives)}
    assert ladders.decision.p_late == min(missed.values())


def test_without_a_roster_stations_stand_for_their_trucks() -> None:
    """Each idle truck is named by its station; one that is not there is refused."""
    plain = generate_grid(side=4, num_stations=3, load=0.1, seed=1)
    typed = replace(
        plain,
        target_minutes=None,
        standards=(Standard("fire", "truck", 2, 1, 3.0),),
        demand=tuple(replace(point, type="fire") for point in plain.demand),
    )
    department = solve(typed)
    assert department.decide(Situation(at="n5", type="fire", idle=["s0", "s2"])).units == ("s0", "s2")
    assert department.decide(Situation(at="n5", type="fire", idle=[])).units == ("outside", "outside")
    with pytest.raises(InputError, match="expected stations, got 's9'"):
        department.decide(Situation(at="n5", type="fire", idle=["s9"]))
    alone = solve(plain)
    assert len(alone.decide(Situation(at="n5", idle=["s0", "s1", "s2"])).units) == 2
    with pytest.raises(InputError, match="type: expected none, this city has no types of incidents"):
        alone.decide(Situation(at="n5", type="fire", idle=["s0"]))
