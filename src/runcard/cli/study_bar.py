"""The progress of a study: a bar that fills with the work that is done, and the time that is left."""

from collections.abc import Sequence

from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from runcard.cli.progress import Live
from runcard.study.tasks import Task


class StudyBar(Live):
    """A bar by the weights of tasks."""

    def __init__(self, tasks: Sequence[Task], num_done: int, weight_done: float) -> None:
        self.num_tasks, self.num_done = len(tasks), num_done
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=32),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left"),
            # The speed of the last minutes, because tasks are of different kinds.
            TimeRemainingColumn(elapsed_when_finished=False),
            speed_estimate_period=120.0,
        )
        total = sum(task.weight for task in tasks)
        self._task = self._display.add_task("the first task", total=total)
        self._display.update(self._task, completed=weight_done)

    def done(self, task: Task) -> None:
        """Count a task that is done."""
        self.num_done += 1
        where = f"{task.setting.trucks} trucks, side {task.setting.side}, load {task.setting.load:g}"
        self._display.update(self._task, advance=task.weight, description=f"{where:32}")

    @property
    def line(self) -> str:
        """The tasks that are done, and the part of the work that they are."""
        return f"{self.num_done} of {self.num_tasks} tasks, {self._display.tasks[0].percentage:.0f} %"
