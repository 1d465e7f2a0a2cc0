"""Policies by name, and the options that every one of them is solved with."""

import inspect
from dataclasses import fields

import pytest

from runcard.errors import InputError
from runcard.mdp.progress import Progress
from runcard.policy.solve import LABELS, POLICY_NAMES, RECIPES, check_horizon, solve_named, solve_problem
from runcard.policy.solve_options import SolveOptions

from ..mdp.problems import make_problem


def test_the_keywords_of_solve_are_the_options() -> None:
    """Each option has a keyword of the same name and default, and there is no other keyword."""
    keywords = {
        name: one.default
        for name, one in inspect.signature(solve_problem).parameters.items()
        if one.kind is one.KEYWORD_ONLY
    }
    assert keywords == {one.name: one.default for one in fields(SolveOptions)}


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_policy_takes_the_same_options(name: str) -> None:
    """A policy takes what it needs of the options, and leaves the rest."""
    problem = make_problem([1, 2], [2, 1])
    options = SolveOptions(tolerance=1e-3, horizon_busy_times=2.0, threads=1, progress=lambda _: None)
    assert solve_named(problem, name, options).name == name


def test_progress_hears_bounds_where_there_are_some() -> None:
    """The bounds of the last step are those of the certificate."""
    heard: list[Progress] = []
    policy = solve_problem(make_problem([1, 2], [2, 1]), progress=heard.append)
    assert policy.certificate is not None
    assert (heard[-1].lower, heard[-1].upper) == (policy.certificate.lower, policy.certificate.upper)


def test_a_horizon_is_for_a_policy_that_has_one() -> None:
    """It is refused where no policy takes it, with the name of the one that does."""
    check_horizon(["closest-first", "one-step-queueing"])
    with pytest.raises(InputError, match="expected a horizon only for one-step-queueing, got one for optimal"):
        solve_problem(make_problem([1], [1]), "optimal", horizon_busy_times=2.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tolerance": 0.0}, "expected a tolerance between 0 and 1, got 0.0"),
        ({"tolerance": float("nan")}, "expected a tolerance between 0 and 1, got nan"),
        ({"threads": 0}, "expected threads >= 1, got 0"),
    ],
)
def test_options_check_themselves(given: dict[str, float], words: str) -> None:
    """Numbers that mean nothing are refused in words."""
    with pytest.raises(InputError, match=words):
        SolveOptions(**given)  # type: ignore[arg-type]


def test_names_and_labels_are_those_of_the_recipes() -> None:
    """The paper has labels for four of our policies."""
    assert {"CF", "OPT", "OSI", "OSIA"} == LABELS.keys()
    assert all(RECIPES[name].name == name for name in POLICY_NAMES)
