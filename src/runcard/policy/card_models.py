"""What a card achieves, and a better order for each demand point: exactly, or with trucks that are busy independently.

With the probabilities p(f) and the values h of the present card, sending teams a(f) to demand point j and following the
card otherwise scores Σ_f p(f) [cost(a(f), j) + h(f-a(f)) - h(f)]. Times λ_j, the difference of the scores of two orders
is the first-order effect on the late rate g of changing one into the other. Each model proposes, for every point, an
order with a smaller score (see `mdp/kernels/cards.py`). When many points change at once, p and h change too; so a
proposal has to be evaluated before it is taken.

**Exact**: p and h of every state, g with proven bounds.

**Independent**: trucks of station i are busy with chance p_i independently, p being steady (see `mdp/independent.py`),
F_i(p) = D_i(p) (1-p_i) - μ p_i = 0, and g = c(p). A change of orders that takes Δ_i more trucks a day from station i
moves g, to first order, by what it changes at the given p and by Σ_i w_i Δ_i, where w solves

    Σ_i C_i w_i ∂F_i/∂p_m = -∂c/∂p_m     for every station m.

So w_i is the price of one truck of station i, whatever the state. D and c are linear in the chance of each truck, so
that the derivatives are what changes when the truck is surely idle, or surely busy.

The independent model is quick and knows departments of any size, but two trucks that left together are busy together
far more often than it assumes. So it misjudges cards where incidents are few: use it only where nothing else works.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from runcard.mdp.arrays import Floats, Ints
from runcard.mdp.chain import Chain, PolicyValue, chain_of
from runcard.mdp.independent import IndependentTrucks
from runcard.mdp.kernels.cards import finish_sums, reorder_by_sums, reorder_independent
from runcard.mdp.layout import starts
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule
from runcard.response.teams import Teams
from runcard.threads import checked_threads, run_each

WINDOW = 10
INDEPENDENT_WINDOW = 8
"""Stations of an order that are put in the best order at once: orders of large departments have many windows."""

NUM_PARTS = 16
"""Parts of the demand points that threads work on."""

LEAST_CHANCE = 1e-100
"""The smallest chance that no truck of a station is idle, so that a ratio of chances stays a number."""


class Proposal(NamedTuple):
    """An order of the stations for each demand point, and by how much it promises to lower g, to first order."""

    order: Ints
    gain: Floats


class Finishes(NamedTuple):
    """Teams and the station where their last truck is found, as `mdp/kernels/cards.py` wants them."""

    team: Ints
    """[E] the number of the team."""
    trucks: NDArray[np.int32]
    """[E, k] the station of each truck, -1 for none."""
    size: Ints
    taken: Ints
    last: Ints
    others: Ints
    outside: Ints


def finishes_of(teams: Teams, part: slice) -> Finishes:
    """The finishes of a part of the teams of a catalogue."""
    counts = teams.counts[part].astype(np.int64)
    row, last = map(np.ascontiguousarray, np.nonzero(counts))  # kernels are compiled for one layout
    team = row + part.start
    bit = np.int64(1) << np.arange(len(teams.trucks))
    whole = (counts > 0) @ bit
    return Finishes(
        team, teams.stations[team], teams.sizes[team], counts[row], last, whole[row] - bit[last],
        bit.sum() - whole[row],
    )  # fmt: skip


def num_sums(problem: DispatchProblem) -> int:
    """The number of sums over states that the exact model of a card keeps."""
    teams = problem.teams.counts[np.isin(problem.teams.sizes, problem.trucks_needed)] > 0
    stations, count = np.unique(teams.sum(axis=1), return_counts=True)
    return sum(
        n * used * 2 ** (problem.num_stations - used) for used, n in zip(stations.tolist(), count.tolist(), strict=True)
    )


@lru_cache(maxsize=32)
def _finishes_of_window(num_places: int, most: int, needed: int) -> Finishes:
    """The finishes of all teams of 1 to `needed` trucks of a window, at most `most` from each place."""
    teams = Teams.of([most] * num_places, needed)
    return finishes_of(teams, slice(1, len(teams)))


@dataclass(frozen=True, eq=False)
class ExactCard:
    """A card in every state of a problem that has few."""

    problem: DispatchProblem
    order: Ints
    threads: int | None = None
    start: Floats | None = None
    """Values close to those of the card, if there are any."""

    @cached_property
    def _chain(self) -> Chain:
        return chain_of(self.problem, OrderRule(self.order), threads=self.threads)

    @cached_property
    def solved(self) -> PolicyValue:
        """The values of the card and the bounds on its late rate."""
        return self._chain.values(start=self.start)

    @property
    def lower(self) -> float:
        """The late incidents per day are at least this."""
        return self.solved.lower

    @property
    def upper(self) -> float:
        """The late incidents per day are at most this."""
        return self.solved.upper

    def changed(self, order: Ints) -> "ExactCard":
        """The same of another card."""
        return ExactCard(self.problem, order, self.threads, self.solved.value)

    def propose(self) -> Proposal:
        """A better order for each demand point, one by one."""
        problem = self.problem
        probability = self._chain.probabilities(tolerance=1e-9).probability
        proposal = Proposal(self.order.copy(), np.zeros(problem.num_points))
        for needed in np.unique(problem.trucks_needed).tolist():
            points = np.flatnonzero((problem.trucks_needed == needed) & (problem.incidents_per_day > 0.0))
            self._reorder(needed, points, probability, proposal)
        return proposal._replace(gain=proposal.gain * problem.incidents_per_day)

    def _reorder(self, needed: int, points: Ints, probability: Floats, proposal: Proposal) -> None:
        """Improve the orders of points that need equally many trucks."""
        problem, threads = self.problem, checked_threads(self.threads)
        finishes = finishes_of(problem.teams, problem.teams.of_size(needed))
        start = starts(1 << (finishes.taken == 0).sum(axis=1))
        mass, price = np.empty(start[-1]), np.empty(start[-1])

        def fill(part: Ints) -> None:
            finish_sums(
                part[0], part[-1] + 1, finishes, problem.layout.states, probability, self.solved.value, start, mass,
                price,
            )  # fmt: skip

        def reorder(part: Ints) -> None:
            reorder_by_sums(part, WINDOW, finishes, problem.cost, start, mass, price, proposal.order, proposal.gain)

        run_each(fill, _parts(np.arange(len(finishes.team))), threads)
        run_each(reorder, _parts(points), threads)


class Chances(NamedTuple):
    """Chances of idle trucks, prices and costs, as `mdp/kernels/cards.py` wants them."""

    exactly: Floats
    at_least: Floats
    price: Floats
    cost: Floats
    number_of_code: Ints
    base: int


@dataclass(frozen=True, eq=False)
class IndependentCard:
    """A card whose trucks are busy independently: for problems of any size."""

    problem: DispatchProblem
    order: Ints
    threads: int | None = None
    start: Floats | None = None
    """Busy chances close to the steady ones of the card, if there are any."""

    @cached_property
    def _trucks(self) -> IndependentTrucks:
        return IndependentTrucks(self.problem, self.order)

    @cached_property
    def busy(self) -> Floats:
        """[I] the steady busy chance of the trucks of each station."""
        return self._trucks.steady_busy(self.start)

    @cached_property
    def _asked_and_late(self) -> tuple[Floats, float]:
        """[N] how often each truck is asked a day, and c(p)."""
        return self._trucks.asked_and_late(np.repeat(self.busy, self.problem.trucks))

    @property
    def lower(self) -> float:
        """The late incidents per day, less what the steady chances leave open."""
        return self.upper * (1.0 - 1e-9)

    @property
    def upper(self) -> float:
        """The late incidents per day at the steady busy chances."""
        return self._asked_and_late[1]

    def changed(self, order: Ints) -> "IndependentCard":
        """The same of another card."""
        return IndependentCard(self.problem, order, self.threads, self.busy)

    def prices(self) -> Floats:
        """[I] w_i: the late incidents to come from taking one truck of each station."""
        problem, independent, (asked, late) = self.problem, self._trucks, self._asked_and_late
        first, busy = independent.first_truck[:-1], np.repeat(self.busy, problem.trucks)

        def slopes(truck: int) -> tuple[Floats, float]:
            surely = busy.copy()
            surely[truck] = np.round(1.0 - busy[truck])  # idle or busy, what is further away
            found, of_late = independent.asked_and_late(surely)
            by = surely[truck] - busy[truck]
            return np.add.reduceat(found - asked, first) / (by * problem.trucks), (of_late - late) / by

        of_trucks = run_each(slopes, range(problem.num_trucks), checked_threads(self.threads))
        of_demand, of_late = (np.add.reduceat(np.array(of), first) for of in zip(*of_trucks, strict=True))
        demand = np.add.reduceat(asked, first) / problem.trucks
        # [m, i] ∂F_i/∂p_m
        of_flow = of_demand * (1.0 - self.busy) - np.diag(demand + problem.returns_per_day)
        return np.asarray(np.linalg.solve(of_flow, -of_late) / problem.trucks)

    def propose(self) -> Proposal:
        """A better order for each demand point, one by one."""
        problem, chances = self.problem, self._chances(self.prices())
        most = int(problem.trucks_needed.max())
        finishes = _finishes_of_window(
            min(INDEPENDENT_WINDOW, problem.num_stations), min(most, int(problem.trucks.max())), most
        )
        proposal = Proposal(self.order.copy(), np.zeros(problem.num_points))

        def reorder(points: Ints) -> None:
            reorder_independent(
                points, INDEPENDENT_WINDOW, finishes, problem.trucks_needed, chances, proposal.order, proposal.gain
            )

        points = np.flatnonzero(problem.incidents_per_day > 0.0)
        run_each(reorder, _parts(points), checked_threads(self.threads))
        return proposal._replace(gain=proposal.gain * problem.incidents_per_day)

    def _chances(self, price: Floats) -> Chances:
        teams = self.problem.teams
        exactly, at_least = idle_chances(self.problem.trucks, self.busy, teams.max_size)
        return Chances(exactly, at_least, price, self.problem.cost, teams.number_of_code, teams.base)


CardModel: TypeAlias = ExactCard | IndependentCard
"""What a card achieves, and how to improve it."""


def idle_chances(trucks: Ints, busy: Floats, most: int) -> tuple[Floats, Floats]:
    """[I, most] the chances of exactly 0 to most-1 idle trucks at each station, [I, most+1] of at least 0 to most."""
    count = np.arange(max(int(trucks.max()), most) + 1)
    number, idle = trucks[:, None], 1.0 - busy[:, None]
    exactly = comb(number, count) * idle**count * busy[:, None] ** np.maximum(number - count, 0)
    at_least = np.cumsum(exactly[:, ::-1], axis=1)[:, ::-1]
    few = exactly[:, :most].copy()
    few[:, 0] = np.maximum(few[:, 0], LEAST_CHANCE)
    return few, at_least[:, : most + 1].copy()


def _parts(numbers: Ints) -> Sequence[Ints]:
    """The numbers in parts for threads, none empty. They are always the same parts, so that sums are the same, too."""
    return [part for part in np.array_split(numbers, NUM_PARTS) if len(part)]
