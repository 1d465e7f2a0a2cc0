"""Rosters, incident types and settings by kind: what a department is, and what one kind sees of it."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.departments import grid_department, random_department

from runcard.city import City, Turnout, read_city, write_city
from runcard.errors import CityError

names = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]), min_size=1, max_size=6).map(str.strip)
kinds = names.filter(lambda name: bool(name) and not set(name) & set(",/\\\\"))


@pytest.mark.slow
@given(st.integers(0, 10_000), kinds, kinds, st.sampled_from([None, 30.0]))
def test_a_department_written_and_read_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, seed: int, engine: str, ladder: str, busy: float | None
) -> None:
    """Roster, standards, types and settings by kind survive exactly, whatever the kinds are called."""
    if engine == ladder:
        ladder += "2"
    called = {"engine": engine, "ladder": ladder}
    city = random_department(seed)
    renamed = replace(
        city,
        units=tuple(replace(unit, kind=called[unit.kind]) for unit in city.units),
        standards=tuple(replace(one, kind=called[one.kind], busy_minutes=busy) for one in city.standards),
        busy_minutes={engine: 50.0, ladder: 70.0},
        turnout_by_kind={ladder: Turnout(1.5, "gamma", 0.5, shared=False)},
    )
    assert read_city(write_city(renamed, tmp_path_factory.mktemp("department") / "city")) == renamed


def test_a_plain_city_over_a_department_leaves_no_roster(tmp_path: Path) -> None:
    """Writing a city without a roster where there was a department removes the files that it does not have."""
    department = grid_department(side=3, engines=3, ladders=1)
    folder = write_city(department, tmp_path / "city")
    assert (folder / "unit.csv").exists()
    plain = replace(department.of_kind("ladder"), units=(), standards=(), target_minutes=3.0, trucks_per_incident=1)
    write_city(plain, folder, overwrite=True)
    assert not (folder / "unit.csv").exists()
    assert read_city(folder) == plain


def test_one_kind_sees_its_own_stations_incidents_and_settings() -> None:
    """The city of a kind has its units, the types that need it, and its own busy time and turnout."""
    city = grid_department(side=4, engines=4, ladders=2)
    city = replace(city, turnout=Turnout(1.0), turnout_by_kind={"ladder": Turnout(2.0)})
    engines, ladders = city.of_kind("engine"), city.of_kind("ladder")
    assert [station.trucks for station in city.stations] == [2, 2, 1, 1]
    assert [station.trucks for station in ladders.stations] == [1, 1]
    assert (engines.turnout, ladders.turnout) == (Turnout(1.0), Turnout(2.0))
    assert (engines.busy_minutes, ladders.busy_minutes) == (40.0, 60.0)
    assert {point.type for point in engines.demand} == {"fire", "medical"}
    assert {point.type for point in ladders.demand} == {"fire"}
    assert ladders.of_kind("ladder") == ladders


def test_the_mean_busy_time_counts_every_unit_that_is_sent() -> None:
    """Types with busy times of their own count by the units that go to them, others with the time of the kind."""
    city = grid_department(side=3, engines=3, ladders=1, shares=(0.25, 0.75)).of_kind("engine")
    long = tuple(
        replace(one, busy_minutes=100.0) if one.type == "fire" and one.arrivals == 1 else one for one in city.standards
    )
    own = replace(city, standards=long)
    # Two engines of each fire and one of each medical call.
    assert own.mean_busy_minutes == pytest.approx((0.25 * 2 * 100.0 + 0.75 * 1 * 40.0) / (0.25 * 2 + 0.75 * 1))
    assert city.mean_busy_minutes == 40.0


def test_a_type_column_without_incident_types_is_only_a_column(tmp_path: Path, small_city: City) -> None:
    """A folder that has had a column of that name all along stays valid and means the same."""
    folder = write_city(small_city, tmp_path / "city")
    text = (folder / "demand.csv").read_text().splitlines()
    (folder / "demand.csv").write_text("\n".join([f"{text[0]},type", *(f"{line},shop" for line in text[1:])]) + "\n")
    city = read_city(folder)
    assert city.plain
    assert city.kinds == ("truck",)
    assert [replace(point, type="") for point in city.demand] == list(small_city.demand)


def test_a_unit_added_to_a_written_roster_is_read(tmp_path: Path) -> None:
    """A department is written without the trucks of its stations, so that one more row of the roster is enough."""
    folder = write_city(grid_department(side=3, engines=3, ladders=1), tmp_path / "city")
    assert "trucks" not in (folder / "station.csv").read_text()
    with (folder / "unit.csv").open("a") as file:
        file.write("E99,s0,engine\nC1,s0,chief\n")
    city = read_city(folder)
    assert city.of_kind("engine").stations[0].trucks == 2
    assert city.kinds == ("engine", "ladder")  # a kind that nobody needs has no busy minutes either


def test_settings_by_kind_cannot_be_changed_from_outside() -> None:
    """The city has its own copy of what it was given."""
    busy = {"engine": 40.0, "ladder": 60.0}
    city = replace(grid_department(side=3, engines=3, ladders=1), busy_minutes=busy)
    busy["engine"] = -1.0
    assert city.of_kind("engine").busy_minutes == 40.0


@pytest.mark.parametrize("wrong", ["ladder/truck", "mean_minutes", "a" * 61, "a,b"])
def test_a_kind_can_name_a_file_and_a_key(wrong: str) -> None:
    """A kind that could not be in the name of a map, or beside the keys of turnout, is refused."""
    city = grid_department(side=3, engines=3, ladders=1)
    with pytest.raises(CityError, match="expected kind not empty, of at most 60 characters"):
        replace(city, units=tuple(replace(unit, kind=wrong) for unit in city.units))


def test_what_is_no_text_at_all_is_a_fault_too() -> None:
    """A city built in memory from odd things is refused with its faults, and not with an error of Python."""
    city = grid_department(side=3, engines=3, ladders=1)
    with pytest.raises(CityError, match=r"units\[0\]: expected kind"):
        replace(city, units=(replace(city.units[0], kind=["engine"]), *city.units[1:]))  # type: ignore[arg-type]
    with pytest.raises(CityError, match=r"standards\[0\]: expected busy_minutes"):
        replace(city, standards=(replace(city.standards[0], busy_minutes="90"), *city.standards[1:]))  # type: ignore[arg-type]


def test_a_kind_of_types_that_never_happen_is_still_sent() -> None:
    """Its city has next to no incidents, so that there is an answer for the day when one happens."""
    city = grid_department(side=3, engines=3, ladders=1)
    quiet = tuple(replace(point, incidents_per_day=0.0) if point.type == "fire" else point for point in city.demand)
    without = replace(city, demand=quiet)
    assert (without.kinds, without.sent_kinds) == (("engine",), ("engine", "ladder"))
    assert without.of_kind("ladder").incidents_per_day < 1e-6
