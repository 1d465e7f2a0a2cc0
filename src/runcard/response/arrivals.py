"""When the first and the last truck of every team are there: means, and the chances of being later than some times.

**The last from the first.** For trucks r of a team, those from outside included, and R_S the first of a set S of them,

    max_r R_r = Σ_{S not empty} (-1)^(|S|+1) R_S,

so that the mean of the last arrival, and P(last > t), are such sums over means and chances of first arrivals. These are
known: of one truck, of the whole team (`mean_minutes`), and of smaller ones by the same engines. Trucks from outside
are independent and alike. The stated errors add up: C(k, n) times that of n trucks.

**Times.** The slowest truck reaches `REACH` deviations beyond its mean: H. The times are those of lattices up to H,
H/4, H/16 and so on, each from a quarter of it on; the last ends where half of the trucks reach beyond it, and starts at
0. Variances of routes grow like their means, so that times even in √t are evenly many deviations apart: about `SPACING`
of the trucks that reach as far as that lattice. Of a law of variation v > 1, whose times are mostly short beside their
deviation, there are v times as many. A time is at a step of its lattice (`Tree.first_by`). Without extrapolation
chances were off by 1e-4, and by 3e-3 with links of a variation of 0.2. On exponential links of one mean they are exact.

**Links met together with some chance.** With P_0(t) if no link is met together, P_1(t) if every one is, and the part
of the way from the one to the other that mean minutes are (`Sets.shares`), P(t) ≈ P_0(t) + share × (P_1(t) - P_0(t)).
For pairs it was off by at most 0.01, and percentiles by 1 %; for four trucks of one station by 0.04. With a coupled
branch no share leads from P_0 to the chance: it is the mean over sets of links (`Sets.first_by`), but for pairs on two
roads. In random cities 95 of 100 percentiles were then off by at most 1 %, and the worst, with a variation of 4 and
sets that are drawn, by 12 %.

**Percentiles.** log(-log S) of a survival curve S against log t is a straight line for a Weibull time. There it is
interpolated, by cubics that rise where the points do. In random cities that was off by at most 0.4 %, by 1 % with a
fixed part of a half, and by 3 % with links of a variation of 6.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import ceil, comb, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.response.engine import engine_for
from runcard.response.erlang import Erlang
from runcard.response.lattice import PAD, Floats, Lattice
from runcard.response.laws import Law, Vector
from runcard.response.point_tree import Points, outside_transform
from runcard.response.sets import Sets
from runcard.response.teams import Teams
from runcard.response.travel import Needs, Travel
from runcard.response.tree import ROUNDING, Tree, chance_by, none_and_every, teams_on_two_roads

LEAST_TIMES, MOST_TIMES = 6, 32
"""On one lattice."""
SPACING = 1.25
NUM_STEPS = 576
REACH = 3.0
BEYOND = 0.1
"""The part beyond the 90th percentile."""
TINY = 1e-6
"""Chances are not told from 0, or from 1, any closer."""


@dataclass(frozen=True, eq=False)
class Arrivals:
    """When the first and the last truck of every team are there."""

    first_minutes: Floats
    """[team, demand point] mean time of the first truck; inf where the team is too large."""
    last_minutes: Floats
    """[team, demand point] mean time of the last of all trucks, those from outside included; inf the same."""
    last_error: float
    """The largest stated error of an entry of last_minutes."""
    minutes: Vector
    """[time], rising."""
    first_later: NDArray[np.float32]
    """[time, team, column] the chance that the first truck is later than that; 0 where the team is too large."""
    last_later: NDArray[np.float32]
    """The same of the last truck."""
    fixed: bool
    """Whether nothing is random."""
    column: NDArray[np.int64]
    """[demand point] its column: demand points at one node that need equally many trucks share one."""

    def p90(self, which: str) -> Floats:
        """[team, demand point] the 90th percentile of the "first" or the "last" arrival; inf for too large a team."""
        mean, later = {
            "first": (self.first_minutes, self.first_later),
            "last": (self.last_minutes, self.last_later),
        }[which]
        if self.fixed:  # curves with a step do not say where between two times it is
            return mean
        return np.where(np.isinf(mean), np.inf, p90_of(self.minutes, later)[:, self.column])

    def later(self, which: str, place: int) -> Floats:
        """[team, demand point] the chance that the "first" or the "last" truck is later than one of the times."""
        curves = {"first": self.first_later, "last": self.last_later}[which]
        return np.asarray(curves[place].astype(np.float64)[:, self.column])

    def spread(self, column: NDArray[np.int64]) -> "Arrivals":
        """The same for demand points that share columns."""
        first, last = (minutes[:, column] for minutes in (self.first_minutes, self.last_minutes))
        return replace(self, first_minutes=first, last_minutes=last, column=column)


def p90_of(minutes: Vector, later: NDArray[Any]) -> Floats:
    """[...] the 90th percentile of times of which `later` [time, ...] is the chance that they are later.

    Below the first time the curve is taken as exponential, beyond the last time as a Weibull tail.
    """
    last, goal, x = len(minutes) - 1, log(-log(BEYOND)), np.log(minutes)
    above = (later > BEYOND).sum(axis=0)
    low = np.clip(above - 1, 0, last - 1)

    def point(place: NDArray[Any]) -> tuple[Floats, Floats]:
        chance = np.take_along_axis(later, place[None], axis=0)[0].astype(np.float64)
        return x[place], np.log(-np.log(np.clip(chance, TINY, 1.0 - TINY)))

    places = np.maximum(low - 1, 0), low, low + 1, np.minimum(low + 2, last)
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = map(point, places)
    rise, run = np.maximum(y2 - y1, TINY), x2 - x1

    def slope(other_rise: Floats, other_run: Floats) -> Floats:
        """dx/dy between two pieces that rise, a weighted harmonic mean; of the only one at an end."""
        there = (other_rise > TINY) & (other_run > 0.0)
        other_rise, other_run = np.where(there, other_rise, rise), np.where(there, other_run, run)
        near, far = other_rise + 2.0 * rise, 2.0 * other_rise + rise
        return np.asarray((near + far) / (near * other_rise / other_run + far * rise / run))

    s = np.clip((goal - y1) / rise, 0.0, 1.0)
    bent = s * (1.0 - s) * rise * ((1.0 - s) * slope(y1 - y0, x1 - x0) - s * slope(y3 - y2, x3 - x2))
    between = x1 + s**2 * (3.0 - 2.0 * s) * run + bent
    beyond = np.minimum(x2 + (goal - y2) * run / rise, 700.0)
    at_first = np.clip(later[0].astype(np.float64), TINY, 1.0 - TINY)
    below = np.where(at_first > TINY, minutes[0] * log(BEYOND) / np.log(at_first), 0.0)
    return np.asarray(np.where(above == 0, below, np.exp(np.where(above > last, beyond, between))))


def find_arrivals(
    travel: Travel,
    teams: Teams,
    needs: Needs,
    points: Points,
    mean_minutes: Floats,
    minutes_error: float,
    progress: Callable[[float], None] | None = None,
) -> Arrivals:
    """When the first and the last truck of every team are at some demand points.

    The mean minutes of the first [team, place in points] are known. `progress` is told which part is done.
    """
    bands, most = find_bands(travel, points), 0.0
    minutes = np.concatenate([band.minutes for band in bands])
    first, last = np.zeros((2, len(minutes), *mean_minutes.shape), np.float32)
    last_minutes = np.full_like(mean_minutes, np.inf)
    done = 0.0
    for needed in np.unique(needs.trucks[points]).tolist():
        (places,) = np.nonzero(needs.trucks[points] == needed)
        few = Teams.of(teams.trucks, needed)
        group = _Group(travel, few, needed, needs.targets, points[places])
        num = len(few)
        if travel.fixed:
            every = group.tree(travel).fixed_arrivals(points[places])
            last_minutes[:num, places] = every[-1]
            for g, t in enumerate(minutes * (1.0 + ROUNDING)):
                first[g, :num, places], last[g, :num, places] = (every[0] > t).T, (every[-1] > t).T
            continue
        last_minutes[:num, places], error = group.last_minutes(mean_minutes[:num, places], minutes_error)
        most = max(most, error)
        for g, (of_first, of_last) in enumerate(group.later(bands)):
            first[g, :num, places], last[g, :num, places] = of_first.T, of_last.T
            done += len(places) / (len(points) * len(minutes))
            if progress is not None:
                progress(min(done, 1.0))
    if progress is not None:
        progress(1.0)
    return Arrivals(mean_minutes, last_minutes, most, minutes, first, last, travel.fixed, np.arange(len(points)))


class Band(NamedTuple):
    """Times that are steps of one lattice."""

    horizon: float
    places: Points

    @property
    def minutes(self) -> Vector:
        """[time], the last of them the horizon."""
        return self.horizon * self.places / NUM_STEPS


def find_bands(travel: Travel, points: Points) -> list[Band]:
    """The times at which the chances of arrivals are found, rising."""
    means = np.append(travel.minutes[:, points], travel.outside_mean)
    deviations = np.append(travel.deviations[:, points], travel.outside_deviation)
    reach = means + REACH * deviations
    per_minute = deviations**2 / np.maximum(means, TINY)  # variance
    law = travel.laws.alone
    finer = max(1.0, law.unit.deviation) if isinstance(law, Law) else 1.0
    num = 1 + ceil(log(reach.max() / max(float(np.median(reach)), TINY), 4.0))
    bands: list[Band] = []
    for horizon in float(reach.max()) * 0.25 ** np.arange(num):
        lowest = 0.0 if len(bands) == num - 1 else 0.5  # √t, the horizon 1
        there = (reach > lowest**2 * horizon) & (reach <= horizon)
        variance = max(float(np.median(per_minute[there])), TINY * horizon) if there.any() else np.inf
        wanted = max(LEAST_TIMES, 2.0 * (1.0 - lowest) * float(np.sqrt(horizon / variance)) / SPACING)
        roots = np.linspace(lowest, 1.0, min(ceil(finer * wanted), MOST_TIMES) + 1)[1:]
        bands.append(Band(float(horizon), np.rint(NUM_STEPS * roots**2).astype(np.int64)))
    return bands[::-1]


def last_of(teams: Teams, needed: int, firsts: Sequence[Floats], second: Floats) -> Floats:
    """[team, ...] the mean, or chance, of the last of `needed` trucks from those of the first of fewer.

    firsts[n-1] [team, ...] is for n trucks, of a team and from outside. `second` [station, ...] is by how much the
    second truck of a station differs from the first.
    """
    found = np.zeros_like(firsts[-1])
    for size in range(needed + 1):
        part, others = teams.of_size(size), needed - size
        stations = teams.stations[part]
        for own in range(size + 1):
            for chosen in combinations(range(size), own):
                numbers = teams.numbers(stations[:, np.array(chosen, np.int64)])
                for outside in range(own == 0, others + 1):
                    n = own + outside
                    found[part] += (-1) ** (n + 1) * comb(others, outside) * firsts[n - 1][numbers]
    if needed == 2:
        same = np.flatnonzero(teams.stations[:, 0] == teams.stations[:, 1])[1:]  # without the empty team
        found[same] += second[teams.stations[same, 0]]
    return found


class _Curves(NamedTuple):
    """The chances of being later than some of the times."""

    own: Floats
    """[time, team, place in points] of the first own truck of a team; 1 if there is none."""
    second: Floats
    """[time, station, place in points] by how much that of the second truck of a station is larger."""
    outside: Vector
    """[time] of a truck from outside."""


@dataclass(frozen=True, eq=False)
class _Group:
    """Demand points that need the same number of trucks, and the teams for them."""

    travel: Travel
    teams: Teams
    needed: int
    targets: Vector
    points: Points

    def last_minutes(self, mean_minutes: Floats, minutes_error: float) -> tuple[Floats, float]:
        """[team, place in points] the mean minutes of the last truck, given those of the first; and the error."""
        travel, trucks, points = self.travel, self.teams.trucks, self.points
        outside = np.full((1, len(points)), travel.outside_mean)
        known = [(mean_minutes, minutes_error)]
        for n in range(self.needed - 1, 1, -1):
            known.insert(0, engine_for(travel, Teams.of(trucks, n), self._needs(n), points).means(points))
        if self.needed > 1:
            known.insert(0, (np.concatenate([outside, travel.minutes[:, points]]), 0.0))
        firsts, errors = zip(*known, strict=True)
        second = np.zeros((len(trucks), len(points)))
        for place, j in enumerate(points.tolist() if self.needed == 2 else ()):
            for t, roads in teams_on_two_roads(travel, self.teams, j):
                own, other = (travel.routes.roads.minutes[road].sum() for road in (roads.first, roads.second))
                second[self.teams.stations[t, 0], place] = other - own
        last = last_of(self.teams, self.needed, firsts, second)
        error = sum(comb(self.needed, n) * off for n, off in enumerate(errors, start=1))
        return np.maximum(last, mean_minutes), error

    def later(self, bands: Sequence[Band]) -> Iterator[tuple[Floats, Floats]]:
        """[team, place in points] the chance that the first truck, and that the last is later than each time."""
        for curves in map(self._of_equal_links if self._closed_form else self._on_lattice, bands):
            for own, second, outside in zip(*curves, strict=True):
                firsts = []
                for n in range(1, self.needed + 1):
                    own_trucks = self.teams.sizes[: self.teams.first_of_size[n + 1]]
                    firsts.append(own[: len(own_trucks)] * (outside ** (n - own_trucks))[:, None])
                last = last_of(self.teams, self.needed, firsts, second)
                yield firsts[-1], np.clip(last, firsts[-1], 1.0)

    def tree(self, travel: Travel) -> Tree:
        """The tree of all demand points."""
        return Tree(travel, self.teams, self._needs(self.needed))

    @property
    def _closed_form(self) -> bool:
        return self.travel.paper_times and self.needed <= 2 and not self.travel.second

    def _of_equal_links(self, band: Band) -> _Curves:
        """The chances at the times of a band, by Erlang tails."""
        num, num_stations = len(band.places), len(self.teams.trucks)
        own, outside = np.empty((num, len(self.teams), len(self.points))), np.empty(num)
        for g, t in enumerate(band.minutes.tolist()):
            alone, own[g] = (
                Erlang(self.travel, Teams.of(self.teams.trucks, n), self._needs(n, t)).late(self.points)[0]
                for n in (1, self.needed)
            )
            own[g, : len(alone)], outside[g] = alone, alone[0, 0]
        own[:, 0] = 1.0
        return _Curves(own, np.zeros((num, num_stations, len(self.points))), outside)

    def _on_lattice(self, band: Band) -> _Curves:
        """The chances at the times of a band, on its lattice."""
        travel, lattice, ends = self.travel, Lattice(band.horizon, NUM_STEPS), PAD + band.places
        outside = chance_by(lattice, outside_transform(travel, lattice) * lattice.delay, ends)
        if self._by_sets:
            sets = Sets(travel, self.teams, self._needs(self.needed))
            arrived = sets.first_by(lattice, ends, self.points)
            more = np.zeros((len(ends), len(self.teams.trucks), len(self.points)))
        elif self._shares is None:
            arrived, more = self.tree(travel).first_by(lattice, ends, self.points)
        else:
            none, every = (self.tree(one).first_by(lattice, ends, self.points) for one in none_and_every(travel))
            arrived, more = none[0] + self._shares * (every[0] - none[0]), none[1]
        return _Curves(np.clip(1.0 - arrived, 0.0, 1.0), -more, np.clip(1.0 - outside, 0.0, 1.0))

    @property
    def _by_sets(self) -> bool:
        """Whether chances are means over sets of links that are met together."""
        return self.travel.laws.coupled and self.needed > 1 and not self.travel.second

    @cached_property
    def _shares(self) -> Floats | None:
        """[team, place in points] how far teams are on the way from no link met together to every one, if they are."""
        if not self.travel.laws.mixed or self.needed == 1:
            return None
        return Sets(self.travel, self.teams, self._needs(self.needed)).shares(self.points)[0]

    def _needs(self, trucks: int, target: float | None = None) -> Needs:
        """The needs of so many trucks, the first of which counts, by a target, or by those of the demand points."""
        every = np.full(len(self.targets), trucks, np.int32)
        return Needs(every, np.ones_like(every), self.targets if target is None else np.full(len(every), target))
