"""A lower bound on what any policy can reach, at any size: neighbourhoods that pay each other for trucks."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from runcard.errors import InputError, SizeError
from runcard.mdp.bound.ascent import Ascent, level_window
from runcard.mdp.bound.certificate import certify
from runcard.mdp.bound.neighbourhoods import Neighbourhoods, find_neighbourhoods
from runcard.mdp.problem import DispatchProblem
from runcard.memory import SMALL_BYTES, available_bytes, in_words
from runcard.threads import checked_threads

MOST_MEMBERS = 10
PAYMENT_BYTES = 32.0
"""Of a payment, with its slope, its moments and what follows from it, at most."""


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """A certified lower bound on the mean cost of an incident under every policy."""

    lower: float
    neighbourhood: int
    """The trucks of each neighbourhood."""
    num_neighbourhoods: int
    steps: int
    seconds: float


@dataclass(frozen=True)
class BoundProgress:
    """How far the search for payments is."""

    step: int
    steps: int
    estimate: float
    """Of the bound so far; not certified."""


def _check_memory(problem: DispatchProblem, found: Neighbourhoods) -> None:
    """Raise a SizeError if what is paid at every level would not fit in memory."""
    low, high = level_window(problem, found.members.shape[1])
    needed = PAYMENT_BYTES * len(found.columns.point) * len(found.subsets) * (high - low + 1)
    available = available_bytes()
    if needed > max(available, SMALL_BYTES):
        raise SizeError(
            f"{len(found)} neighbourhoods of {found.members.shape[1]} trucks take about {in_words(needed)} of memory "
            f"and {in_words(available)} are free: expected smaller neighbourhoods (--neighbourhood)"
        )


def lower_bound(
    problem: DispatchProblem,
    *,
    neighbourhood: int = 8,
    steps: int = 400,
    threads: int | None = None,
    progress: Callable[[BoundProgress], None] | None = None,
) -> LowerBound:
    """A lower bound on the mean cost of an incident that holds for every policy, whatever the size of the problem."""
    if not 2 <= neighbourhood <= MOST_MEMBERS:
        raise InputError(f"expected neighbourhoods of 2 to {MOST_MEMBERS} trucks, got {neighbourhood}")
    if steps < 1:
        raise InputError(f"expected steps >= 1, got {steps}")
    began = time.perf_counter()
    found = find_neighbourhoods(problem, neighbourhood)
    _check_memory(problem, found)
    ascent = Ascent(problem, found, checked_threads(threads))

    def on_step(step: int, estimate: float) -> None:
        if progress is not None:
            progress(BoundProgress(step, steps, estimate))

    ascent.climb(steps, on_step)
    total = problem.total_incidents_per_day
    lower, _ = problem.proven(certify(ascent) * total, float("inf"))
    return LowerBound(
        lower=lower,
        neighbourhood=found.members.shape[1],
        num_neighbourhoods=len(found),
        steps=steps,
        seconds=time.perf_counter() - began,
    )
