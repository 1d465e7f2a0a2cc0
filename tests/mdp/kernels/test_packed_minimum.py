"""Tests of the innermost loop against numpy."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from runcard.mdp.kernels.groups import GROUPS, STATES
from runcard.mdp.kernels.packed_minimum import packed_minimum, tile_points


@njit
def compiled(out, cost, team, price, ends):  # type: ignore[no-untyped-def]
    """Call the intrinsic, which exists only inside compiled code."""
    packed_minimum(out, cost, team, price, ends)


def call(out: Any, cost: Any, team: Any, price: Any, *ends: int) -> None:
    """Call the loop with groups that end at `ends`; the groups left out are empty."""
    compiled(out, cost, team, price, np.array([*ends, *[ends[-1]] * (len(GROUPS) - len(ends))]))


def random_keys(
    rng: np.random.Generator, bits: int, shape: tuple[int, ...], *, top: bool = False
) -> NDArray[np.unsignedinteger]:
    """Keys of fewer than bits - 2 bits, some with the top bit that marks a team which is not idle."""
    kind = np.uint32 if bits == 32 else np.uint64
    keys = rng.integers(0, 1 << (bits - 2), shape, dtype=kind)
    if top:
        keys[rng.random(shape) < 0.3] = kind(1 << (bits - 1))
    return keys


@pytest.mark.parametrize("bits", [32, 64])
def test_only_the_tile_is_written(bits: int) -> None:
    """In a wider array the loop writes its own tile of each state and reads no more than `num` teams."""
    rng = np.random.default_rng(bits)
    tile = tile_points(bits)
    cost, price = random_keys(rng, bits, (4, tile)), random_keys(rng, bits, (9, STATES))
    price[3:] = 0  # would win if it were read
    team = np.array([3, 0, 2, 1, 1, 1, 1, 1, 1], np.int32)
    out = np.full((STATES, 3 * tile), 77, cost.dtype)
    call(out[:, tile:], cost, team, price, 3)
    assert (out[:, :tile] == 77).all()
    assert (out[:, 2 * tile :] == 77).all()
    expected = (cost[team[:3]][:, None, :] + price[:3, :, None]).min(axis=0)
    assert np.array_equal(out[:, tile : 2 * tile], expected)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("ends", [(0, 0, 0, 0), (3, 3, 5, 9), (0, 2, 4, 9), (0, 0, 0, 4), (5, 9, 9, 9), (1, 1, 1, 1)])
def test_a_group_is_tried_in_its_own_states(bits: int, ends: tuple[int, ...]) -> None:
    """A team of a group changes the minima of the four states with that truck idle, and of no other."""
    rng = np.random.default_rng([bits, *ends])
    tile = tile_points(bits)
    cost, price = random_keys(rng, bits, (20, tile)), random_keys(rng, bits, (9, STATES), top=True)
    team = rng.integers(0, 20, 9).astype(np.int32)
    out = np.zeros((STATES, tile), cost.dtype)
    call(out, cost, team, price, *ends)
    expected = np.full_like(out, np.iinfo(out.dtype).max)
    for group, (first, last) in enumerate(zip((0, *ends), ends, strict=False)):
        for p in range(first, last):
            for s in range(STATES):
                if group == 0 or s >> (3 - group) & 1:
                    expected[s] = np.minimum(expected[s], cost[team[p]] + price[p, s])
    assert np.array_equal(out, expected)
