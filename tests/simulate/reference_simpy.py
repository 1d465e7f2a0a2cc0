"""A second implementation of the simulation: plain SimPy, written from DESIGN.md section 1 alone.

Incidents are one process, every truck that is sent another; link times come from numpy's generator, one draw for each
truck and link, or one for all trucks where a link is met together. The roads' shortest routes are taken from the
package, because a tie between routes changes what trucks share; nothing else is.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import simpy
from numpy.typing import NDArray

from runcard.city import City
from runcard.response.routes import routes_to

MINUTES_PER_DAY = 1440.0

Decide = Callable[[Sequence[int], int], Sequence[int]]
"""From the idle trucks of each station and a demand point to the stations of the team, one for each truck."""


@dataclass(frozen=True)
class Roads:
    """The roads of a city: routes to demand points as mean minutes by link id, and drives home in mean minutes."""

    city: City

    @cached_property
    def minutes(self) -> dict[str, float]:
        """The mean of each link."""
        return {link.link_id: link.mean_minutes for link in self.city.links}

    @cached_property
    def routes(self) -> list[tuple[tuple[str, ...], ...]]:
        """[J][I] the links of each route."""
        return [routes_to(self.city, j) for j in range(len(self.city.demand))]

    @cached_property
    def graph(self) -> Any:
        """The roads as networkx has them."""
        graph = nx.MultiDiGraph()
        for link in self.city.links:
            graph.add_edge(link.from_node_id, link.to_node_id, link.link_id, minutes=link.mean_minutes)
            if not link.directed:
                graph.add_edge(link.to_node_id, link.from_node_id, link.link_id, minutes=link.mean_minutes)
        return graph

    @cached_property
    def ways(self) -> dict[str, dict[str, list[str]]]:
        """The nodes of a shortest way between every two nodes."""
        return dict(nx.all_pairs_dijkstra_path(self.graph, weight="minutes"))

    def home_means(self, node: str, station: int) -> list[float]:
        """The means of the links of a shortest way home."""
        way = self.ways[node][self.city.stations[station].node_id]
        return [min(arc["minutes"] for arc in self.graph[u][w].values()) for u, w in pairwise(way)]

    def nodes_on(self, route: Sequence[str], start: str) -> list[str]:
        """The nodes of a route."""
        ends = {link.link_id: (link.from_node_id, link.to_node_id) for link in self.city.links}
        nodes = [start]
        for link_id in route:
            u, w = ends[link_id]
            nodes.append(w if nodes[-1] == u else u)
        return nodes


@dataclass
class Tally:
    """What the simulation counted: arrays by batch."""

    late_fractions: list[float] = field(default_factory=list)
    first_means: list[float] = field(default_factory=list)
    last_means: list[float] = field(default_factory=list)
    busy_fractions: list[NDArray[np.float64]] = field(default_factory=list)
    """[batch][I] the mean fraction of the time that a truck of the station is away."""
    dispatches: list[NDArray[np.int64]] = field(default_factory=list)
    """[batch][I]"""
    num_idle: list[list[int]] = field(default_factory=list)
    """[batch][incident] the idle trucks that each incident found."""


@dataclass
class Department:
    """The trucks of a city, the incidents that they go to, and what is counted."""

    city: City
    decide: Decide
    seed: int
    turn_back: bool = False
    """Whether trucks turn back when the first one has arrived."""
    scene_minutes: float | None = None
    """If given, trucks drive there, stay this long on average and drive back."""

    def __post_init__(self) -> None:
        self.env = simpy.Environment()
        self.rng = np.random.default_rng(self.seed)
        self.roads = Roads(self.city)
        self.trucks = np.array([station.trucks for station in self.city.stations])
        self.idle = self.trucks.tolist()
        rates = np.array([point.incidents_per_day for point in self.city.demand]) / MINUTES_PER_DAY
        self.gap_minutes = 1.0 / rates.sum()
        self.rate_below = np.cumsum(rates) / rates.sum()
        self.longest = max(len(route) for routes in self.roads.routes for route in routes)
        self.changed_at = 0.0
        self._restart()

    def run(self, *, num_batches: int, batch_incidents: int, warm_incidents: int) -> Tally:
        """Let incidents happen, some before anything is counted."""
        tally = Tally()
        self.env.process(self._incidents())
        self._let_happen(warm_incidents)
        for _ in range(num_batches):
            self._restart()
            start = self.env.now
            self._let_happen(batch_incidents)
            self._count_away()
            late, first, last, found = zip(*self.records, strict=True)
            tally.late_fractions.append(float(np.mean(late)))
            tally.first_means.append(float(np.mean(first)))
            tally.last_means.append(float(np.mean(last)))
            tally.busy_fractions.append(self.away_minutes / (self.trucks * (self.env.now - start)))
            tally.dispatches.append(self.num_sent)
            tally.num_idle.append(list(found))
        return tally

    def _restart(self) -> None:
        """Count from now on."""
        self.changed_at = self.env.now
        self.records: list[tuple[bool, float, float, int]] = []
        self.away_minutes = np.zeros(len(self.idle))
        self.num_sent = np.zeros(len(self.idle), np.int64)

    def _count_away(self) -> None:
        """Count the minutes that trucks have been away since the last change."""
        self.away_minutes += (self.trucks - self.idle) * (self.env.now - self.changed_at)
        self.changed_at = self.env.now

    def _let_happen(self, num_incidents: int) -> None:
        """Let so many more incidents happen."""
        wanted = len(self.records) + num_incidents
        while len(self.records) < wanted:
            self.env.step()

    def _incidents(self) -> Generator[simpy.Event, Any, None]:
        """Incidents, one after the other, as a Poisson process."""
        while True:
            yield self.env.timeout(self.rng.exponential(self.gap_minutes))
            self._incident(int(np.searchsorted(self.rate_below, self.rng.random(), side="right")))

    def _incident(self, j: int) -> None:
        """Send a team to demand point j, and the rest from outside."""
        city, point = self.city, self.city.demand[j]
        needed = point.trucks or city.trucks_per_incident
        found = sum(self.idle)
        team = list(self.decide(tuple(self.idle), j))
        assert len(team) == min(needed, found)
        drives = self._drives(j, team)
        outside = self._outside_minutes(needed - len(team))
        arrivals = sorted([sum(drive) for drive in drives] + outside)
        counts = arrivals[(point.arrivals or city.arrivals_per_incident) - 1]
        last = counts if self.turn_back else arrivals[-1]
        late = counts > (point.target_minutes or city.target_minutes)
        self._count_away()
        for i, drive in zip(team, drives, strict=True):
            assert self.idle[i] > 0
            self.idle[i] -= 1
            self.num_sent[i] += 1
            self.env.process(self._truck(i, j, drive, counts))
        self.records.append((late, arrivals[0], last, found))

    def _drives(self, j: int, team: Sequence[int]) -> list[list[float]]:
        """The minutes of each truck of a team on each link of its route to demand point j."""
        together: dict[str, float | None] = {}
        drives = []
        for i in team:
            drive = []
            for link in self.roads.routes[j][i]:
                mean = self.roads.minutes[link]
                if link not in together:
                    met = self.rng.random() < self.city.shared_delay
                    together[link] = self.rng.exponential(mean) if met else None
                shared = together[link]
                drive.append(self.rng.exponential(mean) if shared is None else shared)
            drives.append(drive)
        return drives

    def _outside_minutes(self, num: int) -> list[float]:
        """When trucks from outside arrive, each by a route of its own."""
        links = self.city.outside.links or max(1, 2 * self.longest)
        mean = self.city.outside.link_minutes or float(np.mean(list(self.roads.minutes.values())))
        return [float(self.rng.exponential(mean, links).sum()) for _ in range(num)]

    def _truck(self, i: int, j: int, drive: list[float], counts: float) -> Generator[simpy.Event, Any, None]:
        """A truck of station i from being sent until it is home."""
        node = self.city.demand[j].node_id
        if self.turn_back and sum(drive) > counts:
            yield self.env.timeout(counts)
            # It turns round, and is back at the node behind it after as long as it has driven from there.
            passed = np.concatenate([[0.0], np.cumsum(drive)])
            place = max(0, int(np.searchsorted(passed, counts)) - 1)
            nodes = self.roads.nodes_on(self.roads.routes[j][i], self.city.stations[i].node_id)
            yield self.env.timeout(counts - passed[place])
            yield self.env.timeout(self._home_minutes(nodes[place], i))
        elif self.scene_minutes is not None:
            yield self.env.timeout(sum(drive))
            yield self.env.timeout(self.rng.exponential(self.scene_minutes))
            yield self.env.timeout(self._home_minutes(node, i))
        else:
            yield self.env.timeout(self.rng.exponential(self.city.busy_minutes))
        self._count_away()
        self.idle[i] += 1

    def _home_minutes(self, node: str, i: int) -> float:
        """The minutes of a drive home."""
        return float(sum(self.rng.exponential(mean) for mean in self.roads.home_means(node, i)))


def closest_first(city: City) -> Decide:
    """The closest idle trucks, by mean minutes; of stations equally close, those listed first."""
    roads = Roads(city)
    drives = [[sum(roads.minutes[link] for link in route) for route in routes] for routes in roads.routes]
    orders = [sorted(range(len(drive)), key=[round(minutes, 9) for minutes in drive].__getitem__) for drive in drives]

    def decide(idle: Sequence[int], j: int) -> list[int]:
        needed = city.demand[j].trucks or city.trucks_per_incident
        return [i for i in orders[j] for _ in range(idle[i])][:needed]

    return decide
