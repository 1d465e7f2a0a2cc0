"""Why these units go: one sentence for each kind, the same for a dispatcher and for a fire chief.

With c(a) what team a is expected to miss now, and p(a) its price, what it costs later, sending a in place of the
closest team b changes what is missed now by c(a) - c(b) and avoids c(b) + p(b) - c(a) - p(a) in all. The numbers are
those of the decision: no price is asked for again.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Final

from runcard.city.conditions import OUTSIDE_ID
from runcard.city.model import Standard
from runcard.mdp.problem import MINUTES
from runcard.plan.fleet import KindDecision
from runcard.plan.words import and_list, counted, number_words, percent_words, team_words
from runcard.policy.base import Option
from runcard.policy.options import first_in_order, team_ids

ON_CARD: Final = "on the card"
BY_TIME: Final = "by driving time"
ASSUMED: Final = "and how long that takes is an assumption of the city"
CALLS: Final = 1000.0
AS_CLOSE_MINUTES: Final = 0.05
"""Units that are there within so many minutes of one another are equally close: a page shows the same minutes."""


def missed_words(standards: Sequence[Standard], calls: str = "calls") -> str:
    """What is missed, and of what: every standard of a call counts by itself, or whether it is late if it has none."""
    weighted = " (weighted)" if any(one.weight != 1.0 for one in standards) else ""
    return f"{'missed standards' if standards else 'late incidents'}{weighted} per {CALLS:,.0f} {calls}"


def met_words(chance: float) -> str:
    """The chance to meet a standard; one that is not sure is not 100 %."""
    words = percent_words(chance)
    return "over 99.9 %" if chance < 1.0 and words == percent_words(1.0) else words


def reason_of(one: KindDecision, order: str | None = None) -> str:
    """Why the units of a kind go, in one sentence; `order` says of what, if it is one that the policy did not make."""
    team, kind, free = one.decision.team, one.fleet.kind, sum(one.trucks.tolist())
    from_outside = team.count(OUTSIDE_ID)
    if from_outside == len(team):
        return f"No {kind} is free: {team_words(team)} must come, {ASSUMED}."
    if from_outside:
        return f"{team_words(one.units)} go: no other {kind} is free, {ASSUMED}."
    names, own = and_list(one.units), len(team)
    are, kinds = ("is", kind) if own == 1 else ("are", f"{kind}s")
    if free == own:
        return f"{names} {are} the only free {kinds}."
    if order is None and (reason := one.fleet.policy.reason):
        if "card" not in reason and "closest" not in reason:
            return f"{names} {'goes' if own == 1 else 'go'}: that team {reason}."
        order = ON_CARD if "card" in reason else BY_TIME
    if order == ON_CARD:
        return f"{names} {are} the first free {kinds} {order}."
    closest = _closest(one)
    if closest != team and sorted(closest) != sorted(team):
        return _instead(one, closest)
    how = "as close as any other free" if _tied(one) else "the closest free"
    better = "" if order == BY_TIME else ", and no other choice does better now and later"
    return f"{names} {are} {how} {kinds}{' ' + BY_TIME if order == BY_TIME else ''}{better}."


def _closest(one: KindDecision) -> tuple[str, ...]:
    """The team that closest-first would send."""
    problem = one.fleet.problem
    return team_ids(problem, one.point, first_in_order(problem, problem.order, one.trucks, one.point))


def _minutes(one: KindDecision, stations: Sequence[int]) -> list[float]:
    """When one unit of each station is there, in order; empty where it is not known."""
    table = one.fleet.problem.measures.get(MINUTES)  # team 1 + i is one truck of station i
    return [] if table is None else sorted(table.item(1 + i, one.point) for i in stations)


def _tied(one: KindDecision) -> bool:
    """Whether a unit that does not go is as close as the last of the closest ones, which go."""
    left, last, trucks = len(one.decision.team), -1, one.trucks.tolist()
    for i in one.fleet.problem.order[one.point].tolist():
        if left and trucks[i]:
            last, left = i, max(0, left - trucks[i])
        elif trucks[i]:
            minutes = _minutes(one, (last, i))
            return bool(minutes) and minutes[1] - minutes[0] < AS_CLOSE_MINUTES
    return False


def _instead(one: KindDecision, closest: tuple[str, ...]) -> str:
    """Why others go than the closest."""
    fleet, index = one.fleet, one.fleet.problem.station_ids.index
    there = fleet.unit_ids(closest, one.idle)
    going, kept = _apart(one.units, there)  # without a roster a name may be there twice
    own, other = (_minutes(one, [*map(index, stations)]) for stations in _apart(one.decision.team, closest))
    tied = bool(own) and all(a - b < AS_CLOSE_MINUTES for a, b in zip(own, other, strict=True))
    names = and_list(kept)
    begin = f"{and_list(going)} {'goes' if len(going) == 1 else 'go'} in place of the "
    begin += f"{'equally close' if tied else 'closer'} {names}"
    wanted = sorted(closest)
    found = next((option for option in one.decision.alternatives if sorted(option.team) == wanted), None)
    stay = "stays" if len(kept) == 1 else "stay"
    if found is None or not isfinite(found.price):
        better = counted(1 + len(one.decision.alternatives), "choice")
        return f"{begin}: {names} {stay} free for later calls, and the closest are not among the best {better}."
    return f"{begin}: {_gain(one, found, f'{names} {stay} free for later calls')}."


def _apart(team: Sequence[str], other: Sequence[str]) -> tuple[list[str], list[str]]:
    """Who is in one team only, and who in the other."""
    going, kept = list[str](), [*other]
    for name in team:
        if name in kept:
            kept.remove(name)
        else:
            going.append(name)
    return going, kept


def _gain(one: KindDecision, other: Option, later: str) -> str:
    """What is missed now with both, and what is gained in all."""
    decision, objective = one.decision, one.fleet.problem.objective
    gain = other.total - decision.total
    if objective.minimise == "minutes":
        now = _now(f"{decision.minutes or 0.0:.2f}", f"{other.minutes or 0.0:.2f}", "min to the first unit")
        worse, fewer = (decision.minutes or 0.0) > (other.minutes or 0.0), f"{gain:.2f} min less"
    else:
        numbers = number_words(CALLS * decision.p_late), number_words(CALLS * other.p_late)
        now = _now(*numbers, missed_words(one.fleet.standards_at(one.point), "such calls"))
        worse = decision.p_late > other.p_late and numbers[0] != numbers[1]
        fewer = f"{number_words(CALLS * gain)} fewer"
        fewer += f" (a minute counts as {objective.weight:g})" if objective.minimise == "late+minutes" else ""
    return f"{now}, {'but' if worse else 'and'} {later}, {fewer} in all"


def _now(own: str, other: str, unit: str) -> str:
    return f"{own} {unit} now either way" if own == other else f"{own} {unit} now instead of {other}"
