"""A policy that nobody named is given up where it is worse than closest-first on the city at hand."""

from dataclasses import replace

import numpy as np
import pytest
from tests.departments import grid_department

from runcard.assess.auto import CLOSEST, RECOMMENDED, Effort, solved_city
from runcard.assess.policy_choice import worse_note
from runcard.assess.steps import NO_STEPS
from runcard.city import City, generate_grid
from runcard.mdp.problem import DispatchProblem
from runcard.outputs.map import compared_policies
from runcard.outputs.report.words import replaced_words
from runcard.outputs.whatif.changes import Load
from runcard.outputs.whatif.effect import find_effect
from runcard.policy.closest_first import quick_closest_first
from runcard.policy.solve import RECIPES
from runcard.policy.solve_options import DEFAULTS, SolveOptions

NAME = "one-step-mean-field"


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is solved exactly."""
    monkeypatch.setattr("runcard.assess.policy_choice.SOME_SECONDS", 0.0)


@pytest.fixture
def bad(monkeypatch: pytest.MonkeyPatch, large: None) -> None:
    """The mean field sends the units that are farthest away."""

    def farthest(problem: DispatchProblem, options: SolveOptions = DEFAULTS) -> object:
        policy = quick_closest_first(problem, options)
        return replace(policy, name=NAME, order=np.ascontiguousarray(problem.order[:, ::-1]))

    monkeypatch.setitem(RECIPES, NAME, replace(RECIPES[NAME], solve=farthest))  # type: ignore[arg-type]


@pytest.fixture
def city() -> City:
    """A city of one kind."""
    return generate_grid(side=4, num_stations=5, load=0.1, seed=1)


def report_effort() -> Effort:
    """Few incidents."""
    return Effort(incidents=3_000)


@pytest.mark.usefixtures("bad")
def test_a_report_recommends_closest_first_instead(city: City) -> None:
    """Its numbers are those of closest-first, nothing is gained, and a sentence says why."""
    solved = solved_city(city, (CLOSEST, RECOMMENDED), report_effort())
    assert solved.replaced == {"truck": NAME}
    assert solved.last.policies["truck"].name == CLOSEST
    assert solved.last.missed == solved.first.missed
    gain = solved.gain(solved.last)
    assert (gain.low, gain.high) == (0.0, 0.0)
    assert replaced_words(solved) == [worse_note(NAME)]


@pytest.mark.usefixtures("bad")
def test_only_the_kind_that_is_worse_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ladders get a policy that is good, and keep it."""
    rule = "runcard.assess.auto.best_policy"
    monkeypatch.setattr(rule, lambda one: NAME if one.kinds == ("engine",) else "one-step-queueing")
    solved = solved_city(
        grid_department(side=4, engines=5, ladders=3), (CLOSEST, "fixed-card", RECOMMENDED), report_effort()
    )
    assert solved.replaced == {"engine": NAME}
    assert {kind: one.name for kind, one in solved.last.policies.items()} == {
        "engine": CLOSEST,
        "ladder": "one-step-queueing",
    }
    assert replaced_words(solved) == [f"engine: {worse_note(NAME)}"]


@pytest.mark.usefixtures("bad")
def test_a_change_is_shown_with_closest_first_instead(city: City) -> None:
    """Before and after have one policy; who names one gets it all the same."""
    effect = find_effect(city, [Load(1.2)], incidents=3_000)
    assert [policy.name for policy in effect.policies] == [CLOSEST, CLOSEST]
    assert effect.notes == (worse_note(NAME),)
    assert effect.policies[0].missed == effect.policies[1].missed
    asked = find_effect(city, [Load(1.2)], policy=NAME, incidents=3_000)
    assert [policy.name for policy in asked.policies] == [NAME, CLOSEST]
    assert worse_note(NAME) not in asked.notes


@pytest.mark.usefixtures("bad")
def test_a_map_draws_closest_first_alone(city: City) -> None:
    """And says which policy was given up."""
    policies, note = compared_policies(city, (CLOSEST, NAME), DEFAULTS, NO_STEPS)
    assert [one.name for one in policies] == [CLOSEST]
    assert note == worse_note(NAME)


@pytest.mark.usefixtures("large")
def test_a_policy_that_is_better_stays(city: City) -> None:
    """In a report, a what-if and a map; nothing is said."""
    solved = solved_city(city, (CLOSEST, RECOMMENDED), report_effort())
    assert (solved.replaced, replaced_words(solved)) == ({}, [])
    assert solved.last.policies["truck"].name == NAME
    assert find_effect(city, [Load(1.2)], incidents=3_000).policies[0].name == NAME
    policies, note = compared_policies(city, (CLOSEST, NAME), DEFAULTS, NO_STEPS)
    assert [one.name for one in policies] == [CLOSEST, NAME]
    assert note == ""
