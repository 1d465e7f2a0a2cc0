"""The mapping file of a log: which column is what, how times are written, and what kinds and types are called.

    [log]        column names by what they hold, and how times are written
    [incidents]  the same of a second file, where positions or types are not in the log itself
    [kinds]      each kind of units, and what the log calls it
    [types]      each type of incident, and what the log calls it

The other sections of the file belong to `runcard import`. A word with * at its end stands for all that begin so. Kinds
and types that no section names are left out and counted. Without a section every word is a kind or type of its own.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from runcard.city.conditions import UnreadableError, near, plain, shown
from runcard.city.csv_text import read_text
from runcard.city.settings import parse_toml
from runcard.errors import InputError

_FOLDER: Final = files("runcard.calibrate") / "mappings"
TIMES: Final = ("received", "dispatched", "en_route", "on_scene", "available")
"""The moments of a unit response, in order."""
PLACE_COLUMNS: Final = ("x", "y", "node", "position")
LOG_COLUMNS: Final = ("incident", "unit", "station", "order", "kind", "type", *TIMES, *PLACE_COLUMNS)
INCIDENT_COLUMNS: Final = ("incident", "type", "received", *PLACE_COLUMNS)
SETTINGS: Final = (
    "every_kind",
    "home_pattern",
    "position_pattern",
    "time_format",
    "time_zone",
    "encoding",
    "separator",
)
ISO: Final = "iso"
SECTIONS: Final = ("log", "incidents", "kinds", "types")
OTHER_SECTIONS: Final = ("nodes", "links", "stations", "units")
"""Those of `runcard import`."""


@dataclass(frozen=True, slots=True)
class LogMapping:
    """Which column of a log is what; a name that is missing is a column that the log does not have."""

    name: str
    columns: Mapping[str, str]
    incident_columns: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    every_kind: str | None = None
    """The kind of every unit of a log that does not say it."""
    home_pattern: str | None = None
    """A regular expression with the group station: reads the home of a unit from its name."""
    position_pattern: str | None = None
    """A regular expression with the groups x and y."""
    time_format: str = ISO
    time_zone: str | None = None
    """Of times without an offset; None: they are taken as they stand, and no clock is ever changed."""
    encoding: str = "utf-8-sig"
    separator: str = ","

    def __post_init__(self) -> None:
        for fault in _faults(self):
            raise InputError(f"{self.name}: {fault}")


def shipped_names() -> tuple[str, ...]:
    """The names of the mappings that come with runcard."""
    return tuple(sorted(one.name.removesuffix(".toml") for one in _FOLDER.iterdir() if one.name.endswith(".toml")))


def read_mapping(word: str | os.PathLike[str]) -> LogMapping:
    """The mapping of that name, or in that file."""
    name = os.fspath(word)
    try:
        if name in shipped_names():
            return log_mapping_of(parse_toml((_FOLDER / f"{name}.toml").read_text("utf-8")), name)
        if not name.endswith(".toml") and not Path(name).exists():
            raise InputError(
                f"expected a mapping, got {shown(name)}{near(name, shipped_names())}; there are "
                f"{', '.join(shipped_names())}, or a file"
            )
        return log_mapping_of(parse_toml(read_text(Path(name))), name)
    except UnreadableError as error:
        raise InputError(f"{name}: {error}") from error


def log_mapping_of(document: Mapping[str, Any], name: str) -> LogMapping:
    """The mapping that a TOML document states."""
    for key in document:
        if key not in (*SECTIONS, *OTHER_SECTIONS):
            raise InputError(f"{name}: unknown section {plain(key)}{near(key, [*SECTIONS, *OTHER_SECTIONS])}")
    log = _texts(name, "log", document.get("log", {}), (*LOG_COLUMNS, *SETTINGS))
    if "log" not in document:
        raise InputError(f"{name}: expected a section [log], got none")
    second = _texts(name, "incidents", document.get("incidents", {}), INCIDENT_COLUMNS)
    return LogMapping(
        name=name,
        columns={key: log[key] for key in LOG_COLUMNS if key in log},
        incident_columns=second,
        kinds=_words(name, "kinds", document.get("kinds", {})),
        types=_words(name, "types", document.get("types", {})),
        **{key: log[key] for key in SETTINGS if key in log},
    )


def _texts(name: str, section: str, given: Any, known: tuple[str, ...]) -> dict[str, str]:
    if not isinstance(given, dict):
        raise InputError(f"{name}: expected [{section}] to be a section, got {shown(given)}")
    for key, value in given.items():
        if key not in known:
            raise InputError(f"{name}: unknown key {section}.{plain(key)}{near(key, known)}")
        if not isinstance(value, str) or not value:
            raise InputError(f"{name}: expected {section}.{key} to be text, got {shown(value)}")
    return dict(given)


def _words(name: str, section: str, given: Any) -> dict[str, tuple[str, ...]]:
    """What the log calls each kind or type."""
    if not isinstance(given, dict):
        raise InputError(f"{name}: expected [{section}] to be a section, got {shown(given)}")
    found: dict[str, tuple[str, ...]] = {}
    for key, value in given.items():
        words = [value] if isinstance(value, str) else value
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise InputError(f"{name}: expected {section}.{plain(key)} to be a list of words, got {shown(value)}")
        found[key] = tuple(words)
    return found


def _faults(mapping: LogMapping) -> Iterator[str]:
    columns, second = mapping.columns, mapping.incident_columns
    for needed in ("incident", "dispatched"):
        if needed not in columns:
            yield f"missing key log.{needed}"
    if "unit" not in columns and "station" not in columns:
        yield "expected log.unit, or log.station where a log does not name its units, got neither"
    if "kind" not in columns and mapping.every_kind is None and "unit" not in columns:
        yield "expected log.kind, or log.every_kind where all units are of one kind, got neither"
    if second and "incident" not in second:
        yield "missing key incidents.incident"
    places = second if any(key in second for key in PLACE_COLUMNS) else columns
    if not ("node" in places or "position" in places or ("x" in places and "y" in places)):
        yield "expected the columns of positions: x and y, or position, or node, got none"
    if len(mapping.separator) != 1 or mapping.separator in '"\r\n':
        yield f"expected log.separator to be one character, got {shown(mapping.separator)}"
    yield from _pattern_faults("home_pattern", mapping.home_pattern, {"station"})
    if "position" in places and mapping.position_pattern is None:
        yield "missing key log.position_pattern, which says how log.position is written"
    yield from _pattern_faults("position_pattern", mapping.position_pattern, {"x", "y"})
    owners: dict[str, str] = {}
    for section, listed in (("kinds", mapping.kinds), ("types", mapping.types)):
        owners.clear()
        for name, own in listed.items():
            for word in own:
                if owners.setdefault(word, name) != name:
                    yield f"expected {plain(word)} once in [{section}], got it for {owners[word]} and {name}"


def _pattern_faults(key: str, pattern: str | None, groups: set[str]) -> Iterator[str]:
    if pattern is None:
        return
    try:
        found = set(re.compile(pattern).groupindex)
    except (re.error, OverflowError, RecursionError) as error:
        yield f"expected log.{key} to be a regular expression: {error}"
        return
    if not groups <= found:
        words = " and ".join(f"(?P<{group}>...)" for group in sorted(groups))
        yield f"expected log.{key} with {words}, got {shown(pattern)}"


class Vocabulary:
    """Finds the kind or type that a word of the log stands for; remembers those that none does."""

    def __init__(self, words: Mapping[str, tuple[str, ...]]) -> None:
        self.names = tuple(words)
        self._exact = {word: key for key, own in words.items() for word in own if not word.endswith("*")}
        self._begin = [(word[:-1], key) for key, own in words.items() for word in own if word.endswith("*")]
        self._open = not words
        self._known: dict[str, str] = {}

    def find(self, word: str) -> str:
        """The kind or type, or an empty text."""
        if (found := self._known.get(word)) is None:
            found = self._exact.get(word, word if self._open else "")
            if not found:
                found = next((key for begin, key in self._begin if word.startswith(begin)), "")
            self._known[word] = found
        return found
