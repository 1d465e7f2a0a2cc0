"""Which trucks of a roster are off: by station, by unit and by every n-th, whatever their kind."""

from pathlib import Path

import numpy as np
import pytest

from runcard.errors import InputError
from runcard.simulate.department import simulate_department
from runcard.simulate.engine import check_scenario
from runcard.simulate.shifts import roster_of, shifts_of, trucks_of

from .cases import department_of, department_policies, scenario_of, small_city

# The roster is E1 s0, T1 s2, E2 s1, E3 s2, E4 s3, T2 s0, E5 s0.


@pytest.mark.parametrize(
    ("which", "engines", "ladders"),
    [
        ("station = 's0'", {"E5"}, set()),
        ("station = 's0'\ntrucks = 2", {"E5"}, {"T2"}),
        ("station = 's0'\ntrucks = 3", {"E5", "E1"}, {"T2"}),
        ("station = 's2'\ntrucks = 1", {"E3"}, set()),
        ("every = 2", {"E3"}, {"T1", "T2"}),
        ("every = 7", {"E5"}, set()),
        ("unit = 'T1'", set(), {"T1"}),
        ("unit = 'E4'", {"E4"}, set()),
    ],
)
def test_units_that_are_off(which: str, engines: set[str], ladders: set[str], tmp_path: Path) -> None:
    """A shift takes the last units of a station, every n-th of the roster or one unit, of whatever kind they are."""
    city = department_of()
    scenario = scenario_of(tmp_path, f"[[shift]]\n{which}\noff_hours = [22, 6]")
    for kind, expected in (("engine", engines), ("ladder", ladders)):
        shifts, trucks = shifts_of(city, scenario, kind), trucks_of(city, kind)
        assert {city.units[trucks[n]].unit_id for n in shifts["truck"]} == expected
        assert len(shifts) == 7 * len(expected)
        assert set(shifts["minutes"].tolist()) <= {480.0}


def test_a_unit_that_is_off_goes_nowhere(tmp_path: Path) -> None:
    """A ladder that is off for the whole week is never sent nor idle, and the engines of its station are."""
    city = department_of()
    scenario = scenario_of(tmp_path, "[[shift]]\nunit = 'T1'\noff_hours = [0, 24]")
    found = simulate_department(city, department_policies(city), scenario, incidents=3_200, threads=1).kinds
    ladders, engines = (found[kind].policies[0] for kind in ("ladder", "engine"))
    assert found["ladder"].units == ("T2", "T1")
    assert ladders.dispatches_per_day[1] == ladders.busy_fractions[1] == 0.0 < ladders.dispatches_per_day[0]
    assert ladders.idle_chances @ np.arange(3) == pytest.approx(1.0 - ladders.busy_fractions[0])
    assert (engines.dispatches_per_day > 0.0).all()


def test_a_city_without_a_roster_has_its_trucks_in_the_order_of_stations() -> None:
    """The trucks of a plain city are of one kind, without ids."""
    city = small_city(num_stations=2, trucks_per_station=2)
    assert [unit.station_id for unit in roster_of(city)] == ["s0", "s0", "s1", "s1"]
    assert {(unit.unit_id, unit.kind) for unit in roster_of(city)} == {("", "truck")}
    assert trucks_of(city, "truck") == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("unit = 'E9'", "expected a unit of the city in shift, got E9"),
        ("station = 's9'", "expected a station of the city in shift, got s9"),
        ("station = 's2'\ntrucks = 3", "expected at most 2 trucks of station s2 in shift, got 3"),
        ("every = 8", "expected every from 1 to 7, the trucks of the city, in shift, got 8: no truck would be off"),
    ],
)
def test_units_that_a_city_does_not_have_are_refused(which: str, message: str, tmp_path: Path) -> None:
    """Each shift of trucks that are not there has its sentence."""
    scenario = scenario_of(tmp_path, f"[[shift]]\n{which}\noff_hours = [22, 6]")
    with pytest.raises(InputError) as caught:
        check_scenario(department_of(), scenario)
    assert message in str(caught.value)
