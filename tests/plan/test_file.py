"""Policy files: every period and every kind in one file, which decides as what was written, and nothing that lies."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.departments import grid_department
from tests.town import plain_town
from tests.weeks import with_days, with_days_by_type

from runcard.city import City, Period
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.fingerprint import city_fingerprint
from runcard.mdp.from_city import dispatch_problem
from runcard.plan.file import load, save, write_contents
from runcard.plan.fleet import ALWAYS
from runcard.plan.plan import Plan, solve
from runcard.plan.situation import Situation
from runcard.plan.tensor_file import read_tensors
from runcard.policy.solve import solve_problem


@pytest.fixture(scope="module")
def city() -> City:
    """Four engines and two ladders, with rates by type that differ by period."""
    return with_days_by_type(grid_department(side=4, engines=4, ladders=2))


@pytest.fixture(scope="module")
def week(city: City) -> Plan:
    """Its optimal policies."""
    return solve(city)


@pytest.mark.parametrize("name", ["optimal", "fixed-card", "one-step-mean-field", "one-step-queueing"])
def test_a_plan_is_read_as_it_was_written(city: City, tmp_path: Path, name: str) -> None:
    """Every kind decides as before in every period, whatever the policy, with the same units, standards and types."""
    before = solve(city, name)
    after = load(save(before, tmp_path / "week.policy"), city)
    assert [(one.name, one.hours) for one in after.periods] == [(one.name, one.hours) for one in before.periods]
    for fleet, other in zip(before.fleets, after.fleets, strict=True):
        for part in ("kind", "units", "standards", "types"):
            assert getattr(fleet, part) == getattr(other, part)
    for period in city.periods:
        for idle in (before.unit_ids, before.unit_ids[1:], before.unit_ids[::2]):
            for point in city.demand:
                asked = Situation(at=point.node_id, type=point.type, idle=idle)
                one, again = (each.in_period(period.name).decide(asked) for each in (before, after))
                assert one.units == again.units
                assert [of.decision for of in one.kinds] == [of.decision for of in again.kinds]
                assert [of.fleet.chances(of.point, of.decision) for of in one.kinds] == [
                    of.fleet.chances(of.point, of.decision) for of in again.kinds
                ]


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


@pytest.mark.parametrize("periods", [False, True])
def test_a_plain_city_has_a_plan_of_one_kind(tmp_path: Path, periods: bool) -> None:
    """Its trucks have the names of their stations, and the policy of each period is that of its one problem."""
    town = with_days(plain_town()) if periods else plain_town()
    plan = load(solve(town, "closest-first").save(tmp_path / "plain.policy"), town)
    assert (plan.unit_ids, plan.types) == (tuple(unit.station_id for unit in town.units), ())
    for hour, name in ((7, "day"), (21, "day"), (22, "night"), (6, "night")):
        seen = town.in_period(name) if periods else town
        assert plan.period_of(hour).name == (name if periods else ALWAYS.name)
        (fleet,) = plan.at(hour).fleets
        alone = solve_problem(dispatch_problem(seen), "closest-first")
        assert fleet.problem.fingerprint == city_fingerprint(seen)
        assert fleet.policy.decide(alone.problem.trucks, 0) == alone.decide(alone.problem.trucks, 0)


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
    """Other rates, hours or names of periods, a renamed unit, another target and a kind less make another city."""
    path = save(week, tmp_path / "week.policy")
    first, *others = city.periods
    uncounted = tuple(replace(one, trucks=0) for one in city.stations)
    renamed = (replace(city.units[0], unit_id="E99"), *city.units[1:])
    longer = (replace(city.standards[0], target_minutes=99.0), *city.standards[1:])
    for other in (
        replace(city, periods=(replace(first, rates=9.0), *others)),
        replace(city, periods=(replace(first, name="daytime"), *others)),
        replace(city, periods=(Period("all", tuple(range(168))),)),
        replace(city, periods=()),
        replace(city, units=renamed, stations=uncounted),
        replace(city, standards=longer, stations=uncounted),
        city.of_kind("engine"),
    ):
        with pytest.raises(PolicyFileError, match="made for another city, or for this one before it changed"):
            load(path, other)
    assert load(path, city).fleets[1].kind == "ladder"


def test_the_policy_of_a_problem_is_found_by_kind_and_period(city: City, week: Plan, tmp_path: Path) -> None:
    """The problem of a period picks its policy, which is then of that very problem; another kind or rate picks none."""
    plan = load(save(week, tmp_path / "week.policy"))
    for period in city.periods:
        problem = dispatch_problem(city.in_period(period.name), kind="ladder")
        assert plan.fleet("ladder").made_for(problem).problem is problem
        assert plan.fleet("ladder").of_fingerprint(problem.fingerprint).problem.fingerprint == problem.fingerprint
        with pytest.raises(PolicyFileError, match="made for another city"):
            plan.fleet("engine").made_for(problem)
    with pytest.raises(PolicyFileError, match="made for another city"):
        plan.fleet("ladder").of_fingerprint(city_fingerprint(city.of_kind("ladder")))


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
        *((broken(**change), arrays) for change in ({"hours": [1, 2, 3]}, {"hours": ["mon"]}, {"name": ""})),
        *((first_policy(**change), arrays) for change in ({"point_ids": ["x"]}, {"same": ["cost"]})),
        *((said | {"periods": said["periods"][:number]}, arrays) for number in (0, 2)),
        *((said, arrays | {name: arrays["0/0/cost"]}) for name in ("x/cost", "0/9/cost", "cost")),
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


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda about: about["kinds"][0]["units"].pop(), "expected units for the trucks of every station of engine"),
        (lambda about: about["kinds"][1]["types"].pop(), "expected a type for each of 16 demand points of ladder"),
        (lambda about: about["kinds"][0]["units"][0].__setitem__(0, "all"), "expected unit_id not empty"),
        (lambda about: about["kinds"][0]["standards"][0].__setitem__(2, 9), "expected trucks to be a whole number"),
        (lambda about: about.update(kinds=[]), "expected at least one kind of units"),
        (lambda about: about["kinds"][1]["units"][0].__setitem__(0, "E01"), "expected every unit and every kind once"),
        (lambda about: about["spare"].append(["E01", "s0", "medic"]), "expected every unit and every kind once"),
        (lambda about: about["kinds"][0]["units"][0].__setitem__(2, "ladder"), "of the kind engine only"),
        (lambda about: about["kinds"][0]["standards"][0].__setitem__(3, 3), "no more arrivals than trucks"),
        (lambda about: [one.update(units=[]) for one in about["kinds"]], "expected units and standards of every kind"),
        (lambda about: about["kinds"][0]["standards"].pop(), "that need as many trucks as its demand points"),
        (lambda about: about["kinds"][0].update(kind="a/b"), "expected kind not empty"),
        (lambda about: about["kinds"][0].pop("policies"), "not a policy file of this version, or damaged"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(week: Plan, tmp_path: Path, damage, words: str) -> None:
    """A file with a good digest that was written by a foreign hand is refused in a sentence."""
    path = save(week, tmp_path / "city.policy")
    said, arrays = read_tensors(path)
    about = json.loads(said["runcard"])
    about.pop("digest")
    damage(about)
    write_contents(path, about, arrays, {"city": said["city"]})
    with pytest.raises(PolicyFileError, match=words):
        load(path)
