"""The Markov chain of one policy: its rows in every state, and the sweeps over them.

Sweeps run wave by wave, the chunks of a wave on several threads; what they compute does not depend on the number of
threads. The equations are in `kernels/sweeps.py`, the bounds in `bounds.py`, the extrapolation in `extrapolate.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import overload

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.bounds import Residuals
from runcard.mdp.extrapolate import extrapolated
from runcard.mdp.kernels.sweeps import probability_sweep, residual_sweep, value_sweep
from runcard.mdp.rows import Chunk, Rows, Rule
from runcard.mdp.space import StateSpace
from runcard.threads import run_each

SWEEPS_PER_CHECK = 4
"""Sweeps of the probabilities between two looks at whether they still change."""

ARRIVING_PARTS = 4
"""Chunks of a wave write their dispatches to this many arrays, so that the sums do not depend on the threads."""


@dataclass(frozen=True, eq=False)
class RowsOnDemand(Sequence[Rows]):
    """The rows of a policy by number of chunk, made each time they are asked for: nothing is kept."""

    space: StateSpace
    rule: Rule
    minutes: bool

    def __len__(self) -> int:
        return len(self.space.chunks)

    @overload
    def __getitem__(self, number: int) -> Rows: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Rows]: ...
    def __getitem__(self, number: int | slice) -> Rows | Sequence[Rows]:
        if isinstance(number, slice):
            return [self[position] for position in range(*number.indices(len(self)))]
        return self.rule.rows(self.space.layout, self.space.chunks[number], minutes=self.minutes)


def policy_rows(space: StateSpace, rule: Rule, *, minutes: bool) -> Sequence[Rows]:
    """The rows of a policy in every state: kept, if there is memory for them."""
    if not space.keeps_rows:
        return RowsOnDemand(space, rule, minutes)

    def of_chunk(chunk: Chunk) -> Rows:
        return rule.rows(space.layout, chunk, minutes=minutes)

    return run_each(of_chunk, space.chunks, space.threads)


@dataclass(frozen=True, eq=False)
class Chain:
    """The chain of one policy."""

    space: StateSpace
    rows: Sequence[Rows]

    @cached_property
    def sweeps_per_cycle(self) -> int:
        """Sweeps before each extrapolation: with more, an improvement gains nothing; with fewer, it takes more of them.

        A sweep shrinks the error to about Λ / (Λ + μ) of it, so that few are enough where incidents are few.
        """
        problem = self.space.layout.problem
        return min(6, 3 + ceil(problem.total_incidents_per_day / problem.returns_per_day))

    def improve_values(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values after a cycle of sweeps from `value`, which is overwritten, and an extrapolation."""
        iterates = [value.copy()]
        for _ in range(self.sweeps_per_cycle):
            self._sweep_values(value)
            iterates.append(value.copy())
        result = extrapolated(iterates, self.space.state_weights)
        result -= result[self.space.layout.problem.num_states - 1]
        return result

    def _sweep_values(self, value: NDArray[np.float64]) -> None:
        layout, gain = self.space.layout, np.zeros(1)
        last_state = layout.problem.num_states - 1

        def sweep(number: int) -> None:
            chunk = self.space.chunks[number]
            value_sweep(
                chunk.start, chunk.stop, value, gain, last_state, layout.space, layout.teams.offset,
                layout.problem.total_incidents_per_day, self.rows[number],
            )  # fmt: skip

        for wave in reversed(self.space.waves):
            run_each(sweep, wave, self.space.threads)

    def residuals(self, value: NDArray[np.float64]) -> Residuals:
        """The residuals of the value equations of the policy, which bound its late rate, for any values."""
        layout = self.space.layout

        def of_chunk(number: int) -> Residuals:
            found = Residuals.none(layout.problem.num_trucks)
            chunk = self.space.chunks[number]
            residual_sweep(
                chunk.start, chunk.stop, value, layout.space, layout.teams.offset, self.rows[number],
                found.lowest, found.highest, found.largest,
            )  # fmt: skip
            return found

        return Residuals.over(run_each(of_chunk, range(len(self.rows)), self.space.threads))

    def probabilities(self, *, tolerance: float, max_sweeps: int) -> tuple[NDArray[np.float64], int, bool]:
        """[states] the long-run probability of each state, the number of sweeps, and whether they converged.

        The start has the right total at every level, and sweeps keep it. The stopping rule is a total change of the
        probabilities of at most `tolerance` in one sweep; not in the first, which still sees the even arrivals.
        """
        problem = self.space.layout.problem
        parts = min(ARRIVING_PARTS, max(len(wave) for wave in self.space.waves))
        probability = self.space.even_probability.copy()
        arriving, next_arriving = np.zeros((parts, problem.num_states)), np.zeros((parts, problem.num_states))
        arriving[0] = self.space.even_arrivals
        for sweeps in range(1, max_sweeps + 1):
            checking = sweeps % SWEEPS_PER_CHECK == 0 or sweeps == max_sweeps
            before = probability.copy() if checking else probability
            next_arriving[:] = 0.0
            self._sweep_probabilities(probability, arriving, next_arriving)
            arriving, next_arriving = next_arriving, arriving
            if checking and sweeps > 1 and np.abs(probability - before).sum() <= tolerance:
                return probability / probability.sum(), sweeps, True
        return probability / probability.sum(), max_sweeps, False

    def _sweep_probabilities(
        self, probability: NDArray[np.float64], arriving: NDArray[np.float64], next_arriving: NDArray[np.float64]
    ) -> None:
        layout, parts = self.space.layout, len(arriving)

        def sweep(numbers: tuple[int, Sequence[int]]) -> None:
            part, chunk_numbers = numbers
            for number in chunk_numbers:
                chunk = self.space.chunks[number]
                probability_sweep(
                    chunk.start, chunk.stop, probability, arriving, next_arriving[part], layout.space,
                    layout.teams.offset, layout.problem.total_incidents_per_day, self.rows[number],
                )  # fmt: skip

        for wave in self.space.waves:
            run_each(sweep, [(part, wave[part::parts]) for part in range(parts)], self.space.threads)
