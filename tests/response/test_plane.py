"""Pairs that meet shared links together now and then: closed forms, enumeration, simulation and limits."""

from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from tests.response.oracles import (
    check_by_simulation,
    fork,
    late_of_one_station,
    line,
    words,
)
from tests.response.test_tree import LAWS, engines

from runcard.city import Driving, Outside, Turnout
from runcard.response.erlang import Erlang
from runcard.response.plane import Plane
from runcard.response.table import response_table
from runcard.response.tree import Tree


@pytest.mark.parametrize("arrivals", [1, 2])
@pytest.mark.parametrize("q", [0.0, 0.05, 0.3, 0.8, 1.0])
def test_the_closed_form_of_equal_links(make_grid: Any, q: float, arrivals: int) -> None:
    """On the paper's cities the engines agree with the sums of positive terms within their stated errors, below 1e-6.

    Where links are met together now and then that is the plane, else the tree.
    """
    city = make_grid(5, [0, 6, 12], trucks=[2, 1, 1], shared_delay=q, outside=Outside(links=9, link_minutes=0.6))
    city = replace(city, arrivals_per_incident=arrivals)
    erlang, engine = engines(city, Erlang, Plane if 0.0 < q < 1.0 else Tree)
    points = np.arange(len(city.demand))
    for (expected, _), (found, error), most in (
        (erlang.late(points), engine.late(points), 1e-6),
        (erlang.means(points), engine.means(points), 1e-3),
    ):
        assert np.abs(found - expected).max() <= error < most


@pytest.mark.parametrize("cv", [1.0, 0.5, 0.3])
@pytest.mark.parametrize("q", [0.05, 0.5, 0.95])
def test_the_closed_form_of_one_road(make_city: Any, q: float, cv: float) -> None:
    """On a road of equal gamma links both arrivals are late with the chance of a mixture of gamma times, to 1e-6."""
    for links, target in ((1, 1.0), (2, 3.0), (5, 5.0), (12, 10.0), (30, 27.0), (60, 70.0)):
        settings = {"trucks": [2], "shared_delay": q, "target_minutes": target, "driving": Driving("gamma", cv=cv)}
        city = line(make_city, (1.0,) * links, turnout=Turnout(1e-9), **settings)  # not the paper's times
        for arrivals in (1, 2):
            table = response_table(replace(city, arrivals_per_incident=arrivals), minutes=False)
            expected = late_of_one_station(links, q, target, 2, arrivals, cv**-2)
            assert table.p_late[-1, 0] == pytest.approx(expected, abs=1e-6), (links, arrivals)


@pytest.mark.parametrize("driving", LAWS, ids=words)
def test_two_trucks_by_enumeration(make_city: Any, driving: Driving) -> None:
    """P(late) is the mean over all ways to meet the three shared links, each a road of its own, to 1e-6."""
    q, city = 0.4, fork(make_city, driving=driving, outside=Outside(6, 0.9))
    found = response_table(replace(city, shared_delay=q), minutes=False)
    means, late = {"e4": 0.4, "e5": 1.2, "e6": 0.8}, np.zeros(2)
    for together in product((False, True), repeat=3):
        # Links met apart lie before the junction; then all that is left is met together.
        apart = [mean for mean, met in zip(means.values(), together, strict=True) if not met]
        both = [mean for mean, met in zip(means.values(), together, strict=True) if met]
        edges = [(0, 1, False, 0.9), (1, 2, False, 0.6), (20, 21, False, 0.5), (21, 22, False, 1.3)]
        ends = [2, 22]
        for side, start in enumerate((2, 22)):
            for step, mean in enumerate(apart):
                edges.append((start + step, start + step + 1, False, mean))
                ends[side] += 1
        join = 40
        edges += [(ends[0], join, False, 1e-7), (ends[1], join, False, 1e-7)]
        for step, mean in enumerate(both):
            edges.append((join + step, join + step + 1, False, mean))
        given = make_city(edges, [0, 20], [join + len(both)], driving=driving, target_minutes=4.5)
        chance = np.prod([q if met else 1.0 - q for met in together])
        late += chance * np.array(
            [response_table(replace(given, arrivals_per_incident=m), minutes=False).p_late[-1, 0] for m in (1, 2)]
        )
    second = response_table(replace(city, shared_delay=q, arrivals_per_incident=2), minutes=False)
    row = found.teams.number([0, 1])
    assert [found.p_late[row, 0], second.p_late[row, 0]] == pytest.approx(late.tolist(), abs=1.5e-6)


@pytest.mark.slow
@pytest.mark.parametrize("driving", LAWS[::2], ids=words)
def test_simulated_pairs(make_city: Any, driving: Driving) -> None:
    """P(late) and minutes are those of times drawn link by link, with and without turnout, shared or not."""
    turnouts = [Turnout(), Turnout(0.7, "lognormal", 0.5), Turnout(0.4, "gamma", 0.5), Turnout(0.5, shared=False)]
    for number, q in enumerate((1.0, 0.4, 0.7, 0.0, 0.5, 1.0)):
        turnout = turnouts[number % len(turnouts)]
        city = fork(make_city, driving=driving, shared_delay=q, turnout=turnout, outside=Outside(6, 0.9))
        check_by_simulation(city, [(0,), (0, 0), (0, 1)])


@pytest.mark.parametrize("branch", ["short", "long"])
def test_a_coupled_branch(make_city: Any, branch: str) -> None:
    """With one branch coupled, trucks on a link meet the same branch, and the same delay in that one."""
    driving = Driving("hyperexponential", cv=1.6, coupled_branch=branch)
    check_by_simulation(fork(make_city, driving=driving, outside=Outside(6, 0.9)), [(), (1,), (0, 0), (0, 1)], 100_000)


@pytest.mark.parametrize("driving", LAWS, ids=words)
def test_shared_delays_are_worse(make_city: Any, driving: Driving) -> None:
    """With any law, P(late) rises with what is shared, and two trucks are never later than one of them."""
    tables = [response_table(fork(make_city, driving=driving, shared_delay=q)) for q in (0.0, 0.3, 0.6, 1.0)]
    for fewer, more in pairwise(tables):
        assert (more.p_late >= fewer.p_late - 2e-6).all()
    alone = response_table(fork(make_city, driving=driving, trucks_per_incident=1)).p_late
    assert (tables[-1].p_late[4] <= np.minimum(alone[1], alone[2]) + 1e-6).all()


def test_stations_that_are_too_far(make_city: Any) -> None:
    """Sharing in between is found where some stations can hardly be in time at all."""
    edges = [(place, place + 1, False, 1.0) for place in range(20)] + [(0, 21, False, 1.0)]
    city = make_city(edges, [0, 1, 18, 21], [20], driving=Driving("gamma", cv=0.3), target_minutes=12.0)
    tables = [response_table(replace(city, shared_delay=q), minutes=False).p_late for q in (0.0, 0.5, 1.0)]
    assert np.isfinite(tables[1]).all()
    assert (tables[1] >= tables[0] - 2e-6).all()
    assert (tables[1] <= tables[2] + 2e-6).all()


@pytest.mark.parametrize("arrivals", [1, 2])
def test_an_incident_at_the_door_of_the_only_station(make_city: Any, arrivals: int) -> None:
    """Where no truck has a way to drive, two that leave together are late with the chance of their turnout."""
    settings = {"trucks": [2], "shared_delay": 0.5, "target_minutes": 5.0, "turnout": Turnout(2.0)}
    city = make_city([(0, 1, False, 1.0)], [0], [0], arrivals_per_incident=arrivals, **settings)
    table = response_table(city, minutes=False)
    assert table.p_late[-1, 0] == pytest.approx(np.exp(-2.5), abs=1e-6)
