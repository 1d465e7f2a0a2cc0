"""Runs the experiments of a study, and writes their Parquet files and the report."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from runcard.errors import InputError, MissingExtraError
from runcard.study.engine import check_engine, run_tasks
from runcard.study.experiment import Experiment, experiment_named, experiments
from runcard.study.findings import FINDINGS
from runcard.study.report import write_report
from runcard.study.store import StudyFolder, connect
from runcard.study.tables import Result
from runcard.study.tasks import Task, tasks_of

FINDING = "finding-"


def chosen_work(names: Sequence[str], backend: str) -> tuple[list[Experiment], list[int]]:
    """The experiments and the findings of these names; without names, every experiment."""
    numbers = [number for name in names for number in _finding_numbers(name)]
    chosen = [experiment_named(name) for name in names if not _finding_numbers(name)]
    if numbers and backend != "loky":
        raise InputError(f"findings run on this machine: expected no --backend for them, got {backend!r}")
    return chosen if names else list(experiments()), numbers


def _finding_numbers(name: str) -> list[int]:
    """The findings that a name stands for; none if it is the name of an experiment."""
    numbers = [finding.number for finding in FINDINGS]
    if name == "findings":
        return numbers
    if not name.startswith(FINDING):
        return []
    number = name.removeprefix(FINDING)
    if not number.isdecimal() or int(number) not in numbers:
        raise InputError(f"expected a finding from {FINDING}1 to {FINDING}{max(numbers)}, got {name!r}")
    return [int(number)]


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyRun:
    """Experiments to run: where, with how many graphs and workers, and where the workers are."""

    experiments: Sequence[Experiment]
    output: Path
    num_graphs: int | None
    jobs: int
    seed: int
    backend: str
    address: str | None

    def prepare(self) -> "OpenStudy":
        """The tasks of these experiments, and those that are done; an error before any work if something is missing."""
        check_engine(self.backend, self.address)
        check_extras()
        folder = StudyFolder(self.output, self.seed)
        folder.prepare(version("runcard"))
        tasks = {one.name: tasks_of(one, num_graphs=self.num_graphs, seed=self.seed) for one in self.experiments}
        every = list(dict.fromkeys(task for one in tasks.values() for task in one))
        return OpenStudy(self, folder, tasks, every, [task for task in every if folder.is_done(task)])


@dataclass(frozen=True, eq=False)
class OpenStudy:
    """A study that has begun."""

    run: StudyRun
    folder: StudyFolder
    tasks_of: dict[str, list[Task]]
    tasks: list[Task]
    """Of all experiments, each once."""
    done_before: list[Task]

    def finish(self, done: Callable[[Task], None]) -> tuple[Path, list[Result], float]:
        """The report, the results of the experiments, and the seconds; `done` is told of each task."""
        began = time.perf_counter()
        run, known = self.run, set(self.done_before)
        rest = [task for task in self.tasks if task not in known]
        run_tasks(rest, self.folder, jobs=run.jobs, backend=run.backend, address=run.address, done=done)
        for one in run.experiments:
            if self.tasks_of[one.name]:
                self.folder.finish(one, self.tasks_of[one.name])
        seconds = time.perf_counter() - began
        # The report has all that the folder has; a map has no rows, and is found again if it is asked for.
        results = [
            Result(experiment=one, seed=run.seed, rows=self.folder.rows(one) if self.folder.has(one) else {})
            for one in experiments()
            if self.folder.has(one) or (one.kind == "map" and one in run.experiments)
        ]
        report = write_report(run.output / "report.html", results, seconds=seconds)
        return report, [result for result in results if result.experiment in run.experiments], seconds


def check_extras() -> None:
    """Raise a MissingExtraError if something that a study needs is not installed."""
    connect().close()
    if find_spec("matplotlib") is None:
        raise MissingExtraError("runcard study", "matplotlib", "report")
