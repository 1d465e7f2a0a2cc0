"""How a policy is to be solved: one value that travels from the command line to the solver."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from runcard.errors import InputError
from runcard.mdp.backend import checked_device
from runcard.mdp.progress import Progress
from runcard.threads import checked_threads

MOST_BUSY_TIMES: Final = 1e6
"""Prices do not change any more at a hundredth of this horizon; far above, they would drown in rounding."""


@dataclass(frozen=True, kw_only=True)
class SolveOptions:
    """How a policy is solved; a policy takes what it needs of it."""

    tolerance: float = 1e-9
    """How close the bounds of `optimal` must come, relatively."""
    horizon_busy_times: float | None = None
    """For `one-step-queueing`: how long after a decision the number of busy trucks is not yet the usual one, in busy
    times 1/μ; None lets it follow from how often a truck is asked."""
    threads: int | None = None
    """Threads to use; None for one on each processor."""
    device: str = "auto"
    """Where every state is solved: "cpu", "gpu", or "auto" for a GPU where there is one and it is worth it."""
    progress: Callable[[Progress], None] | None = None
    """Told each time the bounds of a long solve close."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0.0 < self.tolerance < 1.0:
            raise InputError(f"expected a tolerance between 0 and 1, got {self.tolerance!r}")
        checked_threads(self.threads)
        checked_device(self.device)
        check_busy_times("one-step-queueing", self.horizon_busy_times)


def check_busy_times(name: str, given: Any) -> None:
    """Raise an InputError if something is no horizon in busy times; None is one."""
    if given is None:
        return
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0.0 < given <= MOST_BUSY_TIMES:
        raise InputError(f"{name}: expected a horizon above 0 and up to {MOST_BUSY_TIMES:g} busy times, got {given!r}")


DEFAULTS = SolveOptions()
