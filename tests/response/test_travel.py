"""How trucks travel, as values: kinds of links, deviations, trucks from outside."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.response.oracles import delta, fork

from runcard.city import Driving, Outside, Turnout
from runcard.response.travel import needs_of, travel_of


def test_means_and_deviations_are_sums_over_the_route(make_city: Any) -> None:
    """The mean of a truck is its turnout and its links; variances add up."""
    city = fork(make_city, driving=Driving("gamma", cv=0.7), turnout=Turnout(0.5, "gamma", 0.4))
    travel = travel_of(city)
    for i, links in enumerate(((0.9, 0.6, 0.4, 1.2, 0.8), (0.5, 1.3, 0.4, 1.2, 0.8))):
        assert travel.minutes[i, 0] == pytest.approx(0.5 + sum(links))
        expected = np.sqrt((0.4 * 0.5) ** 2 + 0.7**2 * sum(link**2 for link in links))
        assert travel.deviations[i, 0] == pytest.approx(expected)


def test_links_of_one_mean_are_of_one_kind(make_grid: Any) -> None:
    """A grid of equal links has one kind, and every link of every route is of it."""
    travel = travel_of(make_grid(4, [0, 15]))
    assert travel.link_means.tolist() == [1.0]
    assert (travel.kinds == 0).all()
    assert travel.paper_times


def test_trucks_from_outside(make_city: Any) -> None:
    """They come from twice as far as anybody, with the mean of the links, unless the city says otherwise."""
    city = delta(make_city, outside=Outside())
    travel = travel_of(city)
    assert travel.outside_links == 2 * 4
    assert travel.outside_minutes == pytest.approx(np.mean([link.mean_minutes for link in city.links]))
    given = travel_of(replace(city, outside=Outside(3, 1.5)))
    assert (given.outside_links, given.outside_minutes) == (3, 1.5)
    assert given.outside_mean == pytest.approx(4.5)


def test_what_incidents_need(make_city: Any) -> None:
    """A demand point's own trucks, arrivals and target stand; elsewhere those of the city."""
    city = delta(make_city, trucks_per_incident=3, arrivals_per_incident=2)
    first, second = city.demand
    (needs,) = needs_of(replace(city, demand=(replace(first, trucks=1, arrivals=1, target_minutes=2.0), second)))
    assert (needs.trucks.tolist(), needs.arrivals.tolist(), needs.targets.tolist()) == ([1, 3], [1, 2], [2.0, 3.5])
    assert int(needs.trucks.max()) == 3
