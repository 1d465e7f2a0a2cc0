"""Studies on several workers: the same rows, whoever computes them and whatever happens to them."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.children import default_signals
from tests.clusters import cluster, wait_until

from runcard.errors import InputError, RuncardError
from runcard.study.engine import run_tasks
from runcard.study.experiment import experiment_named
from runcard.study.run import run_study
from runcard.study.store import StudyFolder
from runcard.study.tasks import Task, run_task, tasks_of

pytestmark = pytest.mark.slow

EXPERIMENT = experiment_named("table2")
NUM_GRAPHS = 12
"""Two tasks for each setting, the last of them small."""
TASKS = tasks_of(EXPERIMENT, num_graphs=NUM_GRAPHS, seed=7)
RUN = "import sys; from runcard.cli import main; sys.exit(main())"
STUDY = ("study", "table2", "--graphs", str(NUM_GRAPHS), "--seed", "7")


def studied(path: Path, *, jobs: int = 1, backend: str = "loky", address: str | None = None) -> bytes:
    """The Parquet file of Table 2 with a few graphs, run in a folder."""
    folder = StudyFolder(path, 7)
    folder.prepare("1.0")
    run_tasks(TASKS, folder, jobs=jobs, backend=backend, address=address, done=lambda _: None)
    return folder.finish(EXPERIMENT, TASKS).read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The Parquet file of one worker that nothing happened to."""
    return studied(tmp_path_factory.mktemp("undisturbed") / "study")


def test_two_workers_give_the_same_bytes(tmp_path: Path, undisturbed: bytes) -> None:
    """The number of workers does not show in the results."""
    assert studied(tmp_path / "study", jobs=2) == undisturbed


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    """A second run finds every task done, and leaves its files alone."""
    seen: list[tuple[list[Task], list[Task]]] = []
    done: list[Task] = []

    def watch(tasks: list[Task], done_before: list[Task]) -> nullcontext[Callable[[Task], None]]:
        seen.append((tasks, done_before))
        return nullcontext(done.append)

    def study_once() -> dict[str, int]:
        run_study(
            [EXPERIMENT], tmp_path / "study", num_graphs=NUM_GRAPHS, jobs=1, seed=7, backend="loky", address=None,
            watch=watch,
        )  # fmt: skip
        return {part.name: part.stat().st_mtime_ns for part in (tmp_path / "study" / "parts").iterdir()}

    assert study_once() == study_once()
    assert seen == [(TASKS, []), (TASKS, TASKS)]
    assert len(done) == len(TASKS)


def test_a_killed_study_goes_on(tmp_path: Path, undisturbed: bytes) -> None:
    """Killed without warning, a study keeps what was done, and another run ends with the same bytes."""
    path = tmp_path / "study"
    command = [sys.executable, "-c", RUN, *STUDY, "--jobs", "2", "-o", str(path)]
    with default_signals():
        process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    parts = path / "parts"
    wait_until(lambda: parts.is_dir() and len(list(parts.glob("*.parquet"))) >= 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = {part.name: part.stat().st_mtime_ns for part in parts.glob("[!.]*.parquet")}
    assert 2 <= len(kept) < len(TASKS)
    alone = ["1" if word == "2" else word for word in command]  # fewer processes to start, and the same bytes
    again = subprocess.run(alone, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert kept.items() <= {part.name: part.stat().st_mtime_ns for part in parts.iterdir()}.items()
    assert (path / "table2.parquet").read_bytes() == undisturbed


def test_an_interrupted_study_says_how_far_it_was(tmp_path: Path) -> None:
    """Ctrl-C ends a study with exit code 130 and the number of tasks that are done."""
    path = tmp_path / "study"
    command = [sys.executable, "-c", RUN, *STUDY, "--jobs", "1", "-o", str(path)]
    with default_signals():
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (path / "parts").is_dir() and bool(list((path / "parts").glob("*.parquet"))))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "tasks are done; the same command goes on from there." in errors
    assert "Traceback" not in errors


def test_a_cluster_that_loses_a_worker_gives_the_same_bytes(tmp_path: Path, undisturbed: bytes) -> None:
    """On a real scheduler with two workers, one of which is killed midway, the study ends with identical results.

    A cluster whose workers have another runcard is not used, and the message names both versions.
    """
    path = tmp_path / "study"
    with cluster(tmp_path) as (address, workers):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("runcard.assess.workers.version", lambda _: "0.0.0")
            with pytest.raises(RuncardError, match=r"the worker at .* has runcard .*: expected 0\.0\.0, as here"):
                studied(tmp_path / "other", backend="dask", address=address)
        folder = StudyFolder(path, 7)
        folder.prepare("1.0")
        done: list[Task] = []

        def one_more(task: Task) -> None:
            done.append(task)
            if len(done) == 3:
                workers[0].kill()

        run_tasks(TASKS, folder, jobs=2, backend="dask", address=address, done=one_more)
        assert workers[0].wait() != 0
        assert len(done) == len(TASKS) > 6
    assert folder.finish(EXPERIMENT, TASKS).read_bytes() == undisturbed


def test_a_task_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be done is done, and the error names the task that could not."""
    folder = StudyFolder(tmp_path / "study", 7)
    folder.prepare("1.0")
    bad = TASKS[3]

    def fails_once(task: Task) -> object:
        if task == bad:
            raise RuncardError("it is too dark")
        return run_task(task)

    monkeypatch.setattr("runcard.study.engine.run_task", fails_once)
    with pytest.raises(RuncardError, match=f"1 task could not be done: {re.escape(bad.key)}: it is too dark"):
        run_tasks(TASKS, folder, jobs=1, backend="loky", address=None, done=lambda _: None)
    assert [folder.is_done(task) for task in TASKS].count(False) == 1


def test_wrong_engines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that is none, or where nobody listens, has its message, within the time that is allowed.

    Backends and addresses that do not go together are tried on the command line.
    """
    monkeypatch.setattr("runcard.assess.workers.CONNECT_SECONDS", 1)
    with pytest.raises(InputError, match="expected the address of a Dask scheduler"):
        studied(tmp_path / "study", backend="dask", address="nonsense://")
    with pytest.raises(RuncardError, match="no Dask scheduler answers at"):
        studied(tmp_path / "study", backend="dask", address="tcp://127.0.0.1:9")
