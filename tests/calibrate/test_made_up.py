"""Made-up incidents against what the model says in closed form."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest
from tests.calibrate.cities import DAY, SCALE, road_city, true_city

from runcard.calibrate.made_up import make_up, workloads
from runcard.city import City
from runcard.city.model import Driving, Turnout
from runcard.errors import InputError
from runcard.response.routes import find_routes

MONDAY = datetime(2024, 1, 1)


def drives(city: City, incidents: int = 2500) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The driving minutes of every unit that was sent, their means in the model, and the squares of means of links."""
    happened, sent = make_up(city, incidents=incidents, seed=1, start=MONDAY)
    minutes = np.array([(one.on_scene - one.en_route) / 60.0 for one in sent])
    routes = find_routes(city)
    squares = routes.sums(np.array([link.mean_minutes**2 for link in city.links]))
    places = [(one.station, happened[one.incident].point) for one in sent]
    return minutes, *(np.array([of[place] for place in places]) for of in (routes.drive_minutes, squares))


def test_incidents_come_at_the_rates_of_the_city() -> None:
    """Counts by type and by period are Poisson counts of the city's rates, within four standard errors."""
    city = true_city(road_city())
    happened, _ = make_up(city, incidents=3000, seed=2, start=MONDAY)
    times = np.array([one.time for one in happened])
    days = (times[-1] - datetime(2024, 1, 1, tzinfo=UTC).timestamp()) / 86400.0
    assert abs(3000 / days - 46.0) < 4.0 * 46.0 / np.sqrt(3000)
    fires = sum(city.demand[one.point].type == "fire" for one in happened)
    assert abs(fires - 3000 * 16 / 46) < 4.0 * np.sqrt(3000 * 16 * 30) / 46
    by_day = np.isin((times - 4 * 86400) // 3600 % 168, DAY).mean()
    expected = 15 * 1.3 / (15 * 1.3 + 9 * 0.5)
    assert abs(by_day - expected) < 4.0 * np.sqrt(expected * (1 - expected) / 3000)


@pytest.mark.parametrize(
    "driving",
    [
        Driving("exponential"),
        Driving("gamma", cv=0.5),
        Driving("lognormal", cv=0.7, fixed_part=0.3),
        Driving("gamma", scale_minutes=SCALE),
    ],
)
def test_driving_times_have_the_mean_and_variance_of_the_model(driving: Driving) -> None:
    """The variance is the sum over links of (cv × random part of the mean)², or the scale times the mean."""
    city = true_city(road_city(), driving=driving)
    minutes, mean, squares = drives(city)
    cv = (1.0 if driving.cv is None else driving.cv) * (1.0 - driving.fixed_part)
    expected = cv**2 * squares if driving.scale_minutes is None else SCALE * mean
    assert minutes.mean() == pytest.approx(mean.mean(), rel=0.02)
    assert ((minutes - mean) ** 2).mean() == pytest.approx(expected.mean(), rel=0.12)


def test_busy_times_have_the_mean_of_the_city() -> None:
    """From dispatch until free it takes what the city says for the type, and nobody is sent while busy."""
    city = true_city(road_city())
    happened, sent = make_up(city, incidents=4000, seed=3, start=MONDAY)
    for name, minutes in (("fire", 35.0), ("medical", 22.0)):
        own = [
            (one.available - one.dispatched) / 60.0
            for one in sent
            if city.demand[happened[one.incident].point].type == name
        ]
        assert np.mean(own) == pytest.approx(minutes, abs=4.0 * np.std(own) / np.sqrt(len(own)))
    free: dict[str, float] = {}
    for one in sent:
        assert one.dispatched >= free.get(one.unit, -np.inf)
        assert one.received <= one.dispatched <= one.en_route <= one.on_scene <= one.available
        free[one.unit] = one.available


def test_the_closest_idle_units_go() -> None:
    """Nobody idle is closer than a unit that is sent, and as many go as the type gets, if so many are idle."""
    city = true_city(road_city())
    happened, sent = make_up(city, incidents=800, seed=4, start=MONDAY)
    means, stations = find_routes(city).drive_minutes, [one.station_id for one in city.stations]
    free: dict[str, float] = {unit.unit_id: -np.inf for unit in city.units}
    for number, one in enumerate(happened):
        for kind, needed in (
            (("engine", 2), ("ladder", 1)) if city.demand[one.point].type == "fire" else (("engine", 1),)
        ):
            went = [row for row in sent if row.incident == number and row.kind == kind]
            idle = [unit for unit in city.units if unit.kind == kind and free[unit.unit_id] <= one.time]
            near = sorted(means[stations.index(unit.station_id), one.point] for unit in idle)
            assert [means[row.station, one.point] for row in went] == near[:needed]
            for row in went:
                free[row.unit] = row.available


@pytest.mark.slow
def test_work_is_that_of_the_made_up_log() -> None:
    """The part of its time that each unit is busy, and its responses a day, are those of a long made-up log."""
    city = true_city(road_city(), periods=())
    _, sent = make_up(city, incidents=8000, seed=5, start=MONDAY)
    last = max(one.dispatched for one in sent) - min(one.dispatched for one in sent)
    found = workloads(city, incidents=8000, seed=6)
    for unit in city.units:
        own = [one for one in sent if one.unit == unit.unit_id]
        minutes = sum(one.available - one.dispatched for one in own)
        assert found[unit.unit_id].busy == pytest.approx(minutes / last, rel=0.12)
        # Two independent counts, of which a fire that takes two units together is the largest dependence.
        per_day = 86400.0 * len(own) / last
        assert found[unit.unit_id].per_day == pytest.approx(per_day, rel=4.0 * np.sqrt(2.0 / len(own)))


def test_first_due_is_the_closest_station_by_hand() -> None:
    """A unit is first due if no other station of its kind is closer to some node: by Dijkstra on the roads of the city;
    one that stands where every area is closer to others is first due nowhere, and stations that tie are both."""
    city = true_city(road_city(), periods=())
    minutes = find_routes(city).drive_minutes
    places = {station.station_id: number for number, station in enumerate(city.stations)}
    for kind in ("engine", "ladder"):
        homes = sorted({places[unit.station_id] for unit in city.units if unit.kind == kind})
        points = [n for n, point in enumerate(city.demand) if kind == "engine" or point.type == "fire"]
        closest = {homes[int(row.argmin())] for row in minutes[np.ix_(homes, points)].T}
        found = workloads(city, incidents=200, seed=1)
        for unit in city.units:
            if unit.kind == kind:
                assert found[unit.unit_id].first_due == (places[unit.station_id] in closest)
    only = replace(city, demand=tuple(one for one in city.demand if one.node_id == "n00"))
    found = workloads(only, incidents=200, seed=1)
    # s1 for engines; the ladders are at s2 and s4, of which s2 is closer.
    assert {unit.station_id for unit in city.units if found[unit.unit_id].first_due} == {"s1", "s2"}
    same = replace(only, stations=tuple(replace(one, node_id="n00") for one in only.stations))
    assert all(one.first_due for one in workloads(same, incidents=200, seed=1).values())


def test_a_start_with_an_offset_is_refused() -> None:
    """Logs are in local time: a start that has an offset from UTC is an error in words."""
    with pytest.raises(InputError, match="expected a local time, without an offset"):
        make_up(road_city(), incidents=1, seed=1, start=MONDAY.replace(tzinfo=UTC))


def test_units_of_one_station_leave_together_if_turnout_is_shared() -> None:
    """Two engines of one station at one fire leave at the same moment, or not, as the city says."""
    for shared in (True, False):
        laws = {"engine": Turnout(1.2, "gamma", 0.5, shared)}
        _, sent = make_up(true_city(road_city(), turnout_by_kind=laws), incidents=1500, seed=7, start=MONDAY)
        pairs = [
            a.en_route == b.en_route
            for a, b in pairwise(sent)
            if (a.incident, a.station, a.kind) == (b.incident, b.station, b.kind)
        ]
        assert len(pairs) > 50
        assert all(pairs) if shared else not any(pairs)
