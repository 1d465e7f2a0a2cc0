"""Policy files of cities with periods: all periods in one file."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.departments import grid_department
from tests.weeks import with_days, with_days_by_type

from runcard.city import City, Period, generate_grid
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.fingerprint import city_fingerprint
from runcard.plan.file import load, save, write_contents
from runcard.plan.fleet import ALWAYS
from runcard.plan.plan import Plan, solve
from runcard.plan.situation import Situation
from runcard.plan.tensor_file import read_tensors
from runcard.policy.solve import RECIPES


@pytest.fixture(scope="module")
def city() -> City:
    """Four engines and two ladders, with rates by type that differ by period."""
    return with_days_by_type(grid_department(side=4, engines=4, ladders=2))


@pytest.fixture(scope="module")
def week(city: City) -> Plan:
    """Its optimal policies."""
    return solve(city)


@pytest.mark.parametrize("name", RECIPES)
def test_a_week_is_read_as_it_was_written(city: City, tmp_path: Path, name: str) -> None:
    """Every period has its hours and decides as before, whatever the policy."""
    before = solve(city, name)
    after = load(save(before, tmp_path / "week.policy"), city)
    assert [(one.name, one.hours) for one in after.periods] == [(one.name, one.hours) for one in before.periods]
    for period in city.periods:
        one, other = before.in_period(period.name), after.in_period(period.name)
        assert one.unit_ids == other.unit_ids
        for idle in (one.unit_ids, one.unit_ids[::2]):
            for point in city.demand:
                decisions = [
                    each.decide(Situation(at=point.node_id, type=point.type, idle=idle)) for each in (one, other)
                ]
                assert decisions[0].units == decisions[1].units
                assert [of.decision for of in decisions[0].kinds] == [of.decision for of in decisions[1].kinds]


def test_what_periods_share_is_stored_once(week: Plan, tmp_path: Path) -> None:
    """Costs and measures stand in the first period only, and rates and values in every one."""
    words, arrays = read_tensors(save(week, tmp_path / "week.policy"))
    for kind, said in enumerate(json.loads(words["runcard"])["kinds"]):
        assert said["policies"][0]["same"] == []
        for number in (1, 2):
            lead = f"{kind}/{number}/"
            assert {name.removeprefix(lead) for name in arrays if name.startswith(lead)} == {
                "incidents_per_day",
                "value",
            }
            assert "cost" in said["policies"][number]["same"]
    alone = save(week.in_period("day"), tmp_path / "day.policy").stat().st_size
    assert (tmp_path / "week.policy").stat().st_size < 2 * alone


def test_a_plain_city_with_periods(tmp_path: Path) -> None:
    """Without a roster each period has the policy of its city."""
    city = with_days(generate_grid(side=4, num_stations=3, load=0.2, seed=1))
    plan = load(save(solve(city), tmp_path / "week.policy"), city)
    for hour, name in ((7, "day"), (21, "day"), (22, "night"), (6, "night")):
        assert plan.period_of(hour).name == name
        assert plan.at(hour).unit_ids == tuple(unit.station_id for unit in city.units)
        assert plan.at(hour).fleets[0].problem.fingerprint == city_fingerprint(city.in_period(name))


def test_the_hour_is_never_guessed(week: Plan, tmp_path: Path) -> None:
    """Without a time the error names every period with its hours."""
    plan = load(save(week, tmp_path / "week.policy"))
    with pytest.raises(InputError, match=r"day: mon-fri 7-22; .*; weekend: sat-sun 0-24\)"):
        plan.at(None)
    assert [period.name for period in plan.periods] == ["day", "night", "weekend"]


def test_a_file_for_all_hours_is_for_every_hour(city: City, tmp_path: Path) -> None:
    """A file without periods is asked with and without a time, and does not look at the hour."""
    everyday = replace(city, periods=())
    plan = load(save(solve(everyday, "closest-first"), tmp_path / "all.policy"), everyday)
    for hour in (None, 3, 12):
        assert plan.at(hour) is plan
    assert plan.periods == (ALWAYS,)
    assert not plan.knows_hour


def test_another_city_is_refused(city: City, week: Plan, tmp_path: Path) -> None:
    """Other rates, other hours or other names of periods make a city another one."""
    path = save(week, tmp_path / "week.policy")
    first, *others = city.periods
    for other in (
        replace(city, periods=(replace(first, rates=9.0), *others)),
        replace(city, periods=(replace(first, name="daytime"), *others)),
        replace(city, periods=(Period("all", tuple(range(168))),)),
        replace(city, periods=()),
    ):
        with pytest.raises(PolicyFileError, match="made for another city"):
            load(path, other)


def test_the_policy_of_a_problem_is_found_in_its_period(city: City, week: Plan, tmp_path: Path) -> None:
    """The fingerprint of a period's problem picks its policy; that of the mean rates picks none."""
    ladders = load(save(week, tmp_path / "week.policy")).fleet("ladder")
    for period in city.periods:
        wanted = city_fingerprint(city.in_period(period.name).of_kind("ladder"))
        assert ladders.of_fingerprint(wanted).problem.fingerprint == wanted
    with pytest.raises(PolicyFileError, match="made for another city"):
        ladders.of_fingerprint(city_fingerprint(city.of_kind("ladder")))


def test_damaged_files_are_refused(week: Plan, tmp_path: Path) -> None:
    """Hours that are no week, arrays of no period, shared arrays that are not there: each is refused in a sentence."""
    path = save(week, tmp_path / "week.policy")
    words, arrays = read_tensors(path)
    said = json.loads(words["runcard"])
    said.pop("digest")

    def broken(**changes: object) -> dict[str, object]:
        return said | {"periods": [said["periods"][0] | changes, *said["periods"][1:]]}

    def first_policy(**changes: object) -> dict[str, object]:
        first, *others = said["kinds"]
        policies = [first["policies"][0] | changes, *first["policies"][1:]]
        return said | {"kinds": [first | {"policies": policies}, *others]}

    cases = [
        (broken(hours=[1, 2, 3]), arrays),
        (broken(hours=["mon"]), arrays),
        (broken(name=""), arrays),
        (first_policy(point_ids=["x"]), arrays),
        (first_policy(same=["cost"]), arrays),
        (said | {"periods": said["periods"][:2]}, arrays),
        (said | {"periods": []}, arrays),
        (said, arrays | {"x/cost": arrays["0/0/cost"]}),
        (said, arrays | {"0/9/cost": arrays["0/0/cost"]}),
        (said, arrays | {"cost": arrays["0/0/cost"]}),
        (said, {name: array for name, array in arrays.items() if name != "0/0/cost"}),
    ]
    for about, held in cases:
        write_contents(path, dict(about), held)
        with pytest.raises(PolicyFileError, match=r"week\.policy: "):
            load(path)
    content = bytearray(save(week, path).read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(PolicyFileError, match="damaged"):
        load(path)
