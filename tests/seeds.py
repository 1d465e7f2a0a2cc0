"""Many random cases of one claim are one test."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

Test = Callable[..., None]


def each_seed(number: int) -> Callable[[Test], Test]:
    """A test that runs for the seeds 0, 1, ... before a number; of one that fails the error says which it was."""

    def of_all(test: Test) -> Test:
        @wraps(test)
        def run(**arguments: Any) -> None:
            for seed in range(number):
                try:
                    test(seed=seed, **arguments)
                except BaseException as error:
                    error.add_note(f"with seed {seed}")
                    raise

        signature = inspect.signature(test)
        others = [parameter for parameter in signature.parameters.values() if parameter.name != "seed"]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return of_all
