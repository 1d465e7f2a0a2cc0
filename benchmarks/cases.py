"""The measurements, each a function that asserts its answer and returns rows of the table."""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.policy_files import load_policy, save_policy

import runcard
from benchmarks import peers
from benchmarks.peak import brute_force_sums, sums_per_second
from benchmarks.row import Row
from runcard.mdp.evaluate import evaluate_rule
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.rows import ValueRule
from runcard.mdp.solve import solve_optimal

GRID_SEED = 1
THREADS = 2


def department(num_trucks: int, load: float = 0.1, side: int = 20) -> DispatchProblem:
    """A random grid of side² demand points and stations of one truck, as the paper draws them."""
    return runcard.dispatch_problem(
        runcard.generate_grid(side=side, num_stations=num_trucks, load=load, seed=GRID_SEED)
    )


def times(work: Callable[[], object], tries: int) -> list[float]:
    """Seconds of each of some tries, after one that is not counted."""
    work()
    seconds = []
    for _ in range(tries):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return seconds


def exact_optimum(num_trucks: int, limit_seconds: float, limit_ratio: float | None, tries: int) -> Iterator[Row]:
    """The optimum of 400 demand points within 1e-6 at three loads, and its ratio to one sweep at the machine's peak."""
    peak = sums_per_second(np.float32, THREADS)
    own_peak = sums_per_second(np.uint32, THREADS)
    for load in (0.02, 0.1, 0.4):
        problem = department(num_trucks, load)
        solution = solve_optimal(problem, tolerance=1e-6, threads=THREADS)
        assert solution.converged
        # The error of P(late) itself, about 1e-12, is in the bounds, too, and no solver can make it smaller.
        assert solution.upper - solution.lower - 2.0 * problem.cost_error <= 1e-6 * solution.upper
        exact = evaluate_rule(problem, ValueRule(solution.value), threads=THREADS)
        assert exact.converged
        assert max(solution.lower, exact.lower) <= min(solution.upper, exact.upper)
        # A fresh copy each time, so that nothing which a problem keeps is used again.
        seconds = times(lambda p=problem: solve_optimal(replace(p), tolerance=1e-6, threads=THREADS), tries)
        peak = max(peak, sums_per_second(np.float32, THREADS))
        sweep = brute_force_sums(num_trucks, 400) / peak
        best, middle = min(seconds), statistics.median(seconds)
        late = f"late {solution.upper:.3e}, {solution.improvements} improvements"
        name = f"optimum {num_trucks} x 400, load {load}"
        yield Row(name, f"{middle:.3f} s (best {best:.3f}); {late}", f"< {limit_seconds} s", middle < limit_seconds)
        if limit_ratio is not None:
            own = brute_force_sums(num_trucks, 400) / own_peak
            yield Row(
                f"  in sweeps at peak ({peak:.2e} sums/s)",
                f"{middle / sweep:.1f} (best {best / sweep:.1f}; {middle / own:.1f} at the {own_peak:.2e}/s of keys)",
                f"<= {limit_ratio:g}",
                middle / sweep <= limit_ratio,
            )


def memory_of_largest() -> Iterator[Row]:
    """The memory of a process that solves 20 × 400."""
    code = (
        "import resource, benchmarks.cases as c; from runcard.mdp.solve import solve_optimal;"
        "assert solve_optimal(c.department(20), tolerance=1e-6).converged;"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    gib = int(done.stdout) / 1024**2
    yield Row("memory of 20 x 400", f"{gib:.2f} GiB", "< 3 GiB", gib < 3)


def against_quantecon(num_trucks: int = 12, side: int = 20) -> Iterator[Row]:
    """QuantEcon: the same g to 1e-8, and how much longer it takes, in a process of its own for its memory."""
    late, ours = _ours(department(num_trucks, side=side))
    code = f"import benchmarks.cases as c; c.print_quantecon({num_trucks}, {side}, {late!r})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    theirs, seconds, gib = map(float, done.stdout.split())
    assert abs(theirs / late - 1) < 1e-8, (theirs, late)
    yield Row(
        f"QuantEcon, modified policy iteration, {num_trucks} x {side**2}",
        f"{seconds:.1f} s, {gib:.1f} GiB; ours {ours * 1e3:.1f} ms: {seconds / ours:.0f} times",
        ">= 100 times",
        seconds / ours >= 100,
    )


def print_quantecon(num_trucks: int, side: int, late: float) -> None:
    """Print the late rate that QuantEcon finds, its seconds, and the memory of this process."""
    encoding = peers.encode(department(num_trucks, side=side))
    theirs, seconds = peers.solve_with_quantecon(encoding, 1e-8 * late / -encoding.late_per_day)
    print(theirs, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2)


def against_pymdptoolbox(num_trucks: int = 10, side: int = 20) -> Iterator[Row]:
    """pymdptoolbox: the same g to 1e-8, and how much longer it takes; with more trucks it takes tens of minutes."""
    problem = department(num_trucks, side=side)
    late, ours = _ours(problem)
    encoding = peers.encode(problem)
    theirs, seconds = peers.solve_with_pymdptoolbox(encoding, 1e-9 * late / -encoding.late_per_day)
    assert abs(theirs / late - 1) < 1e-8, (theirs, late)
    yield Row(
        f"pymdptoolbox, relative value iteration, {num_trucks} x {side**2}",
        f"{seconds:.1f} s; ours {ours * 1e3:.1f} ms: {seconds / ours:.0f} times",
        ">= 1000 times",
        seconds / ours >= 1000,
    )


def _ours(problem: DispatchProblem) -> tuple[float, float]:
    """Our optimal late rate, and the median seconds of a solve within 1e-8."""
    policy = runcard.solve_problem(problem, "optimal", tolerance=1e-8, threads=THREADS)
    seconds = times(lambda: runcard.solve_problem(replace(problem), "optimal", tolerance=1e-8, threads=THREADS), 15)
    return runcard.evaluate(policy).late_per_day, statistics.median(seconds)


def small_cities() -> Iterator[Row]:
    """Six trucks × 36 points: routes, P(late), all three policies solved and evaluated, per city."""
    cities = [runcard.generate_grid(side=6, num_stations=6, load=0.1, seed=seed) for seed in range(40)]

    def study() -> list[float]:
        problems = (runcard.dispatch_problem(city) for city in cities)
        names = ("closest-first", "one-step", "optimal")
        return [
            runcard.evaluate(runcard.solve_problem(problem, name)).late_fraction
            for problem in problems
            for name in names
        ]

    closest, one_step, optimal = np.array(study()).reshape(-1, 3).T
    assert (optimal <= one_step * (1 + 1e-9)).all()
    assert (one_step <= closest * (1 + 1e-9)).all()
    milliseconds = 1e3 * statistics.median(times(study, 5)) / len(cities)
    yield Row("three policies, 6 x 36, per city", f"{milliseconds:.2f} ms", "< 5 ms", milliseconds < 5)


def decisions() -> Iterator[Row]:
    """One decision of a policy loaded from its file, 16 × 400."""
    problem = department(16)
    policy = runcard.solve_problem(problem, "optimal", tolerance=1e-6)
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_policy(save_policy(policy, Path(folder) / "policy.safetensors"), problem)
    rng = np.random.default_rng(0)
    calls = [(rng.integers(0, 2, problem.num_stations), int(rng.integers(problem.num_points))) for _ in range(2000)]
    for idle, point in calls[:200]:
        assert loaded.decide(idle, point) == policy.decide(idle, point)
    microseconds = []
    for idle, point in calls:
        began = time.perf_counter()
        loaded.decide(idle, point)
        microseconds.append(1e6 * (time.perf_counter() - began))
    middle, late = statistics.median(microseconds), float(np.quantile(microseconds, 0.99))
    yield Row("decision from a loaded file, 16 x 400", f"{middle:.0f} µs (p99 {late:.0f})", "< 100 µs", middle < 100)


def help_text() -> Iterator[Row]:
    """`runcard --help` from a shell."""
    command = [str(Path(sys.executable).parent / "runcard"), "--help"]
    seconds = times(lambda: subprocess.run(command, check=True, capture_output=True), 7)
    middle = statistics.median(seconds)
    yield Row("runcard --help", f"{middle:.2f} s", "< 0.5 s", middle < 0.5)


def all_cases(*, quick: bool) -> Iterator[Row]:
    """Every measurement; `quick` leaves out those that take more than a few seconds."""
    yield from exact_optimum(13, 0.2, None, tries=9)
    yield from exact_optimum(16, 1.5, 25, tries=7)
    if not quick:
        yield from exact_optimum(20, 30, 25, tries=3)
        yield from memory_of_largest()
    yield from small_cities()
    yield from decisions()
    yield from help_text()
    if not quick:
        yield from against_quantecon()
        yield from against_pymdptoolbox()
