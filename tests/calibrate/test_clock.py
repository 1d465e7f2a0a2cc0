"""The clock of a log, against datetime and zoneinfo."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from runcard.calibrate.clock import TIME_FAULTS, Clock, clock_step, local_seconds
from runcard.calibrate.rows import Column
from runcard.errors import InputError

PACIFIC = "America/Los_Angeles"
MOMENT = datetime(2024, 2, 29, 23, 59, 58)


def seconds(moment: datetime) -> float:
    """The seconds since 1970 of a moment; one without an offset is taken as UTC."""
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def read(clock: Clock, rows: Sequence[Sequence[str]]) -> tuple[list[list[float]], list[str]]:
    """[row] the moments of its times, and why they cannot be used."""
    every, columns = np.arange(len(rows)), []
    for texts in zip(*rows, strict=True):
        days = [match[0] if (match := re.match(clock.day_pattern, text)) else "" for text in texts]
        clocks = (text[len(day) :] for text, day in zip(texts, days, strict=True))
        columns.append((Column(tuple(days), every), Column(tuple(clocks), every)))
    moments, faults = clock.moments(columns, every)
    return moments.T.tolist(), [TIME_FAULTS[fault] for fault in faults]


def read_row(clock: Clock, *texts: str) -> list[float]:
    """The moments of a row without a fault."""
    (moments,), faults = read(clock, [texts])
    assert faults == [""]
    return moments


@pytest.mark.parametrize(
    "time_format",
    [
        "%m/%d/%Y %I:%M:%S %p",
        "%d/%m/%Y %H:%M:%S",
        "%d/%m/%Y %H:%M:%S.%f",
        "%Y%m%d %H%M%S",
        "%Y-%m-%dT%H:%M:%S",
        "%d %b %Y %H:%M:%S",
        "%A, %d %B %Y, %H:%M:%S",
        "%d.%m.%y %H:%M:%S",
    ],
)
def test_any_format_reads_what_strftime_writes(time_format: str) -> None:
    """Times of a day and of noon and midnight, written by strftime, are read as they were."""
    clock = Clock(time_format, None)
    for moment in (MOMENT, *(datetime(2024, 1, 1, hour, 5, 9) for hour in (0, 1, 11, 12, 13, 23))):
        assert read_row(clock, moment.strftime(time_format)) == [seconds(moment)]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-02-29T23:59:58", MOMENT),
        ("2024-02-29 23:59:58", MOMENT),
        ("2024-02-29T23:59:58.25", MOMENT + timedelta(seconds=0.25)),
        ("2024-02-29T23:59:58,250", MOMENT + timedelta(seconds=0.25)),
        ("2024-02-29T23:59", MOMENT.replace(second=0)),
        ("2024-02-29T23:59:58Z", MOMENT),
        ("2024-02-29T23:59:58+02:00", MOMENT - timedelta(hours=2)),
        ("2024-02-29 23:59:58 -0730", MOMENT + timedelta(hours=7.5)),
        ("20240229T235958", MOMENT),
    ],
)
def test_iso_times(text: str, moment: datetime) -> None:
    """ISO times with T or a space, fractions, Z and offsets are the moments that datetime reads."""
    assert read_row(Clock("iso", None), text) == [seconds(moment)]
    if " -" not in text and "," not in text:
        assert seconds(datetime.fromisoformat(text)) == seconds(moment)


@pytest.mark.parametrize(
    "text", ["not yet", "2024-02-30T10:00:00", "2024-02-29", "2024-02-29T24:01", "0001-01-01T00:00"]
)
def test_what_is_no_time_is_a_reason(text: str) -> None:
    """A text that is no time is refused in words that can be counted."""
    (moments,), faults = read(Clock("iso", None), [[text, "2024-02-29T10:00"]])
    assert faults == ["a time that cannot be read"]
    assert np.isnan(moments).tolist() == [True, False]


def test_an_empty_text_is_no_time() -> None:
    """A cell that is empty gives NaN and leaves the others alone."""
    found = read_row(Clock("iso", PACIFIC), "", "2024-02-29T10:00", "")
    assert np.isnan(found[::2]).all()
    assert found[1] == datetime(2024, 2, 29, 10, tzinfo=ZoneInfo(PACIFIC)).timestamp()


@pytest.mark.parametrize(
    "time_format", ["%H:%M:%S", "%d/%m/%Y", "%d/%m %H:%M", "%d/%m/%Y %I:%M", "%Q %H:%M", "isoo", ""]
)
def test_a_format_that_lacks_something_is_refused(time_format: str) -> None:
    """A format without a year, a month, a day, an hour of 24 or a minute would give wrong times, so it is an error."""
    with pytest.raises(InputError, match=r"expected log\.time_format with year, month, day, hour and minute"):
        Clock(time_format, None)


def test_an_unknown_time_zone_suggests_one() -> None:
    """A misspelt time zone is an error with a suggestion."""
    with pytest.raises(InputError, match=r"got 'America/Los_Angelos' \(did you mean America/Los_Angeles\?\)"):
        Clock("iso", "America/Los_Angelos")


@pytest.mark.parametrize("zone", [PACIFIC, "Europe/London", "Australia/Lord_Howe", "Asia/Kolkata"])
def test_every_local_time_of_a_year_is_that_of_zoneinfo(zone: str) -> None:
    """Every twenty minutes of a year, a local time by itself becomes the moment that zoneinfo gives, or is skipped."""
    own, skipped = ZoneInfo(zone), 0
    moments = [datetime(2024, 1, 1) + timedelta(minutes=20 * step) for step in range(366 * 72)]
    found, faults = read(Clock("iso", zone), [[moment.isoformat()] for moment in moments])
    for moment, (second,), fault in zip(moments, found, faults, strict=True):
        expected = moment.replace(tzinfo=own).timestamp()
        if datetime.fromtimestamp(expected, own).replace(tzinfo=None) != moment:
            skipped += 1
            assert fault == "a time that the clocks skipped when they went forward"
        else:
            assert (second, fault) == (expected, "")
    changes = {PACIFIC: 3, "Europe/London": 3, "Australia/Lord_Howe": 2, "Asia/Kolkata": 0}
    assert skipped == changes[zone]


@pytest.mark.parametrize(
    ("clocks", "utc_minutes"),
    [
        (["01:10", "01:20", "01:50"], [0, 10, 40]),  # nothing tells the hours apart: the first
        (["01:50", "01:05", "01:20"], [0, 15, 30]),  # it goes back within the row
        (["00:59", "01:01", "01:10"], [0, 2, 11]),
        (["01:30", "01:40", "02:05"], [0, 10, 35]),  # the second hour makes the row shorter
        (["00:30", "01:40", "02:05"], [0, 70, 155]),  # the length is the same: the first hour
        (["01:30", "", "01:10"], [0, None, 40]),
    ],
)
def test_an_hour_that_happens_twice(clocks: list[str], utc_minutes: list[int | None]) -> None:
    """On the day on which clocks go back a row is read in order and as short as it can be."""
    clock = Clock("iso", PACIFIC)
    found = read_row(clock, *(f"2024-11-03T{one}" if one else "" for one in clocks))
    assert clock.read_twice == 1
    for moment, minutes in zip(found, utc_minutes, strict=True):
        assert np.isnan(moment) if minutes is None else (moment - found[0]) / 60.0 == minutes
    back = [datetime.fromtimestamp(one, ZoneInfo(PACIFIC)).strftime("%H:%M") for one in found if one == one]
    assert back == [one for one in clocks if one]


def test_two_time_zones_in_one_file() -> None:
    """A time with an offset keeps it, also in the hour that happens twice; the others take the zone of the mapping."""
    clock = Clock("iso", PACIFIC)
    found = read_row(clock, "2024-07-01T10:00:00-04:00", "2024-07-01T07:05:00", "2024-07-01T14:10:00Z")
    assert [(one - found[0]) / 60.0 for one in found] == [0.0, 5.0, 10.0]
    assert (clock.with_offset, clock.without_offset) == (2, 1)
    twice = read_row(clock, "2024-11-03T01:30:00-08:00", "2024-11-03T01:40:00", "2024-11-03T01:50:00-08:00")
    assert [(one - twice[0]) / 60.0 for one in twice] == [0.0, 10.0, 20.0]


@pytest.mark.parametrize("zone", [PACIFIC, "Europe/London", None])
def test_local_seconds_are_what_the_wall_shows(zone: str | None) -> None:
    """Moments around both clock changes are shown as zoneinfo shows them."""
    moments = [
        datetime(2024, month, 3, tzinfo=UTC) + timedelta(minutes=15 * k) for month in (3, 11) for k in range(3000)
    ]
    found = local_seconds(np.array([one.timestamp() for one in moments]), zone)
    expected = [one.astimezone(ZoneInfo(zone or "UTC")).replace(tzinfo=UTC).timestamp() for one in moments]
    assert found.tolist() == expected


@pytest.mark.parametrize("step", [1, 5, 10, 15, 30, 60, 300, 600, 900])
def test_the_step_of_a_clock_is_found(step: int) -> None:
    """Moments cut or rounded to steps show them, also with a tenth that are exact; 30 moments are needed."""
    rng = np.random.default_rng(step)
    exact = rng.random(200) * 1e7 + 1.7e9
    for shown in (np.floor, np.round):
        seconds = shown(exact / step) * step
        assert clock_step(seconds) == step
        seconds[:20] = np.floor(exact[:20])
        seconds[20] = np.nan
        assert clock_step(seconds) == step
        assert clock_step(seconds[-29:]) == 1
    assert clock_step(exact) == 1
    assert clock_step(np.full(40, np.nan)) == 1
