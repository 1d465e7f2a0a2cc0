"""What one kind sends, as plain values ready for JSON: one document for the service and for the explorer."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import Standard
from runcard.mdp.problem import LAST_MINUTES, MINUTES, DispatchProblem
from runcard.outputs.reasons import reason_of
from runcard.outputs.report.words import rule_words
from runcard.policy.anywhere import HerePolicy
from runcard.policy.base import Option
from runcard.policy.department import KindDecision
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
            {
                "rule": rule_words(of), "arrivals": of.arrivals, "target_minutes": of.target_minutes,
                "weight": of.weight, "chance": 1.0 - chance,
            }
            for of, chance in zip(standards, missed, strict=True)
        ],
        "alternatives": [
            {"units": list(fleet.unit_ids(other.team, one.idle)), "p_late": other.p_late, **of_other,
             "price": _known(other.price)}
            for other, of_other in zip(decision.alternatives, others, strict=True)
        ],
        "reason": reason_of(one, order),
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
    own = _row(one, problem, one.decision, (first, p90.get("first"), last, p90.get("last")))
    rows = [dict(zip(MEANS, _row(one, problem, other, (first, last)), strict=True)) for other in others]
    unknown = dict.fromkeys(MEANS)
    return dict(zip(MINUTE_NAMES, own, strict=True)), rows or [unknown] * len(one.decision.alternatives)


def _row(
    one: KindDecision, problem: DispatchProblem, option: Option, tables: Sequence[NDArray[np.float64] | None]
) -> list[float | None]:
    """What tables say of a team."""
    team, point = team_number(problem, option.team), one.point
    # `item` takes a tenth of the time that [team, point] does
    return [None if table is None else _known(table.item(team, point)) for table in tables]


def _known(number: float) -> float | None:
    return number if isfinite(number) else None
