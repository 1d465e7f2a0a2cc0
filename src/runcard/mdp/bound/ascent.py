"""Payments between neighbourhoods that make the bound large.

Write h(f) = Σ_G h_G(f_G, n), with f_G what is idle in neighbourhood G and n = |f|. For an incident at j with team a the
change of h is a sum over neighbourhoods. Home H pays for what the team takes of any other: with payments ν_G(j, n, b)
for each set b of trucks of G, whatever they are,

    min_a {cost(a, j) + Σ_G Δ_G(a)}  >=  min_a {cost(a, j) + Σ_{G≠H} ν_G(j, n, a∩G) + Δ_H(a)}
                                          + Σ_{G≠H} min_{b ⊆ f_G} {Δ_G(b) - ν_G(j, n, b)},

where home takes the trucks that it does not know for idle, and G may give others than home takes. So each neighbourhood
is a small dispatch problem with states (f_G, n) and an optimal gain g_G; the number n is a chain of its own (see
`levels.py`), and Σ_G g_G is a lower bound on the optimum, for any payments. It is concave in them, and its slope in
ν_G(j, n, b) is how often home takes b of G, less how often G gives it.

Each step lets every neighbourhood choose at its values, with choices spread over those that are within a temperature of
the best, sweeps its values and its probabilities a few times with these choices, which takes little beside choosing,
and moves every payment by its slope (Adam, which scales each by its past slopes). The temperature and the steps fall by
a constant factor, from and to given parts of what an incident typically costs more than the cheapest team of as many
trucks would. A cost that every such team has moves no payment, however large it is, so it must not move the scale.

The first steps are taken in one **band**: with values and payments that do not depend on n. That is a bound as well,
and in a large department, where n says little about a neighbourhood, nearly as good. Then all levels start from there.
Nothing here has to converge: `certificate.py` proves what the last payments give.
"""

from collections.abc import Callable
from functools import reduce
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.bound import kernels
from runcard.mdp.bound.neighbourhoods import Neighbourhoods
from runcard.mdp.independent import IndependentTrucks
from runcard.mdp.problem import DispatchProblem
from runcard.threads import run_each

RARE: Final = 1e-8
"""Levels whose probabilities sum to no more are left out at both ends, and counted in the certificate."""
WARM_UP: Final = 20
"""Sweeps before the first step."""
BAND_SWEEPS: Final = 10
SWEEPS: Final = 4
"""Of values and probabilities after each choice, in one band and with levels."""
LEAST_COST: Final = 1e-12
LEAST_CHANCE: Final = 1e-30
"""Of a level: less cannot be told from nothing, and divides badly."""
POINTS_AT_A_TIME: Final = 16
KEPT_SLOPE: Final = 0.9


def cheapest_costs(problem: DispatchProblem, idle_chance: Floats) -> Floats:
    """[J] the mean cost of an incident if it gets the cheapest team of as many trucks as it can have.

    `idle_chance` [N + 1] is how likely each number of idle trucks is.
    """
    teams, points = problem.teams, np.arange(problem.num_points)
    most = min(teams.max_size, problem.num_trucks)
    chance = np.append(idle_chance[:most], idle_chance[most:].sum())
    least = np.array([problem.cost[teams.of_size(size)].min(axis=0) for size in range(most + 1)])
    here = [least[np.minimum(problem.trucks_needed, num_idle), points] for num_idle in range(most + 1)]
    return np.asarray(chance @ np.array(here))


def avoidable_cost(problem: DispatchProblem) -> float:
    """What an incident costs more than the cheapest teams if the closest trucks go, all busy independently: a scale."""
    independent = IndependentTrucks(problem, problem.order)
    busy = np.repeat(independent.steady_busy(), problem.trucks)
    _, cost_per_day = independent.asked_and_late(busy)
    idle_chance = reduce(np.convolve, ([chance, 1.0 - chance] for chance in busy.tolist()), np.ones(1))
    least_per_day = problem.incidents_per_day @ cheapest_costs(problem, idle_chance)
    return max(float(cost_per_day - least_per_day) / problem.total_incidents_per_day, LEAST_COST)


class Space(NamedTuple):
    """The states of a neighbourhood, and its columns; times are in units of the mean time between two incidents."""

    first_level: int
    num_trucks: int
    num_members: int
    size: Ints
    """[2^s] the idle trucks of each pattern."""
    returns: float
    """Returns per truck and incident."""
    needed: Ints
    """[classes]"""
    first_column: Ints
    """[classes + 1]"""
    masks: Ints
    """[subsets]"""
    subset_size: Ints
    rate: NDArray[np.float32]
    """[columns]"""
    exact_rate: Floats
    chance: Floats
    """[levels]"""
    is_band: bool
    """Whether the only level stands for all of the window."""


class Moves(NamedTuple):
    """Where dispatches lead: from each state those of first[state]..last[state]-1. States are level * 2^s + pattern."""

    first: Ints
    last: Ints
    target: NDArray[np.int32]
    rate: NDArray[np.float32]
    leaving: Floats
    """[states] the rate at which it is left, returns counted."""

    @staticmethod
    def room(num_states: int, num_choices: int) -> "Moves":
        """Room for the moves of so many states."""
        first, last, leaving = np.zeros(num_states, np.int64), np.zeros(num_states, np.int64), np.zeros(num_states)
        size = num_states * num_choices
        return Moves(first, last, np.empty(size, np.int32), np.empty(size, np.float32), leaving)


def level_window(problem: DispatchProblem, num_members: int) -> tuple[int, int]:
    """The first and the last level that count: all, unless those left out have every pattern and are rare."""
    chance, num_trucks = problem.levels.idle_distribution, problem.num_trucks
    low = int(np.searchsorted(np.cumsum(chance), RARE))
    high = num_trucks - int(np.searchsorted(np.cumsum(chance[::-1]), RARE))
    if low < max(num_members, int(problem.trucks_needed.max())) or num_trucks - low < num_members:
        low = 0
    return low, max(high, num_members)


def spaces_of(problem: DispatchProblem, found: Neighbourhoods, *, band: bool) -> list[Space]:
    """The space of each neighbourhood: with all levels of the window, or with one for all of them."""
    num_members, columns, subsets = found.members.shape[1], found.columns, found.subsets
    low, high = level_window(problem, num_members)
    if band:
        low = max(low, int(problem.trucks_needed.max()))  # every incident finds trucks enough
    size = np.array([mask.bit_count() for mask in range(1 << num_members)], np.int64)
    chance = np.maximum(problem.levels.idle_distribution[low : high + 1], LEAST_CHANCE)
    if band:
        chance = chance.sum(keepdims=True)
    spaces = []
    for first, last in zip(columns.first[:-1], columns.first[1:], strict=True):
        needed, counts = np.unique(columns.needed[first:last], return_counts=True)
        first_column = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        rate = columns.rate[first:last]
        space = Space(
            low,
            problem.num_trucks,
            num_members,
            size,
            problem.returns_per_day / problem.total_incidents_per_day,
            needed,
            first_column,
            subsets.masks,
            subsets.sizes,
            rate.astype(np.float32),
            rate,
            chance,
            band,
        )  # fmt: skip
        spaces.append(space)
    return spaces


AnyFloat = TypeVar("AnyFloat", np.float32, np.float64)


def chosen_and_settled(
    cost: NDArray[np.float32], space: Space, sharpness: float, value: Floats, probability: Floats,
    given: NDArray[np.float32], num_sweeps: int,
) -> float:  # fmt: skip
    """Let a neighbourhood choose, and sweep its values and probabilities; what it costs an incident."""
    moves, spent = Moves.room(value.size, len(space.needed) * len(space.masks)), np.empty(value.shape)
    kernels.spread_choices(cost, space, np.float32(sharpness), value, probability, given, moves, spent)
    return float(kernels.settle(moves, spent, space, value, probability, num_sweeps))


class Schedule(NamedTuple):
    """How the temperature and the steps fall, as parts of a scale."""

    scale: float
    first_step: float
    last_step: float
    first_temperature: float
    last_temperature: float
    kept: float
    """Of the mean square of past slopes after each step; `KEPT_SLOPE` of the mean slope."""

    def step(self, done: float) -> float:
        """The step after a part of all steps."""
        return float(self.scale * self.first_step * (self.last_step / self.first_step) ** done)

    def temperature(self, done: float) -> float:
        """The temperature then."""
        return float(self.scale * self.first_temperature * (self.last_temperature / self.first_temperature) ** done)


class Payments(NamedTuple):
    """What is paid: by a column for each of its own subsets, and by everybody else for each truck."""

    own: NDArray[np.float32]
    """[columns, subsets, levels]"""
    common: NDArray[np.float32]
    """[neighbourhoods, s, levels]"""


class Ascent:
    """The payments, and the values and probabilities of every neighbourhood, while they are moved."""

    def __init__(self, problem: DispatchProblem, found: Neighbourhoods, threads: int, *, band: bool = False) -> None:
        self.problem, self.found, self.threads = problem, found, threads
        self.spaces = spaces_of(problem, found, band=band)
        levels, patterns = len(self.spaces[0].chance), 1 << found.members.shape[1]
        shape = (len(found.columns.point), len(found.subsets), levels)
        self.payments = Payments(np.zeros(shape, np.float32), np.zeros((*found.members.shape, levels), np.float32))
        self._slope = np.zeros(shape, np.float32)
        self._moments = [np.zeros(shape, np.float32), np.zeros(shape, np.float32)]
        self._common_moments = [np.zeros_like(self.payments.common), np.zeros_like(self.payments.common)]
        self.values = np.zeros((len(found), levels, patterns))
        self._probability = np.full(self.values.shape, 1.0 / patterns)
        self._total = np.empty((len(found.options.cost), levels), np.float32)
        self._home_cost = np.empty((problem.num_points, len(found.subsets), levels), np.float32)
        self._home_share = np.zeros_like(self._home_cost)
        self._costs = [np.empty((levels, len(found.subsets), len(space.rate)), np.float32) for space in self.spaces]
        self._given = [np.empty_like(cost) for cost in self._costs]
        self._rate = problem.incidents_per_day / problem.total_incidents_per_day
        self._steps = 0

    def with_levels(self) -> "Ascent":
        """The same with all levels, which start alike."""
        more = Ascent(self.problem, self.found, self.threads)
        for mine, theirs in (
            *zip(self.payments, more.payments, strict=True),
            *zip(self._moments, more._moments, strict=True),
            *zip(self._common_moments, more._common_moments, strict=True),
        ):
            theirs[:] = mine
        more.values[:] = self.values
        more._probability[:] = self._probability * more.spaces[0].chance[:, None]
        more._steps = self._steps
        return more

    def climb(self, steps: int, schedule: Schedule, on_step: Callable[[int, float], None] | None = None) -> None:
        """Take so many steps."""
        if self._steps == 0 and steps > 0:
            for _ in range(WARM_UP):
                self._settle(1.0 / schedule.temperature(0.0))
        for step in range(steps):
            temperature = schedule.temperature(step / steps)
            estimate = self._settle(1.0 / temperature)
            self._move(schedule.step(step / steps), schedule.kept, 1.0 / temperature)
            if on_step is not None:
                on_step(step + 1, estimate)

    def market(self, common: NDArray[AnyFloat]) -> NDArray[AnyFloat]:
        """[N, levels] what everybody pays for each truck in all neighbourhoods together."""
        market = np.zeros((self.found.num_trucks, common.shape[2]), common.dtype)
        np.add.at(market, self.found.members.ravel(), common.reshape(-1, market.shape[1]))
        return market

    def _points(self) -> list[tuple[int, int]]:
        num = self.problem.num_points
        return [(low, min(num, low + POINTS_AT_A_TIME)) for low in range(0, num, POINTS_AT_A_TIME)]

    def _settle(self, sharpness: float) -> float:
        """Let every neighbourhood choose at the payments as they are, and settle; an estimate of the bound."""
        found, market, low = self.found, self.market(self.payments.common), self.spaces[0].first_level
        columns, subsets = found.columns, found.subsets

        def price(points: tuple[int, int]) -> None:
            kernels.price_options(
                *points, found.options, *self.payments, market, found.places, low, self._total, self._home_cost
            )

        def settle(g: int) -> float:
            first, last = int(columns.first[g]), int(columns.first[g + 1])
            kernels.fill_costs(
                first, last, columns, subsets.masks, subsets.number, self.payments.own, self.payments.common[g],
                self._home_cost, self._costs[g],
            )  # fmt: skip
            return chosen_and_settled(
                self._costs[g], self.spaces[g], sharpness, self.values[g], self._probability[g], self._given[g],
                BAND_SWEEPS if self.spaces[g].is_band else SWEEPS,
            )  # fmt: skip

        run_each(price, self._points(), self.threads)
        return sum(run_each(settle, range(len(found)), self.threads))

    def _move(self, step: float, kept: float, sharpness: float) -> None:
        """Move every payment by its slope."""
        found, market, low = self.found, self.market(self.payments.common), self.spaces[0].first_level
        columns, subsets = found.columns, found.subsets
        shape = self.payments.common.shape

        def give(g: int) -> Floats:
            first, last = int(columns.first[g]), int(columns.first[g + 1])
            common = np.zeros(shape[1:])
            kernels.take_gifts(
                first, last, columns, subsets.masks, subsets.number, self._given[g], self._slope, common,
                self._home_share,
            )  # fmt: skip
            return common

        def take(points: tuple[int, int]) -> Floats:
            common = np.zeros(shape)
            kernels.take_from_others(
                *points, found.options, found.places, market, low, np.float32(sharpness), self._rate, self._total,
                self._home_cost, self._home_share, self._slope, common,
            )  # fmt: skip
            return common

        common = np.array(run_each(give, range(len(found)), self.threads))
        for part in run_each(take, self._points(), self.threads):
            common += part
        self._steps += 1
        size = step, KEPT_SLOPE, kept, 1.0 / (1.0 - KEPT_SLOPE**self._steps), 1.0 / (1.0 - kept**self._steps)

        def adam(g: int) -> None:
            part = slice(int(columns.first[g]), int(columns.first[g + 1]))
            rows = (-1, self._slope.shape[2])
            kernels.adam(
                self._slope[part].reshape(rows), self._moments[0][part].reshape(rows),
                self._moments[1][part].reshape(rows), self.payments.own[part].reshape(rows), *size,
            )  # fmt: skip
            kernels.adam(
                common[g], self._common_moments[0][g], self._common_moments[1][g], self.payments.common[g], *size
            )

        run_each(adam, range(len(found)), self.threads)
