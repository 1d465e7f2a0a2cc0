"""The progress of a solve: a bar that fills as the proven bounds on the late fraction, or what is minimised, close.

With relative gaps d = (upper - lower) / upper, the bar shows log(d_first / d) / log(d_first / tolerance), because each
step of policy iteration closes the gap by about the same factor.
"""

from math import log
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Display

from runcard.city.model import LATE, Objective
from runcard.cli.terminal import make_console
from runcard.cli.visible import visible
from runcard.mdp.progress import Progress
from runcard.simulate.engine import Progress as SimulationProgress


def make_display() -> Display:
    """A bar on standard error with words behind it; it shows nothing unless standard error is a terminal."""
    console = make_console(stderr=True)
    return Display(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[words]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


class LiveBar:
    """A display that is shown while it is entered."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def __enter__(self) -> Self:
        self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.stop()


class SimulationBar(LiveBar):
    """A bar that fills as a simulation becomes precise, or as its batches are done."""

    def __init__(self) -> None:
        super().__init__(make_display())
        self._task = self._display.add_task("getting ready", total=None, words="")

    def begin(self, words: str) -> None:
        """Start again for what these words say."""
        self._display.reset(self._task, total=None, description=visible(words), words="")

    def update(self, progress: SimulationProgress) -> None:
        """Show how far a simulation is."""
        words = f"late ± {100.0 * progress.precision:.2f} % of it"
        self._display.update(self._task, total=1.0, completed=progress.part, words=words)


class BoundBar(LiveBar):
    """A bar that closes with the bounds."""

    def __init__(self, objective: Objective = LATE) -> None:
        super().__init__(make_display())
        self._minimise = objective.minimise
        self._task = self._display.add_task("getting ready", total=None, words="")
        self._first_gap: float | None = None

    def begin(self, name: str) -> None:
        """Start again for the policy of that name."""
        self._first_gap = None
        self._display.reset(self._task, total=None, description=visible(name), words="")

    def update(self, progress: Progress) -> None:
        """Show how far the bounds have closed."""
        gap = relative_gap(progress)
        if self._first_gap is None:
            self._first_gap = gap
        self._display.update(
            self._task,
            total=1.0,
            completed=closed_part(self._first_gap, gap, progress.tolerance),
            words=self._bounds(max(0.0, progress.lower), progress.upper),
        )

    def _bounds(self, lower: float, upper: float) -> str:
        if self._minimise == "late":
            return f"late {100.0 * lower:.4f} to {100.0 * upper:.4f} %"
        return f"{self._minimise} {lower:.5f} to {upper:.5f}"


def relative_gap(progress: Progress) -> float:
    """The distance between the bounds, relative to the upper one."""
    return (progress.upper - progress.lower) / progress.upper if progress.upper > 0.0 else 0.0


def closed_part(first_gap: float, gap: float, tolerance: float) -> float:
    """The part of the way from the first gap to the tolerance that is done, on a logarithmic scale, from 0 to 1."""
    if gap <= tolerance or first_gap <= tolerance:
        return 1.0
    return min(1.0, max(0.0, log(first_gap / gap) / log(first_gap / tolerance)))
