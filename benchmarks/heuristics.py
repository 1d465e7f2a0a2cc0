"""How near to the optimum the heuristics are, and how quickly they decide.

The share of the optimum's gain that a policy keeps is mean (g_CF - g) / g_CF over mean (g_CF - g_OPT) / g_CF, the means
over random grids, as in the paper's tables. Its standard error, and its distance from the paper's, are those of the
study (`runcard.study.evidence`).
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.policy_files import load_policy, save_policy

import runcard
from benchmarks.cases import THREADS, Row, department
from runcard.mdp.independent import Walks
from runcard.mdp.solve import solve_optimal
from runcard.policy.ahead import AheadPolicy
from runcard.policy.queueing import QueueingPolicy
from runcard.study.evidence import Share, off_paper, share_in_paper, share_kept
from runcard.study.tables import improvement

KEPT = ("one-step", "one-step-queueing", "one-step-queueing-printed", "one-step-mean-field", "fixed-card")
MOVED = 1e-10
"""A chance that moves by less changes no price that counts."""
NEAR = ("one-step", "one-step-queueing", "one-step-mean-field")


@dataclass(frozen=True)
class Setting:
    """Some random grids: their side, trucks, load and chance of shared delays."""

    side: int
    num_trucks: int
    load: float
    shared_delay: float

    @property
    def words(self) -> str:
        """The setting in a few words."""
        kind = "correlated" if self.shared_delay else "uncorrelated"
        return f"{self.num_trucks} trucks, side {self.side}, load {self.load:g}, {kind}"


def late_fractions(setting: Setting, names: Sequence[str], seed: int) -> list[float]:
    """The late fractions of closest-first, of the optimum (within 1e-6) and of the named policies on one grid."""
    city = runcard.generate_grid(
        side=setting.side, num_stations=setting.num_trucks, load=setting.load, seed=seed,
        shared_delay=setting.shared_delay,
    )  # fmt: skip
    problem = runcard.dispatch_problem(city)
    optimum = solve_optimal(problem, tolerance=1e-6, threads=1)
    assert optimum.converged
    late = [(optimum.lower + optimum.upper) / 2]
    for words in ("closest-first", *names):
        # A number after a name is its horizon.
        name, *horizon = words.split()
        busy_times = float(horizon[0]) if horizon else None
        policy = runcard.solve_problem(problem, name, horizon_busy_times=busy_times, threads=1)
        found = runcard.evaluate(policy, threads=1)
        # Where hardly anything is late, rounding and what is stated of P(late) may keep the bounds further apart.
        assert found.upper - found.lower <= 1e-6 * found.upper + 2.0 * problem.cost_error
        # Nothing is better than the optimum.
        assert found.upper >= optimum.lower
        late.append(found.late_fraction)
    return [late[1], late[0], *late[2:]]


def over_grids(
    setting: Setting, names: Sequence[str], num_grids: int, pool: ProcessPoolExecutor
) -> NDArray[np.float64]:
    """[grids, 2 + names] the late fractions on several grids."""
    chunk = max(1, num_grids // (4 * THREADS))
    return np.array(list(pool.map(partial(late_fractions, setting, names), range(num_grids), chunksize=chunk)))


def kept_share(late: NDArray[np.float64], column: int) -> Share:
    """The share of the optimum's gain that the policy of a column keeps, and its standard error."""
    return share_kept(improvement(late[:, column], late[:, 0]), improvement(late[:, 1], late[:, 0]))


def workers() -> ProcessPoolExecutor:
    """Processes that each work on a grid of their own."""
    return ProcessPoolExecutor(THREADS, mp_context=get_context("spawn"))


def shares(num_grids: int, loads: Sequence[float] = (0.02, 0.04, 0.1, 0.4, 0.6)) -> Iterator[Row]:
    """The shares kept on grids of side 6; what the paper prints for its own version, beside ours of the same."""
    with workers() as pool:
        for load in loads:
            for num_trucks in (3, 4, 5, 6):
                for shared_delay in (0.0, 1.0):
                    setting = Setting(6, num_trucks, load, shared_delay)
                    late = over_grids(setting, KEPT, num_grids, pool)
                    found = {name: kept_share(late, 2 + n) for n, name in enumerate(KEPT)}
                    yield from _share_rows(setting, found, num_grids)


def _share_rows(setting: Setting, found: dict[str, Share], num_grids: int) -> Iterator[Row]:
    """The rows of one setting."""
    aims = {"one-step-mean-field": 0.99 if setting.load <= 0.1 else 0.98}
    if setting.load <= 0.1:
        aims["one-step-queueing"] = 0.96
    parts = [f"{name} {100 * share.value:.2f}" for name, share in found.items()]
    met = all(found[name].value >= aim for name, aim in aims.items())
    target = ", ".join(f"{name} >= {100 * aim:g} %" for name, aim in aims.items())
    yield Row(f"share kept, {setting.words}", f"{', '.join(parts)} %", target, met)
    printed, cell = found["one-step-queueing-printed"], (setting.num_trucks, setting.load, setting.shared_delay)
    off = off_paper(printed, *cell, num_grids)
    yield Row(
        "  one-step-queueing-printed and the paper",
        f"{printed.words} % here, {100 * share_in_paper(*cell):.1f} % in its table 3: {off:+.1f} standard errors",
        "within 3 standard errors",
        abs(off) <= 3.0,
    )


def gaps(num_grids: int) -> Iterator[Row]:
    """The mean distance to the optimum at 10 and 13 trucks."""
    with workers() as pool:
        for num_trucks in (10, 13):
            for side in (10, 20):
                for load in (0.02, 0.1):
                    for shared_delay in (0.0, 1.0):
                        setting = Setting(side, num_trucks, load, shared_delay)
                        late = over_grids(setting, NEAR, num_grids, pool)
                        gap = {name: float((late[:, 2 + n] / late[:, 1] - 1).mean()) for n, name in enumerate(NEAR)}
                        parts = [f"{name} {100 * one:.2f}" for name, one in gap.items()]
                        yield Row(
                            f"mean gap to the optimum, {setting.words}",
                            f"{', '.join(parts)} %",
                            "one-step-mean-field <= 1 %",
                            gap["one-step-mean-field"] <= 0.01,
                        )


def gaps_of_neighbourhoods(num_grids: int) -> Iterator[Row]:
    """The same at 16 trucks, which are too many for one neighbourhood."""
    with workers() as pool:
        for side in (10, 20):
            for load in (0.02, 0.1):
                setting, names = Setting(side, 16, load, 1.0), ("one-step", "one-step-mean-field")
                late = over_grids(setting, names, num_grids, pool)
                parts = [f"{name} {100 * (late[:, 2 + n] / late[:, 1] - 1).mean():.2f}" for n, name in enumerate(names)]
                parts.append(f"closest-first {100 * (late[:, 0] / late[:, 1] - 1).mean():.0f}")
                yield Row(f"mean gap to the optimum, {setting.words}", f"{', '.join(parts)} %", "(none set)", True)


def horizons(num_grids: int) -> Iterator[Row]:
    """The share that one-step-queueing keeps with T = 2/μ, beside its default, at the highest load with a target."""
    with workers() as pool:
        for num_trucks in (3, 4, 5, 6):
            for shared_delay in (0.0, 1.0):
                setting = Setting(6, num_trucks, 0.1, shared_delay)
                names = ("one-step-queueing", "one-step-queueing 2")
                late = over_grids(setting, names, num_grids, pool)
                default, fixed = (100 * kept_share(late, column).value for column in (2, 3))
                yield Row(
                    f"share kept by one-step-queueing, {setting.words}",
                    f"default horizon {default:.2f}, T = 2/μ {fixed:.2f} %",
                    "default >= 96 %",
                    default >= 96,
                )


def whole_table() -> Iterator[Row]:
    """The values of every state at 13 x 400, from the problem to the rule that evaluation takes."""
    problem = department(13)
    for name, limit in (("one-step-mean-field", 3.0), ("one-step-queueing", 3.0)):
        runcard.solve_problem(department(8, side=6), name).rule  # noqa: B018 loads the kernels
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            rule = runcard.solve_problem(problem, name, threads=THREADS).rule
            seconds.append(time.perf_counter() - began)
        assert len(rule.start) >= 2**13
        middle = statistics.median(seconds)
        yield Row(f"whole table of {name}, 13 x 400", f"{middle:.2f} s", f"< {limit:g} s", middle < limit)


def online(num_trucks: int, side: int, calls: int, limits_ms: dict[str, float | None]) -> Iterator[Row]:
    """One decision in a random state of the steady mean field, loaded from its file, on one thread.

    Each policy has a limit for its 99th percentile; without one its times are only told.
    """
    problem = department(num_trucks, side=side)
    steady = runcard.solve_problem(problem, "one-step-mean-field")
    assert isinstance(steady, AheadPolicy)
    rng = np.random.default_rng(0)
    states = [(rng.random(num_trucks) > steady.values.busy).astype(np.int64) for _ in range(calls)]
    points = rng.integers(problem.num_points, size=calls).tolist()
    for name, limit_ms in limits_ms.items():
        policy = steady if name == steady.name else runcard.solve_problem(problem, name)
        with tempfile.TemporaryDirectory() as folder:
            loaded = load_policy(save_policy(policy, Path(folder) / "policy"), problem)
        for idle, point in zip(states[:3], points[:3], strict=True):
            assert loaded.decide(idle, point) == policy.decide(idle, point)
        milliseconds = []
        for idle, point in zip(states, points, strict=True):
            began = time.perf_counter()
            decision = loaded.decide(idle, point)
            milliseconds.append(1e3 * (time.perf_counter() - began))
            assert all(idle[problem.station_ids.index(station)] for station in decision.team if station != "outside")
        late, middle = float(np.quantile(milliseconds, 0.99)), statistics.median(milliseconds)
        yield Row(
            f"online decision of {name}, {num_trucks} x {problem.num_points}",
            f"p99 {late:.2f} ms (median {middle:.2f}, {calls} calls)",
            "told" if limit_ms is None else f"p99 < {limit_ms:g} ms",
            limit_ms is None or late < limit_ms,
        )


def concerned(num_trucks: int, side: int, num_pairs: int = 50) -> Iterator[Row]:
    """How many demand points can change when two trucks that would go to one incident leave, with every truck idle."""
    problem = department(num_trucks, side=side)
    steady, queueing = (
        runcard.solve_problem(problem, "one-step-mean-field"),
        runcard.solve_problem(problem, "one-step-queueing"),
    )
    assert isinstance(steady, AheadPolicy)
    assert isinstance(queueing, QueueingPolicy)
    queues, rng = queueing.queues, np.random.default_rng(0)
    before = queues.fixed_point(problem.trucks)
    near, asking = [], []
    for point in rng.integers(problem.num_points, size=num_pairs):
        pair = rng.choice(problem.order[point][:6], 2, replace=False)
        near.append(steady.points_concerned(pair) / problem.num_points)
        left = problem.trucks.copy()
        left[pair] -= 1
        moved = np.abs(queues.fixed_point(left).busy - before.busy) > MOVED
        asking.append(_that_ask(queues.independent.walks, before.busy, moved))
    yield Row(
        f"demand points concerned by a pair, {num_trucks} x {problem.num_points}",
        f"one-step-mean-field {100 * statistics.mean(near):.0f} %, "
        f"one-step-queueing {100 * statistics.mean(asking):.0f} % (chances that move by {MOVED:g})",
        "told",
        True,
    )


def _that_ask(walks: Walks, busy: NDArray[np.float64], moved: NDArray[np.bool_]) -> float:
    """The share of demand points, each of which needs two trucks, that may ask for one of the trucks `moved`."""
    none, one = np.ones(len(walks.truck)), np.zeros(len(walks.truck))
    found = np.zeros(len(walks.truck), np.bool_)
    for truck in walks.truck.T:
        found |= moved[truck] & (none + one > walks.stop)
        one = one * busy[truck] + none * (1.0 - busy[truck])
        none = none * busy[truck]
    return float(found.mean())


def memory_online(num_trucks: int = 200, side: int = 45) -> Iterator[Row]:
    """The memory of a process that solves the largest department and decides, and of one that loads its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        solving = peak_gib(f"c.solve_and_save({num_trucks}, {side}, {str(path)!r})")
        deciding = peak_gib(f"c.load_and_decide({str(path)!r})")
        size = path.stat().st_size / 2**30
    for what, gib in (("to solve", solving), ("to load and decide", deciding)):
        yield Row(
            f"memory {what}, one-step-mean-field, {num_trucks} x {side * side}",
            f"{gib:.2f} GiB (file {size:.2f} GiB)",
            "< 1 GiB",
            gib < 1,
        )


def solve_and_save(num_trucks: int, side: int, path: str) -> None:
    """Write the policy file of a large department."""
    city = runcard.generate_grid(side=side, num_stations=num_trucks, load=0.1, seed=1)
    problem = runcard.dispatch_problem(city, minutes=False)
    save_policy(runcard.solve_problem(problem, "one-step-mean-field", threads=THREADS), path)


def load_and_decide(path: str) -> None:
    """Decide from a policy file with every truck idle."""
    policy = load_policy(path)
    policy.decide(policy.problem.trucks, 0)


def peak_gib(call: str, module: str = "heuristics") -> float:
    """The peak memory of a process of its own that makes a call of a module of benchmarks, named c there."""
    code = f"import benchmarks.{module} as c; from benchmarks.heuristics import print_peak; {call}; print_peak()"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def print_peak() -> None:
    """Print the peak memory of this process in GiB."""
    # Not ru_maxrss, which still has that of the process that started this one.
    status = Path("/proc/self/status").read_text()
    print(int(status.split("VmHWM:")[1].split()[0]) / 2**20)


def online_cases(*, quick: bool) -> Iterator[Row]:
    """How quickly the heuristics decide, and in how much memory; `quick` leaves out the largest department."""
    yield from whole_table()
    yield from online(20, 20, 1000, {"one-step-mean-field": 2.0, "one-step-queueing": 20.0})
    yield from online(50, 32, 500, {"one-step-mean-field": 10.0, "one-step-queueing": None})
    if not quick:
        yield from online(200, 45, 200, {"one-step-mean-field": 50.0, "one-step-queueing": None})
        yield from concerned(50, 32)
        yield from concerned(200, 45)
        yield from memory_online()


def near_cases(*, quick: bool) -> Iterator[Row]:
    """How near to the optimum the heuristics are; `quick` takes few grids."""
    yield from shares(10 if quick else 150, (0.1, 0.4) if quick else (0.02, 0.04, 0.1, 0.4, 0.6))
    if not quick:
        yield from gaps(20)
        yield from gaps_of_neighbourhoods(6)
        yield from horizons(150)
