"""Threads over ranges of states: kernels release the interpreter lock, so a plain thread pool runs them side by side.

The pool is made on first use and again in a forked child, whose threads do not survive the fork.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from operator import index
from typing import TypeVar

from runcard.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")

_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_pools.clear)


_alone: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def alone() -> Iterator[None]:
    """Work on one thread: what takes milliseconds is not worth a helper, least of all where others wait to decide."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def available_threads() -> int:
    """The number of processors that this process may use; one if it works alone."""
    if _alone.get():
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked_threads(threads: int | None) -> int:
    """The number of threads that was asked for, or that of the processors; an InputError if it is not at least one."""
    if threads is None:
        return available_threads()
    try:
        number = index(threads)
    except TypeError as error:
        raise InputError(f"expected a number of threads, got {threads!r}") from error
    if number < 1:
        raise InputError(f"expected threads >= 1, got {threads!r}")
    return number


def run_each(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """The results of `work` on every item, in order, computed by at most `threads` threads.

    The calling thread and its helpers each take the next item that is left, so one slow item holds up nobody, and a
    call costs a few microseconds for each helper, not for each item.
    """
    helpers = min(threads, len(items)) - 1
    if helpers <= 0:
        return [work(item) for item in items]
    results: dict[int, Result] = {}
    left: Iterator[int] = iter(range(len(items)))

    def take_items() -> None:
        # next() on a range iterator is one step of the interpreter: no two threads get the same number.
        while (number := next(left, None)) is not None:
            results[number] = work(items[number])

    if helpers not in _pools:
        _pools[helpers] = ThreadPoolExecutor(helpers, thread_name_prefix="runcard")
    futures = [_pools[helpers].submit(take_items) for _ in range(helpers)]
    try:
        take_items()
    finally:
        # On an error, too: the helpers stop after the item they have, and none outlives this call.
        left = iter(())
        # A helper that has not begun has nothing left to do, and in work that calls this again it never would.
        running = [future for future in futures if not future.cancel()]
        wait(running)
    for future in running:
        future.result()
    return [results[number] for number in range(len(items))]
