"""What an exact solution would take in memory, asked before anything is allocated."""

import math
from collections.abc import Iterable

from runcard.errors import RuncardError, SizeError
from runcard.mdp.problem import DispatchProblem
from runcard.memory import SMALL_BYTES, available_bytes, in_words

BYTES_OF_VALUES = 200
"""Per state: the iterates of a cycle of sweeps, probabilities and arrivals, levels, weights, and the ends of rows."""

BYTES_OF_ENTRY = 10
"""Per state and listed team: its number and its rate."""


def count_states(trucks: Iterable[int]) -> int:
    """The number of states of stations with these trucks."""
    return math.prod(int(number) + 1 for number in trucks)


def bytes_of_values(num_states: int) -> float:
    """The memory that an exact solution cannot do without: some numbers for each state."""
    return float(num_states) * BYTES_OF_VALUES


def bytes_of_rows(problem: DispatchProblem) -> float:
    """The memory that the rows of a policy take if they are all kept, roughly and not too low."""
    radix = problem.trucks + 1
    entries = 0.0
    for k in set(problem.trucks_needed.tolist()):
        # The share of states in which a team is idle is the product of (C_i + 1 - a_i) / (C_i + 1) over its stations.
        teams = problem.teams.counts[problem.teams.of_size(k)]
        idle = ((radix - teams) / radix).prod(axis=1).sum()
        entries += min(int((problem.trucks_needed == k).sum()), float(idle) + 1.0)
    return float(problem.num_states) * BYTES_OF_ENTRY * entries


def check_states(trucks: Iterable[int], *, kind: str = "", device: str = "auto") -> None:
    """Raise a SizeError if an exact solution for stations with these trucks, of some kind, would not fit in memory.

    What does not fit in the memory of the processor may fit on a GPU, unless the device is "cpu".
    """
    by_station = [int(number) for number in trucks]
    num_states = count_states(by_station)
    needed = bytes_of_values(num_states)
    if needed <= SMALL_BYTES:
        return
    available = available_bytes()
    if needed > available and (device == "cpu" or not _fits_on_gpu(num_states)):
        raise SizeError(
            f"{sum(by_station)} {kind or 'truck'}s at {len(by_station)} stations make {num_states:,} states; to solve "
            f"them exactly takes at least {in_words(needed)} of memory and {in_words(available)} are free: expected "
            "fewer trucks, a machine with more memory, or a policy that decides online: one-step-mean-field, or "
            "one-step-neighbourhoods where trucks are often busy, which solve, decide and simulate take for "
            "departments of any size"
            + (f" (solve --policy {kind}=one-step-mean-field,OTHER=optimal; compare --kind OTHER)" if kind else "")
        )


def _fits_on_gpu(num_states: int) -> bool:
    """Whether there is a GPU with memory for so many states, and the processor has some for their values."""
    from runcard.mdp.gpu.machine import gpu

    try:
        machine = gpu()
        from runcard.mdp.gpu.backend import mixed_steps  # once it is known that there is one

        return mixed_steps(num_states, machine) > 0 and 16.0 * num_states <= available_bytes()
    except RuncardError:
        return False
