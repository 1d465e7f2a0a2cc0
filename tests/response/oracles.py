"""What the tests of response compare with: small cities, times drawn link by link, and closed forms."""

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import bdtr, gammainc, gammaincc, gammainccinv, gammaincinv, gammaln
from scipy.stats import binom

from runcard.city import City, Driving, Outside
from runcard.response.laws import branches
from runcard.response.routes import find_routes, routes_to
from runcard.response.table import ResponseTable, response_table

PLACES = np.polynomial.legendre.leggauss(80)


def words(driving: Driving) -> str:
    """A law as the name of a test."""
    return f"{driving.model}-{driving.cv}-{driving.tail_index}-{driving.fixed_part}-{driving.coupled_branch}"


def line(make_city: Any, means: tuple[float, ...], **settings: Any) -> City:
    """A road of links with these means, with a station at one end and the demand point at the other."""
    edges = [(place, place + 1, False, mean) for place, mean in enumerate(means)]
    return make_city(edges, [0], [len(means)], **settings)


def fork(make_city: Any, **settings: Any) -> City:
    """Two stations whose roads of unequal links meet, one road of three links on from there; two trucks at one."""
    edges = [(0, 1, False, 0.9), (1, 4, False, 0.6), (2, 3, True, 0.5), (3, 4, False, 1.3)]
    edges += [(4, 5, False, 0.4), (5, 6, False, 1.2), (6, 7, False, 0.8)]
    return make_city(edges, [0, 2], [7, 5], **({"trucks": [2, 1], "target_minutes": 4.5} | settings))


def ring(make_city: Any, **settings: Any) -> City:
    """A station of two trucks behind a bridge, a ring of a short and a long road, and a road of two links on."""
    edges = [(0, 1, False, 0.5), (1, 2, False, 0.8), (2, 4, False, 0.7), (1, 3, False, 1.0), (3, 4, False, 0.9)]
    edges += [(4, 5, False, 0.6), (5, 6, False, 0.4), (1, 4, False, 3.5)]
    given = {"trucks": [2, 1], "target_minutes": 4.0, "outside": Outside(7, 0.9)}
    return make_city(edges, [0, 2], [6, 4, 0], **(given | settings))


def delta(make_city: Any, **settings: Any) -> City:
    """Four stations whose roads meet two by two and further on, with demand points at the end and at a junction."""
    edges = [(0, 4, False, 0.8), (1, 4, False, 1.1), (4, 6, False, 0.7), (2, 5, False, 0.6), (3, 5, False, 0.9)]
    edges += [(5, 6, False, 0.5), (6, 7, False, 0.9), (7, 8, False, 0.6)]
    given = {"trucks": [3, 1, 2, 1], "target_minutes": 3.5, "outside": Outside(5, 0.9), "trucks_per_incident": 4}
    return make_city(edges, [0, 1, 2, 3], [8, 6], **(given | settings))


def long_delta(make_city: Any, trunk: int, **settings: Any) -> City:
    """The same with a trunk of so many unequal links, so that there are too many sets of links to try them all."""
    means = np.random.default_rng(4).lognormal(-1.2, 0.5, trunk).tolist()
    edges = [(0, 4, False, 0.8), (1, 4, False, 1.1), (4, 6, False, 0.7), (2, 5, False, 0.6), (3, 5, False, 0.9)]
    edges += [(5, 6, False, 0.5), *((6 + k, 7 + k, False, mean) for k, mean in enumerate(means))]
    target = 1.0 + 1.1 * sum(means)
    given = {"trucks": [3, 1, 2, 1], "target_minutes": target, "outside": Outside(5, 0.9), "trucks_per_incident": 3}
    return make_city(edges, [0, 1, 2, 3], [6 + trunk], **(given | settings))


def draw(driving: Driving, mean: float, rng: np.random.Generator, num: int) -> NDArray[np.float64]:
    """Times of a law, by numpy's own generators."""
    cv, theta = driving.cv or 0.0, driving.scale_minutes
    if theta is not None:
        unit = rng.gamma((1.0 - driving.fixed_part) * mean / theta, theta, num) / ((1.0 - driving.fixed_part) * mean)
    elif driving.model == "gamma":
        unit = rng.gamma(1.0 / cv**2, cv**2, num)
    elif driving.model == "lognormal":
        unit = rng.lognormal(-np.log1p(cv**2) / 2.0, np.sqrt(np.log1p(cv**2)), num)
    elif driving.model == "hyperexponential":
        (chance, short), (_, long) = branches(cv)
        unit = rng.exponential(size=num) * np.where(rng.random(num) < chance, short, long)
    elif driving.model == "pareto" and driving.tail_index is not None:
        unit = rng.pareto(driving.tail_index, num) * (driving.tail_index - 1.0)
    else:
        unit = rng.exponential(size=num)
    return mean * (driving.fixed_part + (1.0 - driving.fixed_part) * unit)


def roads_of(city: City, team: tuple[int, ...], point: int) -> list[list[str]]:
    """The links of every truck of a team, with second routes where the city has them."""
    routes, seen, found = routes_to(city, point), Counter[int](), []
    second = find_routes(city, [point]).second_routes(sorted(set(team)))
    for station in team:
        found.append(list(routes[station]))
        if city.driving.second_route == "disjoint" and seen[station] % 2:
            found[-1] = [city.links[link].link_id for link in second[0, station]]
        seen[station] += 1
    return found


@lru_cache(maxsize=128)
def drawn(law: Driving | None, mean: float, num: int, *place: int) -> NDArray[np.float64]:
    """Times of a law, or numbers from 0 to 1, that belong to a place: those of one place are the same in every team."""
    rng = np.random.default_rng(place)
    return rng.random(num) if law is None else draw(law, mean, rng, num)


def simulate(city: City, team: tuple[int, ...], point: int, num: int, seed: int = 7) -> NDArray[np.float64]:
    """The arrivals of a team and of trucks from outside, first to last [arrival, draw], drawn link by link.

    Within a team all draws are independent; teams share them, so that they are drawn once.
    """
    mean, turnout, driving = {link.link_id: link.mean_minutes for link in city.links}, city.turnout, city.driving
    number = {link.link_id: n for n, link in enumerate(city.links)}
    law, ready, q = Driving(turnout.model, cv=turnout.cv), {}, city.shared_delay
    times = [drawn(law, turnout.mean_minutes, num, seed, 0, place) for place in range(len(team))]
    if turnout.shared:
        times = [ready.setdefault(station, time) for station, time in zip(team, times, strict=True)]
    roads = roads_of(city, team, point)
    for link in dict.fromkeys(link for road in roads for link in road):
        on_it, key = [place for place in range(len(team)) if link in roads[place]], (seed, 1, number[link])
        own = [drawn(driving, mean[link], num, *key, place) for place in range(1 if q == 1.0 else len(on_it))]
        own *= len(on_it) if q == 1.0 else 1
        together = drawn(None, 0.0, num, *key, 99) < q
        if driving.coupled_branch is not None and len(on_it) > 1:
            kinds = branches(driving.cv or 0.0)
            (chance, one), (_, other) = kinds if driving.coupled_branch == "short" else kinds[::-1]
            together = drawn(None, 0.0, num, *key, 98) < chance
            times_of_one = [drawn(Driving(), 1.0, num, *key, 50 + place) for place in range(len(on_it))]
            unit = [np.where(together, one, other) * time for time in times_of_one]
            own = [mean[link] * (driving.fixed_part + (1.0 - driving.fixed_part) * time) for time in unit]
        if driving.scale_minutes is not None and 0.0 < q < 1.0:
            ours, apart = drawn(driving, q * mean[link], num, *key, 97), (1.0 - q) * mean[link]
            own = [ours + drawn(driving, apart, num, *key, 50 + place) for place in range(len(on_it))]
            together = np.zeros(num, bool)
        for place, time in zip(on_it, own, strict=True):
            times[place] = times[place] + (time if time is own[0] else np.where(together, own[0], time))
    for place in range((city.demand[point].trucks or city.trucks_per_incident) - len(team)):
        links, minutes = city.outside.links or 0, city.outside.link_minutes or 0.0
        outside = sum(drawn(driving, minutes, num, seed, 2, place, link) for link in range(links))
        times.append(outside + drawn(law, turnout.mean_minutes, num, seed, 3, place))
    return np.sort(times, axis=0)


def check_by_simulation(
    city: City,
    teams: list[tuple[int, ...]],
    num: int = 60_000,
    *,
    arrivals: tuple[int, ...] | None = None,
    off: float | None = None,
) -> None:
    """Assert that P(late) of each arrival and the mean of the first are those of times drawn link by link.

    They have to lie in the 99.99 % intervals, but for the stated errors. With `off` so must the means of the last
    arrival and of the last but one, and the part of times beyond the percentiles of all three, but for `off`.
    """
    size = city.trucks_per_incident
    wanted = arrivals or tuple(range(1, size + 1))
    number = max(1, size - 1)
    tables = {
        m: response_table(
            replace(city, arrivals_per_incident=m),
            minutes=m in (wanted[0], number),
            arrivals=m == number and off is not None,
        )
        for m in wanted
    }
    first = tables[wanted[0]]
    for point in range(len(city.demand)):
        for team in (one for one in teams if len(one) <= size):
            times, row = simulate(city, team, point, num), first.teams.number(team)
            for m, table in tables.items():
                late, found = float((times[m - 1] > city.target_minutes).mean()), table.p_late[row, point]
                error = 3.9 * np.sqrt(found * (1.0 - found) / num) + 4.0 / num + table.late_error
                assert late == pytest.approx(found, abs=error), (point, team, m)
            if city.driving.model != "pareto":
                error = 3.9 * times[0].std() / np.sqrt(num) + first.minutes_error
                assert first.mean_minutes[row, point] == pytest.approx(times[0].mean(), abs=error), (point, team)
            if off is not None and (others := tables[number].arrivals) is not None:
                places = {"first": 0, "last": -1} | ({f"arrival {number}": number - 1} if number > 1 else {})
                assert places.keys() == others.means.keys()
                for which, arrival in ((name, times[place]) for name, place in places.items()):
                    if city.driving.model != "pareto":
                        error = 3.9 * arrival.std() / np.sqrt(num) + others.errors[which]
                        assert others.means[which][row, point] == pytest.approx(arrival.mean(), abs=error), (
                            team,
                            which,
                        )
                    p90 = others.p90(which)[row, point]
                    if arrival.any():
                        beyond = float((arrival > p90).mean())
                        assert beyond == pytest.approx(0.1, abs=3.9 * np.sqrt(0.09 / num) + off), (team, which)
                    else:  # it is there
                        assert p90 == 0.0


def late_of_one_station(
    links: int, q: float, target: float, trucks: int, arrivals: int, shape: float = 1.0
) -> float:  # fmt: skip
    """P(late) of trucks that share a road of gamma links of mean 1: a mixture over how many are met together."""

    def late(together: int) -> float:
        def given(y: NDArray[np.float64]) -> NDArray[np.float64]:
            own = gammainc(shape * (links - together), shape * (target - y)) if together < links else np.ones_like(y)
            return np.asarray(bdtr(arrivals - 1, trucks, own))

        if together == 0:
            return float(given(np.zeros(1))[0])
        # Over the common time, in parts, as s², so that steep ends are seen.
        a = shape * together
        low, high = gammaincinv(a, 1e-14) / shape, min(target, gammainccinv(a, 1e-14) / shape)
        ends, (places, weights) = np.linspace(np.sqrt(min(low, high)), np.sqrt(high), 7), PLACES
        s = ends[:-1, None] + np.diff(ends)[:, None] * (places + 1.0) / 2.0
        density = shape * np.exp((a - 1.0) * np.log(shape * s**2) - shape * s**2 - gammaln(a))
        in_time = (weights * np.diff(ends)[:, None] * s * density * given(s**2)).sum()
        return float(in_time + gammaincc(a, shape * target))

    return sum(float(binom.pmf(together, links, q)) * late(together) for together in range(links + 1))


def minutes_of_one_station(links: int, q: float, trucks: int, shape: float) -> float:
    """The mean minutes until the first of trucks that share a road of gamma links of mean 1."""
    t, step = np.linspace(0.0, 80.0, 80_001, retstep=True)
    total = 0.0
    for together in range(links + 1):
        alone = gammaincc(shape * (links - together), shape * t) if together < links else np.zeros_like(t)
        total += float(binom.pmf(together, links, q)) * (together + float(np.trapezoid(alone**trucks, dx=step)))
    return total


def smaller_teams(table: ResponseTable, number: int) -> NDArray[np.int64]:
    """The numbers of the teams that are part of a team, itself included."""
    return np.flatnonzero((table.teams.counts <= table.teams.counts[number]).all(axis=1))
