"""The rows of a policy in every state, by chunks of states, and the rules that make them.

A rule says how a policy chooses; evaluation asks it for rows (see `kernels/value_rows.py`) and never for a table of all
states and demand points. A chunk is a range of states with the same high digits: kernels run over whole chunks, and
chunks whose high digits have the same sum (a wave) do not reach each other by returns, so they may be swept together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from runcard.errors import SizeError
from runcard.mdp.layout import Layout
from runcard.mdp.threads import run_each

CHUNK_STATES = 4096


class Rows(NamedTuple):
    """The rows of a range of states: state s of the range has the entries end[s-1]..end[s]-1."""

    end: NDArray[np.int64]
    team: NDArray[np.uint16]
    rate: NDArray[np.float64]
    """[entries] incidents per day that get the team."""
    cost: NDArray[np.float64]
    """[states] expected late incidents per day."""
    minutes: NDArray[np.float64]
    """[states] Σ_j λ_j × mean response minutes; empty if not wanted."""


class Chunk(NamedTuple):
    """The states start..stop-1."""

    start: int
    stop: int
    wave: int


class Rule(Protocol):
    """How a policy chooses its teams."""

    def rows(self, chunk: Chunk, *, minutes: bool) -> Rows:
        """The rows of a chunk, with the response minutes if wanted."""
        ...


@dataclass(frozen=True)
class Chunks:
    """All states of a problem, cut into chunks."""

    layout: Layout

    @cached_property
    def all(self) -> tuple[Chunk, ...]:
        """Every chunk, from the first state up."""
        radix = self.layout.problem.trucks + 1
        num_high, size = len(radix), 1
        while num_high > 0 and size * int(radix[num_high - 1]) <= CHUNK_STATES:
            num_high -= 1
            size *= int(radix[num_high])
        high = np.indices(tuple(radix[:num_high])).reshape(num_high, -1).sum(axis=0) if num_high else np.zeros(1)
        return tuple(Chunk(n * size, (n + 1) * size, int(wave)) for n, wave in enumerate(high))

    @cached_property
    def waves(self) -> tuple[tuple[Chunk, ...], ...]:
        """The chunks by wave, from no idle truck among the high digits up."""
        grouped: dict[int, list[Chunk]] = {}
        for chunk in self.all:
            grouped.setdefault(chunk.wave, []).append(chunk)
        return tuple(tuple(grouped[wave]) for wave in sorted(grouped))


def row_capacity(layout: Layout, num_states: int) -> int:
    """Entries that the rows of `num_states` states can have at most, and one that a kernel may write and drop."""
    points = layout.points(1)
    members = np.diff(points.first_point)
    per_state = np.maximum(1, np.minimum(points.last_team - points.first_team, members)).sum()
    return int(per_state) * num_states + 1


def empty_rows(layout: Layout, num_states: int, *, minutes: bool) -> Rows:
    """Rows to be filled by a kernel."""
    capacity = row_capacity(layout, num_states)
    return Rows(
        np.empty(num_states, np.int64),
        np.empty(capacity, np.uint16),
        np.empty(capacity),
        np.empty(num_states),
        np.empty(num_states if minutes else 0),
    )


def trimmed(rows: Rows) -> Rows:
    """The rows in arrays of their own length."""
    used = int(rows.end[-1])
    return rows._replace(team=rows.team[:used].copy(), rate=rows.rate[:used].copy())
