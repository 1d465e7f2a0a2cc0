"""Runs tasks on the workers of joblib, on this machine or on a Dask cluster, and adds their rows as they come.

A task that is done is never done again. If a cluster loses a worker, its scheduler gives the task to another one. If
this machine loses one, the study stops, and goes on when it is started again. On machines of one kind, what a task
computes does not depend on who does it. Tasks that measure seconds run last, one after another, in this process. A task
that cannot be done does not stop the others.
"""

import importlib.metadata
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from importlib.metadata import version
from itertools import chain
from typing import Any, Final

from runcard.errors import InputError, MissingExtraError, RuncardError
from runcard.plan.words import counted, first_line
from runcard.study.store import StudyFolder
from runcard.study.tasks import Row, Task, run_task

BACKENDS: Final = ("loky", "dask")
CONNECT_SECONDS: Final = 10
SETTLE_SECONDS: Final = 0.3
WORKER_SECONDS: Final = 60
"""How long a cluster may take until it has a worker."""


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
    from joblib import Parallel, delayed, parallel_config

    check_engine(backend, address)
    with ExitStack() as engine:
        if backend == "loky":
            engine.enter_context(parallel_config(backend="loky", n_jobs=jobs))
            engine.enter_context(_quietly())
        else:
            _check_workers(engine.enter_context(closing(_client(address))))
            engine.enter_context(parallel_config(backend="dask", wait_for_workers_timeout=WORKER_SECONDS))
        calls = [delayed(_with_task)(task) for task in tasks]
        found = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="4*n_jobs")(calls)
        try:
            yield from found
        except Exception as error:
            # Both engines have many errors for this, some of several lines, and none in common.
            raise RuncardError(f"the workers stopped: {type(error).__name__}: {first_line(error)}") from error


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


def _check_workers(client: Any) -> None:
    """Raise an error if a worker of a cluster has no runcard, or another version of it."""
    wanted = version("runcard")
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError as error:
        raise RuncardError(f"the cluster had no worker within {WORKER_SECONDS} s: expected one at least") from error
    try:
        found = client.run(importlib.metadata.version, "runcard")
    except Exception as error:
        raise RuncardError(f"a worker of the cluster has no runcard: {first_line(error)}") from error
    for address, other in found.items():
        if other != wanted:
            raise RuncardError(f"the worker at {address} has runcard {other}: expected {wanted}, as here")


def _client(address: str | None) -> Any:
    """A connection to the scheduler of a Dask cluster."""
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("--backend dask", "distributed", "cluster") from error
    try:
        make_client: Any = Client  # not typed
        return make_client(address, timeout=CONNECT_SECONDS)
    except ValueError as error:
        raise InputError(
            f"expected the address of a Dask scheduler, such as tcp://10.0.0.1:8786, got {address!r}: {error}"
        ) from error
    except OSError as error:
        raise RuncardError(f"no Dask scheduler answers at {address}") from error
