"""How late a team is, if it is known which links its trucks meet together.

Everything is found along the tree of roads to each demand point (`point_tree.py`). An incident is late when the m-th of
k trucks is not there by T.

If every link is met together, or none, this is the answer (`Tree`). So it is if the law has a scale (`laws.ScaleLaw`):
every link is then two, one met together and one met apart. If a link is met together with some chance, the answer is
the mean over which links are (`sets.py`); for two trucks see `plane.py`.

**Minutes.** The mean time until the first truck is what all meet together after their junction, whose mean is known,
and before it the integral of the chance that none is there. Up to the target that is a sum over the lattice on which
P(late) is found anyway; beyond the target there is little left, for which a coarse and long lattice is enough.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from runcard.response import tree_kernels as kernels
from runcard.response.lattice import FIRST_STEPS, MOST_STEPS, ORDER, PAD, SAFETY, Floats, Lattice, Transforms, refined
from runcard.response.laws import DrivingLaws, Law, ScaleLaw, Vector
from runcard.response.point_tree import LatticeTimes, Points, PointTree, outside_transform, road_to, times_on
from runcard.response.routes import TwoRoads
from runcard.response.teams import Teams
from runcard.response.travel import Needs, Travel
from runcard.threads import available_threads, run_each

TOLERANCE = 3e-7
"""Of P(late), for the last two extrapolations."""
MINUTES_TOLERANCE = 1e-5
"""Of minutes, relatively to the horizon."""
LONG_DEVIATIONS = 8.0
"""A long lattice reaches that many standard deviations beyond the mean of the longest route."""
LONG_STEPS = 96
SCALE = log(8.0)
"""Teams whose reach is 1 to 8 targets share a long lattice, so do those of 8 to 64, and so on."""
UNSURE_DEVIATIONS = 4.0
"""A truck whose mean is further from the target than this is there in time, or not, for sure."""
SCALES_PER_STEP = 2.0
"""Of the first lattice, at most, where the law of driving times has a scale."""
SCALE_SAFETY = 20.0
"""In place of `SAFETY` with such a law. Its density is infinite at 0 if the mean is below the scale. The first of two
trucks with such parts of their own is then off by hardly less than c h, and the last difference is 1/15 of that."""
ROUNDING = 1e-12

Found = tuple[Floats, float]
"""[team, place in points], inf where a team is too large; and the stated error."""


@dataclass(frozen=True, eq=False)
class Tree:
    """P(late) and mean minutes where every link is met together, or none, or a part of each, or nothing is random."""

    travel: Travel
    teams: Teams
    needs: Needs
    _waits: dict[bytes, Found] = field(default_factory=dict)
    """The minutes before the target, as found with P(late)."""

    @property
    def proven(self) -> bool:
        """Whether stated errors are bounds: there are none where nothing is random."""
        return self.travel.fixed

    def late(self, points: Points, settled: Callable[[int], None] | None = None) -> Found:
        """P(late) of every team at some demand points."""
        if self.travel.fixed:
            return self._fixed_late(points), 0.0
        num = len(self.teams)
        both, error = by_target(
            self.travel, self.needs, points, self._late_on,
            lambda target: np.repeat([TOLERANCE, MINUTES_TOLERANCE * target], num), settled,
        )  # fmt: skip
        late, (late_error, waits_error) = np.clip(both[:num], 0.0, 1.0), error.reshape(2, -1).max(axis=1).tolist()
        late[too_large(self.teams, self.needs, points)] = np.inf
        self._waits[points.tobytes()] = both[num:], waits_error
        return late, late_error

    def means(self, points: Points) -> Found:
        """The mean minutes until the first truck of every team at some demand points."""
        if self.travel.fixed:
            return self.fixed_arrivals(points)[0], 0.0
        if points.tobytes() not in self._waits:
            self.late(points)
        behind, variance = each_point(points, 2 * len(self.teams), self._behind).reshape(2, len(self.teams), -1)
        return self._with_tails(points, behind, variance, self._waits[points.tobytes()])

    def point_tree(self, j: int) -> PointTree:
        """The tree of one demand point."""
        road = road_to(self.travel, j)
        if self.travel.laws.chance == 0.0:  # nothing joins trucks before the end
            road = road._replace(shared=np.zeros_like(road.shared), together=road.apart, apart=road.together)
        elif self.travel.laws.split:
            road = road._replace(apart=road.together)
        return PointTree.at(self.travel, self.teams, self.needs, j, road)

    def _late_on(self, lattice: Lattice, points: Points) -> Floats:
        """[2 T, place in points] P(late), and minutes without a truck before the horizon, on one lattice."""
        times = times_on(self.travel, lattice)

        def at(j: int) -> Vector:
            tree = self.point_tree(j)
            arrived = tree.arrived(times, tree.arrivals)
            found = tree.arrived_by_target(times, arrived)
            waits = tree.waits(times, arrived, 0, lattice.end)
            if teams := [t for t, _ in self._on_two_roads(j)]:
                first, second, behind = self._two_roads_on(times, j)
                met = np.empty((len(teams), found.shape[1], lattice.size))
                for one, other, both in zip(first, second, met, strict=True):
                    kernels.meet(one[None], other[None], both)
                found[teams] = chance_by(lattice, lattice.transforms_of(met) * behind[:, None], lattice.end)
                nobody = ((1.0 - first) * (1.0 - second))[:, : lattice.end].sum(axis=1)
                waits[teams] = lattice.step * (nobody - PAD)
            outside = 0.5 * float(times.outside[lattice.end] + times.outside[lattice.end - 1])
            return np.concatenate([late_of(self.teams, self.needs, j, found, outside), waits])

        return each_point(points, 2 * len(self.teams), at)

    def first_by(self, lattice: Lattice, ends: Points, points: Points) -> tuple[Floats, Floats]:
        """[end, T, place in points] the chance that a truck of each team is there by some places of a lattice.

        And [end, I, place in points] how much more likely it is for a truck that takes the second road of a station
        than for one that takes the first.
        """
        times, num, num_stations = times_on(self.travel, lattice), len(self.teams), len(self.teams.trucks)

        def at(j: int) -> Vector:
            tree, more = self.point_tree(j), np.zeros((len(ends), num_stations))
            found = tree.arrived_by(times, tree.arrived(times, 1), ends)[:, :, 0]
            if teams := [t for t, _ in self._on_two_roads(j)]:
                first, second, behind = self._two_roads_on(times, j)
                met = np.stack([1.0 - (1.0 - first) * (1.0 - second), first, second])
                either, one, other = (chance_by(lattice, lattice.transforms_of(of) * behind, ends).T for of in met)
                found[:, teams], more[:, self.teams.stations[teams, 0]] = either, other - one
            return np.concatenate([found, more], axis=1).ravel()

        both = each_point(points, len(ends) * (num + num_stations), at).reshape(len(ends), -1, len(points))
        return both[:, :num], both[:, num:]

    def _tails_on(self, lattice: Lattice, low: int, points: Points) -> Floats:
        """[T, place in points] the minutes without a truck after a place of the lattice."""
        times = times_on(self.travel, lattice)

        def at(j: int) -> Vector:
            tree = self.point_tree(j)
            found = tree.waits(times, tree.arrived(times, 1), low, lattice.size)
            if teams := [t for t, _ in self._on_two_roads(j)]:
                first, second, _ = self._two_roads_on(times, j)
                nobody = ((1.0 - first) * (1.0 - second))[:, low:].sum(axis=1)
                found[teams] = lattice.step * (nobody - (PAD if low == 0 else 0))
            return found

        return each_point(points, len(self.teams), at)

    def _with_tails(self, points: Points, behind: Floats, variance: Floats, waits: Found) -> Found:
        """Mean minutes at some demand points, given those behind the junction and those before it and the target.

        Those after the target are from long lattices, one for teams of about the same reach: that of the quickest
        truck, up to the junction. If it has no place for the target, all is from the long lattice.
        """
        travel, needs, teams = self.travel, self.needs, self.teams
        minutes, deviations = (np.pad(of, ((0, 1), (0, 0))) for of in (travel.minutes, travel.deviations))
        minutes[-1] = np.inf  # no truck
        with_outside = teams.sizes[:, None] < needs.trucks[points]
        mean = np.where(with_outside, travel.outside_mean, np.inf)
        reach = mean + LONG_DEVIATIONS * travel.outside_deviation
        for place in teams.stations.T:
            own = np.sqrt(np.maximum(deviations[place][:, points] ** 2 - variance, 0.0))
            mean = np.minimum(mean, minutes[place][:, points] - behind)
            reach = np.minimum(reach, minutes[place][:, points] - behind + LONG_DEVIATIONS * own)
        allowed, targets = ~too_large(teams, needs, points), np.broadcast_to(needs.targets[points], reach.shape)
        allowed[0] = False  # nobody of ours
        before = behind + np.maximum(waits[0], 0.0)  # the lattice is off by rounding
        found, error = np.where(allowed, before, np.inf), 0.0
        scale = np.ceil(np.log(np.where(allowed, np.maximum(reach / targets, 1.0), 1.0)) / SCALE)
        for target, one in sorted({*zip(targets[scale > 0].tolist(), scale[scale > 0].tolist(), strict=True)}):
            wanted = allowed & (scale == one) & (targets == target)
            (places,) = np.nonzero(wanted.any(axis=0))
            horizon = float(reach[wanted].max())
            # The horizon is a whole number of targets, and a target a whole number of steps.
            times = ceil(horizon / target)
            split = times <= LONG_STEPS
            first = times * ceil(LONG_STEPS / times) if split else LONG_STEPS

            def at(num_steps: int, part: Points, times: int = times, length: float = times * target) -> Floats:
                low = PAD + num_steps // times if times <= LONG_STEPS else 0
                return self._tails_on(Lattice(length, num_steps), low, part)

            tolerance = np.full(len(teams), MINUTES_TOLERANCE * horizon)
            tails, off = refined(
                at, points[places], tolerance, first=first, wanted=wanted[:, places], safety=safety_of(travel),
                order=order_of(travel),
            )  # fmt: skip
            before = found[:, places] if split else behind[:, places]
            found[:, places] = np.where(wanted[:, places], before + np.maximum(tails, 0.0), found[:, places])
            error = max(error, float(off.max()) + _beyond(travel, points[places], mean[wanted].max(), horizon))
        for needed in np.unique(needs.trucks[points]).tolist():
            outside, of_outside = minutes_of_outside(travel, needed)
            found[0, needs.trucks[points] == needed] = outside
            error = max(error, of_outside)
        return found, waits[1] + error

    def _behind(self, j: int) -> Vector:
        """[2 T] the mean minutes that trucks meet together, and the variances."""
        travel, found = self.travel, self.point_tree(j).behind()
        for t, roads in self._on_two_roads(j):
            means = travel.laws.chance * travel.routes.roads.minutes[roads.both]
            together = travel.laws.together
            fixed = travel.fixed_part * travel.routes.roads.minutes[roads.both].sum()
            shared = fixed + together.link_mean * means.sum(), together.variance(means).sum()
            found[:, t] = travel.shared_turnout + np.array(shared)
        return found.ravel()

    def _on_two_roads(self, j: int) -> Iterator[tuple[int, TwoRoads]]:
        """The teams of two trucks of one station that take different roads to a demand point, and those."""
        if self.needs.trucks[j] == 2:
            yield from teams_on_two_roads(self.travel, self.teams, j)

    def _two_roads_on(self, times: LatticeTimes, j: int) -> tuple[Floats, Floats, Transforms]:
        """When each of two trucks on different roads is through what it meets alone, and what both meet together.

        A row for each team on two roads.
        """
        travel, lattice, kind = self.travel, times.lattice, self.travel.kind_of_link
        start = lattice.delay * (1.0 if travel.turnout_shared else times.turnout)
        roads = [roads for _, roads in self._on_two_roads(j)]
        own = np.tile(start, (2, len(roads), 1))
        behind = np.tile(times.turnout if travel.turnout_shared else np.ones_like(start), (len(roads), 1))
        for one, *mine, ours in zip(roads, *own, behind, strict=True):
            for route, product in zip((one.first, one.second), mine, strict=True):
                kernels.multiply_kinds(kind[route], times.alone, product)
                if travel.laws.chance < 1.0:
                    kernels.multiply_kinds(kind[one.both], times.apart, product)
            if travel.laws.chance > 0.0:
                kernels.multiply_kinds(kind[one.both], times.together, ours)
            if travel.fixed_part > 0.0:
                fixed = [travel.fixed_part * travel.routes.roads.minutes[links].sum() for links in one]
                for product, shift in zip((*mine, ours), lattice.shifts(np.array(fixed)), strict=True):
                    product *= shift
        first, second = lattice.arrived(own)
        return first, second, behind

    def _fixed_late(self, points: Points) -> Floats:
        """1 where the m-th truck comes after the target, else 0: a sum of means that is the target is in time."""
        arrivals = self.fixed_arrivals(points)
        nth = np.take_along_axis(arrivals, (self.needs.arrivals[points] - 1)[None, None, :], axis=0)[0]
        late = (nth > self.needs.targets[points] * (1.0 + ROUNDING)).astype(np.float64)
        return np.where(np.isinf(arrivals[0]), np.inf, late)

    def fixed_arrivals(self, points: Points) -> Floats:
        """[n, team, place in points] when the n-th truck is there if nothing is random; inf where a team is too large.

        The second truck of a station may take another road, the third takes the first again.
        """
        travel, teams, needed = self.travel, self.teams, self.needs.trucks[points]
        most = int(self.needs.trucks.max())
        own = np.concatenate([travel.minutes[:, points], np.full((1, len(points)), travel.outside_mean)])
        times = np.full((most, len(teams), len(points)), travel.outside_mean)
        times[: teams.max_size] = own[teams.stations.T]
        for place, j in enumerate(points.tolist()):
            for t, roads in teams_on_two_roads(travel, teams, j):
                second = np.concatenate([roads.second, roads.both])
                times[1, t, place] = travel.routes.roads.minutes[second].sum() + travel.turnout_minutes
        nobody = np.arange(most)[:, None, None] >= needed  # no more are sent
        times = np.where(nobody, np.inf, times)
        times.sort(axis=0)
        times[:, too_large(teams, self.needs, points)] = np.inf
        return times


def chance_by(lattice: Lattice, transforms: Transforms, ends: Points | int) -> Floats:
    """[..., end] the chance of at most some places of a lattice, given delayed transforms; half of that at it."""
    arrived = lattice.arrived(transforms)
    return np.asarray(0.5 * (arrived[..., ends] + arrived[..., np.subtract(ends, 1)]))


def late_of(teams: Teams, needs: Needs, j: int, found: Floats, outside: float) -> Vector:
    """[T] P(late) at a demand point, given the chances that at least n own trucks are there, and one from outside."""
    late = np.empty(len(teams))
    kernels.late_of_teams(teams.sizes, int(needs.trucks[j]), int(needs.arrivals[j]), found, outside, late)
    return late


def teams_on_two_roads(travel: Travel, teams: Teams, j: int) -> Iterator[tuple[int, TwoRoads]]:
    """The teams of two trucks of one station that take different roads to a demand point, and those roads."""
    row = int(travel.routes.row[j])
    for i in range(len(teams.trucks)):
        if (row, i) in travel.second:
            yield teams.number([i, i]), travel.second[row, i]


def each_point(points: Points, num_rows: int, at: Callable[[int], Vector]) -> Floats:
    """[row, place in points] what is found at each of some demand points, on all threads."""
    found = np.empty((num_rows, len(points)))

    def one(place: int) -> None:
        found[:, place] = at(int(points[place]))

    run_each(one, range(len(points)), available_threads())
    return found


def safety_of(travel: Travel) -> float:
    """What the last difference of extrapolations is multiplied by for the stated error."""
    return SCALE_SAFETY if isinstance(travel.laws.alone, ScaleLaw) else SAFETY


def order_of(travel: Travel) -> float:
    """The power of the step that the second extrapolation takes away (see `lattice.py`)."""
    laws = (travel.laws.alone, travel.turnout) if travel.turnout_minutes > 0.0 else (travel.laws.alone,)
    shape = min((law.unit.shape for law in laws if isinstance(law, Law)), default=ORDER)
    return 2.0 + shape if shape < 1.0 else ORDER


def first_steps(
    travel: Travel, target: float, points: Points, *, least: int = FIRST_STEPS, per_deviation: float = 1.0
) -> int:
    """The steps of the first lattice: few, but enough for a deviation of every truck that is not sure."""
    minutes, deviations = travel.minutes[:, points], travel.deviations[:, points]
    unsure = (np.abs(minutes - target) < UNSURE_DEVIATIONS * deviations) & (deviations > 0.0)
    wanted = per_deviation * target / float(deviations[unsure].min(initial=np.inf))
    if isinstance(travel.laws.alone, ScaleLaw):  # with longer steps the first differences say little
        wanted = max(wanted, target / (SCALES_PER_STEP * travel.laws.alone.scale))
    return min(max(least, 16 * ceil(wanted / 16)), MOST_STEPS // 16)


def by_target(
    travel: Travel,
    needs: Needs,
    points: Points,
    on: Callable[[Lattice, Points], Floats],
    tolerance: Callable[[float], Vector],
    settled: Callable[[int], None] | None = None,
    least_steps: int = FIRST_STEPS,
    least: int = 4,
) -> tuple[Floats, Vector]:
    """[row, place in points] what lattices give that end at the target of each demand point, and the errors [row].

    At least so many lattices, the first of which has at least so many steps.
    """
    parts, error = [], np.zeros(1)
    for target in np.unique(needs.targets[points]).tolist():
        (places,) = np.nonzero(needs.targets[points] == target)

        def at(num_steps: int, part: Points, target: float = target) -> Floats:
            return on(Lattice(target, num_steps), part)

        first = first_steps(travel, target, points[places], least=least_steps)
        part, off = refined(
            at, points[places], tolerance(target), first=first, settled=settled, safety=safety_of(travel),
            order=order_of(travel), least=least,
        )  # fmt: skip
        parts.append((places, part))
        error = np.maximum(error, off)
    found = np.empty((len(parts[0][1]), len(points)))
    for places, part in parts:
        found[:, places] = part
    return found, error


def too_large(teams: Teams, needs: Needs, points: Points) -> NDArray[np.bool_]:
    """[team, place in points] whether a team has more trucks than an incident needs."""
    return np.asarray(teams.sizes[:, None] > needs.trucks[points][None, :])


def none_and_every(travel: Travel) -> tuple[Travel, Travel]:
    """The same travel with no link met together, and with every one."""
    alone = travel.laws.alone
    none, every = (replace(travel, laws=DrivingLaws(alone, alone, alone, chance)) for chance in (0.0, 1.0))
    return none, every


def minutes_none_and_every(travel: Travel, teams: Teams, needs: Needs, points: Points) -> tuple[Floats, Floats, float]:
    """Mean minutes with no link met together, how many more they are with every one, and the stated error of each."""
    (none, off), (every, also_off) = (Tree(one, teams, needs).means(points) for one in none_and_every(travel))
    return none, np.where(np.isfinite(none), every, 0.0) - np.where(np.isfinite(none), none, 0.0), max(off, also_off)


def _beyond(travel: Travel, points: Points, mean: float, horizon: float) -> float:
    """About the mean minutes beyond a horizon until the first of two trucks, if each has to pass a slow link.

    Heavy tails come from that: of a part of a route that the horizon reaches, one link may be slow. The mean of the
    part is at most `mean`. With A and B independent, E (min(A, B) - H)+ <= E (A - H)+ P(B > H).
    """
    law, minutes = travel.laws.alone, travel.routes.roads.minutes
    reached = law.mean * minutes + LONG_DEVIATIONS * np.sqrt(law.variance(minutes)) <= horizon
    left, step = horizon - mean, (horizon - mean) / LONG_STEPS
    excess, before = law.excess(np.array([left, left - step]), minutes).T
    sums = (travel.routes.sums(np.where(reached, of_link, 0.0)) for of_link in (excess, (before - excess) / step))
    longer, chance = (float(of_routes[:, points].max()) for of_routes in sums)
    return longer * min(chance, 1.0)


def minutes_of_outside(travel: Travel, needed: int) -> tuple[float, float]:
    """The mean minutes until the first of several trucks from outside, and the stated error."""
    if needed == 1:
        return travel.outside_mean, 0.0
    horizon = travel.outside_mean + LONG_DEVIATIONS * travel.outside_deviation

    def at(num_steps: int, _: Points) -> Floats:
        lattice = Lattice(horizon, num_steps)
        arrived = lattice.arrived(outside_transform(travel, lattice) * lattice.delay)
        return np.array([[lattice.step * (((1.0 - arrived) ** needed).sum() - PAD)]])

    tolerance, first = np.array([MINUTES_TOLERANCE * horizon]), 4 * LONG_STEPS
    found, off = refined(at, np.zeros(1, np.int64), tolerance, first=first, order=order_of(travel))
    return float(found[0, 0]), float(off[0])
