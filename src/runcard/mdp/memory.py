"""What an exact solution would take in memory, asked before anything is allocated."""

import math
import os

from runcard.errors import SizeError
from runcard.mdp.problem import DispatchProblem

BYTES_OF_VALUES = 96
"""Per state: the iterates of a cycle of sweeps, probabilities, levels and weights."""

BYTES_OF_ENTRY = 10
"""Per state and listed team: its number and its rate."""


def needed_bytes(problem: DispatchProblem) -> float:
    """The memory that solving and evaluating a policy of this problem exactly takes, roughly and not too low."""
    sizes = problem.team_sizes
    entries = 0.0
    for k in set(problem.trucks_needed.tolist()):
        # A team of k single-truck stations is idle in 2^-k of the states; stations with more trucks are idle longer.
        idle = min(1.0, 2.0**-k * math.prod([2.0 * c / (c + 1.0) for c in sorted(problem.trucks, reverse=True)[:k]]))
        entries += min(int((problem.trucks_needed == k).sum()), float((sizes == k).sum()) * idle)
    return float(problem.num_states) * (BYTES_OF_VALUES + BYTES_OF_ENTRY * entries)


def available_bytes() -> float:
    """The memory that this process can still have, as the system says, within the limit of its container."""
    pages = os.sysconf("SC_AVPHYS_PAGES") if hasattr(os, "sysconf") else -1
    found = float(pages) * os.sysconf("SC_PAGE_SIZE") if pages > 0 else math.inf
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        found = float(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            found = min(found, float(file.read()))
    except (OSError, ValueError):
        pass
    return found


def check_memory(problem: DispatchProblem) -> None:
    """Raise a SizeError if an exact solution would not fit in memory."""
    needed, available = needed_bytes(problem), available_bytes()
    if needed > available:
        raise SizeError(
            f"{problem.num_trucks} trucks at {problem.num_stations} stations make {problem.num_states:,} states: solving "
            f"them exactly needs about {_in_words(needed)}, and {_in_words(available)} are free; "
            "fewer trucks, or a machine with more memory"
        )


def _in_words(size: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    power = min(len(units) - 1, int(math.log(max(size, 1.0), 1024)))
    return f"{size / 1024**power:.3g} {units[power]}"
