"""The exact solver on a GPU: correct at small sizes, its speed, and whole solves; `python -m benchmarks.gpu`.

It needs CuPy and numpy alone where a folder has the problems and the processor's answers (`--make FOLDER` writes it,
on a machine with the whole package; `--data FOLDER` reads it). Stages that no longer fit in `--seconds` are left out;
one that fails says why, and the next one runs. `$OUT`, if set, gets the figures as JSON and as an entry for the ledger.
"""

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from math import comb, inf
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.problem_file import read_problem, write_problem
from benchmarks.row import Row
from runcard.mdp.gpu import machine as machines
from runcard.mdp.gpu.arrays import DOUBLES, INTEGERS
from runcard.mdp.gpu.backend import GpuBackend, gpu_backend
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.mdp.rows import OrderRule
from runcard.mdp.solve import Solution, solve_optimal

CHECKED: Final = ("10 x 100, load 0.02", "12 x 144, load 0.1", "13 x 400, load 0.4", "mixed")
"""Problems that the processor has solved within 1e-9."""

TARGETS: Final = {20: 0.5, 24: 5.0, 26: 20.0, 28: 120.0, 30: inf}
"""Trucks, and the seconds that a whole solve to 1e-6 may take; 400 demand points, load 0.1."""

GAMMA: Final = 0.6
"""The target of a grid, as a part of its longest route. With this hardly any incident is late where there are many
trucks, so that the last passes must be in doubles; with 0.2 to 0.3 some percent are."""

KEYS: Final = ("integers", "doubles")
"""The kinds of keys, as the source numbers them."""

LEAST_RATE: Final = 5e12
"""Team evaluations a second."""


def large(num_trucks: int) -> str:
    """The name of a large problem."""
    return f"{num_trucks} x 400, load 0.1"


def file_name(name: str) -> str:
    """The file of a problem, without spaces and commas."""
    return "".join(letter if letter.isalnum() else "-" for letter in name) + ".npz"


def make(folder: Path, gamma: float) -> None:
    """Write every problem, and the processor's answers where it has them; large ones with the target of `gamma`."""
    from tests.mdp.problems import make_problem

    import runcard

    def grid(num_trucks: int, side: int, load: float, gamma: float = GAMMA) -> DispatchProblem:
        city = runcard.generate_grid(side=side, num_stations=num_trucks, load=load, seed=1, gamma=gamma)
        return runcard.dispatch_problem(city, minutes=False)

    problems = {
        CHECKED[0]: grid(10, 10, 0.02),
        CHECKED[1]: grid(12, 12, 0.1),
        CHECKED[2]: grid(13, 20, 0.4),
        CHECKED[3]: make_problem([2, 1, 3, 1, 1, 1], [1, 2, 3, 4] * 20),
        **{large(num_trucks): grid(num_trucks, 20, 0.1, gamma) for num_trucks in TARGETS},
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, problem in problems.items():
        answers: dict[str, Any] = {}
        if name in CHECKED or name == large(20):
            found = solve_optimal(problem, tolerance=1e-9 if name in CHECKED else 1e-6, device="cpu")
            answers = {"lower": found.lower, "upper": found.upper}
            if name in CHECKED:
                answers["value"] = found.value
        write_problem(folder / file_name(name), problem, **answers)


@dataclass
class Bench:
    """The stages, and what they found."""

    folder: Path
    deadline: float
    rows: list[Row] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    seen: float = 0.0
    """When the last pass ended."""

    def left(self) -> float:
        """Seconds."""
        return self.deadline - time.perf_counter()

    def say(self, name: str, measured: str, target: str = "", *, met: bool = True) -> None:
        """Keep and print a line."""
        self.rows.append(Row(name, measured, target, met))
        print(
            f"{'met   ' if met else 'MISSED'} {name}: {measured}{f' (target {target})' if target else ''}", flush=True
        )

    def run(self, name: str, stage: Callable[[], None], seconds: float = 0.0) -> None:
        """Run a stage if so many seconds are left; what it raises is printed."""
        if self.left() < seconds:
            print(f"left out {name}: {seconds:.0f} s expected, {self.left():.0f} s left", flush=True)
            return
        began = time.perf_counter()
        try:
            stage()
        except Exception:
            traceback.print_exc()
            self.say(name, "failed", met=False)
        print(f"-- {name}: {time.perf_counter() - began:.2f} s, {self.left():.0f} s left", flush=True)
        self.keep()

    def keep(self) -> None:
        """Write what was found so far."""
        out = os.environ.get("OUT")
        if not out:
            return
        lines = [f"| {r.name} | {r.measured} | {r.target} | {'met' if r.met else '**missed**'} |" for r in self.rows]
        content = {"rows": [vars(row) for row in self.rows], **self.figures}
        Path(out, "gpu.json").write_text(json.dumps(content, indent=1, default=float), encoding="utf-8")
        Path(out, "gpu.md").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def read(self, name: str) -> tuple[DispatchProblem, dict[str, Any]]:
        """A problem, and the processor's answers."""
        return read_problem(self.folder / file_name(name))

    def stop_in_time(self, progress: Progress) -> None:
        """Stop a solve that would take too long."""
        print(f"   {progress.step}: {progress.lower:.9g} to {progress.upper:.9g}, {self.left():.1f} s left", flush=True)
        now = time.perf_counter()
        last, self.seen = now - self.seen if progress.step > 1 else 0.0, now
        if self.left() < 2.0 + last:
            raise TimeoutError("no time is left for another pass")


def free(device: machines.Gpu) -> None:
    """Give back the memory of arrays that are gone."""
    device.cupy.get_default_memory_pool().free_all_blocks()


def compile_stage(bench: Bench, device: machines.Gpu) -> None:
    """Compile the kernels of 400 points, and say what they take; from cubins of the folder where that fails."""
    print(device.name, "CuPy", device.cupy.__version__, f"{device.free_bytes / 2**30:.1f} GiB free", flush=True)
    for points, key in ((1, 0), (13, 0), (7, 1)):
        began = time.perf_counter()
        try:
            device.kernel("bellman", points, key, 4).compile()
        except Exception:
            traceback.print_exc()
            print("taking the cubins instead", flush=True)
            machines._kernel.cache_clear()
            machines.compiled = lambda cupy, points, key, warps: cupy.RawModule(  # type: ignore[assignment]
                path=str(bench.folder / f"{points}-{key}-{warps}.cubin")
            )
        kernel = device.kernel("bellman", points, key, 4)
        seconds = time.perf_counter() - began
        words = f"{seconds:.2f} s; {kernel.num_regs} registers, {kernel.local_size_bytes} bytes of local memory"
        bench.say(f"compile, {points} points, {KEYS[key]}", words)


def check_stage(bench: Bench, device: machines.Gpu, name: str) -> None:
    """Solve a small problem within 1e-9: bounds that overlap with the processor's, and its decisions."""
    problem, answers = bench.read(name)
    found = solve_optimal(problem, tolerance=1e-9, device="gpu")
    assert found.converged
    overlap = max(found.lower, answers["lower"]) <= min(found.upper, answers["upper"])
    differing, worst = compare_decisions(problem, found.value, answers["value"])
    bench.say(
        f"{name} against the processor",
        f"{found.upper:.10g}, {found.improvements} passes; {differing} decisions differ, by {worst:.1e} at most",
        "same bounds, differences < 1e-9",
        met=bool(overlap and worst < 1e-9),
    )


def compare_decisions(problem: DispatchProblem, value: Any, other: Any) -> tuple[int, float]:
    """How many decisions of some random states differ, and by how much the worse team is worse."""
    rng, teams, offset = np.random.default_rng(0), problem.teams, problem.layout.offset
    stride, differing, worst = problem.layout.states.stride, 0, 0.0
    for _ in range(300):
        idle = np.array([rng.integers(0, trucks + 1) for trucks in problem.trucks])
        state = int(idle @ stride)
        for k in np.unique(problem.trucks_needed):
            points = np.flatnonzero(problem.trucks_needed == k)
            listed = teams.idle(idle, min(int(k), int(idle.sum())))
            own, others = (
                problem.cost[listed][:, points] + (one[state - offset[listed]] - one[state])[:, None]
                for one in (value, other)
            )
            mine, theirs = own.argmin(axis=0), others.argmin(axis=0)
            every = np.arange(len(points))
            differing += int((mine != theirs).sum())
            worst = max(worst, float((others[mine, every] - others[theirs, every]).max()))
    return differing, worst


def solve_stage(bench: Bench, device: machines.Gpu, num_trucks: int, times: dict[int, float]) -> None:
    """A whole solve to 1e-6, twice where it is short; and the speed of one pass at its values."""
    problem, answers = bench.read(large(num_trucks))
    found = warmest(problem, bench)
    seconds, target = found.seconds, TARGETS[num_trucks]
    times[num_trucks] = seconds
    peak = device.cupy.get_default_memory_pool().total_bytes() / 2**30
    assert found.converged
    if answers:
        assert max(found.lower, float(answers["lower"])) <= min(found.upper, float(answers["upper"]))
    words = f"{seconds:.3f} s, {found.improvements} passes, {peak:.2f} GiB; late {found.lower:.9g} to {found.upper:.9g}"
    told = "" if target == inf else f"< {target:g} s"
    bench.say(f"optimum {large(num_trucks)}", words, told, met=seconds < target)
    bench.figures[f"solve {num_trucks}"] = {
        "seconds": seconds, "passes": found.improvements, "gib": peak, "lower": found.lower, "upper": found.upper,
    }  # fmt: skip
    free(device)
    if num_trucks < 30:
        pass_speed(bench, gpu_backend(problem, device), found, num_trucks)
    del found
    free(device)


def warmest(problem: DispatchProblem, bench: Bench) -> Solution:
    """The solution that took the least time; a short solve is done three times."""
    found = solve_optimal(problem, tolerance=1e-6, device="gpu", progress=bench.stop_in_time)
    for _ in range(2 if found.seconds < 3.0 else 0):
        again = solve_optimal(problem, tolerance=1e-6, device="gpu")
        found = again if again.seconds < found.seconds else found
    return found


def pass_speed(bench: Bench, backend: GpuBackend, found: Solution, num_trucks: int) -> None:
    """The speed of a pass in each kind of keys, doubles only where that is short; they give the same residuals."""
    value = backend.start(found.value)
    evaluations = comb(num_trucks, 2) * 2.0 ** (num_trucks - 2) * backend.problem.num_points
    residuals, device = {}, backend.machine
    for kind in (INTEGERS, DOUBLES):
        seconds, residual = [], device.empty(backend.problem.num_states)
        for _ in range(4 if num_trucks <= 26 else 2):
            began = time.perf_counter()
            backend._bellman(kind, value.array, residual)
            residuals[kind] = backend._residuals(value.array, residual, backend._costs(kind).unit)  # waits for it
            seconds.append(time.perf_counter() - began)
        best, counts = min(seconds), kind == INTEGERS
        words, target = f"{best * 1e3:.2f} ms, {evaluations / best:.3g} evaluations/s", f">= {LEAST_RATE:g}/s"
        met = not counts or evaluations / best >= LEAST_RATE
        bench.say(f"  a pass at {num_trucks} in {KEYS[kind]}", words, target if counts else "", met=met)
        bench.figures[f"pass {num_trucks} {KEYS[kind]}"] = {"seconds": best, "per_second": evaluations / best}
    one, exact = residuals[INTEGERS], residuals[DOUBLES]
    off = max(np.abs(one.lowest - exact.lowest).max(), np.abs(one.highest - exact.highest).max()) / one.unit
    bench.say(f"  integers against doubles at {num_trucks}", f"{off:.2f} units", "<= 1", met=bool(off <= 1.0))


def closest_first_stage(bench: Bench, num_trucks: int) -> None:
    """Closest-first evaluated: its values, bounds and probabilities."""
    from runcard.mdp.evaluate import evaluate_rule

    problem, _ = bench.read(large(num_trucks))
    found = evaluate_rule(problem, OrderRule(problem.order), device="gpu", tolerance=1e-6, progress=bench.stop_in_time)
    optimum = bench.figures.get(f"solve {num_trucks}", {}).get("lower", 0.0)
    assert found.lower >= optimum * (1 - 1e-9)
    words = f"{found.seconds:.2f} s; late {found.lower:.9g} to {found.upper:.9g}"
    bench.say(f"closest-first {large(num_trucks)}", words, "converged", met=found.converged)


def main() -> int:
    """0 if every target was met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long it may take")
    parser.add_argument("--data", type=Path, default=Path(".carry"), help="the folder of problems")
    parser.add_argument("--make", type=Path, help="write that folder, and do nothing else")
    parser.add_argument("--gamma", type=float, default=GAMMA, help="the target of the large problems that are made")
    parser.add_argument("--trucks", type=int, nargs="+", choices=TARGETS, default=list(TARGETS), help="what is solved")
    options = parser.parse_args()
    if options.make:
        make(options.make, options.gamma)
        return 0
    bench = Bench(options.data, time.perf_counter() + options.seconds)
    device = machines.gpu()
    bench.run("compile", lambda: compile_stage(bench, device))
    for name in CHECKED:
        bench.run(name, lambda name=name: check_stage(bench, device, name))  # type: ignore[misc]
    times: dict[int, float] = {}
    for num_trucks in options.trucks:
        if num_trucks == 30:
            bench.run("closest-first 20", lambda: closest_first_stage(bench, 20), 10.0)
        # Four times the states, some more teams, and a few passes more for their speed.
        expected = 6.0 * times.get(num_trucks - 2, times.get(num_trucks - 4, 0.2))
        stage = lambda num_trucks=num_trucks: solve_stage(bench, device, num_trucks, times)  # noqa: E731
        bench.run(large(num_trucks), stage, expected)
    bench.run("closest-first 24", lambda: closest_first_stage(bench, 24), 30.0)
    print("\n| what | measured | target | |\n| --- | --- | --- | --- |", flush=True)
    for row in bench.rows:
        print(f"| {row.name} | {row.measured} | {row.target} | {'met' if row.met else '**missed**'} |", flush=True)
    return 0 if all(row.met for row in bench.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
