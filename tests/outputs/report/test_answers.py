"""Who goes with every unit idle, and what looks absurd."""

from dataclasses import replace

import numpy as np
import pytest

from runcard.city import City
from runcard.outputs.report.answers import far_units
from runcard.outputs.report.findings import Report
from runcard.plan.everywhere import Everywhere
from runcard.response.routes import find_routes


def test_answers_are_the_decisions_of_the_policy(report: Report) -> None:
    """The recommended team of every demand point, and the gain as the difference of two options of the decision."""
    seen_gain = 0
    for kind, policy in report.solved.last.policies.items():
        problem, closest = policy.problem, report.solved.first.policies[kind]
        sent = report.answers[kind]
        for point, (team, other, gain) in enumerate(zip(sent.units, sent.closest.units, sent.gains(), strict=True)):
            decision = policy.decide(problem.trucks, point)
            first = closest.decide(problem.trucks, point).team
            assert (sorted(team), sorted(other)) == (sorted(decision.team), sorted(first))
            assert sent.missed_in_all[point] == pytest.approx(decision.p_late)
            assert gain >= 0.0
            for option in decision.alternatives:
                if team != other and sorted(option.team) == sorted(first):
                    assert gain == pytest.approx(option.total - decision.total, abs=1e-12)
                    seen_gain += 1
    assert seen_gain > 10


def test_a_unit_from_across_town_is_found(report: Report, town: City) -> None:
    """One that needs far longer than the closest, or misses a standard that the closest meets; a near one is not."""
    seen = town.of_kind("engine")
    minutes = find_routes(seen).drive_minutes + seen.turnout.mean_minutes
    point = next(j for j, one in enumerate(seen.demand) if seen.standards_of(one)[0].arrivals == 1)
    ranked = minutes[:, point].argsort().tolist()
    teams = report.answers["engine"].fleet.problem.teams

    def sent(station: int) -> Everywhere:
        return replace(report.answers["engine"], points=np.array([point]), teams=np.array([teams.number([station])]))

    (far,) = far_units(report.solved, "engine", sent(ranked[-1]))
    assert far.station == ranked[-1]
    assert far.minutes == pytest.approx(minutes[ranked[-1], point])
    assert far.closest_minutes == pytest.approx(minutes[ranked[0], point])
    closest = report.answers["engine"].closest.stations[point]
    assert closest[0] == ranked[0]
    assert far_units(report.solved, "engine", sent(ranked[0])) == []
    # The second closest is no farther than twice as long or two minutes more: only a standard between the two tells.
    near, (least, drive) = sent(ranked[1]), sorted(minutes[:, point])[:2]
    assert least < drive <= max(2.0 * least, least + 2.0)
    for target, is_found in ((least - 0.1, False), (least, True), ((least + drive) / 2.0, True), (drive, False)):
        standards = tuple(replace(one, target_minutes=target) for one in town.standards)
        solved = replace(report.solved, city=replace(town, standards=standards))
        assert [one.station for one in far_units(solved, "engine", near)] == [ranked[1]] * is_found
    # Where every standard is met the second closest is as good as any, and one from across town is not.
    easy = replace(town, standards=tuple(replace(one, target_minutes=500.0) for one in town.standards))
    solved = replace(report.solved, city=easy)
    found = [far_units(solved, "engine", one) for one in (near, sent(ranked[-1]))]
    assert [[one.station for one in listed] for listed in found] == [[], [ranked[-1]]]


def test_nothing_is_absurd_in_the_town(report: Report) -> None:
    """The optimum of the built-in town sends nobody from across town."""
    assert report.far == ()
