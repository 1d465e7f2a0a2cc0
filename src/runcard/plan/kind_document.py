"""What one kind sends, as plain values ready for JSON: one document for the service and for the explorer."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import isfinite
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import Standard
from runcard.mdp.problem import LAST_MINUTES, MINUTES
from runcard.outputs.reasons import reason_of
from runcard.outputs.words import rule_words
from runcard.plan.anywhere import HerePolicy
from runcard.plan.fleet import KindDecision
from runcard.policy.options import team_number

MINUTE_NAMES: Final = ("first_minutes", "first_p90_minutes", "last_minutes", "last_p90_minutes")
"""Those of `runcard decide --json`."""
MEANS: Final = ("first_minutes", "last_minutes")
Minutes = dict[str, float | None]


def kind_document(
    one: KindDecision, standards: Sequence[Standard], *, order: str | None = None, minutes: bool = True
) -> dict[str, Any]:
    """The units of a kind with chances, minutes, price, other choices and the reason.

    `standards` are those of the incident; where the city has none, the one that says what is in time. Without
    `minutes` those that would have to be computed are left out.
    """
    fleet, decision = one.fleet, one.decision
    missed = fleet.chances(one.point, decision) if fleet.standards else (decision.p_late,)
    own, others = minutes_of(one, compute=minutes)
    return {
        "kind": fleet.kind,
        "units": list(one.units),
        "p_late": decision.p_late,
        **own,
        "price": _known(decision.price),
        "standards": [
            {**_rule(of), "chance": 1.0 - chance} for of, chance in zip(standards, missed, strict=True)
        ],
        "alternatives": [
            {"units": list(fleet.unit_ids(other.team, one.idle)), "p_late": other.p_late, **of_other,
             "price": _known(other.price)}
            for other, of_other in zip(decision.alternatives, others, strict=True)
        ],
        "reason": reason_of(one, order),
    }  # fmt: skip


@cache
def _rule(standard: Standard) -> dict[str, Any]:
    """What is the same of a standard in every answer."""
    return {
        "rule": rule_words(standard), "arrivals": standard.arrivals, "target_minutes": standard.target_minutes,
        "weight": standard.weight,
    }  # fmt: skip


def minutes_of(one: KindDecision, *, compute: bool = True) -> tuple[Minutes, list[Minutes]]:
    """When the first and the last unit are there: mean and 90th percentile, and the means of each alternative.

    They are in tables. Of a place that is in none they are computed, and then only for the units that go: each other
    team would take as long as the decision.
    """
    policy, others = one.fleet.policy, one.decision.alternatives
    problem = policy.problem
    if type(policy) is HerePolicy and compute:
        problem, others = policy.arrivals_of(replace(one.decision, alternatives=())), ()
    means, p90 = problem.measures, problem.p90_minutes
    first, last = means.get(MINUTES), means.get(LAST_MINUTES)
    team, point = team_number(problem, one.decision.team), one.point
    tables = (first, p90.get("first"), last, p90.get("last"))
    own = {name: _entry(table, team, point) for name, table in zip(MINUTE_NAMES, tables, strict=True)}
    if not others:
        return own, [dict.fromkeys(MEANS) for _ in one.decision.alternatives]
    numbers = [team_number(problem, other.team) for other in others]
    return own, [
        {"first_minutes": _entry(first, number, point), "last_minutes": _entry(last, number, point)}
        for number in numbers
    ]


def _entry(table: NDArray[np.float64] | None, team: int, point: int) -> float | None:
    """What a table says of a team; `item` takes a tenth of the time that [team, point] does."""
    return None if table is None else _known(table.item(team, point))


def _known(number: float) -> float | None:
    return number if isfinite(number) else None
