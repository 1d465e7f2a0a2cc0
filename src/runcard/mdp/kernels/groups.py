"""Blocks of states, and the groups of teams that are tried in them (see `packed_minimum.py`)."""

from typing import Final

STATES: Final = 8
"""States per block: their minima share every load of a cost."""

GROUPS: Final = (tuple(range(STATES)), *(tuple(s for s in range(STATES) if s >> bit & 1) for bit in (2, 1, 0)))
"""The states in which the teams of each group are tried: all, or those with the truck of one bit idle."""
