"""Tests of the first and the last arrival: closed forms, times drawn link by link, and what holds for every team."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, gamma
from tests.response.oracles import delta, fork, late_of_one_station, line, ring, words

from runcard.city import City, DemandPoint, Driving, Outside
from runcard.errors import InputError, SizeError
from runcard.response.arrivals import Arrivals, p90_of
from runcard.response.laws import branches
from runcard.response.table import ResponseTable, response_table


def arrivals_of(city: City, **settings: Any) -> tuple[ResponseTable, Arrivals]:
    """The response table of a city, and its arrivals."""
    table = response_table(city, arrivals=True, **settings)
    assert table.arrivals is not None
    return table, table.arrivals


def test_two_exponential_links(make_city: Any) -> None:
    """The last of two independent links takes 1 + 1 - 1/2 and is late with 2 e^(-t) - e^(-2t); of a shared one, 1."""
    city = make_city([(0, 1), (2, 1)], [0, 2], [1], trucks=[2, 1])
    table, arrivals = arrivals_of(city)
    same, apart = table.teams.number([0, 0]), table.teams.number([0, 1])
    assert arrivals.means["last"][[same, apart], 0] == pytest.approx([1.0, 1.5], rel=1e-12)
    t = arrivals.minutes
    assert arrivals.laters["last"][:, apart, 0] == pytest.approx(2.0 * np.exp(-t) - np.exp(-2.0 * t), abs=1e-6)
    assert arrivals.laters["first"][:, apart, 0] == pytest.approx(np.exp(-2.0 * t), abs=1e-6)
    np.testing.assert_array_equal(arrivals.laters["first"][:, same], arrivals.laters["last"][:, same])
    assert arrivals.p90("first")[apart, 0] == pytest.approx(np.log(10.0) / 2.0, rel=1e-6)
    assert arrivals.p90("last")[apart, 0] == pytest.approx(-np.log(1.0 - np.sqrt(0.9)), rel=1e-3)


@pytest.mark.parametrize("number", [2, 3])
def test_each_of_four_exponential_links(make_city: Any, number: int) -> None:
    """Of four independent trucks the m-th takes 1/4 + 1/3 + ... + 1/(5-m), and is later than t with a binomial chance;
    of three of them and a fourth one from outside on such a link, too."""
    links = [(station, 4) for station in range(4)]
    city = make_city(links, [0, 1, 2, 3], [4], trucks_per_incident=4, outside=Outside(1, 1.0))
    table, arrivals = arrivals_of(replace(city, arrivals_per_incident=number))
    rows = [table.teams.number(team) for team in ([0, 1, 2, 3], [0, 1, 3])]
    name, t = f"arrival {number}", arrivals.minutes
    assert arrivals.means[name][rows, 0] == pytest.approx(sum(1.0 / (4 - place) for place in range(number)), rel=1e-6)
    later = binom.cdf(number - 1, 4, 1.0 - np.exp(-t))
    np.testing.assert_allclose(arrivals.laters[name][:, rows[0], 0], later, rtol=0, atol=2e-4)


@pytest.mark.parametrize("q", [0.0, 0.5, 1.0])
def test_the_closed_form_is_that_of_the_lattice(make_grid: Any, q: float) -> None:
    """In the paper's case the sums of positive terms are what lattices give for gamma links of a variation of 1."""
    city = make_grid(4, [0, 6, 9], trucks=[2, 1, 1], shared_delay=q, outside=Outside(9, 0.6))
    (_, exact), (_, found) = (arrivals_of(replace(city, driving=law)) for law in (Driving(), Driving("gamma", cv=1.0)))
    np.testing.assert_allclose(found.minutes, exact.minutes, rtol=1e-12)
    assert np.abs(found.means["last"] - exact.means["last"]).max() <= found.errors["last"] < 0.02
    off = 0.012 if 0.0 < q < 1.0 else 2e-4
    np.testing.assert_allclose(found.laters["first"], exact.laters["first"], rtol=0, atol=off)
    np.testing.assert_allclose(found.laters["last"], exact.laters["last"], rtol=0, atol=off)


@pytest.mark.parametrize("trucks", [2, 3, 4])
def test_one_road_shared_now_and_then(make_city: Any, trucks: int) -> None:
    """The chance that the first, or the last, is later is off by at most 0.04 where trucks share a whole road."""
    settings = {"trucks": [trucks], "trucks_per_incident": trucks, "shared_delay": 0.5}
    city = line(make_city, (1.0,) * 6, driving=Driving("gamma", cv=1.0 - 1e-4), outside=Outside(8, 1.0), **settings)
    _, arrivals = arrivals_of(city)
    for t, first, last in zip(
        arrivals.minutes, arrivals.laters["first"][:, -1, 0], arrivals.laters["last"][:, -1, 0], strict=True
    ):
        for m, found in ((1, first), (trucks, last)):
            assert found == pytest.approx(late_of_one_station(6, 0.5, float(t), trucks, m), abs=0.04)


def test_erlang_percentiles(make_city: Any) -> None:
    """Percentiles of single trucks on routes of 1 to 60 links, and of two from outside, are Erlang ones to 0.2 %."""
    city = make_city([(k, k + 1) for k in range(60)], [0], list(range(61)), outside=Outside(80, 1.0))
    _, arrivals = arrivals_of(replace(city, trucks_per_incident=1))
    exact = gamma.ppf(0.9, np.arange(1, 61))
    np.testing.assert_allclose(arrivals.p90("first")[1, 1:], exact, rtol=2e-3)
    assert arrivals.p90("first")[1, 0] == 0.0  # it is there
    _, of_pairs = arrivals_of(city)
    outside = gamma.ppf(np.sqrt(0.9), 80)
    np.testing.assert_allclose(of_pairs.p90("last")[0], outside, rtol=2e-3)


@pytest.mark.parametrize("cv", [0.1, 0.3, 2.0])
def test_gamma_percentiles(make_city: Any, cv: float) -> None:
    """Percentiles of times that vary little, or much, are those of gamma times to 1 %."""
    edges = [(k, k + 1) for k in range(30)]
    city = make_city(edges, [0], list(range(1, 31)), driving=Driving("gamma", cv=cv), trucks_per_incident=1)
    _, arrivals = arrivals_of(replace(city, target_minutes=20.0))
    shape = np.arange(1, 31) / cv**2
    np.testing.assert_allclose(arrivals.p90("last")[1], gamma.ppf(0.9, shape) * cv**2, rtol=0.01)


def test_mixtures() -> None:
    """The percentile of a mixture of Erlang times is that of its own curve, and curves may have any shape."""
    minutes, sizes = 60.0 * (np.arange(1, 33) / 32) ** 2, np.array([2, 5, 9, 20])
    later = gamma.sf(minutes[:, None], sizes)
    weights = np.array([[0.7, 0.1, 0.1, 0.1], [0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 0.5, 0.5]])
    found = p90_of(minutes, np.einsum("gn,wn->gw", later, weights))
    for one, weight in zip(found, weights, strict=True):
        assert one == pytest.approx(brentq(lambda t, w=weight: w @ gamma.sf(t, sizes) - 0.1, 0.1, 60.0), rel=2e-3)
    assert p90_of(minutes, later[:, 1]) == pytest.approx(gamma.ppf(0.9, 5), rel=1e-3)


def test_beyond_the_times() -> None:
    """Percentiles before the first time are those of exponential times, those beyond the last of Weibull times."""
    minutes = np.array([1.0, 2.0, 3.0])
    quick, slow = 0.2, 30.0
    later = np.exp(-np.stack([minutes / quick, (minutes / slow) ** 1.5, np.full(3, 1e9)], axis=1))
    exact = [quick * np.log(10.0), slow * np.log(10.0) ** (2.0 / 3.0), 0.0]
    assert p90_of(minutes, later) == pytest.approx(exact, rel=1e-6)
    assert np.isfinite(p90_of(minutes, np.ones(3)))


def test_fixed_times(make_city: Any) -> None:
    """Where nothing is random, means and percentiles are the times themselves, and curves steps there."""
    city = delta(make_city, driving=Driving("lognormal", cv=0.0), outside=Outside(3, 2.0), trucks_per_incident=3)
    table, arrivals = arrivals_of(city)
    rows = [table.teams.number(team) for team in ((), (1,), (1, 2), (0, 0, 1), (1, 2, 3))]
    assert arrivals.means["last"][rows, 0] == pytest.approx([6.0, 6.0, 6.0, 3.3, 3.3])
    assert arrivals.p90("first")[rows, 0] == pytest.approx([6.0, 3.3, 2.6, 3.0, 2.6])
    assert arrivals.p90("last")[rows, 0] == pytest.approx([6.0, 6.0, 6.0, 3.3, 3.3])
    assert arrivals.errors["last"] == 0.0
    steps = arrivals.minutes[:, None] < arrivals.means["last"][rows, 0] * (1.0 - 1e-9)
    np.testing.assert_array_equal(arrivals.laters["last"][:, rows, 0], steps)
    on_two_roads = arrivals_of(ring(make_city, driving=Driving("gamma", cv=0.0, second_route="disjoint")))[1]
    assert on_two_roads.means["last"][3, 0] == pytest.approx(3.4)


@pytest.mark.parametrize("driving", [Driving(), Driving("gamma", cv=0.5), Driving("gamma", cv=0.0)], ids=words)
def test_demand_points_with_needs_of_their_own(make_city: Any, driving: Driving) -> None:
    """A point has the arrivals that it has alone; too large a team never comes; of one truck the first is the last."""
    city = fork(make_city, driving=driving, outside=Outside(6, 0.9), link_minutes=1.0)
    city = replace(city, demand=(*city.demand, DemandPoint("n7", 1.0, trucks=1), DemandPoint("n7", 1.0, trucks=3)))
    table, arrivals = arrivals_of(city)
    needed = np.array([2, 2, 1, 3])
    large = table.teams.sizes[:, None] > needed
    for found in (arrivals.means["last"], arrivals.p90("first"), arrivals.p90("last")):
        np.testing.assert_array_equal(np.isinf(found), large)
        assert not np.isnan(found).any()
    for later in (arrivals.laters["first"], arrivals.laters["last"]):
        assert (later[:, large] == 0.0).all()
        assert ((later >= 0.0) & (later <= 1.0)).all()
    np.testing.assert_array_equal(arrivals.laters["first"][:, :, 2], arrivals.laters["last"][:, :, 2])
    np.testing.assert_array_equal(arrivals.means["last"][:, 2], table.mean_minutes[:, 2])
    for point in range(4):
        alone = arrivals_of(city, points=[point])[1]
        num = len(alone.means["last"])
        np.testing.assert_allclose(alone.means["last"][:, 0], arrivals.means["last"][:num, point], rtol=0, atol=5e-3)
        np.testing.assert_allclose(alone.p90("last")[:, 0], arrivals.p90("last")[:num, point], rtol=5e-3)


@pytest.mark.parametrize("q", [0.0, 0.4, 1.0])
def test_the_last_is_never_before_the_first(make_grid: Any, q: float) -> None:
    """Its mean, its chances of being later and its percentile are no less; chances fall with time, and rise with q."""
    city = make_grid(
        4, [0, 5, 15], trucks=[2, 1, 1], shared_delay=q, trucks_per_incident=3, driving=Driving("gamma", cv=0.6)
    )
    _, arrivals = arrivals_of(city)
    assert (arrivals.means["last"] >= arrivals.means["first"]).all()
    assert (arrivals.laters["last"] >= arrivals.laters["first"]).all()
    assert (arrivals.p90("last") >= arrivals.p90("first")).all()
    assert (np.diff(arrivals.minutes) > 0.0).all()
    assert np.diff(arrivals.laters["first"], axis=0).max() <= 1e-5
    assert np.diff(arrivals.laters["last"], axis=0).max() <= 1e-5


def test_slow_trucks_do_not_blur_percentiles(make_city: Any) -> None:
    """The percentiles of own trucks are the same whether those from outside take an hour or a year."""
    hour, year = (
        arrivals_of(fork(make_city, driving=Driving("gamma", cv=0.8), outside=Outside(4, minutes)))[1]
        for minutes in (15.0, 1e5)
    )
    for which in ("first", "last"):
        np.testing.assert_allclose(year.p90(which)[3:], hour.p90(which)[3:], rtol=0.01)
    np.testing.assert_allclose(year.p90("first")[1:3], hour.p90("first")[1:3], rtol=0.01)
    np.testing.assert_allclose(year.p90("last")[0], hour.p90("last")[0] * 1e5 / 15.0, rtol=0.01)


@pytest.mark.parametrize("cv", [0.0, 0.5])
def test_only_if_asked_for(make_grid: Any, cv: float) -> None:
    """Arrivals are not there unless asked for, need minutes, and say which part of them is done."""
    city = make_grid(4, [0, 15], driving=Driving("gamma", cv=cv))
    assert response_table(city).arrivals is None
    with pytest.raises(InputError, match="arrivals need minutes"):
        response_table(city, minutes=False, arrivals=True)
    parts: list[float] = []
    response_table(city, arrivals=True, progress=parts.append)
    assert parts == sorted(parts)
    assert parts[-1] == 1.0


def test_arrivals_beyond_memory_are_refused(make_grid: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrivals that would not fit are one clear error, though the table alone would fit."""
    monkeypatch.setattr("runcard.response.table.SMALL_BYTES", 0)
    monkeypatch.setattr("runcard.response.table.available_bytes", lambda: 4000.0)
    city = make_grid(2, [0, 3])
    assert response_table(city).arrivals is None
    with pytest.raises(SizeError, match=r"2 stations and 4 demand points: .* of memory and 3.91 KiB are free"):
        response_table(city, arrivals=True)


def chance_of_coupled(links: int, mean: float, driving: Driving, minutes: float, *, trucks: int, last: bool) -> float:
    """The chance that the first, or the last, truck of one station is later: over how many links have the branch."""
    kinds = branches(driving.cv or 0.0)
    (chance, together), (_, apart) = kinds if driving.coupled_branch == "short" else kinds[::-1]
    total = 0.0
    for met in range(links + 1):
        # Over the quantiles of the time met together, close at both ends
        u = (np.arange(4000) + 0.5) / 4000
        u, weight = u**2 * (3.0 - 2.0 * u), 6.0 * u * (1.0 - u) / 4000
        left = minutes - (gamma.ppf(u, met, scale=mean * together) if met else np.zeros_like(u))
        own = gamma.cdf(left, links - met, scale=mean * apart) if met < links else (left >= 0.0).astype(float)
        there = own**trucks if last else 1.0 - (1.0 - own) ** trucks
        total += binom.pmf(met, links, chance) * float((weight * (1.0 - there)).sum())
    return total


@pytest.mark.parametrize("branch", ["short", "long"])
@pytest.mark.parametrize(("links", "cv"), [(1, 4.0), (2, 4.0), (4, 2.0), (4, 4.0), (6, 1.5)])
def test_percentiles_of_a_coupled_branch(make_city: Any, branch: str, links: int, cv: float) -> None:
    """One of ten first arrivals, and of last ones, of two and three trucks on one road is beyond its percentile."""
    driving = Driving("hyperexponential", cv=cv, coupled_branch=branch)
    for trucks in (2, 3):
        settings = {"trucks": [trucks], "trucks_per_incident": trucks, "driving": driving}
        _, arrivals = arrivals_of(line(make_city, (6.0 / links,) * links, outside=Outside(2, 3.0), **settings))
        for which in ("first", "last"):
            given = {"trucks": trucks, "last": which == "last"}
            p90 = arrivals.p90(which)[-1, 0]
            low, high = (chance_of_coupled(links, 6.0 / links, driving, part * p90, **given) for part in (0.98, 1.02))
            assert low >= 0.1 >= high, (which, trucks)


def test_percentiles_of_slow_branches(make_city: Any) -> None:
    """Where most times are far shorter than the deviation, percentiles of up to four trucks are right to 1 %."""
    means = (1.0, 1.5, 2.0, 3.0, 4.0)
    (chance, short), (rare, long) = branches(6.0)
    edges = [(0, place, False, mean) for place, mean in enumerate(means, start=1)]
    law = Driving("hyperexponential", cv=6.0)
    for trucks in (1, 2, 4):
        city = make_city(edges, [0], [1, 2, 3, 4, 5], driving=law, shared_delay=0.0, trucks=[trucks])
        _, arrivals = arrivals_of(replace(city, trucks_per_incident=trucks, outside=Outside(4, 1.0)))
        for place, mean in enumerate(means):

            def of_team(t: float, last: bool, mean: float = mean, trucks: int = trucks) -> float:
                later = float(chance * np.exp(-t / (mean * short)) + rare * np.exp(-t / (mean * long)))
                return (1.0 - (1.0 - later) ** trucks if last else later**trucks) - 0.1

            first, last = (brentq(of_team, 1e-9, 1e3, args=(which,)) for which in (False, True))
            assert arrivals.p90("first")[-1, place] == pytest.approx(first, rel=0.01), (trucks, mean)
            assert arrivals.p90("last")[-1, place] == pytest.approx(last, rel=0.01), (trucks, mean)
