"""How far policies are from the exact optimum over many cities of each size and load, with their spread.

A cell is a number of trucks and a load. It has twenty random grids of side 8: two for each of five targets, with
delays that trucks share and without. The gap of a policy is g / g* - 1, with g what it costs an incident and g* the
optimum. Up to 16 trucks g is evaluated exactly; with more it is g* and the mean regret of sampled decisions (see
`gaps.py`).

`python -m benchmarks.gap_cities FILE` measures and prints the table for the ledger. FILE keeps a line for each city, so
that a run which was interrupted goes on where it was; all of it takes some two hours of one processor.
"""

import argparse
import json
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.gaps import TOLERANCE, gap, sample
from runcard.city.grid import generate_grid
from runcard.city.model import City
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.solve import solve_optimal
from runcard.policy.solve import evaluate, solve_problem

CLOSEST: Final = "closest-first"
NAMES: Final = (CLOSEST, "one-step-mean-field", "one-step-neighbourhoods")
SIDE: Final = 8
TARGETS: Final = (0.05, 0.1, 0.2, 0.3, 0.4)
"""As parts of the longest route: from nearly all incidents late to few."""
SHARED: Final = (1.0, 0.0)
EACH: Final = 2
"""Grids of each target with and without shared delays."""
LOADS: Final[dict[int, tuple[float, ...]]] = (
    dict.fromkeys((8, 10, 12), (0.02, 0.1, 0.2, 0.4, 0.8))
    | dict.fromkeys((14, 16, 18, 20), (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8))
)  # fmt: skip
"""By trucks. With two to an incident they are asked for twice the load of their time: above 0.5 for more than all."""
CELLS: Final = tuple((trucks, load) for trucks, loads in LOADS.items() for load in loads)
MOST_EVALUATED: Final = 16
"""Trucks; with more of them decisions are sampled."""
DECISIONS: Final = 4_000


class Place(NamedTuple):
    """One city of the table."""

    trucks: int
    load: float
    target: float
    shared_delay: float
    seed: int

    @property
    def city(self) -> City:
        """The city itself."""
        return generate_grid(
            side=SIDE, num_stations=self.trucks, load=self.load, seed=self.seed, gamma=self.target,
            shared_delay=self.shared_delay,
        )  # fmt: skip


def places() -> Iterator[Place]:
    """Every city, the quick ones first."""
    for trucks, load in CELLS:
        for number, (target, shared, _) in enumerate(product(TARGETS, SHARED, range(EACH))):
            yield Place(trucks, load, target, shared, number)


def measured(place: Place) -> dict[str, Any]:
    """The optimum of a city, and the gap of each policy."""
    began = time.process_time()
    problem = dispatch_problem(place.city, minutes=False)
    best = solve_optimal(problem, tolerance=TOLERANCE, threads=1, device="cpu")
    assert best.converged
    optimum, found = (best.lower + best.upper) / 2.0, {}
    for name in NAMES:
        policy = solve_problem(problem, name, threads=1)
        if place.trucks <= MOST_EVALUATED:
            evaluation = evaluate(policy, threads=1, device="cpu")
            # On some processors rounding keeps the bounds a little more than the solver's 1e-9 apart.
            assert evaluation.cost_upper - evaluation.cost_lower <= TOLERANCE * evaluation.cost_upper
            assert evaluation.cost_upper >= best.lower  # nothing is better than the optimum
            found[name] = evaluation.cost / optimum - 1.0
        else:
            found[name] = gap(problem, best.value, optimum, sample(problem, policy, DECISIONS)).mean
    return {**place._asdict(), "optimum": optimum, "gaps": found, "seconds": time.process_time() - began}


def known(path: Path) -> dict[Place, dict[str, Any]]:
    """The cities that a file holds; a last line that was not written to its end counts as none."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("\n")]
    return {Place(*(one[key] for key in Place._fields)): one for one in found}


def measure(path: Path, seconds: float, most_trucks: int) -> None:
    """Measure the cities that a file does not hold yet, as many as fit into so many seconds of processor."""
    before, began = known(path), time.process_time()
    path.write_text("".join(json.dumps(one) + "\n" for one in before.values()), encoding="utf-8")
    for place in places():
        if place in before or place.trucks > most_trucks:
            continue
        if time.process_time() - began > seconds:
            break
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(measured(place)) + "\n")


def table(found: dict[Place, dict[str, Any]]) -> list[str]:
    """The lines of the table: by cell and policy the mean gap, its standard deviation and the worst one, in percent."""
    lines = [
        "| trucks | load | cities | late at best | " + " | ".join(f"`{name}`" for name in NAMES)
        + " | later than closest-first |",
        "| --- | --- | --- | --- |" + " --- |" * (len(NAMES) + 1),
    ]  # fmt: skip
    for trucks, load in CELLS:
        cell = [one for place, one in found.items() if (place.trucks, place.load) == (trucks, load)]
        if not cell:
            continue
        late = 100.0 * np.array([one["optimum"] for one in cell])
        gaps = {name: 100.0 * np.array([one["gaps"][name] for one in cell]) for name in NAMES}
        words = [f"{of.mean():.2f} ± {of.std(ddof=1):.2f}, {of.max():.2f}" for of in gaps.values()]
        later = ", ".join(str(int((gaps[name] > gaps[CLOSEST]).sum())) for name in NAMES[1:])
        numbers = [str(trucks), f"{load:g}", str(len(cell)), f"{late.min():.2g} to {late.max():.2g} %"]
        lines.append(f"| {' | '.join([*numbers, *words, later])} |")
    return lines


def main() -> None:
    """Measure what is missing and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gap_cities", description=__doc__)
    parser.add_argument("file", type=Path, help="holds a line for each city that was measured")
    parser.add_argument("--seconds", type=float, default=np.inf, help="of processor to measure for; 0 only prints")
    parser.add_argument("--trucks", type=int, default=max(LOADS), help="no more than so many")
    options = parser.parse_args()
    if options.seconds > 0:
        measure(options.file, options.seconds, options.trucks)
    print("\n".join(table(known(options.file))))


if __name__ == "__main__":
    main()
