"""Policy files of cities with periods: all periods in one file."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.departments import grid_department
from tests.weeks import with_days, with_days_by_type

from runcard.city import City, Period, generate_grid
from runcard.errors import PolicyFileError
from runcard.mdp.fingerprint import city_fingerprint
from runcard.outputs.department_file import load_department, save_department
from runcard.outputs.policy_file import load_policy, write_contents
from runcard.outputs.tensor_file import read_tensors
from runcard.outputs.week_file import load_any, load_at, load_kind_at, load_week, save_week, week_fingerprints
from runcard.policy.department import solve_department
from runcard.policy.solve import RECIPES
from runcard.policy.week import Week, solve_week


@pytest.fixture(scope="module")
def city() -> City:
    """Four engines and two ladders, with rates by type that differ by period."""
    return with_days_by_type(grid_department(side=4, engines=4, ladders=2))


@pytest.fixture(scope="module")
def week(city: City) -> Week:
    """Its optimal policies."""
    return solve_week(city)


@pytest.mark.parametrize("name", RECIPES)
def test_a_week_is_read_as_it_was_written(city: City, tmp_path: Path, name: str) -> None:
    """Every period has its hours and decides as before, whatever the policy."""
    before = solve_week(city, name)
    after = load_week(save_week(before, tmp_path / "week.policy"), week_fingerprints(city))
    assert [(one.name, one.hours) for one in after.periods] == [(one.name, one.hours) for one in before.periods]
    for period in city.periods:
        one, other = before.department(period.name), after.department(period.name)
        assert one.unit_ids == other.unit_ids
        for idle in (one.unit_ids, one.unit_ids[::2]):
            for point in city.demand:
                decisions = [each.decide(idle, point.node_id, point.type) for each in (one, other)]
                assert decisions[0].units == decisions[1].units
                assert [of.decision for of in decisions[0].kinds] == [of.decision for of in decisions[1].kinds]


def test_what_periods_share_is_stored_once(city: City, week: Week, tmp_path: Path) -> None:
    """Costs and measures stand in the first period only, and rates and values in every one."""
    words, arrays = read_tensors(save_week(week, tmp_path / "week.policy"))
    said = json.loads(words["runcard"])["periods"]
    assert [one["same"] for one in said[:1]] == [[]]
    for number in (1, 2):
        own = {name.removeprefix(f"p{number}/") for name in arrays if name.startswith(f"p{number}/")}
        assert own == {f"{kind}/{name}" for kind in (0, 1) for name in ("incidents_per_day", "value")}
        assert "0/cost" in said[number]["same"]
    one = save_department(week.department("day"), tmp_path / "day.policy").stat().st_size
    assert (tmp_path / "week.policy").stat().st_size < 2 * one


def test_a_plain_city_with_periods(tmp_path: Path) -> None:
    """Without a roster each period has the contents of a plain file."""
    city = with_days(generate_grid(side=4, num_stations=3, load=0.2, seed=1))
    path = save_week(solve_week(city), tmp_path / "week.policy")
    for hour, name in ((7, "day"), (21, "day"), (22, "night"), (6, "night")):
        found, period = load_at(path, hour, city)
        assert period == name
        assert found.is_plain
        assert found.fleets[0].problem.fingerprint == city_fingerprint(city.in_period(name))


def test_the_hour_is_never_guessed(city: City, week: Week, tmp_path: Path) -> None:
    """Without a time the error names every period with its hours, and so do functions for other files."""
    path = save_week(week, tmp_path / "week.policy")
    with pytest.raises(PolicyFileError, match=r"day: mon-fri 7-22; .*; weekend: sat-sun 0-24\): say with --time"):
        load_at(path, None)
    for load in (load_department, load_policy):
        with pytest.raises(PolicyFileError, match=r"each period of the week \(day, night, weekend\): use load_week"):
            load(path)
    assert [one.name for one in load_any(path)[1]] == ["day", "night", "weekend"]


def test_a_file_for_all_hours_is_for_every_hour(city: City, tmp_path: Path) -> None:
    """A file without periods is read with and without a time, and is no week."""
    path = save_department(solve_department(city, "closest-first"), tmp_path / "all.policy")
    for hour in (None, 3, 12):
        found, period = load_at(path, hour, city)
        assert (found.name, period) == ("closest-first", None)
    assert load_any(path)[1] == ()
    with pytest.raises(PolicyFileError, match="found one for all hours"):
        load_week(path)


def test_another_city_is_refused(city: City, week: Week, tmp_path: Path) -> None:
    """Other rates, other hours or other names of periods make a city another one."""
    path = save_week(week, tmp_path / "week.policy")
    first, *others = city.periods
    for other in (
        replace(city, periods=(replace(first, rates=9.0), *others)),
        replace(city, periods=(replace(first, name="daytime"), *others)),
        replace(city, periods=(Period("all", tuple(range(168))),)),
        replace(city, periods=()),
    ):
        with pytest.raises(PolicyFileError, match="made for another city"):
            load_week(path, week_fingerprints(other))
        with pytest.raises(PolicyFileError, match="made for another city"):
            load_at(path, 12, other)


def test_the_policy_of_a_problem_is_found_in_its_period(city: City, week: Week, tmp_path: Path) -> None:
    """The fingerprint of a period's problem picks its policy; that of the mean rates picks none."""
    path = save_week(week, tmp_path / "week.policy")
    for period in city.periods:
        wanted = city_fingerprint(city.in_period(period.name).of_kind("ladder"))
        assert load_kind_at(path, "ladder", wanted).problem.fingerprint == wanted
    with pytest.raises(PolicyFileError, match="made for another city"):
        load_kind_at(path, "ladder", city_fingerprint(city.of_kind("ladder")))


def test_damaged_files_are_refused(week: Week, tmp_path: Path) -> None:
    """Hours that are no week, arrays of no period, shared arrays that are not there: each is refused in a sentence."""
    path = save_week(week, tmp_path / "week.policy")
    words, arrays = read_tensors(path)
    said = json.loads(words["runcard"])
    said.pop("digest")

    def broken(**changes: object) -> dict[str, object]:
        return said | {"periods": [said["periods"][0] | changes, *said["periods"][1:]]}

    cases = [
        (broken(hours=[1, 2, 3]), arrays),
        (broken(hours=["mon"]), arrays),
        (broken(name=""), arrays),
        (broken(contents={"format": "other"}), arrays),
        (broken(same=["0/cost"]), arrays),
        (said | {"periods": said["periods"][:2]}, arrays),
        (said | {"periods": []}, arrays),
        (said, arrays | {"x/cost": arrays["p0/0/cost"]}),
        (said, arrays | {"p9/cost": arrays["p0/0/cost"]}),
        (said, {name: array for name, array in arrays.items() if name != "p0/0/cost"}),
    ]
    for about, held in cases:
        write_contents(path, dict(about), held)
        with pytest.raises(PolicyFileError, match=r"week\.policy: "):
            load_week(path)
        with pytest.raises(PolicyFileError, match=r"week\.policy: "):
            load_at(path, 12)
    content = bytearray(save_week(week, path).read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(PolicyFileError, match="damaged"):
        load_week(path)
