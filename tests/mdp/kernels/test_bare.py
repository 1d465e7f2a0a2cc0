"""Tests of the decorators for kernels that allocate nothing."""

import numpy as np

from runcard.mdp.kernels.bare import bare_kernel, inlined_kernel


@inlined_kernel
def _doubled(values, place):  # type: ignore[no-untyped-def]
    return 2.0 * values[place]


@bare_kernel
def _sum_of_doubles(values):  # type: ignore[no-untyped-def]
    total = 0.0
    for place in range(len(values)):
        total += _doubled(values, place)
    return total


def test_compiled_kernels_give_what_python_gives() -> None:
    """A bare kernel that has an inlined one in it computes what the same functions do uncompiled."""
    values = np.arange(5.0)
    assert _sum_of_doubles(values) == _sum_of_doubles.py_func(values) == 20.0


def test_a_kernel_leaves_no_reference_behind() -> None:
    """The arrays that a kernel was handed are not kept alive by it, though nothing counts references inside."""
    from sys import getrefcount

    values = np.arange(5.0)
    before = getrefcount(values)
    _sum_of_doubles(values)
    assert getrefcount(values) == before
