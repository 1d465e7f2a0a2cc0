"""A lower bound on what any policy can reach, at any size: neighbourhoods that pay each other for trucks."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from runcard.errors import InputError, SizeError
from runcard.mdp.bound.ascent import Ascent, Schedule, avoidable_cost, level_window
from runcard.mdp.bound.certificate import certify, proven_by_cheapest
from runcard.mdp.bound.neighbourhoods import Neighbourhoods, find_neighbourhoods
from runcard.mdp.problem import DispatchProblem
from runcard.memory import SMALL_BYTES, available_bytes, in_words
from runcard.threads import checked_threads

MOST_MEMBERS = 13
MOST_WITH_LEVELS = 60
"""With more trucks the number of idle ones says little about a neighbourhood, and all steps are in one band."""
LIKELY = 0.5
"""A band is for departments where incidents find trucks enough at least so often; others have levels at any size."""
BAND_PART = 0.1
"""Of the steps, in one band before all levels."""
ONLY_BAND = (0.05, 0.001, 0.03, 0.003, 0.98)
FIRST_BAND = (0.1, 0.02, 0.03, 0.01, 0.98)
ALL_LEVELS = (1.5, 0.01, 0.1, 0.01, 0.9)
"""The first and the last step and temperature, and what is kept of past slopes (see `Schedule`)."""
ALL_STEPS = 300
"""With fewer, the first step with all levels is smaller in proportion: a large one takes many others to settle."""
PAYMENT_BYTES, HOME_BYTES, MOVE_BYTES, OPTION_BYTES = 40.0, 16.0, 8.0, 100.0
"""Of a payment with its slope, its moments and what follows from it; of what a point costs and takes at home; of a move
of a neighbourhood, of which each thread has those of one; and of an option, without what it costs at each level."""


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """A proven lower bound on the mean cost of an incident under every policy."""

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
    """Of the bound so far; not proven."""


def climbed(
    problem: DispatchProblem, found: Neighbourhoods, steps: int, threads: int | None,
    progress: Callable[[BoundProgress], None] | None, *, band: float,
) -> Ascent:  # fmt: skip
    """The payments and values after so many steps: a part of them in one `band`, then the others with all levels."""
    scale, levels = avoidable_cost(problem), band < 1.0
    in_band = max(1, round(band * steps)) if band > 0.0 else 0
    _check_memory(problem, found, checked_threads(threads), levels=levels)

    def on_step(before: int) -> Callable[[int, float], None]:
        def tell(step: int, estimate: float) -> None:
            if progress is not None:
                progress(BoundProgress(before + step, steps, estimate))

        return tell

    ascent = Ascent(problem, found, checked_threads(threads), band=in_band > 0)
    if in_band > 0:
        ascent.climb(in_band, Schedule(scale, *(FIRST_BAND if levels else ONLY_BAND)), on_step(0))
        ascent = ascent.with_levels() if levels else ascent
    first_step = ALL_LEVELS[0] * min(1.0, steps / ALL_STEPS)
    ascent.climb(steps - in_band, Schedule(scale, first_step, *ALL_LEVELS[1:]), on_step(in_band))
    return ascent


def lower_bound(
    problem: DispatchProblem,
    *,
    neighbourhood: int = 9,
    steps: int = 300,
    threads: int | None = None,
    progress: Callable[[BoundProgress], None] | None = None,
) -> LowerBound:
    """A lower bound on the mean cost of an incident that holds for every policy, whatever the size of the problem.

    A policy sends exactly as many trucks as an incident needs, or all idle ones if they are fewer. One that may send
    fewer can be below.
    """
    if not 2 <= neighbourhood <= MOST_MEMBERS:
        raise InputError(f"expected neighbourhoods of 2 to {MOST_MEMBERS} trucks, got {neighbourhood}")
    if steps < 1:
        raise InputError(f"expected steps >= 1, got {steps}")
    began = time.perf_counter()
    found = find_neighbourhoods(problem, neighbourhood)
    band = BAND_PART if problem.num_trucks <= MOST_WITH_LEVELS else 1.0
    ascent = climbed(problem, found, steps, threads, progress, band=band if _fits_band(problem) else 0.0)
    least = max(certify(ascent), proven_by_cheapest(problem))
    lower, _ = problem.interval(least * problem.total_incidents_per_day, float("inf"))
    return LowerBound(
        lower=lower,
        neighbourhood=found.members.shape[1],
        num_neighbourhoods=len(found),
        steps=steps,
        seconds=time.perf_counter() - began,
    )


def _fits_band(problem: DispatchProblem) -> bool:
    """Whether incidents mostly find trucks enough, as they always do in a band."""
    return float(problem.levels.idle_distribution[int(problem.trucks_needed.max()) :].sum()) >= LIKELY


def _check_memory(problem: DispatchProblem, found: Neighbourhoods, threads: int, *, levels: bool) -> None:
    """Raise a SizeError if what is paid and done at every level would not fit in memory."""
    num_members, num_subsets = found.members.shape[1], len(found.subsets)
    low, high = level_window(problem, num_members) if levels else (0, 0)
    moves = min(threads, len(found)) * len(problem.levels.needed) << num_members
    at_level = PAYMENT_BYTES * len(found.columns.point) + HOME_BYTES * problem.num_points + MOVE_BYTES * moves
    options = len(found.options.cost)
    needed = (at_level * num_subsets + 4.0 * options) * (high - low + 1) + OPTION_BYTES * options
    needed += 2.0 * found.options.part.nbytes
    available = available_bytes()
    if needed > max(available, SMALL_BYTES):
        raise SizeError(
            f"{len(found)} neighbourhoods of {num_members} trucks take about {in_words(needed)} of memory "
            f"and {in_words(available)} are free: expected smaller neighbourhoods (--neighbourhood)"
        )
