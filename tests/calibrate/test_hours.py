"""Periods of the week."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.calibrate.hours import exposure, find_periods, given_periods, hourly_counts, hours_of_week

MONDAY = datetime(2024, 1, 1, tzinfo=UTC).timestamp()

Floats = NDArray[np.float64]


def drawn(rng: np.random.Generator, per_hour: Floats, days: float) -> Floats:
    """Moments of incidents, given the rate of each hour of the week, from a Monday on."""
    times = MONDAY + 86400.0 * days * np.sort(rng.random(rng.poisson(per_hour.max() * 24.0 * days)))
    keep = rng.random(len(times)) * per_hour.max() < per_hour[hours_of_week(times, None)]
    return times[keep]


def test_hours_of_the_week_are_local() -> None:
    """Monday 0:00 is hour 0, Sunday 23:00 is 167, and summer time counts, as datetime says."""
    moments = [datetime(2024, 3, 1, tzinfo=UTC) + timedelta(minutes=37 * k) for k in range(3000)]
    seconds = np.array([one.timestamp() for one in moments])
    assert hours_of_week(seconds, None).tolist() == [24 * one.weekday() + one.hour for one in moments]
    from zoneinfo import ZoneInfo

    local = [one.astimezone(ZoneInfo("Europe/London")) for one in moments]
    assert hours_of_week(seconds, "Europe/London").tolist() == [24 * one.weekday() + one.hour for one in local]


def test_exposure_is_the_time_that_a_log_spends_in_each_hour() -> None:
    """From Tuesday 10:15 to Wednesday 9:30 all hours but one have their time; whole weeks have equal hours."""
    begin, end = MONDAY + 3600.0 * 34.25, MONDAY + 3600.0 * 57.5
    found = exposure(np.array([end, begin]), None)
    assert found.sum() == pytest.approx(23.25)
    assert (found[34], found[35], found[57], found[58], found[33]) == (0.75, 1.0, 0.5, 0.0, 0.0)
    assert exposure(np.array([MONDAY, MONDAY + 21 * 86400.0]), None) == pytest.approx(np.full(168, 3.0))
    # On the last Sunday of March the hour from 1 to 2 is skipped in London, on that of October it is doubled.
    for month, last, hour in ((3, 31, 0.0), (10, 27, 2.0)):
        sunday = datetime(2024, month, last, tzinfo=UTC).timestamp()
        assert exposure(np.array([sunday - 7200.0, sunday + 36000.0]), "Europe/London")[145] == hour


def test_nights_are_found() -> None:
    """Twice as many incidents by day as by night: the cuts are found, with rates within their intervals."""
    hour = np.arange(168) % 24
    truth = np.where((hour >= 7) & (hour < 22), 2.0, 0.6)
    times = drawn(np.random.default_rng(1), truth, 60.0)
    of_week = hours_of_week(times, None)
    found = find_periods(of_week, np.zeros(len(times), np.int64), 1, exposure(times, None))
    assert set(found.names) == {"7-22", "22-7"}
    assert found.better_by > 10.0
    for name, rate in (("7-22", 2.0), ("22-7", 0.6)):
        place = found.names.index(name)
        assert found.low[place, 0] <= rate / truth.mean() <= found.high[place, 0]
        assert (found.period == place).tolist() == (truth == rate).tolist()
    assert found.counts.sum() == len(times)


def test_a_weekend_is_found() -> None:
    """A type that happens only at weekends cuts the week there."""
    truth = np.where(np.arange(168) >= 120, 3.0, 0.3)
    times = drawn(np.random.default_rng(2), truth, 42.0)
    found = find_periods(hours_of_week(times, None), np.zeros(len(times), np.int64), 1, exposure(times, None))
    assert found.names == ("weekday day", "weekend day")


def test_a_flat_week_has_one_period() -> None:
    """Where nothing changes nothing is cut, for most seeds: BIC pays for every cut."""
    single = 0
    for seed in range(10):
        times = drawn(np.random.default_rng(seed), np.ones(168), 21.0)
        found = find_periods(hours_of_week(times, None), np.zeros(len(times), np.int64), 1, exposure(times, None))
        single += found.names == ("all day",)
    assert single >= 9


def test_given_periods_have_the_rates_of_the_log() -> None:
    """By hand: 30 incidents in 15 hours of day and 9 in 9 of night are 2 and 1 an hour, 1.23 and 0.615 of the mean."""
    period = np.where((np.arange(168) % 24 >= 7) & (np.arange(168) % 24 < 22), 0, 1)
    hour = np.array([12] * 30 + [3] * 9)
    hours = np.where(np.arange(168) < 24, 1.0, 0.0)
    found = given_periods(period, ("day", "night"), hour, np.zeros(39, np.int64), 1, hours)
    mean = (15 * 2.0 + 9 * 1.0) / 24.0
    assert found.rates[:, 0] == pytest.approx([2.0 / mean, 1.0 / mean])
    assert (found.low <= found.rates).all()
    assert (found.rates <= found.high).all()
    assert found.counts[:, 0].tolist() == [30, 9]


def test_rates_are_those_of_a_week_though_the_log_is_not_made_of_weeks() -> None:
    """By hand: five days with 2 an hour, and three weekends with 1 an hour, are 12 / 7 an hour over a week."""
    period = np.repeat([0, 1], [120, 48])
    hour, hours = np.repeat([30, 130], [240, 144]), np.where(period == 0, 1.0, 3.0)
    found = given_periods(period, ("week", "end"), hour, np.zeros(384, np.int64), 1, hours)
    assert found.rates[:, 0] == pytest.approx([2.0 * 7.0 / 12.0, 7.0 / 12.0])
    assert found.per_day == pytest.approx([24.0 * 12.0 / 7.0])


def test_counts_that_vary_more_widen_the_intervals() -> None:
    """With four times the variance of Poisson counts they are twice as wide, and are about the same rates."""
    period, hour = np.repeat([0, 1], [120, 48]), np.repeat([30, 130], [5000, 3000])
    usual, wide = (
        given_periods(period, ("week", "end"), hour, np.zeros(8000, np.int64), 1, np.full(168, 50.0), spread=spread)
        for spread in (1.0, 4.0)
    )
    assert wide.rates == pytest.approx(usual.rates)
    assert wide.high - wide.low == pytest.approx(2.0 * (usual.high - usual.low), rel=0.01)


def test_only_whole_hours_are_counted() -> None:
    """By hand: from 0:30 to 3:05 the hours of 1 and of 2 are whole, with 2 and 0 of the 4 incidents of 155 minutes."""
    minutes = np.array([30.0, 70.0, 80.0, 185.0])
    found = hourly_counts(MONDAY + 60.0 * minutes, None, None)
    assert found.counts.tolist() == [2, 0]
    assert found.expected == pytest.approx([4.0 * 60.0 / 155.0] * 2)


def test_a_log_of_poisson_counts_has_no_spread_and_one_of_pairs_has_two() -> None:
    """The spread is 1 where chance explains it; where every incident comes twice it is 2."""
    times = drawn(np.random.default_rng(5), np.ones(168), 60.0)
    assert hourly_counts(times, None, None).spread == 1.0
    assert hourly_counts(np.repeat(times, 2), None, None).spread == pytest.approx(2.0, rel=0.1)


def test_a_log_of_part_of_a_week_knows_nothing_of_the_rest() -> None:
    """A period in which the log has no hour gets no rate of its own; a type without incidents neither."""
    period = np.repeat([0, 1], [120, 48])
    hours = np.where(np.arange(168) < 24, 1.0, 0.0)
    found = given_periods(period, ("week", "end"), np.array([3, 4]), np.zeros(2, np.int64), 2, hours)
    assert (found.rates == 1.0).all()


def test_a_period_without_incidents_has_an_interval() -> None:
    """No incident at night is a rate of 0 with an upper end, not an error."""
    period = np.where(np.arange(168) % 24 < 12, 0, 1)
    found = given_periods(period, ("am", "pm"), np.full(20, 3), np.zeros(20, np.int64), 1, np.ones(168))
    assert found.rates[:, 0].tolist() == [2.0, 0.0]
    assert 0.0 < found.high[1, 0] < 0.4
