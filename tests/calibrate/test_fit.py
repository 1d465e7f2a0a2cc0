"""A whole fit: the numbers of a known city come back from its log."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from tests.calibrate.cities import (
    FACTORS,
    SCALE,
    SHARED,
    START,
    known_fit,
    made_up,
    plain_city,
    road_city,
    true_city,
    true_plain_city,
)

from runcard.calibrate.build import build_city
from runcard.calibrate.fit import Fit, _rate_numbers, fit_city, pairs_at_once, pairs_together
from runcard.calibrate.goodness import judge_fit
from runcard.calibrate.hours import PeriodFit
from runcard.calibrate.log import Log, read_log
from runcard.calibrate.mapping import TIMES, read_mapping
from runcard.city import City, Period, Standard, read_city, write_city
from runcard.city.aprons import is_apron, without_aprons
from runcard.city.model import Driving, Turnout
from runcard.city.periods import ALWAYS
from runcard.errors import InputError

DAY_SHARE = 15 * 1.3 / 24.0 + 9 * 0.5 / 24.0
TRUTH = {
    "rate.fire": 16.0,
    "rate.medical": 30.0,
    **{f"period.7-22.{name}": 1.3 / DAY_SHARE for name in ("fire", "medical")},
    **{f"period.22-7.{name}": 0.5 / DAY_SHARE for name in ("fire", "medical")},
    "busy_minutes.fire.engine": 35.0,
    "busy_minutes.medical.engine": 22.0,
    "busy_minutes.fire.ladder": 35.0,
    "turnout.engine.mean_minutes": 1.2,
    "turnout.engine.cv": 0.5,
    "turnout.ladder.mean_minutes": 1.6,
    "turnout.ladder.cv": 0.4,
    "turnout.engine.shared": 1.0,
    "driving.start_minutes": START,
    **{f"driving.factor.{name}": factor for name, factor in FACTORS.items()},
    "driving.scale_minutes": SCALE,
    "shared_delay": SHARED,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for logs."""
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def fit(fit_of_known_city: Fit) -> Fit:
    """The fit of the known city to 4000 incidents."""
    return fit_of_known_city


@pytest.fixture(scope="module")
def small_log(folder: Path) -> Log:
    """A log of 700 incidents."""
    return made_up(folder, true_city(road_city()), incidents=700)[0]


def assert_near(fit: Fit, truths: Mapping[str, float]) -> None:
    """Assert that numbers are within four standard errors of the truth."""
    for name, truth in truths.items():
        number = fit.number(name)
        assert abs(number.value - truth) <= 2.04 * (number.high - number.low), (name, number)


def test_every_number_is_found_again(fit: Fit) -> None:
    """Each number is within four standard errors of the truth, and the shared delay inside its interval."""
    assert_near(fit, TRUTH)
    assert min(fit.number(name).sample for name in TRUTH) > 200
    shared = fit.number("shared_delay")
    assert shared.low <= SHARED <= shared.high
    assert shared.high - shared.low < 0.2
    assert {one.name for one in fit.numbers if one.name.startswith("sent.")} == {
        "sent.fire.engine", "sent.fire.ladder", "sent.medical.engine", "sent.medical.ladder",
    }  # fmt: skip
    assert (fit.number("sent.fire.engine").value, fit.number("sent.medical.ladder").value) == (2.0, 0.0)
    assert fit.notes == ()


def test_a_clock_of_minutes_is_counted_and_said(coarse_fit: Fit) -> None:
    """From times cut to whole minutes each number is within four standard errors of the truth, and a note says so."""
    assert_near(coarse_fit, TRUTH)
    shared, spread = coarse_fit.number("shared_delay"), coarse_fit.number("driving.scale_minutes")
    assert shared.low <= SHARED <= shared.high
    assert spread.high - spread.low < 0.15 * SCALE
    assert coarse_fit.turnout["engine"].model == "gamma"
    assert coarse_fit.document()["clock_seconds"] == dict.fromkeys(
        ("received", "dispatched", "en_route", "on_scene", "available"), 60
    )
    assert coarse_fit.notes == (
        "the clock of the log is coarse, all times are in steps of 1 min: turnout, the spread of driving and their "
        "intervals count that, and the fit is judged by what such a clock would show",
    )


def test_clocks_of_different_steps_are_said(small_log: Log) -> None:
    """Where only the time on the road is in minutes, driving is right if that was cut, and what is assumed is said."""
    responses = small_log.responses.copy()
    responses["en_route"] = 60.0 * np.floor(responses["en_route"] / 60.0)
    responses["dispatched"] = np.minimum(responses["dispatched"], responses["en_route"])
    fit = fit_city(road_city(), replace(small_log, responses=responses))
    assert_near(fit, {"driving.start_minutes": START})
    words = (
        "the coarser one is taken to cut its times; if it rounds them, the mean between the two is off by up to 30 s"
    )
    assert "the clock of the log is coarse, en_route in steps of 1 min: turnout" in fit.notes[0]
    assert fit.notes[1:] == (
        f"dispatched and en_route have clocks of different steps: {words}",
        f"en_route and on_scene have clocks of different steps: {words}",
    )


def test_whether_units_of_a_station_leave_together_is_found(fit: Fit, tmp_path: Path) -> None:
    """Turnout that each unit has for itself is told from one that a station shares; who knows better can say it."""
    assert (fit.number("turnout.engine.shared").low, fit.city.turnout_by_kind["engine"].shared) == (1.0, True)
    city = road_city()
    apart = {"engine": Turnout(1.2, "gamma", 0.5, shared=False), "ladder": Turnout(1.6, "lognormal", 0.4)}
    log, _ = made_up(tmp_path, true_city(city, turnout_by_kind=apart), incidents=1500)
    found = fit_city(city, log)
    engine, ladder = found.number("turnout.engine.shared"), found.number("turnout.ladder.shared")
    assert engine.low <= 0.0 <= engine.high < 0.4
    assert engine.sample > 100
    assert engine.note == "correlation; units of one station leave each for itself"
    assert (ladder.value, ladder.low, ladder.high, ladder.sample) == (0.0, -1.0, 1.0, 0)
    assert ladder.note == "too few pairs of one station left together to tell: 0 is taken"
    assert {law.shared for law in found.city.turnout_by_kind.values()} == {False}
    own = fit_city(city, log, overrule={"turnout.ladder.shared": 1.0}).city.turnout_by_kind
    assert (own["engine"].shared, own["ladder"].shared) == (False, True)


def test_units_leave_together_only_where_that_is_sure(fit: Fit) -> None:
    """A correlation of 0.8 that may as well be 0.3 leaves each unit by itself; of one from 0.6 on they go together."""
    for low, shared in ((0.3, False), (0.6, True)):
        numbers = [
            replace(one, value=0.8, low=low) if one.name == "turnout.engine.shared" else one for one in fit.numbers
        ]
        city = build_city(
            fit.before, numbers, homes=fit.homes, types=fit.types, sent=fit.sent, turnout=fit.turnout,
            driving=fit.driving, rates=fit.rates, periods=fit.periods, centres=fit.placed.centres, target_minutes=None,
            notes=[],
        )  # fmt: skip
        assert city.turnout_by_kind["engine"].shared is shared


@pytest.mark.slow
@pytest.mark.parametrize("mapping", ["san-francisco", "london"])
def test_no_number_depends_on_the_order_of_rows(mapping: str, tmp_path: Path) -> None:
    """A shuffled log, with rows that repeat others and cells that are missing, gives the same document to the digit."""
    plain = mapping == "london"
    city = plain_city(metres=plain)  # of the units of San Francisco the homes are guessed
    truth = true_plain_city(plain_city()) if plain else true_city(road_city())
    made_up(tmp_path, truth, mapping=mapping, incidents=300, dirt=0.2)
    second = tmp_path / "incidents.csv" if plain else None
    head, *rows = (tmp_path / "calls.csv").read_text().splitlines(keepends=True)
    documents = []
    for seed in range(2):
        (tmp_path / "calls.csv").write_text(head + "".join(np.random.default_rng(seed).permutation(rows)))
        fit = fit_city(
            city, read_log(tmp_path / "calls.csv", read_mapping(mapping), incidents=second), target_minutes=7.0
        )
        documents.append((fit.document(), judge_fit(fit).document(), fit.city))
    assert documents[0] == documents[1]


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say(tmp_path: Path) -> None:
    """Over five logs at least 86 % of all numbers are inside their 95 % intervals, and no number is mostly outside."""
    inside: dict[str, list[bool]] = {name: [] for name in TRUTH}
    for seed in range(10, 15):
        found = {one.name: one for one in known_fit(tmp_path, 2500, seed).numbers}
        for name, truth in TRUTH.items():
            if name in found:  # a short log may cut the day an hour off
                inside[name].append(found[name].low <= truth <= found[name].high)
    hits = [hit for own in inside.values() for hit in own]
    assert len(hits) > 70
    assert np.mean(hits) >= 0.86, {name: sum(own) for name, own in inside.items()}
    assert all(sum(own) >= 3 for own in inside.values() if len(own) == 5), inside


def test_the_city_has_the_fitted_numbers(fit: Fit) -> None:
    """Links, aprons, laws, rates, standards and periods of the city are the numbers."""
    city, before = fit.city, fit.before
    for link, old in zip(city.links, before.links, strict=False):
        road = dict(old.extra)["road_class"]
        assert link.mean_minutes == pytest.approx(old.mean_minutes * fit.number(f"driving.factor.{road}").value)
    assert [one.mean_minutes for one in city.links if is_apron(one)] == [fit.number("driving.start_minutes").value] * 4
    assert city.driving == Driving("gamma", scale_minutes=fit.number("driving.scale_minutes").value)
    assert city.shared_delay == fit.number("shared_delay").value
    assert city.turnout_by_kind["ladder"].model == "lognormal"
    assert city.turnout_by_kind["engine"].cv == fit.number("turnout.engine.cv").value
    for name in ("fire", "medical"):
        rates = [point.incidents_per_day for point in city.demand if point.type == name]
        assert sum(rates) == pytest.approx(fit.number(f"rate.{name}").value)
        assert min(rates) > 0.0
    assert {
        (one.type, one.kind, one.trucks, one.arrivals, one.target_minutes, one.weight) for one in city.standards
    } == {(one.type, one.kind, one.trucks, one.arrivals, one.target_minutes, one.weight) for one in before.standards}
    assert city.standards[0].busy_minutes == fit.number(f"busy_minutes.{city.standards[0].type}.engine").value
    assert {one.name for one in city.periods} == {"7-22", "22-7"}
    assert city.units == before.units


def test_a_fitted_city_is_written_and_read_again(fit: Fit, tmp_path: Path) -> None:
    """The folder holds the same city."""
    assert read_city(write_city(fit.city, tmp_path / "city")) == fit.city


def test_fitting_a_fitted_city_changes_nothing(fit: Fit) -> None:
    """The same log on the fitted city gives the same minutes, start, spread, rates and shared delay up to rounding."""
    again = fit_city(fit.city, fit.log).city
    assert without_aprons(again).nodes == without_aprons(fit.city).nodes
    for now, before in zip(again.links, fit.city.links, strict=True):
        assert now.mean_minutes == pytest.approx(before.mean_minutes, rel=1e-4)
    assert again.driving.scale_minutes == pytest.approx(fit.city.driving.scale_minutes, rel=1e-4)
    assert again.shared_delay == pytest.approx(fit.city.shared_delay, abs=1e-4)
    rates = [[point.incidents_per_day for point in city.demand] for city in (again, fit.city)]
    assert rates[0] == pytest.approx(rates[1], rel=1e-3)
    assert again.standards == fit.city.standards
    assert [one.hours for one in again.periods] == [one.hours for one in fit.city.periods]


def test_numbers_are_overruled(small_log: Log) -> None:
    """A number of one's own goes into the city, with what the log says beside it; unknown names are errors."""
    own = {
        "shared_delay": 0.9,
        "driving.factor.main": 2.0,
        "rate.fire": 99.0,
        "sent.medical.engine": 2,
        "driving.start_minutes": 0.0,
    }
    fit = fit_city(road_city(), small_log, overrule=own)
    city = fit.city
    assert (city.shared_delay, city.links[0].mean_minutes) == (0.9, 2.0 * road_city().links[0].mean_minutes)
    assert not any(map(is_apron, city.links))
    assert sum(point.incidents_per_day for point in city.demand if point.type == "fire") == pytest.approx(99.0)
    assert next(one.trucks for one in city.standards if one.type == "medical") == 2
    assert fit.number("shared_delay").fitted is not None
    with pytest.raises(InputError, match=r"--set driving\.factor\.man: .*\(did you mean driving\.factor\.main\?\)"):
        fit_city(road_city(), small_log, overrule={"driving.factor.man": 1.0})


def test_periods_are_found_kept_or_left_out(small_log: Log) -> None:
    """Without periods there are none, given ones keep their hours, and a short log says that it cannot tell."""
    assert fit_city(road_city(), small_log, periods="none").city.periods == (ALWAYS,)
    hours = tuple(range(84)), tuple(range(84, 168))
    given = tuple(Period(name, own) for name, own in zip(("first", "second"), hours, strict=True))
    found = fit_city(road_city(), small_log, periods=given)
    assert [(one.name, one.hours) for one in found.city.periods] == [("first", hours[0]), ("second", hours[1])]
    short = small_log.incidents["time"] < small_log.incidents["time"].min() + 5 * 86400.0
    from runcard.calibrate.backtest import _cut

    short_fit = fit_city(road_city(), _cut(small_log, short))
    assert short_fit.city.periods == (ALWAYS,)
    assert short_fit.notes[0].startswith("no periods of the week: the log has only ")


def test_a_rate_counts_every_hour_of_the_week_alike() -> None:
    """A log of ten days has some hours more often than others: 100 incidents in them may be 9 a day in a whole week."""
    ones, counts = np.ones((2, 1)), np.array([[60], [40]])
    week = PeriodFit(("day", "night"), np.zeros(168, np.int64), ones, ones, ones, counts, 0.0, np.array([9.0]))
    (own, *_), (alike,) = (_rate_numbers(("fire",), counts, 10.0, periods, 1.0) for periods in (week, None))
    assert (alike.value, own.value) == pytest.approx((10.0, 9.0))
    assert (own.low, own.high) == pytest.approx((0.9 * alike.low, 0.9 * alike.high))


def test_a_log_without_unit_names_fits_a_plain_city(tmp_path: Path) -> None:
    """London's format, with stations alone, fits the roads, rates and busy time of a city without a roster."""
    city = plain_city()
    log, _ = made_up(tmp_path, true_plain_city(city), mapping="london", incidents=1500)
    fit = fit_city(city, log)
    assert not fit.city.has_roster
    assert {(one.type, one.kind, one.trucks) for one in fit.city.standards} == {
        ("fire", "truck", 2),
        ("alarm", "truck", 2),
    }
    assert [one.trucks for one in fit.city.stations] == [2, 2, 1, 1]
    assert_near(
        fit,
        {
            **{name: TRUTH[name] for name in TRUTH if name.startswith(("driving.sta", "driving.sc", "shared"))},
            "driving.factor.side": FACTORS["side"],
            "turnout.pump.mean_minutes": 1.2,
            "busy_minutes.pump": 30.0,
        },
    )
    assert fit.city.busy_minutes == pytest.approx(fit.number("busy_minutes.pump").value)
    assert fit.city.turnout.mean_minutes == fit.number("turnout.pump.mean_minutes").value
    assert fit.homes == ()
    assert fit_city(fit.city, log).city.shared_delay == pytest.approx(fit.city.shared_delay, abs=1e-4)


def test_a_plain_city_gets_a_roster_from_the_log(small_log: Log) -> None:
    """A log that names units gives a city without a roster one, and standards with the target that is asked for."""
    plain = plain_city(metres=False)
    fit = fit_city(plain, small_log)
    assert {(unit.unit_id, unit.station_id) for unit in fit.city.units} == {
        (unit.unit_id, unit.station_id) for unit in road_city().units
    }
    assert {one.target_minutes for one in fit.city.standards} == {7.0}
    assert {one.known_by for one in fit.homes} == {"drives"}
    assert {one.target_minutes for one in fit_city(plain, small_log, target_minutes=5.0).city.standards} == {5.0}


@pytest.mark.slow
def test_roads_that_the_network_has_wrong_are_not_shared_delay(tmp_path: Path) -> None:
    """Where every street really is quicker or slower than in the network, independent drives are no shared delay."""
    city = road_city()
    log, _ = made_up(tmp_path, true_city(city, shared_delay=0.0), incidents=4000, seed=2)
    off = np.random.default_rng(4).lognormal(0.0, 0.6, len(city.links))
    links = (replace(link, mean_minutes=link.mean_minutes * x) for link, x in zip(city.links, off, strict=True))
    shared = fit_city(replace(city, links=tuple(links)), log).number("shared_delay")
    assert shared.low <= 0.0 <= shared.high
    assert shared.value < 0.06
    assert shared.high < 0.2


@pytest.mark.slow
def test_drives_from_elsewhere_are_said_and_widen_the_intervals(tmp_path: Path) -> None:
    """With one drive in twelve from anywhere each number of driving still holds its truth, and carries a warning."""
    city = road_city()
    inside = {name: 0 for name in TRUTH if name.startswith(("driving.", "shared"))}
    for seed in range(3):
        log, _ = made_up(tmp_path, true_city(city), incidents=1500, seed=seed)
        rng, rows = np.random.default_rng(seed), log.responses
        stray = rng.random(len(rows)) < 1.0 / 12.0
        rows["on_scene"][stray] = rows["en_route"][stray] + 60.0 * rng.gamma(6.0, 1.5, stray.sum())
        fit = fit_city(city, log)
        assert fit.share_strays == pytest.approx(1.0 / 12.0, abs=0.025)
        assert fit.document()["away"]["strays"] == fit.share_strays
        assert sum("of the drives are strays" in note for note in fit.notes) == 1
        for name in inside:
            one = fit.number(name)
            inside[name] += one.low <= TRUTH[name] <= one.high
            assert "without strays" in one.note
            assert one.low <= one.value <= one.high
    assert min(inside.values()) >= 2, inside
    assert sum(inside.values()) >= 14, inside


@pytest.mark.parametrize("step", [1.0, pytest.param(60.0, marks=pytest.mark.slow)])
def test_units_that_leave_at_once_from_elsewhere_widen_the_turnout(tmp_path: Path, step: float) -> None:
    """Where strays leave at once, too, the mean turnout of those from home is in the interval, and a note says it.

    So it is if the clock of the log shows whole minutes only.
    """
    city = road_city()
    log, _ = made_up(tmp_path, true_city(city), incidents=1500, seed=1)
    rng, rows = np.random.default_rng(1), log.responses
    stray = rng.random(len(rows)) < 1.0 / 12.0
    rows["en_route"][stray] = rows["dispatched"][stray] + rng.integers(3, 19, stray.sum())
    rows["on_scene"][stray] = rows["en_route"][stray] + 60.0 * rng.gamma(6.0, 1.5, stray.sum())
    for name in TIMES:
        rows[name] = step * np.floor(rows[name] / step)
    fit = fit_city(city, log)
    turnout = fit.number("turnout.engine.mean_minutes")
    assert turnout.value < TRUTH["turnout.engine.mean_minutes"] - fit.turnout["engine"].mean_half
    assert turnout.low <= turnout.value < TRUTH["turnout.engine.mean_minutes"] <= turnout.high
    assert "without strays" in turnout.note
    assert any("the numbers of turnout and driving are those of all drives" in note for note in fit.notes)


def without(city: City, **changes: object) -> City:
    """The city with some changes."""
    return replace(city, **changes)


def test_types_without_standards_and_kinds_without_homes(small_log: Log) -> None:
    """A type that the city has no standard for needs a target; a kind without a station is left out, and said."""
    city = road_city()
    fires = tuple(one for one in city.standards if one.type == "fire")
    only = without(city, standards=fires, demand=tuple(one for one in city.demand if one.type == "fire"))
    with pytest.raises(InputError, match="expected a target for engine at medical: say it with --target-minutes"):
        fit_city(only, small_log)
    found = fit_city(only, small_log, target_minutes=7.5)
    assert next(one for one in found.city.standards if one.type == "medical") == Standard(
        "medical", "engine", 1, 1, 7.5, busy_minutes=found.number("busy_minutes.medical.engine").value
    )
    engines = tuple(unit for unit in city.units if unit.kind == "engine")
    own = tuple(one for one in city.standards if one.kind == "engine")
    no_ladders = fit_city(without(city, units=engines, standards=own, busy_minutes=25.0), small_log)
    assert {one.kind for one in no_ladders.city.standards} == {"engine"}
    lost, drives, ladder = no_ladders.notes
    assert lost == "no station is known for T01, T02: they are not in the roster and are left out"
    assert "drives of units without a known station are not used" in drives
    assert ladder == "fire gets 1 ladder, but no ladder has a known station: it is left out"


def test_a_type_to_which_hardly_anything_goes_is_left_out(small_log: Log) -> None:
    """Where most incidents of a type get no unit of any kind that is known, it is no type of the city, and said."""
    found = fit_city(road_city(), small_log, overrule={"sent.medical.engine": 0})
    assert {point.type for point in found.city.demand} == {"fire"}
    assert found.notes == ("no kind of units goes to most incidents of type medical: it is left out",)
    names = [one.name for one in found.numbers if one.name.startswith("sent.")]
    with pytest.raises(InputError, match="expected a log in which some kind of units goes to some type of incident"):
        fit_city(road_city(), small_log, overrule=dict.fromkeys(names, 0.0))


def test_a_log_without_types_and_kinds(folder: Path) -> None:
    """All incidents are of one type, and kinds come from the roster; without either of them it is an error."""
    made_up(folder, true_city(road_city()), incidents=700)
    full = read_mapping("san-francisco")
    columns = {key: name for key, name in full.columns.items() if key not in ("type", "kind")}
    mapping = replace(full, columns=columns, kinds={}, types={})
    log = read_log(folder / "calls.csv", mapping)
    city = road_city()
    one_type = without(
        city,
        standards=(Standard("incident", "engine", 1, 1, 6.0),),
        demand=tuple(replace(one, type="incident") for one in city.demand if one.type == "fire"),
    )
    fit = fit_city(one_type, log)
    assert fit.types == ("incident",)
    assert {point.type for point in fit.city.demand} == {"incident"}
    assert fit.number("rate.incident").sample == len(log.incidents)
    assert fit.number("busy_minutes.engine").sample > 500
    with pytest.raises(InputError, match=r"expected kinds of units: log\.kind or log\.every_kind in the mapping, or a"):
        fit_city(plain_city(metres=False), log)


def test_single_units_say_nothing_of_shared_delay(tmp_path: Path) -> None:
    """Where one unit goes to each incident, the shared delay is unknown: its interval is everything, and is said."""
    city = road_city()
    own = without(
        city,
        standards=tuple(one for one in city.standards if one.type == "medical"),
        demand=tuple(one for one in city.demand if one.type == "medical"),
    )
    log, _ = made_up(tmp_path, true_city(own), incidents=300)
    one = fit_city(own, log).number("shared_delay")
    assert (one.value, one.low, one.high, one.sample) == (0.0, 0.0, 1.0, 0)
    assert one.note == "too few pairs drove together to tell: 0 is taken"


def test_names_with_dots(tmp_path: Path) -> None:
    """Kinds and types may have dots in their names, of which the names of numbers are made."""
    city = road_city()
    kinds, types = {"engine": "Eng. 1", "ladder": "Ladd. 2"}, {"fire": "str. fire", "medical": "med. call"}
    dotted = without(
        city,
        units=tuple(replace(one, kind=kinds[one.kind]) for one in city.units),
        standards=tuple(replace(one, kind=kinds[one.kind], type=types[one.type]) for one in city.standards),
        demand=tuple(replace(one, type=types[one.type]) for one in city.demand),
        busy_minutes={"Eng. 1": 25.0, "Ladd. 2": 30.0},
    )
    log, _ = made_up(tmp_path, true_city(dotted, turnout_by_kind={}), mapping="runcard", incidents=500)
    fit = fit_city(dotted, log)
    assert fit.city.busy_minutes == {kind: fit.number(f"busy_minutes.{kind}").value for kind in kinds.values()}
    assert {one.type for one in fit.city.standards} == set(types.values())


def test_logs_that_are_too_short(tmp_path: Path) -> None:
    """One incident, or too few drives, are errors in words."""
    log, _ = made_up(tmp_path, true_city(road_city()), incidents=10)
    with pytest.raises(InputError, match="expected at least 30 drives from a station"):
        fit_city(road_city(), log)
    log, _ = made_up(tmp_path, true_city(road_city()), incidents=1)
    with pytest.raises(InputError, match="expected a log of at least two incidents at different times"):
        fit_city(road_city(), log)


def test_pairs_at_once_are_of_one_incident_and_station() -> None:
    """All responses of two units at about the same time are pairs, in either order; unknown stations have none."""
    rng = np.random.default_rng(4)
    incident, station, sent = rng.integers(0, 6, 60), rng.integers(-1, 3, 60), rng.random(60) * 600.0
    expected = {
        frozenset((a, b))
        for a, b in combinations(range(60), 2)
        if incident[a] == incident[b] and station[a] == station[b] >= 0 and abs(sent[a] - sent[b]) <= 120.0
    }
    pairs = [frozenset(pair) for pair in pairs_at_once(incident, station, sent).tolist()]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected


def test_pairs_left_at_about_the_same_time(fit: Fit) -> None:
    """Every pair is of one incident and left within two minutes, and all such pairs are there, of whatever station."""
    data, rows = fit.driving_data, fit.log.responses
    pairs = pairs_together(fit.log, data.drives, data.used)
    of, leave = rows["incident"][data.drives.response], rows["en_route"][data.drives.response]
    used = np.flatnonzero(data.used)
    expected = {
        frozenset((a, b))
        for a, b in combinations(used[:600].tolist(), 2)
        if of[a] == of[b] and abs(leave[a] - leave[b]) <= 120.0
    }
    assert {frozenset(pair) for pair in pairs.tolist() if max(pair) <= used[599]} == expected
