"""Three or four trucks of one station on a road of many different links, by a road alike that has few ways.

All trucks of a station drive over the same links, so what they do does not depend on their order, and hardly on more
than the sums of means, of their squares and of their cubes. A road of as many links of two means has the same sums of
the first two, and nearly of the third if the shorter ones are the right number. It has few ways (`team_ways.py`), and
stands in where lattices of several dimensions do not settle: those of long roads on which nearly all is shared, and of
times that vary little. Only third and fourth cumulants are taken from there.
"""

import numpy as np
from numpy.typing import NDArray

from runcard.response import team_kernels as kernels
from runcard.response.lattice import Lattice, TimesOfLaw, Transforms
from runcard.response.lattice_table import refined, within
from runcard.response.laws import Law, Vector, turnout_law
from runcard.response.line_table import FIRST_STEPS, TOLERANCE
from runcard.response.team_line import LineTimes, TeamsOnLine
from runcard.response.team_times import TeamTimes
from runcard.response.team_tree import team_tree
from runcard.response.team_ways import Ways


def road_alike(minutes: Vector) -> Vector:
    """[link] two means at most, with the same sum and the same sum of squares, the shorter first."""
    num, mean, deviation = len(minutes), minutes.mean(), minutes.std()
    if num < 2 or deviation <= 1e-7 * mean:
        return np.full(num, mean)
    skewness = float(((minutes - mean) ** 3).mean() / deviation**3)
    share = 0.5 * (1.0 + skewness / np.hypot(skewness, 2.0))
    # Of so many shorter ones at least, none has a mean of less than a tenth of that of all.
    spread = (deviation / (0.9 * mean)) ** 2
    shorter = int(np.clip(round(share * num), min(num - 1, int(np.ceil(num * spread / (1.0 + spread)))), num - 1))
    odds = (num - shorter) / max(1, shorter)
    low, high = mean - deviation * np.sqrt(odds), mean + deviation / np.sqrt(odds)
    return np.append(np.full(shorter, low), np.full(num - shorter, high))


def cumulants_alike(times: TeamTimes, minutes: Vector, target: float, size: int) -> tuple[float, float]:
    """The third and fourth cumulants of "by T" of trucks of one station on a road of links of these means."""
    means, turnout, num = road_alike(minutes), times.table.city.turnout, len(minutes)
    tree = team_tree(
        np.arange(num, dtype=np.int32)[None], np.array([num], np.int32), np.array([[num]], np.int32),
        np.array([size], np.int64), np.zeros(1, np.int64),
        begin_together=turnout.shared and turnout.mean_minutes > 0.0,
    )  # fmt: skip
    ways, laws = Ways(tree, means), times.table.laws
    different, places = np.unique(means, return_inverse=True)

    def at(num_steps: int, _: NDArray[np.int64]) -> NDArray[np.float64]:
        lattice = Lattice(target, num_steps)

        def of(law: Law, means: Vector) -> Transforms:
            return lattice.transforms(TimesOfLaw(law, means, target).masses(num_steps))

        alone, together, apart = (of(law, different)[places] for law in (laws.alone, laws.together, laws.apart))
        start = np.ones(lattice.num_frequencies, np.complex128)
        if turnout.mean_minutes > 0.0:
            start = of(turnout_law(turnout), np.array([turnout.mean_minutes]))[0]
        nobody = np.zeros(num_steps + 1)
        on_road = LineTimes(lattice, alone, together, apart, start, times.chance, turnout.shared, nobody)
        one, two, three, four = (
            found[0] for found in TeamsOnLine(ways, on_road, size, np.eye(1, num_steps + 1, num_steps)).sums()
        )
        c3, c4 = np.zeros(1), np.zeros(len(four))
        kernels.cumulants(tree.nodes[5], size, one, two, three, four, c3, c4)
        return np.concatenate([c3, c4])[:, None]

    found = refined(at, np.zeros(1, np.int64), within(TOLERANCE), FIRST_STEPS)[:, 0]
    return float(found[0]), float(found[-1])
