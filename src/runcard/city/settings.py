"""`city.toml`, the settings of a city folder, to and from TOML text.

Its keys are the fields of `City` (`model.py`) and of its sections (`parts.py`) that have a condition. Inside the
program the keys of a section carry its name: `driving.model`.
"""

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from dataclasses import asdict
from operator import attrgetter
from typing import Any, Final

from runcard.city.conditions import Condition, UnreadableError, conditions_of, plain, read_keys, shown
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
        values, wrong = read_keys(given, known, where, others=others)
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
    stated = {}
    for key, condition in SETTING_CONDITIONS.items():
        section, value = key.rpartition(".")[0], attrgetter(key)(city)
        shows = section in ("", "driving") or getattr(city, section) != SECTIONS[section]()
        if shows and value is not None and not (condition.quiet and value == condition.default):
            stated[key] = value
    sections = by_section(stated)
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
