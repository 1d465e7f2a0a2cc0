"""How near to the optimum, or to a good policy, the lower bound on every policy is, and how long it takes.

The target of the grids is 0.3 of the longest route, so that some incidents are late; with the default of 0.6 hardly any
is, in departments as large as these.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from tests.simulate.cases import simulated

import runcard
from benchmarks.cases import THREADS, Row
from benchmarks.raw_files import build_san_francisco
from runcard.city.model import City
from runcard.mdp.bound import LowerBound, lower_bound
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.solve import solve_optimal

MINUTES: Final = 600.0
POLICIES: Final = ("one-step-mean-field", "one-step-neighbourhoods", "closest-first")
INCIDENTS: Final = 400_000
FEW_INCIDENTS: Final = 20_000
"""To simulate with 200 trucks, where a decision takes milliseconds."""


class Exact(NamedTuple):
    """Grids that are solved exactly as well."""

    num_trucks: int
    load: float
    shared_delay: float
    neighbourhood: int
    steps: int
    seed: int


class Large(NamedTuple):
    """A grid that is simulated, and the part of the mean field's value that the bound should reach."""

    side: int
    num_trucks: int
    load: float
    gamma: float
    neighbourhood: int
    steps: int
    wanted: float


EXACT: Final = tuple(
    Exact(num_trucks, load, float(seed % 2), neighbourhood, 300, seed)
    for num_trucks, neighbourhoods in ((16, (8, 8, 10, 10)), (20, (10, 10, 13, 12)))
    for load, neighbourhood in zip((0.02, 0.1, 0.2, 0.4), neighbourhoods, strict=True)
    for seed in range(1, 6)
)
"""Ten cities at four loads: five of each size, in turn correlated and uncorrelated. A load of 0.2 is the hardest."""
LARGE: Final = (
    Large(20, 30, 0.1, 0.2, 9, 200, 0.97),
    Large(20, 30, 0.2, 0.2, 10, 200, 0.92),
    Large(20, 50, 0.1, 0.2, 9, 200, 0.85),
    Large(20, 50, 0.2, 0.2, 10, 250, 0.85),
    Large(45, 200, 0.1, 0.07, 8, 300, 0.85),
    Large(45, 200, 0.1, 0.1, 8, 300, 0.85),
)
ENGINES: Final = Large(0, 44, 0.0, 0.0, 8, 200, 0.85)
"""San Francisco's; what it is like is in its raw files."""


def bound_cases(*, quick: bool, data: Path | None = None) -> Iterator[Row]:
    """The bound beside the exact optimum, and beside the simulated mean field in larger departments."""
    lower_bound(dispatch_problem(grid(4, 4, 0.1)), neighbourhood=3, steps=2)  # compiles
    for case in EXACT[: 1 if quick else None]:
        city = grid(12, case.num_trucks, case.load, shared_delay=case.shared_delay, seed=case.seed)
        problem = dispatch_problem(city, minutes=False)
        best = solve_optimal(problem, tolerance=1e-6, threads=THREADS)
        found = lower_bound(problem, neighbourhood=case.neighbourhood, steps=case.steps, threads=THREADS)
        assert found.lower <= best.upper
        words = f"load {case.load:g}, q = {case.shared_delay:g}, seed {case.seed}"
        yield row(f"bound, {case.num_trucks} x 144, {words}: of the optimum {best.upper:.4g}", found, best.upper, 0.95)
    for large in LARGE[: 0 if quick else None]:
        city = grid(large.side, large.num_trucks, large.load, gamma=large.gamma)
        words = f"{large.num_trucks} x {large.side**2}, load {large.load:g}, target {large.gamma:g}"
        yield beside_mean_field(words, city, large)
    if data is not None and not quick:
        yield beside_mean_field("San Francisco's engines", san_francisco(data), ENGINES)


def san_francisco(data: Path) -> City:
    """The engines of San Francisco at the mean rates of the week, built from its raw files."""
    with TemporaryDirectory() as name:
        return runcard.read_city(build_san_francisco(data, Path(name))).of_week.of_kind("engine")


def grid(
    side: int, num_trucks: int, load: float, *, gamma: float = 0.3, shared_delay: float = 1.0, seed: int = 1
) -> City:
    """A random grid."""
    return runcard.generate_grid(
        side=side, num_stations=num_trucks, load=load, seed=seed, gamma=gamma, shared_delay=shared_delay
    )


def beside_mean_field(words: str, city: City, large: Large) -> Row:
    """The bound as a part of what the mean field reaches in simulation."""
    problem = dispatch_problem(city, minutes=False)
    found = lower_bound(problem, neighbourhood=large.neighbourhood, steps=large.steps, threads=THREADS)
    policies = [runcard.solve_problem(problem, name, threads=THREADS) for name in POLICIES]
    incidents = INCIDENTS if large.num_trucks <= 60 else FEW_INCIDENTS
    found_by_policy = simulated(city, policies, incidents=incidents, seed=1, threads=THREADS).policies
    late = [result.late_fraction for result in found_by_policy]
    assert found.lower <= min(one.high for one in late)
    mean_field, near, closest = (one.value for one in late)
    beside = f"neighbourhoods {near:.4g}, closest-first {closest:.4g}"
    words = f"bound, {words}: of the mean field {mean_field:.4g} ({beside})"
    return row(words, found, mean_field, large.wanted)


def row(words: str, found: LowerBound, beside: float, wanted: float) -> Row:
    """A row of the table."""
    part = found.lower / beside
    of = f"{found.num_neighbourhoods} neighbourhoods of {found.neighbourhood}, {found.steps} steps"
    return Row(
        words,
        f"{part:.1%} ({found.lower:.4g}) in {found.seconds:.0f} s; {of}",
        f">= {wanted:.0%} in {MINUTES:.0f} s",
        part >= wanted and found.seconds <= MINUTES,
    )
