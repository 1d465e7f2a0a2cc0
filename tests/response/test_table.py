"""Tests of the response table: simulated links, golden cities, and what must hold for every city."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gamma
from tests.response.oracles import check_by_simulation, delta

from runcard import dispatch_problem, evaluate, solve_problem
from runcard.city import DemandPoint, Driving, Outside, generate_grid
from runcard.errors import SizeError
from runcard.response import table as table_module
from runcard.response.table import response_table
from runcard.response.teams import Teams


@pytest.mark.parametrize("q", [0.0, 0.5, 1.0])
def test_simulated_links(make_grid: Any, q: float) -> None:
    """P(late) and the mean of every team at four points lie in the 99.99 % intervals of times drawn link by link."""
    outside = Outside(links=9, link_minutes=0.6)
    city = make_grid(5, [0, 6, 12], trucks=[2, 1, 1], shared_delay=q, link_minutes=0.8, outside=outside)
    teams = [(), (0,), (1,), (2,), (0, 0), (0, 1), (0, 2), (1, 2)]
    check_by_simulation(replace(city, demand=tuple(city.demand[j] for j in (3, 14, 22, 24))), teams, 20_000)


def test_rows_by_hand(make_city: Any) -> None:
    """On one road, the entries for no, one and two own trucks are the closed forms of Erlang times."""
    city = make_city([(0, 1), (1, 2)], [0, 1], [2], trucks=[2, 1], target_minutes=3.0)
    table = response_table(city)
    alone = gamma.sf(3.0, [2, 1])
    outside = gamma.sf(3.0, 4)  # twice the longest route
    assert table.teams.counts.tolist() == [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1]]
    assert table.p_late[:, 0] == pytest.approx([outside**2, *(alone * outside), alone[0], alone[1]], rel=1e-13)
    assert table.mean_minutes[3:, 0] == pytest.approx([2.0, 1.0], rel=1e-13)
    independent = response_table(replace(city, shared_delay=0.0))
    assert independent.p_late[3:, 0] == pytest.approx([alone[0] ** 2, alone[0] * alone[1]], rel=1e-13)


def test_the_last_of_two_by_hand(make_city: Any) -> None:
    """On one road, the second of two trucks is late with the closed forms of Erlang times, shared or independent."""
    city = make_city([(0, 1), (1, 2)], [0, 1], [2], trucks=[2, 1], target_minutes=3.0, arrivals_per_incident=2)
    alone, outside = gamma.sf(3.0, [2, 1]), gamma.sf(3.0, 4)
    with_outside = [2 * outside - outside**2, *(alone + outside - alone * outside)]
    for q, pairs in ((1.0, alone[[0, 0]]), (0.0, alone[0] + alone - alone[0] * alone)):
        table = response_table(replace(city, shared_delay=q))
        assert table.p_late[:, 0] == pytest.approx([*with_outside, *pairs], rel=1e-13)


def test_one_truck_and_other_targets(make_city: Any) -> None:
    """A demand point's own number of trucks and target stand; a larger team than it needs may not be sent."""
    city = make_city([(0, 1), (1, 2)], [0, 1], [2], outside=Outside(links=3, link_minutes=2.0))
    city = replace(city, demand=(*city.demand, DemandPoint("n2", 1.0, trucks=1, target_minutes=1.5)))
    table = response_table(city)
    assert table.p_late[:, 1] == pytest.approx([gamma.sf(0.75, 3), *gamma.sf(1.5, [2, 1]), np.inf], rel=1e-13)
    assert table.mean_minutes[:, 1] == pytest.approx([6.0, 2.0, 1.0, np.inf], rel=1e-13)
    assert np.isfinite(table.p_late[:, 0]).all()
    alone = replace(city, trucks_per_incident=1)
    assert response_table(alone).teams == Teams.of([1, 1], 1)


def test_every_target_its_own(make_grid: Any) -> None:
    """Demand points with targets of their own get the entries that a city with that target everywhere has."""
    city = make_grid(4, [0, 10, 15], shared_delay=0.4)
    targets = [1.0 + (5 * j) % 7 for j in range(16)]
    points = tuple(replace(point, target_minutes=target) for point, target in zip(city.demand, targets, strict=True))
    table = response_table(replace(city, demand=points))
    for j, target in enumerate(targets):
        assert (table.p_late[:, j] == response_table(replace(city, target_minutes=target)).p_late[:, j]).all()


def test_truck_at_the_incident(make_grid: Any) -> None:
    """A team with a truck at the incident's own node is never late and takes no time."""
    city = make_grid(3, [4, 0])
    table = response_table(city)
    there = table.teams.counts[:, 0] > 0
    assert (table.p_late[there, 4] == 0.0).all()
    assert (table.mean_minutes[there, 4] == 0.0).all()


@pytest.mark.parametrize("q", [0.0, 0.3, 1.0])
def test_scaling_time_changes_nothing(make_grid: Any, q: float) -> None:
    """Seconds for minutes: the same P(late), and sixty times the mean."""
    slow = make_grid(5, [0, 12, 13], trucks=[2, 1, 1], shared_delay=q, target_minutes=4.0)
    fast = make_grid(5, [0, 12, 13], trucks=[2, 1, 1], shared_delay=q, target_minutes=240.0, link_minutes=60.0)
    minutes, seconds = response_table(slow), response_table(fast)
    assert seconds.p_late == pytest.approx(minutes.p_late, rel=1e-12)
    assert seconds.mean_minutes == pytest.approx(60.0 * minutes.mean_minutes, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    delays=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
    factor=st.floats(0.1, 2.0),
)
def test_every_city(seed: int, delays: tuple[float, float], factor: float) -> None:
    """P(late) is a probability, rises with the shared delay, and is never above that of one of the team's trucks."""
    city = generate_grid(side=5, num_stations=4, load=0.1, seed=seed)
    city = replace(city, target_minutes=factor * city.target_minutes)
    low, high = (response_table(replace(city, shared_delay=delay)) for delay in sorted(delays))
    assert (low.p_late >= 0.0).all()
    assert (high.p_late <= 1.0).all()
    assert (low.p_late <= high.p_late * (1 + 1e-12)).all()
    assert (low.mean_minutes <= high.mean_minutes * (1 + 1e-12)).all()
    lone = response_table(replace(city, trucks_per_incident=1)).p_late
    for row, team in enumerate(high.teams.counts):
        for i in np.flatnonzero(team):
            assert (high.p_late[row] <= lone[1 + i] * (1 + 1e-12)).all()


def test_a_table_beyond_memory_is_refused(make_grid: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A city whose table would not fit is one clear error before anything is allocated."""
    monkeypatch.setattr("runcard.response.table.SMALL_BYTES", 0)
    monkeypatch.setattr("runcard.response.table.available_bytes", lambda: 100.0)
    with pytest.raises(SizeError, match=r"2 stations and 4 demand points: .* of memory and 100 B are free"):
        response_table(make_grid(2, [0, 3]))


def test_outside_trucks_take_time_even_where_no_route_has_a_link(make_grid: Any) -> None:
    """With the only demand point at the only station, a truck from outside has a link to drive all the same."""
    city = make_grid(2, [0])
    alone = replace(city, demand=city.demand[:1])
    assert response_table(alone).p_late[0, 0] > 0.0


@pytest.mark.parametrize("policy", ["closest-first", "optimal", "one-step-mean-field", "one-step-queueing"])
def test_identical_classes_may_be_merged(make_city: Any, policy: str) -> None:
    """A city whose demand points are split into identical classes is late as often as the one without them."""
    city = delta(make_city, trucks_per_incident=3, arrivals_per_incident=2, driving=Driving("lognormal", cv=0.8))
    halves = tuple(replace(point, incidents_per_day=point.incidents_per_day / 2.0) for point in city.demand)
    merged, split = (
        evaluate(solve_problem(dispatch_problem(one), policy)) for one in (city, replace(city, demand=halves + halves))
    )
    assert split.late_fraction == pytest.approx(merged.late_fraction, rel=1e-6)


def test_a_demand_point_without_incidents_has_a_table_too(make_city: Any) -> None:
    """A node of rate zero may be asked for alone, and a class of three trucks that never comes changes nothing."""
    city = delta(make_city, trucks_per_incident=2)
    quiet = replace(city.demand[0], incidents_per_day=0.0, trucks=3)
    with_quiet = replace(city, demand=(*city.demand, quiet))
    assert np.isfinite(response_table(with_quiet, points=[2]).p_late).all()
    table, without = response_table(with_quiet), response_table(city)
    np.testing.assert_allclose(table.p_late[: len(without.teams), :2], without.p_late, rtol=0, atol=1e-7)


def test_what_is_stated_holds_for_every_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Needs of one and of two trucks have engines of their own: the larger error counts, and one estimate is enough."""
    find = table_module.engine_for

    class Worse:
        """An engine whose errors are larger, and estimated."""

        proven = False

        def __init__(self, engine: Any) -> None:
            self.engine = engine

        def late(self, *given: Any) -> tuple[Any, float]:
            """As the engine has them."""
            late, error = self.engine.late(*given)
            return late, error + 0.25

        def means(self, *given: Any) -> tuple[Any, float]:
            """As the engine has them."""
            means, error = self.engine.means(*given)
            return means, error + 0.5

    city = generate_grid(side=3, num_stations=3, load=0.1, seed=1)
    city = replace(city, demand=tuple(replace(point, trucks=1 + n % 2) for n, point in enumerate(city.demand)))
    sure = response_table(city)
    assert sure.proven
    assert sure.late_error < 0.25
    for worse in (1, 2):
        monkeypatch.setattr(
            table_module, "engine_for",
            lambda travel, teams, needs, points, worse=worse: (
                Worse(find(travel, teams, needs, points)) if needs.trucks[points].max() == worse
                else find(travel, teams, needs, points)
            ),
        )  # fmt: skip
        table = response_table(city)
        assert not table.proven
        assert (table.late_error >= 0.25, table.minutes_error >= 0.5) == (True, True)


def test_progress_is_told(make_grid: Any) -> None:
    """The part that is done rises to 1."""
    parts: list[float] = []
    response_table(make_grid(4, [0, 15], driving=Driving("gamma", cv=0.5)), progress=parts.append)
    assert parts == sorted(parts)
    assert parts[-1] == 1.0
