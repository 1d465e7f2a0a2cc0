"""The example of Manhattan, built from the raw files where these are."""

from collections import Counter
from pathlib import Path

import pytest
from tests.examples.readme import missing_lines, run_example, said_lines

from runcard import City, read_city

DATA = Path(__file__).parents[3] / "shared" / "data" / "manhattan"
EXAMPLE = Path(__file__).parents[2] / "examples" / "manhattan"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the raw data of Manhattan are not beside the project")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, City, float]:
    """What the example prints, its city, and the seconds that it took."""
    out = tmp_path_factory.mktemp("manhattan")
    output, seconds = run_example(EXAMPLE / "build.py", str(DATA), str(out))
    return output, read_city(out / "city"), seconds


def test_it_prints_what_the_readme_says(built: tuple[str, City, float]) -> None:
    """Every line that the README shows is printed, in less than 20 seconds."""
    output, _, seconds = built
    assert len(said_lines(EXAMPLE / "README.md")) > 5
    assert missing_lines(EXAMPLE / "README.md", output) == []
    assert seconds < 20.0


def test_the_roster_is_what_firehouses_are_called(built: tuple[str, City, float]) -> None:
    """As many engines and ladders as the names of placed firehouses say, each at home there."""
    _, city, _ = built
    text = " ".join(station.station_id for station in city.stations)
    expected = {"engine": text.count("Engine "), "ladder": text.count("Ladder ")}
    assert Counter(unit.kind for unit in city.units) == expected
    assert all(f"{unit.kind.capitalize()} {unit.unit_id[1:]}" in unit.station_id for unit in city.units)


def test_rates_are_where_fires_were(built: tuple[str, City, float]) -> None:
    """100 fires a day in all, none of the 400 areas without, and the busiest has many times the mean."""
    _, city, _ = built
    rates = [point.incidents_per_day for point in city.demand]
    assert len(rates) == 400
    assert sum(rates) == pytest.approx(100.0)
    assert 0.0 < min(rates) < 0.25 < 5 * 0.25 < max(rates)
