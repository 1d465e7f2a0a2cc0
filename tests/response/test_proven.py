"""Errors that are bounds make intervals proven; those of a lattice are estimates, and the intervals say so."""

from dataclasses import replace

import pytest

from runcard.city import Driving, Turnout, generate_grid
from runcard.response.table import response_table


@pytest.mark.parametrize(
    ("driving", "turnout", "trucks", "proven"),
    [
        (Driving(), Turnout(), 2, True),
        (Driving("gamma", cv=0.0), Turnout(), 3, True),
        (Driving(), Turnout(), 3, False),
        (Driving(), Turnout(mean_minutes=0.5), 2, False),
        (Driving("gamma", cv=1.5), Turnout(), 1, False),
        (Driving("gamma", cv=1.5), Turnout(), 2, False),
        (Driving("hyperexponential", cv=2.0, coupled_branch="short"), Turnout(), 2, False),
    ],
)
def test_only_the_closed_form_is_proven(driving: Driving, turnout: Turnout, trucks: int, proven: bool) -> None:
    """Exponential links of one mean, one or two trucks and no turnout; or nothing that is random."""
    city = generate_grid(side=3, num_stations=3, load=0.1, seed=1)
    city = replace(city, driving=driving, turnout=turnout, trucks_per_incident=trucks)
    assert response_table(city).proven is proven
