"""What must hold for a city: every field, reference and route is checked once, and every fault is collected.

The same checks serve a city built in memory and one read from a folder. So a `Fault` names its table and the position
in it. Whoever raises the error turns that into words: `stations[1]` here, `station.csv row 3` in a folder.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import inf
from numbers import Integral
from operator import attrgetter
from reprlib import Repr
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from runcard.errors import CityError

if TYPE_CHECKING:
    from runcard.city.model import City, Objective

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
"""No station may be called so: these words have a meaning where stations are listed."""

UNREAD: Final[Any] = object()
"""Stands for a value that could not be read. Its fault is known already, so every check passes over it."""

TABLE_ATTRIBUTES: Final = {"node": "nodes", "link": "links", "station": "stations", "demand": "demand"}
"""The field of `City` that holds each table."""

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


def check_city(city: "City") -> None:
    """Raise one CityError that lists every fault of the city; return nothing if there is none."""
    settings = {key: attrgetter(key)(city) for key in SETTING_CONDITIONS}
    tables = {table: getattr(city, attribute) for table, attribute in TABLE_ATTRIBUTES.items()}

    def place(table: str, index: int | None) -> str:
        if table == "city":
            return ""
        return TABLE_ATTRIBUTES[table] + ("" if index is None else f"[{index}]")

    if faults := [described(fault, place) for fault in find_faults(settings, tables, place)]:
        raise CityError(f"city {shown(city.name)}", faults)


def objective_faults(objective: "Objective") -> list[str]:
    """Every fault of an objective that belongs to no city."""
    return list(_setting_faults({"objective.minimise": objective.minimise, "objective.weight": objective.weight}))


def described(fault: Fault, place: Place) -> str:
    """A fault in words, with its place."""
    where = place(fault.table, fault.index)
    return f"{where}: {fault.text}" if where else fault.text


def find_faults(
    settings: Mapping[str, Any], tables: Mapping[str, Sequence[Any]], place: Place, *, routes: bool = True
) -> list[Fault]:
    """Every fault of a city given as settings and tables; a setting or table that is absent is not checked.

    Routes are checked only if `routes` is set and all else is sound. Otherwise one link that could not be read would
    make half the city unreachable.
    """
    faults = [Fault("city", None, text) for text in _setting_faults(settings)]
    for table, rows in tables.items():
        faults += _table_faults(table, rows, place)
    faults += _arrival_faults(settings, tables.get("demand", ()))
    known = {node.node_id for node in tables.get("node", ())}
    if known and UNREAD not in known:
        faults += [
            Fault(table, index, f"expected {field} {_REFERENCE.words}, got {shown(value)}")
            for table, rows in tables.items()
            for field, condition in COLUMN_CONDITIONS[table].items()
            for index, value in enumerate(getattr(row, field) for row in rows if condition is _REFERENCE)
            if value not in known and value is not UNREAD
        ]
    if routes and not faults:
        faults += route_faults(tables["link"], tables["station"], tables["demand"])
    return faults


def near(word: str, choices: Iterable[str]) -> str:
    """The end of a message that suggests what a misspelt word may have meant; empty if nothing is near."""
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


def _is_team_size(value: Any) -> bool:
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
_REFERENCE: Final = Condition(str, "to be a known node", lambda value: True)
_COORDINATE: Final = Condition(float, "to be a number", lambda value: value == value, -MAX_COORDINATE, MAX_COORDINATE)
_MINUTES: Final = Condition(float, "> 0", lambda value: value > 0.0, LEAST_MINUTES, MAX_MINUTES)
_COUNT: Final = Condition(int, ">= 1", lambda value: value >= 1)
_TEAM_SIZE: Final = Condition(int, f"to be a whole number from 1 to {MAX_TRUCKS_PER_INCIDENT}", _is_team_size)
_CV: Final = Condition(float, f"from 0 to {MAX_CV:g}", lambda value: 0.0 <= value <= MAX_CV, optional=True)
_AMOUNT: Final = Condition(float, ">= 0", lambda value: value >= 0.0, 0.0)

SETTING_CONDITIONS: Final[Mapping[str, Condition]] = {
    "name": _TEXT,
    "busy_minutes": _MINUTES,
    "target_minutes": _MINUTES,
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
        "from_node_id": _REFERENCE,
        "to_node_id": _REFERENCE,
        "directed": Condition(bool, "to be true or false", lambda value: value in (False, True)),
        "mean_minutes": _MINUTES,
        "length_m": _AMOUNT._replace(most=MAX_COORDINATE, optional=True),
    },
    "station": {
        "station_id": Condition(
            str,
            f"not empty, without commas, and not one of {', '.join(RESERVED_IDS)}",
            lambda value: _ID.holds(value) and "," not in value and value not in RESERVED_IDS,
        ),
        "node_id": _REFERENCE,
        "trucks": _COUNT._replace(least=1, most=1000),
        "name": _TEXT,
    },
    "demand": {
        "node_id": _REFERENCE,
        "incidents_per_day": _AMOUNT._replace(most=MAX_RATE),
        "trucks": _TEAM_SIZE._replace(optional=True),
        "arrivals": _TEAM_SIZE._replace(optional=True),
        "target_minutes": _MINUTES._replace(optional=True),
        "name": _TEXT,
    },
}

UNIQUE: Final[Mapping[str, str]] = {"node": "node_id", "link": "link_id", "station": "station_id"}
"""The column of each table that may hold a value only once; a node may have several demand points."""


_USES: Final[Mapping[str, tuple[str, str, Collection[str], bool]]] = {
    "driving.cv": ("driving.model", "the model", LEAST_CV, True),
    "driving.tail_index": ("driving.model", "the model", ("pareto",), True),
    "driving.coupled_branch": ("driving.model", "the model", ("hyperexponential",), False),
    "turnout.cv": ("turnout.model", "the model", LEAST_CV, True),
    "objective.weight": ("objective.minimise", "minimising", ("late+minutes",), True),
}
"""The settings that only some choices of another one use: that other one, words for it, these choices, and whether they
need it."""

_UNSTATED: Final = {"driving.model": "exponential", "turnout.model": "exponential", "objective.minimise": "late"}


def _setting_faults(settings: Mapping[str, Any]) -> Iterator[str]:
    """The faults of each setting on its own, and of those that do not fit together, if each of them is sound."""
    sound = {key: value for key, value in settings.items() if value is not UNREAD}
    for key, value in settings.items():
        if fault := SETTING_CONDITIONS[key].fault(key, value):
            del sound[key]
            yield fault
    unsound = settings.keys() - sound
    known = _UNSTATED | sound
    for key, (chooser, words, users, needed) in _USES.items():
        choice, value = known[chooser], known.get(key)
        if unsound & {chooser, key}:
            continue
        if value is not None and choice not in users:
            yield f"expected no {key} for {words} {choice}, which does not use it, got {value!r}"
        elif value is None and choice in users and needed:
            yield f"expected {key}, which {words} {choice} needs, got none"
        elif value is not None and users is LEAST_CV and value < LEAST_CV[choice]:
            yield f"expected {key} >= {LEAST_CV[choice]:g} for the model {choice}, got {value!r}"
    if known.get("driving.coupled_branch") is not None and (shared := known.get("shared_delay", 1.0)) != 1.0:
        yield (
            "expected no shared_delay beside driving.coupled_branch, whose chance is that of its branch, "
            f"got {shown(shared)}"
        )
    varied = known.get("turnout.cv") is not None or known["turnout.model"] != "exponential"
    if varied and known.get("turnout.mean_minutes", 0.0) == 0.0 and "turnout.mean_minutes" not in unsound:
        yield "expected turnout.mean_minutes > 0 beside turnout.model or turnout.cv, got 0"


def _arrival_faults(settings: Mapping[str, Any], demand: Sequence[Any]) -> Iterator[Fault]:
    """A fault wherever an incident needs the arrival of more trucks than are sent."""
    sent, wanted = settings.get("trucks_per_incident", 2), settings.get("arrivals_per_incident", 1)
    if not (_is_team_size(sent) and _is_team_size(wanted)):
        return
    if wanted > sent:
        words = "expected arrivals_per_incident <= trucks_per_incident"
        yield Fault("city", None, f"{words}, got {wanted} of {sent} trucks")
        return
    for index, point in enumerate(demand):
        trucks = sent if point.trucks is None else point.trucks
        arrivals = wanted if point.arrivals is None else point.arrivals
        if _is_team_size(trucks) and _is_team_size(arrivals) and arrivals > trucks:
            yield Fault("demand", index, f"expected arrivals <= trucks, got {arrivals} of {trucks} trucks")


def _table_faults(table: str, rows: Sequence[Any], place: Place) -> Iterator[Fault]:
    """The faults of one table on its own: no rows, a field out of range, an id twice, no incidents at all."""
    if not rows:
        yield Fault(table, None, "expected at least one row, got none")
        return
    for field, condition in COLUMN_CONDITIONS[table].items():
        for index, row in enumerate(rows):
            if fault := condition.fault(field, getattr(row, field)):
                yield Fault(table, index, fault)
    first: dict[Any, int] = {}
    for index, value in enumerate(getattr(row, UNIQUE[table]) for row in rows if table in UNIQUE):
        if value is not UNREAD and first.setdefault(value, index) != index:
            again = f"got {shown(value)} again (first at {place(table, first[value])})"
            yield Fault(table, index, f"expected {UNIQUE[table]} to be unique, {again}")
    if table == "demand":
        rates = [point.incidents_per_day for point in rows]
        if all(rate == 0.0 for rate in rates):
            yield Fault(table, None, "expected at least one incidents_per_day > 0, got none")
        elif all(isinstance(rate, float | int) and 0.0 <= rate < LEAST_RATE for rate in rates):
            yield Fault(table, None, f"expected at least one incidents_per_day >= {LEAST_RATE:g}, got {max(rates)!r}")


def route_faults(links: Sequence[Any], stations: Sequence[Any], demand: Sequence[Any]) -> Iterator[Fault]:
    """A fault for every station without a route to some demand point.

    Stations that can reach one another reach the same nodes, so that one search is enough for all of them.
    """
    from scipy.sparse import csr_array  # here, because it takes a while to import
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    ways = [(link.from_node_id, link.to_node_id) for link in links]
    ways += [(link.to_node_id, link.from_node_id) for link in links if not link.directed]
    wanted = dict.fromkeys(point.node_id for point in demand)
    names = dict.fromkeys([*(node_id for way in ways for node_id in way), *wanted, *(one.node_id for one in stations)])
    number = {node_id: place for place, node_id in enumerate(names)}
    ends = np.array([(number[start], number[end]) for start, end in ways]).T
    graph = csr_array((np.ones(len(ways)), (ends[0], ends[1])), shape=(len(number), len(number)))
    part = connected_components(graph, connection="strong")[1].tolist()
    missed: dict[int, list[str]] = {}
    for index, station in enumerate(stations):
        here = number[station.node_id]
        if part[here] not in missed:
            reached = set(breadth_first_order(graph, here, return_predecessors=False).tolist())
            missed[part[here]] = [node_id for node_id in wanted if number[node_id] not in reached]
        if found := missed[part[here]]:
            named = ", ".join(found[:MAX_NAMED])
            more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
            yield Fault("station", index, f"expected a route to every demand point, got none to {named}{more}")
