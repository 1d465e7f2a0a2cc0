"""Scenarios: in which ways the simulation departs from the paper's model. Each is a few lines of TOML.

    title = "Busy while driving there, on scene and driving back"

    [busy]
    kind = "parts"          # one time from dispatch on ("total"), or drive, time on scene and drive back
    model = "lognormal"     # of the total or of the time on scene
    cv = 0.8

What a scenario does not name is as in the city and in the paper's model. Scenarios are combined by name: of
`turn-back+evening` every part adds its own keys, and two parts may not say different things.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from runcard.city.check import LEAST_CV, MAX_CV, near
from runcard.city.model import City
from runcard.errors import CityError, InputError

HOURS_PER_DAY: Final = 24
HOURS_PER_WEEK: Final = 168
DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
TIME_MODELS: Final = ("exponential", "fixed", "gamma", "lognormal", "hyperexponential")
KINDS: Final = ("total", "parts")
PAPER: Final = "paper"
SHIFT_KEYS: Final = ("station", "trucks", "every", "off_hours", "days")
MOST: Final = 1e6
"""Minutes, hours or breakdowns: far more than makes sense, and few enough to be simulated."""


@dataclass(frozen=True, slots=True)
class Busy:
    """How long trucks are busy: one time from dispatch on, or the drive there, a time on scene and the drive back.

    `mean_minutes` is of that one time or of the time on scene; None: such that trucks are busy as long as the city says
    on average, as far as the drive leaves room for it.
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

    They are the last `trucks` of a station, or, if that is None, every n-th truck of the city.
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
    repair_hours: float = 24.0
    shifts: tuple[Shift, ...] = ()
    call_minutes: float = 0.0
    """From the call, when the clock of the target starts, to dispatch."""
    turnout: tuple[tuple[str, Any], ...] = ()
    driving: tuple[tuple[str, Any], ...] = ()
    """What is different about turnout and driving times, as pairs of key and value."""
    shared_delay: float | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without a city."""
        self._check_law("busy.", self.busy.model, self.busy.cv)
        if self.busy.back_model is not None:
            self._check_law("busy.back_", self.busy.back_model, self.busy.back_cv)
        self._expect(self.busy.kind in KINDS, f"busy.kind to be one of {', '.join(KINDS)}", self.busy.kind)
        self._expect(0.0 <= self.turn_back <= 1.0, "dispatch.turn_back to be a chance from 0 to 1", self.turn_back)
        self._expect(len(self.rates) in (0, HOURS_PER_DAY, HOURS_PER_WEEK), "24 or 168 rates", len(self.rates))
        self._expect(min(self.rates, default=1.0) >= 0.0, "rates from 0 up", min(self.rates, default=1.0))
        numbers = {
            "busy.mean_minutes": self.busy.mean_minutes, "busy.back_factor": self.busy.back_factor,
            "out_of_service.breakdowns_per_year": self.breakdowns_per_year, "call.minutes": self.call_minutes,
            "out_of_service.repair_hours": self.repair_hours,
        }  # fmt: skip
        for key, number in numbers.items():
            self._expect(number is None or 0.0 <= number <= MOST, f"{key} from 0 to {MOST:g}", number)
        if self.redirect and self.busy.kind != "parts":
            raise InputError(
                f'scenario {self.name}: expected busy.kind = "parts" with dispatch.redirect: without it nobody drives '
                "home; combine it with there-and-back"
            )
        if self.log is not None and self.rates:
            raise InputError(f"scenario {self.name}: expected replay.log or rates, got both: a log has its own rates")

    def _check_law(self, section: str, model: str, cv: float | None) -> None:
        """Raise an error where a law is not known, lacks a variation that it needs, or has one that it cannot have."""
        self._expect(model in TIME_MODELS, f"{section}model to be one of {', '.join(TIME_MODELS)}", model)
        if model not in LEAST_CV:
            self._expect(cv is None, f"no {section}cv for {model}", cv)
            return
        least = LEAST_CV[model]
        sound = cv is not None and least <= cv <= MAX_CV
        self._expect(sound, f"{section}cv from {least:g} to {MAX_CV:g} for {model}", cv)

    def _expect(self, holds: bool, words: str, found: Any) -> None:
        """Raise an error if something does not hold."""
        if not holds:
            raise InputError(f"scenario {self.name}: expected {words}, got {'none' if found is None else found}")

    @property
    def drives_home(self) -> bool:
        """Whether trucks drive home."""
        return self.busy.kind == "parts" or self.turn_back > 0.0

    def changed(self, city: City) -> City:
        """The city as the scenario has it; policies do not know."""
        driving, turnout = dict(self.driving), dict(self.turnout)
        if "model" in driving:  # what belongs to another model goes with it
            driving = {"cv": None, "tail_index": None, "coupled_branch": None, **driving}
        if "model" in turnout:
            turnout = {"cv": None, **turnout}
        shared_delay = city.shared_delay if self.shared_delay is None else self.shared_delay
        try:
            return replace(
                city,
                driving=replace(city.driving, **driving),
                turnout=replace(city.turnout, **turnout),
                shared_delay=shared_delay,
            )
        except CityError as error:
            raise InputError(f"scenario {self.name}: {'; '.join(error.faults)}") from error


def built_in_names() -> tuple[str, ...]:
    """The names of the built-in scenarios, the paper's model first."""
    names = sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml"))
    return (PAPER, *(name for name in names if name != PAPER))


def read_scenario(words: str) -> Scenario:
    """The scenario of some names of built-in ones and TOML files, with + between them."""
    given: dict[str, tuple[Any, str]] = {}
    titles, folder = [], Path()
    for word in (part.strip() for part in words.split("+")):
        document, where, own_folder = _document(word)
        titles.append(str(document.pop("title", word)))
        for key, value in _flat(document, where).items():
            if key in given and given[key][0] != value:
                raise InputError(f"scenario {words}: {given[key][1]} and {where} both say what {key} is")
            given[key] = (value, where)
            if key == "replay.log":
                folder = own_folder
    return _scenario(words, "; ".join(titles), given, folder)


def _folder() -> Any:
    return files("runcard.simulate") / "scenarios"


def _document(word: str) -> tuple[dict[str, Any], str, Path]:
    """What a built-in scenario or a file says, how it is called in messages, and the folder that it is in."""
    if word in built_in_names():
        return tomllib.loads((_folder() / f"{word}.toml").read_text("utf-8")), word, Path()
    path = Path(word)
    if not word or not (path.suffix == ".toml" or _exists(path)):
        names = ", ".join(built_in_names())
        raise InputError(
            f"expected a scenario, got {word!r}{near(word, built_in_names())}; there are {names}, or a file"
        )
    try:
        return tomllib.loads(path.read_text("utf-8")), str(path), path.parent
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error


def _exists(path: Path) -> bool:
    """Whether there is such a file; no name of a file is too long to ask."""
    try:
        return path.exists()
    except OSError:
        return False


def _number(value: Any) -> float:
    # A whole number of hundreds of digits is no float.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
        raise ValueError("a number")
    return float(value)


def _between(low: float, high: float, words: str) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        if not low <= _number(value) <= high:
            raise ValueError(words)
        return float(value)

    return read


def _positive(value: Any) -> float:
    if not 0.0 < _number(value) <= MOST:
        raise ValueError(f"a number above 0, up to {MOST:g}")
    return float(value)


def _one_of(names: Sequence[str]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return str(value)

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("text")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _hours(num: int) -> Callable[[Any], tuple[float, ...]]:
    def read(value: Any) -> tuple[float, ...]:
        words = f"{num} numbers from 0 up, not all 0"
        if not isinstance(value, list) or len(value) != num:
            raise ValueError(words if not isinstance(value, list) else f"{words}, and not {len(value)}")
        try:
            found = tuple(_number(entry) for entry in value)
        except ValueError as error:
            raise ValueError(words) from error
        if min(found) < 0.0 or not 0.0 < sum(found) <= MOST:
            raise ValueError(words)
        return found

    return read


_not_negative = _between(0.0, MOST, f"a number from 0 to {MOST:g}")
_chance = _between(0.0, 1.0, "a chance from 0 to 1")
_cv = _between(0.0, MAX_CV, f"a number from 0 to {MAX_CV:g}")

KEYS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "busy.kind": _one_of(KINDS),
    "busy.model": _one_of(TIME_MODELS),
    "busy.cv": _cv,
    "busy.mean_minutes": _positive,
    "busy.back_factor": _not_negative,
    "busy.back_model": _one_of(TIME_MODELS),
    "busy.back_cv": _cv,
    "dispatch.turn_back": _chance,
    "dispatch.redirect": _truth,
    "rates.by_hour_of_day": _hours(HOURS_PER_DAY),
    "rates.by_hour_of_week": _hours(HOURS_PER_WEEK),
    "rates.swing": _chance,
    "replay.log": _text,
    "out_of_service.breakdowns_per_year": _not_negative,
    "out_of_service.repair_hours": _positive,
    "call.minutes": _not_negative,
    "turnout.mean_minutes": _not_negative,
    "turnout.model": _text,
    "turnout.cv": _cv,
    "turnout.shared": _truth,
    "driving.model": _text,
    "driving.cv": _cv,
    "driving.tail_index": _number,
    "driving.fixed_part": _chance,
    "shared_delay": _chance,
}
"""Every key of a scenario besides `title` and the list `shift`, with what reads its value."""


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
            raise InputError(f"{where}: unknown key {key}{near(key, [*KEYS, 'shift', 'title'])}")
    return found


def _scenario(name: str, title: str, given: Mapping[str, tuple[Any, str]], folder: Path) -> Scenario:
    """A scenario of keys and values, each with where it was said."""
    values: dict[str, Any] = {}
    for key, (value, where) in given.items():
        if key == "shift":
            continue
        try:
            values[key] = KEYS[key](value)
        except ValueError as error:
            raise InputError(f"{where}: expected {key} to be {error}, got {value!r}") from error

    def section(of: str) -> dict[str, Any]:
        return {key.partition(".")[2]: value for key, value in values.items() if key.startswith(f"{of}.")}

    dispatch, outages = section("dispatch"), section("out_of_service")
    busy = Busy(**section("busy"))
    shifts, shifts_where = given.get("shift", ([], name))
    log = values.get("replay.log")
    return Scenario(
        name=name,
        title=title,
        busy=busy,
        turn_back=dispatch.get("turn_back", 0.0),
        redirect=dispatch.get("redirect", False),
        rates=_rates(name, section("rates")),
        log=None if log is None else folder / log,
        breakdowns_per_year=outages.get("breakdowns_per_year", 0.0),
        repair_hours=outages.get("repair_hours", 24.0),
        shifts=_shifts(shifts, shifts_where),
        call_minutes=values.get("call.minutes", 0.0),
        turnout=tuple(section("turnout").items()),
        driving=tuple(section("driving").items()),
        shared_delay=values.get("shared_delay"),
    )


def _rates(name: str, given: Mapping[str, Any]) -> tuple[float, ...]:
    """The multipliers of incident rates, of mean 1."""
    profiles = [given[key] for key in ("by_hour_of_day", "by_hour_of_week") if key in given]
    if len(profiles) > 1:
        raise InputError(f"scenario {name}: expected rates.by_hour_of_day or rates.by_hour_of_week, got both")
    if not profiles:
        if given:
            raise InputError(f"scenario {name}: expected rates.by_hour_of_day with rates.swing")
        return ()
    mean, swing = sum(profiles[0]) / len(profiles[0]), given.get("swing", 1.0)
    return tuple(1.0 + swing * (rate / mean - 1.0) for rate in profiles[0])


def _shifts(given: Any, where: str) -> tuple[Shift, ...]:
    """The hours at which trucks are out of service, one shift for each day."""
    if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
        raise InputError(f"{where}: expected shifts as [[shift]] sections, got {given!r}")
    found = []
    for number, entry in enumerate(given, start=1):
        at = f"{where}: shift {number}"
        unknown = [key for key in entry if key not in SHIFT_KEYS]
        if unknown:
            raise InputError(f"{at}: unknown key {unknown[0]}; expected {', '.join(SHIFT_KEYS)}")
        start, length = _off_hours(at, entry.get("off_hours"))
        days = entry.get("days", list(DAYS))
        if not isinstance(days, list) or not days or any(day not in DAYS for day in days):
            raise InputError(f"{at}: expected days among {', '.join(DAYS)}, got {days!r}")
        station, every = entry.get("station"), entry.get("every")
        if (station is None) == (every is None) or (station is not None and not isinstance(station, str)):
            raise InputError(f"{at}: expected the id of a station, or every = n, got {station!r} and {every!r}")
        counts = {key: entry.get(key, 1) for key in ("trucks", "every")}
        for key, count in counts.items():
            if type(count) is not int or count < 1:
                raise InputError(f"{at}: expected {key} to be a whole number from 1 up, got {count!r}")
        found += [Shift(station, HOURS_PER_DAY * DAYS.index(day) + start, length, **counts) for day in days]
    return tuple(found)


def _off_hours(at: str, hours: Any) -> tuple[float, float]:
    """When a shift begins in a day, and how many hours it takes."""
    sound = isinstance(hours, list) and len(hours) == 2
    if not sound or not all(type(hour) in (int, float) and 0 <= hour <= HOURS_PER_DAY for hour in hours):
        raise InputError(f"{at}: expected off_hours = [from, to], hours from 0 to 24, got {hours!r}")
    start, stop = (float(hour) for hour in hours)
    if start == stop:
        raise InputError(f"{at}: expected off_hours that differ, got {hours!r}; [0, 24] is all day")
    return start, (stop - start) % HOURS_PER_DAY or float(HOURS_PER_DAY)
