"""A line of the table of measurements."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, the target, and whether it was met."""

    name: str
    measured: str
    target: str
    met: bool
