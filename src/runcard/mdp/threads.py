"""Threads over ranges of states: kernels release the interpreter lock, so a plain thread pool runs them side by side.

The pool is made on first use and again in a forked child, whose threads do not survive the fork.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_pools: dict[int, ThreadPoolExecutor] = {}
os.register_at_fork(after_in_child=_pools.clear)


def available_threads() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_each(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """The results of `work` on every item, in order, computed by at most `threads` threads."""
    items = list(items)
    if threads <= 1 or len(items) <= 1:
        return [work(item) for item in items]
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="runcard")
    return list(_pools[threads].map(work, items))
