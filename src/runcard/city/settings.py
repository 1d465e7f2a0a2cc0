"""`city.toml`, the settings of a city folder: its keys, and settings to and from TOML text.

Inside the program the keys of a section carry its name: `driving.model`.
"""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import Any, Final

from runcard.city.check import UnreadableError, near
from runcard.city.model import LATE, City, Driving, Objective, Outside, Turnout

SCHEMA: Final = 1
SECTIONS: Final = ("driving", "turnout", "outside", "objective")
REQUIRED: Final = ("name", "busy_minutes", "target_minutes")


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text")
    return value


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("a number")
    try:
        return float(value)
    except OverflowError:
        return inf


def _read_whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("a whole number")
    return value


def _read_boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


KEYS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "name": _read_text,
    "busy_minutes": _read_number,
    "target_minutes": _read_number,
    "trucks_per_incident": _read_whole,
    "arrivals_per_incident": _read_whole,
    "shared_delay": _read_number,
    "driving.model": _read_text,
    "driving.route_seed": _read_whole,
    "driving.cv": _read_number,
    "driving.tail_index": _read_number,
    "driving.fixed_part": _read_number,
    "driving.coupled_branch": _read_text,
    "driving.second_route": _read_text,
    "turnout.mean_minutes": _read_number,
    "turnout.model": _read_text,
    "turnout.cv": _read_number,
    "turnout.shared": _read_boolean,
    "outside.links": _read_whole,
    "outside.link_minutes": _read_number,
    "objective.minimise": _read_text,
    "objective.weight": _read_number,
}
"""Every key of `city.toml` besides `schema`, with what reads its value."""


def parse_settings(text: str) -> tuple[dict[str, Any], list[str]]:
    """The settings that could be read from a TOML text, and what is wrong with the others.

    Raises UnreadableError if the text is no TOML or was written for another schema.
    """
    try:
        document = tomllib.loads(text)
    except ValueError as error:
        raise UnreadableError(f"not valid TOML: {error}") from error
    schema = document.pop("schema", None)
    if type(schema) is not int or schema != SCHEMA:
        raise UnreadableError(f"expected schema = {SCHEMA}, got {'none' if schema is None else repr(schema)}")
    given = dict(_flat(document))
    settings: dict[str, Any] = {}
    faults = [f"missing key {key}" for key in REQUIRED if key not in given]
    for key, value in given.items():
        if key in SECTIONS:
            faults.append(f"expected {key} to be a section, got {value!r}")
        elif key not in KEYS:
            faults.append(f"unknown key {key}{near(key, [*KEYS, *SECTIONS])}")
        else:
            try:
                settings[key] = KEYS[key](value)
            except TypeError as error:
                faults.append(f"expected {key} to be {error}, got {value!r}")
    return settings, faults


def _flat(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each key with its value, the keys of the known sections led by the section's name."""
    for key, value in document.items():
        if key in SECTIONS and isinstance(value, dict):
            yield from ((f"{key}.{inner}", inner_value) for inner, inner_value in value.items())
        else:
            yield key, value


def city_fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of `City` that the settings give; the defaults stay where the model states them."""
    given: dict[str, dict[str, Any]] = {section: {} for section in ("", *SECTIONS)}
    for key, value in settings.items():
        section, _, name = key.rpartition(".")
        given[section][name] = value
    return {
        **given[""],
        "driving": Driving(**given["driving"]),
        "turnout": Turnout(**given["turnout"]),
        "outside": Outside(**given["outside"]),
        "objective": Objective(**given["objective"]),
    }


def format_settings(city: City) -> str:
    """The TOML text of a city's settings."""
    lines = [
        f"schema = {SCHEMA}",
        # A JSON string is a TOML string, except for the delete character, which no name of a city may hold.
        f"name = {json.dumps(city.name, ensure_ascii=False)}",
        f"busy_minutes = {float(city.busy_minutes)!r}",
        f"target_minutes = {float(city.target_minutes)!r}",
        f"trucks_per_incident = {city.trucks_per_incident}",
        *([f"arrivals_per_incident = {city.arrivals_per_incident}"] if city.arrivals_per_incident != 1 else []),
        f"shared_delay = {float(city.shared_delay)!r}",
        "",
        "[driving]",
        f"model = {json.dumps(city.driving.model)}",
        f"route_seed = {city.driving.route_seed}",
    ]
    for key, value in (("cv", city.driving.cv), ("tail_index", city.driving.tail_index)):
        if value is not None:
            lines.append(f"{key} = {float(value)!r}")
    if city.driving.fixed_part:
        lines.append(f"fixed_part = {float(city.driving.fixed_part)!r}")
    if city.driving.coupled_branch is not None:
        lines.append(f"coupled_branch = {json.dumps(city.driving.coupled_branch)}")
    if city.driving.second_route != "same":
        lines.append(f"second_route = {json.dumps(city.driving.second_route)}")
    if city.turnout != Turnout():
        turnout = city.turnout
        lines += ["", "[turnout]", f"mean_minutes = {float(turnout.mean_minutes)!r}"]
        lines.append(f"model = {json.dumps(turnout.model)}")
        if turnout.cv is not None:
            lines.append(f"cv = {float(turnout.cv)!r}")
        lines.append(f"shared = {str(turnout.shared).lower()}")
    outside = []
    if city.outside.links is not None:
        outside.append(f"links = {city.outside.links}")
    if city.outside.link_minutes is not None:
        outside.append(f"link_minutes = {float(city.outside.link_minutes)!r}")
    if outside:
        lines += ["", "[outside]", *outside]
    if city.objective != LATE:
        lines += ["", "[objective]", f"minimise = {json.dumps(city.objective.minimise)}"]
        if city.objective.weight is not None:
            lines.append(f"weight = {float(city.objective.weight)!r}")
    return "\n".join(lines) + "\n"
