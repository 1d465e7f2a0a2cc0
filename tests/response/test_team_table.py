"""Teams of three and four that share delays now and then: closed forms, simulation and limits."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.response import draw, late_of_one_station
from numpy.typing import NDArray
from scipy.special import gammaincc
from scipy.stats import binom

from runcard.city import City, Driving, Outside, Turnout
from runcard.errors import NotConvergedError
from runcard.response import ResponseTable, line_table, response_table
from runcard.response.lattice_table import LatticeTable, Needs
from runcard.response.laws import branches, driving_laws
from runcard.response.line_table import has_few_ways
from runcard.response.routes import find_routes, read_roads, routes_to
from runcard.response.second_routes import second_route
from runcard.response.team_alike import cumulants_alike, road_alike
from runcard.response.team_kernels import team_rank
from runcard.response.team_lattice import Window, law_masses
from runcard.response.team_times import TeamTimes
from runcard.response.teams import list_stations

LAWS = [
    Driving("gamma", cv=0.5),
    Driving("lognormal", cv=1.1),
    Driving("pareto", tail_index=2.5),
    Driving("hyperexponential", cv=1.5),
    Driving("hyperexponential", cv=1.6, coupled_branch="long"),
    Driving("hyperexponential", cv=1.6, coupled_branch="short"),
    Driving(fixed_part=0.5),
]
TEAMS = [
    (),
    (1,),
    (0, 0),
    (0, 2),
    (0, 0, 0),
    (0, 0, 2),
    (1, 2, 3),
    (0, 1, 2, 3),
    (0, 0, 2, 2),
    (0, 0, 0, 1),
    (0, 2, 2, 3),
]


def words(driving: Driving) -> str:
    """A law as the name of a test."""
    return f"{driving.model}-{driving.coupled_branch}-{driving.fixed_part}"


def delta(make_city: Any, **settings: Any) -> City:
    """Four stations whose roads meet two by two and further on, with demand points at the end and at a junction."""
    edges = [(0, 4, False, 0.8), (1, 4, False, 1.1), (4, 6, False, 0.7), (2, 5, False, 0.6), (3, 5, False, 0.9)]
    edges += [(5, 6, False, 0.5), (6, 7, False, 0.9), (7, 8, False, 0.6)]
    given = {"trucks": [3, 1, 2, 1], "target_minutes": 3.5, "outside": Outside(5, 0.9), "shared_delay": 0.5}
    return make_city(edges, [0, 1, 2, 3], [8, 6], **(given | settings))


def ring(make_city: Any, **settings: Any) -> City:
    """A station of four trucks behind a bridge, a ring of a short and a long road, and a road of two links on."""
    edges = [(0, 1, False, 0.5), (1, 2, False, 0.8), (2, 4, False, 0.7), (1, 3, False, 1.0), (3, 4, False, 0.9)]
    edges += [(4, 5, False, 0.6), (5, 6, False, 0.4), (1, 4, False, 3.5)]
    given = {"trucks": [4, 2], "target_minutes": 4.0, "outside": Outside(7, 0.9)}
    return make_city(edges, [0, 2], [6, 0], **(given | settings))


def row_of(table: ResponseTable, team: tuple[int, ...]) -> int:
    """The row of a team of stations."""
    counts = np.bincount(np.array(team, np.int64), minlength=table.teams.shape[1])
    return int(np.flatnonzero((table.teams == counts).all(axis=1))[0])


def roads_of(city: City, team: tuple[int, ...], point: int) -> list[set[str]]:
    """The links of every truck of a team, with second routes where the city has them."""
    routes, seen, found = routes_to(city, point), Counter[int](), []
    roads, ids = read_roads(city), [link.link_id for link in city.links]
    for station in team:
        found.append(set(routes[station]))
        if city.driving.second_route == "disjoint" and seen[station] % 2:
            first = np.array([ids.index(link) for link in routes[station]], np.int64)
            ends = int(roads.stations[station]), int(roads.demand[point])
            found[-1] = {ids[link] for link in second_route(roads.leaving, roads.minutes, *ends, first)}
        seen[station] += 1
    return found


def simulate(city: City, team: tuple[int, ...], point: int, num: int) -> NDArray[np.float64]:
    """The arrivals of a team and of trucks from outside, first to last [arrival, draw], drawn link by link."""
    rng = np.random.default_rng([7, point, *team])
    mean, turnout, driving = {link.link_id: link.mean_minutes for link in city.links}, city.turnout, city.driving
    law, ready = Driving(turnout.model, cv=turnout.cv), {}
    times = [draw(law, turnout.mean_minutes, rng, num) for _ in team]
    if turnout.shared:
        times = [ready.setdefault(station, time) for station, time in zip(team, times, strict=True)]
    roads = roads_of(city, team, point)
    for link in sorted(set().union(*roads)):
        on_it = [place for place in range(len(team)) if link in roads[place]]
        own = [draw(driving, mean[link], rng, num) for _ in on_it]
        together = rng.random(num) < city.shared_delay
        if driving.coupled_branch is not None and len(on_it) > 1:
            kinds = branches(driving.cv or 0.0)
            (chance, one), (_, other) = kinds if driving.coupled_branch == "short" else kinds[::-1]
            together = rng.random(num) < chance
            own = [mean[link] * np.where(together, one, other) * rng.exponential(size=num) for _ in on_it]
        for place, time in zip(on_it, own, strict=True):
            times[place] = times[place] + np.where(together, own[0], time)
    for _ in range(city.trucks_per_incident - len(team)):
        links, minutes = city.outside.links or 0, city.outside.link_minutes or 0.0
        outside = sum(draw(driving, minutes, rng, num) for _ in range(links))
        times.append(outside + draw(law, turnout.mean_minutes, rng, num))
    return np.sort(times, axis=0)


def check_by_simulation(city: City, teams: list[tuple[int, ...]], num: int = 60_000) -> None:
    """P(late) of every arrival and the mean of the first lie in the 99.99 % intervals of times drawn link by link."""
    size = city.trucks_per_incident
    tables = [response_table(replace(city, arrivals_per_incident=m), minutes=m == 1) for m in range(1, size + 1)]
    for point in range(len(city.demand)):
        for team in teams:
            if len(team) > size:
                continue
            times, row = simulate(city, team, point, num), row_of(tables[0], team)
            for place, table in enumerate(tables):
                late, found = float((times[place] > city.target_minutes).mean()), table.p_late[row, point]
                error = 3.9 * np.sqrt(found * (1.0 - found) / num) + 4.0 / num
                assert late == pytest.approx(found, abs=error), (point, team, place)
            if city.driving.model != "pareto":
                spread = 3.9 * times[0].std() / np.sqrt(num)
                assert tables[0].mean_minutes[row, point] == pytest.approx(times[0].mean(), abs=spread + 2e-3)


def road(make_city: Any, links: int, **settings: Any) -> City:
    """A station, and a road of links of mean 1 from there to a demand point that needs all its trucks."""
    edges = [(place, place + 1, False, 1.0) for place in range(links)]
    return make_city(edges, [0], [links], trucks_per_incident=settings["trucks"][0], **settings)


def only_lattices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find cumulants on lattices of several dimensions, as where links can be met in many ways."""
    monkeypatch.setattr(line_table, "MOST_WAYS", 0)


@pytest.mark.parametrize("trucks", [2, 3, 4])
@pytest.mark.parametrize("q", [0.05, 0.5, 0.95])
def test_the_closed_form_of_one_road(make_city: Any, q: float, trucks: int) -> None:
    """On a road of equal exponential links every arrival is late with the chance of a mixture of Erlang times."""
    for links, target in ((1, 1.0), (2, 3.0), (5, 5.0), (12, 10.0), (30, 27.0)):
        city = road(make_city, links, trucks=[trucks], shared_delay=q, target_minutes=target)
        for arrivals in range(1, trucks + 1):
            table = response_table(replace(city, arrivals_per_incident=arrivals), minutes=False)
            expected = late_of_one_station(links, q, target, trucks, arrivals)
            assert table.p_late[-1, 0] == pytest.approx(expected, abs=1e-6), (links, arrivals)


@pytest.mark.parametrize("cv", [0.3, 0.5])
@pytest.mark.parametrize("q", [0.2, 0.95])
def test_the_closed_form_of_long_roads(make_city: Any, q: float, cv: float) -> None:
    """Gamma times of a long road are gamma times, too; nearly all trucks are there, or nearly none."""
    for links, target in ((30, 36.0), (60, 60.0), (60, 70.0)):
        settings = {"shared_delay": q, "target_minutes": target, "driving": Driving("gamma", cv=cv)}
        for trucks in (2, 3, 4):
            city = road(make_city, links, trucks=[trucks], arrivals_per_incident=trucks, **settings)
            found = response_table(city, minutes=False).p_late[-1, 0]
            expected = late_of_one_station(links, q, target, trucks, trucks, 1.0 / cv**2)
            assert found == pytest.approx(expected, abs=1e-6), (links, target, trucks)


@pytest.mark.parametrize("trucks", [3, 4])
@pytest.mark.parametrize("q", [0.2, 0.8])
def test_the_mean_of_one_road(make_city: Any, q: float, trucks: int) -> None:
    """The first of several comes after the links met together and the least of gamma times, in the mean."""
    t, step = np.linspace(0.0, 80.0, 80_001, retstep=True)
    for links, shape in ((1, 1.0), (4, 1.0), (12, 4.0)):
        driving = Driving("gamma", cv=shape**-0.5)
        city = road(make_city, links, trucks=[trucks], shared_delay=q, driving=driving, outside=Outside(40, 5.0))
        expected = 0.0
        for together in range(links + 1):
            alone = gammaincc(shape * (links - together), shape * t) if together < links else np.zeros_like(t)
            least = float(np.trapezoid(alone**trucks, dx=step))
            expected += float(binom.pmf(together, links, q)) * (together + least)
        assert response_table(city).mean_minutes[-1, 0] == pytest.approx(expected, abs=2e-4), (links, shape)


@pytest.mark.parametrize("trucks", [3, 4])
@pytest.mark.parametrize("tail_index", [1.5, 2.5])
def test_the_mean_of_a_heavy_tail(make_city: Any, tail_index: float, trucks: int) -> None:
    """The least of k pareto times of index a and mean 1 has index ka; what lies far out is not lost."""
    driving = Driving("pareto", tail_index=tail_index)
    city = road(make_city, 1, trucks=[trucks], shared_delay=0.5, driving=driving)
    expected = 0.5 + 0.5 * (tail_index - 1.0) / (trucks * tail_index - 1.0)
    assert response_table(city).mean_minutes[-1, 0] == pytest.approx(expected, rel=1e-3)


def test_narrow_laws_on_lattices(make_city: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounding is no early arrival: on few links that vary little, lattices are as good as the line."""
    city = road(make_city, 3, trucks=[3], shared_delay=0.5, target_minutes=3.09, driving=Driving("gamma", cv=0.1))
    on_line = response_table(city, minutes=False).p_late
    only_lattices(monkeypatch)
    np.testing.assert_allclose(response_table(city, minutes=False).p_late, on_line, rtol=0, atol=2e-5)
    masses = law_masses(driving_laws(Driving("gamma", cv=0.1)).alone)
    assert masses.masses[masses.times < 0.2].sum() < 1e-15


def test_pairs_on_long_roads_of_many_ways(make_city: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where both of two trucks are nearly surely there, a coarse plane says that they cannot be; it is not believed."""
    only_lattices(monkeypatch)
    for q in (0.2, 0.5):
        settings = {"shared_delay": q, "target_minutes": 70.0, "driving": Driving("gamma", cv=0.5)}
        city = road(make_city, 60, trucks=[2], arrivals_per_incident=2, **settings)
        found = response_table(city, minutes=False).p_late[-1, 0]
        assert found == pytest.approx(late_of_one_station(60, q, 70.0, 2, 2, 4.0), abs=1e-5), q
    settings = {"shared_delay": 0.2, "target_minutes": 60.0, "driving": Driving("gamma", cv=0.3)}
    found = response_table(road(make_city, 60, trucks=[2], **settings), minutes=False).p_late[-1, 0]
    assert found == pytest.approx(late_of_one_station(60, 0.2, 60.0, 2, 1, 0.3**-2), abs=1e-5)


@pytest.mark.parametrize("trucks", [3, 4])
@pytest.mark.parametrize("driving", [Driving(), Driving("gamma", cv=0.5), Driving(fixed_part=0.8)], ids=words)
def test_long_roads_of_many_ways(
    make_city: Any, monkeypatch: pytest.MonkeyPatch, driving: Driving, trucks: int
) -> None:  # fmt: skip
    """Where lattices do not settle, a road alike stands in: on equal links, which it is like, P(late) is as good."""
    for links, q in ((30, 0.95), (60, 0.8)):
        settings = {"shared_delay": q, "target_minutes": 1.1 * links, "driving": driving}
        city = road(make_city, links, trucks=[trucks], arrivals_per_incident=2, **settings)
        on_line = response_table(city, minutes=False).p_late[-1, 0]
        with monkeypatch.context() as patch:
            only_lattices(patch)
            assert response_table(city, minutes=False).p_late[-1, 0] == pytest.approx(on_line, abs=2e-4), (links, q)


def test_a_road_alike() -> None:
    """It has as many links, the same sums of means and of squares, few different means and none that is tiny."""
    rng = np.random.default_rng(3)
    for num in (2, 3, 9, 40):
        for spread in (0.0, 0.3, 1.0):
            minutes = rng.lognormal(-0.5, spread, num)
            found = road_alike(minutes)
            assert len(found) == num
            assert len(np.unique(found)) <= 2
            assert found.min() > 0.0
            assert (found.sum(), (found**2).sum()) == pytest.approx((minutes.sum(), (minutes**2).sum()))


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_a_road_alike_gives_cumulants(make_city: Any, q: float) -> None:
    """The third and fourth cumulants of trucks on eight different links are those of a road alike, to 2e-4."""
    minutes = np.random.default_rng(5).lognormal(-0.5, 0.5, 8)
    edges = [(place, place + 1, False, mean) for place, mean in enumerate(minutes.tolist())]
    target, chances = 1.1 * float(minutes.sum()), [1.0]
    for size in (1, 2, 3, 4):
        needs = {"trucks": [size], "trucks_per_incident": size, "arrivals_per_incident": size}
        city = make_city(edges, [0], [8], shared_delay=q, target_minutes=target, **needs)
        chances.append(1.0 - float(response_table(city, minutes=False).p_late[-1, 0]))
    _, a, b, c, d = chances
    expected = c - 3.0 * a * b + 2.0 * a**3, d - 4.0 * a * c - 3.0 * b**2 + 12.0 * a**2 * b - 6.0 * a**4
    table = LatticeTable(
        city, read_roads(city), find_routes(city), list_stations([4], 4),
        Needs(np.array([4], np.int32), np.array([4], np.int32), np.array([target])),
    )  # fmt: skip
    assert cumulants_alike(TeamTimes(table), minutes, target, 4) == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("trucks", [3, 4])
@pytest.mark.parametrize("q", [0.2, 0.5, 0.8])
def test_one_road_on_lattices(make_city: Any, monkeypatch: pytest.MonkeyPatch, q: float, trucks: int) -> None:
    """Trucks of one station are the worst that lattices of three and four dimensions can meet."""
    only_lattices(monkeypatch)
    for links, target in ((1, 1.0), (2, 3.0), (5, 5.0), (12, 10.0)):
        edges = [(place, place + 1, False, 1.0) for place in range(links)]
        city = make_city(
            edges, [0], [links], trucks=[trucks], trucks_per_incident=trucks, shared_delay=q, target_minutes=target
        )
        for arrivals in range(1, trucks + 1):
            table = response_table(replace(city, arrivals_per_incident=arrivals), minutes=False)
            expected = late_of_one_station(links, q, target, trucks, arrivals)
            at_most = 2e-5 if trucks == 3 else 1e-4
            assert table.p_late[-1, 0] == pytest.approx(expected, abs=at_most), (links, arrivals)


def late_by_enumeration(driving: Driving, q: float, target: float, num: int = 1000) -> float:
    """P(late) of the first of four trucks at the end of the delta, over all ways of meeting its four shared links.

    Given these and the times that are met together, trucks are independent: sums and products on a fine line.
    """
    law, minutes = driving_laws(driving).alone, target / num * np.arange(-1.0, num + 2.0)

    def masses(mean: float) -> NDArray[np.float64]:
        excess = np.where(minutes < 0.0, mean - minutes, law.excess(np.maximum(minutes, 0.0), np.array([mean]))[:, 0])
        return np.asarray((excess[:-2] - 2.0 * excess[1:-1] + excess[2:]) * num / target)

    def total(*means: float) -> NDArray[np.float64]:
        found = np.eye(1, num + 1)[0]
        for mean in means:
            found = np.convolve(found, masses(mean))[: num + 1]
        return found

    def none(first: NDArray[np.float64], together: tuple[float, ...]) -> NDArray[np.float64]:
        """The chance that none is there by each time, given that before what is met together."""
        if not together:
            return first
        of_both = total(*together)
        return np.convolve(of_both, first)[: num + 1] + 1.0 - np.cumsum(of_both)

    late = 0.0
    for ways in np.ndindex(2, 2, 2, 2):
        chance = float(np.prod([q if met else 1.0 - q for met in ways]))
        trunk = [(0.9, ways[2]), (0.6, ways[3])]
        sides = []
        for means, link, met in (((0.8, 1.1), 0.7, ways[0]), ((0.6, 0.9), 0.5, ways[1])):
            apart = [mean for mean, other in [*trunk, (link, met)] if not other]
            own = [total(mean, *apart) for mean in means]
            one, other = (1.0 - np.cumsum(mass) + 0.5 * mass for mass in own)
            sides.append(none(one * other, (link,) if met else ()))
        late += chance * float(none(sides[0] * sides[1], tuple(mean for mean, met in trunk if met))[-1])
    return late


@pytest.mark.parametrize("driving", [Driving(), *LAWS[:4], LAWS[6]], ids=words)
def test_four_trucks_by_enumeration(make_city: Any, driving: Driving) -> None:
    """The first of four trucks of different stations is late with the chance of all ways of meeting links, to 1e-6."""
    for q in (0.3, 0.5, 0.9):
        table = response_table(delta(make_city, driving=driving, shared_delay=q, trucks_per_incident=4), minutes=False)
        found = table.p_late[row_of(table, (0, 1, 2, 3)), 0]
        assert found == pytest.approx(late_by_enumeration(driving, q, 3.5), abs=1e-6), q


@pytest.mark.parametrize("trucks", [2, 3, 4])
@pytest.mark.parametrize("driving", [Driving(), *LAWS], ids=words)
def test_the_line_and_the_lattices_agree(
    make_city: Any, monkeypatch: pytest.MonkeyPatch, driving: Driving, trucks: int
) -> None:
    """P(late) of every arrival of every team is the same given how links are met, and on lattices over all trucks."""
    q = 1.0 if driving.coupled_branch else 0.4
    turnout = Turnout(0.4, "gamma", 0.6, shared=trucks != 3)
    city = delta(make_city, driving=driving, shared_delay=q, trucks_per_incident=trucks, turnout=turnout)
    cities = [replace(city, arrivals_per_incident=m) for m in range(1, trucks + 1)]
    on_line = [response_table(one, minutes=False).p_late for one in cities]
    only_lattices(monkeypatch)
    on_lattices = [response_table(one, minutes=False).p_late for one in cities]
    np.testing.assert_allclose(on_line, on_lattices, rtol=0, atol={2: 2e-6, 3: 1e-5, 4: 5e-5}[trucks])


def test_few_ways_are_told_from_many(make_city: Any) -> None:
    """Equal links have few ways however many they are, unequal ones as many as they have subsets."""
    means = np.random.default_rng(1).uniform(0.5, 1.5, 9).tolist()

    def ways(links: list[float], trucks: int) -> bool:
        edges = [(place, place + 1, False, mean) for place, mean in enumerate(links)]
        city = make_city(edges, [0], [len(links)], trucks=[trucks], trucks_per_incident=2, shared_delay=0.5)
        table = LatticeTable(
            city, read_roads(city), find_routes(city), list_stations([trucks], 2),
            Needs(np.array([2], np.int32), np.array([1], np.int32), np.array([4.0])),
        )  # fmt: skip
        return bool(has_few_ways(table)[0])

    assert ways([1.0] * 100, 2)
    assert ways(means[:8], 2)
    assert ways([*means[:7], *means[:3]], 2) is False  # 3³ · 2⁴
    assert not ways(means, 2)
    assert ways(means, 1)  # nothing is shared
    assert not ways([1.0] * 300, 2)


@pytest.mark.parametrize("trucks", [3, 4])
@pytest.mark.parametrize("driving", LAWS, ids=words)
def test_simulated_teams(make_city: Any, driving: Driving, trucks: int) -> None:
    """P(late) of every arrival of teams with trucks of one station and from outside is that of times drawn."""
    q = 1.0 if driving.coupled_branch else 0.5
    check_by_simulation(delta(make_city, driving=driving, shared_delay=q, trucks_per_incident=trucks), TEAMS)


@pytest.mark.parametrize("turnout", [Turnout(0.5, "gamma", 0.6), Turnout(0.5, shared=False)])
def test_turnout_times(make_city: Any, turnout: Turnout) -> None:
    """Trucks of one station leave together, or each by itself."""
    check_by_simulation(delta(make_city, turnout=turnout, trucks_per_incident=4), TEAMS)


@pytest.mark.parametrize("trucks", [3, 4])
@pytest.mark.parametrize("q", [0.0, 0.5, 1.0])
def test_teams_on_two_roads(make_city: Any, q: float, trucks: int) -> None:
    """The second and the fourth truck of a station take its second route, the third the first again."""
    driving = Driving("gamma", cv=1.3, second_route="disjoint")
    city = ring(make_city, driving=driving, shared_delay=q, trucks_per_incident=trucks)
    teams = [(0,), (0, 1), (0, 0), (0, 0, 1), (0, 0, 0), (0, 1, 1), (0, 0, 1, 1), (0, 0, 0, 1), (0, 0, 0, 0)]
    check_by_simulation(city, teams)


def test_two_roads_and_a_turnout_together(make_city: Any) -> None:
    """Trucks of one station that take different roads leave together."""
    driving = Driving("gamma", cv=0.8, second_route="disjoint")
    city = ring(make_city, driving=driving, shared_delay=0.5, turnout=Turnout(0.6, "gamma", 0.7), trucks_per_incident=3)
    check_by_simulation(city, [(0, 0), (0, 0, 1), (0, 0, 0)])


def test_fixed_times_on_two_roads(make_city: Any) -> None:
    """Where nothing is random, the third truck of a station comes when the first does, the second and fourth later."""
    driving = Driving("gamma", cv=0.0, second_route="disjoint")
    city = ring(make_city, driving=driving, trucks_per_incident=4, target_minutes=3.2)
    late = [response_table(replace(city, arrivals_per_incident=m)).p_late for m in range(1, 5)]
    table = response_table(city)
    assert [float(one[row_of(table, (0, 0, 0, 0)), 0]) for one in late] == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("trucks", [3, 4])
def test_nearly_no_and_nearly_all_sharing(make_city: Any, trucks: int) -> None:
    """As q goes to 0 or 1, P(late) and means become those of trucks that share nothing, or every delay."""
    for limit, q in ((0.0, 1e-9), (1.0, 1.0 - 1e-9)):
        for arrivals in (1, 2, trucks):
            driving, needed = Driving("gamma", cv=0.8), {"trucks_per_incident": trucks}
            city = delta(make_city, driving=driving, arrivals_per_incident=arrivals, **needed)
            near, there = (response_table(replace(city, shared_delay=one), minutes=arrivals == 1) for one in (q, limit))
            np.testing.assert_allclose(near.p_late, there.p_late, rtol=0, atol=1e-6)
            np.testing.assert_allclose(near.mean_minutes, there.mean_minutes, rtol=2e-3)


@pytest.mark.parametrize("driving", [Driving(), Driving("lognormal", cv=0.7)], ids=words)
def test_sharing_is_worse(make_city: Any, driving: Driving) -> None:
    """The first truck is later the more is shared, and never later than that of a part of the team."""
    city = delta(make_city, driving=driving, trucks_per_incident=4, outside=Outside(60, 2.0))
    before = None
    for q in (0.0, 0.3, 0.7, 1.0):
        table = response_table(replace(city, shared_delay=q))
        if before is not None:
            assert (table.p_late >= before.p_late - 1e-6).all()
            assert (table.mean_minutes >= before.mean_minutes - 2e-3).all()
        for team, late in zip(table.teams, table.p_late, strict=True):
            smaller = (table.teams <= team).all(axis=1)
            assert (late <= table.p_late[smaller] + 1e-6).all()
        before = table


@pytest.mark.parametrize("second", ["same", "disjoint"])
def test_demand_points_that_need_two_and_four(make_city: Any, second: str) -> None:
    """P(late) and means at each demand point are what they are if it is the only one."""
    city = ring(make_city, driving=Driving("gamma", cv=0.8, second_route=second), shared_delay=0.4)
    needs = [(1, 1, 3.0), (2, 2, 4.0), (3, 1, 4.0), (4, 3, 5.0)]
    demand = tuple(
        replace(city.demand[0], trucks=trucks, arrivals=arrivals, target_minutes=target)
        for trucks, arrivals, target in needs
    )
    both = response_table(replace(city, demand=demand))
    for place, point in enumerate(demand):
        alone = response_table(replace(city, demand=(point,)))
        num = len(alone.teams)
        np.testing.assert_allclose(both.p_late[:num, place], alone.p_late[:, 0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(both.mean_minutes[:num, place], alone.mean_minutes[:, 0], rtol=1e-3)
        assert np.isinf(both.p_late[num:, place]).all()


def test_a_truck_at_the_demand_point(make_city: Any) -> None:
    """Where a truck is already there, no incident is late and the first truck takes no time."""
    city = ring(make_city, shared_delay=0.5, trucks_per_incident=3)
    table = response_table(city)
    row = row_of(table, (0, 1, 1))
    assert (table.p_late[row, 1], table.mean_minutes[row, 1]) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_times_that_hardly_vary_are_refused(make_city: Any) -> None:
    """Where times hardly vary around the target, it is said that the lattice does not settle."""
    city = delta(make_city, driving=Driving("gamma", cv=0.001), trucks_per_incident=3, target_minutes=3.0)
    with pytest.raises(NotConvergedError, match="did not settle"):
        response_table(city, minutes=False)


@pytest.mark.parametrize("driving", LAWS, ids=words)
def test_cubic_assignment_keeps_moments(driving: Driving) -> None:
    """A link that is much shorter than the step still has its mean, and its variance where there is one."""
    window, masses = Window(10.0, 12, 0, 0.0), law_masses(driving_laws(driving).alone)
    own = np.fft.ifft(window.transforms(masses, np.array([0.05]))[0]).real
    points = np.where(
        np.arange(window.length) < window.length - 2, np.arange(window.length), np.arange(window.length) - window.length
    )
    mean = float((own * points).sum() * window.step)
    assert mean == pytest.approx(0.05, rel=2e-3)
    if driving.cv is not None:
        variance = float((own * points**2).sum() * window.step**2) - mean**2
        assert variance == pytest.approx((driving.cv * 0.05) ** 2, rel=0.02)


def test_ranks_of_teams() -> None:
    """Every multiset of leaves has a number of its own, whatever the order."""
    for size in (1, 2, 3, 4):
        found = {}
        for team in np.ndindex(*(5,) * size):
            found.setdefault(tuple(sorted(team)), set()).add(team_rank(*[-1] * (4 - size), *team))
        ranks = [rank for one in found.values() for rank in one]
        assert sorted(ranks) == list(range(len(found)))
