"""Policies by name, and the options that every one of them is solved with."""

import inspect
from dataclasses import fields, replace

import pytest

from runcard.errors import InputError, NotConvergedError
from runcard.mdp.progress import Progress
from runcard.policy import one_step
from runcard.policy.closest_first import closest_first_value
from runcard.policy.solve import LABELS, POLICY_NAMES, RECIPES, check_horizon, solve_named, solve_problem
from runcard.policy.solve_options import SolveOptions

from ..mdp.problems import make_problem

PROBLEM = make_problem([1, 2], [2, 1])


def test_the_keywords_of_solve_are_the_options() -> None:
    """Each option has a keyword of the same name and default, and there is no other keyword."""
    keywords = inspect.signature(solve_problem).parameters.values()
    given = {one.name: one.default for one in keywords if one.kind is one.KEYWORD_ONLY}
    assert given == {one.name: one.default for one in fields(SolveOptions)}


def test_every_policy_takes_the_same_options() -> None:
    """A policy takes what it needs of the options, and leaves the rest. The paper has labels for four of them."""
    options = SolveOptions(tolerance=1e-3, horizon_busy_times=2.0, threads=1, progress=lambda _: None)
    assert [solve_named(PROBLEM, name, options).name for name in POLICY_NAMES] == [*RECIPES]
    assert {"CF", "OPT", "OSI", "OSIA"} == LABELS.keys()


def test_progress_hears_bounds_where_there_are_some() -> None:
    """The bounds of the last step are those of the certificate."""
    heard: list[Progress] = []
    policy = solve_problem(PROBLEM, progress=heard.append)
    assert policy.certificate is not None
    assert (heard[-1].lower, heard[-1].upper) == (policy.certificate.lower, policy.certificate.upper)


def test_no_step_is_made_from_values_that_did_not_converge(monkeypatch: pytest.MonkeyPatch) -> None:
    """One-step improves on the values of closest-first: of wrong ones nobody knows what it makes."""
    solved = closest_first_value(PROBLEM)
    monkeypatch.setattr(one_step, "closest_first_value", lambda *_: replace(solved, converged=False))
    with pytest.raises(NotConvergedError, match="the values of closest-first did not converge"):
        solve_problem(PROBLEM, "one-step")


def test_a_horizon_is_for_a_policy_that_has_one() -> None:
    """It is refused where no policy takes it, with the name of the one that does."""
    check_horizon(["closest-first", "one-step-queueing"])
    with pytest.raises(InputError, match="expected a horizon only for one-step-queueing, got one for optimal"):
        solve_problem(PROBLEM, "optimal", horizon_busy_times=2.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *(({"tolerance": one}, f"expected a tolerance between 0 and 1, got {one}") for one in (0.0, -1.0, 1.0)),
        ({"tolerance": float("nan")}, "expected a tolerance between 0 and 1, got nan"),
        *(({"threads": threads}, f"expected threads >= 1, got {threads}") for threads in (0, -1)),
    ],
)
def test_options_check_themselves(options: dict[str, float], words: str) -> None:
    """Numbers that mean nothing are refused in words."""
    for solve in (SolveOptions, lambda **options: solve_problem(PROBLEM, **options)):
        with pytest.raises(InputError, match=words):
            solve(**options)
