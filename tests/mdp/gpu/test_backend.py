"""Tests of the GPU's backend: its kernels on the processor against those of the processor, and whole solves."""

from importlib.util import find_spec

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.seeds import each_seed

import runcard
from runcard.errors import InputError, MissingExtraError, SizeError
from runcard.mdp import backend as backends
from runcard.mdp.chain import chain_of
from runcard.mdp.cpu import cpu_backend
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.gpu import machine as machines
from runcard.mdp.gpu.arrays import points_of_lane
from runcard.mdp.gpu.backend import MOST_TRUCKS, GpuBackend, gpu_backend, mixed_steps
from runcard.mdp.memory import check_states
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import CardRule, OrderRule, TableRule, ValueRule
from runcard.mdp.solve import solve_optimal

from ..problems import grid_problem, make_problem, random_problem, random_values
from ..reference import Dense
from .host import Host

SHAPES = [
    make_problem([1] * 7, [2] * 37),
    make_problem([1] * 6, [1, 2, 3, 4] * 5),
    make_problem([2, 1, 3], [3, 1, 2, 2]),
    make_problem([1], [1]),
    make_problem([1, 1], [2, 2, 1]),
    make_problem([2, 2, 1, 1, 1], [2] * 450),
    make_problem([1, 1, 1, 2, 2], [2, 3] * 20),
    make_problem([1, 1], [4, 3]),
    make_problem([2, 2], [1, 1, 2], cost=[-1.0, 0.5]),
    *map(random_problem, range(6)),
]


@pytest.fixture
def on_host(monkeypatch: pytest.MonkeyPatch) -> Host:
    """The processor stands in for a GPU wherever one is asked for."""
    host = Host()
    monkeypatch.setattr("runcard.mdp.gpu.machine.gpu", lambda: host)
    return host


@pytest.mark.slow
@pytest.mark.parametrize("problem", SHAPES, ids=lambda problem: "-".join(map(str, problem.trucks)))
def test_residuals_are_those_of_the_processor(problem: DispatchProblem) -> None:
    """At any values, in both widths, whatever the stations and classes: within one unit, or within rounding."""
    value = random_values(problem, 3)
    value -= value[problem.num_states - 1]
    expected = cpu_backend(problem, 1).improve(value).residuals
    backend = gpu_backend(problem, Host())
    for coarse in (False, True):
        found = backend.improve(backend.start(value), coarse=coarse).residuals
        assert (found.unit > 0.0) == (coarse and problem.num_trucks >= problem.trucks_needed.min())
        off = 1e-12 * problem.total_incidents_per_day + found.unit
        np.testing.assert_allclose(found.lowest, expected.lowest, rtol=0, atol=off)
        np.testing.assert_allclose(found.highest, expected.highest, rtol=0, atol=off)
        np.testing.assert_array_equal(found.largest, expected.largest)


def test_a_lane_takes_many_points() -> None:
    """Padding is worth fewer tiles: 400 points are two tiles of seven in doubles, not thirteen of one."""
    for sizes, most, points in (([400], 7, 7), ([400], 13, 13), ([144], 13, 5), ([32], 7, 1), ([40, 400], 7, 7)):
        assert points_of_lane(sizes, most) == points


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.02, 0.1, 0.4, 2.0, 50.0])
def test_a_city_is_solved_as_on_the_processor(load: float, on_host: Host) -> None:
    """The bounds overlap, the decisions are equal but for ties, and few passes are enough."""
    problem = grid_problem(7, load, side=8)
    for tolerance in (1e-6, 1e-9):
        found = solve_optimal(problem, tolerance=tolerance, device="gpu")
        expected = solve_optimal(problem, tolerance=tolerance, device="cpu")
        assert found.converged
        assert found.improvements <= 20
        assert max(found.lower, expected.lower) <= min(found.upper, expected.upper)
        assert not found.value.flags.writeable
        assert len(found.value) == len(expected.value)
    dense = Dense(problem)
    one, other = dense.greedy_table(found.value), dense.greedy_table(expected.value)
    for f, j in np.argwhere(one != other):
        costs = [
            problem.cost[table[f, j], j] + expected.value[f - problem.layout.offset[table[f, j]]]
            for table in (one, other)
        ]
        assert abs(costs[0] - costs[1]) < 1e-9


@pytest.mark.slow
@each_seed(40)
def test_random_problems_are_solved(seed: int, on_host: Host) -> None:
    """Stations of several trucks, incidents of 1 to 4, loads from 0.001 to 5: the optimum of a dense solver."""
    problem = random_problem(seed)
    found, optimum = solve_optimal(problem, device="gpu"), Dense(problem).optimum()[1]
    assert found.converged
    assert found.lower <= optimum.late_fraction * (1 + 1e-9)
    assert found.upper >= optimum.late_fraction * (1 - 1e-9)


@pytest.mark.parametrize("problem", [*map(random_problem, range(8)), make_problem([1] * 7, [2, 1, 3] * 4)])
def test_policies_are_evaluated_as_on_the_processor(problem: DispatchProblem, on_host: Host) -> None:
    """Bounds, minutes, busy fractions and probabilities, of every rule that a GPU knows."""
    table = Dense(problem).order_table(problem.order)
    for rule in (OrderRule(problem.order), ValueRule(random_values(problem, 1)), TableRule(table)):
        found = evaluate_rule(problem, rule, device="gpu")
        expected = evaluate_rule(problem, rule, device="cpu")
        assert found.converged
        assert max(found.lower, expected.lower) <= min(found.upper, expected.upper)
        assert found.mean_response_minutes == pytest.approx(expected.mean_response_minutes, rel=1e-8)
        np.testing.assert_allclose(found.busy_fractions, expected.busy_fractions, atol=1e-9)
        np.testing.assert_allclose(found.probability, expected.probability, atol=1e-10)


def test_choices_that_do_not_fit_are_made_again() -> None:
    """A greedy policy whose choices there is no room for has the same residuals."""
    problem, values = make_problem([1] * 6, [2] * 30), random_values(make_problem([1] * 6, [2] * 30), 1)
    found = []
    for free in (2.0**30, 8.0 * 64 * 13):
        backend = gpu_backend(problem, Host(free_bytes=free))
        rows = backend.rows(ValueRule(values))
        assert rows.rule == (2 if free > 1e6 else 1)
        found.append(backend.residuals(rows, backend.start()).lowest)
    np.testing.assert_array_equal(*found)


def test_fewer_steps_are_mixed_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for one step alone a solve still converges; with less it is refused with the bytes.

    So are more teams than threads can share, and more trucks than differences have digits for.
    """
    problem, small = make_problem([1] * 8, [2] * 9), Host(free_bytes=256 * 8 * 4.2)
    monkeypatch.setattr("runcard.mdp.gpu.machine.gpu", lambda: small)
    assert mixed_steps(256, small) == 1
    assert solve_optimal(problem, device="gpu").converged
    teams = "15 teams of equal size take 1.09 KiB of the memory that the threads of a block"
    for refused, host, words in (
        (problem, Host(free_bytes=7680.0), "256 states take at least 8 KiB of memory on the GPU, and 7.5 KiB are free"),
        (make_problem([1] * 6, [2]), Host(shared_bytes=900), teams),
        (make_problem([MOST_TRUCKS + 1], [1]), Host(), f"expected at most {MOST_TRUCKS} trucks, got 41"),
    ):
        with pytest.raises(SizeError, match=words):
            gpu_backend(refused, host)


def test_a_device_is_chosen(monkeypatch: pytest.MonkeyPatch, on_host: Host) -> None:
    """The GPU where it is asked for, or worth it; the processor where it is not, or does not fit; or an error."""
    problem = make_problem([1] * 4, [2])
    assert isinstance(backends.backend_for(problem, device="gpu"), GpuBackend)
    assert not isinstance(backends.backend_for(problem), GpuBackend)
    monkeypatch.setattr(backends, "WORTH_STATES", 16)
    assert isinstance(backends.backend_for(problem), GpuBackend)
    assert not isinstance(backends.backend_for(problem, device="cpu"), GpuBackend)
    card: NDArray[np.int64] = np.full((1, 1), -1)
    assert not isinstance(chain_of(problem, CardRule(card, problem.order)).backend, GpuBackend)
    with pytest.raises(InputError, match="run cards are evaluated on the processor"):
        chain_of(problem, CardRule(card, problem.order), device="gpu")
    on_host.free_bytes = 10.0
    assert not isinstance(backends.backend_for(problem), GpuBackend)
    with pytest.raises(InputError, match="expected a device, one of auto, cpu, gpu; got 'tpu'"):
        backends.backend_for(problem, device="tpu")


def test_a_gpu_holds_what_the_processor_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    """States that fit on a GPU are not refused for the memory that the processor would take."""
    monkeypatch.setattr("runcard.mdp.gpu.machine.gpu", lambda: Host(free_bytes=2.0**37))
    monkeypatch.setattr("runcard.mdp.memory.available_bytes", lambda: 2.0**33)
    check_states([1] * 28)
    for trucks, device in ((28, "cpu"), (34, "auto")):
        with pytest.raises(SizeError):
            check_states([1] * trucks, device=device)


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed here")
def test_without_cupy_the_extra_is_named() -> None:
    """No GPU without CuPy, and the error says how to get it."""
    with pytest.raises(MissingExtraError, match=r"pip install 'runcard\[gpu\]'"):
        machines.gpu()


def test_a_real_gpu() -> None:
    """The same answers on a GPU; skipped where there is none. See also benchmarks/gpu.py."""
    try:
        machines.gpu()
    except runcard.RuncardError as error:
        pytest.skip(f"needs a GPU: {error}")
    problem = grid_problem(10, 0.1, side=8)
    found, expected = solve_optimal(problem, device="gpu"), solve_optimal(problem, device="cpu")
    assert found.converged
    assert max(found.lower, expected.lower) <= min(found.upper, expected.upper)
