"""Driving times with a scale: they do not depend on how roads are cut, and every drive may take minutes besides."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammainc, gammaincc, gammaincinv
from scipy.stats import gamma
from tests.response.conftest import CityMaker, grid_edges
from tests.response.oracles import check_by_simulation, delta, fork, line, ring

from runcard.city import City, Driving, Link, Node, Turnout
from runcard.response.lattice import Lattice
from runcard.response.laws import ScaleLaw
from runcard.response.table import ResponseTable, response_table

SCALES = (0.05, 0.5, 3.0)


def scaled(theta: float = 0.5, **given: object) -> Driving:
    """A gamma law of a scale."""
    return Driving("gamma", scale_minutes=theta, **given)  # type: ignore[arg-type]


def cut(city: City, parts: int) -> City:
    """The same city with every link in so many unequal parts."""
    rng, nodes, links = np.random.default_rng(parts), [*city.nodes], []
    for link in city.links:
        means = link.mean_minutes * rng.dirichlet(np.full(parts, 3.0))
        names = [link.from_node_id, *(f"{link.link_id}-{part}" for part in range(1, parts)), link.to_node_id]
        nodes += [Node(name, 0.0, 0.0) for name in names[1:-1]]
        for part, (start, end) in enumerate(pairwise(names)):
            links.append(Link(f"{link.link_id}/{part}", start, end, link.directed, float(means[part])))
    return replace(city, nodes=tuple(nodes), links=tuple(links))


def assert_same(found: ResponseTable, other: ResponseTable, later: float = 0.0) -> None:
    """Assert that two tables agree to their stated errors, the minutes of the second being longer."""
    np.testing.assert_allclose(other.p_late, found.p_late, rtol=0, atol=found.late_error + other.late_error)
    error = found.minutes_error + other.minutes_error
    np.testing.assert_allclose(other.mean_minutes, found.mean_minutes + later, rtol=0, atol=error)


@pytest.mark.parametrize("q", [0.0, 0.3, 1.0])
def test_cutting_roads_changes_nothing(make_city: CityMaker, q: float) -> None:
    """Links in one, two and five parts give the same P(late), minutes and percentiles, for one to three trucks."""
    rng = np.random.default_rng(5)
    edges = [(u, v, False, float(rng.uniform(0.2, 1.5))) for u, v in grid_edges(4)]
    settings = {"trucks": [2, 1, 1], "target_minutes": 3.0, "driving": scaled(fixed_part=0.2), "shared_delay": q}
    city = make_city(edges, [0, 6, 11], [3, 9, 10, 12, 15], **settings)
    demand = tuple(replace(point, trucks=1 + j % 3) for j, point in enumerate(city.demand))
    city = replace(city, demand=demand, turnout=Turnout(0.8, "lognormal", 0.5))
    whole = response_table(city, arrivals=True)
    for parts in (2, 5):
        pieces = response_table(cut(city, parts), arrivals=True)
        assert_same(whole, pieces)
        assert whole.arrivals is not None
        assert pieces.arrivals is not None
        for which in ("first", "last"):
            np.testing.assert_allclose(pieces.arrivals.p90(which), whole.arrivals.p90(which), rtol=1e-6)


@pytest.mark.parametrize("theta", SCALES)
@pytest.mark.parametrize("fixed", [0.0, 0.4])
@pytest.mark.parametrize("minutes", [0.02, 1.0, 4.0, 9.0])
def test_one_truck_has_the_gamma_law_of_its_route(
    make_city: CityMaker, theta: float, fixed: float, minutes: float
) -> None:
    """P(late) of one truck is that of a gamma time of the mean of its route, whatever its links, as scipy has it."""
    means = (0.2 * minutes, 0.7 * minutes, 0.1 * minutes)
    city = line(make_city, means, driving=scaled(theta, fixed_part=fixed), trucks_per_incident=1)
    table = response_table(city)
    route = gamma((1.0 - fixed) * minutes / theta, scale=theta)
    late = route.sf(4.0 - fixed * minutes)
    assert table.p_late[1, 0] == pytest.approx(late, abs=table.late_error)
    assert table.late_error < 7e-6
    assert table.mean_minutes[1, 0] == pytest.approx(minutes)


def arrivals_of_two(
    first: float, second: float, shared: float, *, driving: Driving, q: float, target: float
) -> list[float]:
    """P(late) of the first and of the second of two trucks whose routes share a part, over the time met together."""
    theta, fixed, loose = driving.scale_minutes or 0.0, driving.fixed_part, 1.0 - driving.fixed_part
    common, own = loose * q * shared / theta, [loose * (mean - q * shared) / theta for mean in (first, second)]
    ends = [target - fixed * mean for mean in (first, second)]

    def left(u: float) -> list[float]:
        """What each has left, given the quantile of the time met together, in units of the scale."""
        return [max(end / theta - float(gammaincinv(common, u)), 0.0) for end in ends]

    def neither(u: float) -> float:
        return float(np.prod([gammaincc(shape, time) for shape, time in zip(own, left(u), strict=True)]))

    def both(u: float) -> float:
        return float(np.prod([gammainc(shape, time) for shape, time in zip(own, left(u), strict=True)]))

    return [
        quad(neither, 0.0, 1.0, epsabs=1e-10, limit=400)[0],
        1.0 - quad(both, 0.0, 1.0, epsabs=1e-10, limit=400)[0],
    ]


@pytest.mark.parametrize("q", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("driving", [scaled(), scaled(0.2, fixed_part=0.3), scaled(2.0)], ids=["half", "fixed", "two"])
def test_two_trucks_share_a_part_of_every_link(make_city: CityMaker, driving: Driving, q: float) -> None:
    """P(late) of the first and of the second of two trucks is the integral over what they meet together."""
    city = fork(make_city, driving=driving, shared_delay=q)
    for m in (1, 2):
        table = response_table(replace(city, arrivals_per_incident=m))
        for team, routes in (((0, 1), (3.9, 4.2, 2.4)), ((0, 0), (3.9, 3.9, 3.9))):
            exact = arrivals_of_two(*routes, driving=driving, q=q, target=4.5)[m - 1]
            found = table.p_late[table.teams.number(team), 0]
            assert found == pytest.approx(exact, abs=table.late_error), (m, team)
        assert table.late_error < 7e-6


@pytest.mark.parametrize("q", [0.0, 1.0])
def test_no_and_every_delay_shared_are_the_ends_of_the_split(make_city: CityMaker, q: float) -> None:
    """A shared part next to 0, or next to 1, gives what is found without a split there, of up to four trucks."""
    city = delta(make_city, driving=scaled(fixed_part=0.1), arrivals_per_incident=2, shared_delay=q)
    near = response_table(replace(city, shared_delay=abs(q - 1e-9)))
    assert_same(response_table(city), near)


@pytest.mark.parametrize("turnout", [Turnout(), Turnout(0.7, "gamma", 0.5, shared=False)], ids=["at-once", "turnout"])
def test_three_trucks_are_what_is_drawn(make_city: CityMaker, turnout: Turnout) -> None:
    """P(late) of each of three trucks, and minutes, lie in the intervals of times that are drawn link by link."""
    city = delta(make_city, driving=scaled(0.8, fixed_part=0.2), shared_delay=0.4, turnout=turnout)
    teams = [(0, 1, 2), (0, 0, 3), (0, 0, 0), (1, 2), (2,)]
    check_by_simulation(replace(city, trucks_per_incident=3), teams)


def test_trucks_on_two_roads_share_a_part_of_what_is_left(make_city: CityMaker) -> None:
    """With a second road, P(late) and minutes lie in the intervals of times that are drawn link by link."""
    city = ring(make_city, driving=scaled(0.8, second_route="disjoint"), shared_delay=0.6)
    check_by_simulation(city, [(0, 0), (0, 1), (0,)])


def test_transforms_are_powers_and_their_moments_right() -> None:
    """On a lattice, means add up exactly, masses come at no time before 0, and mean and variance are the law's."""
    lattice, law = Lattice(40.0, 800), ScaleLaw(0.7, 0.25, 0.75)
    one, two, three = lattice.transforms(law, np.array([0.3, 1.1, 1.4]))
    np.testing.assert_allclose(one * two, three, rtol=1e-12)
    masses, times = lattice.masses(three), lattice.step * (np.arange(lattice.size) - 16)
    assert np.abs(masses[:16]).max() < 1e-7
    mean = float(masses @ times)
    assert mean == pytest.approx(0.75 * 1.4, abs=1e-5)  # the fixed part comes besides
    assert float(masses @ (times - mean) ** 2) == pytest.approx(law.variance(np.array([1.4]))[0], rel=1e-4)


def test_the_excess_is_that_of_scipy() -> None:
    """E (X - x)+ is the integral of the chance to be later."""
    law, x = ScaleLaw(0.7, 0.25, 0.75), np.array([0.0, 0.2, 1.0, 5.0])
    for mean in (0.4, 3.0):
        later = gamma(0.75 * mean / 0.7, loc=0.25 * mean, scale=0.7).sf
        exact = [quad(later, low, 60.0, points=[0.25 * mean] if low < 0.25 * mean else None)[0] for low in x]
        np.testing.assert_allclose(law.excess(x, np.array([mean]))[0], exact, atol=1e-8)
