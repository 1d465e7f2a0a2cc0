"""`city.toml`, the settings of a city folder, to and from TOML text.

Its keys are the fields of `City` (`model.py`) and of its sections (`parts.py`) that have a condition. Inside the
program the keys of a section carry its name: `driving.model`.
"""

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Container, Mapping
from operator import attrgetter
from typing import Any, Final

from runcard.city.conditions import Condition, UnreadableError, conditions_of, plain, shown, stated_values
from runcard.city.model import SETTING_CONDITIONS, City
from runcard.city.parts import SECTIONS, Turnout
from runcard.city.periods import ALWAYS, format_hours, read_periods

SCHEMA: Final = 1
_SECTION: Final = Condition("", of=dict, default=None)


def parse_toml(text: str) -> dict[str, Any]:
    """What a TOML text says; raises UnreadableError if it is none."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise UnreadableError("not valid TOML: nested too deeply") from error
    except ValueError as error:
        reason = "a number has thousands of digits" if "int_max_str_digits" in str(error) else error
        raise UnreadableError(f"not valid TOML: {reason}") from error


def flat(document: Mapping[str, Any], sections: Container[str]) -> dict[str, Any]:
    """Every key of a document with its value, keys of sections led by the section's name."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        is_section = key in sections and isinstance(value, dict)
        found |= {f"{key}.{inner}": value[inner] for inner in value} if is_section else {key: value}
    return found


def by_section(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The same values by section, "" for those outside of all, and by key inside of it."""
    sections: dict[str, dict[str, Any]] = defaultdict(dict, {"": {}})
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        sections[section][name] = value
    return sections


def parse_settings(text: str) -> tuple[dict[str, Any], list[str]]:
    """The fields of `City` that a TOML text states, UNREAD where one could not be read, and what is wrong with those.

    Raises UnreadableError if the text is no TOML or was written for another schema.
    """
    document = parse_toml(text)
    schema = document.pop("schema", None)
    if type(schema) is not int or schema != SCHEMA:
        raise UnreadableError(f"expected schema = {SCHEMA}, got {'none' if schema is None else shown(schema)}")
    fields: dict[str, Any] = {"turnout_by_kind": {}}
    faults: list[str] = []

    def read(given: Mapping[str, Any], known: Mapping[str, Condition], where: str, *others: str) -> dict[str, Any]:
        values, wrong = stated_values(given, known, where, others=others)
        faults.extend(wrong)
        return values

    known = {**SETTING_CONDITIONS, **dict.fromkeys(SECTIONS, _SECTION)}
    if isinstance(by_kind := document.get("busy_minutes"), dict):
        del document["busy_minutes"]
        minutes = known.pop("busy_minutes")
        fields["busy_minutes"] = read(by_kind, dict.fromkeys(by_kind, minutes), "busy_minutes.")
    if isinstance(turnout := document.get("turnout"), dict):
        for kind in [key for key, value in turnout.items() if isinstance(value, dict)]:
            of_kind = read(turnout.pop(kind), conditions_of(Turnout), f"turnout.{plain(kind)}.")
            fields["turnout_by_kind"][kind] = Turnout(**of_kind)
    if "period" in document:
        fields["periods"], wrong = read_periods(document.pop("period"))
        faults += wrong
    sections = by_section(read(flat(document, SECTIONS), known, "", "period"))
    fields |= {"target_minutes": None} | sections.pop("")  # whether it may be left out depends on the tables
    return fields | {section: of(**sections[section]) for section, of in SECTIONS.items()}, faults


def format_settings(city: City) -> str:
    """The TOML text of a city's settings: the main ones, and others where they are not the default."""
    texts: dict[str, str] = {}
    for key, condition in SETTING_CONDITIONS.items():
        section, value = key.rpartition(".")[0], attrgetter(key)(city)
        stated = section in ("", "driving") or getattr(city, section) != SECTIONS[section]()
        if stated and value is not None and not (condition.quiet and value == condition.default):
            texts[key] = _written(condition.of, value)
    sections = by_section(texts)
    if isinstance(city.busy_minutes, Mapping):
        del sections[""]["busy_minutes"]
        sections["busy_minutes"] = {kind: _written(float, value) for kind, value in city.busy_minutes.items()}
    for kind, turnout in city.turnout_by_kind.items():
        sections[f"turnout.{_key(kind)}"] = {
            key: _written(condition.of, getattr(turnout, key))
            for key, condition in conditions_of(Turnout).items()
            if getattr(turnout, key) is not None
        }
    lines = [f"schema = {SCHEMA}"]
    for section, of_section in sections.items():
        lines += ["", f"[{section}]"] if section else []
        lines += [f"{_key(name)} = {text}" for name, text in of_section.items()]
    for period in city.periods if city.periods != (ALWAYS,) else ():
        lines += ["", "[[period]]", f"name = {_written(str, period.name)}"]
        lines += [f"hours = {_written(list, format_hours(period.hours))}", f"rates = {_written(float, period.rates)}"]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    """A name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _written(str, name)


def _written(of: type, value: Any) -> str:
    """A value as TOML text, or one for each name."""
    if isinstance(value, Mapping):
        pairs = [f"{_key(name)} = {_written(of, inner)}" for name, inner in value.items()]
        return f"{{ {', '.join(pairs)} }}"
    # A JSON string is a TOML string, except for the delete character, which no text of a city may hold.
    return repr(of(value)) if of in (float, int) else json.dumps(value, ensure_ascii=False)
