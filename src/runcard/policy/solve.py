"""Policies by name: the names of the command line, the labels of the paper, and how each is solved and evaluated."""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Final

from runcard.errors import InputError
from runcard.mdp.evaluate import Evaluation, evaluate_rule
from runcard.mdp.problem import DispatchProblem
from runcard.mdp.progress import Progress
from runcard.policy.base import Policy
from runcard.policy.closest_first import solve_closest_first
from runcard.policy.one_step import solve_one_step
from runcard.policy.optimal import solve_to_optimality

LABELS: Final = {"CF": "closest-first", "OPT": "optimal", "OSI": "one-step"}
"""The paper's label of each policy and our name for it."""

POLICY_NAMES: Final = tuple(LABELS.values())


def policy_name(word: str) -> str:
    """The name of a policy, given its name or the paper's label for it."""
    name = LABELS.get(word.strip().upper(), word.strip().lower())
    if name not in POLICY_NAMES:
        near = get_close_matches(name, POLICY_NAMES, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        choices = ", ".join(f"{name} ({label})" for label, name in LABELS.items())
        raise InputError(f"expected a policy, one of {choices}; got {word!r}{meant}")
    return name


def solve(
    problem: DispatchProblem,
    policy: str = "optimal",
    *,
    tolerance: float = 1e-9,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Policy:
    """The policy of that name or label for a problem; `progress` is told each time the bounds of a long solve close."""
    if not 0.0 < tolerance < 1.0:
        raise InputError(f"expected a tolerance between 0 and 1, got {tolerance!r}")
    if threads is not None and threads < 1:
        raise InputError(f"expected threads >= 1, got {threads!r}")
    name = policy_name(policy)
    if name == "closest-first":
        return solve_closest_first(problem, threads=threads, progress=progress)
    if name == "one-step":
        return solve_one_step(problem, threads=threads, progress=progress)
    return solve_to_optimality(problem, tolerance=tolerance, threads=threads, progress=progress)


def evaluate(
    policy: Policy, *, threads: int | None = None, progress: Callable[[Progress], None] | None = None
) -> Evaluation:
    """What a policy achieves in the long run, exactly."""
    return evaluate_rule(policy.problem, policy.rule, start=policy.value, threads=threads, progress=progress)
