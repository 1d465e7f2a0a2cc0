"""Runs tasks on the workers of joblib on this machine, or on a Dask cluster, and adds their rows as they come.

A task that is done is never done again. If a cluster loses a worker, its scheduler gives the task to another one. If
this machine loses one, the study stops, and goes on when it is started again. On machines of one kind, what a task
computes does not depend on who does it. Tasks that measure seconds run last, one after another, in this process. A task
that cannot be done does not stop the others.
"""

import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from typing import Final

from runcard.assess.workers import DASK, done_on_cluster, workers_stopped
from runcard.errors import RuncardError
from runcard.plan.words import counted
from runcard.study.store import StudyFolder
from runcard.study.tasks import Row, Task, run_task

LOKY: Final = "loky"
SETTLE_SECONDS: Final = 0.3


def run_tasks(
    tasks: Sequence[Task],
    folder: StudyFolder,
    *,
    jobs: int,
    backend: str,
    address: str | None,
    done: Callable[[Task], None],
) -> None:
    """Run tasks; `done` is called with each task once its rows are written."""
    # The longest first, so that no worker is left with one at the end.
    shared = sorted((task for task in tasks if not task.timed), key=lambda task: -task.weight)
    failed: list[str] = []
    with closing(_run_shared(shared, backend, jobs, address)) as found:
        for task, rows in chain(found if shared else (), map(_with_task, (one for one in tasks if one.timed))):
            if isinstance(rows, RuncardError):
                failed.append(f"{task.key}: {rows}")
            else:
                folder.add(task, rows)
                done(task)
    if failed:
        raise RuncardError(f"{counted(len(failed), 'task')} could not be done: {'; '.join(failed)}")


def _with_task(task: Task) -> tuple[Task, list[Row] | RuncardError]:
    """A task and its rows, or what went wrong with it; runs on a worker."""
    try:
        return task, run_task(task)
    except RuncardError as error:
        return task, error


def _run_shared(
    tasks: Sequence[Task], backend: str, jobs: int, address: str | None
) -> Generator[tuple[Task, list[Row] | RuncardError]]:
    """Each task with its rows, in any order."""
    if backend == DASK:
        yield from (found for _, found in done_on_cluster(address, _with_task, tasks))
        return
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend=LOKY, n_jobs=jobs), _quietly():
        calls = [delayed(_with_task)(task) for task in tasks]
        try:
            yield from Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="4*n_jobs")(calls)
        except Exception as error:
            raise workers_stopped(error) from error


@contextmanager
def _quietly() -> Iterator[None]:
    """Hide what joblib and loky say about the tasks that were given up if the work is interrupted."""
    hook = threading.excepthook

    def of_others(happened: threading.ExceptHookArgs) -> None:
        if happened.thread is None or not happened.thread.name.startswith("ExecutorManagerThread"):
            hook(happened)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        threading.excepthook = of_others
        try:
            yield
        except BaseException:
            time.sleep(SETTLE_SECONDS)  # that thread ends a moment later
            raise
        finally:
            threading.excepthook = hook
