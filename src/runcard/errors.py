"""Every error that runcard raises on purpose, and the exit code each one means.

    RuncardError                 1  something could not be done
    ├── InputError               2  the person gave something that cannot be used
    │   ├── CityError            2  a city folder has faults; lists all of them
    │   ├── PolicyFileError      2  a policy file is damaged, or made for another city
    │   ├── SizeError            2  the problem would not fit in memory
    │   └── UnknownDecisionError 2  the audit log has no such decision
    ├── AuditError               1  the audit log cannot be written or read now; another time it may
    ├── NotConvergedError        1  a solver met its limit before its tolerance
    └── MissingExtraError        1  an optional dependency is not installed

Messages are one readable sentence for the person who made the mistake: where, what was expected, what was found.
"""

import copyreg
from collections.abc import Sequence
from typing import Any


class RuncardError(Exception):
    """The root of every error that runcard raises on purpose."""

    exit_code = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """How it travels between processes: as it is. Made again from its message it would be another, or none."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class InputError(RuncardError):
    """What was given cannot be used as it stands."""

    exit_code = 2


class CityError(InputError):
    """A city has faults; `faults` lists every one, each with its file and row."""

    def __init__(self, where: str, faults: Sequence[str]) -> None:
        self.where = where
        self.faults = tuple(faults)
        count = "1 fault" if len(self.faults) == 1 else f"{len(self.faults)} faults"
        super().__init__(f"{where}: {count}: " + "; ".join(self.faults))


class PolicyFileError(InputError):
    """A policy file is damaged, truncated, of another version or made for another city."""


class SizeError(InputError):
    """The problem would need more memory than there is."""


class UnknownDecisionError(InputError):
    """The audit log has no such decision."""


class AuditError(RuncardError):
    """The audit log cannot be written or read now: a full disk, a server that is away. Another time it may."""


class NotConvergedError(RuncardError):
    """A solver met its limit before its tolerance."""


class MissingExtraError(RuncardError):
    """An optional dependency is not installed; the message names the install command."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}, which is not installed: pip install 'runcard[{extra}]'")
