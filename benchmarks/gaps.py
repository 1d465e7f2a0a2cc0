"""How far policies are from the exact optimum in departments whose states nobody lists but the solver.

With h the optimal values and f the state when an incident at j comes, sending team a instead of the best one costs

    regret(f, j, a) = cost(a, j) + h(f-a) - min_b {cost(b, j) + h(f-b)},

and the mean regret of a policy's own decisions is its mean cost of an incident less the optimum: no value of the policy
is needed. So the decisions of each policy are sampled from its own chain, and priced by the optimal values. Most
regrets are 0, so a few thousand decisions tell a gap of a percent within a twentieth of it.

`python -m benchmarks --only gaps` does 16 and 20 trucks. Larger ones need a GPU: `python -m benchmarks.gaps --make
FOLDER` samples the decisions where the whole package is, `--data FOLDER` solves and prices where numpy and CuPy are.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.problem_file import read_problem, write_problem
from benchmarks.row import Row
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.solve import solve_optimal

NAMES: Final = ("one-step-neighbourhoods", "one-step-mean-field", "fixed-card", "closest-first")
LOADS: Final = (0.02, 0.1, 0.4)
SHARED: Final = (0.0, 1.0)
GAMMA: Final = 0.2
"""The target, as a part of the longest route, so that some percent of the incidents are late."""
SIDE, SEED = 20, 1
RUNS, WARM_UP = 20, 60
"""Independent runs of a chain, and the incidents of each that do not count."""
INCIDENTS: Final = 10_000
SOLVED_HERE: Final = (16, 20)
SOLVED_ON_GPU: Final = (24, 28)
WANTED: Final = 0.01
TOLERANCE: Final = 1e-6


class Decisions(NamedTuple):
    """Decisions of a policy at the incidents of its own chain, run after run."""

    idle: NDArray[np.uint8]
    """[incidents, I] the idle trucks of each station when it came."""
    point: NDArray[np.int32]
    team: NDArray[np.int32]
    """The number of the team that went."""


class Gap(NamedTuple):
    """The mean cost of an incident less the optimum, relatively to it, and half of its 95 % interval."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:.2%} ± {self.half:.2%}"


def sample(problem: DispatchProblem, policy: Any, incidents: int, seed: int = SEED) -> Decisions:
    """So many decisions of a policy, spread evenly over the runs."""
    rng = np.random.default_rng(seed)
    total, chance = problem.total_incidents_per_day, np.cumsum(problem.incidents_per_day)
    ids = {station: i for i, station in enumerate(problem.station_ids)}
    each = incidents // RUNS
    found = Decisions(
        np.empty((RUNS * each, problem.num_stations), np.uint8), np.empty(RUNS * each, np.int32),
        np.empty(RUNS * each, np.int32),
    )  # fmt: skip
    for run in range(RUNS):
        idle = problem.trucks.copy()
        for number in range(-WARM_UP, each):
            while True:
                busy = problem.trucks - idle
                returns = problem.returns_per_day * int(busy.sum())
                if rng.random() * (total + returns) < total:
                    break
                idle[rng.choice(len(idle), p=busy / busy.sum())] += 1
            point = int(np.searchsorted(chance, rng.random() * chance[-1], side="right"))
            sent = [ids[name] for name in policy.decide(idle, point).team if name in ids]
            if number >= 0:
                at = run * each + number
                found.idle[at], found.point[at], found.team[at] = idle, point, problem.teams.number(sent)
            np.subtract.at(idle, sent, 1)
    return found


def gap(problem: DispatchProblem, value: NDArray[np.float64], optimum: float, decisions: Decisions) -> Gap:
    """The gap of the policy that made these decisions, given the optimal values and the optimum."""
    offset, stride, teams = problem.layout.offset, problem.layout.states.stride, problem.teams
    regret = np.empty(len(decisions.point))
    for at, (idle, point, team) in enumerate(zip(*decisions, strict=True)):
        trucks = idle.astype(np.int64)
        state = int(trucks @ stride)
        listed = teams.idle(trucks, min(int(problem.trucks_needed[point]), int(trucks.sum())))
        cost = problem.cost[listed, point] + value[state - offset[listed]]
        regret[at] = problem.cost[team, point] + value[state - offset[team]] - cost.min()
    by_run = regret.reshape(RUNS, -1).mean(axis=1) / optimum
    return Gap(float(by_run.mean()), 2.09 * float(by_run.std(ddof=1)) / RUNS**0.5)


def problems(trucks: tuple[int, ...]) -> Iterator[tuple[str, DispatchProblem]]:
    """The departments with so many trucks, with a name for each."""
    import runcard

    for num_trucks in trucks:
        for load in LOADS:
            for shared_delay in SHARED:
                city = runcard.generate_grid(
                    side=SIDE, num_stations=num_trucks, load=load, seed=SEED, gamma=GAMMA, shared_delay=shared_delay
                )
                kind = "correlated" if shared_delay else "uncorrelated"
                yield f"{num_trucks} x 400, load {load:g}, {kind}", runcard.dispatch_problem(city, minutes=False)


def sampled(problem: DispatchProblem) -> dict[str, Decisions]:
    """The decisions of every policy."""
    import runcard

    return {name: sample(problem, runcard.solve_problem(problem, name), INCIDENTS) for name in NAMES}


def row(name: str, problem: DispatchProblem, decisions: dict[str, Decisions], device: str) -> Row:
    """Solve a problem and say how far the policies are from its optimum."""
    best = solve_optimal(problem, tolerance=TOLERANCE, device=device)
    assert best.converged
    optimum = (best.lower + best.upper) / 2.0
    gaps = {name: gap(problem, best.value, optimum, of) for name, of in decisions.items()}
    words = ", ".join(f"{name} {one}" for name, one in gaps.items())
    near = gaps[NAMES[0]]
    return Row(
        f"gap to the optimum {optimum:.4g}, {name}",
        f"{words} (solved in {best.seconds:.1f} s)",
        f"{NAMES[0]} <= {WANTED:.0%}",
        near.mean <= WANTED,
    )


def gap_cases(*, quick: bool = False) -> Iterator[Row]:
    """The gaps at sizes that a processor solves."""
    for name, problem in problems(SOLVED_HERE[: 1 if quick else None]):
        yield row(name, problem, sampled(problem), "cpu")


def make(folder: Path, trucks: tuple[int, ...]) -> None:
    """Write the larger problems with the decisions of every policy; what is there already stays."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, problem in problems(trucks):
        path = folder / f"gap {name}.npz".replace(",", "").replace(" ", "-")
        if path.exists():
            continue
        began = time.perf_counter()
        found = sampled(problem)
        arrays = {f"{policy}/{key}": getattr(of, key) for policy, of in found.items() for key in Decisions._fields}
        draft = path.with_name(f"draft-{path.name}")
        write_problem(draft, problem, name=np.array(name), **arrays)
        draft.rename(path)
        print(f"{path.name}: {time.perf_counter() - began:.0f} s", flush=True)


def measure(folder: Path, seconds: float) -> list[Row]:
    """Solve what a folder holds on a GPU, as many as `seconds` allow, and write the table where $OUT says."""
    rows, deadline, took = [], time.perf_counter() + seconds, 0.0
    for path in sorted(folder.glob("gap-*.npz")):
        if deadline - time.perf_counter() < 2.0 * took:
            print(f"left out {path.name}", flush=True)
            continue
        began = time.perf_counter()
        problem, arrays = read_problem(path)
        decisions = {policy: Decisions(*(arrays[f"{policy}/{key}"] for key in Decisions._fields)) for policy in NAMES}
        rows.append(row(str(arrays["name"]), problem, decisions, "gpu"))
        took = time.perf_counter() - began
        print("met   " if rows[-1].met else "MISSED", f"{rows[-1].name}: {rows[-1].measured}; {took:.0f} s", flush=True)
        if out := os.environ.get("OUT"):
            lines = [f"| {r.name} | {r.measured} | {r.target} | {'met' if r.met else '**missed**'} |" for r in rows]
            Path(out, "gaps.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return rows


def main() -> int:
    """0 if every target was met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gaps", description=__doc__)
    parser.add_argument("--make", type=Path, help="write problems and decisions to this folder, and do nothing else")
    parser.add_argument("--data", type=Path, help="solve what this folder holds on a GPU")
    parser.add_argument("--trucks", type=int, nargs="+", default=SOLVED_ON_GPU, help="what is written")
    parser.add_argument("--seconds", type=float, default=inf, help="how long solving may take")
    options = parser.parse_args()
    if options.make:
        make(options.make, tuple(options.trucks))
        return 0
    if options.data is None:
        parser.error("expected --make FOLDER or --data FOLDER")
    return 0 if all(one.met for one in measure(options.data, options.seconds)) else 1


if __name__ == "__main__":
    sys.exit(main())
