"""Runs the experiments of a study, and writes their Parquet files and the report."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from runcard.assess.workers import check_backend
from runcard.errors import InputError, MissingExtraError
from runcard.study.engine import LOKY, run_tasks
from runcard.study.experiment import Experiment, experiment_named, experiments
from runcard.study.findings import FINDINGS
from runcard.study.report import write_study_report
from runcard.study.store import StudyFolder
from runcard.study.tables import ExperimentResult
from runcard.study.tasks import Task, tasks_of

FINDING = "finding-"
Watch = Callable[[list[Task], list[Task]], AbstractContextManager[Callable[[Task], None]]]
"""Given all tasks and those that are done: what is told of each further task while the study runs."""


def chosen_work(names: Sequence[str], backend: str) -> tuple[list[Experiment], list[int]]:
    """The experiments and the findings of these names; without names, every experiment."""
    findings = {"findings": [*FINDINGS]} | {f"{FINDING}{number}": [number] for number in FINDINGS}
    for name in names:
        if name.startswith(FINDING) and name not in findings:
            raise InputError(f"expected a finding from {FINDING}1 to {FINDING}{len(FINDINGS)}, got {name!r}")
    numbers = [number for name in names for number in findings.get(name, ())]
    chosen = [experiment_named(name) for name in names if name not in findings]
    if numbers and backend != LOKY:
        raise InputError(f"findings run on this machine: expected no --backend for them, got {backend!r}")
    return chosen if names else list(experiments()), numbers


def run_study(
    chosen: Sequence[Experiment], output: Path, *, num_graphs: int | None, jobs: int, seed: int, backend: str,
    address: str | None, watch: Watch,
) -> tuple[Path, list[ExperimentResult], float]:  # fmt: skip
    """Run experiments: the report, their results, and the seconds; an error before any work if something is missing."""
    check_backend(backend, address, here=LOKY)
    if find_spec("matplotlib") is None:
        raise MissingExtraError("runcard study", "matplotlib", "report")
    folder = StudyFolder(output, seed)
    folder.prepare(version("runcard"))
    tasks = {one: tasks_of(one, num_graphs=num_graphs, seed=seed) for one in chosen}
    every = list(dict.fromkeys(task for own in tasks.values() for task in own))
    is_done = {task: folder.is_done(task) for task in every}
    with watch(every, [task for task in every if is_done[task]]) as told:
        began, rest = time.perf_counter(), [task for task in every if not is_done[task]]
        run_tasks(rest, folder, jobs=jobs, backend=backend, address=address, done=told)
        for one, own in tasks.items():
            if own:
                folder.finish(one, own)
        seconds = time.perf_counter() - began
        # The report has all that the folder has; a map has no rows, and is found again if it is asked for.
        results = [
            ExperimentResult(experiment=one, seed=seed, rows=folder.rows(one) if folder.has(one) else {})
            for one in experiments()
            if folder.has(one) or (one.kind == "map" and one in chosen)
        ]
        report = write_study_report(output / "report.html", results, seconds=seconds)
    return report, [result for result in results if result.experiment in chosen], seconds
