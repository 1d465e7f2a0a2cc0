"""The states of a problem, and what is the same there for every policy."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.bounds import Bounds, Residuals
from runcard.mdp.layout import VALUE_PADDING, Layout
from runcard.mdp.levels import idle_distribution, level_generator, rates_by_need
from runcard.mdp.memory import bytes_of_rows, bytes_of_values, check_memory
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import Chunk, chunks_of
from runcard.memory import SMALL_BYTES, available_bytes
from runcard.threads import available_threads


@dataclass(frozen=True, eq=False)
class StateSpace:
    """What is the same for every policy of a problem: the layout, the chunks and the distribution of idle trucks."""

    layout: Layout
    threads: int
    keeps_rows: bool = True
    """Whether the rows of a policy are kept between sweeps, or made again for each when memory is short."""

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """Every chunk, from the first state up."""
        return chunks_of(self.layout.problem.trucks)

    @cached_property
    def waves(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the chunks of each wave, from the lowest up."""
        by_wave = sorted(range(len(self.chunks)), key=lambda number: self.chunks[number].wave)
        return tuple(tuple(group) for _, group in groupby(by_wave, key=lambda number: self.chunks[number].wave))

    @cached_property
    def idle_distribution(self) -> NDArray[np.float64]:
        """[N + 1] the chance that n trucks are idle."""
        return idle_distribution(self.layout.problem)

    @cached_property
    def levels(self) -> NDArray[np.uint16]:
        """[states] the number of idle trucks."""
        levels = np.zeros(1, np.uint16)
        for trucks in self.layout.problem.trucks:
            levels = (levels[:, None] + np.arange(trucks + 1, dtype=np.uint16)).ravel()
        return levels

    @cached_property
    def even_probability(self) -> NDArray[np.float64]:
        """[states] the probabilities if the states of a level were equally likely: a start, and a weight."""
        per_state = self.idle_distribution / np.bincount(self.levels, minlength=len(self.idle_distribution))
        return per_state[self.levels]

    @cached_property
    def even_arrivals(self) -> NDArray[np.float64]:
        """[states] the rate of arrivals by dispatch if the states of a level were equally likely."""
        problem, distribution = self.layout.problem, self.idle_distribution
        arrivals = np.zeros(len(distribution))
        idle = np.arange(1, len(distribution))
        for k, rate in zip(*rates_by_need(problem), strict=True):
            np.add.at(arrivals, idle - np.minimum(idle, k), distribution[1:] * rate)
        return (arrivals / np.bincount(self.levels, minlength=len(distribution)))[self.levels]

    @cached_property
    def state_weights(self) -> NDArray[np.float64]:
        """[states + padding] the square roots of the even probabilities."""
        return np.concatenate([np.sqrt(self.even_probability), np.zeros(VALUE_PADDING)])

    @cached_property
    def level_generator(self) -> NDArray[np.float64]:
        """[N + 1, N + 1] the rates at which the number of idle trucks changes."""
        return level_generator(self.layout.problem)

    def bounds(self, residuals: Residuals) -> Bounds:
        """The bounds on g that residuals give."""
        return residuals.bounds(self.idle_distribution, self.level_generator)

    def levelled(self, value: NDArray[np.float64], residuals: Residuals) -> NDArray[np.float64]:
        """The values with the part that depends on the number of idle trucks alone set right."""
        by_level = residuals.correction(self.level_generator)
        result = value.copy()
        result[: len(self.levels)] += by_level[self.levels]
        return result


def state_space(problem: DispatchProblem, threads: int | None = None) -> StateSpace:
    """The states of a problem, kept with the problem; on every processor there is unless told otherwise."""
    wanted = available_threads() if threads is None else threads
    # In the problem's own dictionary, like a cached property: a space refers to its problem, so that a dictionary of
    # them elsewhere, even a weak one, would never let go of either.
    kept: StateSpace | None = vars(problem).get("_state_space")
    if kept is None:
        check_memory(problem.trucks.tolist())
        needed = bytes_of_values(problem) + bytes_of_rows(problem)
        keeps_rows = needed <= SMALL_BYTES or needed <= available_bytes()
        kept = vars(problem)["_state_space"] = StateSpace(Layout(problem), wanted, keeps_rows)
    return kept if kept.threads == wanted else replace(kept, threads=wanted)
