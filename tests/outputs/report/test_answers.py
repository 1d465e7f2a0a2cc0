"""Who goes with every unit idle, and what looks absurd."""

from dataclasses import replace

import pytest

from runcard.city import City
from runcard.outputs.report.answers import AreaAnswer, far_units
from runcard.outputs.report.findings import Report
from runcard.response.routes import find_routes


def test_answers_are_the_decisions_of_the_policy(report: Report) -> None:
    """The recommended team of every demand point, and the gain as the difference of two options of the decision."""
    seen_gain = 0
    for kind, policy in report.solved.last.policies.items():
        problem, closest = policy.problem, report.solved.first.policies[kind]
        for answer in report.answers[kind]:
            decision = policy.decide(problem.trucks, answer.point)
            assert sorted(problem.station_ids[i] for i in answer.team) == sorted(decision.team)
            first = closest.decide(problem.trucks, answer.point).team
            assert sorted(problem.station_ids[i] for i in answer.closest) == sorted(first)
            assert answer.missed == pytest.approx(decision.p_late)
            assert answer.gain >= 0.0
            for option in decision.alternatives:
                if answer.departs and sorted(option.team) == sorted(first):
                    assert answer.gain == pytest.approx(option.total - decision.total, abs=1e-12)
                    seen_gain += 1
    assert seen_gain > 10


def test_a_unit_from_across_town_is_found(report: Report, town: City) -> None:
    """One that needs far longer than the closest, or misses a standard that the closest meets; a near one is not."""
    seen = town.of_kind("engine")
    minutes = find_routes(seen).drive_minutes + seen.turnout.mean_minutes
    point = next(j for j, one in enumerate(seen.demand) if seen.standards_of(one)[0].arrivals == 1)
    ranked = minutes[:, point].argsort().tolist()
    made_up = AreaAnswer(
        point=point, team=(ranked[-1],), closest=(ranked[0],), gain=0.0, missed=0.0, closest_missed=0.0
    )
    (far,) = far_units(report.solved, "engine", (made_up,))
    assert far.station == ranked[-1]
    assert far.minutes == pytest.approx(minutes[ranked[-1], point])
    assert far.closest_minutes == pytest.approx(minutes[ranked[0], point])
    same = replace(made_up, team=made_up.closest)
    assert far_units(report.solved, "engine", (same,)) == []
    # The second closest is no farther than twice as long or two minutes more: only a standard between the two tells.
    near, (least, drive) = replace(made_up, team=(ranked[1],)), sorted(minutes[:, point])[:2]
    assert least < drive <= max(2.0 * least, least + 2.0)
    for target, is_found in ((least - 0.1, False), (least, True), ((least + drive) / 2.0, True), (drive, False)):
        standards = tuple(replace(one, target_minutes=target) for one in town.standards)
        solved = replace(report.solved, city=replace(town, standards=standards))
        assert [one.station for one in far_units(solved, "engine", (near,))] == [ranked[1]] * is_found
    # Where every standard is met the second closest is as good as any, and one from across town is not.
    easy = replace(town, standards=tuple(replace(one, target_minutes=500.0) for one in town.standards))
    found = far_units(replace(report.solved, city=easy), "engine", (near, made_up))
    assert [one.station for one in found] == [ranked[-1]]


def test_nothing_is_absurd_in_the_town(report: Report) -> None:
    """The optimum of the built-in town sends nobody from across town."""
    assert report.far == ()
