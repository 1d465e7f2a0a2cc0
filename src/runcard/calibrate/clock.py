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

from runcard.city.conditions import near, shown
from runcard.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NAN: Final = float("nan")
EPOCH: Final = date(1970, 1, 1)
DAY_SECONDS: Final = 86400
HALF_HOUR: Final = 1800
MOST_KEPT: Final = 400_000
"""So many clock times are remembered; there are 86,400 unless they have fractions."""
EARLIEST, LATEST = 1900, 2200
COARSE_STEPS: Final = (5, 10, 15, 30, 60, 300, 600, 900)
"""Seconds in which coarse clocks go."""
LEAST_MOMENTS: Final = 30
MOST_MOMENTS: Final = 0.5
_WIDTHS: Final = {"Y": 4, "m": 2, "d": 2, "H": 2, "I": 2, "M": 2, "S": 2, "p": 2}
"""Of what strptime reads."""
_LIMITS: Final = {"Y": (EARLIEST, LATEST), "m": (1, 12), "H": (0, 23), "I": (1, 12), "M": (0, 59), "S": (0, 59)}
_ISO: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ])[0-9]{2}:[0-9]{2}(?:(:[0-9]{2})(\.(?:[0-9]{3}){1,2})?)?")
_CLOCK_PART: Final = re.compile(r"([T ])%[HIMSTX]")


class TimeError(ValueError):
    """A text that is no time; the message says why, as a reason for which rows are rejected."""


class Clock:
    """Reads the times of a log, all written in one way."""

    def __init__(self, time_format: str, time_zone: str | None) -> None:
        self._format, self._iso = time_format, time_format == "iso"
        self._date_format, self._cut, self._time_format = ("", "", "") if self._iso else _parts(time_format)
        self._cuts = self._date_format.count(self._cut) + 1 if self._cut else 1
        self._zone = None if time_zone is None else _zone(time_zone)
        self._days: dict[str, int] = {}
        self._seconds: dict[str, tuple[float, float | None]] = {}
        self._offsets: dict[int, tuple[int, int]] = {}
        self._even_days = cache(self._even_day)
        self.with_offset = self.without_offset = self.read_twice = 0

    def read(self, text: str) -> tuple[float, float | None]:
        """The seconds since 1970 of a local time, and its offset from UTC in seconds if the text has one."""
        if self._cuts > 1:
            *words, clock = text.split(self._cut, self._cuts)
            day = self._cut.join(words)
        else:
            day, _, clock = text.partition(" ") if " " in text else text.partition("T")
        days = self._days.get(day)
        if days is None:
            days = self._read_day(day)
        found = self._seconds.get(clock)
        if found is None:
            found = self._read_clock(clock)
        if found[1] is None:
            self.without_offset += 1
        else:
            self.with_offset += 1
        return days * DAY_SECONDS + found[0], found[1]

    def _read_day(self, text: str) -> int:
        try:
            found = date.fromisoformat(text) if self._iso else datetime.strptime(text, self._date_format).date()
        except ValueError:
            raise TimeError("a time that cannot be read") from None
        if not EARLIEST <= found.year <= LATEST:
            raise TimeError("a time that cannot be read")
        days = self._days[text] = (found - EPOCH).days
        return days

    def _read_clock(self, text: str) -> tuple[float, float | None]:
        try:
            # Some write a space before the offset.
            found = (
                time.fromisoformat(text.replace(" ", ""))
                if self._iso
                else datetime.strptime(text, self._time_format).timetz()
            )
        except ValueError:
            raise TimeError("a time that cannot be read") from None
        offset = found.utcoffset()
        seconds = 3600.0 * found.hour + 60.0 * found.minute + found.second + found.microsecond / 1e6
        if len(self._seconds) >= MOST_KEPT:
            self._seconds.clear()
        self._seconds[text] = seconds, None if offset is None else offset.total_seconds()
        return self._seconds[text]

    def columns(self, columns: Sequence[Sequence[str]]) -> tuple[Floats, Ints]:
        """[column, row] the UTC seconds of many rows, NaN where a text is empty, and the rows that `times` has to read.

        Nearly all times are figures of fixed width, without an offset in the text, and the clocks did not change on
        their day. What these are does not depend on the rest of their row.
        """
        found = np.full((len(columns), len(columns[0])), NAN)
        is_text = np.array([np.fromiter(map(bool, texts), np.bool_, len(texts)) for texts in columns])
        for texts, seconds in zip(columns, found, strict=True):
            example = next(filter(None, texts), "")
            time_format = _iso_format(example) if self._iso else self._format
            if self._cut != "T" or " " not in time_format:  # else `read` would cut it elsewhere
                days, of_day = _read_figures(texts, time_format, len(example))
                listed, place = np.unique(days, return_inverse=True)
                seconds[:] = np.array([self._even_days(day) for day in listed.tolist()])[place] + of_day
        is_other = (np.isnan(found) & is_text).any(axis=0)
        self.without_offset += int(np.count_nonzero(is_text[:, ~is_other]))
        return found, np.flatnonzero(is_other)

    def _even_day(self, day: int) -> float:
        """The UTC seconds at which a day since 1970 begins; NaN if the clocks change on it."""
        begin, offsets = day * DAY_SECONDS, {(0, 0)}
        if self._zone is not None:
            offsets = {self._offsets_of(begin // HALF_HOUR + part) for part in range(DAY_SECONDS // HALF_HOUR)}
        first, second = next(iter(offsets))
        return float(begin - first) if len(offsets) == 1 and first == second else NAN

    def times(self, texts: Sequence[str]) -> list[float]:
        """The UTC seconds of the times of one row, in order; NaN where a text is empty. A TimeError if one is none."""
        found, unsure = [], False
        for text in texts:
            if not text:
                found.append(NAN)
                continue
            local, offset = self.read(text)
            if offset is not None:
                found.append(local - offset)
            elif self._zone is None:
                found.append(local)
            else:
                first, second = self._offsets_at(local)
                unsure |= first != second
                found.append(local - first)
        return self._in_order(texts, found) if unsure else found

    def _offsets_at(self, local: float) -> tuple[int, int]:
        """The offsets of a local time, before and after clocks went back; a TimeError for one that clocks skipped."""
        found = self._offsets_of(int(local // HALF_HOUR))
        if found[0] < found[1]:
            raise TimeError("a time that the clocks skipped when they went forward")
        return found

    def _offsets_of(self, half_hour: int) -> tuple[int, int]:
        """The same for a half hour since 1970, with the second one greater if the clocks skipped it."""
        found = self._offsets.get(half_hour)
        if found is None:
            moment = datetime(1970, 1, 1) + timedelta(seconds=half_hour * HALF_HOUR)
            first, second = (
                int((moment.replace(tzinfo=self._zone, fold=fold).utcoffset() or timedelta()).total_seconds())
                for fold in (0, 1)
            )
            found = self._offsets[half_hour] = (first, second)
        return found

    def _in_order(self, texts: Sequence[str], first: list[float]) -> list[float]:
        """The times of a row of which some happened twice."""
        self.read_twice += 1
        steps = []
        for text, value in zip(texts, first, strict=True):
            local, offset = self.read(text) if text else (0.0, 0.0)
            before, after = self._offsets_at(local) if offset is None else (0, 0)
            steps.append((value, value + before - after))
        best, shortest = first, float("inf")
        for change in range(len(steps), -1, -1):  # the last `change` times are of the second hour
            times = [pair[place >= change] for place, pair in enumerate(steps)]
            known = [one for one in times if one == one]
            length = known[-1] - known[0]
            if all(a <= b for a, b in pairwise(known)) and length < shortest - 1e-9:
                best, shortest = times, length
        return best


def _iso_format(text: str) -> str:
    """The format of an ISO time, empty if it is of another form."""
    match = _ISO.fullmatch(text)
    if match is None:
        return ""
    return f"%Y-%m-%d{match[1]}%H:%M{':%S' if match[2] else ''}{'.%f' if match[3] else ''}"


def _read_figures(texts: Sequence[str], time_format: str, width: int) -> tuple[Ints, Floats]:
    """[text] the day since 1970 and the seconds of the day of times that are figures of this width in all; NaN for
    what is not written exactly so, and is left to `Clock.read`."""
    fields = re.findall(r"%(.)|(.)", time_format, re.DOTALL)
    keys, sizes = [key for key, _ in fields if key], [1 if sign else _WIDTHS.get(key, 0) for key, sign in fields]
    if "f" in keys:
        sizes[fields.index(("f", ""))] = width - sum(sizes)
    is_complete = len({*keys}) == len(keys) and {*keys} - {"f", "S"} in ({*"YmdHM"}, {*"YmdIMp"})
    if not is_complete or sum(sizes) != width or min(sizes) < 1:
        return np.zeros(len(texts), np.int64), np.full(len(texts), NAN)
    signs = np.array(texts, f"U{width + 1}").view(np.uint32).reshape(len(texts), width + 1).T.astype(np.int64)
    fits, at = signs[width] == 0, dict.fromkeys("Sfp", np.zeros(len(texts), np.int64))
    for (key, sign), end, size in zip(fields, np.cumsum(sizes).tolist(), sizes, strict=True):
        own = signs[end - size : end]
        if sign:
            fits &= own[0] == ord(sign)
        elif key == "p":
            fits &= ((own[0] == ord("A")) | (own[0] == ord("P"))) & (own[1] == ord("M"))
            at["p"] = 12 * (own[0] == ord("P"))
        else:
            figures = own - ord("0")
            at[key] = 10 ** np.arange(size)[::-1] @ figures
            least, most = _LIMITS.get(key, (0, 10**size))
            fits &= ((figures >= 0) & (figures <= 9)).all(axis=0) & (at[key] >= least) & (at[key] <= most)
    months = np.where(fits, 12 * (at["Y"] - 1970) + at["m"] - 1, 0)
    first, following = (
        month.astype("datetime64[M]").astype("datetime64[D]").astype(int) for month in (months, months + 1)
    )
    fits &= (at["d"] >= 1) & (at["d"] <= following - first)
    hour = at["H"] if "H" in at else at["I"] % 12 + at["p"]
    fraction = at["f"] * 1000**2 // 10 ** sizes[fields.index(("f", ""))] / 1e6 if "f" in keys else 0.0
    seconds = np.where(fits, 3600.0 * hour + 60.0 * at["M"] + at["S"] + fraction, NAN)
    return np.where(fits, first + at["d"] - 1, 0), seconds


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
