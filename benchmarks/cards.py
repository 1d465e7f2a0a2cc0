"""Run cards: 400 areas × 5 types of 13 engines, made and written, and read back as they were made."""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.cases import Row
from benchmarks.department import department_city
from runcard.city import City, Standard
from runcard.outputs.cards.answer import decide_by_cards
from runcard.outputs.cards.book import make_book
from runcard.outputs.cards.csv_file import read_cards, write_cards_csv
from runcard.outputs.cards.depth import measure_depths
from runcard.policy.department import Department, solve_department

TYPES = {"fire": 2, "alarm": 2, "medical": 1, "rescue": 2, "car": 1}
"""How many engines go to each type of incident."""
LIMIT_SECONDS = 10.0


def cards_cases(*, quick: bool = False) -> Iterator[Row]:
    """Every figure of run cards; what depth is worth is left out if it has to be quick."""
    city = types_city()
    department = solve_department(city)
    make_book(solve_department(replace(city, demand=city.demand[:5])), depth=4)  # compiled code is loaded
    began = time.perf_counter()
    book = make_book(department, depth=4)
    made = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        path = write_cards_csv(book, Path(folder) / "cards.csv")
        seconds = time.perf_counter() - began
        file = read_cards(path)
    for card in book.cards[::97]:
        for line in card.lines:
            answer = decide_by_cards(file, card.area, card.type, busy=",".join(line.busy) or "none")
            assert sorted(answer.kinds[0].units) == sorted(line.units)
    yield Row(
        f"run cards of 13 engines, 400 areas x 5 types ({len(book.cards):,} cards of 4 lines)",
        f"{seconds:.1f} s ({made:.1f} s to make, the rest to write)",
        f"< {LIMIT_SECONDS:g} s",
        seconds < LIMIT_SECONDS,
    )
    if not quick:
        yield depth_row(department)


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


def depth_row(department: Department) -> Row:
    """What cards of four lines keep of the optimum's gain there, exactly."""
    book = make_book(department, depth=4, depth_to_measure=8)
    began = time.perf_counter()
    (table,) = measure_depths(book)
    seconds = time.perf_counter() - began
    kept = {row.depth: row.kept.mean for row in table.rows if row.kept is not None and row.depth is not None}
    assert table.exact
    assert 0.0 < kept[4] <= 1.0 + 1e-9
    shares = ", ".join(f"{depth}: {100.0 * part:.0f} %" for depth, part in kept.items())
    return Row("  what their depth is worth, exactly", f"{seconds:.1f} s; kept by lines {shares}", "> 0", kept[4] > 0.0)
