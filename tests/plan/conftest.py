"""What several tests of plans ask."""

import pytest
from tests.departments import grid_department

from runcard.plan.plan import Plan, solve


@pytest.fixture(scope="session")
def department() -> Plan:
    """Four engines and two ladders on sixteen nodes, with the best policies; one of each at the first two stations."""
    return solve(grid_department(side=4, engines=4, ladders=2))
