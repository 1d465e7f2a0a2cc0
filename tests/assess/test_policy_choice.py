"""Policies as somebody asks for them, by name, by label, by file; and what a city gets where nobody does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.departments import grid_department
from tests.policy_files import save_policy

from runcard.assess.plans import plans_for
from runcard.assess.policy_choice import (
    best_policy,
    busy_part,
    names_file,
    policy_choices,
    policy_note,
)
from runcard.city import City, generate_grid
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.from_city import dispatch_problem
from runcard.policy.solve import evaluate, solve_problem
from runcard.policy.solve_options import DEFAULTS, SolveOptions


@pytest.fixture(scope="module")
def city() -> City:
    """A small city."""
    return generate_grid(side=3, num_stations=3, load=0.2, seed=5)


@pytest.fixture
def folder(city: City, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, which is the current one, with policy files of the city under several names."""
    monkeypatch.chdir(tmp_path)
    problem = dispatch_problem(city)
    for name in ("mine.policy", "saved", "optimal", "CF"):
        save_policy(solve_problem(problem, "one-step"), tmp_path / name)
    (tmp_path / "city").mkdir()
    return tmp_path


def test_words_are_names_labels_and_files_each_once(folder: Path) -> None:
    """A name is a policy even where there is a file of that name; other words are files if there is one."""
    words = ["CF", "mine.policy", "optimal", "saved", "closest-first", "./optimal", "mine.policy"]
    choices = policy_choices(words, DEFAULTS)
    assert [(one.label, one.name, one.file is not None) for one in choices] == [
        ("closest-first", "closest-first", False),
        ("mine.policy", "one-step", True),
        ("optimal", "optimal", False),
        ("saved", "one-step", True),
        ("./optimal", "one-step", True),
    ]


@pytest.mark.parametrize(
    ("word", "is_file"), [("none.policy", True), ("city", False), ("opt", False), (" OPT ", False), ("saved", True)]
)
def test_what_means_a_file(folder: Path, word: str, is_file: bool) -> None:
    """The ending says so, or a file that is there; a folder is none."""
    assert names_file(word) is is_file


def test_a_file_is_read_and_nothing_is_solved(folder: Path, city: City, monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy of a file is that of the city's own problem, and decides as the one that was saved."""
    choices = policy_choices(["mine.policy"], DEFAULTS)
    monkeypatch.setattr("runcard.assess.policy_choice.solve_named", lambda *_: pytest.fail("should not be solved"))
    (policy,) = (plan.fleets[0].policy for plan in plans_for(city, choices, DEFAULTS).values())
    problem = dispatch_problem(city)
    for point in range(problem.num_points):
        assert policy.decide(problem.trucks, point) == solve_problem(problem, "one-step").decide(problem.trucks, point)


def test_a_file_for_another_city_is_refused(folder: Path) -> None:
    """The fingerprints are compared, not only the names of stations."""
    other = generate_grid(side=3, num_stations=3, load=0.21, seed=5)
    with pytest.raises(PolicyFileError, match=r"mine\.policy: the policy was made for another city"):
        plans_for(other, policy_choices(["mine.policy"], DEFAULTS), DEFAULTS)


def test_mistakes_are_said_before_any_work(folder: Path) -> None:
    """No policy, a file that is missing or damaged, and a horizon that only a file could have."""
    (folder / "damaged.policy").write_bytes(b"nothing")
    with pytest.raises(InputError, match="expected at least one policy"):
        policy_choices([], DEFAULTS)
    with pytest.raises(PolicyFileError, match=r"none\.policy: expected a policy file, found none"):
        policy_choices(["none.policy"], DEFAULTS)
    with pytest.raises(PolicyFileError, match=r"damaged\.policy: damaged"):
        policy_choices(["CF", "damaged.policy"], DEFAULTS)
    with pytest.raises(InputError, match="expected a horizon only for one-step-queueing"):
        policy_choices(["mine.policy"], SolveOptions(horizon_busy_times=2.0))


def grid(load: float, num_stations: int = 24) -> City:
    """A city whose trucks are sent in pairs, so that they are busy twice the load."""
    return generate_grid(side=6, num_stations=num_stations, load=load, seed=1)


def test_the_busy_part_is_that_of_an_evaluation() -> None:
    """With trucks from outside added, the trucks of every kind are busy so much of the time as is asked of them."""
    assert busy_part(grid(0.1)) == pytest.approx(0.2)
    department = grid_department(side=3, engines=4, ladders=2, load=0.1)
    department = replace(department, busy_minutes={"engine": 50.0, "ladder": 70.0})
    for kind in department.kinds:
        seen = department.of_kind(kind)
        found = evaluate(solve_problem(dispatch_problem(seen), "closest-first"))
        trucks = np.array([station.trucks for station in seen.stations])
        busy = float(found.busy_fractions @ trucks) / trucks.sum()
        assert busy == pytest.approx((1.0 - found.outside_share) * busy_part(seen), rel=1e-9)


def test_a_city_gets_the_policy_for_its_size_and_its_load() -> None:
    """The optimum where it is small; else the mean field, or where trucks are busy more than a third of the time the
    neighbourhoods, unless the mean field has all states in one table: 8,192 of them, those of thirteen trucks.
    """
    small, idle, busy = grid(0.4, num_stations=4), grid(0.16), grid(0.17)
    assert best_policy(small) == "optimal"
    assert best_policy(idle) == "one-step-mean-field"
    assert best_policy(busy) == "one-step-neighbourhoods"
    assert [best_policy(small, exact=False), best_policy(busy, exact=True)] == ["one-step-mean-field", "optimal"]
    whole, more = grid(0.4, num_stations=13), grid(0.4, num_stations=14)
    assert best_policy(whole, exact=False) == "one-step-mean-field"
    assert best_policy(more, exact=False) == "one-step-neighbourhoods"


def test_cities_that_are_compared_get_one_policy() -> None:
    """It is the one that is good in all of them."""
    small, idle, busy = grid(0.1, num_stations=4), grid(0.1), grid(0.2)
    assert best_policy(small, idle) == best_policy(idle, small) == "one-step-mean-field"
    assert best_policy(idle, busy) == best_policy(busy, idle) == best_policy(small, busy) == "one-step-neighbourhoods"
    assert best_policy(exact=False) == "one-step-mean-field"


def test_one_truck_to_an_incident_is_half_the_work() -> None:
    """What counts is how busy trucks are, not how many incidents there are."""
    busy = grid(0.3)
    alone = replace(busy, trucks_per_incident=1)
    assert (best_policy(busy), best_policy(alone)) == ("one-step-neighbourhoods", "one-step-mean-field")


def test_only_the_mean_field_in_a_large_and_busy_city_is_noted() -> None:
    """One sentence says why and what is better; no policy that a city gets by itself has one."""
    assert policy_note(grid(0.4), "one-step-mean-field") == (
        "one-step-mean-field is for units that are mostly idle, and these are needed 80 % of the time: "
        "one-step-neighbourhoods is made for that, and was nearer to the optimum where it is known."
    )
    assert not policy_note(grid(0.4), "closest-first")
    for city in (grid(0.4, num_stations=4), grid(0.1)):
        assert not policy_note(city, "one-step-mean-field")
    assert not any(policy_note(city, best_policy(city)) for city in (grid(0.1), grid(0.4)))
