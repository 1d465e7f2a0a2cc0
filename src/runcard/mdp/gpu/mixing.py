"""Anderson mixing: the next values from the last few steps of a fixed-point iteration.

A step takes x to x + s(x), and the limit has s = 0. From the last few pairs take the weights γ that minimise
|Σ γ_m s_m| with Σ γ_m = 1, and go on from Σ γ_m (x_m + s_m). For linear steps that is what reduced rank extrapolation
does (see `mdp/extrapolate.py`), anew after every step. States count by a weight that depends on their level.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from runcard.mdp.arrays import Floats
from runcard.mdp.gpu.machine import THREADS, DeviceArray, Gpu

MOST_STEPS: Final = 5
"""Steps that are mixed: more gain nothing, and each takes two numbers for each state."""

LARGEST_WEIGHT: Final = 1e4


def mixing_weights(gram: Floats) -> Floats:
    """γ from the inner products of the steps; the last step alone where that would amplify rounding errors."""
    last = np.zeros(len(gram))
    last[-1] = 1.0
    sizes = np.sqrt(np.diag(gram))
    if not (np.isfinite(gram).all() and sizes.min() > 0.0):
        return last
    # In units of each step's own size, since the last may be a millionth of the first.
    scaled = gram / np.outer(sizes, sizes)
    scaled.flat[:: len(gram) + 1] += 1e-12
    weights = np.linalg.solve(scaled, sizes.min() / sizes) / sizes
    weights /= weights.sum()
    if not np.isfinite(weights).all() or np.abs(weights).max() > LARGEST_WEIGHT:
        return last
    return np.asarray(weights, np.float64)


@dataclass(eq=False)
class Mixing:
    """The last few steps of one iteration."""

    machine: Gpu
    problem: DeviceArray
    """The problem as the kernels see it."""
    num_states: int
    weight: DeviceArray
    """[levels]"""
    most_steps: int
    moved: list[DeviceArray] = field(default_factory=list)
    """x + s"""
    steps: list[DeviceArray] = field(default_factory=list)
    """s"""
    gram: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def next(self, value: DeviceArray, step: DeviceArray) -> DeviceArray:
        """Where to go on from, after a step from `value`; both arrays are kept, and `value` is moved."""
        machine = self.machine
        if len(self.steps) == self.most_steps:  # before the new array is made, which then takes the place of these
            del self.moved[0], self.steps[0]
            self.gram = self.gram[1:, 1:]
        self.moved.append(value)
        self.steps.append(step)
        count, num_blocks = len(self.steps), machine.num_blocks
        found = machine.zeros(num_blocks * (THREADS // 32) * count)
        machine.launch(
            "products", [self.problem, step, value, count, self._addresses(self.steps), self.weight, found], num_blocks
        )
        products = machine.get(found).reshape(-1, count).sum(axis=0)
        self.gram = np.block([[self.gram, products[:-1, None]], [products[None, :]]])
        weights = mixing_weights(self.gram)
        mixed = machine.empty(self.num_states)
        machine.launch(
            "combine", [self.num_states, count, self._addresses(self.moved), machine.put(weights), mixed], num_blocks
        )
        return mixed

    def _addresses(self, arrays: list[DeviceArray]) -> DeviceArray:
        places = np.zeros(8, np.uint64)
        places[: len(arrays)] = [self.machine.address(one) for one in arrays]
        return self.machine.put(places)
