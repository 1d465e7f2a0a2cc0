"""Policies by name: the names of the command line, the labels of the paper, and how each is solved and evaluated."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from math import inf
from typing import Final

from runcard.errors import InputError
from runcard.mdp.arrays import Floats
from runcard.mdp.evaluate import Evaluation, evaluate_rule
from runcard.mdp.memory import check_states, count_states
from runcard.mdp.percentiles import Windows, expected_windows, later_windows, percentiles, window_measures
from runcard.mdp.problem import P_LATE, DispatchProblem
from runcard.mdp.progress import Progress
from runcard.policy import closest_first, fixed_card, mean_field, neighbourhoods, one_step, optimal, queueing
from runcard.policy.base import Policy
from runcard.policy.options import team_number
from runcard.policy.solve_options import DEFAULTS, SolveOptions
from runcard.threads import checked_threads

RECIPES: Final = {
    recipe.name: recipe
    for recipe in (
        closest_first.RECIPE,
        optimal.RECIPE,
        one_step.RECIPE,
        queueing.RECIPE,
        queueing.PRINTED,
        mean_field.RECIPE,
        neighbourhoods.RECIPE,
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


def solve_problem(
    problem: DispatchProblem,
    policy: str = "optimal",
    *,
    tolerance: float = DEFAULTS.tolerance,
    horizon_busy_times: float | None = None,
    threads: int | None = None,
    device: str = DEFAULTS.device,
    progress: Callable[[Progress], None] | None = None,
) -> Policy:
    """The policy of that name or label for a problem, solved with these options (see `SolveOptions`)."""
    options = SolveOptions(
        tolerance=tolerance, horizon_busy_times=horizon_busy_times, threads=threads, device=device, progress=progress
    )
    (name,) = policy_names([policy], options)
    return solve_named(problem, name, options)


def solve_named(problem: DispatchProblem, name: str, options: SolveOptions) -> Policy:
    """The policy of that name; a horizon is set aside where the policy has none."""
    recipe = RECIPES[name]
    return recipe.solve(problem, options if recipe.has_horizon else replace(options, horizon_busy_times=None))


def policy_names(words: Sequence[str], options: SolveOptions) -> list[str]:
    """The names of policies, each once, given by name or paper label; a horizon must be for one of them."""
    names = list(dict.fromkeys(map(policy_name, words)))
    if not names:
        raise InputError("expected at least one policy, got none")
    if options.horizon_busy_times is not None:
        check_horizon(names)
    return names


def check_size(trucks: Sequence[int], names: Sequence[str], *, kind: str = "", device: str = "auto") -> None:
    """Raise a SizeError if a policy needs the value of every state and memory is short. To be asked before any work."""
    if any(RECIPES[name].values_up_to == inf for name in names):
        check_states(trucks, kind=kind, device=device)


def has_values(trucks: Sequence[int], name: str) -> bool:
    """Whether a policy has the value of every state, for stations with so many trucks."""
    return count_states(trucks) <= RECIPES[name].values_up_to


def check_horizon(names: Sequence[str]) -> None:
    """Raise an InputError if none of these policies has a horizon."""
    having = [name for name, recipe in RECIPES.items() if recipe.has_horizon]
    if not set(having) & set(names):
        raise InputError(f"expected a horizon only for {' or '.join(having)}, got one for {', '.join(names)}")


def evaluate(
    policy: Policy,
    *,
    problem: DispatchProblem | None = None,
    measures: Mapping[str, Floats] | None = None,
    proven: Collection[str] = (),
    errors: Mapping[str, float] | None = None,
    threads: int | None = None,
    device: str = DEFAULTS.device,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """What a policy achieves in the long run, exactly; `measures` are tables [T, J] beside those of its problem.

    The bounds of those in `proven` are proven, with their `errors` counted. Where the problem has
    arrivals, their 90th percentiles are found as well (see `mdp/percentiles.py`). Another `problem` than that of the
    policy may be given if it differs in its rates only: what the policy achieves where incidents come at these.
    """
    checked_threads(threads)  # before the rule is made, which may take long
    problem = policy.problem if problem is None else problem

    def evaluated(more: Mapping[str, Floats]) -> Evaluation:
        return evaluate_rule(
            problem, policy.rule, measures={**(measures or {}), **more}, proven=(P_LATE, *proven), errors=errors,
            threads=threads, device=device, progress=progress,
        )  # fmt: skip

    arrivals = problem.arrivals
    if arrivals is None:
        return evaluated({})
    teams = [team_number(problem, policy.decide(problem.trucks, j).team) for j in range(problem.num_points)]
    further: Windows | None = expected_windows(problem, arrivals, teams)
    while further is not None:
        windows, more = further, window_measures(arrivals, further)
        evaluation = evaluated(more)
        further = later_windows(arrivals, windows, evaluation.measures)
    own = {name: mean for name, mean in evaluation.measures.items() if name not in more}
    return replace(evaluation, measures=own, p90_minutes=percentiles(arrivals, windows, evaluation.measures))
