"""Periods of the week: their hours, and the rates of incidents in them."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.departments import grid_department

from runcard.city import City, Period, generate_grid, read_city, write_city
from runcard.city.periods import ALWAYS, format_hours, hour_of_week, parse_hours, parse_time
from runcard.errors import CityError, InputError
from runcard.mdp.fingerprint import city_fingerprint

DAY, NIGHT = parse_hours("mon-sun 7-22"), parse_hours("mon-sun 22-7")
WEEK = tuple(range(168))


def with_periods(city: City, day: float = 1.4, night: float = 0.6) -> City:
    """A city with days and nights."""
    return replace(city, periods=(Period("day", DAY, day), Period("night", NIGHT, night)))


@pytest.mark.parametrize(
    ("words", "hours"),
    [
        ("mon-fri 7-22", [24 * day + hour for day in range(5) for hour in range(7, 22)]),
        ("Mon 0-24", range(24)),
        ("sun 22-7", [166, 167, *range(7)]),
        ("fri-mon 23-24", [119, 143, 167, 23]),
        ("0-24", WEEK),
        ("tue  7 - 8", [31]),
    ],
)
def test_hours_are_read_by_day_and_clock(words: str, hours: range | list[int]) -> None:
    """Days count from Monday, ranges of days may run over the end of the week, and hours into the next day."""
    assert sorted(parse_hours(words)) == sorted(hours)


@pytest.mark.parametrize("words", ["", "mon", "mon 7", "mon 7-7", "mon 7-25", "may 7-8", "mon-may 7-8", "mon 7.5-8"])
def test_what_is_no_hours_is_refused(words: str) -> None:
    """Anything but days and two different whole hours is an error that shows what is expected."""
    with pytest.raises(ValueError, match="such as mon-fri 7-22"):
        parse_hours(words)


@given(st.sets(st.sampled_from(WEEK), min_size=1))
def test_hours_survive_being_written(hours: set[int]) -> None:
    """Whatever the hours, their words give the same hours again, each once."""
    again = [hour for words in format_hours(hours) for hour in parse_hours(words)]
    assert sorted(again) == sorted(hours)


@pytest.mark.parametrize(
    ("words", "hour"),
    [
        ("2017-01-03T14:00", 38), ("2017-01-03 14:59:59", 38), ("tue 14:00", 38), ("Tuesday 14:30", 38),
        ("mon 6:59", 6), ("mon 07:00", 7), ("sun 23:59", 167), ("2017-01-03T14:00+01:00", 38),
    ],
)  # fmt: skip
def test_times_are_read_by_the_clock_on_the_wall(words: str, hour: int) -> None:
    """A date and a time, or a day and a time, give the hour of the week; a zone changes nothing."""
    assert parse_time(words) == hour


def test_now_is_a_time() -> None:
    """The word now means the time that it is."""
    assert parse_time("now", datetime(2017, 1, 3, 14, 30)) == 38
    assert 0 <= parse_time("now") < 168


@pytest.mark.parametrize("words", ["", "14:00", "tue", "2017-01-03", "tue 24:00", "xyz 7:00", "tue 7:61", "tue 7"])
def test_what_is_no_time_is_refused(words: str) -> None:
    """A time needs a day and a clock, and the error shows both ways to say it."""
    with pytest.raises(InputError, match=r"such as 2017-01-03T14:00, tue 14:00 or now"):
        parse_time(words)


def test_the_mean_over_the_week_stays() -> None:
    """Rates by period, weighted by hours, give the incidents a day of the city, for each type and all together."""
    plain = grid_department(side=3, engines=3, ladders=1)
    rates = [{"fire": 1.1, "medical": 1.4}, {"fire": 0.7, "medical": 0.2}, {"fire": 3.0, "medical": 1.0}]
    weekend = parse_hours("sat-sun 0-24")
    hours = [tuple(set(one) - set(weekend)) for one in (DAY, NIGHT)] + [weekend]
    periods = tuple(
        Period(name, own, rate) for name, own, rate in zip(("day", "night", "free"), hours, rates, strict=True)
    )
    city = replace(plain, periods=periods)
    for number, point in enumerate(city.demand):
        mean = sum(
            len(one.hours) * city.in_period(one.name).demand[number].incidents_per_day for one in periods
        )  # fmt: skip
        assert mean / 168 == pytest.approx(point.incidents_per_day, rel=1e-12)
    fires = [sum(p.incidents_per_day for p in city.in_period(n).demand if p.type == "fire") for n in ("day", "night")]
    assert fires[0] / fires[1] == pytest.approx(1.1 / 0.7)


def test_one_period_is_no_period() -> None:
    """With one period all week, whatever its rate, the city in it is the city without periods, to the last bit."""
    city = generate_grid(side=4, num_stations=3, load=0.1, seed=1)
    assert replace(city, periods=(Period("all", WEEK, 1.3),)).in_period("all") == city
    equal = replace(city, periods=(Period("day", DAY, 0.7), Period("night", NIGHT, 0.7)))
    assert equal.in_period("night") == city
    assert city.periods == (ALWAYS,)
    assert city.in_period("always") == city == replace(city, periods=city.periods)


def test_every_time_has_its_period() -> None:
    """A minute before 7:00 is night and 7:00 is day, on every day of the week."""
    city = with_periods(generate_grid(side=3, num_stations=3, load=0.1, seed=1))
    for day in range(7):
        seven = datetime(2017, 1, 2, 7) + timedelta(days=day)
        assert city.period_at(seven).name == "day"
        assert city.period_at(seven - timedelta(minutes=1)).name == "night"
        assert hour_of_week(seven) == 24 * day + 7


def test_periods_survive_a_folder(tmp_path: Path) -> None:
    """Periods with one rate, and with rates by type, are the same after writing and reading."""
    plain = grid_department(side=3, engines=3, ladders=1)
    by_type = Period("day: 7 to 22", DAY, {"fire": 1.1, "medical": 1.4})
    city = replace(plain, periods=(by_type, Period("night", NIGHT, 0.5)))
    again = read_city(write_city(city, tmp_path / "city"))
    assert again == city
    assert again.in_period("night") == city.in_period("night")


def test_a_city_without_periods_is_written_as_before(tmp_path: Path) -> None:
    """Its settings say nothing about periods, and its fingerprint is that of the week's mean of one with periods."""
    city = generate_grid(side=3, num_stations=3, load=0.1, seed=1)
    assert "period" not in (write_city(city, tmp_path / "city") / "city.toml").read_text()
    assert city_fingerprint(with_periods(city)) == city_fingerprint(city)
    assert city_fingerprint(with_periods(city).in_period("day")) != city_fingerprint(city)
    assert with_periods(city).of_week == city


def test_a_kind_has_the_periods_of_the_city() -> None:
    """The city of a kind in a period is the period's city of that kind, also where no incident needs the kind."""
    plain = grid_department(side=3, engines=3, ladders=1)
    quiet = tuple(replace(one, incidents_per_day=0.0) if one.type == "fire" else one for one in plain.demand)
    for base in (plain, replace(plain, demand=quiet)):
        periods = (Period("day", DAY, {"fire": 2.0, "medical": 1.4}), Period("night", NIGHT, 0.5))
        city = replace(base, periods=periods)
        for kind in ("engine", "ladder"):
            one, other = city.of_kind(kind).in_period("day"), city.in_period("day").of_kind(kind)
            assert city_fingerprint(one) == city_fingerprint(other)
        assert city.in_period("night").kinds == city.kinds


def test_unknown_periods_are_refused() -> None:
    """A name that is not there, or a city without periods, is named in the error."""
    city = generate_grid(side=3, num_stations=3, load=0.1, seed=1)
    with pytest.raises(InputError, match=r"expected a period \(day, night\), got 'nigt' \(did you mean night\?\)"):
        with_periods(city).in_period("nigt")
    with pytest.raises(InputError, match="this city has none"):
        city.in_period("day")
    assert city.period_at(datetime(2017, 1, 2)) == ALWAYS


@pytest.mark.parametrize(
    ("periods", "fault"),
    [
        ((Period("day", DAY),), "these are in none: mon-sun 0-7, mon-sun 22-24"),
        ((Period("all", WEEK, -1.0),), "period 1: expected rates > 0, got -1.0"),
        ((Period("all", WEEK, 1e4),), "period 1: expected rates from 0.001 to 1000, got 10000.0"),
        ((Period("all", (*WEEK, 168)),), "expected hours of the week from 0 to 167"),
        ((Period("all", ("mon",)),), "expected hours of the week from 0 to 167"),  # type: ignore[arg-type]
        ((Period("", WEEK),), "expected name not empty"),
        (("day",), "expected periods, got"),
        ((Period("all", WEEK, {"fire": 1.0}),), "expected rates for types of demand.csv, got 'fire'"),
    ],
)
def test_faults_of_periods_built_in_memory(periods: tuple[Period, ...], fault: str) -> None:
    """A city whose periods are not sound cannot be made, and the error says why."""
    city = generate_grid(side=3, num_stations=3, load=0.1, seed=1)
    with pytest.raises(CityError) as caught:
        replace(city, periods=periods)
    assert fault in str(caught.value)
