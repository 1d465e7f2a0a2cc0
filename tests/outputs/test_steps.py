"""Who is told what long work is doing."""

import pytest

from runcard.city import City, demo_city
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import DispatchProblem
from runcard.outputs import steps
from runcard.outputs.steps import city_problem


class Told:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.heard: list[str | float] = []

    def begin(self, words: str) -> None:
        """A step begins."""
        self.heard.append(words)

    def part(self, part: float) -> None:
        """A part is done."""
        self.heard.append(part)


def test_the_problem_is_that_of_the_city() -> None:
    """It has the minutes if they are wanted, and its driving times are named as a step."""
    told = Told()
    assert city_problem(demo_city(), steps=told).fingerprint == dispatch_problem(demo_city()).fingerprint
    assert city_problem(demo_city(), minutes=False).response_minutes is None
    assert told.heard[0] == f"driving times to {len(demo_city().demand)} demand points"


def test_driving_times_say_how_far_they_are_where_they_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever computes the problem is handed the place to say so, if it takes one."""

    def slowly(city: City, *, minutes: bool = True, progress: object = None) -> DispatchProblem:
        assert callable(progress)
        progress(0.25)
        progress(1.0)
        return dispatch_problem(city, minutes=minutes)

    monkeypatch.setattr(steps, "dispatch_problem", slowly)
    told = Told()
    city_problem(demo_city(), steps=told)
    assert told.heard[1:] == [0.25, 1.0]
