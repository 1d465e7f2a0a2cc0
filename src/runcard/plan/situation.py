"""A situation: an incident with what is known at its time; and the words in which people say which units are free.

Wherever it comes from, options, a document, the board, a card or a log, it is checked in one place: `Plan.decide`.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from runcard.city.address import Place
from runcard.city.conditions import near
from runcard.errors import InputError
from runcard.plan.words import counted, expected_one_of


@dataclass(frozen=True, kw_only=True)
class Situation:
    """Where an incident is, of which type, when, who is idle and who is elsewhere."""

    at: Place
    """A demand point, or with its city any node of the roads, or coordinates (x, y)."""
    type: str | None = None
    """It may be left out where there is only one."""
    idle: Collection[str] | None = None
    """The idle units; where there is no roster, the id of a station once for each of its idle trucks."""
    busy: Collection[str] | None = None
    """The busy units instead, all others are idle; without both every unit is idle."""
    moved: Mapping[str, Place] | None = None
    """Where idle units are that are not at home."""
    time: datetime | int | None = None
    """By the clock on the wall, or the hour of the week; it may be left out where a plan does not look at it."""
    row: int | None = None
    """In a city without types: which row of the demand point, from 1; it may be left out where there is only one."""

    def __post_init__(self) -> None:
        """Check the kind of each part: they come from other programs."""
        if str in (type(self.idle), type(self.busy)):  # a text is a collection, too
            raise InputError(f"expected units as a collection, got {self.idle!r:.40} idle and {self.busy!r:.40} busy")
        at, of_type = cast(Any, (self.at, self.type))
        if not isinstance(at, (str, tuple)) or not (of_type is None or isinstance(of_type, str)):
            raise InputError(f"expected a place and a type as text, got {self.at!r:.40} and {self.type!r:.40}")
        if not (self.moved is None or isinstance(self.moved, Mapping)):
            raise InputError(f"expected moved units as a mapping from unit to place, got {self.moved!r:.80}")
        if self.idle is not None and self.busy is not None:
            raise InputError("expected the idle units or the busy ones, got both")


def units_said(words: str, capacity: Mapping[str, int], what: str = "idle") -> Counter[str]:
    """The units that a person names: ids with commas, or all, or none; and how often those that share a name."""
    text = words.strip()
    if text in ("all", "none") and text not in capacity:
        return Counter(capacity if text == "all" else {})
    counts = Counter(word.strip() for word in words.split(","))
    for name, number in counts.items():
        if name not in capacity:
            choices = expected_one_of("unit", capacity, name, guess=False)
            raise InputError(f"{what} units: {choices}; or say just all or none")
        if number > capacity[name]:
            most = "every unit once" if capacity[name] == 1 else f"{name} at most {counted(capacity[name], 'time')}"
            raise InputError(f"{what} units: expected {most}, got {name} {number} times")
    return counts


def checked_units(names: Iterable[Any], capacity: Mapping[str, int], what: str, *, roster: bool = True) -> Counter[str]:
    """How often each unit is named: each must be known, and be named no more often than units have that name.

    Without a `roster` trucks have the name of their station.
    """
    try:
        counts = Counter(names)
    except TypeError as error:
        raise InputError(f"{what}: expected the ids of units, got {names!r:.80}") from error
    wrong = {name: number for name, number in counts.items() if number > capacity.get(name, 0)}
    if unknown := [str(name) for name in wrong if name not in capacity]:
        expected = "units of the roster, got" if roster else "stations, got"
        guess = "" if roster else near(min(unknown), capacity)
        raise InputError(f"{what}: expected {expected} {min(unknown)!r:.80}{guess}")
    for name, number in wrong.items():
        most = "every unit once" if roster else f"{name} at most {counted(capacity[name], 'time')}"
        raise InputError(f"{what}: expected {most}, got {f'{name} {number} times' if roster else number}")
    return counts
