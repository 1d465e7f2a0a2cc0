"""`city.toml`, the settings of a city folder: its keys, and settings to and from TOML text.

Inside the program the keys of a section carry its name: `driving.model`.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from math import inf
from operator import attrgetter
from typing import Any, Final

from runcard.city.conditions import SETTING_CONDITIONS, UNREAD, UnreadableError, near, plain, shown
from runcard.city.model import City, Driving, Objective, Outside, Turnout
from runcard.city.periods import ALWAYS, format_hours, read_periods

SCHEMA: Final = 1
SECTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "driving": Driving,
    "turnout": Turnout,
    "outside": Outside,
    "objective": Objective,
}
REQUIRED: Final = ("name", "busy_minutes")
"""Besides these, target_minutes, unless there are standards: see `roster.py`."""

_TYPE_WORDS: Final = {str: "text", float: "a number", int: "a whole number", bool: "true or false", list: "a list"}

NOT_IF_DEFAULT: Final = {
    "arrivals_per_incident": 1,
    "driving.fixed_part": 0.0,
    "driving.second_route": "same",
}
"""The keys that are written only if they say something else than this."""


def parse_toml(text: str) -> dict[str, Any]:
    """What a TOML text says; raises UnreadableError if it is none."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise UnreadableError("not valid TOML: nested too deeply") from error
    except ValueError as error:
        reason = "a number has thousands of digits" if "int_max_str_digits" in str(error) else error
        raise UnreadableError(f"not valid TOML: {reason}") from error


def typed(value: Any, of: type) -> Any:
    """A value of TOML that must be of a type; raises a TypeError with the words after "expected ... to be"."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number if of is float else isinstance(value, of) and (of is bool or not isinstance(value, bool))):
        raise TypeError(_TYPE_WORDS[of])
    try:
        return of(value)
    except OverflowError:
        return inf


def parse_settings(text: str) -> tuple[dict[str, Any], list[str]]:
    """The settings of a TOML text, UNREAD where one could not be read, and what is wrong with those.

    Raises UnreadableError if the text is no TOML or was written for another schema.
    """
    document = parse_toml(text)
    schema = document.pop("schema", None)
    if type(schema) is not int or schema != SCHEMA:
        raise UnreadableError(f"expected schema = {SCHEMA}, got {'none' if schema is None else shown(schema)}")
    settings, faults = _take_by_kind(document)
    if "period" in document:
        periods, of_periods = read_periods(document.pop("period"))
        faults += of_periods
        settings |= {} if periods is None else {"periods": periods}
    given: dict[str, Any] = {}
    for key, value in document.items():
        is_section = key in SECTIONS and isinstance(value, dict)
        given |= {f"{key}.{inner}": value[inner] for inner in value} if is_section else {key: value}
    settings.setdefault("target_minutes", None)
    faults += [f"missing key {key}" for key in REQUIRED if key not in given and key not in settings]
    for key, value in given.items():
        if key in SECTIONS:
            faults.append(f"expected {key} to be a section, got {shown(value)}")
        elif key not in SETTING_CONDITIONS:
            faults.append(f"unknown key {plain(key)}{near(key, [*SETTING_CONDITIONS, *SECTIONS, 'period'])}")
        else:
            try:
                settings[key] = typed(value, SETTING_CONDITIONS[key].of)
            except TypeError as error:
                settings[key] = UNREAD
                faults.append(f"expected {key} to be {error}, got {shown(value)}")
    return settings, faults


def _take_by_kind(document: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The settings by kind, taken out of a document, and what is wrong with them."""
    settings: dict[str, Any] = {}
    faults: list[str] = []

    def read(key: str, name: str, value: Any) -> Any:
        try:
            return typed(value, SETTING_CONDITIONS[key].of)
        except TypeError as error:
            faults.append(f"expected {name} to be {error}, got {shown(value)}")
            return UNREAD

    if isinstance(document.get("busy_minutes"), dict):
        found = document.pop("busy_minutes")
        settings["busy_minutes"] = {
            kind: read("busy_minutes", f"busy_minutes.{plain(kind)}", value) for kind, value in found.items()
        }
    turnout = document.get("turnout")
    turnout = turnout if isinstance(turnout, dict) else {}
    for kind in [key for key, value in turnout.items() if isinstance(value, dict)]:
        of_kind: dict[str, Any] = {}
        for inner, value in turnout.pop(kind).items():
            key, name = f"turnout.{inner}", f"turnout.{plain(kind)}.{plain(inner)}"
            if key in SETTING_CONDITIONS:
                of_kind[inner] = read(key, name, value)
            else:
                known = [other.removeprefix("turnout.") for other in SETTING_CONDITIONS if other.startswith("turnout.")]
                faults.append(f"unknown key {name}{near(inner, known)}")
        settings.setdefault("turnout_by_kind", {})[kind] = of_kind
    return settings, faults


def city_fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of `City` that the settings give; the defaults stay where the model states them."""
    given: dict[str, dict[str, Any]] = {section: {} for section in ("", *SECTIONS)}
    if "turnout_by_kind" in settings:
        by_kind = {kind: Turnout(**values) for kind, values in settings["turnout_by_kind"].items()}
        given[""]["turnout_by_kind"] = by_kind
    for key, value in settings.items():
        if key == "turnout_by_kind":
            continue
        section, _, name = key.rpartition(".")
        given[section][name] = value
    return given.pop("") | {section: SECTIONS[section](**values) for section, values in given.items()}


def format_settings(city: City) -> str:
    """The TOML text of a city's settings: the main ones, and others where they are not the default."""
    lines, begun = [f"schema = {SCHEMA}"], ""
    by_kind = {"busy_minutes": city.busy_minutes} if isinstance(city.busy_minutes, Mapping) else {}
    for key, condition in SETTING_CONDITIONS.items():
        section, _, name = key.rpartition(".")
        value = None if key in by_kind else attrgetter(key)(city)
        stated = not section or section == "driving" or getattr(city, section) != SECTIONS[section]()
        if not stated or value is None or (key in NOT_IF_DEFAULT and value == NOT_IF_DEFAULT[key]):
            continue
        if section != begun:
            lines += ["", f"[{section}]"]
            begun = section
        lines.append(f"{name} = {_written(condition.of, value)}")
    for key, values in by_kind.items():
        lines += ["", f"[{key}]", *(f"{_key(kind)} = {_written(float, one)}" for kind, one in values.items())]
    for kind, turnout in city.turnout_by_kind.items():
        lines += ["", f"[turnout.{_key(kind)}]"]
        fields = ((name, getattr(turnout, name)) for name in Turnout.__slots__)
        types = {name: SETTING_CONDITIONS[f"turnout.{name}"].of for name in Turnout.__slots__}
        lines += [f"{name} = {_written(types[name], value)}" for name, value in fields if value is not None]
    for period in city.periods if city.periods != (ALWAYS,) else ():
        lines += ["", "[[period]]", f"name = {_written(str, period.name)}"]
        lines.append(f"hours = {_written(list, format_hours(period.hours))}")
        if isinstance(period.rates, Mapping):
            rates = (f"{_key(name)} = {_written(float, rate)}" for name, rate in period.rates.items())
            lines.append(f"rates = {{ {', '.join(rates)} }}")
        else:
            lines.append(f"rates = {_written(float, period.rates)}")
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    """A name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _written(str, name)


def _written(of: type, value: Any) -> str:
    """A value as TOML text."""
    # A JSON string is a TOML string, except for the delete character, which no text of a city may hold.
    return repr(of(value)) if of in (float, int) else json.dumps(value, ensure_ascii=False)
