"""What long work is doing, and how far it is: a bar for a person, a line now and then where nobody looks.

The bar of a solve fills as the proven bounds on the late fraction, or what is minimised, close. With relative gaps
d = (upper - lower) / upper it shows log(d_first / d) / log(d_first / tolerance), because each step of policy iteration
closes the gap by about the same factor.

All of it goes to standard error. If that is no terminal, a plain line is printed every `EVERY_SECONDS`.
"""

import sys
import time
from collections.abc import Sequence
from math import isfinite, log
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, Self

from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Display

from runcard.assess.steps import Steps
from runcard.city.model import LATE, Objective
from runcard.cli.terminal import make_console
from runcard.table import visible

if TYPE_CHECKING:
    from runcard.mdp.bound import BoundProgress
    from runcard.mdp.progress import Progress
    from runcard.simulate.engine import SimulationProgress
    from runcard.study.tasks import Task

EVERY_SECONDS: Final = 10.0


class ShownSteps(Steps):
    """The steps of some work, one at a time, while it is entered: a bar, or lines that are printed."""

    def __init__(self, objective: Objective = LATE, *, time_left: bool = False) -> None:
        console = make_console(stderr=True)
        columns: list[ProgressColumn] = [
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[words]}", markup=False),
            TimeElapsedColumn(),
        ]
        if time_left:
            columns += [TextColumn("left"), TimeRemainingColumn(elapsed_when_finished=False)]
        # The time left is told by the speed of the last minutes, because tasks are of different kinds.
        options: dict[str, Any] = {"speed_estimate_period": 120.0, "transient": True}
        self._display = Display(*columns, console=console, disable=not console.is_terminal, **options)
        self._task = self._display.add_task("reading", total=None, words="")
        self._minimise = objective.minimise
        self._first_gap: float | None = None
        self._began, self._end = time.monotonic(), Event()
        self._lines = None if console.is_terminal else Thread(target=self._print_lines, daemon=True)

    def __enter__(self) -> Self:
        self._display.start()
        if self._lines is not None:
            self._lines.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._display.stop()
        self._end.set()
        if self._lines is not None:
            self._lines.join()

    def begin(self, words: str) -> None:
        """Show a new step."""
        self._first_gap = None
        self._display.reset(self._task, total=None, description=visible(words), words="")

    def part(self, part: float, words: str = "") -> None:
        """Show how much of the step is done, from 0 to 1."""
        shown = f"{100.0 * part:3.0f} %" + (f"  {words}" if words else "")
        self._display.update(self._task, total=1.0, completed=part, words=shown)

    def bounds(self, progress: "Progress") -> None:
        """Show how far the bounds of a solve have closed."""
        gap = (progress.upper - progress.lower) / progress.upper if progress.upper > 0.0 else 0.0
        if self._first_gap is None:
            self._first_gap = gap
        lower, upper = max(0.0, progress.lower), progress.upper
        words = f"{self._minimise} {lower:.5f} to {upper:.5f}"
        if self._minimise == "late":
            words = f"late {100.0 * lower:.4f} to {100.0 * upper:.4f} %"
        self.part(closed_part(self._first_gap, gap, progress.tolerance), words)

    def simulated(self, progress: "SimulationProgress") -> None:
        """Show how far a simulation is."""
        known = f"late ± {100.0 * progress.precision:.2f} % of it" if isfinite(progress.precision) else ""
        self.part(min(1.0, progress.part), known)

    def bounded(self, progress: "BoundProgress") -> None:
        """Show how far a lower bound on what any policy can reach is."""
        self.part(progress.step / progress.steps, f"no policy below about {max(0.0, 100.0 * progress.estimate):.3f} %")

    @property
    def line(self) -> str:
        """The step and how far it is, in one line."""
        task = self._display.tasks[0]
        words = task.fields["words"].strip().replace("%  ", "%, ", 1)
        return f"{task.description.strip()}: {words}" if words else task.description

    def _print_lines(self) -> None:
        """Print a line now and then, until the work ends; runs in a thread of its own."""
        while not self._end.wait(EVERY_SECONDS):
            try:
                print(f"runcard: {self.line}, {time.monotonic() - self._began:.0f} s", file=sys.stderr, flush=True)
            except (OSError, ValueError):  # nobody reads it any more
                return


class StudyBar(ShownSteps):
    """The progress of a study, by the weights of the tasks that are done, and the time left."""

    def __init__(self, tasks: "Sequence[Task]", done_before: "Sequence[Task]") -> None:
        super().__init__(time_left=True)
        self.num_tasks, self.num_done = len(tasks), 0
        self._total, self._weight = sum(task.weight for task in tasks), 0.0
        self._count("the first task", done_before)

    def done(self, task: "Task") -> None:
        """Count a task that is done."""
        where = f"{task.setting.trucks} trucks, side {task.setting.side}, load {task.setting.load:g}"
        self._count(f"{where:27}", [task])

    def _count(self, step: str, tasks: "Sequence[Task]") -> None:
        self.num_done += len(tasks)
        self._weight += sum(task.weight for task in tasks)
        self._display.update(self._task, description=step)
        self.part(self._weight / self._total if self._total else 1.0, f"{self.num_done} of {self.num_tasks} tasks")


def closed_part(first_gap: float, gap: float, tolerance: float) -> float:
    """The part of the way from the first gap to the tolerance that is done, on a logarithmic scale, from 0 to 1."""
    if gap <= tolerance or first_gap <= tolerance:
        return 1.0
    return min(1.0, max(0.0, log(first_gap / gap) / log(first_gap / tolerance)))
