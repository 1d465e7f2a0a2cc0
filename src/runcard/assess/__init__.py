"""What plans achieve: outcomes with intervals, exact or simulated, side by side, before and after, and why.

The folder has the name of the function that people call, `runcard.assess(city, plans)`. Python sets a folder as an
attribute of its package when it is first imported, so the folder itself can be called, too.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A module that is called as the function that has its name."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """What `assess` says."""
        from runcard.assess.assess import assess

        return assess(*args, **options)


sys.modules[__name__].__class__ = _Callable
