"""Scenarios: in which ways the simulation departs from the paper's model. Each is a few lines of TOML.

    title = "Busy while driving there, on scene and driving back"

    [busy]
    kind = "parts"          # one time from dispatch on ("total"), or drive, time on scene and drive back
    model = "lognormal"     # of the total or of the time on scene
    cv = 0.8
    by_type = true          # means by incident type, where incident_type.csv gives them

What a scenario does not name is as in the city and in the paper's model. Scenarios are combined by name: every part of
`turn-back+evening` adds its own keys, and two parts may not say different things. A key that would have no effect is an
error.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Annotated, Any, Final

from runcard.city.conditions import (
    CHANCE,
    FLAG,
    LEAST_CV,
    LEAST_MINUTES,
    MAX_CV,
    Chance,
    Condition,
    Flag,
    conditions_of,
    is_text,
    near,
    one_of,
    plain,
    shown,
    stated_values,
)
from runcard.city.csv_text import read_text, readable
from runcard.city.model import SETTING_CONDITIONS, City
from runcard.city.periods import DAYS, HOURS_PER_DAY, HOURS_PER_WEEK
from runcard.city.settings import by_section, flat, parse_toml
from runcard.errors import CityError, InputError

TIME_MODELS: Final = ("exponential", "fixed", "gamma", "lognormal", "hyperexponential")
PAPER: Final = "paper"
REPAIR_HOURS: Final = 24.0
MOST: Final = 1e6
"""Minutes, hours or breakdowns: far more than makes sense, and few enough to be simulated."""
_FOLDER: Final = files("runcard.simulate") / "scenarios"

_TIME_MODEL: Final = one_of(*TIME_MODELS)
_CV: Final = Condition("")
"""What it may be depends on the model."""
_NOT_NEGATIVE: Final = Condition(">= 0", lambda value: value >= 0.0, 0.0, MOST)
_POSITIVE: Final = Condition("> 0", lambda value: value > 0.0, LEAST_MINUTES, MOST)


@dataclass(frozen=True, slots=True)
class Busy:
    """How long trucks are busy: one time from dispatch on, or the drive there, a time on scene and the drive back.

    `mean_minutes` is the mean of that one time or of the time on scene. If it is None, trucks are busy as long as the
    city says on average, as far as the drive leaves time for it; `by_type`: as long as their type of incident says.
    """

    kind: Annotated[str, one_of("total", "parts")] = "total"
    model: Annotated[str, _TIME_MODEL] = "exponential"
    cv: Annotated[float, _CV] | None = None
    mean_minutes: Annotated[float, _POSITIVE] | None = None
    back_factor: Annotated[float, _NOT_NEGATIVE] = 1.0
    """The drive home takes this many times as long as a drive there."""
    back_model: Annotated[str, _TIME_MODEL] | None = None
    """The law of the time on a link on the way home; None: that of the way there."""
    back_cv: Annotated[float, _CV] | None = None
    by_type: Flag = False


@dataclass(frozen=True, slots=True)
class Shift:
    """Hours of the week, from Monday 0:00 on, at which some trucks are out of service.

    They are one unit of the roster, or the last `trucks` of a station, of whatever kind. If neither is named, they are
    every n-th truck of the city, in the order of its roster.
    """

    station: str | None
    start_hour: float
    num_hours: float
    trucks: int = 1
    every: int = 1
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario; the defaults are the paper's model."""

    name: str = PAPER
    title: str = "The paper's model"
    busy: Busy = Busy()
    turn_back: Annotated[float, CHANCE._replace(key="dispatch.turn_back")] = 0.0
    """The chance that a truck turns back when the truck that counts has arrived before it."""
    redirect: Annotated[bool, FLAG._replace(key="dispatch.redirect")] = False
    """Whether trucks on their way home can be sent."""
    rates: tuple[float, ...] = ()
    """What incident rates are multiplied by, of mean 1, at each hour of the day or of the week."""
    log: Path | None = None
    """Incidents that are replayed instead of drawn."""
    breakdowns_per_year: Annotated[float, _NOT_NEGATIVE._replace(key="out_of_service.breakdowns_per_year")] = 0.0
    """Of each truck."""
    repair_hours: Annotated[float, _POSITIVE._replace(key="out_of_service.repair_hours")] = REPAIR_HOURS
    shifts: tuple[Shift, ...] = ()
    call_minutes: Annotated[float, _NOT_NEGATIVE._replace(key="call.minutes")] = 0.0
    """From the call, when the clock of the target starts, to dispatch."""
    turnout: tuple[tuple[str, Any], ...] = ()
    driving: tuple[tuple[str, Any], ...] = ()
    """What is different about turnout and driving times, as pairs of key and value."""
    shared_delay: Chance | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without a city."""
        if faults := list(_value_faults(self)) or list(_scenario_faults(self)):
            raise InputError(f"scenario {self.name}: {'; '.join(faults)}")

    @property
    def drives_home(self) -> bool:
        """Whether trucks drive home."""
        return self.busy.kind == "parts" or self.turn_back > 0.0

    def changed(self, city: City) -> City:
        """The city as the scenario changes it; policies do not know of it."""
        if not self.driving and not self.turnout and self.shared_delay in (None, city.shared_delay):
            return city
        driving, turnout = dict(self.driving), dict(self.turnout)
        if "model" in driving:  # what belongs to another model goes with it
            driving = {"cv": None, "tail_index": None, "coupled_branch": None, "scale_minutes": None, **driving}
        elif "cv" in driving or "scale_minutes" in driving:  # the one takes the place of the other
            driving = {"cv": None, "scale_minutes": None, **driving}
        if "model" in turnout:
            turnout = {"cv": None, **turnout}
        shared_delay = city.shared_delay if self.shared_delay is None else self.shared_delay
        by_kind = {kind: replace(own, **turnout) for kind, own in city.turnout_by_kind.items()}
        # Where every kind has a turnout of its own, the general one is nobody's.
        general = any(unit.kind not in by_kind for unit in city.units)
        crews = replace(city.turnout, **turnout) if general else city.turnout
        try:
            roads = replace(city.driving, **driving)
            found = replace(city, driving=roads, turnout=crews, turnout_by_kind=by_kind, shared_delay=shared_delay)
        except CityError as error:
            raise InputError(f"scenario {self.name}: {'; '.join(error.faults)}") from error
        used = [*by_kind.values(), *[crews] * general]
        if "shared" in turnout and any(own.mean_minutes == 0.0 for own in used):
            raise InputError(f"scenario {self.name}: expected turnout.mean_minutes > 0 with turnout.shared, got 0")
        return found


_FIELDS: Final = {condition.key or field: field for field, condition in conditions_of(Scenario).items()}
"""By key the field of a scenario that holds it."""

_TITLE: Final = Condition(
    "to be text without control characters", lambda value: isinstance(value, str) and is_text(value), default=None
)
_HOURS: Final = Condition("", of=list, default=None)
"""What they may be depends on what else is said about rates."""

CITY_KEYS: Final = (
    "turnout.mean_minutes", "turnout.model", "turnout.cv", "turnout.shared",
    "driving.model", "driving.cv", "driving.tail_index", "driving.fixed_part",
    "driving.scale_minutes",
)  # fmt: skip
"""The same as in `city.toml`: the city checks them when it is changed."""

KEYS: Final[Mapping[str, Condition]] = {
    "title": _TITLE,
    **{f"busy.{field}": condition for field, condition in conditions_of(Busy).items()},
    **{condition.key or field: condition for field, condition in conditions_of(Scenario).items()},
    "rates.by_hour_of_day": _HOURS,
    "rates.by_hour_of_week": _HOURS,
    "rates.swing": CHANCE._replace(of=float, default=1.0),
    "replay.log": Condition("", of=str, default=None),
    **{key: SETTING_CONDITIONS[key] for key in CITY_KEYS},
    "shift": Condition("", default=()),
}
"""Every key of a scenario, and what must hold for its value."""


def _value_faults(scenario: Scenario) -> Iterator[str]:
    """What is wrong with the values of a scenario, each on its own."""
    values = {f"busy.{field}": getattr(scenario.busy, field) for field in conditions_of(Busy)}
    values |= {key: getattr(scenario, field) for key, field in _FIELDS.items()}
    yield from filter(None, (KEYS[key].fault(key, value) for key, value in values.items()))


def _scenario_faults(scenario: Scenario) -> Iterator[str]:
    """What is wrong with a scenario of sound values in any city: what does not go together."""
    busy = scenario.busy
    yield from _law_faults("busy.", busy.model, busy.cv)
    if busy.by_type and busy.mean_minutes is not None:
        yield "expected busy.by_type or busy.mean_minutes, which is one mean for every type, got both"
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
    names = sorted(entry.name.removesuffix(".toml") for entry in _FOLDER.iterdir() if entry.name.endswith(".toml"))
    return (PAPER, *(name for name in names if name != PAPER))


def read_scenario(words: str) -> Scenario:
    """The scenario of some names of built-in ones and TOML files, with + between them."""
    values: dict[str, Any] = {}
    said_by: dict[str, str] = {}
    titles = []
    for word in (part.strip() for part in words.split("+")):
        path, document = _read_part(word)
        stated, faults = stated_values(flat(document, document), KEYS)
        faults += filter(None, [_TITLE.fault("title", stated.get("title", ""))])
        if faults:
            raise InputError(f"{word}: {'; '.join(faults)}")
        titles.append(stated.pop("title", word))
        if "replay.log" in stated:
            stated["replay.log"] = path.parent / stated["replay.log"]
        if "shift" in stated:
            stated["shift"] = _shifts(stated["shift"], word)
        for key, value in stated.items():
            if key in values and values[key] != value:
                raise InputError(f"scenario {words}: {said_by[key]} and {word} both say what {key} is")
        values, said_by = values | stated, dict.fromkeys(stated, word) | said_by
    sections = by_section(values)
    return Scenario(
        name=words,
        title="; ".join(titles),
        busy=Busy(**sections["busy"]),
        rates=_rates(words, sections["rates"]),
        log=values.get("replay.log"),
        shifts=values.get("shift", ()),
        turnout=tuple(sections["turnout"].items()),
        driving=tuple(sections["driving"].items()),
        **{field: values[key] for key, field in _FIELDS.items() if key in values},
    )


def _read_part(word: str) -> tuple[Path, dict[str, Any]]:
    """The file of a built-in scenario or of that name, and what it says."""
    path = Path(word)
    if word in built_in_names():
        return path, parse_toml((_FOLDER / f"{word}.toml").read_text("utf-8"))
    # Unlike Path.exists, this is no error if the name is too long for a file.
    if not word or not (path.suffix == ".toml" or os.path.exists(word)):  # noqa: PTH110
        names = ", ".join(built_in_names())
        raise InputError(
            f"expected a scenario, got {shown(word)}{near(word, built_in_names())}; there are {names}, or a file"
        )
    with readable(word):
        return path, parse_toml(read_text(path))


def _rates(name: str, given: Mapping[str, Any]) -> tuple[float, ...]:
    """The multipliers of incident rates, of mean 1."""
    if not given:
        return ()
    profiles, swing = {key: given[key] for key in given if key != "swing"}, given.get("swing", 1.0)
    if len(profiles) != 1:
        words = "or rates.by_hour_of_week, got both" if profiles else "with rates.swing"
        raise InputError(f"scenario {name}: expected rates.by_hour_of_day {words}")
    if fault := KEYS["rates.swing"].fault("rates.swing", swing):
        raise InputError(f"scenario {name}: {fault}")
    ((key, profile),) = profiles.items()
    num = HOURS_PER_DAY if key == "by_hour_of_day" else HOURS_PER_WEEK
    numbers = [hour for hour in profile if type(hour) in (int, float) and 0.0 <= hour <= MOST]
    if len(profile) != num or len(numbers) != num or sum(numbers) == 0.0:
        raise InputError(
            f"scenario {name}: expected rates.{key} to be {num} numbers from 0 up, not all 0, "
            f"got {len(profile)}: {shown(profile)}"
        )
    mean = sum(numbers) / num
    return tuple(1.0 + swing * (hour / mean - 1.0) for hour in numbers)


def _are_hours(value: Any) -> bool:
    return len(value) == 2 and all(type(hour) in (int, float) and 0 <= hour <= HOURS_PER_DAY for hour in value)


_ONE_UP: Final = Condition("to be a whole number from 1 up", lambda value: type(value) is int and value >= 1)
_A_TEXT: Final = Condition("", lambda value: isinstance(value, str), passes=(None,), default=None)
SHIFT_KEYS: Final[Mapping[str, Condition]] = {
    "station": _A_TEXT._replace(words="to be the id of a station"),
    "trucks": _ONE_UP._replace(default=1),
    "every": _ONE_UP._replace(passes=(None,), default=None),
    "unit": _A_TEXT._replace(words="to be the id of a unit"),
    "off_hours": Condition("= [from, to], hours from 0 to 24", _are_hours, default=None),
    "days": Condition(
        f"among {', '.join(DAYS)}, each once", lambda days: 0 < len(days) == len({*days} & {*DAYS}), default=DAYS
    ),
}
"""Every key of a shift, with its default and what must hold for its value."""


def _shifts(given: Any, where: str) -> tuple[Shift, ...]:
    """The hours at which trucks are out of service, one shift for each day."""
    if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
        raise InputError(f"{where}: expected shifts as [[shift]] sections, got {shown(given)}")
    found: list[Shift] = []
    for number, entry in enumerate(given, start=1):
        values = entry | {key: condition.default for key, condition in SHIFT_KEYS.items()} | entry
        for fault in _shift_faults(values, entry):
            raise InputError(f"{where}: shift {number}: {fault}")
        start, stop = map(float, values["off_hours"])
        length = (stop - start) % HOURS_PER_DAY or float(HOURS_PER_DAY)
        which = values["trucks"], values["every"] or 1, values["unit"]
        hours = (HOURS_PER_DAY * DAYS.index(day) + start for day in values["days"])
        found += [Shift(values["station"], hour, length, *which) for hour in hours]
    return tuple(found)


def _shift_faults(values: Mapping[str, Any], stated: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a shift, as it is stated and with the defaults."""
    for key, value in values.items():
        if key not in SHIFT_KEYS:
            yield f"unknown key {plain(key)}; expected {', '.join(SHIFT_KEYS)}"
        elif fault := SHIFT_KEYS[key].fault(key, value):
            yield fault
    named = [key for key in ("station", "unit", "every") if values[key] is not None]
    if len(named) != 1:
        yield f"expected one of station, unit and every, got {' and '.join(named) or 'none'}"
    elif named != ["station"] and "trucks" in stated:
        yield f"expected no trucks with {named[0]}, which says itself how many trucks are off"
    if len({*values["off_hours"]}) == 1:
        yield f"expected off_hours that differ, got {shown(values['off_hours'])}; [0, 24] is all day"
