"""The reason of a decision: what it says is true, and it is said the same everywhere."""

from dataclasses import replace

import numpy as np

from runcard.plan.answer import kind_document
from runcard.plan.fleet import KindDecision
from runcard.plan.plan import Plan
from runcard.plan.reasons import BY_TIME, ON_CARD, met_words, missed_words, reason_of
from runcard.plan.situation import Situation
from runcard.policy.base import Option
from runcard.policy.by_order import OrderPolicy

ENGINES = {"E01", "E02", "E03", "E04"}


def ladder(department: Plan, idle: set[str], node: str = "n5") -> KindDecision:
    """What the ladders send."""
    return department.decide(Situation(at=node, type="fire", idle=idle)).kinds[1]


def test_the_only_free_unit_is_called_so(department: Plan) -> None:
    """With one ladder free it is the only one, and not the closest; with none, one must come from outside."""
    assert reason_of(ladder(department, {"T02"})) == "T02 is the only free ladder."
    none = reason_of(ladder(department, set(ENGINES)))
    assert none.startswith("No ladder is free: one from outside must come")
    assert "assumption" in none
    some = reason_of(department.decide(Situation(at="n5", type="fire", idle={"E02"})).kinds[0])
    assert some.startswith("E02 and one from outside go: no other engine is free")


def test_units_with_the_same_minutes_are_equally_close(department: Plan) -> None:
    """Who goes in place of another is said to be as close, or farther, as the minutes of the two by themselves say."""
    seen = set()
    for node in dict.fromkeys(department.fleets[0].problem.point_ids):
        one = ladder(department, set(department.unit_ids), node)
        problem = one.fleet.problem
        minutes = sorted(problem.measures["minutes"][[1, 2], one.point].tolist())
        equal, reason = minutes[1] - minutes[0] < 0.05, reason_of(one)
        assert ("equally close" in reason or "as close as any other" in reason) == equal
        assert ("closer" in reason or "is the closest" in reason) == (not equal)
        seen.add(equal)
    assert seen == {True, False}


def test_a_gain_is_that_of_the_prices(department: Plan) -> None:
    """What is gained in all is cost and price of the closest less those of who goes, per 1,000 such calls."""
    found = False
    for node in dict.fromkeys(department.fleets[0].problem.point_ids):
        for one in department.decide(Situation(at=node, type="fire", idle=department.unit_ids)).kinds:
            reason = reason_of(one)
            if "in place of" in reason and "fewer in all" in reason:
                number = float(reason.split(" fewer in all")[0].rsplit(" ", 1)[1])
                gains = [1000.0 * (other.total - one.decision.total) for other in one.decision.alternatives]
                assert min(abs(number - gain) for gain in gains) <= 0.006 * number + 1e-9
                found = True
    assert found


def test_a_closest_team_that_is_far_behind_needs_no_price(department: Plan) -> None:
    """Where the closest are not among the best choices, the sentence says that and invents no number."""
    asked = (Situation(at=node, type="fire") for node in department.fleets[0].problem.point_ids)
    kinds = (kind for situation in asked for kind in department.decide(situation).kinds)
    one = next(kind for kind in kinds if "in place of" in reason_of(kind))
    bare = replace(one, decision=replace(one.decision, alternatives=(Option(team=(), p_late=0.0, price=0.0),)))
    assert reason_of(bare).endswith("free for later calls, and the closest are not among the best 2 choices.")


def test_an_order_says_of_what(department: Plan) -> None:
    """The fallback goes by driving time or by the card, and does not claim that nothing is better."""
    one = ladder(department, set(department.unit_ids), "n0")
    assert reason_of(one, ON_CARD).endswith("the first free ladder on the card.")
    if "in place of" not in reason_of(one):
        assert reason_of(one, BY_TIME).endswith("by driving time.")


def test_a_policy_of_another_sort_says_its_own_reason(department: Plan) -> None:
    """Whoever adds a policy that looks at neither cards nor minutes is not said to send the closest."""
    one = ladder(department, set(department.unit_ids), "n0")
    problem = one.fleet.problem
    policy = OrderPolicy(name="listed", problem=problem, order=problem.order, reason="comes first in the list")
    listed = replace(one, fleet=replace(one.fleet, policies=(policy,)))
    assert reason_of(listed) == f"{one.units[0]} goes: that team comes first in the list."


def test_what_is_not_sure_is_not_100_percent() -> None:
    """99.995 % is not shown as 100 %, and 100 % is."""
    assert met_words(0.99995) == "over 99.9 %"
    assert met_words(1.0) == "100.0 %"
    assert met_words(0.873) == "87.3 %"
    assert missed_words(()) == "late incidents per 1,000 calls"


def test_minutes_are_those_of_the_tables(department: Plan) -> None:
    """The mean of the first unit is that of the team, for those that go and for the alternatives."""
    one = department.decide(Situation(at="n5", type="fire", idle={*ENGINES, "T01"})).kinds[0]
    problem = one.fleet.problem
    document = kind_document(one, one.fleet.standards_at(one.point))
    for option, found in zip(
        (one.decision, *one.decision.alternatives), (document, *document["alternatives"]), strict=True
    ):
        stations = [problem.station_ids.index(name) for name in option.team]
        team = int(np.flatnonzero([sorted(row[row >= 0]) == sorted(stations) for row in problem.teams.stations])[0])
        assert found["first_minutes"] == problem.measures["minutes"][team, one.point]
