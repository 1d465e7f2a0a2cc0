"""What a value must be, and the words for one that is not: the types with which classes declare their fields.

The same conditions serve a city built in memory, one read from a folder, and a scenario.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from math import inf
from numbers import Integral
from reprlib import Repr
from typing import Annotated, Any, Final, NamedTuple, get_args, get_origin

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

RESERVED_IDS: Final = (OUTSIDE_ID, "all", "none")
"""No station or unit may be called so: these words have a meaning where they are listed."""

TRUCK: Final = "truck"
"""The kind of units that nobody listed."""

UNREAD: Final[Any] = object()
"""Stands for a value that could not be read. Its fault is known already, so every check passes over it."""

_TYPE_WORDS: Final = {
    str: "text", float: "a number", int: "a whole number", bool: "true or false", list: "a list", dict: "a section",
}  # fmt: skip

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


class UnreadableError(Exception):
    """A file from which nothing can be read; the message says why. `read_city` makes a fault of it."""


class OnlyWith(NamedTuple):
    """Which choices of another key of its section use a key, and whether they need it."""

    key: str
    choices: Collection[str]
    needed: bool = True
    words: str = "the model"


class Condition(NamedTuple):
    """What must hold for a value: words to follow "expected" and its name, and the range that it may be in.

    A class declares it beside the type of a field, `Annotated[float, Condition(...)]`: see `conditions_of`.
    """

    words: str
    holds: Callable[[Any], bool] = lambda value: True
    least: float = -inf
    most: float = inf
    passes: tuple[Any, ...] = ()
    """Values that need not hold: None, where it stands for no value."""
    of: Any = object
    """The type, or a function that reads a cell."""
    refers: str = ""
    """The table whose ids it is one of."""
    only_with: OnlyWith | None = None
    quiet: bool = False
    """Whether it is written only if it says something else than the default."""
    default: Any = MISSING
    key: str = ""
    """What it is called in a file, if it is not called like its field."""

    @property
    def needed(self) -> bool:
        """Whether a value must be given: there is no default, and none will not do."""
        return self.default is MISSING and None not in self.passes

    def fault(self, field: str, value: Any) -> str | None:
        """What is wrong with the value of a field; None if nothing is."""
        if value is UNREAD or value in self.passes:
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


def conditions_of(declared: type[Any]) -> dict[str, Condition]:
    """By field of a dataclass: the condition that it declares, with the type beside it; other fields have none."""
    found = {}
    for field in fields(declared):
        # Of `Annotated[float, condition] | None` the first part.
        parts = [part for part in (field.type, *get_args(field.type)) if get_origin(part) is Annotated]
        for of, condition in map(get_args, parts):
            passes = (*condition.passes, *([None] if type(None) in get_args(field.type) else []))
            found[field.name] = condition._replace(of=of, passes=passes, default=field.default)
    return found


def typed(value: Any, of: type) -> Any:
    """A value of TOML that must be of a type; raises a TypeError with the words after "expected ... to be"."""
    if of is object:
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number if of is float else isinstance(value, of) and (of is bool or not isinstance(value, bool))):
        raise TypeError(_TYPE_WORDS[of])
    try:
        return of(value)
    except OverflowError:
        return inf


def stated_values(
    given: Mapping[str, Any], known: Mapping[str, Condition], where: str = "", *, others: Iterable[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """The values of the keys that are known, UNREAD where one is of another type, and what is wrong.

    `where` leads every key in messages; `others` are keys that a misspelt one may have meant, too.
    """
    values: dict[str, Any] = {}
    faults: list[str] = []
    for key, value in given.items():
        if key not in known:
            faults.append(f"unknown key {where}{plain(key)}{near(key, [*known, *others])}")
            continue
        try:
            values[key] = typed(value, known[key].of)
        except TypeError as error:
            values[key] = UNREAD
            faults.append(f"expected {where}{plain(key)} to be {error}, got {shown(value)}")
    lacking = [key for key, condition in known.items() if condition.needed and key not in given]
    return values, faults + [f"missing key {where}{key}" for key in lacking]


def near(word: str, choices: Iterable[str]) -> str:
    """The end of a message that suggests what a misspelt word may have meant; empty if nothing is near.

    Of a number nothing is guessed: one that looks alike is another place, and no misspelling.
    """
    if word.isdecimal():
        return ""
    close = get_close_matches(word, list(choices), n=1)
    return f" (did you mean {plain(close[0])}?)" if close else ""


def not_among(what: str, value: Any, choices: Iterable[str]) -> str:
    """The words for a value that is none of the choices, with the one that may have been meant."""
    return f"expected {what}, got {shown(value)}{near(str(value), choices)}"


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


def listed(names: Iterable[Any]) -> str:
    """Some names, the first few of them."""
    all_names = list(map(str, names))
    more = f" and {len(all_names) - MAX_NAMED} more" if len(all_names) > MAX_NAMED else ""
    return ", ".join(all_names[:MAX_NAMED]) + more


def is_team_size(value: Any) -> bool:
    """Whether it is a number of trucks that one incident can need."""
    return isinstance(value, Integral) and 1 <= int(value) <= MAX_TRUCKS_PER_INCIDENT


def one_of(*names: str) -> Condition:
    """The condition that a field is one of some names."""
    return Condition(f"to be {' or '.join(names)}", lambda value: value in names)


def is_id(value: Any) -> bool:
    """Whether it is not empty, without control characters or spaces around it."""
    return bool(value) and value == value.strip() and is_text(value)


_LISTED_WORDS: Final = (
    f"not empty, without commas, control characters or spaces around it, and not one of {', '.join(RESERVED_IDS)}"
)
AMOUNT: Final = Condition(">= 0", lambda value: value >= 0.0, 0.0)
TEAM_SIZE: Final = Condition(f"to be a whole number from 1 to {MAX_TRUCKS_PER_INCIDENT}", is_team_size)
MINUTES: Final = Condition("> 0", lambda value: value > 0.0, LEAST_MINUTES, MAX_MINUTES)
WEIGHT: Final = Condition(f"> 0 and at most {MAX_WEIGHT:g}", lambda value: 0.0 < value <= MAX_WEIGHT)
CHANCE: Final = Condition("from 0 to 1", lambda value: 0.0 <= value <= 1.0)
FLAG: Final = Condition("to be true or false", lambda value: isinstance(value, bool))
CV: Final = Condition(f"from 0 to {MAX_CV:g}", lambda value: 0.0 <= value <= MAX_CV)

Text = Annotated[str, Condition("without control characters", is_text)]
Id = Annotated[str, Condition("not empty, without control characters or spaces around it", is_id)]
ListedId = Annotated[
    str, Condition(_LISTED_WORDS, lambda value: is_id(value) and "," not in value and value not in RESERVED_IDS)
]
NodeId = Annotated[str, Condition("to be a known node", refers="node")]
StationId = Annotated[str, Condition("to be a known station", refers="station")]
Coordinate = Annotated[
    float, Condition("to be a number", lambda value: value == value, -MAX_COORDINATE, MAX_COORDINATE)
]
Minutes = Annotated[float, MINUTES]
TeamSize = Annotated[int, TEAM_SIZE]
Weight = Annotated[float, WEIGHT]
Chance = Annotated[float, CHANCE]
Flag = Annotated[bool, FLAG]
