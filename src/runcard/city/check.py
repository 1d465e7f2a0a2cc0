"""What must hold for a city, checked once for every field, reference and route, with every fault collected.

The same checks serve a city built in memory and one read from a folder. A `Fault` therefore names its table and the
position in it; whoever raises the error turns that into words: `stations[1]` here, `station.csv row 3` in a folder.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import inf
from numbers import Integral
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from runcard.errors import CityError

if TYPE_CHECKING:
    from runcard.city.model import City, Objective

DRIVING_MODELS: Final = ("exponential", "gamma", "lognormal", "hyperexponential", "pareto")
BRANCHES: Final = ("short", "long")
SECOND_ROUTES: Final = ("same", "disjoint")
TURNOUT_MODELS: Final = ("exponential", "gamma", "lognormal")
LEAST_CV: Final = {"gamma": 0.0, "lognormal": 0.0, "hyperexponential": 1.0}
"""The models that have a coefficient of variation, and the smallest that each can have."""

MAX_CV: Final = 10.0
OBJECTIVES: Final = ("late", "minutes", "late+minutes")
MAX_WEIGHT: Final = 1000.0
"""Late incidents per minute. Far above 1 the minutes alone decide; far above this, the late ones drown in rounding."""

MAX_TRUCKS_PER_INCIDENT: Final = 4
OUTSIDE_ID: Final = "outside"
"""How a truck from outside the region is named in a team."""

RESERVED_IDS: Final = (OUTSIDE_ID, "all", "none")
"""No station may be called so: these words have a meaning where stations are listed."""

UNREAD: Final[Any] = object()
"""Stands for a value that could not be read: its fault is known already, so every check passes over it."""

TABLE_ATTRIBUTES: Final = {"node": "nodes", "link": "links", "station": "stations", "demand": "demand"}
"""The field of `City` that holds each table."""

_MAX_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: in which table (`city` for the settings), at which position (None: the table as a whole), and what."""

    table: str
    index: int | None
    text: str
    first: int | None = None


class UnreadableError(ValueError):
    """A file from which nothing can be read; the message says why. `read_city` makes a fault of it."""


class Rule(NamedTuple):
    """A condition on one field, and its words after "expected"; others for infinity where those do not exclude it."""

    expected: str
    holds: Callable[[Any], bool]
    finite: str | None = None

    def fault(self, value: Any) -> str:
        """What is wrong with a value for which the condition does not hold."""
        return f"expected {self.finite if self.finite and value == inf else self.expected}, got {value!r}"


def check_city(city: "City") -> None:
    """Raise one CityError that lists every fault of the city; return nothing if there is none."""
    faults = faults_of(city)
    if faults:
        raise CityError(f"city {city.name!r}", faults)


def faults_of(city: "City") -> list[str]:
    """Every fault of a city in memory, each as one line that says where, what was expected and what was found."""
    settings = {key: attrgetter(key)(city) for key in SETTING_RULES}
    tables = {table: getattr(city, attribute) for table, attribute in TABLE_ATTRIBUTES.items()}

    def place(table: str, index: int | None) -> str:
        if table == "city":
            return ""
        return TABLE_ATTRIBUTES[table] + ("" if index is None else f"[{index}]")

    return [described(fault, place) for fault in find_faults(settings, tables)]


def objective_faults(objective: "Objective") -> list[str]:
    """Every fault of an objective that belongs to no city."""
    return list(_setting_faults({"objective.minimise": objective.minimise, "objective.weight": objective.weight}))


def described(fault: Fault, place: Callable[[str, int | None], str]) -> str:
    """A fault in words, with `place` saying where a table and a position in it are."""
    where = place(fault.table, fault.index)
    text = f"{where}: {fault.text}" if where else fault.text
    return text if fault.first is None else f"{text} (first at {place(fault.table, fault.first)})"


def find_faults(
    settings: Mapping[str, Any], tables: Mapping[str, Sequence[Any]], *, routes: bool = True
) -> list[Fault]:
    """Every fault of a city given as settings and tables; a setting or table that is absent is not checked.

    Routes are looked at only if `routes` is set and all else is sound: otherwise one link that could not be read would
    make half the city unreachable.
    """
    faults = [Fault("city", None, text) for text in _setting_faults(settings)]
    for table, rows in tables.items():
        faults += _table_faults(table, rows)
    faults += _arrival_faults(settings, tables.get("demand", ()))
    known = {node.node_id for node in tables.get("node", ())}
    if known and UNREAD not in known:
        for table, columns in REFERENCES.items():
            faults += _reference_faults(table, tables.get(table, ()), columns, known)
    if routes and not faults:
        faults += _route_faults(tables["link"], tables["station"], tables["demand"])
    return faults


def near(word: str, choices: Iterable[str]) -> str:
    """The end of a message that suggests what a misspelt word may have meant; empty if nothing is near."""
    close = get_close_matches(word, list(choices), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _is_text(value: str) -> bool:
    # The common case first: isprintable is one fast pass, but refuses harmless characters such as a no-break space.
    return value.isprintable() or not any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in value)


def _is_id(value: str) -> bool:
    return bool(value) and value == value.strip() and _is_text(value)


def _is_station_id(value: str) -> bool:
    return _is_id(value) and "," not in value and value not in RESERVED_IDS


def _is_finite(value: float) -> bool:
    return -inf < value < inf


def _is_positive(value: float) -> bool:
    return 0.0 < value < inf


def _is_not_negative(value: float) -> bool:
    return 0.0 <= value < inf


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral)


def _is_count(value: int) -> bool:
    return _is_whole(value) and value >= 1


def _is_team_size(value: int) -> bool:
    return _is_count(value) and value <= MAX_TRUCKS_PER_INCIDENT


def _optional(rule: Rule) -> Rule:
    return rule._replace(holds=lambda value: value is None or rule.holds(value))


def _text(field: str) -> Rule:
    return Rule(f"{field} without control characters", _is_text)


def _id(field: str) -> Rule:
    return Rule(f"{field} not empty, without control characters or spaces around it", _is_id)


def _finite(field: str) -> Rule:
    return Rule(f"{field} to be a finite number", _is_finite)


def _positive(field: str) -> Rule:
    return Rule(f"{field} > 0", _is_positive, f"{field} to be a finite number > 0")


def _not_negative(field: str) -> Rule:
    return Rule(f"{field} >= 0", _is_not_negative, f"{field} to be a finite number >= 0")


def _team_size(field: str) -> Rule:
    return Rule(f"{field} to be a whole number from 1 to {MAX_TRUCKS_PER_INCIDENT}", _is_team_size)


SETTING_RULES: Final[Mapping[str, Rule]] = {
    "name": _text("name"),
    "busy_minutes": _positive("busy_minutes"),
    "target_minutes": _positive("target_minutes"),
    "trucks_per_incident": _team_size("trucks_per_incident"),
    "arrivals_per_incident": _team_size("arrivals_per_incident"),
    "shared_delay": Rule("shared_delay from 0 to 1", lambda value: 0.0 <= value <= 1.0),
    "driving.model": Rule(f"driving.model to be {' or '.join(DRIVING_MODELS)}", lambda value: value in DRIVING_MODELS),
    "driving.route_seed": Rule("driving.route_seed >= 0", lambda value: _is_whole(value) and value >= 0),
    "driving.cv": _optional(Rule(f"driving.cv from 0 to {MAX_CV:g}", lambda value: 0.0 <= value <= MAX_CV)),
    "driving.tail_index": _optional(
        Rule("driving.tail_index > 1, because the mean is infinite otherwise", lambda value: 1.0 < value < inf)
    ),
    "driving.fixed_part": Rule("driving.fixed_part from 0 to less than 1", lambda value: 0.0 <= value < 1.0),
    "driving.coupled_branch": _optional(
        Rule(f"driving.coupled_branch to be {' or '.join(BRANCHES)}", lambda value: value in BRANCHES)
    ),
    "driving.second_route": Rule(
        f"driving.second_route to be {' or '.join(SECOND_ROUTES)}", lambda value: value in SECOND_ROUTES
    ),
    "turnout.mean_minutes": _not_negative("turnout.mean_minutes"),
    "turnout.model": Rule(f"turnout.model to be {' or '.join(TURNOUT_MODELS)}", lambda value: value in TURNOUT_MODELS),
    "turnout.cv": _optional(Rule(f"turnout.cv from 0 to {MAX_CV:g}", lambda value: 0.0 <= value <= MAX_CV)),
    "turnout.shared": Rule("turnout.shared to be true or false", lambda value: isinstance(value, bool)),
    "outside.links": _optional(Rule("outside.links >= 1", _is_count)),
    "outside.link_minutes": _optional(_positive("outside.link_minutes")),
    "objective.minimise": Rule(
        f"objective.minimise to be {' or '.join(OBJECTIVES)}", lambda value: value in OBJECTIVES
    ),
    "objective.weight": _optional(
        Rule(f"objective.weight > 0 and at most {MAX_WEIGHT:g}", lambda value: 0.0 < value <= MAX_WEIGHT)
    ),
}

COLUMN_RULES: Final[Mapping[str, Mapping[str, Rule]]] = {
    "node": {
        "node_id": _id("node_id"),
        "x_coord": _finite("x_coord"),
        "y_coord": _finite("y_coord"),
        "name": _text("name"),
    },
    "link": {
        "link_id": _id("link_id"),
        "mean_minutes": _positive("mean_minutes"),
        "length_m": _optional(_not_negative("length_m")),
    },
    "station": {
        "station_id": Rule(
            "station_id not empty, without commas, and not one of " + ", ".join(RESERVED_IDS), _is_station_id
        ),
        "trucks": Rule("trucks >= 1", _is_count),
        "name": _text("name"),
    },
    "demand": {
        "incidents_per_day": _not_negative("incidents_per_day"),
        "trucks": _optional(_team_size("trucks")),
        "arrivals": _optional(_team_size("arrivals")),
        "target_minutes": _optional(_positive("target_minutes")),
        "name": _text("name"),
    },
}

UNIQUE: Final[Mapping[str, str]] = {"node": "node_id", "link": "link_id", "station": "station_id"}
"""The column of each table that may hold a value only once; a node may have several demand points."""

REFERENCES: Final[Mapping[str, tuple[str, ...]]] = {
    "link": ("from_node_id", "to_node_id"),
    "station": ("node_id",),
    "demand": ("node_id",),
}
"""The columns of each table that name a node."""


def _setting_faults(settings: Mapping[str, Any]) -> Iterator[str]:
    for key, value in settings.items():
        rule = SETTING_RULES[key]
        if not rule.holds(value):
            yield rule.fault(value)
    for section in ("driving", "turnout"):
        yield from _law_faults(section, settings)
    yield from _weight_faults(settings)


def _law_faults(section: str, settings: Mapping[str, Any]) -> Iterator[str]:
    """The faults of a law as a whole: a parameter that its model lacks, or has and needs."""
    model, cv = settings.get(f"{section}.model", "exponential"), settings.get(f"{section}.cv")
    tail_index = settings.get("driving.tail_index") if section == "driving" else None
    if model in LEAST_CV and cv is None:
        yield f"expected {section}.cv, which the model {model} needs, got none"
    elif model in LEAST_CV and cv is not None and 0.0 <= cv < LEAST_CV[model]:
        yield f"expected {section}.cv >= {LEAST_CV[model]:g} for the model {model}, got {cv!r}"
    elif model in DRIVING_MODELS and model not in LEAST_CV and cv is not None:
        yield f"expected no {section}.cv for the model {model}, which has none to choose, got {cv!r}"
    if section == "driving" and model == "pareto" and tail_index is None:
        yield "expected driving.tail_index, which the model pareto needs, got none"
    elif model in DRIVING_MODELS and model != "pareto" and tail_index is not None:
        yield f"expected no driving.tail_index for the model {model}, got {tail_index!r}"
    mean = settings.get("turnout.mean_minutes", 0.0)
    if section == "turnout" and mean == 0.0 and (cv is not None or model != "exponential"):
        yield "expected turnout.mean_minutes > 0 beside turnout.model or turnout.cv, got 0"
    branch, shared_delay = settings.get("driving.coupled_branch"), settings.get("shared_delay", 1.0)
    if section == "driving" and branch is not None:
        if model in DRIVING_MODELS and model != "hyperexponential":
            yield f"expected no driving.coupled_branch for the model {model}, which has no branches, got {branch!r}"
        if shared_delay != 1.0 and shared_delay is not UNREAD:
            yield (
                "expected no shared_delay beside driving.coupled_branch, whose chance is that of its branch, "
                f"got {shared_delay!r}"
            )


def _arrival_faults(settings: Mapping[str, Any], demand: Sequence[Any]) -> Iterator[Fault]:
    """A fault wherever an incident needs the arrival of more trucks than are sent."""
    sent, wanted = settings.get("trucks_per_incident", 2), settings.get("arrivals_per_incident", 1)
    if not (_is_team_size(sent) and _is_team_size(wanted)):
        return
    if wanted > sent:
        yield Fault(
            "city", None, f"expected arrivals_per_incident <= trucks_per_incident, got {wanted} of {sent} trucks"
        )
        return
    for index, point in enumerate(demand):
        trucks = sent if point.trucks is None else point.trucks
        arrivals = wanted if point.arrivals is None else point.arrivals
        if _is_team_size(trucks) and _is_team_size(arrivals) and arrivals > trucks:
            yield Fault("demand", index, f"expected arrivals <= trucks, got {arrivals} of {trucks} trucks")


def _weight_faults(settings: Mapping[str, Any]) -> Iterator[str]:
    """The fault of a weight that the objective lacks and needs, or has and does not use."""
    minimise, weight = settings.get("objective.minimise", "late"), settings.get("objective.weight")
    if minimise == "late+minutes" and weight is None:
        yield "expected objective.weight, which minimising late+minutes needs, got none"
    elif minimise in OBJECTIVES and minimise != "late+minutes" and weight is not None:
        yield f"expected no objective.weight where only {minimise} is minimised, got {weight!r}"


def _table_faults(table: str, rows: Sequence[Any]) -> Iterator[Fault]:
    """The faults of one table on its own: no rows, a field out of range, an id twice, no incidents at all."""
    if not rows:
        yield Fault(table, None, "expected at least one row, got none")
        return
    for field, rule in COLUMN_RULES[table].items():
        for index, row in enumerate(rows):
            value = getattr(row, field)
            if value is not UNREAD and not rule.holds(value):
                yield Fault(table, index, rule.fault(value))
    if table in UNIQUE:
        yield from _duplicate_faults(table, UNIQUE[table], rows)
    if table == "demand" and all(point.incidents_per_day == 0.0 for point in rows):
        yield Fault(table, None, "expected at least one incidents_per_day > 0, got none")


def _duplicate_faults(table: str, field: str, rows: Sequence[Any]) -> Iterator[Fault]:
    first: dict[Any, int] = {}
    for index, row in enumerate(rows):
        value = getattr(row, field)
        if value is not UNREAD and first.setdefault(value, index) != index:
            yield Fault(table, index, f"expected {field} to be unique, got {value!r} again", first[value])


def _reference_faults(table: str, rows: Sequence[Any], fields: tuple[str, ...], known: set[Any]) -> Iterator[Fault]:
    for field in fields:
        for index, row in enumerate(rows):
            value = getattr(row, field)
            if value not in known and value is not UNREAD:
                yield Fault(table, index, f"expected {field} to be a known node, got {value!r}")


def _route_faults(links: Sequence[Any], stations: Sequence[Any], demand: Sequence[Any]) -> Iterator[Fault]:
    """A fault for every station without a route to some demand point.

    A station with a route to one that reaches everything reaches everything too, so that in a sound city two searches
    from the first station, one with and one against the direction of the links, settle the matter for all.
    """
    ahead, back = _neighbours(links)
    wanted = dict.fromkeys(point.node_id for point in demand)
    reached = _reachable(stations[0].node_id, ahead)
    sound = _reachable(stations[0].node_id, back) if reached.issuperset(wanted) else set()
    for index, station in enumerate(stations):
        if station.node_id in sound:
            continue
        reached = _reachable(station.node_id, ahead)
        missed = [node_id for node_id in wanted if node_id not in reached]
        if missed:
            named = ", ".join(missed[:_MAX_NAMED])
            more = f" and {len(missed) - _MAX_NAMED} more" if len(missed) > _MAX_NAMED else ""
            yield Fault("station", index, f"expected a route to every demand point, got none to {named}{more}")


def _neighbours(links: Sequence[Any]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The nodes next to each node, along the direction of the links and against it."""
    ahead: dict[str, list[str]] = defaultdict(list)
    back: dict[str, list[str]] = defaultdict(list)
    for link in links:
        start, end = link.from_node_id, link.to_node_id
        ahead[start].append(end)
        back[end].append(start)
        if not link.directed:
            ahead[end].append(start)
            back[start].append(end)
    return ahead, back


def _reachable(start: str, neighbours: Mapping[str, list[str]]) -> set[str]:
    seen = {start}
    waiting = [start]
    while waiting:
        for node_id in neighbours.get(waiting.pop(), ()):
            if node_id not in seen:
                seen.add(node_id)
                waiting.append(node_id)
    return seen
