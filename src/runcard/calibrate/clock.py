"""Times of a log as seconds since 1970, read fast: a million rows have few different dates and clock times.

A text is cut into its date and its clock time, where the format says or at the first space or T, and each part is read
once. Local times become UTC by the time zone of the mapping. When clocks go forward some local times never happen. When
they go back some happen twice: of all ways to read a row in order, the shortest one is taken, and the first hour where
nothing tells them apart.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from runcard.calibrate.rows import Column
from runcard.city.conditions import near, shown
from runcard.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NAN: Final = float("nan")
EPOCH: Final = date(1970, 1, 1)
DAY_SECONDS: Final = 86400
HALF_HOUR: Final = 1800
EARLIEST, LATEST = 1900, 2200
COARSE_STEPS: Final = (5, 10, 15, 30, 60, 300, 600, 900)
"""Seconds in which coarse clocks go."""
LEAST_MOMENTS: Final = 30
MOST_MOMENTS: Final = 0.5
UNREADABLE: Final = "a time that cannot be read"
TIME_FAULTS: Final = ("", UNREADABLE, "a time that the clocks skipped when they went forward")
"""Why the times of a row cannot be used."""
_CLOCK_PART: Final = re.compile(r"([T ])%[HIMSTX]")


class Clock:
    """Reads the times of a log, all written in one way."""

    def __init__(self, time_format: str, time_zone: str | None) -> None:
        self._iso = time_format == "iso"
        self._date_format, cut, self._time_format = ("", "", "") if self._iso else _parts(time_format)
        cuts = self._date_format.count(cut) if cut else 0
        self.day_pattern = f"^([^{cut}]*{cut}){{1,{cuts + 1}}}" if cuts else "^([^ ]* |[^ T]*T)"
        """Matches the date of a time, with the sign behind it."""
        self._zone = None if time_zone is None else _zone(time_zone)
        self._has_fraction = self._iso or self._time_format.endswith(".%f")
        self._whole_seconds, self._offsets = cache(self._read_clock), cache(self._find_offsets)
        self._values = cache(lambda read, texts: np.array(list(map(read, texts))))
        self.with_offset = self.without_offset = self.read_twice = 0

    def _read_day(self, text: str) -> tuple[float, float]:
        """When a date begins in seconds since 1970, NaN if it is none, and its offset from UTC, NaN if it changes."""
        with suppress(ValueError):
            day = date.fromisoformat(text[:-1]) if self._iso else datetime.strptime(text[:-1], self._date_format).date()
            if EARLIEST <= day.year <= LATEST:
                begin = (day - EPOCH).days * DAY_SECONDS
                offsets = {*self._offsets(begin // HALF_HOUR), *self._offsets((begin + DAY_SECONDS) // HALF_HOUR)}
                return float(begin), float(offsets.pop()) if len(offsets) == 1 else NAN
        return NAN, NAN

    def _read_time(self, text: str) -> tuple[float, float]:
        """What `_read_clock` says, which reads clock times that differ only in parts of a second once."""
        whole, point, figures = text.rpartition(".")
        if not (self._has_fraction and point and figures.isascii() and figures.isdigit() and len(figures) <= 6):
            return self._whole_seconds(text)
        seconds, offset = self._whole_seconds(f"{whole}.0")
        return seconds + int(figures.ljust(6, "0")) / 1e6, offset

    def _read_clock(self, text: str) -> tuple[float, float]:
        """The seconds of a clock time, NaN if it is none, and its offset from UTC, NaN if it has none."""
        with suppress(ValueError):
            # Some write a space before the offset.
            clock = (
                time.fromisoformat(text.replace(" ", ""))
                if self._iso
                else datetime.strptime(text, self._time_format).timetz()
            )
            offset = clock.utcoffset()
            seconds = 3600.0 * clock.hour + 60.0 * clock.minute + clock.second + clock.microsecond / 1e6
            return seconds, NAN if offset is None else offset.total_seconds()
        return NAN, NAN

    def _find_offsets(self, half_hour: int) -> tuple[int, int]:
        """The offsets of local times before and after clocks went back; the second is greater where they skipped it."""
        moment = datetime(1970, 1, 1) + timedelta(seconds=half_hour * HALF_HOUR)
        first, second = (
            int((moment.replace(tzinfo=self._zone, fold=fold).utcoffset() or timedelta()).total_seconds())
            for fold in (0, 1)
        )
        return first, second

    def moments(self, columns: Sequence[tuple[Column, Column]], rows: Ints) -> tuple[Floats, Ints]:
        """[column, row] the UTC seconds of some rows, given the days and the clock times of their times, in order; NaN
        where there is none. And [row] the number of its fault in TIME_FAULTS."""
        moments, faults = np.empty((len(columns), len(rows))), np.zeros(len(rows), np.int64)
        later: dict[tuple[int, int], float] = {}
        for column, (days, clocks) in enumerate(columns):
            begin, even = self._values(self._read_day, days.texts)[days.numbers[rows]].T
            seconds, own = self._values(self._read_time, clocks.texts)[clocks.numbers[rows]].T
            offset, local = np.where(np.isnan(own), even, own), begin + seconds
            moments[column] = local - offset
            is_read, is_text = ~np.isnan(local), days.each(bool, rows) | clocks.each(bool, rows)
            self.with_offset += int(np.count_nonzero(is_read & ~np.isnan(own)))
            self.without_offset += int(np.count_nonzero(is_read & np.isnan(own)))
            faults[is_text & ~is_read & (faults == 0)] = 1
            for row in np.flatnonzero(is_read & np.isnan(offset)).tolist():
                first, second = self._offsets(int(local[row] // HALF_HOUR))
                if first < second:
                    faults[row] = faults[row] or 2
                else:
                    moments[column, row] = local[row] - first
                    if first > second:
                        later[column, row] = local[row] - second
        for row in {row: None for _, row in later}:
            self.read_twice += 1
            if not faults[row]:
                first = moments[:, row].tolist()
                last = [later.get((column, row), moment) for column, moment in enumerate(first)]
                moments[:, row] = _in_order(first, last)
        return moments, faults


def _in_order(first: list[float], last: list[float]) -> list[float]:
    """The times of a row of which some happened twice, given when each happened first and last."""
    best, shortest = first, float("inf")
    for change in range(len(first), -1, -1):  # from here on they are of the second hour
        times = first[:change] + last[change:]
        known = [moment for moment in times if moment == moment]
        length = known[-1] - known[0]
        if all(a <= b for a, b in pairwise(known)) and length < shortest - 1e-9:
            best, shortest = times, length
    return best


def _parts(time_format: str) -> tuple[str, str, str]:
    """The format of dates, what stands behind it, and the format of clock times; an InputError if a part is missing."""
    match = _CLOCK_PART.search(time_format)
    if match is not None:
        days, cut, clock = time_format[: match.start()], match[1], time_format[match.start() + 1 :]
        moment = datetime(2022, 11, 27, 18, 45)
        with suppress(ValueError, re.error):
            same_day = datetime.strptime(moment.strftime(days), days).date() == moment.date()
            same_time = datetime.strptime(moment.strftime(clock), clock).time() == moment.time()
            if same_day and same_time:
                return days, cut, clock
    raise InputError(
        'expected log.time_format with year, month, day, hour and minute, such as "%d/%m/%Y %H:%M:%S", or "iso", got '
        f"{shown(time_format)}"
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        from zoneinfo import available_timezones

        raise InputError(
            f"expected log.time_zone such as America/New_York, got {shown(name)}{near(name, available_timezones())}"
        ) from None


def clock_step(seconds: Floats) -> int:
    """The seconds in which the clock that showed these moments goes: 1, unless most are multiples of more.

    Those that any clock of smaller steps shows do not count.
    """
    known, found = seconds[np.isfinite(seconds)], 1
    if len(known) >= LEAST_MOMENTS:
        for step in COARSE_STEPS:
            chance = found / step
            if step % found == 0 and ((known % step == 0.0).mean() - chance) / (1.0 - chance) > MOST_MOMENTS:
                found = step
    return found


def local_seconds(seconds: Floats, time_zone: str | None) -> Floats:
    """[moment] the same as the clock on the wall shows it, in seconds since 1970."""
    if time_zone is None:
        return seconds
    zone = _zone(time_zone)
    keys, place = np.unique(np.floor(seconds / HALF_HOUR), return_inverse=True)
    offsets = [
        (datetime.fromtimestamp(key * HALF_HOUR, UTC).astimezone(zone).utcoffset() or timedelta()).total_seconds()
        for key in keys.tolist()
    ]
    found: Floats = seconds + np.array(offsets)[place]
    return found
