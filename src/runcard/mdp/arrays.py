"""Short names for arrays, and how one becomes read-only."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, which nobody can write to any more."""
    array.flags.writeable = False
    return array
