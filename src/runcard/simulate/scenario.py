"""Scenarios: in which ways the simulation departs from the paper's model. Each is a few lines of TOML.

    title = "Busy while driving there, on scene and driving back"

    [busy]
    kind = "parts"          # one time from dispatch on ("total"), or drive, time on scene and drive back
    model = "lognormal"     # of the total or of the time on scene
    cv = 0.8

What a scenario does not name is as in the city and in the paper's model. Scenarios are combined by name: every part of
`turn-back+evening` adds its own keys, and two parts may not say different things. A key that would have no effect is an
error.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from runcard.city.check import (
    LEAST_CV,
    LEAST_MINUTES,
    MAX_CV,
    Condition,
    UnreadableError,
    is_text,
    near,
    one_of,
    plain,
    shown,
)
from runcard.city.files import read_text
from runcard.city.model import City
from runcard.city.settings import parse_toml, typed
from runcard.errors import CityError, InputError

HOURS_PER_DAY: Final = 24
HOURS_PER_WEEK: Final = 168
DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
TIME_MODELS: Final = ("exponential", "fixed", "gamma", "lognormal", "hyperexponential")
KINDS: Final = ("total", "parts")
PAPER: Final = "paper"
SHIFT_KEYS: Final = ("station", "trucks", "every", "off_hours", "days")
REPAIR_HOURS: Final = 24.0
MOST: Final = 1e6
"""Minutes, hours or breakdowns: far more than makes sense, and few enough to be simulated."""


@dataclass(frozen=True, slots=True)
class Busy:
    """How long trucks are busy: one time from dispatch on, or the drive there, a time on scene and the drive back.

    `mean_minutes` is the mean of that one time or of the time on scene. If it is None, trucks are busy as long as the
    city says on average, as far as the drive leaves time for it.
    """

    kind: str = "total"
    model: str = "exponential"
    cv: float | None = None
    mean_minutes: float | None = None
    back_factor: float = 1.0
    """The drive home takes this many times as long as a drive there."""
    back_model: str | None = None
    """The law of the time on a link on the way home; None: that of the way there."""
    back_cv: float | None = None


@dataclass(frozen=True, slots=True)
class Shift:
    """Hours of the week, from Monday 0:00 on, at which some trucks are out of service.

    They are the last `trucks` of a station or, if that is None, every n-th truck of the city.
    """

    station: str | None
    start_hour: float
    num_hours: float
    trucks: int = 1
    every: int = 1


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario; the defaults are the paper's model."""

    name: str = PAPER
    title: str = "The paper's model"
    busy: Busy = Busy()
    turn_back: float = 0.0
    """The chance that a truck turns back when the truck that counts has arrived before it."""
    redirect: bool = False
    """Whether trucks on their way home can be sent."""
    rates: tuple[float, ...] = ()
    """What incident rates are multiplied by, of mean 1, at each hour of the day or of the week."""
    log: Path | None = None
    """Incidents that are replayed instead of drawn."""
    breakdowns_per_year: float = 0.0
    """Of each truck."""
    repair_hours: float = REPAIR_HOURS
    shifts: tuple[Shift, ...] = ()
    call_minutes: float = 0.0
    """From the call, when the clock of the target starts, to dispatch."""
    turnout: tuple[tuple[str, Any], ...] = ()
    driving: tuple[tuple[str, Any], ...] = ()
    """What is different about turnout and driving times, as pairs of key and value."""
    shared_delay: float | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without a city."""
        for fault in _scenario_faults(self):
            raise InputError(f"scenario {self.name}: {fault}")

    @property
    def drives_home(self) -> bool:
        """Whether trucks drive home."""
        return self.busy.kind == "parts" or self.turn_back > 0.0

    def changed(self, city: City) -> City:
        """The city as the scenario changes it; policies do not know of it."""
        driving, turnout = dict(self.driving), dict(self.turnout)
        if "model" in driving:  # what belongs to another model goes with it
            driving = {"cv": None, "tail_index": None, "coupled_branch": None, **driving}
        if "model" in turnout:
            turnout = {"cv": None, **turnout}
        shared_delay = city.shared_delay if self.shared_delay is None else self.shared_delay
        try:
            found = replace(
                city,
                driving=replace(city.driving, **driving),
                turnout=replace(city.turnout, **turnout),
                shared_delay=shared_delay,
            )
        except CityError as error:
            raise InputError(f"scenario {self.name}: {'; '.join(error.faults)}") from error
        if "shared" in turnout and found.turnout.mean_minutes == 0.0:
            raise InputError(f"scenario {self.name}: expected turnout.mean_minutes > 0 with turnout.shared, got 0")
        return found


def _scenario_faults(scenario: Scenario) -> Iterator[str]:
    """What is wrong with a scenario in any city."""
    for key, (attribute, condition) in CONDITIONS.items():
        if fault := condition.fault(key, attrgetter(attribute)(scenario)):
            yield fault
    busy = scenario.busy
    yield from _law_faults("busy.", busy.model, busy.cv)
    if busy.back_model is not None:
        yield from _law_faults("busy.back_", busy.back_model, busy.back_cv)
    elif busy.back_cv is not None:
        yield f"expected busy.back_model with busy.back_cv, got none: {busy.back_cv:g} would have no effect"
    if not scenario.drives_home and (busy.back_model is not None or busy.back_factor != 1.0):
        key = "back_factor" if busy.back_model is None else "back_model"
        yield f'expected busy.kind = "parts" or dispatch.turn_back with busy.{key}: without it nobody drives home'
    if scenario.redirect and busy.kind != "parts":
        yield (
            'expected busy.kind = "parts" with dispatch.redirect: without it nobody drives home; combine it with '
            "there-and-back"
        )
    if scenario.breakdowns_per_year == 0.0 and scenario.repair_hours != REPAIR_HOURS:
        yield "expected out_of_service.breakdowns_per_year > 0 with out_of_service.repair_hours, got 0"
    if len(scenario.rates) not in (0, HOURS_PER_DAY, HOURS_PER_WEEK) or not all(
        0.0 <= rate < inf for rate in scenario.rates
    ):
        yield f"expected 24 or 168 rates from 0 up, got {shown(scenario.rates)}"
    if scenario.log is not None and scenario.rates:
        yield "expected replay.log or rates, got both: a log has its own rates"
    for shift in scenario.shifts:
        if not (0.0 <= shift.start_hour <= HOURS_PER_WEEK and 0.0 < shift.num_hours <= HOURS_PER_WEEK):
            yield f"expected a shift inside a week, got {shown(shift)}"


def _law_faults(section: str, model: str, cv: float | None) -> Iterator[str]:
    """The fault of a law that lacks a variation that it needs, or has one that it cannot have."""
    if model not in LEAST_CV:
        if cv is not None:
            yield f"expected no {section}cv for {model}, got {cv:g}"
    elif cv is None or not LEAST_CV[model] <= cv <= MAX_CV:
        found = "none" if cv is None else f"{cv:g}"
        yield f"expected {section}cv from {LEAST_CV[model]:g} to {MAX_CV:g} for {model}, got {found}"


def built_in_names() -> tuple[str, ...]:
    """The names of the built-in scenarios, the paper's model first."""
    names = sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml"))
    return (PAPER, *(name for name in names if name != PAPER))


def read_scenario(words: str) -> Scenario:
    """The scenario of some names of built-in ones and TOML files, with + between them."""
    given: dict[str, tuple[Any, str]] = {}
    titles, folder = [], Path()
    for word in (part.strip() for part in words.split("+")):
        part = _read_part(word)
        titles.append(_title(part.document.pop("title", word), part.where))
        for key, value in _flat(part.document, part.where).items():
            if key in given and given[key][0] != value:
                raise InputError(f"scenario {words}: {given[key][1]} and {part.where} both say what {key} is")
            given[key] = (value, part.where)
            if key == "replay.log":
                folder = part.folder
    return _scenario(words, "; ".join(titles), given, folder)


def _folder() -> Any:
    return files("runcard.simulate") / "scenarios"


class _Part(NamedTuple):
    """What a built-in scenario or a file says, how it is called in messages, and the folder that it is in."""

    document: dict[str, Any]
    where: str
    folder: Path


def _read_part(word: str) -> _Part:
    """The part of a scenario that has that name."""
    if word in built_in_names():
        return _Part(tomllib.loads((_folder() / f"{word}.toml").read_text("utf-8")), word, Path())
    path = Path(word)
    if not word or not (path.suffix == ".toml" or _exists(path)):
        names = ", ".join(built_in_names())
        raise InputError(
            f"expected a scenario, got {shown(word)}{near(word, built_in_names())}; there are {names}, or a file"
        )
    try:
        return _Part(parse_toml(read_text(path)), str(path), path.parent)
    except UnreadableError as error:
        raise InputError(f"{path}: {error}") from error


def _exists(path: Path) -> bool:
    """Whether there is such a file; not if the name is too long for one."""
    try:
        return path.exists()
    except OSError:
        return False


def _title(title: Any, where: str) -> str:
    if not isinstance(title, str) or not is_text(title):
        raise InputError(f"{where}: expected title to be text without control characters, got {shown(title)}")
    return title


KEYS: Final[Mapping[str, type]] = {
    "busy.kind": str,
    "busy.model": str,
    "busy.cv": float,
    "busy.mean_minutes": float,
    "busy.back_factor": float,
    "busy.back_model": str,
    "busy.back_cv": float,
    "dispatch.turn_back": float,
    "dispatch.redirect": bool,
    "rates.by_hour_of_day": list,
    "rates.by_hour_of_week": list,
    "rates.swing": float,
    "replay.log": str,
    "out_of_service.breakdowns_per_year": float,
    "out_of_service.repair_hours": float,
    "call.minutes": float,
    "turnout.mean_minutes": float,
    "turnout.model": str,
    "turnout.cv": float,
    "turnout.shared": bool,
    "driving.model": str,
    "driving.cv": float,
    "driving.tail_index": float,
    "driving.fixed_part": float,
    "shared_delay": float,
}
"""Every key of a scenario besides `title` and the list `shift`, with the type of its value."""

_CHANCE: Final = Condition(float, "from 0 to 1", lambda value: 0.0 <= value <= 1.0)
_NOT_NEGATIVE: Final = Condition(float, ">= 0", lambda value: value >= 0.0, 0.0, MOST)
_POSITIVE: Final = Condition(float, "> 0", lambda value: value > 0.0, LEAST_MINUTES, MOST)

CONDITIONS: Final[Mapping[str, tuple[str, Condition]]] = {
    "busy.kind": ("busy.kind", one_of(KINDS)),
    "busy.model": ("busy.model", one_of(TIME_MODELS)),
    "busy.mean_minutes": ("busy.mean_minutes", _POSITIVE._replace(optional=True)),
    "busy.back_factor": ("busy.back_factor", _NOT_NEGATIVE),
    "busy.back_model": ("busy.back_model", one_of(TIME_MODELS)._replace(optional=True)),
    "dispatch.turn_back": ("turn_back", _CHANCE),
    "out_of_service.breakdowns_per_year": ("breakdowns_per_year", _NOT_NEGATIVE),
    "out_of_service.repair_hours": ("repair_hours", _POSITIVE),
    "call.minutes": ("call_minutes", _NOT_NEGATIVE),
    "shared_delay": ("shared_delay", _CHANCE._replace(optional=True)),
}
"""The keys whose values are checked here, where a scenario holds each, and what must hold for it.

The city checks turnout and driving times, when it is changed.
"""


def _flat(document: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Every key with its value, keys of sections led by the section's name."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            found.update({f"{key}.{inner}": inner_value for inner, inner_value in value.items()})
        else:
            found[key] = value
    for key in found:
        if key not in KEYS and key != "shift":
            raise InputError(f"{where}: unknown key {plain(key)}{near(key, [*KEYS, 'shift', 'title'])}")
    return found


def _scenario(name: str, title: str, given: Mapping[str, tuple[Any, str]], folder: Path) -> Scenario:
    """A scenario of keys and values, each with where it was said."""
    values: dict[str, Any] = {}
    for key, (value, where) in given.items():
        if key == "shift":
            continue
        try:
            values[key] = typed(value, KEYS[key])
        except TypeError as error:
            raise InputError(f"{where}: expected {key} to be {error}, got {shown(value)}") from error

    def section(of: str) -> dict[str, Any]:
        return {key.partition(".")[2]: value for key, value in values.items() if key.startswith(f"{of}.")}

    fields = section("dispatch") | section("out_of_service")
    if "replay.log" in values:
        fields["log"] = folder / values["replay.log"]
    if "call.minutes" in values:
        fields["call_minutes"] = values["call.minutes"]
    shifts, shifts_where = given.get("shift", ([], name))
    return Scenario(
        name=name,
        title=title,
        busy=Busy(**section("busy")),
        rates=_rates(name, section("rates")),
        shifts=_shifts(shifts, shifts_where),
        turnout=tuple(section("turnout").items()),
        driving=tuple(section("driving").items()),
        shared_delay=values.get("shared_delay"),
        **fields,
    )


def _rates(name: str, given: Mapping[str, Any]) -> tuple[float, ...]:
    """The multipliers of incident rates, of mean 1."""
    profiles = {key: profile for key, profile in given.items() if key != "swing"}
    swing = given.get("swing", 1.0)
    if len(profiles) > 1:
        raise InputError(f"scenario {name}: expected rates.by_hour_of_day or rates.by_hour_of_week, got both")
    if given and not profiles:
        raise InputError(f"scenario {name}: expected rates.by_hour_of_day with rates.swing")
    if fault := _CHANCE.fault("rates.swing", swing):
        raise InputError(f"scenario {name}: {fault}")
    for key, profile in profiles.items():
        num = HOURS_PER_DAY if key == "by_hour_of_day" else HOURS_PER_WEEK
        numbers = [hour for hour in profile if type(hour) in (int, float) and 0.0 <= hour <= MOST]
        if len(profile) != num or len(numbers) != num or sum(numbers) == 0.0:
            raise InputError(
                f"scenario {name}: expected rates.{key} to be {num} numbers from 0 up, not all 0, "
                f"got {len(profile)}: {shown(profile)}"
            )
        mean = sum(numbers) / num
        return tuple(1.0 + swing * (hour / mean - 1.0) for hour in numbers)
    return ()


def _shifts(given: Any, where: str) -> tuple[Shift, ...]:
    """The hours at which trucks are out of service, one shift for each day."""
    if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
        raise InputError(f"{where}: expected shifts as [[shift]] sections, got {shown(given)}")
    found = []
    for number, entry in enumerate(given, start=1):
        at = f"{where}: shift {number}"
        unknown = [key for key in entry if key not in SHIFT_KEYS]
        if unknown:
            raise InputError(f"{at}: unknown key {plain(unknown[0])}; expected {', '.join(SHIFT_KEYS)}")
        start, length = _off_hours(at, entry.get("off_hours"))
        days = entry.get("days", list(DAYS))
        if not isinstance(days, list) or not days or any(day not in DAYS or days.count(day) > 1 for day in days):
            raise InputError(f"{at}: expected days among {', '.join(DAYS)}, each once, got {shown(days)}")
        station, every = entry.get("station"), entry.get("every")
        if (station is None) == (every is None) or (station is not None and not isinstance(station, str)):
            raise InputError(
                f"{at}: expected the id of a station, or every = n, got {shown(station)} and {shown(every)}"
            )
        if station is None and "trucks" in entry:
            raise InputError(f"{at}: expected no trucks with every, which says itself how many trucks are off")
        counts = {key: entry.get(key, 1) for key in ("trucks", "every")}
        for key, count in counts.items():
            if type(count) is not int or count < 1:
                raise InputError(f"{at}: expected {key} to be a whole number from 1 up, got {shown(count)}")
        found += [Shift(station, HOURS_PER_DAY * DAYS.index(day) + start, length, **counts) for day in days]
    return tuple(found)


def _off_hours(at: str, hours: Any) -> tuple[float, float]:
    """When a shift begins in a day, and how many hours it takes."""
    sound = isinstance(hours, list) and len(hours) == 2
    if not sound or not all(type(hour) in (int, float) and 0 <= hour <= HOURS_PER_DAY for hour in hours):
        raise InputError(f"{at}: expected off_hours = [from, to], hours from 0 to 24, got {shown(hours)}")
    start, stop = (float(hour) for hour in hours)
    if start == stop:
        raise InputError(f"{at}: expected off_hours that differ, got {shown(hours)}; [0, 24] is all day")
    return start, (stop - start) % HOURS_PER_DAY or float(HOURS_PER_DAY)
