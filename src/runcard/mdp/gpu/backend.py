"""The backend of a GPU: no rows are kept, and every pass over the states chooses the teams anew.

A pass gives the residuals v(f) of all states at the values h, and with them proven bounds on g (see `bounds.py`).
Then h moves by a step that treats returns exactly and dispatches at their old values, as a sweep of the processor does:
with R the generator of the returns alone, and the middle r(n) of the residuals of each level taken off, which bounds do
not see,

    step = (Λ - R)^-1 (v - r),

and the last few steps are mixed (see `mixing.py`). R is a sum over stations, so that it is diagonal in the basis of
differences by the number of busy trucks: x(m) = Σ_l binomial(m, l) b(l) at each station, where R takes b(l) to
-μ l b(l). Going there and back takes a few additions for each state and station: next to nothing, beside the teams.
A step does what a sweep of the processor does, but at values that are all of the same age; so that the pass which it
needs also gives the bounds.

**Coarse numbers.** The first passes choose by integers of 32 bits (see `arrays.py`), whose unit is a billionth of the
range of the costs: it counts in the bounds. Once the bounds are a few units apart, passes are in doubles, which take
three times as long. Where some percent of the incidents are late that is never, for 1e-6.

Values stay in the memory of the GPU. Probabilities take the transposed step.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, Final

import numpy as np

from runcard.errors import InputError, SizeError
from runcard.mdp.arrays import Floats, frozen
from runcard.mdp.backend import Improvement, StateProbabilities
from runcard.mdp.bounds import Residuals
from runcard.mdp.gpu.arrays import (
    DOUBLES,
    INTEGERS,
    DeviceCosts,
    DeviceProblem,
    check_teams,
    device_costs,
    device_problem,
)
from runcard.mdp.gpu.machine import THREADS, DeviceArray, Gpu
from runcard.mdp.gpu.mixing import MOST_STEPS, Mixing
from runcard.mdp.kernels.groups import STATES
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import DecisionRule, OrderRule, TableRule, ValueRule
from runcard.memory import in_words

MOST_TRUCKS: Final = 40
"""More trucks than this would make the differences by the number of busy trucks lose too many digits."""

AXES: Final = 4
"""Stations of one truck that one pass over the states changes the basis for."""

USE_COPIES: Final = 64

FORTH, BACK, BACK_TRANSPOSED, FORTH_TRANSPOSED = range(4)
"""The modes of the kernel `returns`."""


@dataclass(eq=False)
class DeviceValue:
    """Values in the memory of the GPU, and the steps that led to them. A step consumes it."""

    array: DeviceArray
    mixing: Mixing


@dataclass(eq=False)
class GpuRows:
    """A policy: a rule that kernels know, with the tables [points, teams] of its measures.

    A greedy policy of an improvement has only its residuals, which is all that a step needs.
    """

    rule: int = 1
    given: DeviceArray = None
    value: DeviceArray = None
    tables: list[DeviceArray] = field(default_factory=list)
    at: tuple[DeviceValue, int | None, DeviceArray, Residuals] | None = None
    """The values and the measure whose residuals were asked for last, and these residuals."""


def gpu_backend(problem: DispatchProblem, machine: Gpu) -> "GpuBackend":
    """The backend for a problem; a SizeError where its states or teams do not fit in the memory of the GPU."""
    if problem.num_trucks > MOST_TRUCKS:
        raise SizeError(
            f"--device gpu: expected at most {MOST_TRUCKS} trucks, got {problem.num_trucks}: take --device cpu"
        )
    check_teams(problem, machine)
    return GpuBackend(problem, machine, mixed_steps(problem.num_states, machine))


def mixed_steps(num_states: int, machine: Gpu) -> int:
    """How many steps the memory of a machine can mix; a SizeError where not even one."""
    free, per_array = machine.free_bytes, 8.0 * num_states
    steps = int(min(MOST_STEPS, (0.97 * free / per_array - 2.0) // 2.0))
    if steps < 1:
        raise SizeError(
            f"--device gpu: {num_states:,} states take at least {in_words(4.0 * per_array)} of memory on the GPU, and "
            f"{in_words(free)} are free: expected fewer trucks, a larger GPU, or a policy that decides online, such as "
            "one-step-mean-field"
        )
    return steps


@dataclass(frozen=True, eq=False)
class GpuBackend:
    """The kernels of a GPU on the states of one problem."""

    problem: DispatchProblem
    machine: Gpu
    most_steps: int = MOST_STEPS
    has_coarse: ClassVar[bool] = True
    """Coarse numbers take a fraction of the time."""
    coarse_units: ClassVar[float] = 4.0
    sweeps_per_cycle: ClassVar[int] = 1
    """Every step is a pass of its own."""

    @cached_property
    def _device(self) -> DeviceProblem:
        return device_problem(self.problem, self.machine)

    def _costs(self, kind: int) -> DeviceCosts:
        """The costs in one kind of keys."""
        if kind not in self._costs_of_kind:
            self._costs_of_kind[kind] = device_costs(self.problem, self.machine, kind)
        return self._costs_of_kind[kind]

    @cached_property
    def _costs_of_kind(self) -> dict[int, DeviceCosts]:
        return {}

    @cached_property
    def _even(self) -> Floats:
        """[levels] the probability of a state of each level if those were equally likely."""
        return self.problem.levels.idle_distribution / self.problem.states.num_at_level

    def _mixing(self, weight: Floats) -> Mixing:
        return Mixing(
            self.machine, self._device.struct, self.problem.num_states, self.machine.put(weight), self.most_steps
        )

    def start(self, value: Floats | None = None) -> DeviceValue:
        """Values to start from: these [states + padding], or 0."""
        num_states = self.problem.num_states
        if value is None:
            return DeviceValue(self.machine.zeros(num_states), self._mixing(self._even))
        return DeviceValue(self.machine.put(value[:num_states] - value[num_states - 1]), self._mixing(self._even))

    def levelled(self, value: DeviceValue, residuals: Residuals) -> Floats:
        """[states + padding] the values with the part by level set right, in the memory of the processor."""
        by_level = self.machine.put(-residuals.correction(self.problem.levels.generator))
        self.machine.launch("centre", [self._device.struct, value.array, by_level])
        result = np.zeros(self.problem.num_states + VALUE_PADDING)
        self.machine.get(value.array, result[: self.problem.num_states])
        return frozen(result)

    def improve(self, value: DeviceValue, *, coarse: bool = False, want_rows: bool = True) -> Improvement:
        """The residuals of the Bellman equation at `value`; the rows hold them, state by state."""
        residual = self.machine.empty(self.problem.num_states)
        kind = INTEGERS if coarse else DOUBLES
        self._bellman(kind, value.array, residual)
        residuals = self._residuals(value.array, residual, self._costs(kind).unit)
        return Improvement(GpuRows(at=(value, None, residual, residuals)), residuals)

    def _bellman(self, kind: int, value: DeviceArray, residual: DeviceArray) -> None:
        """Fill the residuals of all states."""
        costs = self._costs(kind)
        self.machine.bellman(
            points=costs.points,
            key=kind,
            warps=costs.warps,
            num_blocks=-(-self.problem.num_states // (STATES * costs.warps)),
            shared=costs.shared_bytes,
            arguments=[
                self._device.struct, costs.struct, costs.key, self._device.place_mask, self._device.place_offset,
                value, residual,
            ],
        )  # fmt: skip

    def _residuals(self, value: DeviceArray, residual: DeviceArray, unit: float) -> Residuals:
        """The residuals by level, given those of every state."""
        num_levels, num_blocks = self.problem.num_trucks + 1, self.machine.num_blocks
        found = self.machine.empty(num_blocks * 3 * num_levels)
        self.machine.launch("extremes", [self._device.struct, value, residual, found], num_blocks)
        by_block = self.machine.get(found).reshape(num_blocks, 3, num_levels)
        lowest, highest, largest = by_block[:, 0].min(axis=0), by_block[:, 1].max(axis=0), by_block[:, 2].max(axis=0)
        return Residuals(lowest, highest, largest, unit)

    def rows(self, rule: DecisionRule, measures: Sequence[Floats] = ()) -> GpuRows:
        """The policy of a rule, with these tables [T, J]."""
        machine, num_states = self.machine, self.problem.num_states
        tables = [machine.put(table.T) for table in measures]
        if isinstance(rule, OrderRule):
            return GpuRows(0, machine.put(rule.order.astype(np.uint8)), None, tables)
        if isinstance(rule, TableRule):
            return GpuRows(2, machine.put(rule.table.T.astype(np.uint16)), None, tables)
        if not isinstance(rule, ValueRule):
            raise InputError("--device gpu: run cards are evaluated on the processor: take --device cpu")
        value = machine.put(rule.value[:num_states])
        # The choices are kept where there is room for them, beside the arrays of the steps.
        size, room = 2.0 * num_states * self.problem.num_points, 8.0 * num_states * (2 * self.most_steps + 2)
        if size + room > 0.9 * machine.free_bytes:
            return GpuRows(1, None, value, tables)
        table = machine.empty(num_states * self.problem.num_points, np.uint16)
        machine.launch("choices", [self._device.struct, self._device.cost, value, table])
        return GpuRows(2, table, None, tables)

    def _rule(self, rows: GpuRows) -> list[Any]:
        """The arguments by which kernels know a policy."""
        return [self._device.struct, rows.rule, rows.given, self._device.cost, rows.value]

    def _counted(self, rows: GpuRows, measure: int | None) -> DeviceArray:
        return self._device.cost if measure is None else rows.tables[measure]

    def residuals(self, rows: GpuRows, value: DeviceValue, measure: int | None = None) -> Residuals:
        """The residuals of the value equations of the policy at `value`, which bound its rate per day."""
        rows.at = None  # first, so that there is room
        residual = self.machine.empty(self.problem.num_states)
        self.machine.launch("policy", [*self._rule(rows), self._counted(rows, measure), value.array, residual])
        found = self._residuals(value.array, residual, 0.0)
        rows.at = (value, measure, residual, found)
        return found

    def sweep(self, rows: GpuRows, value: DeviceValue, num_sweeps: int, measure: int | None = None) -> DeviceValue:
        """The values after some steps from `value`, which is used up."""
        for _ in range(num_sweeps):
            if rows.at is None or rows.at[0] is not value or rows.at[1] != measure:
                self.residuals(rows, value, measure)
            assert rows.at is not None
            _, _, step, found = rows.at
            rows.at = None
            middle = self.machine.put((found.lowest + found.highest) / 2.0)
            self.machine.launch("centre", [self._device.struct, step, middle])
            self._change(step, FORTH)
            self.machine.launch("divide", [self._device.struct, step, 1])
            self._change(step, BACK)
            value = DeviceValue(value.mixing.next(value.array, step), value.mixing)
        return value

    def _change(self, array: DeviceArray, mode: int) -> None:
        """Change the basis of an array, station by station, or for some stations of one truck at once."""
        for stride, trucks, axes in self._axes:
            self.machine.launch("returns", [self.problem.num_states, array, stride, trucks, axes, mode])

    @cached_property
    def _axes(self) -> list[tuple[int, int, int]]:
        """The stride, trucks and number of each lot of stations; the stride is that of the last of them."""
        return list(_lots(self.problem.trucks.tolist(), self.problem.layout.states.stride.tolist()))

    def probabilities(self, rows: GpuRows, *, tolerance: float, max_sweeps: int) -> StateProbabilities:
        """The probabilities, swept until they change by at most `tolerance` in all."""
        machine, problem, device = self.machine, self.problem, self._device
        rows.at = None  # the values and their steps take as much room as what follows
        probability, converged = machine.empty(problem.num_states), False
        machine.launch("spread", [device.struct, probability, machine.put(self._even)])
        mixing = self._mixing(1.0 / np.maximum(self._even, 1e-300))
        for _ in range(max_sweeps):
            step = machine.zeros(problem.num_states)
            machine.launch("arriving", [*self._rule(rows), probability, step])
            self._change(step, BACK_TRANSPOSED)
            machine.launch("divide", [device.struct, step, 0])
            self._change(step, FORTH_TRANSPOSED)
            changes = machine.zeros(machine.num_blocks * (THREADS // 32))
            machine.launch("differ", [problem.num_states, step, probability, changes])
            converged = float(machine.get(changes).sum()) <= tolerance
            if converged:
                break
            probability = mixing.next(probability, step)
        del mixing
        use = machine.zeros(USE_COPIES * problem.num_teams)
        machine.launch("team_use", [*self._rule(rows), probability, USE_COPIES, use])
        found = machine.get(probability)
        measured = np.array([self._rates(rows, number) @ found for number in range(len(rows.tables))])
        return StateProbabilities(found, machine.get(use).reshape(USE_COPIES, -1).sum(axis=0), measured, converged)

    def _rates(self, rows: GpuRows, measure: int) -> Floats:
        """[states] the rate per day of a measure."""
        rate = self.machine.empty(self.problem.num_states)
        self.machine.launch("policy", [*self._rule(rows), self._counted(rows, measure), None, rate])
        return self.machine.get(rate)


def _lots(trucks: list[int], stride: list[int]) -> Iterator[tuple[int, int, int]]:
    """The lots of stations for which the basis is changed in one go."""
    for single, run in groupby(range(len(trucks)), key=lambda i: trucks[i] == 1):
        stations = list(run)
        width = AXES if single else 1
        for first in range(0, len(stations), width):
            lot = stations[first : first + width]
            yield stride[lot[-1]], trucks[lot[-1]], len(lot)
