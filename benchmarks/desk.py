"""What a person at the desk waits for: a command to start, a map to be drawn, a decision, large files, a refusal."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.row import Row
from runcard.city import City, DemandPoint, Link, Node, Station, generate_grid
from runcard.city.importers.rows import Columns, open_csv
from runcard.errors import SizeError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.layout import VALUE_PADDING
from runcard.outputs.ground import ground_of
from runcard.outputs.map import draw_map
from runcard.plan.file import load
from runcard.plan.fleet import fleet_of
from runcard.plan.plan import Plan
from runcard.policy.by_order import OrderPolicy
from runcard.policy.by_value import ValuePolicy
from runcard.policy.solve import solve_problem

HELP: Final = "import sys; from runcard.cli import main; sys.argv[0] = 'runcard'; sys.exit(main())"
ODD_PLACES: Final = (
    ((0.0, 0.0), (1.0, 0.0)),
    ((5.0, 5.0), (5.0, 5.0)),
    ((550000.0, 4180000.0), (550500.0, 4180000.0), (550000.0, 4180700.0)),
    ((7.00001, 51.00001), (7.00002, 51.00001)),
    ((0.0, 0.0), (0.001, 0.0), (0.002, 0.0), (1000.0, 0.0)),
    ((0.0, 0.0), (1e-9, 0.0), (1e9, 1e9)),
)
"""Two nodes, nodes in one place, metres, neighbours, a thin town with a far outpost, and far more."""


def desk_cases(*, quick: bool = False) -> Iterator[Row]:
    """Every figure of waiting."""
    yield _row("runcard --help", min(_seconds(lambda: _run(HELP, "--help")) for _ in range(3)), 0.5)
    yield _row("import runcard", min(_seconds_of_import() for _ in range(3)), 0.5)
    yield _row("the optimum of 40 stations refused", _seconds_of_refusal(), 1.0)
    yield _row("a decision of a file of 18 stations that stays on the disk, median", _seconds_of_decision(), 1e-3)
    yield _row("the ground of the slowest of six odd cities", max(map(_seconds_of_ground, ODD_PLACES)), 20.0)
    for num_stations, side in ((47, 45), (200, 20)):
        name = f"a map of {num_stations} stations and {side**2:,} demand points"
        yield _row(name, _seconds_of_map(num_stations, side), 10.0)
    if not quick:
        yield _row("roads of a million rows: read and converted", _seconds_of_rows(1_000_000), 20.0)


def _row(name: str, seconds: float, limit: float) -> Row:
    words = [f"{1000.0 * one:.3g} ms" if limit < 1.0 else f"{one:.2g} s" for one in (seconds, limit)]
    return Row(name, words[0], f"< {words[1]}", seconds < limit)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _run(*words: str) -> str:
    return subprocess.run([sys.executable, "-c", *words], check=True, capture_output=True, text=True).stdout


def _seconds_of_import() -> float:
    return float(_run("import time; began = time.perf_counter(); import runcard; print(time.perf_counter() - began)"))


def _seconds_of_refusal() -> float:
    problem = dispatch_problem(generate_grid(side=7, num_stations=40, load=0.1, seed=1), minutes=False)
    began = time.perf_counter()
    try:
        solve_problem(problem, "optimal")
    except SizeError:
        return time.perf_counter() - began
    raise AssertionError("40 stations were not refused")


def _seconds_of_decision() -> float:
    """The median of decisions in random states, the first ones of a file that nobody has read included."""
    problem = dispatch_problem(generate_grid(side=6, num_stations=18, load=0.1, seed=1))
    value = np.random.default_rng(1).random(problem.num_states + VALUE_PADDING)
    with TemporaryDirectory() as folder, patch("runcard.plan.tensor_file.MOST_COPIED", 1000):
        policy = ValuePolicy(name="optimal", problem=problem, value=value, certificate=None)
        mapped = load(Plan(fleets=(fleet_of(policy),)).save(Path(folder) / "p")).fleets[0].policy
        rng, seconds = np.random.default_rng(2), []
        for _ in range(200):
            idle, point = rng.integers(0, 2, problem.num_stations), int(rng.integers(problem.num_points))
            began = time.perf_counter()
            mapped.decide(idle, point)
            seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def _seconds_of_ground(places: tuple[tuple[float, float], ...]) -> float:
    grid = generate_grid(side=2, num_stations=1, load=0.1, seed=1)
    names = [f"n{number}" for number in range(len(places))]
    city: City = replace(
        grid,
        nodes=tuple(Node(name, *place) for name, place in zip(names, places, strict=True)),
        links=tuple(Link(f"l{one}", one, other, False, 1.0) for one, other in pairwise(names)),
        stations=(Station("s", names[0], 2),),
        demand=tuple(DemandPoint(name, 1.0) for name in names),
    )
    began = time.perf_counter()
    assert len(ground_of(city)["areas"]) == len(places)
    return time.perf_counter() - began


class _NoPrices:
    """Prices of a policy that nobody has solved."""

    def prices(self, idle: NDArray[np.int64], teams: NDArray[np.int64]) -> NDArray[np.float64]:
        """All 0."""
        return np.zeros(len(teams))


def _seconds_of_map(num_stations: int, side: int) -> float:
    grid = generate_grid(side=side, num_stations=num_stations, load=0.1, seed=1, sparseness=1.0)
    city = replace(grid, trucks_per_incident=1)
    problem = dispatch_problem(city, minutes=False)
    policy = OrderPolicy(
        name="closest-first", problem=problem, order=problem.order, known=_NoPrices(), certificate=None
    )
    with TemporaryDirectory() as folder:
        seconds = _seconds(lambda: draw_map(city, [policy], Path(folder) / "map.png"))
        assert (Path(folder) / "map.png").stat().st_size > 10_000
    return seconds


def _seconds_of_rows(num_rows: int) -> float:
    with TemporaryDirectory() as folder:
        path, row = Path(folder) / "a.csv", "{0},{0},{1},12.5,30,residential\n"
        path.write_text("id,u,v,length,speed,class\n" + "".join(row.format(n, n + 1) for n in range(num_rows)))
        began = time.perf_counter()
        columns = Columns.read(open_csv(path), {"id": "id", "from": "u", "to": "v", "length": "length"})
        assert float(columns.numbers("length").sum()) == 12.5 * num_rows
        return time.perf_counter() - began
