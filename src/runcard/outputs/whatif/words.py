"""What changes mean in words of the trade, the same on the terminal and on the page."""

from math import isfinite, isnan
from typing import Final

from runcard.assess.area_changes import AreaChange
from runcard.assess.change import Change
from runcard.assess.why import WhyMissed
from runcard.city.model import City, Standard
from runcard.city.periods import HOURS_PER_WEEK, Period
from runcard.interval import Interval
from runcard.outputs.whatif.result import Effect
from runcard.outputs.why import NOT_KNOWN, why_change_words
from runcard.plan.words import CHANCE_ONLY, article, certainty, misses

SAME: Final = 5e-7
"""Differences of a fraction that no reader could see, and that are within what proofs leave open."""


def signed(number: float, decimals: int) -> str:
    """A difference with its sign and with commas, and no -0.00."""
    rounded = round(number, decimals) + 0.0
    return f"{rounded:+,.{decimals}f}" if rounded else f"{0:.{decimals}f}"


def whole(number: float, decimals: int = 0) -> str:
    """A number as people count, with commas."""
    return f"{round(number, decimals) + 0.0:,.{decimals}f}"


def year_decimals(*changes: float) -> int:
    """The decimals of changes in a year, the same wherever one of them is shown: none if one is 100 or more."""
    return 0 if max(map(abs, changes), default=0.0) >= 100.0 else 1


def span(interval: Interval, times: float, decimals: int, *, sign: bool = False) -> str:
    """Where a number lies, times a factor; empty where nothing is known of its error, or it has none."""
    if not (isfinite(interval.low) and isfinite(interval.high)):
        return ""
    ends = [
        f"{times * end:.{decimals}f}" if not sign else signed(times * end, decimals)
        for end in (interval.low, interval.high)
    ]
    return "" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def a_year(period: Period | None) -> str:
    """In what time something is counted: a year, or those hours of it that are in a period."""
    return "a year" if period is None else f"in the hours of {period.name}, a year"


def rate_words(period: Period | None) -> str:
    """Which rates count in a city with periods, and which hours of a year."""
    if period is None:
        return "Rates are the means of the week."
    return (
        f"Rates are those of {period.name}, and of a year only its hours count: {len(period.hours)} of "
        f"{HOURS_PER_WEEK} a week."
    )


def closest_words(area: AreaChange) -> str:
    """The station that is closest to an area, before and after."""
    return ", then ".join(dict.fromkeys((area.closest_before, area.closest_after)))


def headline(effect: Effect, number: int = 0) -> str:
    """The change in a year, in a sentence."""
    change, what, yearly = effect.per_year(number), misses(effect.before), a_year(effect.period)
    difference = change.difference
    decimals = year_decimals(difference.low, difference.high)
    before, after, least, most = (
        whole(one, decimals) for one in (change.before.value, change.after.value, difference.low, difference.high)
    )
    if max(abs(difference.low), abs(difference.high)) <= SAME * max(1.0, change.before.value):
        return f"As many {what} as before: {before} {yearly}."
    instead = f"{after} instead of {before}"
    if difference.low <= 0.0 <= difference.high:
        return f"No clear change: between {least.lstrip('-')} fewer and {most} more {what} {yearly} ({instead})."
    more, ends = "more", [least, most]
    if difference.value < 0.0:
        more, ends = "fewer", [most.lstrip("-"), least.lstrip("-")]
    between = "" if ends[0] == ends[1] else f" ({ends[0]} to {ends[1]})"
    # The change itself is rounded, as in every table, and not taken from the rounded numbers before and after.
    return f"{whole(abs(difference.value), decimals)} {more} {what} {yearly}{between}: {instead}."


def why_parts(effect: Effect) -> dict[str, WhyMissed | None]:
    """Why standards are missed before and after the changes, under the recommended policy; None where not known."""
    return dict(zip(("before", "after"), effect.policies[0].why_missed or (None, None), strict=True))


def why_words(effect: Effect) -> str:
    """By how much each part of what is missed changes, or that the parts are not known."""
    ends = effect.policies[0].why_missed
    return NOT_KNOWN if ends is None else why_change_words(*ends)


def arrival_lines(effect: Effect, number: int = 0) -> list[str]:
    """For each kind that changes: when its first unit is there, and the last one where several go."""
    lines = []
    for kind, change in effect.policies[number].kinds.items():
        if not change.changed:
            continue
        line = f"The first {kind} is there after {_instead(change.first_minutes)} on average"
        if change.last_minutes is not None and sends_several(change.before.city):
            line += f", the last one after {_instead(change.last_minutes)}"
        lines.append(f"{line}.")
    return lines


def sends_several(city: City) -> bool:
    """Whether several units of one kind go to some incident: else no units of one kind share a road."""
    return any(one.trucks > 1 for point in city.demand for one in city.standards_of(point))


def _instead(change: Change) -> str:
    before, after = f"{change.before.value:.2f}", f"{change.after.value:.2f}"
    if before == after and isnan(change.difference.low):
        return f"{after} min, as before"
    seconds = 60.0 * change.difference.value
    longer = "longer" if seconds > 0.0 else "shorter"
    if before == after:
        return f"{after} min, {abs(seconds):.1f} s {longer}"
    return f"{after} min instead of {before}"


def method(effect: Effect) -> str:
    """How the numbers were found, in a sentence or two."""
    of_kinds = [kind for kind, one in effect.kinds.items() if not one.exact]
    sure = certainty(all(one.proven for one in effect.kinds.values() if one.exact))
    if not of_kinds:
        return f"All of it is calculated, not simulated: the intervals are {sure}."
    whose = "" if len(of_kinds) == len(effect.kinds) else f" for the kind {', '.join(of_kinds)}"
    why = "As asked for" if effect.asked_to_simulate else f"There are too many states to calculate{whose}"
    words = (
        f"{why}: {effect.incidents:,} incidents were simulated, the same ones before and after, at the same moments. "
        f"{CHANCE_ONLY}"
    )
    return words + (f" Those of the other kinds are {sure}." if whose else "")


def area_words(effect: Effect) -> str:
    """How sure the changes of areas are; empty if they are calculated."""
    if effect.exact:
        return ""
    return (
        f"Changes of areas are estimates from the {effect.incidents:,} simulated incidents, each with its own interval "
        "at 95 %. Areas whose change may be noise are not listed. With many areas, a few that are may still be noise."
    )


def policy_words(effect: Effect) -> str:
    """Who decides which units go, before and after."""
    rules = {change.name: None for change in effect.kinds.values()}
    named = [f"{kind}: {change.name}" for kind, change in effect.kinds.items()]
    rule = ", ".join(named) if len(rules) > 1 else next(iter(rules))
    return f"The rule that sends units ({rule}) is worked out anew after the changes; closest-first stands beside it."


def standard_words(standard: Standard, *, plain: bool) -> str:
    """A standard as a person reads it: fire: 1 of 2 engines in 6 min."""
    unit = standard.kind
    units = unit if standard.trucks == 1 else f"{unit}s"
    which = f"{article(unit)} {unit}" if standard.trucks == 1 else f"{standard.arrivals} of {standard.trucks} {units}"
    weight = f" (weight {standard.weight:g})" if standard.weight != 1.0 else ""
    words = f"{which} in {standard.target_minutes:g} min{weight}"
    return words if plain or not standard.type else f"{standard.type}: {words}"
