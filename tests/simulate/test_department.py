"""Departments of several kinds: each kind against the exact solver, and all together against a joint simulation."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.departments import grid_department
from tests.weeks import with_days_by_type

import runcard
from runcard.city import City, Outside, Turnout
from runcard.city.model import Standard, Unit
from runcard.errors import InputError
from runcard.mdp.problem import standard_measure
from runcard.policy.base import Policy
from runcard.simulate import engine
from runcard.simulate.engine import SimulationProgress, batch_key, possible_scenarios, simulate_plans
from runcard.simulate.model import build_model
from runcard.simulate.result import Simulation, ratio_interval
from runcard.simulate.scenario import Scenario, Shift, built_in_names, read_scenario

from .cases import (
    assert_same_batches,
    department_of,
    department_policies,
    department_records,
    holds,
    plan_by_kind,
    scenario_of,
    small_city,
    street,
)
from .joint import Outcome, play

KINDS = ("engine", "ladder")


def played(city: City, *names: str, **given: object) -> Simulation:
    """A department under some policies; closest-first and 64,000 incidents, if nothing else is said."""
    policies = department_policies(city, names or ("closest-first",))
    return simulate_plans(city, [*map(plan_by_kind, policies)], **{"incidents": 64_000, "threads": 1} | given)  # type: ignore[arg-type]


def exact_parts(city: City, policy: Mapping[str, Policy]) -> dict[Standard, float]:
    """The exact miss fraction of each standard among the incidents of its type, kind by kind."""
    found = {}
    for kind, one in policy.items():
        own, rates = city.of_kind(kind), one.problem.incidents_per_day
        for standard in own.standards:
            of_type = [point.type == standard.type for point in own.demand]
            number = [other for other in own.standards if other.type == standard.type].index(standard)
            table = np.where(of_type, one.problem.measures[standard_measure(number)], 0.0)
            mean = runcard.evaluate(one, measures={"own": table}, threads=1).measures["own"].mean
            found[standard] = mean * rates.sum() / rates[of_type].sum()
    return found


@pytest.mark.parametrize("name", ["closest-first", "optimal"])
def test_every_standard_is_missed_as_often_as_the_exact_solver_says(name: str) -> None:
    """With two kinds and three types, each standard, each kind and the weighted sum have their exact means."""
    city = department_of()
    (policy,) = department_policies(city, [name])
    found = simulate_plans(city, [plan_by_kind(policy)], incidents=200_000, threads=1)
    exact, rates = exact_parts(city, policy), dict.fromkeys(city.standards, 0.0)
    assert [standard for standard, _ in found.standards(0)] == list(city.standards)
    for kind in KINDS:
        result = found.kinds[kind].policies[0]
        counts = np.array([batch.standards for batch in result.batches], np.float64)
        for s, standard in enumerate(city.of_kind(kind).standards):
            interval = ratio_interval(counts[:, s, 1], counts[:, s, 0], 0.9999)
            assert interval.low < exact[standard] < interval.high, standard
            assert dict(found.standards(0))[standard].value == interval.value
            rates[standard] = sum(p.incidents_per_day for p in city.demand if p.type == standard.type)
        # The cost of the problem of a kind is the weighted sum per incident that needs the kind.
        cost = runcard.evaluate(policy[kind], threads=1).cost
        misses = result.misses
        interval = ratio_interval(misses.weights, misses.incidents, 0.9999)
        assert interval.low < cost < interval.high
        assert result.missed.value == interval.value
    total = sum(one.weight * exact[one] * rates[one] for one in city.standards) / city.incidents_per_day
    missed = found.missed(0)
    assert missed.low - missed.half < total < missed.high + missed.half
    assert missed.half < 0.02 * missed.value


@pytest.mark.parametrize("seed", [1, 2])
def test_kinds_one_after_another_are_kinds_together(seed: int) -> None:
    """A joint simulation in plain Python has the same incidents, teams, arrivals and missed standards, one by one."""
    city = department_of(
        seed,
        outside=Outside(links=5, link_minutes=1.5),
        turnout=Turnout(0.5),
        turnout_by_kind={"ladder": Turnout(1.5)},
    )
    longest = max(city.of_kind(kind).mean_busy_minutes for kind in city.kinds)
    warm = engine.WARM_BUSY_TIMES * longest
    before = engine.LEAST_WARM_INCIDENTS + ceil(warm * city.incidents_per_day / 1440.0)
    (policy,) = department_policies(city)
    outside = 0
    for number, kept in enumerate(department_records(city, policy, incidents=32 * 60, seed=seed)[:4]):
        outcomes = list(play(city, batch_key(seed, number), -warm, before + 60))
        began = next(one.minutes for one in outcomes if one.incident == before - 1)
        for kind in KINDS:
            expected = [one for one in outcomes if one.kind == kind and one.incident >= before]
            assert_same(city, kept[kind], expected, before, began)
            assert len(expected) > 20
            outside += int(kept[kind]["outside"].sum())
    assert outside > 0


def assert_same(city: City, records: NDArray[np.void], expected: list[Outcome], before: int, began: float) -> None:
    """Assert that the records of a kind are these outcomes."""
    assert records["incident"].tolist() == [one.incident - before for one in expected]
    assert records["point"].tolist() == [one.point for one in expected]
    np.testing.assert_allclose(records["minutes"], [one.minutes - began for one in expected], rtol=1e-9)
    sent = [sorted(i for i in row if i >= 0) for row in records["stations"].tolist()]
    assert sent == [one.stations for one in expected]
    assert records["outside"].tolist() == [len(one.arrivals) - len(one.stations) for one in expected]
    np.testing.assert_allclose(records["first"], [one.arrivals[0] for one in expected], rtol=1e-9)
    np.testing.assert_allclose(records["last"], [one.arrivals[-1] for one in expected], rtol=1e-9)
    weights = [sum(city.standards[n].weight for n in one.missed) for one in expected]
    np.testing.assert_allclose(records["missed"], weights)
    assert records["late"].tolist() == [bool(one.missed) for one in expected]


def split(city: City, of_type: str) -> City:
    """The same city, in which every second demand point of a type has another type with the same standards."""
    places = [j for j, point in enumerate(city.demand) if point.type == of_type]
    other = f"{of_type} too"
    demand = [replace(p, type=other) if j in places[::2] else p for j, p in enumerate(city.demand)]
    extra = tuple(replace(one, type=other) for one in city.standards if one.type == of_type)
    return replace(city, demand=tuple(demand), standards=(*city.standards, *extra))


def test_splitting_a_type_changes_nothing() -> None:
    """With half of the fires called otherwise, every batch is the same, and both types have the misses of the one."""
    city, seed = department_of(), 3
    one, two = (played(which, "closest-first", "optimal", seed=seed) for which in (city, split(city, "fire")))
    for number in range(2):
        assert one.missed(number).value == pytest.approx(two.missed(number).value, rel=1e-12)
        for kind in KINDS:
            left, right = (found.kinds[kind].policies[number] for found in (one, two))
            num = len(left.rules)
            for a, b in zip(left.batches, right.batches, strict=True):
                assert (a.late, a.incidents, a.outside, a.first_mean) == (b.late, b.incidents, b.outside, b.first_mean)
                merged = {rule: count.copy() for rule, count in zip(left.rules, b.standards[:num], strict=True)}
                for rule, count in zip(right.rules[num:], b.standards[num:], strict=True):
                    merged[replace(rule, type="fire")] += count
                assert np.array_equal(np.array(list(merged.values())), a.standards)


def test_a_kind_that_nobody_needs_changes_nothing() -> None:
    """With a boat, listed first, that no incident needs, the other kinds have the same batches, bit for bit."""
    city = department_of()
    with_boats = replace(
        city,
        units=(Unit("B1", "s1", "boat"), *city.units),
        busy_minutes={"boat": 500.0, "engine": 60.0, "ladder": 80.0},
    )
    assert with_boats.kinds == city.kinds == KINDS
    for scenario in ("paper", "redirect+turn-back+evening+breakdowns+turnout"):
        one, two = (played(which, scenario=scenario, incidents=3_200) for which in (city, with_boats))
        for kind in KINDS:
            assert_same_batches(one.kinds[kind].policies[0], two.kinds[kind].policies[0])
        assert one.missed(0).value == two.missed(0).value
        assert [rule for rule, _ in two.standards(0)] == list(city.standards)


def test_a_type_that_never_happens_is_not_told() -> None:
    """Standards of a kind that only incidents without any rate need are left out, and nothing else changes."""
    city = department_of()
    calm = replace(city.demand[4], type="flood", incidents_per_day=0.0)
    with_floods = replace(
        city,
        units=(Unit("B1", "s1", "boat"), *city.units),
        standards=(Standard("flood", "boat", 1, 1, 9.0), *city.standards),
        demand=(*city.demand[:4], calm, *city.demand[4:]),
        busy_minutes={"boat": 500.0, "engine": 60.0, "ladder": 80.0},
    )
    one, two = (played(which, incidents=3_200).standards(0) for which in (city, with_floods))
    assert one == two


def two_ends() -> City:
    """A street with four engines and four ladders at each end; fires at one end, medical calls at the other."""
    plain = street([0.5, 0.5, 8.0, 0.5, 0.5], [0, 5], [2, 3], incidents_per_day=3.0)
    kinds = [(kind, n, home) for kind in KINDS for home in ("s0", "s1") for n in range(4)]
    return replace(
        plain,
        target_minutes=None,
        busy_minutes={"engine": 20.0, "ladder": 30.0},
        units=tuple(Unit(f"{kind}{n} of {home}", home, kind) for kind, n, home in kinds),
        standards=(
            Standard("fire", "engine", 2, 1, 3.0, busy_minutes=50.0),
            Standard("fire", "ladder", 1, 1, 3.0),
            Standard("medical", "engine", 1, 1, 3.0),
            Standard("medical", "ladder", 1, 1, 3.0, busy_minutes=10.0),
        ),
        demand=tuple(replace(p, type=one) for p, one in zip(plain.demand, ("fire", "medical"), strict=True)),
    )


@pytest.mark.parametrize("parts", [False, True])
def test_busy_times_by_type_are_as_littles_law_says(parts: bool) -> None:
    """The mean number of busy units at each end is the rate times the units sent times the minutes of its type."""
    city, ends = two_ends(), np.repeat([0, 1], 4)
    expected = {"engine": (2 * 50.0, 20.0), "ladder": (30.0, 10.0)}
    one_mean = {kind: city.of_kind(kind).mean_busy_minutes for kind in KINDS}
    assert one_mean == {"engine": pytest.approx(40.0), "ladder": pytest.approx(20.0)}
    for scenario in ("busy-by-type+there-and-back", "there-and-back") if parts else ("busy-by-type", "paper"):
        found = played(city, scenario=scenario)
        for kind in KINDS:
            sent = (2.0, 1.0) if kind == "engine" else (1.0, 1.0)
            for end in range(2):
                minutes = expected[kind][end]
                if "by-type" not in scenario:
                    minutes = sent[end] * one_mean[kind]
                batches = found.kinds[kind].policies[0].batches
                busy = [float(batch.busy_minutes[ends == end].sum() / batch.minutes) for batch in batches]
                assert holds(busy, 3.0 * minutes / 1440.0)


def test_means_by_type_are_those_of_the_table() -> None:
    """A type without minutes of its own has those of the kind, and what does not need the kind has none."""
    city, scenario = department_of(busy_minutes={"engine": 10.0, "ladder": 15.0}), read_scenario("busy-by-type")
    types = [point.type for point in city.demand]
    for kind, expected in (("engine", (90.0, 10.0, 40.0)), ("ladder", (15.0, 20.0, 0.0))):
        means = build_model(city, scenario, kind).points["busy_minutes"].tolist()
        assert set(zip(types, means, strict=True)) == set(zip(("fire", "alarm", "medical"), expected, strict=True))


def test_busy_times_by_type_need_a_table_that_has_some() -> None:
    """Every other built-in scenario is possible in a plain city; this one says what it lacks."""
    scenarios = [read_scenario(name) for name in built_in_names()]
    possible, others = possible_scenarios(small_city(), scenarios)
    assert len(possible) == len(scenarios) - 1
    name = small_city().name
    sentence = f"expected busy_minutes in incident_type.csv of {name} with busy.by_type, got none"
    assert others == [("busy-by-type", f"scenario busy-by-type: {sentence}")]
    assert possible_scenarios(department_of(), scenarios) == (scenarios, [])


@pytest.mark.parametrize("scenario", built_in_names())
def test_every_scenario_runs_for_every_kind(scenario: str) -> None:
    """Every built-in scenario gives the same incidents to all kinds, and counts every minute once."""
    found = played(department_of(), "closest-first", "optimal", scenario=scenario, incidents=1_600)
    batches = {kind: found.kinds[kind].policies[1].batches for kind in KINDS}
    for engines, ladders in zip(*batches.values(), strict=True):
        assert (engines.of_city, engines.minutes) == (ladders.of_city, ladders.minutes)
        for batch in (engines, ladders):
            assert batch.idle_minutes.sum() == pytest.approx(batch.minutes)
            assert int(batch.standards[:, 0].max()) <= batch.incidents <= batch.of_city
    assert found.missed(0).low < found.missed(0).value < found.missed(0).high


def test_trucks_turn_back_when_all_that_count_are_there() -> None:
    """Two of two engines count for a fire, so that nobody turns back; with the first alone, the second does."""
    city = department_of()
    assert sum(batch.turned for batch in played(city, scenario="turn-back").kinds["engine"].policies[0].batches) == 0
    first = replace(city, standards=tuple(one for one in city.standards if one.arrivals == 1))
    found = played(first, scenario="turn-back", incidents=6_400).kinds
    assert found["engine"].policies[0].turned_per_incident > 0.1
    assert found["ladder"].policies[0].turned_per_incident == 0.0


def test_turnout_and_driving_change_for_every_kind(tmp_path: Path) -> None:
    """A scenario changes the turnout of kinds that have one of their own as well, whatever is narrowed first."""
    city = department_of(turnout=Turnout(0.5), turnout_by_kind={"ladder": Turnout(2.0, "gamma", 0.3)})
    slow = read_scenario("turnout+traffic")
    for kind in KINDS:
        changed = slow.changed(city).of_kind(kind)
        assert changed == slow.changed(city.of_kind(kind))
        assert changed.turnout == Turnout(1.333, "lognormal", 0.4)
        assert changed.driving.model == "lognormal"
    alone = scenario_of(tmp_path, "turnout.shared = false")
    assert [alone.changed(city).of_kind(kind).turnout for kind in KINDS] == [
        Turnout(0.5, shared=False),
        Turnout(2.0, "gamma", 0.3, shared=False),
    ]
    own = department_of(turnout_by_kind={"engine": Turnout(1.0), "ladder": Turnout(2.0)})
    varied = scenario_of(tmp_path, "turnout = {model = 'gamma', cv = 0.5, shared = true}")
    assert [varied.changed(own).of_kind(kind).turnout.mean_minutes for kind in KINDS] == [1.0, 2.0]
    with pytest.raises(InputError, match=r"expected turnout.mean_minutes > 0 with turnout.shared, got 0"):
        alone.changed(department_of(turnout_by_kind={"engine": Turnout(1.0)}))


def test_a_department_is_as_precise_as_asked_for() -> None:
    """Batches are added until the weighted misses of every policy are that narrow, and progress says so."""
    seen: list[SimulationProgress] = []
    found = played(department_of(), "closest-first", "optimal", incidents=None, precision=0.05, progress=seen.append)
    assert found.precise
    widths = [found.missed(number).half / found.missed(number).value for number in range(2)]
    assert max(widths) <= 0.05
    assert seen[-1].part == 1.0
    assert seen[-1].precision == pytest.approx(max(widths))


def test_differences_are_over_all_kinds() -> None:
    """The gain of a policy is that of the weighted sums of all kinds, paired by batch, and lies where it must."""
    city = department_of()
    policies = department_policies(city, ["closest-first", "optimal"])
    mixed = {"engine": policies[1]["engine"], "ladder": policies[0]["ladder"]}
    found = simulate_plans(city, [*map(plan_by_kind, [*policies, mixed])], incidents=64_000, threads=1)
    assert found.names == ("closest-first", "optimal", "optimal and closest-first")
    missed = [found.missed(number) for number in range(3)]
    assert found.fewer_missed(1).value == pytest.approx(missed[0].value - missed[1].value)
    assert found.improvement(1).value == pytest.approx(1.0 - missed[1].value / missed[0].value)
    assert found.fewer_missed(1).half < np.hypot(missed[0].half, missed[1].half)
    assert found.improvement(0).value == found.improvement(0).half == 0.0
    parts = [found.kinds[kind].policies[2].misses.weights.sum() for kind in KINDS]
    assert missed[2].value == pytest.approx(sum(parts) / found.num_incidents)
    assert_same_batches(found.kinds["ladder"].policies[2], found.kinds["ladder"].policies[0])
    assert_same_batches(found.kinds["engine"].policies[2], found.kinds["engine"].policies[1])
    rates = {p.type: 0.0 for p in city.demand}
    for point in city.demand:
        rates[point.type] += point.incidents_per_day
    by_standard = sum(one.weight * part.value * rates[one.type] for one, part in found.standards(0))
    assert by_standard / city.incidents_per_day == pytest.approx(missed[0].value, rel=0.02)


def test_threads_and_asking_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads, and policies that are asked one by one, give the same batches at the rates of every hour, bit for bit.

    Another seed gives others.
    """
    monkeypatch.setattr(engine, "NUM_BATCHES", 2)
    city = with_days_by_type(department_of(), ("fire", "alarm", "medical"))
    plans = [runcard.solve(city, name, threads=1) for name in ("closest-first", "optimal")]
    scenario = "redirect+turn-back+breakdowns"
    one, two, other = (
        simulate_plans(city, plans, scenario, incidents=256, threads=threads, seed=seed)
        for threads, seed in ((1, 1), (2, 1), (1, 2))
    )
    monkeypatch.setattr(engine, "fleet_rule", lambda fleet, decisions: None)
    asked = simulate_plans(city, plans, scenario, incidents=256)
    for kind in KINDS:
        for number in range(2):
            assert_same_batches(one.kinds[kind].policies[number], two.kinds[kind].policies[number])
            assert_same_batches(one.kinds[kind].policies[number], asked.kinds[kind].policies[number])
    assert one.missed(0) != other.missed(0)


def test_units_are_named_in_the_order_of_their_stations() -> None:
    """Each kind knows its units and their stations: the trucks of a station in the order of the roster."""
    found = played(department_of(), incidents=320).kinds
    assert found["engine"].units == ("E1", "E5", "E2", "E3", "E4")
    assert found["engine"].station_of == ("s0", "s0", "s1", "s2", "s3")
    assert found["ladder"].units == ("T2", "T1")
    assert found["ladder"].station_of == ("s0", "s2")
    assert len(found["ladder"].policies[0].busy_fractions) == 2


def test_decisions_are_expected_by_kind() -> None:
    """A kind that few incidents need has as many fewer decisions to be made."""
    city, heard = department_of(), list[str]()
    engines, ladders = (engine.expected_decisions(city, 1000, None, kind) for kind in KINDS)
    part = city.of_kind("ladder").incidents_per_day / city.incidents_per_day
    assert ladders == pytest.approx(part * engines)
    (policy,) = department_policies(city)
    engine.prepare_policies(city, [policy["ladder"]], kind="ladder", incidents=10, begin=heard.append)
    assert heard == ["closest-first in every state of ladder"]


def test_a_shift_of_one_kind_is_simulated_in_whole_weeks() -> None:
    """A ladder that is off at night is off a third of the time, though the engines have no shifts."""
    city = grid_department(side=4, engines=4, ladders=2)
    nights = tuple(Shift(None, 22.0 + 24.0 * day, 8.0, unit="T01") for day in range(7))
    scenario = Scenario(name="nights", title="Nights", shifts=nights)
    found = played(city, scenario=scenario, incidents=20_000).kinds["ladder"].policies[0]
    assert sum(batch.minutes for batch in found.batches) % 10080.0 == pytest.approx(0.0, abs=1e-6)
    assert found.idle_chances[2] < 2.0 / 3.0 + 0.01  # both are never idle at night
