"""An answer explained for the terminal: why these units go, of each kind, in the words of `explain.py`."""

from dataclasses import dataclass, replace
from typing import Any

from runcard.city.model import Standard
from runcard.outputs.explain import Explanation, explain
from runcard.plan.answer import Answer
from runcard.plan.fleet import KindDecision
from runcard.plan.words import percent, team_words
from runcard.policy.base import Option


@dataclass(frozen=True, kw_only=True)
class KindExplanation:
    """What one kind sends: an explanation that names units, and the chance to miss each standard."""

    kind: str
    explanation: Explanation
    standards: tuple[tuple[Standard, float], ...]

    @property
    def notes(self) -> list[str]:
        """The chance to meet each standard, and when the units are there, in words."""
        met = [f"{standard.rule}: {percent(1.0 - missed)}" for standard, missed in self.standards]
        words = [f"Chance to meet the standards: {'; '.join(met)}."] if met else []
        return words + self.explanation.notes


def headline_of(answer: Answer, kinds: tuple[KindExplanation, ...]) -> str:
    """What to do, in one sentence."""
    if len(kinds) == 1:
        return kinds[0].explanation.headline
    of_type = f" ({answer.type})" if answer.type else ""
    teams = [f"{team_words(one.explanation.decision.team)} ({one.kind})" for one in kinds]
    return f"Send {', '.join(teams[:-1])} and {teams[-1]} to {answer.node_id}{of_type}."


def explained(answer: Answer) -> tuple[KindExplanation, ...]:
    """The reasons of an answer, kind by kind."""
    return tuple(_explained(kind, answer) for kind in answer.kinds)


def _explained(one: KindDecision, answer: Answer) -> KindExplanation:
    """The explanation of what one kind sends, in units where there is a roster."""
    fleet = one.fleet
    explanation = explain(fleet.policy, one.trucks, one.point, one.decision, one.find_arrivals)
    missed = fleet.chances(one.point, one.decision)
    standards = tuple(zip(fleet.standards_at(one.point), missed, strict=True))
    place = f"{answer.node_id} ({answer.type})" if answer.type else explanation.place
    explanation = replace(explanation, place=place, truck="truck" if not fleet.units else fleet.kind)
    if fleet.units:
        explanation = _in_units(explanation, one)
    return KindExplanation(kind=fleet.kind, explanation=explanation, standards=standards)


def _in_units(explanation: Explanation, one: KindDecision) -> Explanation:
    """The explanation with units in place of stations."""

    def of(option: Option) -> Any:
        return replace(option, team=one.fleet.unit_ids(option.team, one.idle))

    alternatives = tuple(of(other) for other in explanation.decision.alternatives)
    homes = {unit.unit_id: unit.station_id for unit in one.fleet.units if unit.unit_id in one.idle}
    return replace(
        explanation,
        decision=replace(of(explanation.decision), alternatives=alternatives),
        best_now=of(explanation.best_now),
        closest=of(explanation.closest),
        arrivals={one.fleet.unit_ids(team, one.idle): known for team, known in explanation.arrivals.items()},
        truck_prices={unit_id: explanation.truck_prices[home] for unit_id, home in homes.items()},
    )
