"""Decisions in a notebook."""

import re
from dataclasses import replace

import pytest
from tests.markup import HOSTILE, shown

from runcard import demo_city, dispatch_problem, generate_grid, solve, solve_problem
from runcard.city import Objective
from runcard.plan.plan import Plan
from runcard.plan.situation import Situation

GRID = generate_grid(side=3, num_stations=3, load=0.2, seed=1)


@pytest.fixture(scope="module")
def department() -> Plan:
    """The built-in town with a quick policy."""
    return solve(demo_city(), "closest-first")


def test_a_decision_shows_its_team_and_the_others() -> None:
    """The first row is the team that goes, then come the alternatives, each with its own numbers."""
    problem = dispatch_problem(GRID)
    decision = solve_problem(problem, "optimal").decide(problem.trucks, 4)
    (table,) = shown(decision).tables
    assert table[0] == ["team", "late now, %", "price, %", "sum, %"]
    for row, option in zip(table[1:], (decision, *decision.alternatives), strict=True):
        numbers = (option.p_late, option.price, option.total)
        assert row == [", ".join(option.team), *(f"{100.0 * number:.3f}" for number in numbers)]


def test_a_decision_for_minutes_shows_minutes() -> None:
    """Where something else is minimised, the mean response stands beside the chance of being late."""
    problem = dispatch_problem(replace(GRID, objective=Objective("late+minutes", weight=0.02)))
    decision = solve_problem(problem, "optimal").decide(problem.trucks, 4)
    (table,) = shown(decision).tables
    assert table[0] == ["team", "late now, %", "mean response, min", "price", "sum"]
    assert table[1][2:] == [f"{decision.minutes:.2f}", f"{decision.price:.3f}", f"{decision.total:.3f}"]


def test_a_decision_of_a_department_names_units(department: Plan) -> None:
    """A table for each kind: its units, the chance to miss each standard, mean minutes, price and sum."""
    decision = department.decide(Situation(at="old-d2", type="fire", idle=department.unit_ids))
    page = shown(decision)
    assert f"Send {', '.join(decision.units)} to old-d2 (fire)" in page.words
    for table, one in zip(page.tables, decision.kinds, strict=True):
        fleet, (head, first, *others) = one.fleet, table
        assert head[0] == fleet.kind
        assert first[0] == ", ".join(one.units)
        chances = fleet.chances(one.point, one.decision)
        assert first[1 : 1 + len(chances)] == [f"{100.0 * chance:.3f}" for chance in chances]
        assert head[1 + len(chances)] == "mean response, min"
        assert float(first[1 + len(chances)]) > 0.0
        assert len(others) == len(one.decision.alternatives)
    short = department.decide(Situation(at="old-d2", type="fire", idle={"E01", "E02"}))
    assert shown(short).tables[1][1][0] == "outside"
    moved = Situation(at=(0.0, 0.0), type="medical", idle=department.unit_ids, moved={"E01": "old-d2"})
    anywhere = department.decide(moved)  # an address that is no demand point
    assert shown(anywhere).tables[0][1][0] == ", ".join(anywhere.units)


def test_hostile_names_are_only_text() -> None:
    """Ids of units and stations that are scripts are shown, and do nothing."""
    city = demo_city()
    units = tuple(replace(one, unit_id=f"{one.unit_id}{HOSTILE}") for one in city.units)
    department = solve(replace(city, units=units), "closest-first")
    decision = department.decide(Situation(at="old-d2", type="medical", idle=department.unit_ids))
    assert decision.units[0] in shown(decision).words
    by_station = decision.kinds[0].decision
    shown(replace(by_station, team=(HOSTILE,)))


def test_a_decision_of_a_department_has_a_map(department: Plan) -> None:
    """A line for each unit that has a place, also for one that is not at home; none where the city is not known."""
    decision = department.decide(Situation(at="old-d2", type="fire", idle=department.unit_ids))
    assert len(re.findall("<line ", decision._repr_html_())) == len(decision.units)
    assert all(f"<title>{unit}</title></line>" in decision._repr_html_() for unit in decision.units)
    away = department.decide(
        Situation(at="old-d2", type="fire", idle=department.unit_ids, moved={decision.units[0]: "old-d2"})
    )
    assert len(re.findall("<line ", away._repr_html_())) == len(away.units)
    lonely = department.decide(Situation(at="old-d2", type="fire", idle={"E01"}))
    assert len(re.findall("<line ", lonely._repr_html_())) == len([one for one in lonely.units if one != "outside"])
    assert "<svg" not in replace(decision, ground=None)._repr_html_()
