"""Teams along a tree of roads, every link met together or none: closed forms, simulation, limits, fixed times."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaincc
from tests.response.oracles import check_by_simulation, delta, fork, line, ring, smaller_teams, words

from runcard.city import City, DemandPoint, Driving, Link, Node, Outside, Station, Turnout
from runcard.errors import InputError, NotConvergedError
from runcard.response.table import response_table
from runcard.response.teams import Teams
from runcard.response.travel import needs_of, travel_of

MEANS = (0.5, 0.7, 1.1, 1.6)
LAWS = [
    Driving(),
    Driving("gamma", cv=0.5),
    Driving("gamma", cv=2.0),
    Driving("lognormal", cv=1.2),
    Driving("hyperexponential", cv=1.5),
    Driving("pareto", tail_index=2.5),
    Driving("gamma", cv=0.8, fixed_part=0.4),
]


def engines(city: City, *kinds: Any) -> list[Any]:
    """Engines of some kinds for a city."""
    travel, (needs,) = travel_of(city), needs_of(city)
    teams = Teams.of((station.trucks for station in city.stations), int(needs.trucks.max()))
    return [kind(travel, teams, needs) for kind in kinds]


@pytest.mark.parametrize("minutes", [1.0, 100.0, 1000.0, 1e6])
@pytest.mark.parametrize("law", LAWS[:2], ids=words)
def test_a_slow_link_elsewhere_changes_no_minutes(law: Driving, minutes: float) -> None:
    """The minutes of a pair are right within their stated error, however long a link is that the pair does not use.

    Beyond that link the two meet it together: they are as many minutes later as it takes.
    """
    city = City(
        name="a bridge",
        busy_minutes=60.0,
        target_minutes=3.0,
        driving=law,
        nodes=tuple(Node(node, float(x), 0.0) for x, node in enumerate("abcd")),
        links=(
            Link("ab", "a", "b", False, 1.0),
            Link("bc", "b", "c", False, 1.5),
            Link("cd", "c", "d", False, minutes),
        ),
        stations=(Station("s0", "a", 1), Station("s1", "c", 1)),
        demand=(DemandPoint("b", 1.0), DemandPoint("d", 1.0)),
        outside=Outside(links=4, link_minutes=1.0),
    )
    table = response_table(city)
    near, far = table.mean_minutes[table.teams.number([0, 1])]
    shape = 1.0 if law.cv is None else law.cv**-2
    places = np.arange(5e-5, 60.0, 1e-4)
    first = gammaincc(shape, shape * places) * gammaincc(shape, shape * places / 1.5)
    assert abs(near - 1e-4 * first.sum()) <= table.minutes_error < 1e-2
    assert abs(far - minutes) <= table.minutes_error  # s1 is at the bridge before s0, always


def test_hypoexponential_routes(make_city: Any) -> None:
    """A route of exponential links with different means has P(late) = Σ_i e^(-t/m_i) Π_{j≠i} m_i / (m_i - m_j)."""
    for target in (0.5, 2.0, 4.0, 12.0):
        table = response_table(line(make_city, MEANS, trucks_per_incident=1, target_minutes=target))
        expected = sum(np.exp(-target / m) * np.prod([m / (m - other) for other in MEANS if other != m]) for m in MEANS)
        assert abs(table.p_late[1, 0] - expected) <= table.late_error < 1e-6


@pytest.mark.parametrize("cv", [0.3, 1.0, 2.0])
def test_gamma_routes(make_city: Any, cv: float) -> None:
    """Equal gamma links add up to a gamma time; with a coefficient of variation of 1 they are exponential."""
    for links, target in ((5, 4.5), (60, 50.0)):
        means = (0.8,) * links
        city = line(make_city, means, trucks_per_incident=1, target_minutes=target, driving=Driving("gamma", cv=cv))
        table = response_table(city, minutes=False)
        expected = gammaincc(links / cv**2, target / (0.8 * cv**2))
        assert abs(table.p_late[1, 0] - expected) <= table.late_error < 1e-6


@pytest.mark.parametrize(("q", "trucks"), [(0.0, 4), (1.0, 4), (0.0, 3), (1.0, 2), (1.0, 1)])
@pytest.mark.parametrize("turnout", [Turnout(), Turnout(0.5, "gamma", 0.6), Turnout(0.5, shared=False)])
def test_simulated_teams(make_city: Any, turnout: Turnout, q: float, trucks: int) -> None:
    """Every arrival of one to four trucks, some of one station and some from outside, is that of times drawn."""
    law = Driving("gamma", cv=0.7) if turnout.shared else Driving("lognormal", cv=1.1)
    city = delta(make_city, driving=law, turnout=turnout, shared_delay=q, trucks_per_incident=trucks)
    teams = [(), (0,), (0, 0), (0, 1), (0, 0, 2), (0, 2, 3), (0, 0, 0, 1), (0, 1, 2, 3), (0, 2, 2, 3)]
    check_by_simulation(city, teams, off=2e-3)


@pytest.mark.parametrize("q", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("turnout", [Turnout(), Turnout(0.4, "gamma", 0.6), Turnout(0.4, shared=False)])
def test_two_trucks_on_two_roads(make_city: Any, turnout: Turnout, q: float) -> None:
    """With a second route of its own, the second truck shares only bridges: P(late) and minutes are those drawn."""
    city = ring(make_city, driving=Driving("gamma", cv=1.3, second_route="disjoint"), turnout=turnout, shared_delay=q)
    check_by_simulation(city, [(0,), (0, 0), (0, 1)], off=0.012 if q == 0.5 else 2e-3)
    same = response_table(replace(city, driving=Driving("gamma", cv=1.3)))
    table = response_table(city)
    if q > 0.0:
        assert table.p_late[3, 0] < same.p_late[3, 0]  # what they do not share helps more than the way round costs
    np.testing.assert_allclose(table.p_late[[0, 1, 2, 4]], same.p_late[[0, 1, 2, 4]], rtol=0, atol=2e-6)


def test_two_roads_are_for_pairs(make_city: Any) -> None:
    """Second routes of three trucks are refused with a sentence that says what is possible."""
    city = ring(make_city, driving=Driving(second_route="disjoint"), trucks_per_incident=3)
    with pytest.raises(InputError, match=r"second_route = \"disjoint\" is for incidents of one or two trucks"):
        response_table(city)


def test_stations_close_to_their_junction(make_city: Any) -> None:
    """Trucks that have only a few seconds to themselves share nearly everything; no step is fine enough to see them."""
    edges = [(0, 2, False, 0.01), (1, 2, False, 0.02), (2, 3, False, 3.0), (3, 4, False, 2.0)]
    city = make_city(edges, [0, 1], [4], target_minutes=6.0, outside=Outside(8, 1.0), driving=Driving("gamma", cv=0.6))
    check_by_simulation(city, [(0, 1)], 400_000)


def test_finely_cut_roads(make_city: Any) -> None:
    """Two stations on roads of a hundred links of seconds: P(late) and minutes are those of times drawn."""
    rng = np.random.default_rng(3)
    edges = [(k, k + 1, False, float(mean)) for k, mean in enumerate(rng.lognormal(-3.2, 1.0, 100))]
    edges += [(101 + k, 102 + k if k < 59 else 50, False, float(m)) for k, m in enumerate(rng.lognormal(-3.2, 1.0, 60))]
    city = make_city(edges, [0, 101], [100], target_minutes=6.0, driving=Driving("lognormal", cv=1.5))
    check_by_simulation(replace(city, outside=Outside(20, 0.5)), [(0,), (0, 1)], 100_000)
    assert response_table(city).late_error < 1e-6


def test_more_trucks_are_never_later(make_city: Any) -> None:
    """A team is never later than a part of it, whichever arrival counts; asking for a later one is never better."""
    before = None
    for arrivals in (1, 2, 3):
        city = delta(make_city, trucks_per_incident=3, arrivals_per_incident=arrivals, outside=Outside(60, 2.0))
        table = response_table(city, minutes=False)
        for number, late in enumerate(table.p_late):
            assert (late <= table.p_late[smaller_teams(table, number)] + 1e-6).all()
        if before is not None:
            assert (table.p_late >= before - 1e-6).all()
        before = table.p_late


def test_times_that_hardly_vary(make_city: Any) -> None:
    """As the coefficient of variation goes to 0 the answer becomes that of fixed times."""
    for model in ("gamma", "lognormal"):
        for cv, tolerance in ((0.05, 0.01), (0.0, 1e-6)):
            for target, expected in ((3.0, 1.0), (5.0, 0.0)):  # the route takes 3.9 minutes
                city = line(make_city, MEANS, trucks_per_incident=1, driving=Driving(model, cv=cv))
                table = response_table(replace(city, target_minutes=target))
                assert table.p_late[1, 0] == pytest.approx(expected, abs=tolerance)


def test_fixed_times(make_city: Any) -> None:
    """Where nothing is random an incident is late if the m-th truck comes after the target, and not just at it."""
    for q, turnout in product((0.0, 0.5, 1.0), (Turnout(), Turnout(0.5, "gamma", 0.0))):
        driving = Driving("lognormal", cv=0.0)
        city = delta(make_city, shared_delay=q, driving=driving, turnout=turnout, outside=Outside(3, 2.0))
        city = replace(city, trucks_per_incident=2, target_minutes=3.0 + turnout.mean_minutes)
        table = response_table(city)
        np.testing.assert_allclose(table.routes.drive_minutes[:, 0], [3.0, 3.3, 2.6, 2.9])
        late = {team: table.p_late[table.teams.number(team), 0] for team in ((), (0,), (1,), (0, 0), (1, 2))}
        assert late == {(): 1.0, (0,): 0.0, (1,): 1.0, (0, 0): 0.0, (1, 2): 0.0}
        assert table.mean_minutes[table.teams.number([1, 2]), 0] == pytest.approx(2.6 + turnout.mean_minutes)
        second = response_table(replace(city, arrivals_per_incident=2))
        assert [second.p_late[table.teams.number(team), 0] for team in ((1, 2), (0, 2))] == [1.0, 0.0]
        assert table.late_error == table.minutes_error == 0.0


def test_fixed_times_on_two_roads(make_city: Any) -> None:
    """Where nothing is random, the second truck of a station comes as late as its longer road takes."""
    city = ring(make_city, driving=Driving("gamma", cv=0.0, second_route="disjoint"), target_minutes=3.2)
    late = [float(response_table(replace(city, arrivals_per_incident=m)).p_late[3, 0]) for m in (1, 2)]
    assert late == [0.0, 1.0]  # 3.0 and 3.4 minutes


def test_a_target_at_a_jump_is_refused(make_city: Any) -> None:
    """Where times hardly vary around the target, it is said that the lattice does not settle."""
    city = line(make_city, (1.0, 1.0 + 1e-7), trucks_per_incident=1, driving=Driving("gamma", cv=1e-5))
    with pytest.raises(NotConvergedError, match="expected a cv of driving and turnout times from about"):
        response_table(replace(city, target_minutes=2.0), minutes=False)


@pytest.mark.parametrize("tail_index", [1.2, 1.5, 2.5])
def test_means_of_heavy_tails(make_city: Any, tail_index: float) -> None:
    """Two trucks that drive together take the mean of their route, however heavy its tail; nearly so if nearly so."""
    driving, outside = Driving("pareto", tail_index=tail_index), Outside(5, 1.0)
    tables = {
        q: response_table(fork(make_city, driving=driving, shared_delay=q, outside=outside))
        for q in (0.0, 0.5, 0.99999, 1.0)
    }
    mean = tables[1.0].routes.drive_minutes[0]
    np.testing.assert_allclose(tables[1.0].mean_minutes[3], mean, rtol=1e-9)
    for q in (0.5, 1.0):  # who does not share anything does not feel q
        np.testing.assert_allclose(tables[q].mean_minutes[:3], tables[0.0].mean_minutes[:3], rtol=2e-3)
    np.testing.assert_allclose(tables[0.99999].mean_minutes[3], mean, rtol=2e-3)
    assert (tables[0.0].mean_minutes[3] < tables[0.5].mean_minutes[3]).all()
    assert (tables[0.5].mean_minutes[3] < mean).all()


@pytest.mark.parametrize("q", [0.0, 0.5, 1.0])
def test_slow_trucks_do_not_blur_means(make_city: Any, q: float) -> None:
    """The mean of two trucks is the same whether those from outside take an hour or a year."""
    cities = [
        fork(make_city, driving=Driving("gamma", cv=0.8), shared_delay=q, outside=Outside(4, minutes))
        for minutes in (15.0, 1e5)
    ]
    hour, year = (response_table(city).mean_minutes for city in cities)
    np.testing.assert_allclose(year[3:], hour[3:], rtol=1e-3)
    np.testing.assert_allclose(year[0], hour[0] * 1e5 / 15.0, rtol=1e-3)


def test_one_very_slow_link(make_city: Any) -> None:
    """A link of a day and a half in a city of minutes blurs neither P(late) nor the minutes of those who avoid it."""
    edges = [(0, 1, False, 1.0), (1, 2, False, 1.5), (3, 2, False, 2000.0), (4, 2, False, 2.0)]
    city = make_city(edges, [0, 3, 4], [2], target_minutes=4.0, outside=Outside(6, 1.0))
    check_by_simulation(city, [(0,), (0, 2), (0, 1), (1,)], 200_000)
