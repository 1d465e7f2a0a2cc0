"""The processor in the place of a GPU: the kernels of `kernels.cu` compiled by g++, and numpy's arrays.

On the processor the loops over lanes and states are written out, and nothing else in the source differs; so what these
tests run is what a GPU runs, but for the few lines that exchange registers.
"""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from runcard.mdp.gpu.machine import SOURCE


@lru_cache(maxsize=64)
def _library(points: int, key: int) -> ctypes.CDLL:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++, to run the kernels of the GPU on the processor")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.so"
        words = ["-x", "c++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]
        defines = [f"-DPOINTS={points}", f"-DKEY={key}"]
        command = [compiler, *words, *defines, "-fPIC", "-shared", str(SOURCE), "-o", str(path)]
        subprocess.run(command, check=True, capture_output=True)
        return ctypes.CDLL(str(path))


def _argument(given: Any) -> Any:
    if given is None:
        return ctypes.c_void_p(None)
    if isinstance(given, np.ndarray):
        assert given.flags.c_contiguous
        return ctypes.c_void_p(given.ctypes.data)
    return ctypes.c_double(given) if isinstance(given, float) else ctypes.c_int64(given)


@dataclass(eq=False)
class Host:
    """A machine of so much memory whose kernels run on the processor."""

    free_bytes: float = 2.0**30
    shared_bytes: int = 227 * 1024
    name: str = "the processor"
    num_blocks: int = 1

    def empty(self, size: int, dtype: type = np.float64) -> NDArray[Any]:
        """An array full of what must not matter."""
        return np.full(size, np.nan if dtype is np.float64 else 7, dtype)

    def zeros(self, size: int) -> NDArray[Any]:
        """Doubles that are 0."""
        return np.zeros(size)

    def put(self, array: NDArray[Any]) -> NDArray[Any]:
        """A copy."""
        return np.array(array, order="C")

    def get(self, array: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
        """A copy."""
        if out is None:
            return array.copy()
        out[:] = array
        return out

    def address(self, array: NDArray[Any]) -> int:
        """Where an array begins."""
        return array.ctypes.data

    def launch(self, name: str, arguments: Sequence[Any], num_blocks: int | None = None) -> None:
        """Run a kernel."""
        getattr(_library(1, 0), name)(*map(_argument, arguments))

    def bellman(
        self, *, points: int, key: int, warps: int, num_blocks: int, shared: int, arguments: Sequence[Any]
    ) -> None:
        """Run the kernel of the Bellman equation."""
        assert shared <= self.shared_bytes
        _library(points, key).bellman(*map(_argument, arguments))
