"""Teams of which several trucks are of one station and take different roads: any links may have any trucks on them.

The first truck of a station takes its first route, the second its second one, the third the first again. What a team
does is then no tree, and its transform is a product over links, each with the trucks A that drive over it:

    G(f1, ..., fk) = Π_l { q ψ_l(Σ_{i in A} f_i) + (1-q) Π_{i in A} φ_l(f_i) }.

Cumulants follow from the chances of all subsets on one lattice, c(A) = P(A) - Σ c(B) P(A \\ B) over all parts B of
A that hold its first truck; and P(A) of the table the same way from the best cumulants of every size.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from runcard.response.team_kernels import Floats, Ints
from runcard.response.team_lattice import Arrivals, Window, parts
from runcard.response.team_times import FINE_POINTS, FINE_THETA, TeamTimes, arrivals

Truck = tuple[int, int]
"""A station, and which of its two roads."""
Trucks = tuple[Truck, ...]
Together = tuple[Floats, Floats, Floats, Floats, Floats, Floats]
"""[link, frequency] ψ of two, three and four trucks for twice as many frequencies, real and imaginary parts."""


def trucks_of(team: list[int]) -> Trucks:
    """The trucks of a team of stations."""
    seen: Counter[int] = Counter()
    found = []
    for station in team:
        found.append((station, seen[station] % 2))
        seen[station] += 1
    return tuple(sorted(found))


def parts_with_first(trucks: Trucks) -> Iterator[tuple[Trucks, Trucks]]:
    """Every part of some trucks that holds the first, and the others; the whole of them last."""
    for size in range(len(trucks)):
        for places in combinations(range(1, len(trucks)), size):
            some = (trucks[0], *(trucks[place] for place in places))
            yield some, tuple(truck for place, truck in enumerate(trucks) if place and place not in places)


@dataclass
class Roads:
    """The roads of some trucks to a demand point."""

    times: TeamTimes
    point: int

    def links(self, truck: Truck) -> NDArray[np.int32]:
        """The links of the road of a truck."""
        table, (station, road) = self.times.table, truck
        if road == 0:
            return np.asarray(table.used[0][self.point, station, : table.routes.num_links[station, self.point]])
        _, second, both = table.two_roads[self.point, station]
        return np.append(second, both)

    def own(self, trucks: Trucks, window: Window) -> NDArray[np.complex128]:
        """[truck, frequency] the transforms of the times of trucks."""
        minutes = [self.times.minutes(self.links(truck)) for truck in trucks]
        return np.array([self.times.alone(window, one).prod(axis=0) * self.times.start(window) for one in minutes])

    def singles(self, trucks: Trucks, target: float) -> tuple[dict[Truck, float], Arrivals]:
        """The chance of each truck to be there by T, and how the chances rise until then."""
        window = Window(target, FINE_POINTS, 0, FINE_THETA)
        own = self.own(trucks, window)
        some = arrivals(own, window)
        return dict(zip(trucks, some[0].tolist(), strict=True)), some[1]


@dataclass
class OnWindow:
    """The chances and cumulants of teams on one lattice."""

    roads: Roads
    trucks: Trucks
    """All that a team may have."""
    window: Window
    most: int
    """The size of the largest team."""
    _chances: dict[Trucks, float] = field(default_factory=dict)
    _cumulants: dict[Trucks, float] = field(default_factory=dict)

    @cached_property
    def _links(self) -> dict[Truck, NDArray[np.int64]]:
        """The places of the links of each truck among all."""
        found = {truck: self.roads.links(truck) for truck in self.trucks}
        self._all = np.unique(np.concatenate(list(found.values())))
        return {truck: np.searchsorted(self._all, links) for truck, links in found.items()}

    @cached_property
    def _factors(self) -> tuple[NDArray[np.complex128], NDArray[np.complex128], Floats, Floats, Floats, Together]:
        """[link, frequency] of one truck, of the start; then q, φ and ψ."""
        times, window = self.roads.times, self.window
        _ = self._links
        minutes = times.minutes(self._all)
        by_size = [times.factors(window, minutes, size) for size in range(2, self.most + 1)]
        chance, apart, apart_im = by_size[0][:3]
        together = [array for size in (2, 3, 4) for array in by_size[min(size, self.most) - 2][3:]]
        a, b, c, d, e, f = together
        return times.alone(window, minutes), times.start(window), chance, apart, apart_im, (a, b, c, d, e, f)

    def chance(self, trucks: Trucks) -> float:
        """P(all by T)."""
        if trucks not in self._chances:
            self._chances[trucks] = self._sum(trucks)
        return self._chances[trucks]

    def cumulant(self, trucks: Trucks) -> float:
        """The joint cumulant of "by T"."""
        if trucks not in self._cumulants:
            less = sum(self.cumulant(some) * self.chance(rest) for some, rest in parts_with_first(trucks) if rest)
            self._cumulants[trucks] = self.chance(trucks) - less
        return self._cumulants[trucks]

    def _sum(self, trucks: Trucks) -> float:
        """The sum over all frequencies; the truck that shares least is the last, whose sum is the innermost."""
        alone, start, chance, apart, apart_im, together = self._factors
        on = Counter(link for truck in trucks for link in self._links[truck].tolist())
        trucks = tuple(sorted(trucks, key=lambda truck: -sum(on[link] > 1 for link in self._links[truck].tolist())))
        masks: Counter[int] = Counter()
        own = np.tile(self.window.until, (len(trucks), 1))
        for place, truck in enumerate(trucks):
            for link in self._links[truck].tolist():
                if on[link] > 1:
                    masks[link] += 1 << place
                else:
                    own[place] *= alone[link]
        turnout, stations = self.roads.times.table.city.turnout, Counter(station for station, _ in trucks)
        begin = []
        for place, (station, _) in enumerate(trucks):
            if turnout.shared and turnout.mean_minutes > 0.0 and stations[station] > 1:
                begin.append((station, 1 << place))
            else:
                own[place] *= start
        shared = [*masks.items()]
        shared += [(len(self._all), sum(bit for other, bit in begin if other == one)) for one in dict(begin)]
        if len(trucks) == 1:
            return float(own[0].sum().real)
        table = np.array(shared, np.int64).reshape(-1, 2)
        return float(sum_team(*parts(own), table[:, 0].copy(), table[:, 1].copy(), chance, apart, apart_im, together))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def sum_team(
    own: Floats, own_im: Floats, links: Ints, masks: Ints, chance: Floats, apart: Floats, apart_im: Floats,
    together: Together,
) -> float:  # fmt: skip
    """Σ G Π own over all frequencies, from half of those of one truck; masks [link] has a bit for each truck on it."""
    size, length = own.shape
    half = length // 2 + 1
    digits = np.zeros(4, np.int64)
    row, other, total = np.empty(length), np.empty(length), 0.0
    for outer in range(half * length ** (size - 2)):
        left, x, y = outer, 1.0, 0.0
        for k in range(size - 1):
            digits[k] = left % length if k < size - 2 else left
            left //= length
            u, v = own[k, digits[k]], own_im[k, digits[k]]
            x, y = x * u - y * v, x * v + y * u
        row[:], other[:] = 1.0, 0.0
        for place in range(len(links)):
            link, mask, at, number = links[place], masks[place], 0, 0
            q = chance[link]
            s, t = 1.0 - q, 0.0
            for k in range(size - 1):
                if mask >> k & 1:
                    number += 1
                    at += digits[k]
                    u, v = apart[link, digits[k]], apart_im[link, digits[k]]
                    s, t = s * u - t * v, s * v + t * u
            at %= length
            if mask >> (size - 1) & 1:
                number += 1
                c, d = (together[0], together[1]) if number == 2 else (together[2], together[3])
                if number == 4:
                    c, d = together[4], together[5]
                a, b, c_row, d_row = apart[link], apart_im[link], c[link, at:], d[link, at:]
                for f in range(length):
                    u = q * c_row[f] + s * a[f] - t * b[f]
                    v = q * d_row[f] + s * b[f] + t * a[f]
                    old = row[f]
                    row[f] = old * u - other[f] * v
                    other[f] = old * v + other[f] * u
            else:
                c, d = (together[0], together[1]) if number == 2 else (together[2], together[3])
                s, t = s + q * c[link, at], t + q * d[link, at]
                x, y = x * s - y * t, x * t + y * s
        u, v = 0.0, 0.0
        for f in range(length):
            u += row[f] * own[size - 1, f] - other[f] * own_im[size - 1, f]
            v += row[f] * own_im[size - 1, f] + other[f] * own[size - 1, f]
        first = digits[size - 2]
        total += (x * u - y * v) * (1.0 if first in (0, half - 1) else 2.0)
    return total
