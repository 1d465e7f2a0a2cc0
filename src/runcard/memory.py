"""How much memory there is, and sizes in words; asked before anything large is allocated."""

import contextlib
import math
import os
from pathlib import Path
from typing import Final

SMALL_BYTES: Final = 64 * 2**20
"""What every machine has: asking for the free memory takes longer than solving a small problem."""


def available_bytes() -> float:
    """The memory that this process can still have, as the system says, within the limit of its container."""
    found = math.inf
    try:
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        found = float(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        if hasattr(os, "sysconf"):
            found = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):
        found = min(found, float(Path("/sys/fs/cgroup/memory.max").read_text()))
    return found


def in_words(size: float, *, base: int = 1024) -> str:
    """A size in bytes, such as "3.2 GiB", or "3.2 GB" with base 1000."""
    letters, end = ("KMGTPE", "iB") if base == 1024 else ("kMGTPE", "B")
    power = 0
    while size >= base and power < len(letters):
        size, power = size / base, power + 1
    return f"{size:.3g} {letters[power - 1] + end if power else 'B'}"
