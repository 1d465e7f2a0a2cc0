"""Trucks that are on the road already: they have no turnout, and all else is as for others."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from runcard.city import City, Driving, Outside, Turnout
from runcard.response.table import response_table
from runcard.response.travel import travel_of

EDGES = [(0, 4, False, 0.8), (1, 4, False, 1.1), (4, 6, False, 0.7), (2, 6, False, 0.6), (6, 7, False, 0.9)]
TURNOUT = 0.5


def two_ways(make_city: Any, trucks: int, arrivals: int, shared_delay: float) -> tuple[City, City]:
    """A city with turnout, and one whose stations stand one link further away instead, but for the second station.

    Turnout and links are exponential, so that a link that nobody else drives over is a turnout.
    """
    given: dict[str, Any] = {
        "target_minutes": 3.0,
        "trucks_per_incident": trucks,
        "arrivals_per_incident": arrivals,
        "shared_delay": shared_delay,
    }
    outside = Outside(5, TURNOUT)
    with_turnout = make_city(EDGES, [0, 1, 2], [7], turnout=Turnout(TURNOUT), outside=outside, **given)
    further = [*EDGES, (8, 0, False, TURNOUT), (9, 2, False, TURNOUT)]
    # One link more for a truck from outside is its turnout.
    return with_turnout, make_city(further, [8, 1, 9], [7], outside=replace(outside, links=6), **given)


@pytest.mark.parametrize("shared_delay", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(("trucks", "arrivals"), [(1, 1), (2, 1), (2, 2), (3, 2)])
def test_no_turnout_is_one_link_less(make_city: Any, trucks: int, arrivals: int, shared_delay: float) -> None:
    """A truck on the road is late as if every other one had one link more to drive: each number, by every engine."""
    with_turnout, further = two_ways(make_city, trucks, arrivals, shared_delay)
    found = response_table(with_turnout, on_road=[1], arrivals=True)
    expected = response_table(further, arrivals=True)
    off = found.late_error + expected.late_error
    assert off < 2e-3
    assert found.p_late == pytest.approx(expected.p_late, abs=off)
    assert found.mean_minutes == pytest.approx(expected.mean_minutes, abs=found.minutes_error + expected.minutes_error)
    assert found.arrivals is not None
    assert expected.arrivals is not None
    for which in ("first", "last"):
        assert found.arrivals.p90(which) == pytest.approx(expected.arrivals.p90(which), rel=0.01)


def test_nothing_random(make_city: Any) -> None:
    """With fixed times the truck on the road is there by its driving time alone, the others after their turnout."""
    city, _ = two_ways(make_city, 1, 1, 1.0)
    still = replace(city, driving=Driving("gamma", cv=0.0), turnout=Turnout(TURNOUT, "gamma", 0.0))
    found = response_table(still, on_road=[1])
    assert found.mean_minutes[1:4, 0].tolist() == pytest.approx([2.9, 2.7, 2.0])
    travel = travel_of(city, on_road=[1])
    assert travel.minutes[:, 0].tolist() == pytest.approx([2.9, 2.7, 2.0])
    assert travel.deviations[1, 0] == pytest.approx(np.sqrt(1.1**2 + 0.7**2 + 0.9**2))
