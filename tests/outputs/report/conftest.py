"""Reports of small cities, each made once."""

import pytest
from tests.departments import grid_department
from tests.town import plain_town

from runcard.assess.auto import Effort
from runcard.city import City, demo_city
from runcard.outputs.report.findings import Report, find


@pytest.fixture(scope="session")
def town() -> City:
    """The built-in town: two kinds, seven standards, solved exactly."""
    return demo_city()


@pytest.fixture(scope="session")
def report(town: City) -> Report:
    """The report of the town, without the sensitivity."""
    return find(town, Effort(), quick=True)


@pytest.fixture(scope="session")
def plain_report() -> Report:
    """The report of the town with one kind and no standards."""
    return find(plain_town(), Effort(), quick=True)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> City:
    """A small department that counts as too large to be solved exactly."""
    monkeypatch.setattr("runcard.assess.policy_choice.SOME_SECONDS", 0.0)
    return grid_department(side=4, engines=4, ladders=2, load=0.2)
