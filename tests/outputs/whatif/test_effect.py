"""What changes change: against fresh comparisons, against reason, and against a simulation."""

from dataclasses import replace
from functools import cache
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from tests.departments import random_department
from tests.town import plain_town
from tests.weeks import with_days

from runcard.assess.exact import assess_exactly
from runcard.assess.work_changes import work_of
from runcard.city import City, Objective, demo_city, generate_grid, read_city, write_city
from runcard.city.model import DAYS_PER_YEAR
from runcard.errors import InputError
from runcard.outputs.whatif.changes import Add, CityChange, Close, Load, Move, Remove, apply_changes
from runcard.outputs.whatif.effect import find_effect
from runcard.outputs.whatif.layers import map_data
from runcard.outputs.whatif.outside import city_to_write
from runcard.outputs.whatif.page import losing_and_gaining
from runcard.outputs.whatif.result import Effect
from runcard.outputs.whatif.words import headline
from runcard.policy.solve_options import DEFAULTS


def test_before_and_after_are_what_compare_says_of_both_cities(tmp_path: Path) -> None:
    """The changed city, written and read again: every standard, the sum, minutes and busy units, and proven bounds."""
    city = demo_city()
    changes: list[CityChange] = [Move("E01", "old-a4"), Close("quayside"), Add("ladder", "eastgate"), Load(1.3)]
    effect = find_effect(city, changes)
    written = read_city(write_city(city_to_write(city, apply_changes(city, changes)), tmp_path / "city"))
    fresh = [assess_exactly(one, ["optimal", "closest-first"]) for one in (city, written)]
    for number in (0, 1):
        before, after = (one.outcomes[number] for one in fresh)
        found = effect.policies[number].missed
        assert (found.before.value, found.after.value) == pytest.approx(
            (before.missed.value, after.missed.value), rel=1e-8
        )
        assert found.difference.low <= after.missed.high - before.missed.low
        assert found.difference.high >= after.missed.low - before.missed.high
        assert found.difference.high - found.difference.low < 1e-7
        per_day = [one.missed.value * one.city.incidents_per_day for one in (before, after)]
        assert effect.per_year(number).difference.value == pytest.approx(DAYS_PER_YEAR * (per_day[1] - per_day[0]))
        for one, old, new in zip(effect.policies[number].standards, before.standards, after.standards, strict=True):
            assert one.standard == old.standard == new.standard
            assert one.missed is not None
            assert (one.missed.before.value, one.missed.after.value) == pytest.approx(
                (old.missed.value, new.missed.value)
            )
            assert one.minutes is not None
            assert (one.minutes.before.value, one.minutes.after.value) == pytest.approx((old.minutes, new.minutes))
    for kind, own in effect.kinds.items():
        results = [one.first.fleets[kind].evaluation for one in fresh]
        minutes = own.first_minutes
        assert minutes.before.value == pytest.approx(results[0].mean_response_minutes)
        assert minutes.after.value == pytest.approx(results[1].mean_response_minutes)
        busy = dict(zip(fresh[1].first.fleets[kind].problem.station_ids, results[1].busy_fractions, strict=True))
        for unit in work_of(kind, own):
            assert unit.station_after is None or unit.busy_after == pytest.approx(busy[unit.station_after])


def test_a_plain_city_is_compared_by_its_late_fraction(tmp_path: Path) -> None:
    """A truck that moves in a city without a roster, against a fresh comparison of the city written and read."""
    city = plain_town()
    node = next(point.node_id for point in city.demand if point.node_id not in {one.node_id for one in city.stations})
    changes = [Move(city.stations[0].station_id, node)]
    effect = find_effect(city, changes)
    written = read_city(write_city(city_to_write(city, apply_changes(city, changes)), tmp_path / "city"))
    fresh = assess_exactly(written, ["optimal"]).fleets[0].evaluation
    assert effect.policies[0].missed.after.value == pytest.approx(fresh.late_fraction, rel=1e-8)
    assert effect.policies[0].first_minutes.after.value == pytest.approx(fresh.mean_response_minutes)
    assert isnan(effect.policies[0].first_minutes.after.low)
    assert effect.exact
    (standard,) = effect.policies[0].standards
    assert standard.missed == effect.policies[0].missed


def test_a_kind_that_does_not_change_is_not_solved_again() -> None:
    """Its difference is exactly 0, and the sum changes by the other kind alone."""
    effect = find_effect(demo_city(), [Remove("E06")])
    engine, ladder = effect.kinds["engine"], effect.kinds["ladder"]
    assert (engine.changed, ladder.changed) == (True, False)
    assert ladder.before is ladder.after
    nothing = ladder.missed
    assert nothing.before == nothing.after
    assert (nothing.difference.low, nothing.difference.high) == (0.0, 0.0)
    share = engine.before.city.incidents_per_day / effect.before.incidents_per_day
    assert effect.policies[0].missed.difference.value == pytest.approx(share * engine.missed.difference.value)


@pytest.mark.parametrize("seed", range(6))
def test_a_unit_less_never_helps_and_one_more_never_hurts(seed: int) -> None:
    """Of the optimum, in random departments of two kinds: whichever station closes, wherever a unit comes."""
    city, rng = random_department(seed), np.random.default_rng(seed)
    more = Add(str(rng.choice(["engine", "ladder"])), str(rng.choice([node.node_id for node in city.nodes])))
    gained = find_effect(city, [more]).policies[0].missed.difference
    assert gained.low <= 0.0
    assert gained.value <= 1e-9
    for station in city.stations:
        left = {unit.kind for unit in city.units if unit.station_id != station.station_id}
        if left < set(city.kinds):  # the last unit of a kind
            with pytest.raises(InputError, match="to be left"):
                find_effect(city, [Close(station.station_id)])
            continue
        lost = find_effect(city, [Close(station.station_id)]).policies[0].missed.difference
        assert lost.high >= 0.0
        assert lost.value >= -1e-9


def with_classes() -> City:
    """A town without standards, with incidents of three classes."""
    city = plain_town()
    slow = (replace(point, trucks=2, arrivals=2, target_minutes=9.0) for point in city.demand[::2])
    quick = (replace(point, trucks=1, arrivals=1, target_minutes=3.0) for point in city.demand[1::2])
    return replace(city, demand=(*city.demand, *slow, *quick))


def test_every_class_has_a_proven_interval_and_its_minutes() -> None:
    """Exactly, where the city has no standards; a simulation agrees, and the late fraction is their mean."""
    city, changes = with_classes(), [Load(1.5)]
    exact, simulated = find_effect(city, changes), find_effect(city, changes, incidents=30_000)
    assert len(exact.policies[0].standards) == 3
    for one, other in zip(exact.policies[0].standards, simulated.policies[0].standards, strict=True):
        assert one.missed is not None
        assert other.missed is not None
        assert one.missed.difference.low <= one.missed.difference.value <= one.missed.difference.high
        assert one.missed.difference.half < 1e-6
        assert abs(one.missed.difference.value - other.missed.difference.value) <= 3.0 * other.missed.difference.half
        assert one.minutes is not None
        assert other.minutes is not None
        assert one.minutes.after.value == pytest.approx(other.minutes.after.value, rel=0.02)
    rates = [
        sum(point.incidents_per_day for point in city.demand if city.rule_of(point) == one.standard.rule)
        for one in exact.policies[0].standards
    ]
    parts = [
        rate * one.missed.before.value
        for rate, one in zip(rates, exact.policies[0].standards, strict=True)
        if one.missed
    ]
    assert sum(parts) / sum(rates) == pytest.approx(exact.policies[0].missed.before.value)


def test_outside_help_is_no_slower_because_of_a_far_new_station() -> None:
    """A city that does not say how far outside is: a truck more at its far end does no harm, though all are busy."""
    city = generate_grid(side=6, num_stations=2, load=3.0, seed=3, gamma=1.0)
    middle = min(city.nodes, key=lambda node: abs(node.x_coord - 2.5) + abs(node.y_coord - 2.5)).node_id
    changes: list[CityChange] = [Move(one.station_id, middle) for one in city.stations if one.node_id != middle]
    central = apply_changes(city, changes)
    corner = max(central.nodes, key=lambda node: abs(node.x_coord - 2.5) + abs(node.y_coord - 2.5)).node_id
    assert find_effect(central, [Add("truck", corner)]).policies[0].missed.difference.value <= 1e-9


def _areas_add_up(effect: Effect, rel: float) -> None:
    rates = sum(area.incidents_after for area in effect.areas)
    for when in ("before", "after"):
        total = sum(getattr(area, f"missed_{when}") * area.incidents_after for area in effect.areas) / rates
        assert total == pytest.approx(getattr(effect.policies[0].missed, when).value, rel=rel)


def test_areas_add_up_to_the_city() -> None:
    """Weighed by their incidents, what areas miss is what the city misses, and in a year they add up, too."""
    effect = find_effect(demo_city(), [Close("quayside"), Load(1.2)])
    _areas_add_up(effect, 1e-7)
    total = sum(area.per_year.value for area in effect.areas)
    assert total == pytest.approx(effect.per_year(0).difference.value, rel=1e-6)
    ranked = [area.per_year.value for area in effect.ranked_areas()]
    assert ranked == sorted(ranked, reverse=True)


@cache
def effect_of(case: int, incidents: int | None = None, seed: int = 1) -> Effect:
    """The effect of one of the cases below, found once: exact, or simulated with so many incidents."""
    city, changes = SIMULATED[case]
    return find_effect(city, changes, incidents=incidents, seed=seed)


SIMULATED: list[tuple[City, list[CityChange]]] = [
    (demo_city(), [Close("quayside")]),
    (demo_city(), [Add("engine", "old-a4"), Move("T01", "westend")]),
    (generate_grid(side=5, num_stations=5, load=0.3, seed=4), [Load(1.2)]),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(SIMULATED)))
def test_a_simulated_effect_agrees_with_the_exact_one(case: int) -> None:
    """Over three seeds: differences of the sum and of minutes lie in their intervals, but for one of twenty-odd."""
    exact, outside = effect_of(case), 0
    for seed in (1, 2, 3):
        found = effect_of(case, 30_000, seed)
        assert not found.exact
        for number in (0, 1):
            ends = [
                (effect.policies[number].missed, effect.per_year(number), effect.policies[number].first_minutes)
                for effect in (found, exact)
            ]
            for change, expected in zip(*ends, strict=True):
                inside, truth = change.difference, expected.difference.value
                outside += not inside.low <= truth <= inside.high
                assert abs(inside.value - truth) < 3.0 * inside.half
        for one, other in zip(found.policies[0].standards, exact.policies[0].standards, strict=True):
            assert one.missed is not None
            assert other.missed is not None
            assert abs(one.missed.difference.value - other.missed.difference.value) <= 3.0 * one.missed.difference.half
    assert outside <= 3
    _areas_add_up(found, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(SIMULATED)))
@pytest.mark.parametrize("incidents", [5_000, 30_000])
def test_intervals_of_areas_hold_the_exact_changes(case: int, incidents: int) -> None:
    """Nine in ten or more over three seeds, per incident and in a year; what is calculated has no width."""
    exact = {area.node_id: area for area in effect_of(case).areas}
    inside, in_a_year = [], []
    areas = [area for seed in (1, 2, 3) for area in effect_of(case, incidents, seed).areas]
    for area in areas:
        truth = exact[area.node_id]
        assert truth.more_missed.half == truth.per_year.half == 0.0
        if np.isfinite(area.more_missed.half):
            inside.append(area.more_missed.low <= truth.more_missed.value <= area.more_missed.high)
            in_a_year.append(area.per_year.low <= truth.per_year.value <= area.per_year.high)
    assert len(inside) >= 60
    assert min(np.mean(inside), np.mean(in_a_year)) >= 0.9  # areas share their noise, so they miss together


def test_areas_whose_change_may_be_noise_are_not_listed() -> None:
    """In a short simulation few areas have a clear change; those that are seen too seldom have none, and say so."""
    effect = find_effect(demo_city(), [Add("engine", "old-a4")], incidents=1_000)
    losers, gainers = losing_and_gaining(effect, 1000)
    assert all(area.is_clear for area in (*losers, *gainers))
    unclear = [area for area in effect.areas if not area.is_clear and abs(area.more_missed.value) > 2e-3]
    assert unclear
    labels = map_data(effect)["layers"][0]["areas"]
    assert all(labels[area.node_id]["lines"][-1].startswith("no clear change") for area in unclear)
    seldom = [area for area in effect.areas if np.isinf(area.more_missed.half)]
    assert seldom
    assert all(area.document()["more_missed_per_year_low"] is None for area in seldom)


@pytest.mark.parametrize("change", [Remove("E06"), Add("engine", "old-a4"), Load(1.1)], ids=str)
def test_common_draws_make_the_interval_of_a_difference_narrow(change: CityChange) -> None:
    """Half as wide as that of two runs with nothing in common, and a quarter of what counting misses would give."""
    incidents = 30_000
    effect = find_effect(demo_city(), [change], incidents=incidents).kinds["engine"]
    missed = effect.missed
    assert 2.0 * missed.difference.half < np.hypot(missed.before.half, missed.after.half)
    chance = missed.after.value
    counted = 1.96 * np.sqrt(2.0 * chance * (1.0 - chance) / incidents)
    assert 4.0 * missed.difference.half < counted


def test_the_same_seed_gives_the_same_effect() -> None:
    """Whatever the number of threads; another seed gives another one."""
    changes = [Close("quayside")]
    found = [
        find_effect(demo_city(), changes, incidents=2_000, seed=seed, options=replace(DEFAULTS, threads=threads))
        for seed, threads in ((7, 1), (7, 3), (8, 1))
    ]
    assert found[0].policies[0].missed == found[1].policies[0].missed
    assert found[0].policies[0].missed != found[2].policies[0].missed


def test_a_policy_can_be_named_and_a_period_chosen() -> None:
    """Its name stands in the effect; in a city with periods the rates are the means of the week, or of a period."""
    effect = find_effect(demo_city(), [Remove("E06")], policy="OSI")
    assert [policy.name for policy in effect.policies] == ["one-step", "closest-first"]
    week = with_days(demo_city())
    name = week.periods[0].name
    found = [find_effect(week, [Remove("E06")], period=period) for period in (None, name)]
    assert found[0].notes[-1] == "Rates are the means of the week."
    assert found[1].notes[-1].startswith(f"Rates are those of {name}, and of a year only its hours count: ")
    assert found[1].before.incidents_per_day == pytest.approx(week.in_period(name).incidents_per_day)


def test_a_year_of_a_period_has_only_its_hours() -> None:
    """That part of a year that it has of a week; and the incidents of all periods make those of a year."""
    week, incidents = with_days(plain_town()), 0.0
    for period in week.periods:
        effect = find_effect(week, [Load(1.5)], period=period.name)
        rate, missed = effect.before.incidents_per_day, effect.policies[0].missed
        year = rate * DAYS_PER_YEAR * len(period.hours) / 168
        assert effect.per_year(0).before.value == pytest.approx(year * missed.before.value)
        assert sum(area.per_year.value for area in effect.areas) == pytest.approx(effect.per_year(0).difference.value)
        assert f"more late incidents in the hours of {period.name}, a year" in headline(effect)
        assert effect.document()["period"] == period.name
        incidents += year
    assert incidents == pytest.approx(DAYS_PER_YEAR * week.incidents_per_day)


@pytest.mark.usefixtures("coarse_values")
@pytest.mark.slow
def test_a_large_department_is_simulated_with_the_heuristic_for_such() -> None:
    """With too many states to list nobody has to ask for it, and a closed station does harm, clearly.

    The trucks are busy more than a third of the time, so it is that of the neighbourhoods.
    """
    city = generate_grid(side=6, num_stations=28, load=0.3, seed=6)
    effect = find_effect(city, [Close(one.station_id) for one in city.stations[:3]], incidents=4_000)
    assert [policy.name for policy in effect.policies] == ["one-step-neighbourhoods", "closest-first"]
    assert effect.notes == ()
    assert not effect.exact
    assert effect.policies[0].missed.difference.low > 0.0
    assert len([unit for unit in effect.units if unit.station_after is None]) == 3


def test_closest_first_can_be_the_policy_itself() -> None:
    """Then both policies are the same, exactly and simulated."""
    for incidents in (None, 2_000):
        effect = find_effect(plain_town(), [Load(1.5)], policy="CF", incidents=incidents)
        assert [policy.name for policy in effect.policies] == ["closest-first", "closest-first"]
        assert effect.policies[0].missed == effect.policies[1].missed


def test_a_policy_for_units_that_are_mostly_idle_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where somebody asks for it in a department that is not small, and is busy before or after the changes."""
    monkeypatch.setattr("runcard.assess.policy_choice.SOME_SECONDS", 0.0)
    monkeypatch.setattr("runcard.assess.policy_choice.WHOLE_STATES", 0)
    city = generate_grid(side=3, num_stations=4, load=0.1, seed=6)
    quiet, busy = (
        find_effect(city, [Load(times)], policy="one-step-mean-field", incidents=1_000) for times in (0.5, 3.0)
    )
    assert quiet.notes == ()
    (note,) = busy.notes
    assert note.startswith("one-step-mean-field is for units that are mostly idle, and these are needed 60 % of")


def test_an_objective_of_minutes_is_said() -> None:
    """Because fewer misses are then not all that units are sent for."""
    city = replace(plain_town(), objective=Objective("minutes"))
    assert "counts minutes" in find_effect(city, [Load(1.5)]).notes[0]
