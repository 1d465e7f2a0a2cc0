"""Policies by name: the names of the command line, the labels of the paper, and how each is solved and evaluated."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runcard.errors import InputError
from runcard.mdp.evaluate import Evaluation, evaluate_rule
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.policy.base import Policy
from runcard.policy.closest_first import solve_closest_first
from runcard.policy.fixed_card import solve_fixed_card
from runcard.policy.mean_field import solve_mean_field
from runcard.policy.one_step import solve_one_step
from runcard.policy.optimal import solve_to_optimality
from runcard.policy.queueing import solve_queueing, solve_queueing_printed
from runcard.threads import checked_threads

POLICY_NAMES: Final = (
    "closest-first",
    "optimal",
    "one-step",
    "one-step-queueing",
    "one-step-queueing-printed",
    "one-step-mean-field",
    "fixed-card",
)

EXACT_NAMES: Final = frozenset({"optimal", "one-step"})
"""The policies that are the values of every state; the others can be had for departments of any size."""

LABELS: Final = {"CF": "closest-first", "OPT": "optimal", "OSI": "one-step", "OSIA": "one-step-queueing"}
"""The paper's label of each policy that it has, and our name for it."""


def policy_name(word: str) -> str:
    """The name of a policy, given its name or the paper's label for it."""
    if not isinstance(word, str):
        raise InputError(f"expected the name of a policy, got {word!r}")
    name = LABELS.get(word.strip().upper(), word.strip().lower())
    if name not in POLICY_NAMES:
        near = get_close_matches(name, POLICY_NAMES, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        label_of = {name: f" ({label})" for label, name in LABELS.items()}
        choices = ", ".join(name + label_of.get(name, "") for name in POLICY_NAMES)
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
    checked_threads(threads)
    name = policy_name(policy)
    if horizon_busy_times is not None and name != "one-step-queueing":
        raise InputError(f"{name} has no horizon: expected horizon_busy_times only for one-step-queueing")
    if name == "optimal":
        return solve_to_optimality(problem, tolerance=tolerance, threads=threads, progress=progress)
    if name == "one-step-queueing":
        return solve_queueing(problem, horizon_busy_times=horizon_busy_times, threads=threads, progress=progress)
    others: dict[str, Callable[..., Policy]] = {
        "closest-first": solve_closest_first,
        "one-step": solve_one_step,
        "one-step-queueing-printed": solve_queueing_printed,
        "one-step-mean-field": solve_mean_field,
        "fixed-card": solve_fixed_card,
    }
    return others[name](problem, threads=threads, progress=progress)


def evaluate(
    policy: Policy,
    *,
    measures: Mapping[str, NDArray[np.float64]] | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """What a policy achieves in the long run, exactly; `measures` are tables [T, J] beside those of its problem."""
    checked_threads(threads)  # before the rule is made, which may take long
    return evaluate_rule(policy.problem, policy.rule, measures=measures, threads=threads, progress=progress)
