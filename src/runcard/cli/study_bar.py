"""The progress of a study: a bar that fills with the work that is done, and the time that is left."""

from collections.abc import Sequence

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from runcard.cli.progress import LiveBar
from runcard.cli.terminal import make_console
from runcard.study.tasks import Task


class StudyBar(LiveBar):
    """A bar on standard error, by the weights of tasks; it shows nothing unless standard error is a terminal."""

    def __init__(self, tasks: Sequence[Task], num_done: int, weight_done: float) -> None:
        console = make_console(stderr=True)
        self.num_tasks, self.num_done = len(tasks), num_done
        display = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=32),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left"),
            # The speed of the last minutes, because tasks are of different kinds.
            TimeRemainingColumn(elapsed_when_finished=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            speed_estimate_period=120.0,
        )
        total = sum(task.weight for task in tasks)
        super().__init__(display)
        self._task = display.add_task("getting ready", total=total)
        self._display.update(self._task, completed=weight_done)

    def done(self, task: Task) -> None:
        """Count a task that is done."""
        self.num_done += 1
        where = f"{task.setting.trucks} trucks, side {task.setting.side}, load {task.setting.load:g}"
        self._display.update(self._task, advance=task.weight, description=f"{where:32}")
