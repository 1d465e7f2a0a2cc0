"""Problems in files, for a machine that has numpy and CuPy alone."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from runcard.mdp.problem import DispatchProblem

ARRAYS: Final = ("trucks", "incidents_per_day", "trucks_needed", "cost", "order")
NUMBERS: Final = ("returns_per_day", "cost_error")


def write_problem(path: Path, problem: DispatchProblem, **more: Any) -> None:
    """Write a problem, and more arrays beside it."""
    np.savez_compressed(path, **{key: getattr(problem, key) for key in (*ARRAYS, *NUMBERS)}, **more)


def read_problem(path: Path) -> tuple[DispatchProblem, dict[str, Any]]:
    """A problem, and what is beside it."""
    with np.load(path) as file:
        found = {key: file[key] for key in file.files}
    numbers = {key: float(found.pop(key)) for key in NUMBERS}
    arrays = {key: found.pop(key) for key in ARRAYS}
    return DispatchProblem(**arrays, **numbers), found
