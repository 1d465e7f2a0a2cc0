"""The work of each unit in the log and in the fitted city."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.calibrate.cities import made_up, road_city, true_city

from runcard.calibrate.fit import Fit, fit_city
from runcard.calibrate.goodness import judge_fit
from runcard.calibrate.log import Log
from runcard.calibrate.work import (
    POOR_WORK,
    UnitWork,
    never_first_due,
    odd_units,
    predicted_days,
    unit_work,
    work_faults,
    wrong_work,
)
from runcard.city import City


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """A log of 1500 incidents."""
    return made_up(tmp_path_factory.mktemp("log"), true_city(road_city()), incidents=1500)[0]


def with_areas(city: City, *nodes: str) -> City:
    """The city with areas around these nodes only."""
    return replace(city, demand=tuple(point for point in city.demand if point.node_id in nodes))


def unit(name: str, station: str, observed: float, predicted: float, *, first_due: bool = True) -> UnitWork:
    """An engine with so many responses a day in the log and in the city, busy half an hour with each."""
    return UnitWork(name, "engine", station, observed / 48.0, predicted / 48.0, observed, predicted, first_due)


def without_times(log: Log, part: float, seed: int) -> Log:
    """The log with a part of the times at which units were free again left out."""
    responses = log.responses.copy()
    responses["available"][np.random.default_rng(seed).random(len(responses)) < part] = np.nan
    return replace(log, responses=responses)


@pytest.fixture(scope="module")
def fit_of_part(log: Log) -> Fit:
    """The fit to the log with 30 % of the times missing."""
    return fit_city(road_city(), without_times(log, 0.3, 1))


@pytest.fixture(scope="module")
def work(fit_of_part: Fit) -> tuple[UnitWork, ...]:
    """The work of its units."""
    return unit_work(fit_of_part, 1)


def test_missing_times_are_no_fault(log: Log, fit_of_part: Fit, work: tuple[UnitWork, ...]) -> None:
    """With 30 % of the times missing at random units are as busy as with all of them, and nothing is bad: each has the
    sum of its known times and of means, so that the error is that of the mean of the missing ones."""
    assert work_faults(work, fit_of_part.num_days, predicted_days(fit_of_part.city)) == []
    minutes = (log.responses["available"] - log.responses["dispatched"]) / 60.0
    assert np.isfinite(minutes).all()
    all_days = 1440.0 * fit_of_part.num_days
    for one in work:
        of_unit = minutes[log.responses["unit"] == log.units.index(one.unit)]
        error = 0.3**0.5 * len(of_unit) ** 0.5 * of_unit.std() / all_days
        assert abs(one.observed - of_unit.sum() / all_days) < 4.0 * error
    assert sum(one.observed for one in work) == pytest.approx(minutes.sum() / all_days, rel=0.03)


def test_every_response_counts_once(log: Log, fit_of_part: Fit, work: tuple[UnitWork, ...]) -> None:
    """The responses of each unit are its rows, also where times are missing."""
    rows = Counter(log.units[number] for number in log.responses["unit"].tolist())
    assert {one.unit: round(one.observed_per_day * fit_of_part.num_days, 6) for one in work} == rows


def test_work_at_the_wrong_stations_by_hand() -> None:
    """Two units of a station count together; shares are compared, not totals."""
    units = [unit("E1", "a", 1.0, 4.0), unit("E2", "a", 3.0, 0.0), unit("E3", "b", 4.0, 12.0)]
    wrong, by_chance = wrong_work(units, 100.0)
    assert wrong == pytest.approx(0.25)  # half of the responses instead of a quarter
    assert by_chance == pytest.approx(0.5 * 2.0 * np.sqrt(2.0 * 0.25 * 0.75 / (np.pi * 800.0)))
    assert wrong_work([unit("E1", "a", 0.0, 4.0)], 100.0) == (0.0, 0.0)


@pytest.mark.parametrize(("num_stations", "num_responses"), [(4, 300), (12, 1000), (44, 2800)])
def test_what_chance_makes_is_what_draws_make(num_stations: int, num_responses: int) -> None:
    """Logs drawn from the city itself have on average the wrong work that the formula says, within 3 %."""
    rng = np.random.default_rng(num_stations)
    shares = rng.dirichlet(np.full(num_stations, 4.0))
    wrong = 0.5 * np.abs(rng.multinomial(num_responses, shares, 4000) / num_responses - shares).sum(axis=1)
    units = [unit(f"E{n}", f"s{n}", share, share) for n, share in enumerate(shares.tolist())]
    assert wrong_work(units, float(num_responses))[1] == pytest.approx(wrong.mean(), rel=0.03)
    # A tenth more than that hardly ever happens by chance.
    assert (wrong > wrong.mean() + POOR_WORK).mean() < 1e-3


def test_work_at_the_wrong_stations_is_a_fault() -> None:
    """Above a tenth beyond chance it is one, with the units that are the farthest off first; below it is none."""
    days = 1000.0
    right = [unit("E1", "a", 10.0, 10.4), unit("E2", "b", 10.0, 9.6)]
    assert work_faults(right, days, 500.0) == []
    (fault,) = work_faults([unit("E1", "a", 10.0, 14.0), unit("E2", "b", 10.0, 6.5)], days, 500.0)
    assert fault.startswith("18 % of the work of the engines is at other stations than in the log, where chance would ")
    assert "E1 (50.0 in the log, 68.3 in the city), E2 (50.0 in the log, 31.7 in the city). Areas" in fault


def test_single_units_that_are_off_are_named() -> None:
    """Of a kind that is right as a whole, units off by more than a third and by more than chance are named, those that
    are farthest off first, those of a station together; a difference that chance can make, or a small one, is none."""
    right = [unit(f"E{n}", f"s{n}", 20.0, 20.0 + n % 3) for n in range(10, 30)]
    few, more = unit("E1", "a", 10.0, 6.0), unit("E2", "b", 2.0, 7.5)
    pair = [unit("E3", "c", 5.0, 1.0), unit("E4", "c", 1.0, 5.0)]
    (fault,) = work_faults([*right, few, more, *pair], 30.0, 100.0)
    assert fault.startswith(
        "The work of some engines is off by more than a third and by more than chance, in responses"
    )
    assert "a day: E2 (2.0 in the log, 7.5 in the city), E1 (10.0 in the log, 6.0 in the city). What is said" in fault
    assert work_faults([*right, few, more], 0.5, 100.0) == []
    pair = [replace(pair[0], predicted_per_day=4.0), pair[1]]
    (both,) = odd_units(pair, 1000.0, 1000.0)
    assert (both.unit, both.observed_per_day, both.predicted_per_day) == ("E3 and E4", 6.0, 9.0)


@pytest.mark.slow
@pytest.mark.parametrize("days", [0.1, 3.0, 100.0])
def test_chance_alone_names_units_of_one_log_in_a_hundred(days: float) -> None:
    """Logs and cities of the same 44 units, drawn apart by Poisson's law, name any of them at most as often as said."""
    rng = np.random.default_rng(1)
    rates = rng.gamma(4.0, 2.0, 44)
    alarms = 0
    for _ in range(200):
        observed, predicted = rng.poisson(rates * days) / days, rng.poisson(rates * 20.0) / 20.0
        units = [
            unit(f"E{n}", f"s{n}", *of) for n, of in enumerate(zip(observed.tolist(), predicted.tolist(), strict=True))
        ]
        alarms += bool(odd_units(units, days, 20.0))
    assert alarms <= 5  # 2 are expected; more than 5 in two of a hundred tests


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_city_that_is_right_accuses_no_unit(seed: int, tmp_path: Path) -> None:
    """A log that the city itself made up names no unit."""
    log, _ = made_up(tmp_path, true_city(road_city()), incidents=1500, seed=seed)
    fit = fit_city(road_city(), log)
    work = unit_work(fit, 1)
    assert work_faults(work, fit.num_days, predicted_days(fit.city)) == []
    assert not any(one.off for one in work)


@pytest.mark.slow
def test_units_that_go_for_each_other_are_named(log: Log) -> None:
    """Three of four responses of a ladder are said to be of the other one: both ladders are off, and no engine is."""
    responses = log.responses.copy()
    names = log.units.index("T01"), log.units.index("T02")
    own = np.flatnonzero(responses["unit"] == names[0])
    responses["unit"][own[np.arange(len(own)) % 4 > 0]] = names[1]
    fit = fit_city(road_city(), replace(log, responses=responses))
    assert {one.unit for one in unit_work(fit, 1) if one.off} == {"T01", "T02"}
    assert any("T01" in fault and "T02" in fault for fault in judge_fit(fit).faults)


@pytest.mark.slow
def test_a_unit_that_is_first_due_nowhere_is_named(log: Log) -> None:
    """With areas at three of the four stations only the units of the fourth are first due nowhere: they are named with
    their responses a day, and what to do."""
    fit = fit_city(with_areas(road_city(), "n00", "n14", "n32"), log, periods="none")
    faults = [fault for fault in judge_fit(fit).faults if fault.startswith("First due nowhere")]
    assert len(faults) == 1
    assert "(runcard import --areas)" in faults[0]
    engines = {one.unit: one for one in unit_work(fit, 1) if one.kind == "engine"}
    assert {name for name, one in engines.items() if one.station == "s4"} == {"E03", "E07"}
    for name, one in engines.items():
        words = f"{name} ({one.observed_per_day:.1f} in the log, {one.predicted_per_day:.1f} in the city)"
        assert (words in faults[0]) == (one.station == "s4")


def test_a_second_unit_that_the_city_explains_is_not_named() -> None:
    """A unit that is first due nowhere and has the responses that the city gives it is no fault, by counts of Poisson's
    law; one with clearly more is."""
    quiet, busy, silent = (
        unit("E1", "a", 0.5, 0.5, first_due=False),
        unit("E2", "b", 1.0, 0.5, first_due=False),
        unit("E3", "c", 0.0, 0.0, first_due=False),
    )
    assert [one.unit for one in never_first_due([quiet, busy, silent], 100.0)] == ["E2"]
    counts = np.random.default_rng(1).poisson(50.0, 2000)
    alarms = sum(bool(never_first_due([replace(quiet, observed_per_day=n / 100.0)], 100.0)) for n in counts.tolist())
    assert alarms / 2000 < 0.04


@pytest.mark.slow
def test_the_numbers_stand_in_the_document(fit_of_known_city: Fit) -> None:
    """Each unit with its responses a day, in the log and in the city, and whether it is first due."""
    document = judge_fit(fit_of_known_city).document()
    for one in document["busy"]:
        assert one["responses_per_day"] == pytest.approx(one["predicted_responses_per_day"], rel=0.15)
        assert one["first_due"] is True


def test_a_kind_that_never_says_when_it_is_free_is_not_judged(log: Log) -> None:
    """Ladders that never say when they were free are not said to be busy too little."""
    responses = log.responses.copy()
    responses["available"][responses["kind"] == log.kinds.index("ladder")] = np.nan
    fit = fit_city(road_city(), replace(log, responses=responses))
    assert work_faults(unit_work(fit, 1), fit.num_days, predicted_days(fit.city)) == []
