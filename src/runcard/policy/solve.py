"""Policies by name: the names of the command line, the labels of the paper, and how each is solved and evaluated."""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Final

from runcard.errors import InputError
from runcard.mdp.evaluate import Evaluation, evaluate_rule
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.policy import closest_first, fixed_card, mean_field, one_step, optimal, queueing
from runcard.policy.base import Policy

RECIPES: Final = {
    recipe.name: recipe
    for recipe in (
        closest_first.RECIPE,
        optimal.RECIPE,
        one_step.RECIPE,
        queueing.RECIPE,
        queueing.PRINTED,
        mean_field.RECIPE,
        fixed_card.RECIPE,
    )
}
"""Every policy that has a name. A new one is a file of its own, and a line here."""

POLICY_NAMES: Final = tuple(RECIPES)

LABELS: Final = {recipe.label: name for name, recipe in RECIPES.items() if recipe.label}
"""The paper's label of each policy that it has, and our name for it."""


def policy_name(word: str) -> str:
    """The name of a policy, given its name or the paper's label for it."""
    if not isinstance(word, str):
        raise InputError(f"expected the name of a policy, got {word!r}")
    name = LABELS.get(word.strip().upper(), word.strip().lower())
    if name not in RECIPES:
        near = get_close_matches(name, RECIPES, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        label_of = {name: f" ({label})" for label, name in LABELS.items()}
        choices = ", ".join(name + label_of.get(name, "") for name in RECIPES)
        raise InputError(f"expected a policy, one of {choices}; got {word!r}{meant}")
    return name


def solve(
    problem: DispatchProblem,
    policy: str = "optimal",
    *,
    tolerance: float = 1e-9,
    horizon_busy_times: float | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Policy:
    """The policy of that name or label for a problem; `progress` is told each time the bounds of a long solve close.

    `tolerance` is for `optimal` and `horizon_busy_times` for `one-step-queueing`: how long after a decision the number
    of busy trucks is not yet the usual one, in busy times 1/μ; left out, it follows from how often a truck is asked.
    """
    if not 0.0 < tolerance < 1.0:
        raise InputError(f"expected a tolerance between 0 and 1, got {tolerance!r}")
    if threads is not None and threads < 1:
        raise InputError(f"expected threads >= 1, got {threads!r}")
    name = policy_name(policy)
    if horizon_busy_times is not None and name != "one-step-queueing":
        raise InputError(f"{name} has no horizon: expected horizon_busy_times only for one-step-queueing")
    options: dict[str, Any] = {"threads": threads, "progress": progress}
    if name == "optimal":
        options["tolerance"] = tolerance
    if name == "one-step-queueing":
        options["horizon_busy_times"] = horizon_busy_times
    return RECIPES[name].solve(problem, **options)


def evaluate(
    policy: Policy, *, threads: int | None = None, progress: Callable[[Progress], None] | None = None
) -> Evaluation:
    """What a policy achieves in the long run, exactly."""
    return evaluate_rule(policy.problem, policy.rule, threads=threads, progress=progress)
