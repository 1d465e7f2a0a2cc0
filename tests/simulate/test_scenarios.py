"""Tests of scenarios: each is the paper's model in its limit, agrees with what is known, and does what it says."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import runcard
from runcard.city import City, DemandPoint, Driving, Link, Node, Station, Turnout
from runcard.errors import InputError
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.rows import OrderRule
from runcard.simulate.engine import batch_key, simulate
from runcard.simulate.kernels.day import advance, begin
from runcard.simulate.model import build_model
from runcard.simulate.result import PolicyResult
from runcard.simulate.scenario import Scenario, read_scenario
from runcard.simulate.state import new_state

from .cases import holds, late_fractions, policies_of, records_of, scenario_of, small_city
from .reference_simpy import Department, closest_first

LOGNORMAL = Driving(model="lognormal", cv=0.8)


def street(
    minutes: Sequence[float],
    stations: Sequence[int],
    demand: Sequence[int],
    *,
    incidents_per_day: float = 1.0,
    **given: Any,
) -> City:
    """A street of links of these minutes, with trucks and demand points at some of its nodes."""
    trucks = given.pop("trucks", [1] * len(stations))
    return City(
        **{"name": "street", "busy_minutes": 60.0, "target_minutes": 5.0} | given,
        nodes=tuple(Node(f"n{place}", float(place), 0.0) for place in range(len(minutes) + 1)),
        links=tuple(Link(f"e{place}", f"n{place}", f"n{place + 1}", False, mean) for place, mean in enumerate(minutes)),
        stations=tuple(Station(f"s{i}", f"n{place}", trucks[i]) for i, place in enumerate(stations)),
        demand=tuple(DemandPoint(f"n{place}", incidents_per_day) for place in demand),
    )


CLOCKWORK = Driving(model="gamma", cv=0.0)
"""Driving times without randomness."""


def replayed(folder: Path, city: City, minutes: Sequence[float], text: str, point: str) -> np.ndarray:
    """The records of incidents at one demand point at these minutes of a Monday, in a scenario."""
    rows = [f"2024-01-01T{int(at) // 60:02d}:{int(at) % 60:02d}:{round(at % 1 * 60):02d},{point}" for at in minutes]
    (folder / "log.csv").write_text("time,node_id\n" + "\n".join(rows) + "\n")
    scenario = scenario_of(folder, text + '\n[replay]\nlog = "log.csv"\n')
    return records_of(city, policies_of(city), scenario, incidents=1)["closest-first"][: len(minutes)]


# What the exact solver says of the changed city


def exact_cases() -> dict[str, tuple[City, str]]:
    """Cities and scenarios whose late fraction the exact solver knows, because only arrivals are different."""
    city, paired = small_city(), small_city(num_stations=3, trucks_per_station=2)
    rng = np.random.default_rng(1)
    uneven = tuple(replace(link, mean_minutes=float(rng.uniform(0.5, 2.0))) for link in city.links)
    classes = tuple(
        replace(point, incidents_per_day=point.incidents_per_day / 2, **given)
        for point in city.demand
        for given in ({}, {"trucks": 1, "target_minutes": 0.7 * city.target_minutes})
    )
    coupled = Driving(model="hyperexponential", cv=1.5, coupled_branch="long")
    return {
        "traffic": (city, "traffic"),
        "turnout": (city, "turnout"),
        "traffic and turnout": (replace(city, shared_delay=1.0), "traffic+turnout"),
        "pareto": (city, 'driving = {model = "pareto", tail_index = 2.5}'),
        "hyperexponential": (city, 'driving = {model = "hyperexponential", cv = 2.0}'),
        "fixed part": (city, 'driving = {model = "gamma", cv = 0.5, fixed_part = 0.3}'),
        "other model": (replace(city, driving=LOGNORMAL), 'driving = {model = "exponential"}'),
        "shared delay": (city, "shared_delay = 0.0"),
        "coupled branch": (replace(city, driving=coupled, shared_delay=1.0), "paper"),
        "second routes": (replace(paired, driving=replace(paired.driving, second_route="disjoint")), "paper"),
        "uneven links": (replace(city, links=uneven), "paper"),
        "classes": (replace(city, demand=classes), "paper"),
        "both trucks count": (replace(city, arrivals_per_incident=2, shared_delay=1.0), "paper"),
        "shared turnout": (replace(paired, turnout=Turnout(1.0)), "paper"),
        "own turnout": (replace(paired, turnout=Turnout(1.0, "gamma", 0.5, shared=False)), "paper"),
    }


EXACT = exact_cases()


@pytest.mark.parametrize("name", EXACT)
def test_changed_arrivals_are_as_the_exact_solver_has_them(name: str, tmp_path: Path) -> None:
    """Where a scenario or a city changes only when trucks arrive, the solver's answer for that lies in the interval."""
    city, words = EXACT[name]
    scenario = scenario_of(tmp_path, words) if "=" in words else read_scenario(words)
    policy = policies_of(city)[0]
    result = simulate(city, [policy], scenario, incidents=100_000, threads=1).policies[0]
    changed = scenario.changed(city)
    # Handling the call takes as much from the target.
    problem = runcard.dispatch_problem(replace(changed, target_minutes=changed.target_minutes - scenario.call_minutes))
    exact = evaluate_rule(problem, OrderRule(policy.problem.order), threads=1)
    assert exact.mean_response_minutes is not None
    assert holds(late_fractions(result), exact.late_fraction)
    first_means = [batch.first_mean - scenario.call_minutes for batch in result.batches]
    if name != "pareto":  # whose variance is next to infinite
        assert holds(first_means, exact.mean_response_minutes)


# Limits


@pytest.mark.parametrize(
    "text",
    [
        "dispatch.turn_back = 0.0",
        "dispatch.redirect = false",
        'busy = {kind = "total", model = "exponential", mean_minutes = 60}',
        "out_of_service.breakdowns_per_year = 0",
        "out_of_service = {breakdowns_per_year = 1e-9, repair_hours = 1e-9}",
        "call.minutes = 0",
        "turnout.mean_minutes = 0",
        'driving = {model = "exponential", fixed_part = 0.0}',
        "shared_delay = 0.5",
        "shift = []",
    ],
)
def test_a_scenario_in_its_limit_is_the_papers_model(text: str, tmp_path: Path) -> None:
    """A scenario that changes nothing has the same records as the paper's model, bit for bit."""
    city = small_city(num_stations=3, trucks_per_station=2, load=0.4)
    policies = policies_of(city, ["closest-first", "optimal"])
    expected = records_of(city, policies, incidents=3_200)
    for name, records in records_of(city, policies, scenario_of(tmp_path, text), incidents=3_200).items():
        assert np.array_equal(records, expected[name])


@pytest.mark.parametrize(
    "given", [{"trucks_per_incident": 1}, {"arrivals_per_incident": 2, "shared_delay": 1.0}], ids=["one", "both"]
)
def test_nobody_turns_back_who_is_needed(given: dict[str, int]) -> None:
    """Where the truck that counts is the last one, turning back is the paper's model, bit for bit."""
    city = replace(small_city(), **given)
    policies = policies_of(city)
    expected = records_of(city, policies, incidents=1_600)["closest-first"]
    assert np.array_equal(records_of(city, policies, "turn-back", incidents=1_600)["closest-first"], expected)


@pytest.mark.parametrize("profile", ["by_hour_of_day = [" + "2," * 24 + "]", "by_hour_of_week = [" + "1," * 168 + "]"])
def test_even_rates_are_the_papers_model(profile: str, tmp_path: Path) -> None:
    """With a profile that is the same at every hour, each batch has the incidents of the paper's model."""
    city = small_city()
    policies = policies_of(city)
    batches: dict[str, list[np.ndarray]] = {"paper": [], "even": []}
    for name, scenario in (("paper", Scenario()), ("even", scenario_of(tmp_path, f"[rates]\n{profile}"))):
        kept = batches[name]
        simulate(
            city, policies, scenario, incidents=1_600, threads=1,
            keep_records=lambda *given, kept=kept: kept.append(given[2].copy()),
        )  # fmt: skip
    for paper, even in zip(batches["paper"], batches["even"], strict=True):
        both = min(len(paper), len(even))
        assert both >= 50
        assert np.array_equal(paper[:both], even[:both])


def test_no_swing_is_no_evening(tmp_path: Path) -> None:
    """The evening with a swing of 0 has the same rate at every hour, and with one of 1/2 half of its changes."""
    (tmp_path / "calm.toml").write_text("rates.swing = 0.0")
    assert set(read_scenario(f"evening+{tmp_path / 'calm.toml'}").rates) == {1.0}
    (tmp_path / "half.toml").write_text("rates.swing = 0.5")
    half, full = read_scenario(f"evening+{tmp_path / 'half.toml'}").rates, read_scenario("evening").rates
    assert np.array(half) - 1.0 == pytest.approx((np.array(full) - 1.0) / 2.0)


@pytest.mark.parametrize("back_factor", [0.0, 1.0])
def test_short_drives_there_and_back_are_the_papers_model(back_factor: float, tmp_path: Path) -> None:
    """Where drives take no time, busy in parts is busy in all: the same trucks go to the same incidents."""
    city = small_city(load=0.4, link_minutes=1e-9)
    policies = policies_of(city, ["closest-first", "optimal"])
    text = f'busy = {{kind = "parts", mean_minutes = 60.0, back_factor = {back_factor}}}'
    expected = records_of(city, policies, incidents=3_200)
    for name, records in records_of(city, policies, scenario_of(tmp_path, text), incidents=3_200).items():
        assert np.array_equal(records, expected[name])


def test_redirecting_trucks_that_are_home_at_once_changes_nothing(tmp_path: Path) -> None:
    """With a way home that takes no time, nobody is ever redirected."""
    city = small_city(load=0.4)
    policies = policies_of(city, ["closest-first", "optimal"])
    found = []
    for redirect in ("false", "true"):
        text = f'busy = {{kind = "parts", back_factor = 0.0}}\ndispatch.redirect = {redirect}'
        found.append(records_of(city, policies, scenario_of(tmp_path, text), incidents=3_200))
    for policy in policies:
        assert np.array_equal(found[0][policy.name], found[1][policy.name])


@pytest.mark.parametrize("model", ["gamma", "hyperexponential"])
def test_other_laws_of_variation_1_are_the_papers_model(model: str, tmp_path: Path) -> None:
    """Busy times of a gamma or hyperexponential law with a variation of 1 are exponential: the exact answer holds."""
    city = small_city(load=0.4)
    policy = policies_of(city)[0]
    scenario = scenario_of(tmp_path, f'busy = {{model = "{model}", cv = 1.0}}')
    result = simulate(city, [policy], scenario, incidents=100_000, threads=1).policies[0]
    assert holds(late_fractions(result), runcard.evaluate(policy, threads=1).late_fraction)


# Closed forms


@pytest.mark.parametrize(
    "text",
    [
        'busy = {model = "lognormal", cv = 1.5}',
        'busy = {model = "gamma", cv = 0.4}',
        'busy = {model = "fixed"}',
        'busy = {kind = "parts"}',
        'busy = {kind = "parts", model = "gamma", cv = 2.0}',
        'busy = {kind = "parts", model = "fixed", back_factor = 3.0}\nturnout.mean_minutes = 2.0\ncall.minutes = 1.0',
    ],
)
def test_a_lone_truck_is_lost_whatever_the_law(text: str, tmp_path: Path) -> None:
    """One truck is asked for in vain ρ/(1+ρ) of the time, by the mean of its busy time alone, however that is made."""
    city = street([1.0, 2.0], [0], [2], incidents_per_day=12.0, trucks_per_incident=1)
    result = simulate(city, policies_of(city), scenario_of(tmp_path, text), incidents=60_000, threads=1).policies[0]
    assert holds([batch.outside / batch.incidents for batch in result.batches], 0.5 / 1.5)
    assert holds([float(batch.busy_minutes[0] / batch.minutes) for batch in result.batches], 0.5 / 1.5)


def test_the_time_on_scene_has_some_room(tmp_path: Path) -> None:
    """Where drives take longer than trucks are busy, the time on scene is a tenth of the busy time."""
    city = street([40.0], [0], [1], incidents_per_day=12.0, trucks_per_incident=1)
    scenario = read_scenario("there-and-back")
    assert build_model(city, scenario, np.zeros(1, np.int64), None).busy_minutes == pytest.approx(6.0)
    city = street([20.0], [0], [1], incidents_per_day=12.0, trucks_per_incident=1)
    assert build_model(city, scenario, np.zeros(1, np.int64), None).busy_minutes == pytest.approx(20.0)


def busy_by_station(result: PolicyResult, i: int) -> list[float]:
    """The busy fraction of truck i, by batch."""
    return [float(batch.busy_minutes[i] / batch.minutes) for batch in result.batches]


@pytest.mark.slow
@pytest.mark.parametrize(("turn_back", "parts"), [(True, False), (False, True), (True, True)])
def test_simpy_agrees_on_turning_back_and_driving_home(turn_back: bool, parts: bool, tmp_path: Path) -> None:
    """SimPy, which lets trucks turn at the next node and drive home, finds the same arrivals and busy fractions."""
    city = small_city(load=0.3)
    text = f"dispatch.turn_back = {float(turn_back)}\n" + 'busy = {kind = "parts", mean_minutes = 30.0}' * parts
    department = Department(city, closest_first(city), 1, turn_back=turn_back, scene_minutes=30.0 if parts else None)
    others = department.run(num_batches=30, batch_incidents=500, warm_incidents=500)
    ours = simulate(city, policies_of(city), scenario_of(tmp_path, text), incidents=64_000, threads=1).policies[0]
    pairs = [
        (late_fractions(ours), others.late_fractions),
        ([batch.first_mean for batch in ours.batches], others.first_means),
        ([batch.last_mean for batch in ours.batches], others.last_means),
    ]
    pairs += [(busy_by_station(ours, i), [float(busy[i]) for busy in others.busy_fractions]) for i in range(4)]
    for one, other in pairs:
        assert stats.ttest_ind(one, other, equal_var=False).pvalue > 1e-3


# What a scenario does, by hand


def test_trucks_arrive_by_the_clock(tmp_path: Path) -> None:
    """Without randomness, the call, the turnout and the drive add up, for each truck and from outside."""
    city = street([1.0, 2.0, 4.0], [0, 3], [2], driving=CLOCKWORK, turnout=Turnout(0.5, "gamma", 0.0))
    text = 'call.minutes = 2.0\nbusy.model = "fixed"'
    records = replayed(tmp_path, city, [60.0, 70.0], text, "n2")
    assert records["first"].tolist() == pytest.approx([5.5, 2.5 + 4.0 * 7.0 / 3.0])
    assert records["last"].tolist() == pytest.approx([6.5, 2.5 + 4.0 * 7.0 / 3.0])
    assert records["late"].tolist() == [True, True]
    assert records["outside"].tolist() == [0, 2]


def test_a_truck_turns_back_at_the_next_node(tmp_path: Path) -> None:
    """The second truck turns where it is when the first has arrived: at the next node, and home from there."""
    # One truck is two minutes away; the other passes nodes after 1.5, 3 and 6 minutes.
    city = street([1.5, 1.5, 3.0, 2.0], [0, 4], [3], driving=CLOCKWORK, busy_minutes=10.0)
    text = 'dispatch.turn_back = 1.0\nbusy.model = "fixed"\n'
    # At two minutes it is on its second link, and home at six.
    records = replayed(tmp_path, city, [0.0, 5.9, 12.0, 18.1], text, "n3")
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


# What a scenario does, on average


def test_half_of_the_trucks_turn_back(tmp_path: Path) -> None:
    """With a chance of 1/2 half of the second trucks turn back, and with one of 1 all."""
    city = street([1.0, 2.0, 1.0], [0, 3], [1], incidents_per_day=0.1)
    for chance in (0.5, 1.0):
        scenario = scenario_of(tmp_path, f"dispatch.turn_back = {chance}")
        result = simulate(city, policies_of(city), scenario, incidents=6_400, threads=1).policies[0]
        assert result.turned_per_incident == pytest.approx(chance, abs=0.03)


def test_trucks_that_turn_back_are_busy_for_less_time() -> None:
    """Turning back leaves the incidents of the first truck as they are, but trucks are busy for less time."""
    city = small_city(load=0.3)
    policies = policies_of(city)
    paper, turned = (simulate(city, policies, name, incidents=16_000, threads=1) for name in ("paper", "turn-back"))
    assert turned.policies[0].busy_fractions.sum() < 0.75 * paper.policies[0].busy_fractions.sum()
    assert turned.policies[0].late_fraction.high < paper.policies[0].late_fraction.low
    assert turned.policies[0].minutes("last_mean").mean == pytest.approx(turned.policies[0].minutes("first_mean").mean)


def test_redirected_trucks_help() -> None:
    """Trucks that can be redirected leave fewer incidents to trucks from outside than those that drive home first."""
    city = small_city(load=0.3, busy_minutes=20.0)
    policies = policies_of(city)
    home, redirected = (
        simulate(city, policies, name, incidents=32_000, threads=1).policies[0]
        for name in ("there-and-back", "redirect")
    )
    assert redirected.outside_per_incident < 0.9 * home.outside_per_incident
    assert redirected.late_fraction.high < home.late_fraction.low


def test_trucks_are_out_of_service_as_long_as_said(tmp_path: Path) -> None:
    """Each truck is broken repair / (time between breakdowns + repair) of the time, from the first minute on."""
    city = small_city()
    scenario = scenario_of(tmp_path, "out_of_service = {breakdowns_per_year = 100, repair_hours = 30}")
    model = build_model(city, scenario, np.zeros(4, np.int64), None)
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
    result = simulate(city, policies_of(city), "breakdowns", incidents=3_200, threads=1).policies[0]
    counts = np.arange(5)
    idle = [float(batch.idle_minutes @ counts / batch.idle_minutes.sum()) for batch in result.batches]
    away = result.busy_fractions.sum()
    assert holds(idle, 4.0 * (1.0 - 18.0 * 25.6 / (8766.0 + 18.0 * 25.6)) - away)


def test_incidents_follow_the_hours(tmp_path: Path) -> None:
    """Incidents come as often at each hour as the evening's profile says, and as often in all as without it."""
    city = small_city()
    records = records_of(city, policies_of(city), "evening", incidents=20_000)["closest-first"]
    hours = np.bincount((records["minutes"] % 1440.0 // 60.0).astype(int), minlength=24)
    profile = np.array(read_scenario("evening").rates)
    assert profile.mean() == pytest.approx(1.0)
    assert stats.chisquare(hours, profile * len(records) / 24.0).pvalue > 1e-3
    assert len(records) == pytest.approx(20_000, rel=0.1)  # as near as whole weeks come
    found = simulate(city, policies_of(city), "evening", incidents=20_000, threads=1).policies[0]
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


def test_some_trucks_of_a_station_are_off(tmp_path: Path) -> None:
    """A station with one of its three trucks off has two left."""
    city = small_city(num_stations=2, trucks_per_station=3, load=0.02)
    text = '[[shift]]\nstation = "s0"\ntrucks = 1\noff_hours = [8, 16]\n[[shift]]\nstation = "s1"\noff_hours = [12, 20]'
    result = simulate(city, policies_of(city), scenario_of(tmp_path, text), incidents=2_000, threads=1).policies[0]
    expected = 6.0 - 2.0 * 8.0 / 24.0 - result.busy_fractions.sum()
    assert result.idle_chances @ np.arange(7) == pytest.approx(expected, abs=0.02)


def test_a_city_without_a_way_home_is_refused() -> None:
    """Where a one-way road leaves no way home, a scenario in which trucks drive home says so."""
    city = replace(
        street([1.0, 1.0], [0], [2], trucks_per_incident=1),
        links=(Link("e0", "n0", "n1", False, 1.0), Link("e1", "n1", "n2", True, 1.0)),
    )
    policies = policies_of(city)
    simulate(city, policies, "paper", incidents=10)
    for name in ("there-and-back", "turn-back"):
        with pytest.raises(InputError, match="expected a way home to station s0 from node n2, found none"):
            simulate(city, policies, name, incidents=10)
