"""How trucks travel, as values: routes, laws, turnout and trucks from outside; and what incidents need.

Everything that says how late a team is takes these and no city.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.response.laws import DrivingLaws, Law, ScaleLaw, driving_laws, is_fixed, turnout_law
from runcard.response.routes import Routes, TwoRoads, find_routes, two_roads

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Needs:
    """What incidents at each demand point need, each [J]."""

    trucks: NDArray[np.int32]
    """k."""
    arrivals: NDArray[np.int32]
    """m: an incident is late when the m-th truck is."""
    targets: Floats
    """T in minutes."""


@dataclass(frozen=True, eq=False)
class Travel:
    """How trucks travel from their stations, and from outside, to every demand point."""

    routes: Routes
    laws: DrivingLaws
    turnout: Law
    turnout_minutes: float
    turnout_shared: bool
    """Whether trucks of one station that go together leave together."""
    outside_links: int
    outside_minutes: float
    """The links of the route of a truck from outside, and the mean of each."""
    second: dict[tuple[int, int], TwoRoads]
    """By row of `routes` and station: the links of two trucks that take different roads; empty if they do not."""
    fixed: bool
    """Whether nothing is random."""
    paper_times: bool
    """Whether times are those of the paper: exponential links of one mean, and trucks that leave at once."""
    on_road: NDArray[np.bool_]
    """[I] whether the only truck of a station is on the road already, and has no turnout."""

    @cached_property
    def link_means(self) -> Floats:
        """[kind] the different means of links that some route has; links of one mean are of one kind."""
        second = [links for roads in self.second.values() for links in roads]
        return np.unique(self.routes.roads.minutes[np.concatenate([self.routes.links, *second])])

    @cached_property
    def kind_of_link(self) -> NDArray[np.int32]:
        """[link] the kind of each link that some route has."""
        return np.searchsorted(self.link_means, self.routes.roads.minutes).astype(np.int32)

    @cached_property
    def kinds(self) -> NDArray[np.int32]:
        """The kinds of the links of all routes, as `routes.links` lists them."""
        return self.kind_of_link[self.routes.links]

    @cached_property
    def deviations(self) -> Floats:
        """[I, J] the standard deviation of the time of one truck, turnout included."""
        of_roads = self.routes.sums(self.laws.alone.variance(self.routes.roads.minutes))
        ready = self.turnout.deviation * self._turnouts
        return np.sqrt(np.maximum(of_roads, 0.0) + ready**2)

    @cached_property
    def minutes(self) -> Floats:
        """[I, J] the mean time of one truck, turnout included."""
        return self.routes.drive_minutes + self._turnouts

    @property
    def _turnouts(self) -> Floats:
        """[I, 1] the mean turnout of the trucks of each station."""
        return np.where(self.on_road, 0.0, self.turnout_minutes)[:, None]

    def starts(self, turnout: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """[I, frequency] the transform of the time before a truck of each station leaves, given that of turnout."""
        return np.where(self.on_road[:, None], 1.0, turnout)

    @property
    def fixed_part(self) -> float:
        """The part of a mean that is fixed and added from junction to junction, not by links; 0 if links have it."""
        law = self.laws.alone
        return law.fixed if isinstance(law, ScaleLaw) else 0.0

    @property
    def shared_turnout(self) -> Floats:
        """The mean, and the variance, of the turnout that trucks of one station have together."""
        shared = self.turnout_minutes if self.turnout_shared else 0.0
        return np.array([shared, (self.turnout.deviation * shared) ** 2])

    @property
    def outside_mean(self) -> float:
        """The mean time of a truck from outside."""
        return self.outside_links * self.outside_minutes + self.turnout_minutes

    @property
    def outside_deviation(self) -> float:
        """The standard deviation of the time of a truck from outside."""
        drive = self.outside_links * float(self.laws.alone.variance(np.array([self.outside_minutes]))[0])
        return float(np.sqrt(drive + (self.turnout.deviation * self.turnout_minutes) ** 2))


def travel_of(city: City, *, on_road: Collection[int] = ()) -> Travel:
    """How trucks travel in a city; the only truck of each station in `on_road` is on the road already."""
    routes, driving, turnout = find_routes(city), city.driving, city.turnout
    links, link_minutes = outside_route(city, routes)
    several = [i for i, station in enumerate(city.stations) if station.trucks > 1]
    still = turnout.mean_minutes == 0.0 or is_fixed(turnout.cv)
    return Travel(
        routes=routes,
        laws=driving_laws(driving, city.shared_delay),
        turnout=turnout_law(turnout),
        turnout_minutes=float(turnout.mean_minutes),
        turnout_shared=turnout.shared,
        outside_links=links,
        outside_minutes=link_minutes,
        second={
            pair: two_roads(routes.route(*pair), links)
            for pair, links in (routes.second_routes(several) if driving.second_route == "disjoint" else {}).items()
        },
        fixed=still and is_fixed(driving.cv),
        paper_times=(
            driving.model == "exponential"
            and driving.fixed_part == 0.0
            and turnout.mean_minutes == 0.0
            and routes.roads.one_mean
        ),
        on_road=np.isin(np.arange(len(city.stations)), list(on_road)),
    )


def needs_of(city: City) -> tuple[Needs, ...]:
    """What incidents at each demand point of a city of one kind need: by its first standard, its second, and so on.

    A demand point with fewer standards than others has a target of inf after its last one, which is never missed.
    """
    standards = [city.standards_of(point) for point in city.demand]
    found: list[Needs] = []
    for number in range(max(map(len, standards))):
        counts = [len(own) > number for own in standards]
        own = [of_point[min(number, len(of_point) - 1)] for of_point in standards]
        until = np.where(counts, [one.target_minutes for one in own], np.inf)
        trucks, arrivals = ([getattr(one, name) for one in own] for name in ("trucks", "arrivals"))
        found.append(Needs(np.array(trucks, np.int32), np.array(arrivals, np.int32), until))
    return tuple(found)


def outside_route(city: City, routes: Routes) -> tuple[int, float]:
    """The links of the route of a truck from outside, and their mean minutes.

    If the city does not say: twice the links of its longest route, with the mean of its links.
    """
    links, minutes = city.outside.links, city.outside.link_minutes
    return (
        max(1, 2 * int(routes.num_links.max())) if links is None else int(links),
        routes.roads.mean_minutes if minutes is None else float(minutes),
    )
