"""The mapping file: how the columns of somebody's files are called, and in which units they are.

One TOML file serves `import` and `fit`. The sections here are those of `import`: nodes, links, stations and units. In
each, a key of `COLUMN_KEYS` names a column, and a key of `SETTING_KEYS` is a setting. Sections that are not known here
belong to others and are passed over.
"""

import tomllib
from collections.abc import Mapping as MappingType
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from runcard.city.conditions import UnreadableError, near, plain, shown
from runcard.city.files import read_text
from runcard.city.importers.measures import KILOMETRES_PER_HOUR, METRES, MINUTES
from runcard.errors import InputError

_EVERY: Final = ("skip_rows", "encoding", "separator")

COLUMN_KEYS: Final[MappingType[str, tuple[str, ...]]] = {
    "nodes": ("id", "x", "y"),
    "links": ("id", "from", "to", "length", "speed", "minutes", "road_class", "one_way"),
    "stations": ("id", "x", "y", "node", "name", "trucks"),
    "units": ("id", "station", "kind", "x", "y", "node"),
}
SETTING_KEYS: Final[MappingType[str, tuple[str, ...]]] = {
    "nodes": ("file", "crs", *_EVERY),
    "links": ("file", "length_unit", "speed_unit", "minutes_unit", "directed", *_EVERY),
    "stations": _EVERY,
    "units": _EVERY,
}
SECTIONS: Final = tuple(COLUMN_KEYS)
MOST_SKIPPED: Final = 1_000_000
OF_OTHERS: Final = ("log", "incidents", "types", "kinds")
"""Sections of `fit`."""

_CHOICES: Final[MappingType[str, tuple[str, ...]]] = {
    "crs": ("lonlat", "metres"),
    "length_unit": tuple(METRES),
    "speed_unit": tuple(KILOMETRES_PER_HOUR),
    "minutes_unit": tuple(MINUTES),
}


@dataclass(frozen=True, slots=True)
class Section:
    """A section: the columns of a file by what they are for, and settings."""

    name: str
    columns: MappingType[str, str] = field(default_factory=dict)
    settings: MappingType[str, Any] = field(default_factory=dict)

    @property
    def reading(self) -> dict[str, Any]:
        """How the file is read: what stands above the header, its encoding and its separator."""
        return {key: self.settings[key] for key in _EVERY if key in self.settings}

    def need(self, *keys: str) -> None:
        """Raise an InputError if a key is not there."""
        for key in keys:
            if key not in self.columns and key not in self.settings:
                raise InputError(f"mapping file: expected {key} in [{self.name}], got none")


@dataclass(frozen=True, slots=True)
class Mapping:
    """The sections of a mapping file; None where it has none."""

    nodes: Section | None = None
    links: Section | None = None
    stations: Section | None = None
    units: Section | None = None


def read_import_mapping(path: Path) -> Mapping:
    """The mapping of a file; an InputError says what is wrong with it."""
    try:
        document = tomllib.loads(read_text(path))
    except UnreadableError as error:
        raise InputError(f"{path}: {error}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: expected a mapping file in TOML: {error}") from error
    return mapping_of(document, where=str(path))


def mapping_of(document: MappingType[str, Any], *, where: str = "mapping file") -> Mapping:
    """The mapping of a TOML document."""
    faults: list[str] = []
    sections: dict[str, Section] = {}
    for name, content in document.items():
        if name in SECTIONS and isinstance(content, dict):
            sections[name] = _section(name, content, faults)
        elif name in SECTIONS:
            faults.append(f"expected {name} to be a section, [{name}], got {shown(content)}")
        elif name not in OF_OTHERS and (hint := near(name, (*SECTIONS, *OF_OTHERS))):
            faults.append(f"unknown section [{plain(name)}]{hint}")
    if faults:
        raise InputError(f"{where}: " + "; ".join(faults))
    return Mapping(**sections)


def _section(name: str, content: MappingType[str, Any], faults: list[str]) -> Section:
    """A section, with what is wrong added to the faults."""
    columns: dict[str, str] = {}
    settings: dict[str, Any] = {}
    for key, value in content.items():
        if key in COLUMN_KEYS[name]:
            if isinstance(value, str) and value.strip():
                columns[key] = value.strip()
            else:
                faults.append(f"[{name}] {key}: expected the name of a column, got {shown(value)}")
        elif key in SETTING_KEYS[name]:
            if fault := _setting_fault(key, value):
                faults.append(f"[{name}] {key}: expected {fault}, got {shown(value)}")
            settings[key] = value
        else:
            known = (*COLUMN_KEYS[name], *SETTING_KEYS[name])
            hint = near(key, known) or f" (known: {', '.join(known)})"
            faults.append(f"[{name}]: unknown key {plain(key)}{hint}")
    return Section(name, columns, settings)


def _setting_fault(key: str, value: Any) -> str | None:
    """What is expected of a setting that is wrong."""
    if key in _CHOICES:
        return None if value in _CHOICES[key] else f"one of {', '.join(_CHOICES[key])}"
    if key == "directed":
        return None if isinstance(value, bool) else "true or false"
    if key == "skip_rows":
        good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_SKIPPED
        return None if good else f"a whole number from 0 to {MOST_SKIPPED:,}"
    if key == "separator":
        return None if isinstance(value, str) and len(value) == 1 else "one character"
    return None if isinstance(value, str) and value else "text"
