"""`city.toml`, the settings of a city folder, to and from TOML text.

Its keys are the fields of `City` (`model.py`) and of its sections (`parts.py`) that have a condition. Inside the
program the keys of a section carry its name: `driving.model`.
"""

import json
import re
import tomllib
from collections.abc import Container, Iterator, Mapping
from dataclasses import MISSING, asdict
from math import inf
from operator import attrgetter
from typing import Any, Final

from runcard.city.conditions import UNREAD, UnreadableError, near, plain, shown
from runcard.city.model import SETTING_CONDITIONS, City
from runcard.city.parts import SECTIONS, Turnout
from runcard.city.periods import ALWAYS, format_hours, read_periods

SCHEMA: Final = 1
_TYPE_WORDS: Final = {str: "text", float: "a number", int: "a whole number", bool: "true or false", list: "a list"}


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
    settings: dict[str, Any] = {}
    faults: list[str] = []

    def read(key: str, value: Any, name: str) -> Any:
        try:
            return typed(value, SETTING_CONDITIONS[key].of)
        except TypeError as error:
            faults.append(f"expected {name} to be {error}, got {shown(value)}")
            return UNREAD

    by_kind = document.get("busy_minutes")
    if isinstance(by_kind, dict):
        del document["busy_minutes"]
        settings["busy_minutes"] = {
            kind: read("busy_minutes", value, f"busy_minutes.{plain(kind)}") for kind, value in by_kind.items()
        }
    turnout = document.get("turnout")
    turnout = turnout if isinstance(turnout, dict) else {}
    for kind in [key for key, value in turnout.items() if isinstance(value, dict)]:
        of_kind = settings.setdefault("turnout_by_kind", {}).setdefault(kind, {})
        for key, value in turnout.pop(kind).items():
            name = f"turnout.{plain(kind)}.{plain(key)}"
            if key in Turnout.__slots__:
                of_kind[key] = read(f"turnout.{key}", value, name)
            else:
                faults.append(f"unknown key {name}{near(key, Turnout.__slots__)}")
    if "period" in document:
        periods, of_periods = read_periods(document.pop("period"))
        faults += of_periods
        settings |= {} if periods is None else {"periods": periods}
    values = flat(document, SECTIONS)
    settings.setdefault("target_minutes", None)  # whether it may be left out depends on the tables
    required = (key for key, condition in SETTING_CONDITIONS.items() if condition.default is MISSING)
    faults += [f"missing key {key}" for key in required if key not in values and key not in settings]
    for key, value in values.items():
        if key in SECTIONS:
            faults.append(f"expected {key} to be a section, got {shown(value)}")
        elif key not in SETTING_CONDITIONS:
            faults.append(f"unknown key {plain(key)}{near(key, [*SETTING_CONDITIONS, *SECTIONS, 'period'])}")
        else:
            settings[key] = read(key, value, key)
    return settings, faults


def flat(document: Mapping[str, Any], sections: Container[str]) -> dict[str, Any]:
    """Every key of a document with its value, keys of sections led by the section's name."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        is_section = key in sections and isinstance(value, dict)
        found |= {f"{key}.{inner}": value[inner] for inner in value} if is_section else {key: value}
    return found


def city_fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of `City` that the settings give; the defaults stay where the model states them."""
    found: dict[str, Any] = {section: {} for section in SECTIONS}
    for key, value in settings.items():
        section, _, name = key.rpartition(".")
        (found[section] if section else found)[name] = value
    if "turnout_by_kind" in found:
        found["turnout_by_kind"] = {kind: Turnout(**values) for kind, values in found["turnout_by_kind"].items()}
    return found | {section: of(**found[section]) for section, of in SECTIONS.items()}


def format_settings(city: City) -> str:
    """The TOML text of a city's settings: the main ones, and others where they are not the default."""
    sections: dict[str, dict[str, Any]] = {"": {}}
    for key, condition in SETTING_CONDITIONS.items():
        section, _, name = key.rpartition(".")
        value = attrgetter(key)(city)
        stated = section in ("", "driving") or getattr(city, section) != SECTIONS[section]()
        if stated and value is not None and not (condition.quiet and value == condition.default):
            sections.setdefault(section, {})[name] = value
    top = sections.pop("")
    if isinstance(top["busy_minutes"], Mapping):
        sections["busy_minutes"] = top.pop("busy_minutes")
    sections |= {f"turnout.{_key(kind)}": asdict(turnout) for kind, turnout in city.turnout_by_kind.items()}
    lines = [f"schema = {SCHEMA}", *_lines("", top)]
    for section, values in sections.items():
        lines += ["", f"[{section}]", *_lines(section, values)]
    for period in city.periods if city.periods != (ALWAYS,) else ():
        rates = period.rates
        if isinstance(rates, Mapping):
            written = ", ".join(f"{_key(name)} = {_written(float, rate)}" for name, rate in rates.items())
        lines += ["", "[[period]]", f"name = {_written(str, period.name)}"]
        lines.append(f"hours = {_written(list, format_hours(period.hours))}")
        lines.append(f"rates = {f'{{ {written} }}' if isinstance(rates, Mapping) else _written(float, rates)}")
    return "\n".join(lines) + "\n"


def _lines(section: str, values: Mapping[str, Any]) -> Iterator[str]:
    """The keys of a section as TOML text; those of busy_minutes are kinds."""
    for name, value in values.items():
        key = section if section == "busy_minutes" else f"{section.partition('.')[0]}.{name}".lstrip(".")
        if value is not None:
            yield f"{_key(name)} = {_written(SETTING_CONDITIONS[key].of, value)}"


def _key(name: str) -> str:
    """A name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _written(str, name)


def _written(of: type, value: Any) -> str:
    """A value as TOML text."""
    # A JSON string is a TOML string, except for the delete character, which no text of a city may hold.
    return repr(of(value)) if of in (float, int) else json.dumps(value, ensure_ascii=False)
