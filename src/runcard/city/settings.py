"""`city.toml`, the settings of a city folder: its keys, and settings to and from TOML text.

Inside the program the keys of a section carry its name: `driving.model`.
"""

import json
import tomllib
from collections.abc import Callable, Mapping
from math import inf
from operator import attrgetter
from typing import Any, Final

from runcard.city.check import SETTING_CONDITIONS, UNREAD, UnreadableError, near, plain, shown
from runcard.city.model import City, Driving, Objective, Outside, Turnout

SCHEMA: Final = 1
SECTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "driving": Driving,
    "turnout": Turnout,
    "outside": Outside,
    "objective": Objective,
}
REQUIRED: Final = ("name", "busy_minutes", "target_minutes")
_TYPE_WORDS: Final = {str: "text", float: "a number", int: "a whole number", bool: "true or false", list: "a list"}

NOT_IF_DEFAULT: Final = {"arrivals_per_incident": 1, "driving.fixed_part": 0.0, "driving.second_route": "same"}
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
    given: dict[str, Any] = {}
    for key, value in document.items():
        is_section = key in SECTIONS and isinstance(value, dict)
        given |= {f"{key}.{inner}": value[inner] for inner in value} if is_section else {key: value}
    settings: dict[str, Any] = {}
    faults = [f"missing key {key}" for key in REQUIRED if key not in given]
    for key, value in given.items():
        if key in SECTIONS:
            faults.append(f"expected {key} to be a section, got {shown(value)}")
        elif key not in SETTING_CONDITIONS:
            faults.append(f"unknown key {plain(key)}{near(key, [*SETTING_CONDITIONS, *SECTIONS])}")
        else:
            try:
                settings[key] = typed(value, SETTING_CONDITIONS[key].of)
            except TypeError as error:
                settings[key] = UNREAD
                faults.append(f"expected {key} to be {error}, got {shown(value)}")
    return settings, faults


def city_fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of `City` that the settings give; the defaults stay where the model states them."""
    given: dict[str, dict[str, Any]] = {section: {} for section in ("", *SECTIONS)}
    for key, value in settings.items():
        section, _, name = key.rpartition(".")
        given[section][name] = value
    return given.pop("") | {section: SECTIONS[section](**values) for section, values in given.items()}


def format_settings(city: City) -> str:
    """The TOML text of a city's settings: the main ones, and others where they are not the default."""
    lines, begun = [f"schema = {SCHEMA}"], ""
    for key, condition in SETTING_CONDITIONS.items():
        section, _, name = key.rpartition(".")
        value = attrgetter(key)(city)
        stated = not section or section == "driving" or getattr(city, section) != SECTIONS[section]()
        if not stated or value is None or (key in NOT_IF_DEFAULT and value == NOT_IF_DEFAULT[key]):
            continue
        if section != begun:
            lines += ["", f"[{section}]"]
            begun = section
        # A JSON string is a TOML string, except for the delete character, which no text of a city may hold.
        text = repr(condition.of(value)) if condition.of in (float, int) else json.dumps(value, ensure_ascii=False)
        lines.append(f"{name} = {text}")
    return "\n".join(lines) + "\n"
