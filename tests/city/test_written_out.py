"""A plain city, and the same city written out with a roster, types of incidents and periods, are one city."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulate.cases import simulated

from runcard.assess.exact import assess_exactly
from runcard.city import City, DemandPoint, Period, Standard, generate_grid, read_city, write_city
from runcard.mdp.from_city import dispatch_problem
from runcard.outputs.lateness import lateness_at
from runcard.outputs.whatif.changes import Add, Close, Load, apply_changes
from runcard.policy.solve import solve_problem
from runcard.simulate.shifts import trucks_of

WEEK = tuple(range(168))
cities = st.builds(
    lambda seed, trucks, several: with_classes(
        generate_grid(side=3, num_stations=2, trucks_per_station=trucks, load=0.2, seed=seed, shared_delay=0.5),
        several=several,
    ),
    st.integers(0, 10_000), st.integers(1, 2), st.booleans(),
)  # fmt: skip


def with_classes(city: City, *, several: bool) -> City:
    """The city, where some nodes have incidents of a second class that need more."""
    more = (replace(point, trucks=3, arrivals=2, target_minutes=7.0) for point in city.demand[::2])
    return replace(city, demand=(*city.demand, *more)) if several else city


def type_of(city: City, point: DemandPoint) -> str:
    """What the type of a demand point is called where types are written out."""
    return f"class {city.standards.index(city.standards_of(point)[0])}"


def written_out(city: City, folder: Path) -> City:
    """The same city from a folder with unit.csv, incident_type.csv and one period."""
    standards = tuple(replace(one, type=f"class {number}") for number, one in enumerate(city.standards))
    demand = tuple(
        DemandPoint(point.node_id, point.incidents_per_day, type=type_of(city, point)) for point in city.demand
    )
    periods = (Period("all", WEEK, 1.5),)
    given_out = replace(city, units=tuple(city.units), standards=standards, demand=demand, periods=periods)
    return read_city(write_city(given_out, folder / "city", overwrite=True))


@pytest.mark.slow
@settings(max_examples=6)
@given(cities)
def test_a_plain_city_written_out_has_the_same_numbers(tmp_path_factory: pytest.TempPathFactory, city: City) -> None:
    """Problems, policies, comparisons, lateness and simulations with one seed are equal to the bit."""
    full = written_out(city, tmp_path_factory.mktemp("full"))
    assert (city.plain, city.has_roster, full.plain, full.has_roster) == (True, False, False, True)
    assert not full.has_periods
    assert (full.units, full.stations, full.kinds) == (city.units, city.stations, city.kinds)
    assert (full.load, full.most_weight) == (city.load, city.most_weight)
    assert [one.rule for one in full.standards] == [one.rule for one in city.standards]
    problems = dispatch_problem(city), dispatch_problem(full)
    for name in ("trucks", "incidents_per_day", "trucks_needed", "cost", "order"):
        assert np.array_equal(*(getattr(problem, name) for problem in problems)), name
    assert problems[0].returns_per_day == problems[1].returns_per_day
    assert problems[0].fingerprint != problems[1].fingerprint  # its answers name units and types
    results = [assess_exactly(one, ("closest-first", "optimal")).fleets for one in (city, full)]
    for plain, other in zip(*results, strict=True):
        assert (plain.missed, plain.minutes) == (other.missed, other.minutes)
        for one, also in zip(plain.standards, other.standards, strict=False):
            assert one.missed == also.missed
    node = city.demand[0].node_id
    for one, also in zip(lateness_at(city, node), lateness_at(full, node), strict=True):
        assert [team.p_late for team in one.teams] == [team.p_late for team in also.teams]
    found = [
        simulated(of, [solve_problem(problem, "closest-first")], incidents=300, seed=4).policies[0]
        for of, problem in zip((city, full), problems, strict=True)
    ]
    assert found[0].missed == found[1].missed
    assert found[0].late_fraction == found[1].late_fraction
    assert np.array_equal(found[0].busy_fractions, found[1].busy_fractions)
    assert [part for _, part in found[0].standards] == [part for _, part in found[1].standards]


@pytest.mark.slow
@settings(max_examples=10)
@given(cities)
def test_changes_of_a_plain_city_are_those_of_the_city_written_out(
    tmp_path_factory: pytest.TempPathFactory, city: City
) -> None:
    """A station that closes, a truck more, and more incidents give the same stations and the same problem."""
    full = written_out(city, tmp_path_factory.mktemp("full"))
    changes = (Close(city.stations[-1].station_id), Add("truck", city.stations[0].station_id), Load(1.25))
    plain, other = (apply_changes(one, changes) for one in (city, full))
    assert (plain.plain, plain.has_roster) == (True, False)
    assert plain.stations == other.stations
    assert [unit.station_id for unit in plain.units] == [unit.station_id for unit in other.units]
    assert np.array_equal(dispatch_problem(plain).cost, dispatch_problem(other).cost)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_units_follow_the_stations(seed: int, trucks: list[int]) -> None:
    """Where nobody lists units they are made again with the stations: one for each truck, each with its own name."""
    city = generate_grid(side=3, num_stations=len(trucks), load=0.2, seed=seed)
    stations = tuple(replace(station, trucks=num) for station, num in zip(city.stations, trucks, strict=True))
    other = replace(city, stations=stations)
    assert len(other.unit_numbers) == other.num_trucks == sum(trucks)
    for station, num in zip(other.stations, trucks, strict=True):
        names = [unit.unit_id for unit in other.units_at[station.station_id]]
        home = station.station_id
        assert names == ([home] if num == 1 else [f"{home}-{number}" for number in range(1, num + 1)])
    assert trucks_of(other, "truck") == [*range(sum(trucks))]


def test_units_of_stations_whose_names_look_alike_are_told_apart() -> None:
    """The trucks of s1, and a station that is called s1-1, have names of their own."""
    city = generate_grid(side=3, num_stations=2, load=0.2, seed=1)
    first, second = city.stations
    city = replace(city, stations=(replace(first, station_id="s1", trucks=2), replace(second, station_id="s1-1")))
    assert [unit.unit_id for unit in city.units] == ["s1-1", "s1-2", "s1-1'"]


def test_a_column_of_types_does_not_split_what_is_late() -> None:
    """Where types are only a column, incidents of two types that need the same are late by one rule."""
    city = generate_grid(side=3, num_stations=2, load=0.2, seed=1)
    demand = (replace(point, type="ab"[number % 2]) for number, point in enumerate(city.demand))
    labelled = replace(city, demand=tuple(demand))
    assert [one.type for one in labelled.standards] == ["a", "b"]
    plain, other = (assess_exactly(one, ["closest-first"]).document()["policies"][0] for one in (city, labelled))
    assert plain | {"seconds": 0.0} == other | {"seconds": 0.0}


def test_standards_follow_the_settings() -> None:
    """Where nobody lists types, other targets and other needs of a demand point make other standards."""
    city = generate_grid(side=3, num_stations=2, load=0.2, seed=1)
    assert city.standards == (Standard("", "truck", 2, 1, city.target_minutes or 0.0),)
    assert replace(city, target_minutes=9.0).standards[0].target_minutes == 9.0
    several = with_classes(city, several=True)
    assert [one.rule for one in several.standards] == [city.standards[0].rule, "2 of 3 in 7 min"]
    assert all(several.standards_of(point) == (several.standards[point.trucks == 3],) for point in several.demand)
