"""A decorator for kernels that allocate nothing.

numba counts the references to every array that a function takes out of a tuple, slices or passes on. For a kernel of a
hundred nanoseconds that is most of the time. Where nothing is allocated, nothing needs counting.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def bare_kernel(function: Function) -> Function:
    """The function, compiled on first use, without reference counts: it may not allocate, and neither may a callee."""
    options: dict[str, Any] = {"nogil": True, "cache": True, "_nrt": False}
    compiled: Function = njit(**options)(function)
    return compiled


def inlined_kernel(function: Function) -> Function:
    """The same, made part of whoever calls it: handing over a tuple of arrays may take longer than what is done."""
    options: dict[str, Any] = {"nogil": True, "cache": True, "_nrt": False, "inline": "always"}
    compiled: Function = njit(**options)(function)
    return compiled


def summing_kernel(function: Function) -> Function:
    """The same, where sums may be added in any order, which is quicker."""
    options: dict[str, Any] = {"nogil": True, "cache": True, "_nrt": False, "fastmath": {"reassoc", "contract"}}
    compiled: Function = njit(**options)(function)
    return compiled
