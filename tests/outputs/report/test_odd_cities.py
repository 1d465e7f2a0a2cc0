"""A report can be made of every city that can be described, exactly and by simulation."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.departments import random_department
from tests.weeks import with_days

from runcard.assess.auto import Effort
from runcard.city import City, Standard, Unit, generate_grid
from runcard.city.model import Objective
from runcard.outputs.report import report_page, write_report
from runcard.outputs.report.findings import find


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


def in_one_place(city: City) -> City:
    """The city with two stations, and all its incidents, at two nodes in the same place."""
    one, other, *rest = city.nodes
    other = replace(other, x_coord=one.x_coord, y_coord=one.y_coord)
    here = zip(city.stations, (one, other), strict=True)
    return replace(
        city,
        nodes=(one, other, *rest),
        stations=tuple(replace(station, node_id=node.node_id) for station, node in here),
        demand=tuple(point for point in city.demand if point.node_id in (one.node_id, other.node_id)),
    )


def with_classes(city: City) -> City:
    """The city with incidents of two classes."""
    slow = tuple(replace(point, trucks=2, arrivals=2, target_minutes=9.0) for point in city.demand)
    return replace(city, demand=(*city.demand, *slow))


CITIES = {
    "classes": lambda: with_classes(generate_grid(side=3, num_stations=3, load=0.2, seed=1)),
    "two nodes in one place": lambda: in_one_place(generate_grid(side=2, num_stations=2, load=0.2, seed=1)),
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
        monkeypatch.setattr("runcard.assess.policy_choice.SOME_SECONDS", 0.0)
    city = CITIES[name]()
    report = find(city, Effort(incidents=400), quick=not (exact and city.has_periods))
    page = report_page(report)
    assert report.solved.exact == exact
    assert "NaN" not in page.split("<script>")[0]
    assert not any(f"{word} %" in page or f"{word} min" in page for word in ("nan", "inf"))


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "simulated"])
def test_every_class_has_a_row(exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a city without standards whose incidents are in time by several rules: all together, and each by itself."""
    if not exact:
        monkeypatch.setattr("runcard.assess.policy_choice.SOME_SECONDS", 0.0)
    city = with_classes(generate_grid(side=3, num_stations=3, load=0.2, seed=1))
    report = find(city, Effort(incidents=4000), quick=True)
    page = report_page(report)
    for words in ("Late, by 2 different standards", f"in {city.target_minutes:g} min", "second of 2 trucks in 9 min"):
        assert words in page
    for result in report.solved:
        parts = [one.missed.value for one in result.standards if one.missed is not None]
        assert sum(parts) / 2.0 == pytest.approx(result.missed.value, rel=1e-6 if exact else 0.1)
        assert all(one.missed is not None and one.missed.low <= one.missed.high for one in result.standards)
        assert all(one.minutes is not None for one in result.standards)


def test_no_picture_needs_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain install writes the same report."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    city = generate_grid(side=3, num_stations=2, load=0.2, seed=1)
    assert write_report(city, tmp_path / "report.html", quick=True).stat().st_size > 100_000
