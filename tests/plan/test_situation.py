"""Situations and answers: however it is said who is free, where and when, the answer is the same one."""

import json
from dataclasses import replace
from datetime import datetime
from math import nan

import pytest
from tests.departments import grid_department
from tests.weeks import with_days_by_type

from runcard.errors import InputError
from runcard.plan.plan import Plan, solve
from runcard.plan.situation import Situation, checked_units, units_said


def test_idle_units_and_busy_ones_say_the_same(department: Plan) -> None:
    """Who is idle, who is busy, and nobody for every unit: three ways to one document."""
    asked = {"at": "n5", "type": "fire"}
    every = department.decide(Situation(**asked)).whole_document()
    assert department.decide(Situation(**asked, idle=department.unit_ids)).whole_document() == every
    assert department.decide(Situation(**asked, busy=())).whole_document() == every
    without = department.decide(Situation(**asked, busy={"E01"})).whole_document()
    assert department.decide(Situation(**asked, idle=set(department.unit_ids) - {"E01"})).whole_document() == without
    assert "E01" not in json.dumps(without)


def test_a_document_adds_up(department: Plan) -> None:
    """The team is that of all kinds, chances and prices are sums, and each alternative changes one kind."""
    document = department.decide(Situation(at="n5", type="fire")).whole_document()
    kinds = document["kinds"]
    assert document["team"] == [unit for kind in kinds for unit in kind["units"]]
    assert document["units"] == {kind["kind"]: kind["units"] for kind in kinds}
    for key in ("p_late", "price"):
        assert document[key] == pytest.approx(sum(kind[key] for kind in kinds), abs=1e-15)
    assert document["reason"] == " ".join(kind["reason"] for kind in kinds)
    totals = [option["p_late"] + option["price"] for option in (document, *document["alternatives"])]
    assert totals == sorted(totals)
    for option in document["alternatives"]:
        changed = [kind for kind in kinds if not set(kind["units"]) <= set(option["team"])]
        assert len(changed) == 1
    assert set(document["truck_prices"]) == set(department.unit_ids)


def test_a_price_that_is_not_known_is_no_price(department: Plan) -> None:
    """Where that of one kind is not known, neither is the sum."""
    answer = department.decide(Situation(at="n5", type="fire"))
    for number, kind in enumerate(answer.kinds):
        kinds = [*answer.kinds]
        kinds[number] = replace(kind, decision=replace(kind.decision, price=nan))
        document = replace(answer, kinds=tuple(kinds)).document()
        assert (document["price"], document["kinds"][number]["price"]) == (None, None)


def test_the_type_may_be_left_out_where_there_is_one() -> None:
    """In the city, or in the area, nobody needs to say so; where there are two types it is asked for, and named."""
    fires = grid_department(side=3, engines=3, ladders=1, shares=(1.0, 0.0))
    both = grid_department(side=3, engines=3, ladders=1)
    one = replace(both, demand=tuple(of for of in both.demand if (of.node_id, of.type) != ("n5", "medical")))
    for city in (fires, one):
        assert solve(city, "closest-first").decide(Situation(at="n5")).type == "fire"
    for city, node in ((both, "n5"), (one, "n4")):
        with pytest.raises(InputError, match=r"type: expected one of several types of incidents \(fire, medical\)"):
            solve(city, "closest-first").decide(Situation(at=node))


def test_the_time_tells_the_period() -> None:
    """A time and its hour of the week give the answer of the period's plan, which says its name."""
    city = with_days_by_type(grid_department(side=3, engines=3, ladders=1))
    plan = solve(city)
    for time, hour, period in ((datetime(2017, 1, 3, 14), 38, "day"), (datetime(2017, 1, 3, 3), 27, "night")):
        answer = plan.decide(Situation(at="n5", type="fire", time=time))
        assert answer.period == period
        assert answer.document() == plan.decide(Situation(at="n5", type="fire", time=hour)).document()
        assert answer.document() == solve(city.in_period(period)).decide(Situation(at="n5", type="fire")).document()
    with pytest.raises(InputError, match="time: expected when the incident is"):
        plan.decide(Situation(at="n5", type="fire"))


@pytest.mark.parametrize(
    ("words", "names"),
    [("all", ["E01", "E02", "s1", "s1"]), ("none", []), (" E02,s1 ", ["E02", "s1"]), ("s1, s1", ["s1", "s1"])],
)
def test_units_are_said_in_words(words: str, names: list[str]) -> None:
    """Ids with commas, all, or none; the trucks of a station share its name."""
    assert sorted(units_said(words, {"E01": 1, "E02": 1, "s1": 2}).elements()) == names
    assert [*units_said("all", {"all": 1, "E01": 1})] == ["all"]  # where a unit is called so


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["E01", "E99"], "busy: expected units of the roster, got 'E99'"),
        (["E01", "E01"], "busy: expected every unit once, got E01 2 times"),
        (7, "busy: expected the ids of units, got 7"),
    ],
)
def test_units_that_are_none_are_refused(names: list[str], message: str) -> None:
    """An unknown unit, one that is named twice and what is no list are errors that say where."""
    with pytest.raises(InputError) as caught:
        checked_units(names, {"E01": 1, "E02": 1}, "busy")
    assert str(caught.value) == message


def test_idle_and_busy_exclude_each_other() -> None:
    """A situation has idle units or busy ones."""
    with pytest.raises(InputError, match="expected the idle units or the busy ones, got both"):
        Situation(at="n5", idle=("E01",), busy=("E02",))
