"""Driving times of any law: closed forms, simulation and limits."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from benchmarks.response import draw
from numpy.typing import NDArray
from scipy.special import gammaincc

from runcard import dispatch_problem, evaluate, solve
from runcard.city import City, Driving, Outside, Turnout, read_city, write_city
from runcard.errors import NotConvergedError
from runcard.response import response_table, routes_to
from runcard.response.laws import branches, driving_laws
from runcard.response.routes import read_roads
from runcard.response.second_routes import second_route

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


def words(driving: Driving) -> str:
    """A law as the name of a test."""
    return f"{driving.model}-{driving.cv}-{driving.tail_index}-{driving.fixed_part}"


def line(make_city: Any, means: tuple[float, ...], **settings: Any) -> City:
    """A road of links with these means, with a station at one end and the demand point at the other."""
    edges = [(place, place + 1, False, mean) for place, mean in enumerate(means)]
    return make_city(edges, [0], [len(means)], **settings)


def fork(make_city: Any, **settings: Any) -> City:
    """Two stations whose roads of unequal links meet, one road of three links on from there; two trucks at one."""
    edges = [(0, 1, False, 0.9), (1, 4, False, 0.6), (2, 3, True, 0.5), (3, 4, False, 1.3)]
    edges += [(4, 5, False, 0.4), (5, 6, False, 1.2), (6, 7, False, 0.8)]
    return make_city(edges, [0, 2], [7, 5], **({"trucks": [2, 1], "target_minutes": 4.5} | settings))


def simulate(city: City, team: tuple[int, ...], point: int, num: int) -> NDArray[np.float64]:
    """The arrivals of a team and of trucks from outside, first to last [arrival, draw], drawn link by link."""
    rng = np.random.default_rng([point, *team])
    routes, mean = routes_to(city, point), {link.link_id: link.mean_minutes for link in city.links}
    turnout, driving = city.turnout, city.driving
    law = Driving(turnout.model, cv=turnout.cv)
    ready: dict[int, NDArray[np.float64]] = {}
    times = [draw(law, turnout.mean_minutes, rng, num) for _ in team]
    if turnout.shared:
        times = [ready.setdefault(station, time) for station, time in zip(team, times, strict=True)]
    for link in dict.fromkeys(link for station in team for link in routes[station]):
        on_it = [place for place, station in enumerate(team) if link in routes[station]]
        own = [draw(driving, mean[link], rng, num) for _ in on_it]
        together = rng.random(num) < city.shared_delay
        if driving.coupled_branch is not None and len(on_it) > 1:
            kinds = branches(driving.cv or 0.0)
            (chance, one), (_, other) = kinds if driving.coupled_branch == "short" else kinds[::-1]
            together = rng.random(num) < chance
            scale = mean[link] * np.where(together, one, other)
            own = [scale * rng.exponential(size=num) for _ in on_it]
        for place, time in zip(on_it, own, strict=True):
            times[place] = times[place] + np.where(together, own[0], time)
    for _ in range((city.demand[point].trucks or city.trucks_per_incident) - len(team)):
        links, minutes = city.outside.links or 0, city.outside.link_minutes or 0.0
        outside = sum(draw(driving, minutes, rng, num) for _ in range(links))
        times.append(outside + draw(law, turnout.mean_minutes, rng, num))
    return np.sort(times, axis=0)


@pytest.mark.parametrize("q", [0.0, 0.3, 0.8, 1.0])
def test_the_closed_form_of_equal_links(make_grid: Any, monkeypatch: pytest.MonkeyPatch, q: float) -> None:
    """On the paper's cities the lattice agrees with the sums of positive terms to 1e-6, and so do means."""
    city = make_grid(5, [0, 6, 12], trucks=[2, 1, 1], shared_delay=q, outside=Outside(links=9, link_minutes=0.6))
    closed = response_table(city)
    monkeypatch.setattr("runcard.response.table._has_closed_form", lambda *_: False)
    found = response_table(city)
    np.testing.assert_allclose(found.p_late, closed.p_late, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.mean_minutes, closed.mean_minutes, rtol=1e-3)


def test_hypoexponential_routes(make_city: Any) -> None:
    """A route of exponential links with different means has P(late) = Σ_i e^(-t/m_i) Π_{j≠i} m_i / (m_i - m_j)."""
    for target in (0.5, 2.0, 4.0, 12.0):
        city = line(make_city, MEANS, trucks_per_incident=1, target_minutes=target)
        expected = sum(np.exp(-target / m) * np.prod([m / (m - other) for other in MEANS if other != m]) for m in MEANS)
        assert response_table(city).p_late[1, 0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("cv", [0.3, 1.0, 2.0])
def test_gamma_routes(make_city: Any, cv: float) -> None:
    """Equal gamma links add up to a gamma time; with a coefficient of variation of 1 they are exponential."""
    city = line(make_city, (0.8,) * 5, trucks_per_incident=1, target_minutes=4.5, driving=Driving("gamma", cv=cv))
    expected = gammaincc(5 / cv**2, 4.5 / (0.8 * cv**2))
    assert response_table(city).p_late[1, 0] == pytest.approx(expected, abs=1e-6)


def test_hyperexponential_links(make_city: Any) -> None:
    """One link has the mixture of its two branches."""
    city = line(make_city, (2.0,), trucks_per_incident=1, driving=Driving("hyperexponential", cv=2.0))
    expected = sum(chance * np.exp(-4.0 / (2.0 * mean)) for chance, mean in branches(2.0))
    assert response_table(city).p_late[1, 0] == pytest.approx(expected, abs=1e-6)


def check_by_simulation(city: City, teams: list[tuple[int, ...]], num: int = 400_000) -> None:
    """P(late) and the mean first arrival of some teams lie in the 99.99 % intervals of times drawn link by link."""
    table = response_table(city)
    rows = {tuple(np.repeat(np.arange(len(team)), team).tolist()): row for row, team in enumerate(table.teams)}
    for point, demand in enumerate(city.demand):
        arrivals = demand.arrivals or city.arrivals_per_incident
        target = demand.target_minutes or city.target_minutes
        for team in teams:
            times = simulate(city, team, point, num)
            late = float((times[arrivals - 1] > target).mean())
            found = table.p_late[rows[team], point]
            error = 3.9 * np.sqrt(found * (1.0 - found) / num) + 2.0 / num
            assert late == pytest.approx(found, abs=error), (point, team)
            if city.driving.model != "pareto":
                spread = 3.9 * times[0].std() / np.sqrt(num)
                assert table.mean_minutes[rows[team], point] == pytest.approx(times[0].mean(), abs=spread + 1e-3)


@pytest.mark.parametrize("driving", LAWS, ids=words)
def test_simulated_times(make_city: Any, driving: Driving) -> None:
    """P(late) of every team lies in the 99.99 % interval of times that are drawn link by link, for any sharing."""
    cases = [
        (1.0, Turnout()),
        (0.0, Turnout(0.7, "lognormal", 0.5)),
        (1.0, Turnout(0.4, "gamma", 0.5)),
        (1.0, Turnout(0.7, shared=False)),
        (0.4, Turnout()),
        (0.7, Turnout(0.5, "gamma", 0.5)),
        (0.5, Turnout(0.5, shared=False)),
    ]
    for q, turnout in cases:
        city = fork(
            make_city, driving=driving, shared_delay=q, turnout=turnout, outside=Outside(links=6, link_minutes=0.9)
        )
        check_by_simulation(city, [(0,), (0, 0), (0, 1)])


@pytest.mark.parametrize("arrivals", [1, 2])
@pytest.mark.parametrize("branch", ["short", "long"])
def test_a_coupled_branch(make_city: Any, branch: str, arrivals: int) -> None:
    """With one branch coupled, trucks on a link meet the same branch, and the same delay in that one."""
    driving = Driving("hyperexponential", cv=1.6, coupled_branch=branch)
    city = fork(make_city, driving=driving, arrivals_per_incident=arrivals, outside=Outside(6, 0.9))
    check_by_simulation(city, [(), (1,), (0, 0), (0, 1)])


def ring(make_city: Any, **settings: Any) -> City:
    """A station of two trucks behind a bridge, a ring of a short and a long road, and a road of two links on."""
    edges = [(0, 1, False, 0.5), (1, 2, False, 0.8), (2, 4, False, 0.7), (1, 3, False, 1.0), (3, 4, False, 0.9)]
    edges += [(4, 5, False, 0.6), (5, 6, False, 0.4), (1, 4, False, 3.5)]
    given = {"trucks": [2, 1], "target_minutes": 4.0, "outside": Outside(7, 0.9)}
    return make_city(edges, [0, 2], [6, 4, 0], **(given | settings))


def test_the_second_route(make_city: Any) -> None:
    """It has the fewest links in common with the first and is then the shortest, by trying every simple path."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        ends = [(a, b) for a in range(7) for b in range(a) if rng.random() < 0.45] + [(k, k + 1) for k in range(6)]
        edges = [(a, b, bool(rng.random() < 0.2 and a != b + 1), float(rng.uniform(0.2, 2.0))) for a, b in ends]
        edges += [(b, a, True, float(rng.uniform(0.2, 2.0))) for a, b, directed, _ in edges if directed]
        city = make_city(edges, [0], [6], trucks=[2])
        roads, graph = read_roads(city), nx.MultiDiGraph()
        for number, (a, b, directed, minutes) in enumerate(edges):
            graph.add_edge(a, b, key=number, minutes=minutes)
            if not directed:
                graph.add_edge(b, a, key=number, minutes=minutes)
        ids = [link.link_id for link in city.links]
        first = [ids.index(link) for link in routes_to(city, 0)[0]]

        def length(path: list[int], first: list[int] = first, roads: Any = roads) -> tuple[int, float]:
            return len(set(path) & set(first)), round(float(roads.minutes[path].sum()), 9)

        paths = [[key for _, _, key in path] for path in nx.all_simple_edge_paths(graph, 0, 6)]
        found = second_route(roads.leaving, roads.minutes, 0, 6, np.array(first)).tolist()
        assert found in paths, seed
        assert length(found) == min(map(length, paths)), seed


@pytest.mark.parametrize("q", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("turnout", [Turnout(), Turnout(0.4, "gamma", 0.6), Turnout(0.4, shared=False)])
def test_two_trucks_on_two_roads(make_city: Any, turnout: Turnout, q: float) -> None:
    """With a second route of its own, the second truck shares only bridges: P(late) and means are those drawn."""
    driving = Driving("gamma", cv=1.3, second_route="disjoint")
    city = ring(make_city, driving=driving, turnout=turnout, shared_delay=q)
    table, same = response_table(city), response_table(replace(city, driving=Driving("gamma", cv=1.3)))
    if q > 0.0:
        assert table.p_late[3, 0] < same.p_late[3, 0]  # what they do not share helps more than the way round costs
    np.testing.assert_allclose(table.p_late[[0, 1, 2, 4]], same.p_late[[0, 1, 2, 4]], rtol=0, atol=2e-6)
    rng, num, minutes = np.random.default_rng(1), 400_000, (0.5, 0.8, 0.7, 1.0, 0.9, 0.6, 0.4)
    ready = [draw(Driving(turnout.model, cv=turnout.cv), turnout.mean_minutes, rng, num) for _ in range(2)]
    times = [ready[0], ready[0] if turnout.shared else ready[1]]
    times = [times[0].copy(), times[1].copy()]
    for link in (1, 2):
        times[0] += draw(driving, minutes[link], rng, num)
    for link in (3, 4):
        times[1] += draw(driving, minutes[link], rng, num)
    for link in (0, 5, 6):
        one, other = (draw(driving, minutes[link], rng, num) for _ in range(2))
        together = rng.random(num) < q
        times[0] += one
        times[1] += np.where(together, one, other)
    first = np.minimum(*times)
    late = float((first > 4.0).mean())
    assert table.p_late[3, 0] == pytest.approx(late, abs=3.9 * np.sqrt(late * (1 - late) / num))
    assert table.mean_minutes[3, 0] == pytest.approx(first.mean(), abs=3.9 * first.std() / np.sqrt(num) + 1e-3)


def delta(make_city: Any, **settings: Any) -> City:
    """Four stations whose roads meet two by two and further on, with demand points at the end and at a junction."""
    edges = [(0, 4, False, 0.8), (1, 4, False, 1.1), (4, 6, False, 0.7), (2, 5, False, 0.6), (3, 5, False, 0.9)]
    edges += [(5, 6, False, 0.5), (6, 7, False, 0.9), (7, 8, False, 0.6)]
    given = {"trucks": [3, 1, 2, 1], "target_minutes": 3.5, "outside": Outside(5, 0.9), "trucks_per_incident": 4}
    return make_city(edges, [0, 1, 2, 3], [8, 6], **(given | settings))


@pytest.mark.parametrize("q", [0.0, 1.0])
@pytest.mark.parametrize("arrivals", [1, 2, 3, 4])
@pytest.mark.parametrize("turnout", [Turnout(), Turnout(0.5, "gamma", 0.6), Turnout(0.5, shared=False)])
def test_several_trucks(make_city: Any, turnout: Turnout, arrivals: int, q: float) -> None:
    """The m-th arrival of four trucks, some from one station and some from outside, is that of times drawn."""
    law = Driving("gamma", cv=0.7) if turnout.shared else Driving("lognormal", cv=1.1)
    city = delta(make_city, driving=law, turnout=turnout, shared_delay=q, arrivals_per_incident=arrivals)
    teams = [(), (0,), (0, 1), (0, 0, 2), (0, 2, 3), (0, 0, 0, 1), (0, 1, 2, 3), (0, 2, 2, 3)]
    check_by_simulation(city, teams, num=100_000)


def test_the_alarm_of_a_standard(make_city: Any) -> None:
    """The first engine in four minutes and the whole alarm in eight are two classes at each node, each its own row."""
    city = delta(make_city, trucks_per_incident=2)
    first = [replace(point, trucks=1, target_minutes=4.0) for point in city.demand]
    whole = [replace(point, trucks=4, arrivals=4, target_minutes=8.0) for point in city.demand]
    both = response_table(replace(city, demand=(*first, *whole)))
    for classes, columns in ((first, slice(0, 2)), (whole, slice(2, 4))):
        alone = response_table(replace(city, demand=tuple(classes)))
        np.testing.assert_allclose(both.p_late[: len(alone.p_late), columns], alone.p_late, rtol=0, atol=1e-7)


@pytest.mark.parametrize("policy", ["closest-first", "optimal", "one-step-mean-field", "one-step-queueing"])
def test_identical_classes_may_be_merged(make_city: Any, policy: str) -> None:
    """A city whose demand points are split into identical classes is late as often as the one without them."""
    city = delta(make_city, trucks_per_incident=3, arrivals_per_incident=2, driving=Driving("lognormal", cv=0.8))
    halves = tuple(replace(point, incidents_per_day=point.incidents_per_day / 2.0) for point in city.demand)
    merged, split = (
        evaluate(solve(dispatch_problem(one), policy)) for one in (city, replace(city, demand=halves + halves))
    )
    assert split.late_fraction == pytest.approx(merged.late_fraction, rel=1e-6)


def test_more_trucks_are_never_later(make_city: Any) -> None:
    """A team is never later than a part of it, whichever arrival counts; asking for a later one is never better."""
    before = None
    for arrivals in (1, 2, 3):
        city = delta(make_city, trucks_per_incident=3, arrivals_per_incident=arrivals, outside=Outside(60, 2.0))
        table = response_table(city, minutes=False)
        for team, late in zip(table.teams, table.p_late, strict=True):
            for smaller, more in zip(table.teams, table.p_late, strict=True):
                if (smaller <= team).all():
                    assert (late <= more + 1e-6).all()
        if before is not None:
            assert (table.p_late >= before - 1e-6).all()
        before = table.p_late


@pytest.mark.parametrize("driving", LAWS, ids=words)
def test_shared_delays_are_worse(make_city: Any, driving: Driving) -> None:
    """With any law, P(late) is larger with shared delays, and two trucks are never later than one of them."""
    tables = [response_table(fork(make_city, driving=driving, shared_delay=q)) for q in (0.0, 0.3, 0.6, 1.0)]
    for fewer, more in pairwise(tables):
        assert (more.p_late >= fewer.p_late - 1e-6).all()
    alone = response_table(fork(make_city, driving=driving, trucks_per_incident=1)).p_late
    assert (tables[-1].p_late[4] <= np.minimum(alone[1], alone[2]) + 1e-6).all()


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
    for q in (0.0, 0.5, 1.0):
        for turnout in (Turnout(), Turnout(0.5, "gamma", 0.0)):
            driving = Driving("lognormal", cv=0.0)
            city = delta(make_city, shared_delay=q, driving=driving, turnout=turnout, outside=Outside(3, 2.0))
            city = replace(city, trucks_per_incident=2, target_minutes=3.0 + turnout.mean_minutes)
            table = response_table(city)
            minutes = table.routes.drive_minutes[:, 0]
            np.testing.assert_allclose(minutes, [3.0, 3.3, 2.6, 2.9])
            rows = {tuple(np.repeat(np.arange(4), team).tolist()): row for row, team in enumerate(table.teams)}
            late = {team: table.p_late[row, 0] for team, row in rows.items()}
            assert (late[()], late[(0,)], late[(1,)], late[(0, 0)], late[(1, 2)]) == (1.0, 0.0, 1.0, 0.0, 0.0)
            assert table.mean_minutes[rows[1, 2], 0] == pytest.approx(2.6 + turnout.mean_minutes)
            second = response_table(replace(city, arrivals_per_incident=2))
            assert (second.p_late[rows[1, 2], 0], second.p_late[rows[0, 2], 0]) == (1.0, 0.0)


@pytest.mark.parametrize("tail_index", [1.2, 1.5, 2.5])
def test_means_of_heavy_tails(make_city: Any, tail_index: float) -> None:
    """Two trucks that drive together take the mean of their route, however heavy its tail; nearly so if nearly so."""
    driving = Driving("pareto", tail_index=tail_index)
    outside = Outside(5, 1.0)
    tables = {
        q: response_table(fork(make_city, driving=driving, shared_delay=q, outside=outside)) for q in (0.0, 0.5, 1.0)
    }
    mean = tables[1.0].routes.drive_minutes[0]
    np.testing.assert_allclose(tables[1.0].mean_minutes[3], mean, rtol=1e-9)
    for q in (0.5, 1.0):  # who does not share anything does not feel q
        np.testing.assert_allclose(tables[q].mean_minutes[:3], tables[0.0].mean_minutes[:3], rtol=2e-3)
    nearly = response_table(fork(make_city, driving=driving, shared_delay=0.99999, outside=outside)).mean_minutes[3]
    np.testing.assert_allclose(nearly, mean, rtol=2e-3)
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


def test_stations_that_are_too_far(make_city: Any) -> None:
    """Sharing in between is found where some stations can hardly be in time at all."""
    edges = [(place, place + 1, False, 1.0) for place in range(20)] + [(0, 21, False, 1.0)]
    city = make_city(edges, [0, 1, 18, 21], [20], driving=Driving("gamma", cv=0.3), target_minutes=12.0)
    tables = [response_table(replace(city, shared_delay=q), minutes=False).p_late for q in (0.0, 0.5, 1.0)]
    assert np.isfinite(tables[1]).all()
    assert (tables[1] >= tables[0] - 2e-6).all()
    assert (tables[1] <= tables[2] + 2e-6).all()


def test_a_target_at_a_jump_is_refused(make_city: Any) -> None:
    """Where times hardly vary around the target, it is said that the lattice does not settle."""
    city = line(make_city, (1.0, 1.0 + 1e-7), trucks_per_incident=1, driving=Driving("gamma", cv=1e-5))
    with pytest.raises(NotConvergedError, match="expected a cv of driving and turnout times from about"):
        response_table(replace(city, target_minutes=2.0), minutes=False)


def test_one_way_links(make_city: Any) -> None:
    """A truck goes round where the short way is one-way against it, and comes later for it."""
    edges = [(0, 1, True, 0.5), (0, 2, False, 0.9), (2, 1, False, 0.8)]
    city = make_city(edges, [0, 1], [1, 0], trucks_per_incident=1)
    table = response_table(city)
    np.testing.assert_allclose(table.routes.drive_minutes, [[0.5, 0.0], [0.0, 1.7]])
    assert table.p_late[2, 1] > table.p_late[1, 0]


@pytest.mark.parametrize("driving", LAWS, ids=words)
def test_the_excess_of_a_law(driving: Driving) -> None:
    """The expected excess at 0 is the mean, falls to 0, and is that of drawn times."""
    law, mean = driving_laws(driving).alone, np.array([1.7])
    times = draw(driving, 1.7, np.random.default_rng(1), 400_000)
    for minutes in (0.0, 0.5, 2.0, 6.0):
        drawn = np.maximum(times - minutes, 0.0)
        found = float(law.excess(np.array([minutes]), mean)[0, 0])
        spread = 4.0 * drawn.std() / np.sqrt(len(drawn)) if driving.model != "pareto" else 0.05
        assert found == pytest.approx(drawn.mean(), abs=spread + 1e-9)
    assert float(law.excess(np.zeros(1), mean)[0, 0]) == pytest.approx(1.7)


def test_laws_are_kept_in_a_city_folder(make_city: Any, tmp_path: Any) -> None:
    """A city with a law and a turnout time is read back as it was written."""
    for driving in LAWS:
        city = fork(make_city, driving=driving, turnout=Turnout(0.5, "gamma", 0.3, shared=False))
        folder = tmp_path / words(driving)
        write_city(city, folder)
        assert read_city(folder) == city
