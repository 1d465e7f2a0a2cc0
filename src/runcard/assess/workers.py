"""Where the tasks of an assessment run: one after another here, or on the workers of a Dask cluster.

What a task finds does not depend on who does it, nor on how many threads it has, and results come back in the order of
the tasks. If a cluster loses a worker, its scheduler gives the task to another one. A task of a worker has one thread,
as the worker may have neighbours.
"""

import importlib.metadata
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final, TypeVar

from runcard.errors import InputError, MissingExtraError, RuncardError
from runcard.plan.words import counted, first_line

Item = TypeVar("Item")
Result = TypeVar("Result")

THREADS: Final = "threads"
DASK: Final = "dask"
CONNECT_SECONDS: Final = 10
WORKER_SECONDS: Final = 60
"""How long a cluster may take until it has a worker."""


def check_backend(backend: str, address: str | None, *, here: str = THREADS) -> None:
    """Raise an InputError if there is no such backend; `here` is that of this machine."""
    if backend not in (here, DASK):
        raise InputError(f"expected a backend, one of {here}, {DASK}; got {backend!r}")
    if backend == here and address is not None:
        raise InputError(f"expected an address only with --backend {DASK}, got {address!r} with {backend}")
    if backend == DASK and address is None:
        raise InputError(
            f"expected the --address of a Dask scheduler, such as tcp://10.0.0.1:8786, with --backend {DASK}"
        )


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Who does the tasks."""

    backend: str = THREADS
    address: str | None = None

    def __post_init__(self) -> None:
        check_backend(self.backend, self.address)

    @property
    def here(self) -> bool:
        """Whether tasks are done by this process, which can say how far each is."""
        return self.backend == THREADS

    def each(
        self, work: Callable[[Item], Result], items: Sequence[Item], begin: Callable[[int], None] = lambda _: None
    ) -> list[Result]:
        """The results of `work` on every item, in order; the work, items and results must pickle.

        `begin` is told the number of each item that is begun here, or that a worker has done.
        """
        if self.here:
            results = []
            for number, item in enumerate(items):
                begin(number)
                results.append(work(item))
            return results
        done: dict[int, Result] = {}
        for number, result in done_on_cluster(self.address, work, items):
            done[number] = result
            begin(number)
        return [done[number] for number in range(len(items))]


HERE: Final = Workers()


def done_on_cluster(
    address: str | None, work: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[tuple[int, Result]]:
    """The number and the result of each item as the workers of a Dask cluster are done with it, in any order."""
    with connected(address) as client:
        futures = {client.submit(work, item, pure=False): number for number, item in enumerate(items)}
        for future in _as_completed(client, futures):
            yield futures[future], _result_of(future)


def _as_completed(client: Any, futures: Iterable[Any]) -> Iterator[Any]:
    """The futures as they come; an error if the cluster has lost its workers, and no other one comes."""
    from distributed import wait

    wait_for: Any = wait  # not typed
    left = set(futures)
    while left:
        try:
            done = wait_for(left, timeout=WORKER_SECONDS, return_when="FIRST_COMPLETED").done
        except TimeoutError as error:
            if client.scheduler_info()["workers"]:
                continue
            raise RuncardError(
                f"the cluster has lost its workers, and had no other one within {WORKER_SECONDS} s: expected one at "
                f"least; {counted(len(left), 'task')} not done"
            ) from error
        yield from done
        left -= done


def _result_of(future: Any) -> Any:
    """What a task found; its own error if that is one of ours, else that the workers stopped."""
    try:
        return future.result()
    except RuncardError:
        raise
    except Exception as error:
        raise workers_stopped(error) from error


def workers_stopped(error: Exception) -> RuncardError:
    """What to say of an error of the workers themselves: theirs are many, some of several lines."""
    return RuncardError(f"the workers stopped: {type(error).__name__}: {first_line(error)}")


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """A connection to a Dask scheduler that has workers with this runcard."""
    log = logging.getLogger("distributed.client")
    log.addFilter(_not_of_dask)
    try:
        with closing(_client(address)) as client:
            _check_workers(client)
            yield client
    finally:
        log.removeFilter(_not_of_dask)


def _not_of_dask(_: logging.LogRecord) -> bool:
    """Its client logs tracebacks when a scheduler is lost, of which our own error says a line."""
    return False


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
        raise MissingExtraError(f"--backend {DASK}", "distributed", "cluster") from error
    try:
        make_client: Any = Client  # not typed
        return make_client(address, timeout=CONNECT_SECONDS)
    except ValueError as error:
        raise InputError(
            f"expected the address of a Dask scheduler, such as tcp://10.0.0.1:8786, got {address!r}: {error}"
        ) from error
    except (OSError, MemoryError) as error:  # of another server, whose answer is read as a huge length
        raise RuncardError(f"no Dask scheduler answers at {address}") from error
