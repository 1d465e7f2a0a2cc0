"""The parts of a city: the rows of its tables and the sections of `city.toml`, each field with what it must be.

This is the one place of a key of a section or of a column: reading, checking, writing and messages follow from it. Keys
outside of all sections are fields of `City` (`model.py`). Fields without a condition are read from nowhere.
"""

from dataclasses import KW_ONLY, dataclass, field, fields
from math import inf
from typing import Annotated, Any, Final

from runcard.city.conditions import (
    AMOUNT,
    CV,
    LEAST_CV,
    MAX_COORDINATE,
    MAX_MINUTES,
    MAX_RATE,
    MAX_SEED,
    MINUTES,
    WEIGHT,
    Condition,
    Coordinate,
    Flag,
    Id,
    ListedId,
    Minutes,
    NodeId,
    OnlyWith,
    StationId,
    TeamSize,
    Text,
    Weight,
    conditions_of,
    is_id,
    one_of,
)

Extra = tuple[tuple[str, str], ...]
"""The cells of columns that runcard does not use, as pairs of column and cell. They are kept, but not compared."""

CvOfModel = Annotated[float, CV._replace(only_with=OnlyWith("model", tuple(LEAST_CV)))]
_TAIL_INDEX: Final = Condition(
    "> 1, because the mean is infinite otherwise",
    lambda value: 1.0 < value < inf,
    only_with=OnlyWith("model", ("pareto",)),
)
_FIXED_PART: Final = Condition("from 0 to less than 1", lambda value: 0.0 <= value < 1.0, quiet=True)
_BRANCH: Final = one_of("short", "long")._replace(only_with=OnlyWith("model", ("hyperexponential",), needed=False))
_SCALE: Final = MINUTES._replace(only_with=OnlyWith("model", ("gamma",), needed=False))
_WEIGHED: Final = OnlyWith("minimise", ("late+minutes",), words="minimising")


@dataclass(frozen=True, slots=True)
class Driving:
    """The law of the driving time on a link, whose mean is the link's, and the seed that breaks ties between routes.

    `cv` is the coefficient of variation of the random part, `tail_index` belongs to a pareto law, and `fixed_part` is
    the part of the mean that is not random. `scale_minutes` makes the variance of a gamma law that many times its mean,
    in place of `cv`: then it does not matter how roads are cut into links. `coupled_branch`, short or long, is the
    branch of a hyperexponential law in which trucks on one link meet the same delay. `second_route` says whether the
    second truck of a station follows the first ("same") or shares as few links with it as it can ("disjoint").
    """

    model: Annotated[str, one_of("exponential", "gamma", "lognormal", "hyperexponential", "pareto")] = "exponential"
    route_seed: Annotated[int, Condition(">= 0", lambda value: value >= 0, 0, MAX_SEED)] = 0
    cv: CvOfModel | None = None
    tail_index: Annotated[float, _TAIL_INDEX] | None = None
    fixed_part: Annotated[float, _FIXED_PART] = 0.0
    coupled_branch: Annotated[str, _BRANCH] | None = None
    second_route: Annotated[str, one_of("same", "disjoint")._replace(quiet=True)] = "same"
    scale_minutes: Annotated[float, _SCALE] | None = None


@dataclass(frozen=True, slots=True)
class Turnout:
    """The time before a truck leaves its station; if it is `shared`, trucks of one station leave together."""

    mean_minutes: Annotated[float, AMOUNT._replace(most=MAX_MINUTES)] = 0.0
    model: Annotated[str, one_of("exponential", "gamma", "lognormal")] = "exponential"
    cv: CvOfModel | None = None
    shared: Flag = True


@dataclass(frozen=True, slots=True)
class Outside:
    """The route of a truck from outside; if left open, twice as many links as the longest route, of the mean of all."""

    links: Annotated[int, Condition(">= 1", lambda value: value >= 1, 1, 10_000)] | None = None
    link_minutes: Minutes | None = None


@dataclass(frozen=True, slots=True)
class Objective:
    """What a policy makes smallest: the late fraction, the mean response minutes, or a weighted sum of both.

    `weight` belongs to late+minutes: how many late incidents a minute of mean response counts as.
    """

    minimise: Annotated[str, one_of("late", "minutes", "late+minutes")] = "late"
    weight: Annotated[float, WEIGHT._replace(only_with=_WEIGHED)] | None = None


LATE: Final = Objective()
"""The late fraction alone: the objective of a city that states none."""


SECTIONS: Final[dict[str, type[Any]]] = {
    "driving": Driving, "turnout": Turnout, "outside": Outside, "objective": Objective,
}  # fmt: skip
"""By the field of `City` that has it."""

_KIND_WORDS: Final = (
    "not empty, of at most 60 characters, without commas, slashes, control characters or spaces around it, and no "
    "key of [turnout]"
)
_TURNOUT_KEYS: Final = tuple(key.name for key in fields(Turnout))


def _is_kind(value: Any) -> bool:
    return is_id(value) and len(value) <= 60 and not set(value) & set(",/\\") and value not in _TURNOUT_KEYS


Kind = Annotated[str, Condition(_KIND_WORDS, _is_kind)]


@dataclass(frozen=True, slots=True)
class Node:
    """A junction or place of the road graph."""

    node_id: Id
    x_coord: Coordinate
    y_coord: Coordinate
    name: Text = ""
    extra: Extra = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Link:
    """A road between two nodes; usable one way if `directed`, else both ways."""

    link_id: Id
    from_node_id: NodeId
    to_node_id: NodeId
    directed: Annotated[bool, Condition("to be true or false", lambda value: value in (False, True))]
    mean_minutes: Minutes
    length_m: Annotated[float, AMOUNT._replace(most=MAX_COORDINATE)] | None = None
    extra: Extra = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Station:
    """A firehouse at a node and the number of its trucks, which a city with a roster counts itself."""

    station_id: ListedId
    node_id: NodeId
    trucks: Annotated[int, Condition(">= 1", lambda value: value >= 1, 1, 1000, passes=(0,))] = 0
    name: Text = ""
    extra: Extra = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of the roster: a truck of some kind, and the station that it belongs to."""

    unit_id: ListedId
    station_id: StationId
    kind: Kind
    extra: Extra = field(default=(), compare=False)


FIRST: Final = "first"
LAST: Final = "last"
MIDDLE: Final = "arrival "
"""What arrivals are called: one that is neither the first nor the last has its number behind it."""


def arrival_name(number: int, trucks: int) -> str:
    """What the arrival of the so many-th of some trucks is called."""
    return FIRST if number == 1 else LAST if number == trucks else f"{MIDDLE}{number}"


@dataclass(frozen=True, slots=True)
class Standard:
    """What counts for one type of incident and one kind: of the `trucks` that go, so many are there by the target.

    Several standards of one type and kind are about the same trucks. Policies make the weighted sum of missed standards
    as small as they can.
    """

    type: Id
    kind: Kind
    trucks: TeamSize
    arrivals: TeamSize
    target_minutes: Minutes
    weight: Weight = 1.0
    busy_minutes: Minutes | None = None
    """The mean time that a truck of this kind is busy with an incident of this type; None: as with any other."""
    extra: Extra = field(default=(), compare=False)

    @property
    def rule(self) -> str:
        """When it is met, in words: 1 of 2 in 6 min."""
        return f"{self.arrivals} of {self.trucks} in {self.target_minutes:g} min"

    @property
    def arrival(self) -> str:
        """What the arrival is called that it is about: "first", "last", or "arrival 2"."""
        return arrival_name(self.arrivals, self.trucks)

    def document(self) -> dict[str, str | int | float]:
        """What tells it from others, as plain values, ready for JSON."""
        names = ("type", "kind", "arrivals", "target_minutes", "weight")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class DemandPoint:
    """A place where incidents start that need the same.

    An incident is late if the `arrivals`-th of its `trucks` is not there by the target. Where one of these is None, the
    city's value holds. In a city with standards the type says all this instead.
    """

    node_id: NodeId
    incidents_per_day: Annotated[float, AMOUNT._replace(most=MAX_RATE)]
    trucks: TeamSize | None = None
    _: KW_ONLY
    arrivals: TeamSize | None = None
    target_minutes: Minutes | None = None
    type: Annotated[str, Condition("")] = ""
    name: Text = ""
    extra: Extra = field(default=(), compare=False)


ROWS: Final[dict[str, type[Any]]] = {
    "nodes": Node, "links": Link, "stations": Station, "demand": DemandPoint, "units": Unit, "standards": Standard,
}  # fmt: skip
"""The class of the rows of each table, by the field of `City` that holds them."""
OPTIONAL_ROWS: Final = ("units", "standards")

COLUMN_CONDITIONS: Final = {table: conditions_of(row) for table, row in ROWS.items()}
