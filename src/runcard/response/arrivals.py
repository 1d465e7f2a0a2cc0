"""When the first, the last and other trucks of every team are there: means, and chances of being later than some times.

**The m-th from the first.** For k trucks r of a team, those from outside included, R_S the first of a set S of them,
and l = k - m + 1, the m-th arrival is

    R_(m) = Σ_{|S| >= l} (-1)^(|S|-l) C(|S|-1, l-1) R_S,

for the last one Σ (-1)^(|S|+1) R_S over every S. So the mean of the m-th arrival, and P(m-th > t), are such sums over
means and chances of first arrivals. These are known: of one truck, of the whole team (`mean_minutes`), and of smaller
ones by the same engines. Trucks from outside are independent and alike. The stated errors add up: C(k, n) C(n-1, l-1)
times that of n trucks.

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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import ceil, comb, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runcard.city.parts import FIRST, LAST, arrival_name
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
    """When the trucks of every team are there: the "first", the "last" and others that were asked for ("arrival 2")."""

    means: Mapping[str, Floats]
    """[team, demand point] mean times, those from outside included; inf where the team is too large."""
    errors: Mapping[str, float]
    """The largest stated error of such a mean."""
    minutes: Vector
    """[time], rising."""
    laters: Mapping[str, NDArray[np.float32]]
    """[time, team, column] the chances of being later than that; 0 where the team is too large."""
    fixed: bool
    """Whether nothing is random."""
    column: NDArray[np.int64]
    """[demand point] its column: demand points at one node that need equally many trucks share one."""

    def p90(self, which: str) -> Floats:
        """[team, demand point] the 90th percentile of an arrival; inf for too large a team."""
        mean, later = self.means[which], self.laters[which]
        if self.fixed:  # curves with a step do not say where between two times it is
            return mean
        return np.where(np.isinf(mean), np.inf, p90_of(self.minutes, later)[:, self.column])

    def later(self, which: str, place: int) -> Floats:
        """[team, demand point] the chance that an arrival is later than one of the times."""
        return np.asarray(self.laters[which][place].astype(np.float64)[:, self.column])

    def spread(self, column: NDArray[np.int64]) -> "Arrivals":
        """The same for demand points that share columns."""
        return replace(self, means={name: mean[:, column] for name, mean in self.means.items()}, column=column)


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
    *,
    middle: Sequence[int] = (),
) -> Arrivals:
    """When the first and the last truck of every team are at some demand points, and others by their numbers.

    Where incidents need fewer trucks, that is the last. The mean minutes of the first [team, place in points] are
    known. `progress` is told which part is done.
    """
    bands, done = find_bands(travel, points), 0.0
    minutes, names = np.concatenate([band.minutes for band in bands]), [LAST, *(arrival_name(n, 0) for n in middle)]
    laters = {name: np.zeros((len(minutes), *mean_minutes.shape), np.float32) for name in (FIRST, *names)}
    means = {name: np.full_like(mean_minutes, np.inf) for name in names}
    errors = dict.fromkeys(names, 0.0)
    for needed in np.unique(needs.trucks[points]).tolist():
        (places,) = np.nonzero(needs.trucks[points] == needed)
        few = Teams.of(teams.trucks, needed)
        group = _Group(travel, few, needed, needs.targets, points[places])
        num, numbers = len(few), {name: min(n, needed) for name, n in zip(names, (needed, *middle), strict=True)}
        if travel.fixed:
            every = group.tree(travel).fixed_arrivals(points[places])
            for name, number in numbers.items():
                means[name][:num, places] = every[number - 1]
            for g, t in enumerate(minutes * (1.0 + ROUNDING)):
                for name, number in {FIRST: 1, **numbers}.items():
                    laters[name][g, :num, places] = (every[number - 1] > t).T
            continue
        firsts, second = group.first_minutes(mean_minutes[:num, places], minutes_error)
        for name, number in numbers.items():
            mean = nth_of(few, needed, number, [first for first, _ in firsts], second)
            means[name][:num, places] = np.maximum(mean, mean_minutes[:num, places])
            errors[name] = max(errors[name], nth_error(needed, number, [error for _, error in firsts]))
        for g, curves in enumerate(group.later(bands, tuple(numbers.values()))):
            for name, curve in zip((FIRST, *names), curves, strict=True):
                laters[name][g, :num, places] = curve.T
            done += len(places) / (len(points) * len(minutes))
            if progress is not None:
                progress(min(done, 1.0))
    if progress is not None:
        progress(1.0)
    means, errors = {FIRST: mean_minutes, **means}, {FIRST: minutes_error, **errors}
    return Arrivals(means, errors, minutes, laters, travel.fixed, np.arange(len(points)))


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


def nth_of(teams: Teams, needed: int, number: int, firsts: Sequence[Floats], second: Floats) -> Floats:
    """[team, ...] the mean, or chance, of the so many-th of `needed` trucks from those of the first of fewer.

    firsts[n-1] [team, ...] is for n trucks, of a team and from outside. `second` [station, ...] is by how much the
    second truck of a station differs from the first.
    """
    found, least = np.zeros_like(firsts[-1]), needed - number + 1
    for size in range(needed + 1):
        part, others = teams.of_size(size), needed - size
        stations = teams.stations[part]
        for own in range(size + 1):
            for chosen in combinations(range(size), own):
                numbers = teams.numbers(stations[:, np.array(chosen, np.int64)])
                for outside in range(max(0, least - own), others + 1):
                    n = own + outside
                    times = (-1) ** (n - least) * comb(n - 1, least - 1) * comb(others, outside)
                    found[part] += times * firsts[n - 1][numbers]
    if needed == number == 2:
        same = np.flatnonzero(teams.stations[:, 0] == teams.stations[:, 1])[1:]  # without the empty team
        found[same] += second[teams.stations[same, 0]]
    return found


def nth_error(needed: int, number: int, errors: Sequence[float]) -> float:
    """The error of such a mean, given those of the first of 1, 2, ... trucks."""
    least = needed - number + 1
    sizes = range(least, needed + 1)
    return sum(comb(needed, n) * comb(n - 1, least - 1) * errors[n - 1] for n in sizes)


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

    def first_minutes(self, mean_minutes: Floats, minutes_error: float) -> tuple[list[tuple[Floats, float]], Floats]:
        """[team, place in points] the mean minutes of the first of 1, 2, ... trucks, each with its error; and [station,
        place in points] how much more those of the second truck of a station are. Those of all trucks are known.
        """
        travel, trucks, points = self.travel, self.teams.trucks, self.points
        outside = np.full((1, len(points)), travel.outside_mean)
        known = [(mean_minutes, minutes_error)]
        for n in range(self.needed - 1, 1, -1):
            known.insert(0, engine_for(travel, Teams.of(trucks, n), self._needs(n), points).means(points))
        if self.needed > 1:
            known.insert(0, (np.concatenate([outside, travel.minutes[:, points]]), 0.0))
        second = np.zeros((len(trucks), len(points)))
        for place, j in enumerate(points.tolist() if self.needed == 2 else ()):
            for t, roads in teams_on_two_roads(travel, self.teams, j):
                own, other = (travel.routes.roads.minutes[road].sum() for road in (roads.first, roads.second))
                second[self.teams.stations[t, 0], place] = other - own
        return known, second

    def later(self, bands: Sequence[Band], numbers: Sequence[int]) -> Iterator[list[Floats]]:
        """[team, place in points] the chance that the first truck, and that those of some numbers are later than each
        time."""
        for curves in map(self._of_equal_links if self._closed_form else self._on_lattice, bands):
            for own, second, outside in zip(*curves, strict=True):
                firsts = []
                for n in range(1, self.needed + 1):
                    own_trucks = self.teams.sizes[: self.teams.first_of_size[n + 1]]
                    firsts.append(own[: len(own_trucks)] * (outside ** (n - own_trucks))[:, None])
                others = (nth_of(self.teams, self.needed, number, firsts, second) for number in numbers)
                yield [firsts[-1], *(np.clip(other, firsts[-1], 1.0) for other in others)]

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
