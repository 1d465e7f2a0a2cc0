"""Who is told what long work is doing."""

from tests.town import plain_town

from runcard.assess.steps import city_problem
from runcard.mdp.from_city import dispatch_problem


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
    assert city_problem(plain_town(), steps=told).fingerprint == dispatch_problem(plain_town()).fingerprint
    assert set(city_problem(plain_town(), minutes=False).measures) == {"late"}
    assert told.heard[0] == f"driving times to {len(plain_town().demand)} demand points"


def test_driving_times_say_how_far_they_are() -> None:
    """Parts rise to 1."""
    told = Told()
    city_problem(plain_town(), steps=told)
    parts = [part for part in told.heard if isinstance(part, float)]
    assert parts == sorted(parts)
    assert parts[-1] == 1.0
