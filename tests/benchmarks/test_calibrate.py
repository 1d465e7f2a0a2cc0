"""The benchmark of fits: its known city, its made-up files and its counting, on work small enough for a test."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.calibrate import Found, coverage_rows, found_in
from benchmarks.known_city import known_cities, log_format, truth_of
from benchmarks.raw_files import FILLER, write_department, write_long_roads, write_rows
from scipy.sparse.csgraph import connected_components

from runcard.calibrate.generator import generate_log
from runcard.calibrate.log import read_log
from runcard.calibrate.mapping import read_mapping
from runcard.city.areas import driving_graph


def test_a_fit_finds_every_number_of_the_known_city() -> None:
    """Each true number has a fitted one of its name, not more than six standard errors away."""
    found = found_in(1, 5000)
    for name, (value, low, high, truth) in found.numbers.items():
        assert abs(value - truth) <= 6.0 * (high - low) / (2.0 * 1.96), name
    assert found.areas_held > 0.85
    smoothed, alone = found.area_errors
    assert smoothed < alone


def test_somebody_goes_to_every_incident_of_the_known_city() -> None:
    """No incident is missing in the log because all engines were busy."""
    _, city = known_cities()
    made = generate_log(city, log_format(), incidents=3000, seed=1)
    assert {one.incident for one in made.sent} == set(range(3000))
    assert truth_of(city)["busy_minutes.engine"] == pytest.approx((30 * 45 + 40 * 25 + 10 * 18) / 80)


def test_coverage_is_counted() -> None:
    """An interval that holds the truth in 38 of 40 logs is as it claims; a number that is not found is never inside."""

    def made(width: float) -> Found:
        numbers = {"shared_delay": (0.34, 0.34 - width, 0.34 + width, 0.3), "lost": (np.nan, np.nan, np.nan, 1.0)}
        return Found(numbers, 0.95, (0.1, 0.2))

    found = [made(0.03 if seed < 2 else 0.05) for seed in range(40)]
    rows = {row.name.split(",")[0]: row for row in coverage_rows(found, 1000)}
    assert rows["fitted shared_delay"].measured.startswith("38 of 40 inside; mean 0.34")
    assert rows["fitted shared_delay"].met
    assert rows["fitted lost"].measured.startswith("0 of 40 inside")
    assert not rows["fitted lost"].met
    assert rows["shared_delay within 0.05 of 0.3"].measured.startswith("40 of 40; at most 0.040 off")
    assert not rows["all fitted numbers inside their 95 % intervals"].met


def test_repeated_rows_are_a_log(tmp_path: Path) -> None:
    """Copies are other incidents at other times: all rows are used, and as wide as real ones."""
    path = tmp_path / "log.csv"
    write_rows(path, 3000, incidents=700)
    log = read_log(path, read_mapping("san-francisco"))
    assert (log.num_rows, len(log.responses)) == (3000, 3000)
    assert all(FILLER in line for line in path.read_text().splitlines()[1:])


def test_long_roads_are_like_manhattan(tmp_path: Path) -> None:
    """16,811 nodes, most of them with one way on, from every one to every other."""
    arcs = write_long_roads(tmp_path)
    starts, ends, minutes = (np.array(column) for column in zip(*arcs, strict=True))
    assert connected_components(driving_graph(16_811, starts, ends, minutes), connection="strong")[0] == 1
    assert np.bincount(starts, minlength=16_811).tolist().count(1) > 10_000


def test_raw_files_of_a_department_have_its_size(tmp_path: Path) -> None:
    """1,900 nodes, 45 stations, 64 units, and as many rows as asked for, some of them dirty."""
    city = write_department(tmp_path, 500)
    raw = tmp_path / "raw"
    sizes = {name: len((raw / f"{name}.csv").read_text().splitlines()) - 1 for name in ("road_nodes", "stations")}
    assert sizes == {"road_nodes": 1900, "stations": 45}
    assert len(city.units) == 64
    log = read_log(raw / "calls.csv", read_mapping("san-francisco"))
    assert log.num_rows == 500
    assert 400 < len(log.responses) < 500
