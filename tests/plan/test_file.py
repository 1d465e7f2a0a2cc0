"""Policy files of departments: all kinds in one file, and every file of before."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.departments import grid_department
from tests.town import plain_town

from runcard.city import City
from runcard.errors import PolicyFileError
from runcard.mdp.from_city import dispatch_problem
from runcard.plan.file import load, save
from runcard.plan.plan import solve
from runcard.plan.situation import Situation
from runcard.plan.tensor_file import read_tensors, write_tensors
from runcard.policy.solve import RECIPES, solve_problem


@pytest.fixture(scope="module")
def city() -> City:
    """Four engines and two ladders."""
    return grid_department(side=4, engines=4, ladders=2)


@pytest.mark.parametrize("name", RECIPES)
def test_a_department_is_read_as_it_was_written(city: City, tmp_path: Path, name: str) -> None:
    """Every kind decides as before, whatever the policy, with the same units, standards and types."""
    before = solve(city, name)
    path = save(before, tmp_path / "city.policy")
    after = load(path, city)
    assert after.unit_ids == before.unit_ids
    for one, other in zip(before.fleets, after.fleets, strict=True):
        assert (one.kind, one.units, one.standards, one.types) == (
            other.kind,
            other.units,
            other.standards,
            other.types,
        )
    for idle in (before.unit_ids, before.unit_ids[1:], before.unit_ids[::2]):
        for point in city.demand:
            one, other = (
                each.decide(Situation(at=point.node_id, type=point.type, idle=idle)) for each in (before, after)
            )
            assert one.units == other.units
            assert [of.decision for of in one.kinds] == [of.decision for of in other.kinds]
            assert [of.fleet.chances(of.point, of.decision) for of in one.kinds] == [
                of.fleet.chances(of.point, of.decision) for of in other.kinds
            ]


def test_a_plain_city_has_a_plan_of_one_kind(tmp_path: Path) -> None:
    """Its trucks have the names of their stations, and the policy is that of the one problem that there is."""
    town = plain_town()
    plan = load(solve(town, "closest-first").save(tmp_path / "plain.policy"), town)
    assert (plan.unit_ids, plan.types) == (tuple(unit.station_id for unit in town.units), ())
    alone = solve_problem(dispatch_problem(town), "closest-first")
    assert [fleet.policy.name for fleet in plan.fleets] == ["closest-first"]
    assert plan.fleets[0].policy.decide(alone.problem.trucks, 0) == alone.decide(alone.problem.trucks, 0)


def test_each_kind_has_the_policy_of_its_problem(city: City, tmp_path: Path) -> None:
    """The policy of a kind is found by its problem, and is then of that very problem; one of another kind is none."""
    plan = load(save(solve(city), tmp_path / "city.policy"))
    problem = dispatch_problem(city, kind="ladder")
    assert plan.fleet("ladder").made_for(problem).problem is problem
    with pytest.raises(PolicyFileError, match="made for another city"):
        plan.fleet("engine").made_for(problem)


def test_a_department_of_another_roster_is_refused(city: City, tmp_path: Path) -> None:
    """A unit that was renamed, a target that was changed or a kind that is gone makes it another city."""
    path = save(solve(city), tmp_path / "city.policy")
    uncounted = tuple(replace(one, trucks=0) for one in city.stations)
    renamed = (replace(city.units[0], unit_id="E99"), *city.units[1:])
    longer = (replace(city.standards[0], target_minutes=99.0), *city.standards[1:])
    for other in (
        replace(city, units=renamed, stations=uncounted),
        replace(city, standards=longer, stations=uncounted),
        city.of_kind("engine"),
    ):
        with pytest.raises(PolicyFileError, match="made for another city, or for this one before it changed"):
            load(path, other)
    assert load(path, city).fleets[1].kind == "ladder"


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
def test_a_file_that_contradicts_itself_is_refused(city: City, tmp_path: Path, damage, words: str) -> None:
    """A file with a good digest that was written by a foreign hand is refused in a sentence."""
    from runcard.plan.file import _digest

    path = save(solve(city, "closest-first"), tmp_path / "city.policy")
    said, arrays = read_tensors(path)
    about = json.loads(said["runcard"])
    about.pop("digest")
    damage(about)
    about["digest"] = _digest(about, arrays)
    write_tensors(tmp_path / "bad.policy", said | {"runcard": json.dumps(about)}, arrays)
    with pytest.raises(PolicyFileError, match=words):
        load(tmp_path / "bad.policy")
