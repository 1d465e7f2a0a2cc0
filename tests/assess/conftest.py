"""Cities that are assessed, each made once."""

import pytest
from tests.departments import grid_department

from runcard.assess.assessment import Assessment
from runcard.assess.auto import CARD, CLOSEST, RECOMMENDED, Effort, solved_city
from runcard.city import City, demo_city


@pytest.fixture(scope="session")
def town() -> City:
    """The built-in town: two kinds, seven standards, solved exactly."""
    return demo_city()


@pytest.fixture(scope="session")
def solved(town: City) -> Assessment:
    """Its three policies."""
    return solved_city(town, (CLOSEST, CARD, RECOMMENDED), Effort())


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> City:
    """A small department that counts as too large to be solved exactly."""
    monkeypatch.setattr("runcard.assess.policy_choice.SOME_SECONDS", 0.0)
    return grid_department(side=4, engines=4, ladders=2, load=0.2)
