"""A city in a scenario: the paper's model in its limit, in agreement with the exact solver, formulas and SimPy."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import runcard
from runcard.city import City, Driving, Turnout
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.rows import OrderRule
from runcard.simulate.model import build_model
from runcard.simulate.result import SimulatedPolicy
from runcard.simulate.scenario import Scenario, read_scenario

from .cases import holds, late_fractions, policies_of, records_of, scenario_of, simulated, small_city, street
from .reference_simpy import Department, closest_first

LOGNORMAL = Driving(model="lognormal", cv=0.8)
SCALED = Driving(model="gamma", scale_minutes=0.6)


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
    coupled = Driving("hyperexponential", cv=1.5, coupled_branch="long")
    unequal, pareto = replace(city, links=uneven), Driving("pareto", tail_index=2.5)
    of_three = replace(unequal, trucks_per_incident=3)
    return {
        "traffic": (city, "traffic"),
        "turnout": (city, "turnout"),
        "traffic and turnout": (replace(city, shared_delay=1.0), "traffic+turnout"),
        "pareto": (city, 'driving = {model = "pareto", tail_index = 2.5}'),
        "hyperexponential": (city, 'driving = {model = "hyperexponential", cv = 2.0}'),
        "fixed part": (city, 'driving = {model = "gamma", cv = 0.5, fixed_part = 0.3}'),
        "other model": (replace(city, driving=LOGNORMAL), 'driving = {model = "exponential"}'),
        "scale": (city, 'driving = {model = "gamma", scale_minutes = 0.7, fixed_part = 0.2}'),
        "another scale": (replace(city, driving=SCALED), "driving.scale_minutes = 1.5"),
        "no scale": (replace(city, driving=SCALED), "driving.cv = 0.9"),
        "scale, two of three": (
            replace(paired, trucks_per_incident=3, arrivals_per_incident=2, driving=SCALED, turnout=Turnout(0.6)),
            "paper",
        ),
        "scale, second routes": (replace(paired, driving=replace(SCALED, second_route="disjoint")), "paper"),
        "shared delay": (city, "shared_delay = 0.0"),
        "coupled branch": (replace(city, driving=coupled, shared_delay=1.0), "paper"),
        "second routes": (replace(paired, driving=replace(paired.driving, second_route="disjoint")), "paper"),
        "uneven links": (unequal, "paper"),
        "first of three, gamma": (replace(of_three, driving=Driving("gamma", cv=0.6)), "paper"),
        "second of three, lognormal": (replace(of_three, arrivals_per_incident=2, driving=LOGNORMAL), "paper"),
        "first of three, coupled": (replace(of_three, driving=coupled, shared_delay=1.0), "paper"),
        "third of four": (replace(unequal, trucks_per_incident=4, arrivals_per_incident=3), "paper"),
        "first of four, pareto": (
            replace(unequal, trucks_per_incident=4, driving=pareto, turnout=Turnout(0.8, "lognormal", 0.5)),
            "paper",
        ),
        "second of two, roads of their own": (
            replace(paired, arrivals_per_incident=2, driving=Driving("gamma", cv=0.6, second_route="disjoint")),
            "paper",
        ),
        "classes": (replace(city, demand=classes), "paper"),
        "both trucks count": (replace(city, arrivals_per_incident=2, shared_delay=1.0), "paper"),
        "two of three": (replace(paired, trucks_per_incident=3, arrivals_per_incident=2), "paper"),
        "shared turnout": (replace(paired, turnout=Turnout(1.0)), "paper"),
        "own turnout": (replace(paired, turnout=Turnout(1.0, "gamma", 0.5, shared=False)), "paper"),
    }


EXACT = exact_cases()


@pytest.mark.parametrize(
    "name", [name if "scale" in name else pytest.param(name, marks=pytest.mark.slow) for name in EXACT]
)
def test_changed_arrivals_are_as_the_exact_solver_has_them(name: str, tmp_path: Path) -> None:
    """Where a scenario or a city changes only when trucks arrive, the solver's answer for that lies in the interval."""
    city, words = EXACT[name]
    scenario = scenario_of(tmp_path, words) if "=" in words else read_scenario(words)
    policy = policies_of(city)[0]
    result = simulated(city, [policy], scenario, incidents=100_000).policies[0]
    changed = scenario.changed(city)
    # Handling the call takes as much from the target.
    problem = runcard.dispatch_problem(replace(changed, target_minutes=changed.target_minutes - scenario.call_minutes))
    exact = evaluate_rule(problem, OrderRule(policy.problem.order), threads=1)
    assert exact.mean_response_minutes is not None
    assert holds(late_fractions(result), exact.late_fraction)
    first_means = [batch.first_mean - scenario.call_minutes for batch in result.batches]
    if "pareto" not in name:  # whose variance is next to infinite
        assert holds(first_means, exact.mean_response_minutes)


# Limits


def assert_same_records(city: City, scenario: Scenario, other: Scenario | str = "paper") -> None:
    """Assert that the same trucks go to the same incidents in two scenarios, and arrive at the same times."""
    policies = policies_of(city, ["closest-first", "optimal"])
    found, expected = (records_of(city, policies, given, incidents=3_200) for given in (scenario, other))
    for name, records in found.items():
        for field in ("point", "stations", "late", "outside", "idle"):
            assert np.array_equal(records[field], expected[name][field])
        for field, off in (("first", 1e-6), ("last", 1e-6), ("minutes", 1e-3)):
            np.testing.assert_allclose(records[field], expected[name][field], rtol=0, atol=off)


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
    assert_same_records(city, scenario_of(tmp_path, text))


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
        simulated(
            city, policies, scenario, incidents=1_600, threads=1,
            keep_records=lambda *given, kept=kept: kept.append(given[2].copy()),
        )  # fmt: skip
    for paper, even in zip(batches["paper"], batches["even"], strict=True):
        # Both begin at the same time, but count from another incident on.
        shared = np.intersect1d(paper["last"], even["last"])
        assert len(shared) >= 20
        for records in (paper, even):
            kept = np.isin(records["last"], shared)
            assert np.array_equal(np.flatnonzero(kept), np.arange(kept.argmax(), kept.argmax() + len(shared)))
        fields = ["point", "stations", "first", "last", "late", "outside"]
        assert np.array_equal(*(one[np.isin(one["last"], shared)][fields] for one in (paper, even)))


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
    text = f'busy = {{kind = "parts", mean_minutes = 60.0, back_factor = {back_factor}}}'
    assert_same_records(small_city(load=0.4, link_minutes=1e-9), scenario_of(tmp_path, text))


def test_redirecting_trucks_that_are_home_at_once_changes_nothing(tmp_path: Path) -> None:
    """With a way home that takes no time, nobody is ever redirected."""
    text = 'busy = {kind = "parts", back_factor = 0.0}\ndispatch.redirect = '
    assert_same_records(small_city(load=0.4), *(scenario_of(tmp_path, text + word) for word in ("false", "true")))


@pytest.mark.parametrize("model", ["gamma", "hyperexponential"])
def test_other_laws_of_variation_1_are_the_papers_model(model: str, tmp_path: Path) -> None:
    """Busy times of a gamma or hyperexponential law with a variation of 1 are exponential: the exact answer holds."""
    city = small_city(load=0.4)
    policy = policies_of(city)[0]
    scenario = scenario_of(tmp_path, f'busy = {{model = "{model}", cv = 1.0}}')
    result = simulated(city, [policy], scenario, incidents=100_000).policies[0]
    assert holds(late_fractions(result), runcard.evaluate(policy, threads=1).late_fraction)


def test_a_longer_busy_time_is_that_of_a_city_that_has_it(tmp_path: Path) -> None:
    """A scenario with a longer busy time has the records of a city with it, bit for bit: it is warmed up as long."""
    city = small_city(load=0.02)
    policies = policies_of(city)
    longer = replace(city, busy_minutes=600.0)
    expected = records_of(longer, policies, incidents=640, other_city=True)["closest-first"]
    scenario = scenario_of(tmp_path, "busy.mean_minutes = 600")
    assert np.array_equal(records_of(city, policies, scenario, incidents=640)["closest-first"], expected)


# Closed forms


@pytest.mark.parametrize(
    "text",
    [
        "",
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
    result = simulated(city, policies_of(city), scenario_of(tmp_path, text), incidents=60_000, threads=1).policies[0]
    assert holds([batch.outside / batch.incidents for batch in result.batches], 0.5 / 1.5)
    assert holds([float(batch.busy_minutes[0] / batch.minutes) for batch in result.batches], 0.5 / 1.5)


def test_the_time_on_scene_has_some_room() -> None:
    """Where drives take longer than trucks are busy, the time on scene is a tenth of the busy time."""
    city = street([40.0], [0], [1], incidents_per_day=12.0, trucks_per_incident=1)
    scenario = read_scenario("there-and-back")
    assert build_model(city, scenario).points["busy_minutes"] == pytest.approx(6.0)
    city = street([20.0], [0], [1], incidents_per_day=12.0, trucks_per_incident=1)
    assert build_model(city, scenario).points["busy_minutes"] == pytest.approx(20.0)


def busy_by_station(result: SimulatedPolicy, i: int) -> list[float]:
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
    ours = simulated(city, policies_of(city), scenario_of(tmp_path, text), incidents=64_000, threads=1).policies[0]
    pairs = [
        (late_fractions(ours), others.late_fractions),
        ([batch.first_mean for batch in ours.batches], others.first_means),
        ([batch.last_mean for batch in ours.batches], others.last_means),
    ]
    pairs += [(busy_by_station(ours, i), [float(busy[i]) for busy in others.busy_fractions]) for i in range(4)]
    for one, other in pairs:
        assert stats.ttest_ind(one, other, equal_var=False).pvalue > 1e-3
