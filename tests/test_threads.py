"""Tests of the thread pool: order, errors, forks, and that the number of threads changes no bit of a result."""

import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import OrderRule, ValueRule
from runcard.mdp.solve import solve_optimal
from runcard.threads import alone, available_threads, run_each

from .mdp.problems import make_problem


@pytest.fixture(scope="module")
def large() -> DispatchProblem:
    """A problem of 6144 states in several chunks and waves, with mixed needs."""
    return make_problem([1, 2, *[1] * 10], [2, 1, 2, 3, 2, 2, 1], load=0.3, seed=3)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_results_come_in_order_and_errors_reach_the_caller(threads: int) -> None:
    """Every item is worked on once and results keep their order; an error is raised, and the pool works afterwards."""
    seen: list[int] = []

    def work(item: int) -> int:
        seen.append(item)
        return item * item

    for num_items in (0, 1, 2, 50):
        seen.clear()
        assert run_each(work, range(num_items), threads) == [item * item for item in range(num_items)]
        assert sorted(seen) == list(range(num_items))
    for bad in (0, 7, 19):
        with pytest.raises(ZeroDivisionError):
            run_each(lambda item, bad=bad: 1 // (item - bad), range(20), threads)


def test_an_error_in_a_helper_reaches_the_caller() -> None:
    """An error that only the helping thread meets is raised too."""
    main, met = threading.get_ident(), threading.Event()

    def work(_: int) -> None:
        if threading.get_ident() == main:
            assert met.wait(10)
        else:
            met.set()
            raise KeyError("helper")

    with pytest.raises(KeyError, match="helper"):
        run_each(work, range(2), 2)


def test_work_is_shared() -> None:
    """Two items that wait for each other finish with two threads: they run at the same time."""
    barrier = threading.Barrier(2, timeout=10)
    assert sorted(run_each(lambda _: barrier.wait(), range(2), 2)) == [0, 1]


def test_two_callers_at_once() -> None:
    """A service may solve from several threads of its own at the same time."""
    results: dict[int, list[int]] = {}

    def call(caller: int) -> None:
        results[caller] = run_each(lambda item: item + caller, range(200), 2)

    callers = [threading.Thread(target=call, args=(caller,)) for caller in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(20)
    assert results == {caller: [item + caller for item in range(200)] for caller in range(4)}


def test_who_works_alone_has_one_thread() -> None:
    """Inside, there is one thread; in other threads, and afterwards, there are as many as before: one at least."""
    before, elsewhere = available_threads(), list[int]()
    assert before >= 1
    with alone():
        assert available_threads() == 1
        other = threading.Thread(target=lambda: elsewhere.append(available_threads()))
        other.start()
        other.join()
    assert [available_threads()] == elsewhere == [before]


@pytest.mark.parametrize("of", [lambda p: OrderRule(p.order), lambda p: ValueRule(solve_optimal(p, threads=1).value)])
def test_an_evaluation_is_the_same_with_any_number_of_threads(
    large: DispatchProblem, of: Callable[[DispatchProblem], OrderRule | ValueRule]
) -> None:
    """Values, probabilities and every number made of them have the same bytes with one, two and three threads."""
    rule = of(large)
    one, *others = (evaluate_rule(large, rule, threads=threads) for threads in (1, 2, 3))
    assert one.converged
    for other in others:
        for name in ("value", "probability", "dispatch_share", "busy_fractions", "idle_distribution"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
        for name in ("late_fraction", "lower", "upper", "mean_response_minutes", "outside_share"):
            assert getattr(one, name) == getattr(other, name), name


def test_a_solution_is_the_same_with_any_number_of_threads(large: DispatchProblem) -> None:
    """The optimum has the same bytes with one, two and three threads."""
    one, *others = (solve_optimal(large, threads=threads) for threads in (1, 2, 3))
    for other in others:
        assert one.value.tobytes() == other.value.tobytes()
        assert (one.lower, one.upper, one.improvements) == (other.lower, other.upper, other.improvements)


FORK = """
import os, sys, warnings
import numpy as np
from runcard.city.grid import generate_grid
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.solve import solve_optimal
from runcard.mdp import rows

warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of every fork beside threads
rows.CHUNK_STATES = 4
problem = dispatch_problem(generate_grid(side=4, num_stations=5, load=0.2, seed=1))
before = solve_optimal(problem, threads=2)
child = os.fork()
if child == 0:
    after = solve_optimal(problem, threads=2)
    os._exit(0 if np.array_equal(before.value, after.value) else 3)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
def test_a_forked_child_has_threads_of_its_own() -> None:
    """After the parent has used its threads, a forked child solves the same problem and does not hang."""
    assert subprocess.run([sys.executable, "-c", FORK], check=False, timeout=120).returncode == 0


def test_work_may_call_for_threads_itself() -> None:
    """Work that splits its own work over as many threads ends too: nobody waits for a helper that cannot begin."""
    results = run_each(lambda n: sum(run_each(lambda m: n * m, range(5), 2)), range(6), 2)
    assert results == [10 * n for n in range(6)]
