"""Run cards: 400 areas × 5 types of 13 engines, made and written, and read back as they were made."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

from tests.by_cards import by_cards

from benchmarks.cases import Row
from benchmarks.department import department_city
from runcard.city import City, Standard
from runcard.cli import main
from runcard.outputs.cards.book import make_book
from runcard.outputs.cards.csv_file import read_cards
from runcard.outputs.cards.depth import measure_depths
from runcard.plan.file import save
from runcard.plan.plan import Plan, solve

TYPES = {"fire": 2, "alarm": 2, "medical": 1, "rescue": 2, "car": 1}
"""How many engines go to each type of incident."""
LIMIT_SECONDS = 10.0


def cards_cases(*, quick: bool = False) -> Iterator[Row]:
    """What `runcard cards` takes for each format; what depth is worth is left out if it has to be quick."""
    department = solve(types_city())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        policy = save(department, folder / "town.policy")
        run_cards(policy, folder / "warm.csv")  # compiled code is loaded
        for ending in ("csv", "xlsx", "pdf"):
            path = folder / f"cards.{ending}"
            seconds = run_cards(policy, path)
            yield Row(
                f"runcard cards -o cards.{ending}, 13 engines, 400 areas x 5 types",
                f"{seconds:.1f} s ({path.stat().st_size / 1e6:.1f} MB)",
                f"< {LIMIT_SECONDS:g} s",
                seconds < LIMIT_SECONDS,
            )
        check_answers(department, folder / "cards.csv")
    if not quick:
        yield depth_row(department)


def run_cards(policy: Path, path: Path) -> float:
    """The seconds that the command takes, from reading the policy file to the last line that it prints."""
    began = time.perf_counter()
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        assert main(["cards", str(policy), "-o", str(path)]) == 0
    return time.perf_counter() - began


def check_answers(department: Plan, path: Path) -> None:
    """The file decides as the policy does in the states that the lines were made for."""
    file = read_cards(path)
    for card in make_book(department, depth=4).cards[::97]:
        for line in card.lines:
            answer = by_cards(file, card.area, card.type, busy=",".join(line.busy) or "none")
            assert sorted(answer.kinds[0].units) == sorted(line.units)


def types_city() -> City:
    """13 engines and 400 areas with five types of incidents, each with a standard of its own."""
    city = department_city()
    target = city.standards[0].target_minutes
    standards = tuple(
        Standard(name, "engine", trucks, 1, target * (1.0 + 0.1 * number))
        for number, (name, trucks) in enumerate(TYPES.items())
    )
    demand = tuple(
        replace(point, type=name, incidents_per_day=point.incidents_per_day / len(TYPES))
        for point in city.demand
        for name in TYPES
    )
    return replace(
        city,
        standards=standards,
        demand=demand,
        units=tuple(unit for unit in city.units if unit.kind == "engine"),
        stations=tuple(replace(station, trucks=0) for station in city.stations),
    )


def depth_row(department: Plan) -> Row:
    """What cards of four lines keep of the optimum's gain there, exactly."""
    book = make_book(department, depth=4, depth_to_measure=8)
    began = time.perf_counter()
    (table,) = measure_depths(book)
    seconds = time.perf_counter() - began
    kept = {row.name: row.kept.value for row in table.rows[1:-1] if row.kept is not None}
    four = kept["cards of 4 lines"]
    assert table.exact
    assert 0.0 < four <= 1.0 + 1e-9
    shares = ", ".join(f"{name}: {100.0 * part:.0f} %" for name, part in kept.items())
    return Row("  what their depth is worth, exactly", f"{seconds:.1f} s; kept by {shares}", "> 0", four > 0.0)
