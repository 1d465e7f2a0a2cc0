"""Periods of the week: hours at which incidents come at other rates, the same ones every week.

With m_p(c) the rates that period p gives for incidents of type c, and n_p its hours of the 168 of a week, incidents of
type c come in period p at s_p(c) times their mean rate, where

    s_p(c) = m_p(c) / mean(c),        mean(c) = Σ_p n_p m_p(c) / 168,

so that the mean of s over the week is 1 and `incidents_per_day` stays the mean of the week. The mean is found as
m_0 + Σ_p n_p (m_p - m_0) / 168: then equal rates give exactly 1. Hours count from Monday 0:00 on, by the clock on the
wall.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from runcard.city.conditions import MAX_NAMED, UNREAD, Condition, is_text, near, plain, shown, stated_values
from runcard.errors import InputError

HOURS_PER_DAY: Final = 24
HOURS_PER_WEEK: Final = 168
DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HOURS: Final = re.compile(r"(?:([a-z]{3})(?:\s*-\s*([a-z]{3}))?\s+)?(\d{1,2})\s*-\s*(\d{1,2})")
_TIME: Final = re.compile(r"([a-z]{3})[a-z]*\s+(\d{1,2}):([0-5]\d)")
PERIOD_KEYS: Final = {
    "name": Condition(
        "not empty, of at most 60 characters, without commas, slashes or control characters",
        lambda name: 0 < len(name) <= 60 and name == name.strip() and not set(name) & set(",/\\") and is_text(name),
    ),
    "hours": Condition(""),
    "rates": Condition("> 0", lambda rate: not isinstance(rate, bool) and rate > 0.0, 0.001, 1000.0, default=1.0),
}
_EXPECTED_HOURS: Final = "days and whole hours, such as mon-fri 7-22 or sat 22-7"


@dataclass(frozen=True, slots=True)
class Period:
    """Hours of the week, from Monday 0:00 on, and what incident rates are there, relatively to other periods."""

    name: str
    hours: tuple[int, ...]
    """From 0 to 167."""
    rates: float | Mapping[str, float] = field(default=1.0, hash=False)
    """One number for all incidents, or one for each type."""

    def __post_init__(self) -> None:
        with suppress(TypeError):  # what is no number is found when the city is checked
            object.__setattr__(self, "hours", tuple(sorted(self.hours)))
        if isinstance(self.rates, Mapping):
            object.__setattr__(self, "rates", dict(self.rates))  # nobody else can change it

    def rate_of(self, incident_type: str) -> float:
        """The rate of a type of incident, as it was given."""
        return float(self.rates[incident_type] if isinstance(self.rates, Mapping) else self.rates)

    def of_types(self, types: Collection[str]) -> "Period":
        """The period with the rates of some types only, where it has rates by type."""
        if not isinstance(self.rates, Mapping):
            return self
        return replace(self, rates={name: rate for name, rate in self.rates.items() if name in types})

    @property
    def part_of_week(self) -> float:
        """The part of all hours that are in it."""
        return len(self.hours) / HOURS_PER_WEEK

    @property
    def words(self) -> str:
        """Its hours in words: mon-fri 7-22, sat 0-24."""
        return ", ".join(format_hours(self.hours))


ALWAYS: Final = Period("always", tuple(range(HOURS_PER_WEEK)))
"""The period of a city whose rates are the same at all hours."""


def scaled_rate(periods: Sequence[Period], period: Period, incident_type: str) -> float:
    """s_p(c): what the mean rate of a type of incident is multiplied by in a period."""
    first = periods[0].rate_of(incident_type)
    more = sum(len(one.hours) * (one.rate_of(incident_type) - first) for one in periods)
    return period.rate_of(incident_type) / (first + more / HOURS_PER_WEEK)


def hour_of_week(time: datetime) -> int:
    """The hour of the week of a time by the clock on the wall, from 0 to 167."""
    return HOURS_PER_DAY * time.weekday() + time.hour


def parse_time(words: str, now: datetime | None = None) -> int:
    """The hour of the week of a time: 2017-01-03T14:00, tue 14:00, or now."""
    text = words.strip().lower()
    if text == "now":
        return hour_of_week(datetime.now() if now is None else now)
    if found := _TIME.fullmatch(text):
        day, hour = found[1], int(found[2])
        if day in DAYS and hour < HOURS_PER_DAY:
            return HOURS_PER_DAY * DAYS.index(day) + hour
    elif ":" in text:  # a date alone is not enough
        try:
            return hour_of_week(datetime.fromisoformat(words.strip()))
        except ValueError:
            pass
    raise InputError(f"expected a time such as 2017-01-03T14:00, tue 14:00 or now, got {shown(words)}")


def parse_hours(words: str) -> tuple[int, ...]:
    """The hours of the week of words such as "mon-fri 7-22"; 22-7 runs into the next day. Raises a ValueError."""
    found = _HOURS.fullmatch(words.strip().lower())
    if not found:
        raise ValueError(_EXPECTED_HOURS)
    first, last, start, stop = found[1] or DAYS[0], found[2], int(found[3]), int(found[4])
    last = last or (first if found[1] else DAYS[-1])
    if first not in DAYS or last not in DAYS or max(start, stop) > HOURS_PER_DAY or start == stop:
        raise ValueError(_EXPECTED_HOURS)
    num_days = (DAYS.index(last) - DAYS.index(first)) % len(DAYS) + 1
    length = (stop - start) % HOURS_PER_DAY or HOURS_PER_DAY
    begins = (HOURS_PER_DAY * (DAYS.index(first) + day) + start for day in range(num_days))
    return tuple((begin + hour) % HOURS_PER_WEEK for begin in begins for hour in range(length))


def format_hours(hours: Iterable[int]) -> list[str]:
    """The words of hours of the week, which `parse_hours` reads again: days that are alike stand together."""
    listed = set(hours)
    of_day = [_stretches(sorted(hour - 24 * day for hour in listed if hour // 24 == day)) for day in range(len(DAYS))]
    found: list[str] = []
    for stretch in dict.fromkeys(one for own in of_day for one in own):
        days = [day for day, own in enumerate(of_day) if stretch in own]
        for first, stop in _stretches(days):
            name = DAYS[first] if stop == first + 1 else f"{DAYS[first]}-{DAYS[stop - 1]}"
            found.append(f"{name} {stretch[0]}-{stretch[1]}")
    return found


def _stretches(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """The unbroken stretches of rising numbers, each as its first number and the one after its last."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return found


def read_periods(given: Any) -> tuple[tuple[Period, ...] | None, list[str]]:
    """The periods of the [[period]] sections of a city, None where one could not be read, and what is wrong."""
    if not isinstance(given, list) or not given or not all(isinstance(entry, dict) for entry in given):
        return None, [f"expected periods as [[period]] sections, got {shown(given)}"]
    found: list[Period] = []
    faults: list[str] = []
    for number, entry in enumerate(given, start=1):
        own = stated_values(entry, PERIOD_KEYS)[1]
        hours: list[int] = []
        listed = entry.get("hours", [])
        words = [listed] if isinstance(listed, str) else listed
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            own.append(f"expected hours to be a list of {_EXPECTED_HOURS}, got {shown(listed)}")
            words = []
        for word in words:
            try:
                hours += parse_hours(word)
            except ValueError as error:
                own.append(f"expected hours to be {error}, got {shown(word)}")
        faults += [f"period {number}: {text}" for text in own]
        if not own:
            found.append(Period(entry["name"], tuple(hours), entry.get("rates", 1.0)))
    return (None if faults else tuple(found)), faults


def period_faults(periods: Any, types: Collection[Any]) -> Iterator[str]:
    """Every fault of the periods of a city whose demand points are of these types."""
    if not all(isinstance(one, Period) for one in periods):
        yield f"expected periods, got {shown(periods)}"
        return
    for number, one in enumerate(periods, start=1):
        for fault in _faults_of(one, types):
            yield f"period {number}: {fault}"
    names = [one.name for one in periods]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield f"expected every period to have a name of its own, got {shown(name)} {names.count(name)} times"
    listed = Counter(hour for one in periods for hour in one.hours)
    if not all(isinstance(hour, int) and 0 <= hour < HOURS_PER_WEEK for hour in listed):
        yield f"expected hours of the week from 0 to {HOURS_PER_WEEK - 1} in every period"
        return
    for words, hours in (
        ("but these are in none", [hour for hour in range(HOURS_PER_WEEK) if hour not in listed]),
        ("but these are there more than once", sorted(hour for hour, times in listed.items() if times > 1)),
    ):
        if hours:
            yield f"expected every hour of the week in one period, {words}: {', '.join(format_hours(hours))}"


def _faults_of(period: Period, types: Collection[Any]) -> Iterator[str]:
    """The faults of one period by itself."""
    if fault := PERIOD_KEYS["name"].fault("name", period.name):
        yield fault
    if not period.hours:
        yield "expected at least one hour, got none"
    if not isinstance(period.rates, Mapping):
        if fault := PERIOD_KEYS["rates"].fault("rates", period.rates):
            yield fault
        return
    known = [one for one in types if isinstance(one, str) and one]
    if UNREAD in types:
        return
    for name, rate in period.rates.items():
        if name not in known:
            choices = f" ({', '.join(known[:MAX_NAMED])}{', ...' if len(known) > MAX_NAMED else ''})" if known else ""
            yield f"expected rates for types of demand.csv{choices}, got {shown(name)}{near(str(name), known)}"
        elif fault := PERIOD_KEYS["rates"].fault(f"rates.{plain(name)}", rate):
            yield fault
    for name in types:
        if name not in period.rates:
            yield f"expected rates for every type of demand.csv, got none for {shown(name)}"
