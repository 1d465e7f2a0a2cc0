"""Runs tasks on the workers of joblib, on this machine or on a Dask cluster, and adds their rows as they come.

A task that is done is never done again. Where a worker is lost, its engine gives the task to another one; what a task
computes does not depend on who does it. Tasks that measure seconds run last, one after another, in this process.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from runcard.errors import InputError, MissingExtraError, RuncardError
from runcard.study.store import StudyFolder
from runcard.study.tasks import LateRow, SecondsRow, Task, run_task

BACKENDS: Final = ("loky", "dask")
CONNECT_SECONDS: Final = 10


def check_engine(backend: str, address: str | None) -> None:
    """Raise an InputError if there is no such engine."""
    if backend not in BACKENDS:
        raise InputError(f"expected a backend, one of {', '.join(BACKENDS)}; got {backend!r}")
    if backend == "loky" and address is not None:
        raise InputError(f"expected an address only with --backend dask, got {address!r} with {backend}")
    if backend == "dask" and address is None:
        raise InputError("expected the --address of a Dask scheduler, such as tcp://10.0.0.1:8786, with --backend dask")


def run_tasks(
    tasks: Sequence[Task],
    folder: StudyFolder,
    *,
    jobs: int,
    backend: str,
    address: str | None,
    done: Callable[[Task], None],
) -> None:
    """Run the tasks that are not done yet; `done` is told of each one that is, when its rows are written."""
    open_tasks = []
    for task in tasks:
        if folder.is_done(task):
            done(task)
        else:
            open_tasks.append(task)
    shared = [task for task in open_tasks if not task.timed]
    # The longest first, so that no worker is left with one at the end.
    shared.sort(key=lambda task: -task.weight)
    with _engine(backend, jobs, address) as run:
        for task, rows in run(shared):
            folder.add(task, rows)
            done(task)
    for task in open_tasks:
        if task.timed:
            folder.add(task, run_task(task))
            done(task)


Rows = list[LateRow] | list[SecondsRow]


def _with_task(task: Task) -> tuple[Task, Rows]:
    """A task and its rows; runs on a worker."""
    return task, run_task(task)


@contextmanager
def _engine(
    backend: str, jobs: int, address: str | None
) -> Iterator[Callable[[Sequence[Task]], Iterator[tuple[Task, Rows]]]]:
    """A function that runs tasks and yields each with its rows, in any order."""
    from joblib import Parallel, delayed, parallel_config

    def run(tasks: Sequence[Task]) -> Iterator[tuple[Task, Rows]]:
        if not tasks:
            return
        calls = [delayed(_with_task)(task) for task in tasks]
        yield from Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="all")(calls)

    check_engine(backend, address)
    if backend == "loky":
        with parallel_config(backend="loky", n_jobs=jobs):
            yield run
        return
    with _client(address), parallel_config(backend="dask"):
        yield run


@contextmanager
def _client(address: str | None) -> Iterator[Any]:
    """A connection to the scheduler of a Dask cluster."""
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("--backend dask", "distributed", "cluster") from error
    try:
        make_client: Any = Client  # not typed
        client = make_client(address, timeout=CONNECT_SECONDS)
    except ValueError as error:
        raise InputError(
            f"expected the address of a Dask scheduler, such as tcp://10.0.0.1:8786, got {address!r}: {error}"
        ) from error
    except OSError as error:
        raise RuncardError(f"no Dask scheduler answers at {address}") from error
    try:
        yield client
    finally:
        client.close()
