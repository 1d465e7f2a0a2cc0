"""A report can be made of every city that can be described, exactly and by simulation."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.departments import random_department
from tests.weeks import with_days

from runcard.city import City, Standard, Unit, generate_grid
from runcard.city.model import Objective
from runcard.outputs.report import report_page, write_report
from runcard.outputs.report.findings import find
from runcard.outputs.report.solved import Effort


def with_boats(city: City) -> City:
    """The department with a boat for floods, which never happen."""
    assert isinstance(city.busy_minutes, dict)
    return replace(
        city,
        busy_minutes={**city.busy_minutes, "boat": 30.0},
        units=(*city.units, Unit("B1", city.units[0].station_id, "boat")),
        standards=(*city.standards, Standard("flood", "boat", 1, 1, 5.0)),
        demand=(*city.demand, replace(city.demand[0], type="flood", incidents_per_day=0.0)),
    )


CITIES = {
    "weights and several standards": lambda: random_department(4),
    "minutes": lambda: replace(random_department(1), objective=Objective("minutes")),
    "both": lambda: replace(random_department(2), objective=Objective("late+minutes", 0.05)),
    "periods": lambda: with_days(random_department(3)),
    "a kind that nobody needs": lambda: with_boats(random_department(1)),
    "one station": lambda: generate_grid(side=3, num_stations=1, load=0.2, seed=1),
    "next to no incidents": lambda: generate_grid(side=2, num_stations=2, load=1e-4, seed=1),
    "far too many incidents": lambda: generate_grid(side=3, num_stations=3, load=20.0, seed=1),
}


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "simulated"])
@pytest.mark.parametrize("name", CITIES)
def test_a_report_of_an_odd_city(name: str, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made, and speaks of no number that is none."""
    if not exact:
        monkeypatch.setattr("runcard.outputs.policy_choice.SMALL_WORK", 0.0)
    city = CITIES[name]()
    report = find(city, Effort(incidents=400), quick=not (exact and city.periods))
    page = report_page(report)
    assert report.solved.exact == exact
    assert "NaN" not in page.split("<script>")[0]
    assert not any(f"{word} %" in page or f"{word} min" in page for word in ("nan", "inf"))


def test_no_picture_needs_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain install writes the same report."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    city = generate_grid(side=3, num_stations=2, load=0.2, seed=1)
    assert write_report(city, tmp_path / "report.html", quick=True).stat().st_size > 100_000
