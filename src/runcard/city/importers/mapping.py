"""The mapping file: how the columns of somebody's files are called, and in which units they are.

One TOML file serves `import` and `fit`. The sections here are those of `import`: nodes, links, stations and units. In
each, a key names a column or is a setting. Sections that are not known here belong to others and are passed over.
"""

import tomllib
from collections.abc import Iterable
from collections.abc import Mapping as MappingType
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from runcard.city.conditions import Condition, near, plain, shown
from runcard.city.csv_text import read_text, readable
from runcard.city.importers.measures import KILOMETRES_PER_HOUR, METRES, MINUTES
from runcard.errors import InputError

MOST_SKIPPED: Final = 1_000_000
OF_OTHERS: Final = ("log", "incidents", "types", "kinds")
"""Sections of `fit`."""


def _among(choices: Iterable[str]) -> Condition:
    return Condition(f"one of {', '.join(choices)}", lambda value: value in [*choices])


_COLUMN: Final = Condition("the name of a column", lambda value: isinstance(value, str) and bool(value.strip()))
_TEXT: Final = Condition("text", lambda value: isinstance(value, str) and bool(value))
_CRS: Final = _among(("lonlat", "metres"))
_READING: Final = {
    "skip_rows": Condition(
        f"a whole number from 0 to {MOST_SKIPPED:,}", lambda value: type(value) is int and 0 <= value <= MOST_SKIPPED
    ),
    "encoding": _TEXT,
    "separator": Condition(
        "one character", lambda value: isinstance(value, str) and len(value) == 1 and value not in '"\r\n'
    ),
}
SECTIONS: Final[MappingType[str, MappingType[str, Condition]]] = {
    "nodes": dict.fromkeys(("id", "x", "y"), _COLUMN) | {"file": _TEXT, "crs": _CRS} | _READING,
    "links": dict.fromkeys(("id", "from", "to", "length", "speed", "minutes", "road_class", "one_way"), _COLUMN)
    | {
        "file": _TEXT,
        "length_unit": _among(METRES),
        "speed_unit": _among(KILOMETRES_PER_HOUR),
        "minutes_unit": _among(MINUTES),
        "directed": Condition("true or false", lambda value: isinstance(value, bool)),
    }
    | _READING,
    "stations": dict.fromkeys(("id", "x", "y", "node", "name", "trucks"), _COLUMN) | _READING,
    "units": dict.fromkeys(("id", "station", "kind", "x", "y", "node"), _COLUMN) | _READING,
}
"""By section, every key: the columns, and then settings."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section: the columns of a file by what they are for, and settings."""

    name: str
    columns: MappingType[str, str] = field(default_factory=dict)
    settings: MappingType[str, Any] = field(default_factory=dict)

    @property
    def reading(self) -> dict[str, Any]:
        """How the file is read: what stands above the header, its encoding and its separator."""
        return {key: self.settings[key] for key in _READING if key in self.settings}

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
        with readable(path):
            document = tomllib.loads(read_text(path))
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
    known = SECTIONS[name]
    for key, value in content.items():
        if key not in known:
            hint = near(key, known) or f" (known: {', '.join(known)})"
            faults.append(f"[{name}]: unknown key {plain(key)}{hint}")
        elif not known[key].holds(value):
            faults.append(f"[{name}] {key}: expected {known[key].words}, got {shown(value)}")
    columns = {key: str(value).strip() for key, value in content.items() if known.get(key) is _COLUMN}
    return Section(name, columns, {key: value for key, value in content.items() if key in known.keys() - columns})
