"""The states of a problem, and what is the same there for every policy."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.bounds import Residuals
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.levels import Levels


@dataclass(frozen=True, eq=False)
class StateSpace:
    """The states of stations with `trucks` [I] trucks."""

    trucks: NDArray[np.int64]
    levels: Levels

    @cached_property
    def level(self) -> NDArray[np.uint16]:
        """[states] the number of idle trucks."""
        level = np.zeros(1, np.uint16)
        for trucks in self.trucks:
            level = (level[:, None] + np.arange(trucks + 1, dtype=np.uint16)).ravel()
        level.flags.writeable = False
        return level

    @cached_property
    def even_probability(self) -> NDArray[np.float64]:
        """[states] the probabilities if the states of a level were equally likely: a start, and a weight."""
        return self._spread_evenly(self.levels.idle_distribution)

    @cached_property
    def even_arrivals(self) -> NDArray[np.float64]:
        """[states] the rate of arrivals by dispatch if the states of a level were equally likely."""
        return self._spread_evenly(self.levels.arrivals)

    def _spread_evenly(self, by_level: NDArray[np.float64]) -> NDArray[np.float64]:
        """[states] what each level has [N + 1], in equal parts for its states."""
        by_state: NDArray[np.float64] = (by_level / np.bincount(self.level, minlength=len(by_level)))[self.level]
        by_state.flags.writeable = False
        return by_state

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """[states + padding] the square roots of the even probabilities."""
        weights = np.concatenate([np.sqrt(self.even_probability), np.zeros(VALUE_PADDING)])
        weights.flags.writeable = False
        return weights

    def levelled(self, value: NDArray[np.float64], residuals: Residuals) -> NDArray[np.float64]:
        """The values with the part that depends on the number of idle trucks alone set right."""
        by_level = residuals.correction(self.levels.generator)
        result = value.copy()
        result[: len(self.level)] += by_level[self.level]
        result.flags.writeable = False
        return result
