"""The city: a road graph, stations with trucks, and demand points with incident rates.

Everything here is frozen. A `City` is checked when it is made (`check.py`), so every city that exists is valid. Times
are minutes, rates are per day, coordinates are in any unit that suits a map.
"""

from dataclasses import dataclass, field
from typing import Final

from runcard.city.check import check_city

MINUTES_PER_DAY: Final = 1440.0

Extra = tuple[tuple[str, str], ...]
"""The cells of columns that runcard does not use, as pairs of column and cell. They are kept, but not compared."""


@dataclass(frozen=True, slots=True)
class Node:
    """A junction or place of the road graph."""

    node_id: str
    x_coord: float
    y_coord: float
    name: str = ""
    extra: Extra = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Link:
    """A road between two nodes; usable one way if `directed`, else both ways."""

    link_id: str
    from_node_id: str
    to_node_id: str
    directed: bool
    mean_minutes: float
    length_m: float | None = None
    extra: Extra = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Station:
    """A firehouse at a node and the number of its trucks."""

    station_id: str
    node_id: str
    trucks: int
    name: str = ""
    extra: Extra = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class DemandPoint:
    """A place where incidents of one class start.

    An incident is late if the `arrivals`-th of its `trucks` is not there by the target. Where one of these is None, the
    city's value holds.
    """

    node_id: str
    incidents_per_day: float
    trucks: int | None = None
    target_minutes: float | None = None
    name: str = ""
    extra: Extra = field(default=(), compare=False)
    arrivals: int | None = None


@dataclass(frozen=True, slots=True)
class Driving:
    """The law of the driving time on a link, whose mean is the link's, and the seed that breaks ties between routes.

    `cv` is the coefficient of variation of the random part, `tail_index` belongs to a pareto law, and `fixed_part` is
    the part of the mean that is not random. `coupled_branch`, short or long, is the branch of a hyperexponential law in
    which trucks on one link meet the same delay. `second_route` says whether the second truck of a station follows the
    first ("same") or shares as few links with it as it can ("disjoint").
    """

    model: str = "exponential"
    route_seed: int = 0
    cv: float | None = None
    tail_index: float | None = None
    fixed_part: float = 0.0
    coupled_branch: str | None = None
    second_route: str = "same"


@dataclass(frozen=True, slots=True)
class Turnout:
    """The time before a truck leaves its station; if it is `shared`, trucks of one station leave together."""

    mean_minutes: float = 0.0
    model: str = "exponential"
    cv: float | None = None
    shared: bool = True


@dataclass(frozen=True, slots=True)
class Outside:
    """The route of a truck from outside; if left open, twice as many links as the longest route, of the mean of all."""

    links: int | None = None
    link_minutes: float | None = None


@dataclass(frozen=True, slots=True)
class Objective:
    """What a policy makes smallest: the late fraction, the mean response minutes, or a weighted sum of both.

    `weight` belongs to late+minutes: how many late incidents a minute of mean response counts as.
    """

    minimise: str = "late"
    weight: float | None = None


LATE: Final = Objective()
"""The late fraction alone: the objective of a city that states none."""


@dataclass(frozen=True, slots=True)
class City:
    """A city, as read from a folder or generated; raises one CityError with every fault if it is not valid."""

    name: str
    busy_minutes: float
    target_minutes: float
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    stations: tuple[Station, ...]
    demand: tuple[DemandPoint, ...]
    trucks_per_incident: int = 2
    shared_delay: float = 1.0
    arrivals_per_incident: int = 1
    driving: Driving = Driving()
    turnout: Turnout = Turnout()
    outside: Outside = Outside()
    objective: Objective = LATE

    def __post_init__(self) -> None:
        check_city(self)

    def rule_of(self, point: DemandPoint) -> str:
        """When an incident at a demand point is in time, in words: 1 of 2 in 6 min."""
        arrivals, trucks = point.arrivals or self.arrivals_per_incident, point.trucks or self.trucks_per_incident
        return f"{arrivals} of {trucks} in {point.target_minutes or self.target_minutes:g} min"

    @property
    def num_trucks(self) -> int:
        """The number of trucks of all stations together."""
        return sum(station.trucks for station in self.stations)

    @property
    def incidents_per_day(self) -> float:
        """The number of incidents a day of all demand points together."""
        return sum(point.incidents_per_day for point in self.demand)

    @property
    def load(self) -> float:
        """The incidents per truck and busy time: the paper's ρ = Σλ / (μ ΣC)."""
        return self.incidents_per_day * self.busy_minutes / (MINUTES_PER_DAY * self.num_trucks)
