"""A GPU as the backend sees it: memory, copies, and kernels compiled from one source when they are first called.

Everything that knows CuPy is here, so that tests can put the processor in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runcard.errors import MissingExtraError, RuncardError

SOURCE: Final = Path(__file__).with_name("kernels.cu")

THREADS: Final = 256
"""Threads of a block, in all kernels but the first."""

DeviceArray: TypeAlias = Any
"""An array in the memory of the machine."""


@dataclass(frozen=True, eq=False)
class Gpu:
    """The current device of CuPy."""

    cupy: Any

    @cached_property
    def properties(self) -> dict[str, Any]:
        """What the driver says of it."""
        found: dict[str, Any] = self.cupy.cuda.runtime.getDeviceProperties(self.cupy.cuda.runtime.getDevice())
        return found

    @property
    def name(self) -> str:
        """What it is called."""
        name = self.properties["name"]
        return name.decode() if isinstance(name, bytes) else str(name)

    @property
    def free_bytes(self) -> float:
        """The memory that is left, with what CuPy holds back for the next array."""
        free, _ = self.cupy.cuda.runtime.memGetInfo()
        return float(free) + float(self.cupy.get_default_memory_pool().free_bytes())

    @property
    def shared_bytes(self) -> int:
        """The most memory that the threads of a block can share."""
        return int(self.properties.get("sharedMemPerBlockOptin") or self.properties["sharedMemPerBlock"])

    @property
    def num_blocks(self) -> int:
        """Blocks of threads that keep all of it busy."""
        return 8 * int(self.properties["multiProcessorCount"])

    def empty(self, size: int, dtype: type = np.float64) -> DeviceArray:
        """An array of that size."""
        return self.cupy.empty(size, dtype)

    def zeros(self, size: int) -> DeviceArray:
        """Doubles that are 0."""
        return self.cupy.zeros(size)

    def put(self, array: NDArray[Any]) -> DeviceArray:
        """A copy in the memory of the device."""
        return self.cupy.asarray(np.ascontiguousarray(array))

    def get(self, array: DeviceArray, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """A copy in the memory of the processor."""
        if out is None:
            out = np.empty(array.shape, array.dtype)
        array.get(out=out)
        return out

    def address(self, array: DeviceArray) -> int:
        """Where an array begins."""
        return int(array.data.ptr)

    def launch(self, name: str, arguments: Sequence[Any], num_blocks: int | None = None) -> None:
        """Run a kernel; its arguments are arrays, None, whole numbers and floats."""
        grid = (num_blocks or self.num_blocks,)
        self.kernel(name)(grid, (THREADS,), tuple(map(_argument, arguments)))

    def bellman(
        self, *, points: int, key: int, warps: int, num_blocks: int, shared: int, arguments: Sequence[Any]
    ) -> None:
        """Run the kernel of the Bellman equation, compiled for so many points to a lane and this kind of keys."""
        kernel = self.kernel("bellman", points, key, warps)
        kernel.max_dynamic_shared_size_bytes = shared
        kernel((num_blocks,), (32 * warps,), tuple(map(_argument, arguments)), shared_mem=shared)

    def kernel(self, name: str, points: int = 1, key: int = 0, warps: int = 4) -> Any:
        """A kernel, compiled if it was not yet."""
        return _kernel(self.cupy, name, points, key, warps)


def _argument(given: Any) -> Any:
    """An argument as a kernel takes it: of eight bytes."""
    if given is None:
        return np.uint64(0)
    if isinstance(given, int):
        return np.int64(given)
    return np.float64(given) if isinstance(given, float) else given


@lru_cache(maxsize=256)
def _kernel(cupy: Any, name: str, points: int, key: int, warps: int) -> Any:
    """A kernel, ready to be called."""
    return compiled(cupy, points, key, warps).get_function(name)


@lru_cache(maxsize=64)
def compiled(cupy: Any, points: int, key: int, warps: int) -> Any:
    """The kernels, compiled; CuPy keeps the result on the disk, too."""
    options = ("--std=c++17", f"-DPOINTS={points}", f"-DKEY={key}", f"-DWARPS={warps}")
    return cupy.RawModule(code=SOURCE.read_text(encoding="utf-8"), backend="nvrtc", options=options)


def gpu() -> Gpu:
    """The GPU of this machine; a MissingExtraError without CuPy, a RuncardError without a device."""
    try:
        import cupy
    except ImportError as error:
        raise MissingExtraError("--device gpu", "CuPy", "gpu") from error
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RuncardError(f"--device gpu: expected a GPU that CUDA can use, found none ({error})") from error
    if count == 0:
        raise RuncardError("--device gpu: expected a GPU that CUDA can use, found none")
    machine = Gpu(cupy)
    try:
        machine.kernel("centre")
    except Exception as error:  # a driver alone has no compiler; CuPy raises what it likes
        words = " ".join(str(error).split())[:200]
        raise RuncardError(
            f"--device gpu: expected CuPy to compile kernels, it failed: {words}; its compiler comes with "
            "pip install 'runcard[gpu]'"
        ) from error
    return machine
