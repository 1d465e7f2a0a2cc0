"""The rows of a policy, by chunks of states, and the rules that make them.

A rule says how a policy chooses. Evaluation asks it for rows, one chunk at a time, and never for a table of all states
and demand points. The row of state f lists, for each team a that the policy sends from f, the rate
Σ_j λ_j [a(f, j) = a]; demand points that get the same team are one entry. A chunk is a range of states with the same
high digits; chunks whose high digits have the same sum (a wave) do not reach each other by returns.
"""

import threading
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from runcard.mdp.bounds import Residuals
from runcard.mdp.kernels.order_rows import order_rows, table_rows
from runcard.mdp.kernels.value_rows import value_rows
from runcard.mdp.layout import Layout

CHUNK_STATES = 2048
_scratch = threading.local()


class Rows(NamedTuple):
    """The rows of a range of states: state s of the range has the entries end[s-1]..end[s]-1."""

    end: NDArray[np.int64]
    team: NDArray[np.uint16]
    """[entries] its number: a problem with more teams than 16 bits count has at least 2^33 states."""
    rate: NDArray[np.float64]
    """[entries] incidents per day that get the team."""
    cost: NDArray[np.float64]
    """[states] expected late incidents per day."""
    minutes: NDArray[np.float64]
    """[states] Σ_j λ_j × mean response minutes; empty if not wanted."""


class Chunk(NamedTuple):
    """The states start..stop-1, and the sum of their high digits."""

    start: int
    stop: int
    wave: int


def chunks_of(trucks: NDArray[np.int64]) -> tuple[Chunk, ...]:
    """Every chunk of the states of stations with `trucks` trucks, from the first state up."""
    radix = trucks + 1
    num_high, size = len(radix), 1
    while num_high > 0 and size * int(radix[num_high - 1]) <= CHUNK_STATES:
        num_high -= 1
        size *= int(radix[num_high])
    high = np.indices(tuple(radix[:num_high])).reshape(num_high, -1).sum(axis=0) if num_high else np.zeros(1)
    return tuple(Chunk(n * size, (n + 1) * size, int(wave)) for n, wave in enumerate(high))


class Rule(Protocol):
    """How a policy chooses its teams."""

    @property
    def start(self) -> NDArray[np.float64] | None:
        """[states + padding] values close to those of the policy, for evaluation to start from, if there are any."""
        ...

    def rows(self, layout: Layout, chunk: Chunk, *, minutes: bool) -> Rows:
        """The rows of a chunk, with the response minutes if wanted."""
        ...


@dataclass(frozen=True, eq=False)
class OrderRule:
    """The idle trucks that come first in the order [J, I] of each demand point."""

    order: NDArray[np.int64]
    start: NDArray[np.float64] | None = None

    def rows(self, layout: Layout, chunk: Chunk, *, minutes: bool) -> Rows:
        """The rows of a chunk, with the response minutes if wanted."""
        problem = layout.problem
        rows = empty_rows(layout, chunk.stop - chunk.start, minutes=minutes)
        order_rows(
            chunk.start, chunk.stop, layout.space, self.order, problem.trucks_needed, problem.incidents_per_day,
            problem.teams.number_of_code, problem.cost, layout.minutes(wanted=minutes), rows,
        )  # fmt: skip
        return trimmed(rows)


@dataclass(frozen=True, eq=False)
class TableRule:
    """The team number of every state and demand point, for policies that are given as a table."""

    table: NDArray[np.int64]
    start: NDArray[np.float64] | None = None

    def rows(self, layout: Layout, chunk: Chunk, *, minutes: bool) -> Rows:
        """The rows of a chunk, with the response minutes if wanted."""
        problem = layout.problem
        rows = empty_rows(layout, chunk.stop - chunk.start, minutes=minutes)
        table = self.table[chunk.start : chunk.stop]
        table_rows(table, problem.incidents_per_day, problem.cost, layout.minutes(wanted=minutes), rows)
        return trimmed(rows)


@dataclass(frozen=True, eq=False)
class ValueRule:
    """The team with the smallest cost(a, j) + h(f-a), for a value function h [states + padding]."""

    value: NDArray[np.float64]
    key_bits: int = 64

    @property
    def start(self) -> NDArray[np.float64]:
        """The values themselves."""
        return self.value

    def rows(self, layout: Layout, chunk: Chunk, *, minutes: bool) -> Rows:
        """The rows of a chunk, with the response minutes if wanted."""
        rows, _ = self.improvement(layout, chunk, minutes=minutes)
        assert rows is not None
        return rows

    def improvement(
        self, layout: Layout, chunk: Chunk, *, minutes: bool = False, want_rows: bool = True
    ) -> tuple[Rows | None, Residuals]:
        """The rows of a chunk, or None if they are not wanted, and the residuals of its states."""
        rows = empty_rows(layout, chunk.stop - chunk.start, minutes=minutes)
        if not want_rows:
            rows = rows._replace(team=rows.team[:0], rate=rows.rate[:0])
        found = Residuals.none(layout.problem.num_trucks)
        keyed = layout.keyed(self.key_bits)
        value_rows(
            chunk.start, chunk.stop, self.value, layout.space, layout.teams, keyed.points, keyed.keys,
            layout.problem.cost, layout.minutes(wanted=minutes), rows, found.lowest, found.highest, found.largest,
        )  # fmt: skip
        return trimmed(rows) if want_rows else None, found


def empty_rows(layout: Layout, num_states: int, *, minutes: bool) -> Rows:
    """Rows to be filled by a kernel, with room for one entry more than there can be.

    The entries are each thread's own scratch: fresh memory for every chunk would cost a tenth of an improvement.
    """
    capacity = layout.most_teams_per_state * num_states + 1
    has_minutes = minutes and layout.problem.response_minutes is not None
    if getattr(_scratch, "capacity", 0) < capacity:
        _scratch.capacity, _scratch.team, _scratch.rate = capacity, np.empty(capacity, np.uint16), np.empty(capacity)
    return Rows(
        np.empty(num_states, np.int64),
        _scratch.team,
        _scratch.rate,
        np.empty(num_states),
        np.empty(num_states if has_minutes else 0),
    )


def trimmed(rows: Rows) -> Rows:
    """The rows in arrays of their own."""
    used = int(rows.end[-1])
    return rows._replace(team=rows.team[:used].copy(), rate=rows.rate[:used].copy())
