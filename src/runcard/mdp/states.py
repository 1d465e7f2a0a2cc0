"""The states of a problem, and what is the same there for every policy."""

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.arrays import Floats, Ints, frozen
from runcard.mdp.bounds import Residuals
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.levels import Levels


def each_level(trucks: Ints) -> NDArray[np.uint16]:
    """[states] the number of idle trucks in each state of stations with these trucks."""
    level = np.zeros(1, np.uint16)
    for number in trucks.tolist():
        level = (level[:, None] + np.arange(number + 1, dtype=np.uint16)).ravel()
    return level


def each_mask(trucks: Ints, bits: Ints, first_bit: Ints) -> NDArray[np.uint64]:
    """[states] what is idle in each state of stations with these trucks and bits (see `response.teams`)."""
    masks = np.zeros(1, np.uint64)
    for number, width, first in zip(trucks.tolist(), bits.tolist(), first_bit.tolist(), strict=True):
        lowest = [((1 << min(idle, width)) - 1) << first for idle in range(number + 1)]
        masks = (masks[:, None] | np.array(lowest, np.uint64)).ravel()
    return masks


@dataclass(frozen=True, eq=False)
class StateSpace:
    """The states of stations with `trucks` [I] trucks."""

    trucks: Ints
    levels: Levels

    @cached_property
    def level(self) -> NDArray[np.uint16]:
        """[states] the number of idle trucks."""
        return frozen(each_level(self.trucks))

    @cached_property
    def num_at_level(self) -> Floats:
        """[N + 1] the number of states with each number of idle trucks."""
        return frozen(reduce(np.convolve, (np.ones(number + 1) for number in self.trucks.tolist()), np.ones(1)))

    @cached_property
    def even_probability(self) -> Floats:
        """[states] the probabilities if the states of a level were equally likely: a start, and a weight."""
        return self._spread_evenly(self.levels.idle_distribution)

    @cached_property
    def even_arrivals(self) -> Floats:
        """[states] the rate of arrivals by dispatch if the states of a level were equally likely."""
        return self._spread_evenly(self.levels.arrivals)

    def _spread_evenly(self, by_level: Floats) -> Floats:
        """[states] what each level has [N + 1], in equal parts for its states."""
        return frozen((by_level / self.num_at_level)[self.level])

    @cached_property
    def weights(self) -> Floats:
        """[states + padding] the square roots of the even probabilities."""
        return frozen(np.concatenate([np.sqrt(self.even_probability), np.zeros(VALUE_PADDING)]))

    def levelled(self, value: Floats, residuals: Residuals) -> Floats:
        """The values with the part that depends on the number of idle trucks alone set right."""
        by_level = residuals.correction(self.levels.generator)
        result = value.copy()
        result[: len(self.level)] += by_level[self.level]
        return frozen(result)
