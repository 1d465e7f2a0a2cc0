"""What scenarios do, by hand on a street without randomness and on average: tests of `kernels/day` and `drive`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from runcard.city import City, Link, Turnout
from runcard.errors import InputError
from runcard.simulate.engine import batch_key
from runcard.simulate.kernels.day import advance, begin
from runcard.simulate.model import build_model
from runcard.simulate.scenario import read_scenario
from runcard.simulate.state import new_state

from .cases import CLOCKWORK, holds, policies_of, records_of, scenario_of, simulated, small_city, street


def replayed(folder: Path, city: City, minutes: Sequence[float], text: str, point: str) -> np.ndarray:
    """The records of incidents at one demand point at these minutes of a Monday, in a scenario."""
    rows = [f"2024-01-01T{int(at) // 60:02d}:{int(at) % 60:02d}:{round(at % 1 * 60):02d},{point}" for at in minutes]
    (folder / "log.csv").write_text("time,node_id\n" + "\n".join(rows) + "\n")
    scenario = scenario_of(folder, text + '\n[replay]\nlog = "log.csv"\n')
    return records_of(city, policies_of(city), scenario, incidents=1)["closest-first"][: len(minutes)]


def test_trucks_arrive_by_the_clock(tmp_path: Path) -> None:
    """Without randomness, the call, the turnout and the drive add up, for each truck and from outside."""
    city = street([1.0, 2.0, 4.0], [0, 3], [2], driving=CLOCKWORK, turnout=Turnout(0.5, "gamma", 0.0))
    text = 'call.minutes = 2.0\nbusy.model = "fixed"'
    records = replayed(tmp_path, city, [60.0, 70.0], text, "n2")
    assert records["first"].tolist() == pytest.approx([5.5, 2.5 + 4.0 * 7.0 / 3.0])
    assert records["last"].tolist() == pytest.approx([6.5, 2.5 + 4.0 * 7.0 / 3.0])
    assert records["late"].tolist() == [True, True]
    assert records["outside"].tolist() == [0, 2]


@pytest.mark.parametrize(("target", "late"), [(5.1, False), (5.0999, True)])
def test_a_truck_that_is_there_at_the_target_is_in_time(target: float, late: bool) -> None:
    """As the chances of its team say, at whatever time it was sent: adding that up must not make it late."""
    city = street([1.7, 3.4], [0], [2], driving=CLOCKWORK, target_minutes=target, trucks_per_incident=1)
    (policy,) = policies_of(city)
    records = records_of(city, [policy], incidents=2_000)["closest-first"]
    assert policy.problem.cost[1, 0] == late
    assert (records["late"][records["outside"] == 0] == late).all()


def test_a_truck_turns_back_where_it_is(tmp_path: Path) -> None:
    """The second truck turns round when the first has arrived: to the node behind it, and home from there."""
    # One truck is two minutes away; the other passes nodes after 1.5, 3 and 6 minutes.
    city = street([1.5, 1.5, 3.0, 2.0], [0, 4], [3], driving=CLOCKWORK, busy_minutes=10.0)
    text = 'dispatch.turn_back = 1.0\nbusy.model = "fixed"\n'
    # At two minutes it is on its second link, back at the node at 2.5, and home at four.
    records = replayed(tmp_path, city, [0.0, 3.9, 12.0, 16.1], text, "n3")
    assert records["first"].tolist() == records["last"].tolist() == pytest.approx([2.0, 12.0, 2.0, 6.0])
    assert records["outside"].tolist() == [0, 2, 0, 1]
    assert records["turned"].tolist() == [1, 0, 1, 1]


def test_a_truck_that_has_not_left_does_not_leave(tmp_path: Path) -> None:
    """A truck that is still turning out when the first arrives is free at once."""
    city = street([1.0, 3.0], [0, 2], [0, 2], driving=CLOCKWORK, busy_minutes=50.0, turnout=Turnout(2.0, "gamma", 0.0))
    text = 'dispatch.turn_back = 1.0\nbusy.model = "fixed"\n'
    records = replayed(tmp_path, city, [0.0, 2.5], text, "n0")
    assert records["first"].tolist() == pytest.approx([2.0, 6.0])
    assert records["turned"].tolist() == [1, 1]
    assert records["outside"].tolist() == [0, 1]


def test_a_redirected_truck_goes_from_the_next_node(tmp_path: Path) -> None:
    """A truck on its way home goes on to the next node, and from there, without turnout, to the next incident."""
    city = street([1.0, 2.0], [0], [2], driving=CLOCKWORK, trucks_per_incident=1, turnout=Turnout(0.5, "gamma", 0.0))
    text = 'busy = {kind = "parts", model = "fixed", mean_minutes = 10.0}\ndispatch.redirect = true\n'
    # There after 3.5 minutes, free after 13.5, at the node on the way after 15.5, home after 16.5.
    for after, first in ((13.0, None), (14.5, 3.0), (16.0, 3.5), (17.0, 3.5)):
        records = replayed(tmp_path, city, [0.0, after], text, "n2")
        assert records["outside"].tolist() == [0, int(first is None)]
        if first is not None:
            assert records["first"].tolist() == pytest.approx([3.5, first])


def test_a_truck_at_home_goes_before_one_on_its_way_there(tmp_path: Path) -> None:
    """Of two trucks of a station that may both be sent, the one at home goes, with its turnout; then the other."""
    city = street([1.0, 2.0], [0], [2], trucks=[2], driving=CLOCKWORK, trucks_per_incident=1)
    city = replace(city, turnout=Turnout(0.5, "gamma", 0.0))
    text = 'busy = {kind = "parts", model = "fixed", mean_minutes = 10.0}\ndispatch.redirect = true\n'
    # Free after 13.5, at the node on the way after 15.5.
    records = replayed(tmp_path, city, [0.0, 14.5, 14.6], text, "n2")
    assert records["first"].tolist() == pytest.approx([3.5, 3.5, 2.9])


def test_the_way_home_takes_as_long_as_the_factor_says(tmp_path: Path) -> None:
    """Driving home takes its factor times the drive there, and the truck is busy until it is home."""
    city = street([1.0, 2.0], [0], [2], driving=CLOCKWORK, trucks_per_incident=1)
    text = 'busy = {kind = "parts", model = "fixed", mean_minutes = 10.0, back_factor = 2.0}\n'
    for after, outside in ((18.9, 1), (19.1, 0)):
        assert replayed(tmp_path, city, [0.0, after], text, "n2")["outside"].tolist() == [0, outside]


def test_trucks_of_a_station_turn_out_together_or_not(tmp_path: Path) -> None:
    """With a shared turnout two trucks of one station arrive together, with their own ones they do not."""
    for shared in (True, False):
        turnout = Turnout(1.0, shared=shared)
        city = street([1.0, 1.0], [0], [2], trucks=[2], driving=CLOCKWORK, turnout=turnout)
        records = replayed(tmp_path, city, [0.0, 500.0, 1000.0], "", "n2")
        assert ((records["last"] - records["first"] < 1e-9) == shared).all()


def test_half_of_the_trucks_turn_back(tmp_path: Path) -> None:
    """With a chance of 1/2 half of the second trucks turn back, and with one of 1 all."""
    city = street([1.0, 2.0, 1.0], [0, 3], [1], incidents_per_day=0.1)
    for chance in (0.5, 1.0):
        scenario = scenario_of(tmp_path, f"dispatch.turn_back = {chance}")
        result = simulated(city, policies_of(city), scenario, incidents=6_400).policies[0]
        assert result.turned_per_incident == pytest.approx(chance, abs=0.03)


def test_trucks_are_out_of_service_as_long_as_said(tmp_path: Path) -> None:
    """Each truck is broken repair / (time between breakdowns + repair) of the time, from the first minute on."""
    city = small_city()
    scenario = scenario_of(tmp_path, "out_of_service = {breakdowns_per_year = 100, repair_hours = 30}")
    model = build_model(city, scenario)
    down = 30.0 / (8766.0 / 100.0 + 30.0)
    broken = {0.0: 0, 600.0: 0, 20_000.0: 0}
    for number in range(1_000):
        state = new_state(model)
        begin(model, state, batch_key(1, number), 0.0)
        state.clock["next_time"], state.clock["next_point"] = np.inf, -1
        for minutes in broken:
            advance(model, state, minutes)
            broken[minutes] += int((state.trucks["out"] > 0).sum())
            assert state.idle.sum() == (state.trucks["out"] == 0).sum()
    for found in broken.values():
        assert found / 4_000 == pytest.approx(down, abs=4.0 * np.sqrt(down * (1.0 - down) / 4_000))


def test_the_built_in_breakdowns_take_out_a_twentieth() -> None:
    """Where hardly anything happens, 5 % of the trucks are not idle in the built-in scenario of breakdowns."""
    city = small_city(load=0.0005)
    result = simulated(city, policies_of(city), "breakdowns", incidents=3_200).policies[0]
    counts = np.arange(5)
    idle = [float(batch.idle_minutes @ counts / batch.idle_minutes.sum()) for batch in result.batches]
    away = result.busy_fractions.sum()
    assert holds(idle, 4.0 * (1.0 - 18.0 * 25.6 / (8766.0 + 18.0 * 25.6)) - away)


def test_incidents_follow_the_hours() -> None:
    """Incidents come as often at each hour as the evening's profile says, and as often in all as without it."""
    city = small_city()
    records = records_of(city, policies_of(city), "evening", incidents=20_000)["closest-first"]
    hours = np.bincount((records["minutes"] % 1440.0 // 60.0).astype(int), minlength=24)
    profile = np.array(read_scenario("evening").rates)
    assert profile.mean() == pytest.approx(1.0)
    assert stats.chisquare(hours, profile * len(records) / 24.0).pvalue > 1e-3
    assert len(records) == pytest.approx(20_000, rel=0.1)  # as near as whole weeks come
    found = simulated(city, policies_of(city), "evening", incidents=20_000).policies[0]
    weeks = np.array([batch.minutes / 10_080.0 for batch in found.batches])
    assert weeks == pytest.approx(np.round(weeks))
    assert found.num_incidents / (7.0 * weeks.sum()) == pytest.approx(city.incidents_per_day, rel=0.03)


def test_incidents_follow_the_hours_of_the_week(tmp_path: Path) -> None:
    """With a profile of the week that is 0 but on Sunday evening, every incident is on Sunday evening."""
    rates = [0] * 168
    rates[6 * 24 + 18 : 7 * 24] = [1] * 6
    scenario = scenario_of(tmp_path, f"rates.by_hour_of_week = {rates}")
    city = small_city(load=0.01)
    records = records_of(city, policies_of(city), scenario, incidents=1_000)["closest-first"]
    in_week = records["minutes"] % 10_080.0
    assert len(records) > 500
    assert in_week.min() >= (6 * 24 + 18) * 60
    assert np.quantile(in_week, 0.5) == pytest.approx((6 * 24 + 21) * 60, abs=20.0)


def test_nobody_is_sent_while_off(tmp_path: Path) -> None:
    """A truck is never sent during the hours that it is off, and is sent before and after."""
    city = small_city(load=0.3)
    text = (
        '[[shift]]\nstation = "s1"\noff_hours = [20, 6]\n[[shift]]\nstation = "s2"\noff_hours = [0, 24]\ndays = ["tue"]'
    )
    records = records_of(city, policies_of(city), scenario_of(tmp_path, text), incidents=20_000)["closest-first"]
    hours = records["minutes"] % 10_080.0 / 60.0
    of_day = hours[(records["stations"] == 1).any(axis=1)] % 24.0
    assert 6.0 <= of_day.min() < 6.3
    assert 19.7 < of_day.max() < 20.0
    of_week = hours[(records["stations"] == 2).any(axis=1)]
    assert not ((of_week >= 24.0) & (of_week < 48.0)).any()
    assert of_week.min() < 2.0
    assert of_week.max() > 166.0
    assert ((of_week > 23.0) & (of_week < 24.0)).any()
    assert ((of_week > 48.0) & (of_week < 49.0)).any()


def test_a_city_without_a_way_home_is_refused() -> None:
    """Where a one-way road leaves no way home, a scenario in which trucks drive home says so."""
    city = replace(
        street([1.0, 1.0], [0], [2], trucks_per_incident=1),
        links=(Link("e0", "n0", "n1", False, 1.0), Link("e1", "n1", "n2", True, 1.0)),
    )
    policies = policies_of(city)
    simulated(city, policies, "paper", incidents=10)
    for name in ("there-and-back", "turn-back"):
        with pytest.raises(InputError, match="expected a way home to station s0 from node n2, found none"):
            simulated(city, policies, name, incidents=10)


def test_the_way_home_has_a_law_of_its_own(tmp_path: Path) -> None:
    """Drives there are by the clock; with another law for the way home only when trucks are back differs, and as much
    as that law varies."""
    city = street([2.0, 3.0], [0], [2], incidents_per_day=0.5, driving=CLOCKWORK, trucks_per_incident=1)
    away = []
    for text in ("", 'back_model = "fixed"', 'back_model = "gamma"\nback_cv = 0.7'):
        scenario = scenario_of(tmp_path, f'[busy]\nkind = "parts"\nmodel = "fixed"\nmean_minutes = 10.0\n{text}')
        found = simulated(city, policies_of(city), scenario, incidents=32_000).policies[0]
        dispatches = np.array([batch.dispatches[0] for batch in found.batches])
        away.append(np.array([batch.busy_minutes[0] for batch in found.batches]) / dispatches)
        assert found.minutes("first_mean").value == pytest.approx(5.0 + 5.0 * found.outside_per_incident, rel=0.01)
    # There and back are five minutes each, and ten on scene.
    np.testing.assert_allclose(away[0], 20.0, rtol=1e-2)
    np.testing.assert_array_equal(away[0], away[1])
    assert away[2].mean() == pytest.approx(20.0, rel=5e-3)
    spread = 0.7 * np.sqrt(2.0**2 + 3.0**2)  # of two links, over a thousand drives in each batch
    assert away[2].std(ddof=1) == pytest.approx(spread / np.sqrt(1000.0), rel=0.5)
