"""Which trucks of a roster are off: by station, by unit and by every n-th, whatever their kind."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.town import plain_town

from runcard.errors import InputError
from runcard.simulate.engine import check_scenario, simulate_plans
from runcard.simulate.shifts import shifts_of, station_numbers, truck_numbers, trucks_of

from .cases import department_of, department_policies, plan_by_kind, scenario_of, small_city

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
    found = simulate_plans(
        city, [*map(plan_by_kind, department_policies(city))], scenario, incidents=3_200, threads=1
    ).kinds
    ladders, engines = (found[kind].policies[0] for kind in ("ladder", "engine"))
    assert found["ladder"].units == ("T2", "T1")
    assert ladders.dispatches_per_day[1] == ladders.busy_fractions[1] == 0.0 < ladders.dispatches_per_day[0]
    assert ladders.idle_chances @ np.arange(3) == pytest.approx(1.0 - ladders.busy_fractions[0])
    assert (engines.dispatches_per_day > 0.0).all()


def test_a_city_without_a_roster_has_its_trucks_in_the_order_of_stations() -> None:
    """The trucks of a plain city are of one kind, and are called after their stations."""
    city = small_city(num_stations=2, trucks_per_station=2)
    assert [unit.station_id for unit in city.units] == ["s0", "s0", "s1", "s1"]
    assert {unit.kind for unit in city.units} == {"truck"}
    assert [unit.unit_id for unit in city.units] == ["s0-1", "s0-2", "s1-1", "s1-2"]
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


def test_a_unit_keeps_its_number_in_a_changed_city() -> None:
    """Whoever goes, comes or moves: a unit that both cities have draws the same, and a new one as nobody else."""
    city = department_of(1)
    kinds = city.kinds
    before = {kind: truck_numbers(city, city, kind) for kind in kinds}
    roster = [unit for unit in city.units if unit.unit_id != "E2"]
    roster[0] = replace(roster[0], station_id="s3")
    roster.insert(1, replace(roster[0], unit_id="new"))
    changed = replace(city, units=tuple(roster))
    number = {
        of.units[u].unit_id: int(own)
        for of, kind in ((city, kind) for kind in kinds)
        for u, own in zip(trucks_of(of, kind), before[kind], strict=True)
    }
    assert sorted(number.values()) == list(range(len(city.units)))
    for kind in kinds:
        numbers = truck_numbers(changed, city, kind).tolist()
        units = [changed.units[u].unit_id for u in trucks_of(changed, kind)]
        for unit_id, own in zip(units, numbers, strict=True):
            assert own == number.get(unit_id, own)
            assert unit_id != "new" or own >= len(city.units)


def test_without_a_roster_the_trucks_of_a_station_keep_their_numbers() -> None:
    """A station that is gone shifts nobody's number, and neither does a truck less."""
    city = plain_town()
    changed = replace(city, stations=tuple(city.stations[1:]))
    kind = city.kinds[0]
    first = city.stations[0].trucks
    assert truck_numbers(changed, city, kind).tolist() == truck_numbers(city, city, kind).tolist()[first:]
    assert station_numbers(changed, city) == {one.station_id: i for i, one in enumerate(city.stations) if i > 0}
