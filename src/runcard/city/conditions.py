"""What each setting and each cell of a city must be, and the words for a value that is not.

The same conditions serve a city built in memory and one read from a folder.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import inf
from numbers import Integral
from reprlib import Repr
from typing import Any, Final, NamedTuple

LEAST_CV: Final = {"gamma": 0.0, "lognormal": 0.0, "hyperexponential": 1.0}
"""The models that have a coefficient of variation, and the smallest that each can have."""

MAX_CV: Final = 10.0
MAX_WEIGHT: Final = 1000.0
"""Late incidents per minute. Far above 1 the minutes alone decide; far above this, the late ones drown in rounding."""

MAX_TRUCKS_PER_INCIDENT: Final = 4
MAX_NAMED: Final = 3
MAX_SEED: Final = 10**100
MAX_COORDINATE: Final = 1e12
LEAST_MINUTES: Final = 1e-12
MAX_MINUTES: Final = 1e9
LEAST_RATE: Final = 1e-12
MAX_RATE: Final = 1e9
"""Minutes and incidents per day: no city comes near these limits, and sums and products inside them do not overflow."""

OUTSIDE_ID: Final = "outside"
"""How a truck from outside the region is named in a team."""

_TURNOUT_KEYS: Final = ("mean_minutes", "model", "cv", "shared")

RESERVED_IDS: Final = (OUTSIDE_ID, "all", "none")
"""No station or unit may be called so: these words have a meaning where they are listed."""

TRUCK: Final = "truck"
"""The kind of units that nobody listed."""

UNREAD: Final[Any] = object()
"""Stands for a value that could not be read. Its fault is known already, so every check passes over it."""

TABLE_ATTRIBUTES: Final = {
    "node": "nodes",
    "link": "links",
    "station": "stations",
    "demand": "demand",
    "unit": "units",
    "incident_type": "standards",
}
"""The field of `City` that holds each table."""

OPTIONAL_TABLES: Final = ("unit", "incident_type")

_NOT_TEXT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line ends, half characters, and marks that turn the direction of the text that follows."""

_REPR: Final = Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60


Place = Callable[[str, int | None], str]
"""Says where a table and a position in it are."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: in which table (`city` for the settings), at which position (None: the table as a whole), and what."""

    table: str
    index: int | None
    text: str


class UnreadableError(ValueError):
    """A file from which nothing can be read; the message says why. `read_city` makes a fault of it."""


class Condition(NamedTuple):
    """What must hold for one field: its type, words to follow "expected" and the field, and the range of its values."""

    of: type
    words: str
    holds: Callable[[Any], bool]
    least: float = -inf
    most: float = inf
    optional: bool = False
    """Whether None stands for no value."""

    def fault(self, field: str, value: Any) -> str | None:
        """What is wrong with the value of a field; None if nothing is."""
        if value is UNREAD or (self.optional and value is None):
            return None
        words = self.words
        try:
            if self.holds(value) and (self.of is not int or isinstance(value, Integral)):
                if (self.least, self.most) == (-inf, inf) or self.least <= value <= self.most:
                    return None
                words = f"from {self.least:g} to {self.most:g}"
        except (TypeError, AttributeError):  # a value of another type, in a city that was built in memory
            pass
        return f"expected {field} {words}, got {shown(value)}"


def near(word: str, choices: Iterable[str]) -> str:
    """The end of a message that suggests what a misspelt word may have meant; empty if nothing is near.

    Of a number nothing is guessed: one that looks alike is another place, and no misspelling.
    """
    if word.isdecimal():
        return ""
    close = get_close_matches(word, list(choices), n=1)
    return f" (did you mean {plain(close[0])}?)" if close else ""


def shown(value: Any) -> str:
    """A value as a message shows it: long ones cut, and nothing in it that a terminal would obey."""
    try:
        return _REPR.repr(value)
    except ValueError:  # Python does not print whole numbers of thousands of digits
        return "a number of thousands of digits"


def plain(name: str) -> str:
    """A name as a message shows it: as it is, or quoted if it is long or holds what a terminal would obey."""
    return name if is_text(name) and len(name) <= _REPR.maxstring else shown(name)


def is_text(value: str) -> bool:
    """Whether a text has no control characters."""
    # The common case first: isprintable is one fast pass, but refuses harmless characters such as a no-break space.
    return value.isprintable() or not _NOT_TEXT.search(value)


def is_team_size(value: Any) -> bool:
    """Whether it is a number of trucks that one incident can need."""
    return isinstance(value, Integral) and 1 <= int(value) <= MAX_TRUCKS_PER_INCIDENT


def one_of(names: Sequence[str]) -> Condition:
    """The condition that a field is one of some names."""
    return Condition(str, f"to be {' or '.join(names)}", lambda value: value in names)


_TEXT: Final = Condition(str, "without control characters", is_text)
_ID: Final = Condition(
    str,
    "not empty, without control characters or spaces around it",
    lambda value: bool(value) and value == value.strip() and is_text(value),
)
_ID_IN_LISTS: Final = Condition(
    str,
    f"not empty, without commas, control characters or spaces around it, and not one of {', '.join(RESERVED_IDS)}",
    lambda value: _ID.holds(value) and "," not in value and value not in RESERVED_IDS,
)
_KIND: Final = Condition(
    str,
    "not empty, of at most 60 characters, without commas, slashes, control characters or spaces around it, and no "
    "key of [turnout]",
    lambda value: _ID.holds(value) and len(value) <= 60 and not set(value) & set(",/\\") and value not in _TURNOUT_KEYS,
)
REFERENCE: Final = Condition(str, "to be a known node", lambda value: True)
STATION_REFERENCE: Final = Condition(str, "to be a known station", lambda value: True)
_COORDINATE: Final = Condition(float, "to be a number", lambda value: value == value, -MAX_COORDINATE, MAX_COORDINATE)
_MINUTES: Final = Condition(float, "> 0", lambda value: value > 0.0, LEAST_MINUTES, MAX_MINUTES)
_COUNT: Final = Condition(int, ">= 1", lambda value: value >= 1)
_TEAM_SIZE: Final = Condition(int, f"to be a whole number from 1 to {MAX_TRUCKS_PER_INCIDENT}", is_team_size)
_CV: Final = Condition(float, f"from 0 to {MAX_CV:g}", lambda value: 0.0 <= value <= MAX_CV, optional=True)
_AMOUNT: Final = Condition(float, ">= 0", lambda value: value >= 0.0, 0.0)

SETTING_CONDITIONS: Final[Mapping[str, Condition]] = {
    "name": _TEXT,
    "busy_minutes": _MINUTES,
    "target_minutes": _MINUTES._replace(optional=True),
    "trucks_per_incident": _TEAM_SIZE,
    "arrivals_per_incident": _TEAM_SIZE,
    "shared_delay": Condition(float, "from 0 to 1", lambda value: 0.0 <= value <= 1.0),
    "driving.model": one_of(("exponential", "gamma", "lognormal", "hyperexponential", "pareto")),
    "driving.route_seed": Condition(int, ">= 0", lambda value: value >= 0, 0, MAX_SEED),
    "driving.cv": _CV,
    "driving.tail_index": Condition(
        float, "> 1, because the mean is infinite otherwise", lambda value: 1.0 < value < inf, optional=True
    ),
    "driving.fixed_part": Condition(float, "from 0 to less than 1", lambda value: 0.0 <= value < 1.0),
    "driving.coupled_branch": one_of(("short", "long"))._replace(optional=True),
    "driving.second_route": one_of(("same", "disjoint")),
    "driving.scale_minutes": _MINUTES._replace(optional=True),
    "turnout.mean_minutes": _AMOUNT._replace(most=MAX_MINUTES),
    "turnout.model": one_of(("exponential", "gamma", "lognormal")),
    "turnout.cv": _CV,
    "turnout.shared": Condition(bool, "to be true or false", lambda value: isinstance(value, bool)),
    "outside.links": _COUNT._replace(least=1, most=10_000, optional=True),
    "outside.link_minutes": _MINUTES._replace(optional=True),
    "objective.minimise": one_of(("late", "minutes", "late+minutes")),
    "objective.weight": Condition(
        float, f"> 0 and at most {MAX_WEIGHT:g}", lambda value: 0.0 < value <= MAX_WEIGHT, optional=True
    ),
}

COLUMN_CONDITIONS: Final[Mapping[str, Mapping[str, Condition]]] = {
    "node": {"node_id": _ID, "x_coord": _COORDINATE, "y_coord": _COORDINATE, "name": _TEXT},
    "link": {
        "link_id": _ID,
        "from_node_id": REFERENCE,
        "to_node_id": REFERENCE,
        "directed": Condition(bool, "to be true or false", lambda value: value in (False, True)),
        "mean_minutes": _MINUTES,
        "length_m": _AMOUNT._replace(most=MAX_COORDINATE, optional=True),
    },
    "station": {
        "station_id": _ID_IN_LISTS,
        "node_id": REFERENCE,
        "trucks": _COUNT._replace(least=1, most=1000),
        "name": _TEXT,
    },
    "demand": {
        "node_id": REFERENCE,
        "incidents_per_day": _AMOUNT._replace(most=MAX_RATE),
        "trucks": _TEAM_SIZE._replace(optional=True),
        "arrivals": _TEAM_SIZE._replace(optional=True),
        "target_minutes": _MINUTES._replace(optional=True),
        "type": _TEXT,
        "name": _TEXT,
    },
    "unit": {"unit_id": _ID_IN_LISTS, "station_id": STATION_REFERENCE, "kind": _KIND},
    "incident_type": {
        "type": _ID,
        "kind": _KIND,
        "trucks": _TEAM_SIZE,
        "arrivals": _TEAM_SIZE,
        "target_minutes": _MINUTES,
        "weight": Condition(float, f"> 0 and at most {MAX_WEIGHT:g}", lambda value: 0.0 < value <= MAX_WEIGHT),
        "busy_minutes": _MINUTES._replace(optional=True),
    },
}

UNIQUE: Final[Mapping[str, str]] = {
    "node": "node_id", "link": "link_id", "station": "station_id", "unit": "unit_id",
}  # fmt: skip
"""The column of each table that may hold a value only once; a node may have several demand points."""


USES: Final[Mapping[str, tuple[str, str, Collection[str], bool]]] = {
    "driving.cv": ("driving.model", "the model", LEAST_CV, True),
    "driving.tail_index": ("driving.model", "the model", ("pareto",), True),
    "driving.coupled_branch": ("driving.model", "the model", ("hyperexponential",), False),
    "driving.scale_minutes": ("driving.model", "the model", ("gamma",), False),
    "turnout.cv": ("turnout.model", "the model", LEAST_CV, True),
    "objective.weight": ("objective.minimise", "minimising", ("late+minutes",), True),
}
"""The settings that only some choices of another one use: that other one, words for it, these choices, and whether they
need it."""

UNSTATED: Final = {"driving.model": "exponential", "turnout.model": "exponential", "objective.minimise": "late"}
