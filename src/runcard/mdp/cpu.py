"""The backend of the processor: kernels over chunks of states, on several threads.

The rows of a policy are kept by chunk, or made again for each sweep when memory is short. Sweeps run wave by wave (see
`layout.py`), the chunks of a wave on several threads; what they compute does not depend on the number of threads.
The equations are in `kernels/sweeps.py`, the bounds in `bounds.py`, the extrapolation in `extrapolate.py`.

Teams are chosen by keys of 32 or 64 bits (see `kernels/packed_minimum.py`). Keys of 32 bits are the coarse numbers: at
twice the speed, and with a larger unit.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import ClassVar, TypeAlias

import numpy as np

from runcard.mdp.arrays import Floats, frozen
from runcard.mdp.backend import Improvement, StateProbabilities
from runcard.mdp.bounds import Residuals
from runcard.mdp.extrapolate import extrapolated
from runcard.mdp.kernels.order_rows import card_rows, table_rows, team_use
from runcard.mdp.kernels.sweeps import (
    probability_sweep_down,
    probability_sweep_up,
    residual_sweep,
    value_sweep_down,
    value_sweep_up,
)
from runcard.mdp.kernels.value_rows import value_rows
from runcard.mdp.layout import VALUE_PADDING, Chunk, KeyedCosts
from runcard.mdp.memory import BYTES_OF_ENTRY, bytes_of_rows, bytes_of_values, check_states
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import DecisionRule, PolicyRows, TableRule, ValueRule
from runcard.memory import SMALL_BYTES, available_bytes
from runcard.threads import checked_threads, run_each

SMALL = 1 << 20
"""Problems of fewer states × demand points than this use keys of 64 bits throughout."""

SWEEPS_PER_CHECK = 4
"""Sweeps of the probabilities between two looks at whether they still change."""

ARRIVING_PARTS = 4
"""Chunks of a wave write their dispatches to this many arrays, so that the sums do not depend on the threads."""

_NO_MEASURES: Floats = np.empty((0, 0, 0))
_scratch = threading.local()


@dataclass(frozen=True, eq=False)
class RowsOnDemand:
    """The rows of a policy by number of chunk, made each time they are asked for: nothing is kept."""

    chunks: Sequence[Chunk]
    make: Callable[[Chunk], PolicyRows]

    def __getitem__(self, number: int) -> PolicyRows:
        return self.make(self.chunks[number])


Rows: TypeAlias = list[PolicyRows] | RowsOnDemand
"""The rows of a policy in every state, by number of chunk."""


def cpu_backend(problem: DispatchProblem, threads: int | None = None) -> "CpuBackend":
    """The backend for a problem; a SizeError where its states do not fit in memory."""
    threads, values = checked_threads(threads), bytes_of_values(problem.num_states)
    check_states(problem.trucks, device="cpu")
    at_most = values + BYTES_OF_ENTRY * problem.num_states * problem.layout.most_teams_per_state
    keeps_rows = at_most <= SMALL_BYTES or values + bytes_of_rows(problem) <= available_bytes()
    return CpuBackend(problem, threads, keeps_rows)


@dataclass(frozen=True, eq=False)
class CpuBackend:
    """The kernels of the processor on the states of one problem."""

    problem: DispatchProblem
    threads: int
    keeps_rows: bool = True
    """Whether the rows of a policy are kept between sweeps, or made again for each when memory is short."""
    coarse_units: ClassVar[float] = 64.0

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """Every chunk, from the first state up."""
        return self.problem.layout.chunks

    @property
    def has_coarse(self) -> bool:
        """Whether `improve` is worth doing in coarse numbers first, as long as the bounds are far apart."""
        return self.problem.num_states * self.problem.num_points >= SMALL

    @property
    def sweeps_per_cycle(self) -> int:
        """Sweeps before each extrapolation: with more, an improvement gains nothing; with fewer, it takes more of them.

        A sweep shrinks the error to about Λ / (Λ + μ) of it, so that few are enough where incidents are few.
        """
        return min(6, 3 + ceil(self.problem.total_incidents_per_day / self.problem.returns_per_day))

    def start(self, value: Floats | None = None) -> Floats:
        """[states + padding] values to start from: these, or 0."""
        return np.zeros(self.problem.num_states + VALUE_PADDING) if value is None else value

    def levelled(self, value: Floats, residuals: Residuals) -> Floats:
        """[states + padding] the values with the part that depends on the number of idle trucks alone set right."""
        return self.problem.states.levelled(value, residuals)

    def rows(self, rule: DecisionRule, measures: Sequence[Floats] = ()) -> Rows:
        """The rows of the policy of a rule, with the sums of these tables [T, J]."""
        tables = np.array(measures) if measures else _NO_MEASURES

        def make(chunk: Chunk) -> PolicyRows:
            return self._rows_of(rule, chunk, tables)

        return run_each(make, self.chunks, self.threads) if self.keeps_rows else RowsOnDemand(self.chunks, make)

    def _rows_of(self, rule: DecisionRule, chunk: Chunk, tables: Floats) -> PolicyRows:
        """The rows of a chunk."""
        problem = self.problem
        if isinstance(rule, ValueRule):
            # Its costs are counted like a measure: what keys say includes prices, and large values would swallow them.
            wanted = np.concatenate([tables.reshape(-1, *problem.cost.shape), problem.cost[None]])
            rows = _trimmed(self._greedy_rows(chunk, rule.value, problem.layout.wide, wanted)[0])
            return rows._replace(cost=rows.measured[-1], measured=rows.measured[:-1], unit=0.0)
        rows = self._empty_rows(chunk, len(tables))
        if isinstance(rule, TableRule):
            table_rows(rule.table[chunk.start : chunk.stop], problem.incidents_per_day, problem.cost, tables, rows)
        else:
            layout = problem.layout
            card_rows(
                chunk.start, chunk.stop, layout.states, rule.lines, rule.order, problem.trucks_needed,
                problem.incidents_per_day, layout.teams.mask, problem.teams.number_of_code, problem.cost, tables, rows,
            )  # fmt: skip
        return _trimmed(rows)

    def improve(self, value: Floats, *, coarse: bool = False, want_rows: bool = True) -> Improvement:
        """The policy that is greedy for `value` [states + padding], and the residuals."""
        costs = self.problem.layout.narrow if coarse else self.problem.layout.wide
        keep = want_rows and self.keeps_rows

        def improve(chunk: Chunk) -> tuple[PolicyRows, Residuals]:
            rows, found = self._greedy_rows(chunk, value, costs, _NO_MEASURES, want_rows=keep)
            return _trimmed(rows) if keep else rows, found

        def make(chunk: Chunk) -> PolicyRows:
            return _trimmed(self._greedy_rows(chunk, value, costs, _NO_MEASURES)[0])

        improved = run_each(improve, self.chunks, self.threads)
        residuals = Residuals.over([found for _, found in improved])
        if keep:
            return Improvement([rows for rows, _ in improved], residuals)
        return Improvement(RowsOnDemand(self.chunks, make) if want_rows else [], residuals)

    def _greedy_rows(
        self, chunk: Chunk, value: Floats, costs: KeyedCosts, tables: Floats, *, want_rows: bool = True
    ) -> tuple[PolicyRows, Residuals]:
        """The rows of a chunk, without entries if they are not wanted, and the residuals of its states."""
        layout = self.problem.layout
        rows = self._empty_rows(chunk, len(tables))._replace(unit=costs.unit)
        if not want_rows:
            rows = rows._replace(team=rows.team[:0], rate=rows.rate[:0])
        found = Residuals.none(self.problem.num_trucks, costs.unit)
        value_rows(
            chunk.start, chunk.stop, _seen(value), layout.states, layout.teams, costs, layout.cost, tables,
            rows, found,
        )  # fmt: skip
        return rows, found

    def _empty_rows(self, chunk: Chunk, num_measures: int) -> PolicyRows:
        """Rows to be filled by a kernel, with room for one entry more than there can be.

        The entries are each thread's own scratch: fresh memory for every chunk would cost a tenth of an improvement.
        """
        num_states = chunk.stop - chunk.start
        capacity = self.problem.layout.most_teams_per_state * num_states + 1
        if getattr(_scratch, "capacity", 0) < capacity:
            _scratch.capacity = capacity
            _scratch.team, _scratch.rate = np.empty(capacity, np.uint16), np.empty(capacity)
        ends, measured = np.empty(num_states, np.int64), np.empty((num_measures, num_states))
        return PolicyRows(ends, _scratch.team, _scratch.rate, np.empty(num_states), measured, unit=0.0)

    def sweep(self, rows: Rows, value: Floats, num_sweeps: int, measure: int | None = None) -> Floats:
        """[states + padding] the values after some sweeps from `value` and an extrapolation."""
        iterates, swept = [value], value.copy()
        for _ in range(num_sweeps):
            self._sweep_values(rows, swept, measure)
            iterates.append(swept.copy())
        result = extrapolated(iterates, self.problem.states.weights)
        result -= result[self.problem.num_states - 1]
        return result

    @cached_property
    def _crowded(self) -> bool:
        """Whether trucks are mostly busy, so that sweeps follow the dispatches and not the returns."""
        return self.problem.load > 1.0

    @property
    def _waves(self) -> list[tuple[int, ...]]:
        """The numbers of the chunks of each wave, in the order of a sweep of values; probabilities go the other way."""
        waves = self.problem.layout.waves
        return list(waves if self._crowded else reversed(waves))

    def _sweep_values(self, rows: Rows, value: Floats, measure: int | None) -> None:
        layout, gain, known = self.problem.layout, np.zeros(1), 0 if self._crowded else self.problem.num_states - 1
        total_rate = self.problem.total_incidents_per_day
        sweep_chunk = value_sweep_up if self._crowded else value_sweep_down

        def sweep(number: int) -> None:
            chunk, own = self.chunks[number], rows[number]
            sweep_chunk(
                chunk.start, chunk.stop, known, value, gain, layout.states, layout.offset, total_rate, own,
                _rates(own, measure),
            )  # fmt: skip

        for wave in self._waves:
            run_each(sweep, wave, self.threads)

    def residuals(self, rows: Rows, value: Floats, measure: int | None = None) -> Residuals:
        """The residuals of the value equations of the policy at `value`, which bound its rate per day."""
        layout = self.problem.layout

        def of_chunk(number: int) -> Residuals:
            chunk, own = self.chunks[number], rows[number]
            found = Residuals.none(self.problem.num_trucks, own.unit if measure is None else 0.0)
            residual_sweep(
                chunk.start, chunk.stop, _seen(value), layout.states, layout.offset, own, _rates(own, measure), found
            )
            return found

        return Residuals.over(run_each(of_chunk, range(len(self.chunks)), self.threads))

    def probabilities(self, rows: Rows, *, tolerance: float, max_sweeps: int) -> StateProbabilities:
        """The probabilities, swept until they change by at most `tolerance` in all.

        The start has the right total at every level, and sweeps keep it. The first sweep, which still sees the even
        arrivals, never ends the search.
        """
        states, num_states = self.problem.states, self.problem.num_states
        parts = min(ARRIVING_PARTS, max(len(wave) for wave in self._waves))
        waves = [[(part, wave[part::parts]) for part in range(parts)] for wave in reversed(self._waves)]
        probability, converged = states.even_probability.copy(), False
        arriving, next_arriving = np.zeros((parts, num_states)), np.zeros((parts, num_states))
        arriving[0] = states.even_arrivals
        for sweeps in range(1, max_sweeps + 1):
            checking = sweeps % SWEEPS_PER_CHECK == 0 or sweeps == max_sweeps
            before = probability.copy() if checking else probability
            next_arriving[:] = 0.0
            self._sweep_probabilities(rows, waves, probability, arriving, next_arriving)
            arriving, next_arriving = next_arriving, arriving
            converged = checking and sweeps > 1 and float(np.abs(probability - before).sum()) <= tolerance
            if converged:
                break
        probability /= probability.sum()
        return self._totals(rows, probability, converged=converged)

    def _sweep_probabilities(
        self,
        rows: Rows,
        waves: Sequence[Sequence[tuple[int, Sequence[int]]]],
        probability: Floats,
        arriving: Floats,
        next_arriving: Floats,
    ) -> None:
        """Sweep once, the parts of each wave side by side; a part is a number and those of its chunks.

        `next_arriving` is all 0 before, and `arriving` is that of the sweep before.
        """
        layout, total_rate = self.problem.layout, self.problem.total_incidents_per_day
        sweep_chunk = probability_sweep_down if self._crowded else probability_sweep_up
        arriving = next_arriving if self._crowded else arriving

        def sweep(part: tuple[int, Sequence[int]]) -> None:
            for number in part[1]:
                chunk = self.chunks[number]
                sweep_chunk(
                    chunk.start, chunk.stop, probability, arriving, next_arriving[part[0]], layout.states,
                    layout.offset, total_rate, rows[number],
                )  # fmt: skip

        for wave in waves:
            run_each(sweep, wave, self.threads)

    def _totals(self, rows: Rows, probability: Floats, *, converged: bool) -> StateProbabilities:
        """The probabilities with what follows from them."""
        use, measured = np.zeros(self.problem.num_teams), np.zeros(len(rows[0].measured))
        for number, chunk in enumerate(self.chunks):
            own = rows[number]
            team_use(chunk.start, probability, own, use)
            measured += own.measured @ probability[chunk.start : chunk.stop]
        return StateProbabilities(probability, use, measured, converged)


def load_coarse_kernels(problem: DispatchProblem) -> None:
    """Load the kernels for coarse numbers, or compile them, which small problems do not use."""
    cpu_backend(problem, 1).improve(np.zeros(problem.num_states + VALUE_PADDING), coarse=True)


def _rates(rows: PolicyRows, measure: int | None) -> Floats:
    """[states] the rate of the cost, or of a measure."""
    return rows.cost if measure is None else rows.measured[measure]


def _seen(value: Floats) -> Floats:
    """The values as a view that cannot be written to: kernels are compiled once for these, not twice."""
    return frozen(value.view())


def _trimmed(rows: PolicyRows) -> PolicyRows:
    """The rows in arrays of their own."""
    used = int(rows.end[-1])
    return rows._replace(team=rows.team[:used].copy(), rate=rows.rate[:used].copy())
