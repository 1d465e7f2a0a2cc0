"""What a minute is worth: policies for late + weight × minutes, and how much late fraction each weight costs.

With weight 0 nothing but lateness counts. As the weight grows, the optimal policy has never more minutes and never
fewer late incidents, along a convex curve (see `mdp/objective.py`); the heuristics come close to that curve.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runcard.assess.assessment import Assessment
from runcard.assess.exact import fleet_outcome
from runcard.assess.outcome import FleetOutcome, Outcome
from runcard.assess.policy_choice import names_file
from runcard.assess.steps import NO_STEPS, Steps, city_problem
from runcard.assess.tables import policy_cell
from runcard.city.conditions import MAX_WEIGHT
from runcard.city.model import LATE, City, Objective
from runcard.city.periods import ALWAYS
from runcard.errors import InputError
from runcard.mdp.memory import check_states
from runcard.mdp.objective import with_objective
from runcard.plan.words import certainty, decimals_for, in_decimals, outward, table_words
from runcard.policy.solve import policy_names, solve_named
from runcard.policy.solve_options import DEFAULTS, SolveOptions
from runcard.policy.warm_up import load_kernels
from runcard.table import Row, Table


def weight_of(outcome: Outcome) -> float:
    """The weight of a minute that a plan counts with, in late incidents."""
    return _fleet(outcome).problem.objective.weight or 0.0


def _fleet(outcome: Outcome) -> FleetOutcome:
    """What the units of the only kind do."""
    return next(iter(outcome.fleets.values()))


def minutes_saved(found: Assessment, outcome: Outcome) -> float:
    """The mean response minutes of weight 0, less those of another weight."""
    return found.first.first_minutes - outcome.first_minutes


def more_late(found: Assessment, outcome: Outcome) -> float:
    """The late fraction of a weight, less that of weight 0."""
    return outcome.missed.value - found.first.missed.value


def failed_weights(curves: Mapping[str, Assessment]) -> list[str]:
    """Which policies did not converge for which weights, in words."""
    every = [(policy, outcome) for policy, found in curves.items() for outcome in found]
    return [f"{policy} with weight {weight_of(outcome):g}" for policy, outcome in every if outcome.failed]


def weights_document(city: City, curves: Mapping[str, Assessment]) -> dict[str, Any]:
    """What each policy achieves for each weight as plain values, ready for JSON; fractions are no percentages."""
    policies = [
        {"name": policy, "weights": [_point(found, outcome) for outcome in found]} for policy, found in curves.items()
    ]
    return {"city": city.name, "policies": policies}


def _point(found: Assessment, outcome: Outcome) -> dict[str, Any]:
    """What a policy achieves for one weight, and what that costs and saves."""
    fleet, more, saved = _fleet(outcome), more_late(found, outcome), minutes_saved(found, outcome)
    changes = {"weight": weight_of(outcome), "more_late": more, "minutes_saved": saved}
    return changes | found.numbers(outcome) | fleet.arrivals | fleet.costs


def compare_weights(
    city: City,
    weights: Sequence[float],
    policies: Sequence[str] = ("optimal",),
    options: SolveOptions = DEFAULTS,
    *,
    steps: Steps = NO_STEPS,
) -> dict[str, Assessment]:
    """By policy what it achieves that minimises late + weight × minutes, by rising weight, 0 first.

    The city's own objective is set aside.
    """
    for word in policies:
        if names_file(word):
            raise InputError(f"expected names of policies to solve for each weight, got the file {word}")
    names = policy_names(policies, options)
    if not weights:
        raise InputError("expected at least one weight to compare, got none")
    for weight in weights:
        if not 0.0 <= weight <= MAX_WEIGHT:
            raise InputError(f"expected weights from 0 to {MAX_WEIGHT:g} late incidents per minute, got {weight!r}")
    city = replace(city.of_kind(), objective=LATE)
    check_states(city.trucks)
    by_late = city_problem(city, arrivals=True, steps=steps)
    load_kernels(by_late, names)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in names}
    for weight in sorted({0.0, *map(float, weights)}):
        # One problem at a time: whatever is kept with it goes when it does.
        problem = with_objective(by_late, Objective("late+minutes", weight) if weight > 0.0 else LATE)
        seen = replace(city, objective=problem.objective)
        for name in names:
            words = f"{name}, weight {weight:g}"
            steps.begin(words)
            began = time.perf_counter()
            policy = solve_named(problem, name, options)
            seconds = time.perf_counter() - began
            fleet = fleet_outcome(seen, problem, policy, options, name=words, solve_seconds=seconds, steps=steps)
            outcomes[name].append(Outcome(name=name, city=seen, periods={ALWAYS.name: {fleet.kind: fleet}}))
    return {name: Assessment(city=city, outcomes=tuple(own)) for name, own in outcomes.items()}


def weight_table(found: Assessment) -> Table:
    """The weights of one policy, with what each costs in late fraction and saves in minutes against weight 0."""
    decimals = decimals_for(100.0 * outcome.missed.value for outcome in found)
    finer = decimals_for((100.0 * more_late(found, outcome) for outcome in found.outcomes[1:]), significant=2)
    sure = certainty(found.proven)
    words = table_words(found.city)
    columns = (
        words.heading,
        f"{sure}\ninterval{words.unit}",
        "response\nmean min",
        words.more,
        "saved\nmin",
        "time\ns",
    )
    rows: list[Row] = []
    for outcome in found:
        more, saved = 100.0 * more_late(found, outcome), minutes_saved(found, outcome)
        first = outcome is found.first
        rows.append(
            (
                policy_cell(f"{weight_of(outcome):g}", converged=not outcome.failed),
                in_decimals(100.0 * outcome.missed.value, decimals),
                outward(outcome.missed.low, outcome.missed.high, decimals + 1),
                f"{outcome.first_minutes:.3f}",
                "" if first else f"{round(more, finer) + 0.0:.{finer}f}",
                "" if first else f"{round(saved, 3) + 0.0:.3f}",
                f"{outcome.seconds:.3f}",
            )
        )
    return Table(["weight", *columns], rows)
