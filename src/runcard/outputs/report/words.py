"""What a report says in words: sentences for a fire chief, made from numbers."""

from collections import Counter
from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Final

from runcard.assess.assessment import Assessment
from runcard.assess.auto import CARD, CLOSEST, per_year
from runcard.assess.outcome import Outcome, larger_by
from runcard.assess.policy_choice import worse_note
from runcard.city.model import DAYS_PER_YEAR, City, Standard
from runcard.interval import Interval
from runcard.outputs.fit_file import care_words, fit_faults
from runcard.outputs.why import why_sentence
from runcard.plan.words import (
    and_list,
    counted,
    incidents_a_day,
    minutes_words,
    misses,
    number_words,
    percent_words,
    round_percent,
    rule_words,
)

if TYPE_CHECKING:
    from runcard.outputs.report.findings import Report
    from runcard.outputs.report.sensitivity import Row

NOTICED: Final = 1e-4
"""A standard that is missed more often, or less often, by less than this reads the same in a table."""
MOST_NAMED: Final = 4
LITTLE: Final = 0.01
"""A gain that is no reason to send other units than the closest."""


def policy_title(result: Outcome, number: int, num: int) -> str:
    """What a chief calls a policy."""
    if number == num - 1:
        return "Recommended"
    return {CLOSEST: "Closest first", CARD: "Fixed list"}.get(result.name, result.name.capitalize())


def verdict(gain: Interval) -> str:
    """Whether a gain is there: "better", "worse", or "no clear difference"."""
    if gain.low > 1e-6:
        return "better"
    return "worse" if gain.high < -1e-6 else "no clear difference"


def summary(report: "Report") -> list[str]:
    """The sentences that matter, the most important first."""
    return [
        _facts(report.city),
        *filter(None, [care_words(fit_faults(report.fit))]),
        _today(report),
        *_why(report),
        _recommended(report),
        *replaced_words(report.solved),
        *_card(report),
        *_worse(report),
        _absurd(report),
        *(f"Not solved as closely as asked for: {one}; its interval still holds." for one in report.solved.failed),
    ]


def replaced_words(solved: Assessment) -> list[str]:
    """Where closest-first is recommended because the policy that a kind gets by itself is worse there."""
    several = len(solved.city.kinds) > 1
    return [(f"{kind}: " if several else "") + worse_note(name) for kind, name in solved.replaced.items()]


def _facts(city: City) -> str:
    """What the department has."""
    counts = Counter(unit.kind for unit in city.units)
    units = and_list([counted(number, kind) for kind, number in counts.items() if kind in city.kinds])
    return (
        f"{city.name} has {units} at {counted(len(city.stations), 'station')}, and "
        f"{incidents_a_day(city.incidents_per_day)}."
    )


def in_the_log(report: "Report") -> list[tuple[str, str, str, str]]:
    """Each standard that the log says something about: its words, how often it was missed, the interval, the model."""
    goodness = (report.fit or {}).get("goodness")
    late = goodness.get("late") if isinstance(goodness, dict) else None
    found = []
    for one in late if isinstance(late, list) else ():
        try:
            arrivals, target_minutes = int(one["arrivals"]), float(one["target_minutes"])
            standard = Standard(str(one["type"]), str(one["kind"]), arrivals, arrivals, target_minutes)
            shares = [float(one[key]) for key in ("observed", "low", "high", "predicted")]
        except (KeyError, TypeError, ValueError):
            continue
        missed, low, high, model = map(percent_words, shares)
        found.append((rule_words(standard), missed, f"{low.removesuffix(' %')} to {high}", model))
    return found


def _today(report: "Report") -> str:
    """What sending the closest units does."""
    city, first = report.city, report.solved.first
    year = per_year(first.missed.value, city)
    minutes = and_list([f"{minutes_words(fleet.first_minutes)} ({kind})" for kind, fleet in first.fleets.items()])
    if len(first.fleets) == 1:
        minutes = minutes_words(first.first_minutes)
    weighted = " (counted with their weights)" if any(one.weight != 1.0 for one in city.standards) else ""
    return (
        f"If the closest units always go, there are {number_words(year / DAYS_PER_YEAR)} {misses(city)}{weighted} "
        f"a day, {number_words(year)} a year, and the first unit is there after {minutes} on average."
    )


def _why(report: "Report") -> list[str]:
    """Why standards are missed today, if it is known."""
    why = report.solved.first.why_missed
    return [] if why is None else list(filter(None, [why_sentence(report.city, why, exact=report.solved.exact)]))


def _recommended(report: "Report") -> str:
    """What the recommended dispatch changes."""
    city, first, last = report.city, report.solved.first, report.solved.last
    gain = report.solved.gain(last)
    seconds = 60.0 * (first.first_minutes - last.first_minutes)
    response = (
        f"the first unit is there {abs(seconds):.1f} seconds {'sooner' if seconds >= 0.0 else 'later'} on average"
    )
    if abs(seconds) < 0.05:
        response = "the mean response stays the same"
    found = verdict(gain)
    year = per_year(report.solved.fewer(last).value, city)
    # How sure it is: exact numbers, and those of the same policy twice, need no interval in a sentence.
    between = "" if report.solved.exact or gain.low == gain.high else f" (95 % sure: {_range(gain)})"
    if city.objective.minimise != "late":
        aim = "the shortest mean response" if city.objective.minimise == "minutes" else "missed standards and minutes"
        return (
            f"This city asks for {aim}: with the recommended dispatch {response}, with "
            f"{number_words(abs(year))} {misses(city)} {'fewer' if year >= 0.0 else 'more'} a year."
        )
    if found == "better":
        little = " That is little: the closest unit is as good as any rule here." if gain.value < LITTLE else ""
        return (
            f"The recommended dispatch has {number_words(year)} {misses(city)} a year fewer, "
            f"{percent_words(gain.value)} of them{between}, and {response}.{little}"
        )
    if found == "worse":
        return f"The recommended dispatch is worse than closest first{between}: do not use it."
    return (
        f"The recommended dispatch is no better than closest first{between or ': they miss the same'}: stay with the "
        f"closest unit. Looking further brings nothing that can be told from chance here; {response}."
    )


def _range(gain: Interval) -> str:
    """An interval of a gain in words."""
    if not isfinite(gain.low) or not isfinite(gain.high):
        return "not known"
    ends = [f"{percent_words(abs(end))} {'fewer' if end >= 0.0 else 'more'}" for end in (gain.low, gain.high)]
    return f"from {ends[0]} to {ends[1]}"


def _card(report: "Report") -> list[str]:
    """How much of the gain a fixed list of units keeps, if there is a gain."""
    gain = report.solved.gain(report.solved.last)
    cards = [one for one in report.solved if one.name == CARD]
    if not cards or verdict(gain) != "better" or report.city.objective.minimise != "late":
        return []
    kept = max(0.0, report.solved.gain(cards[0]).value / gain.value)
    return [
        "A fixed list of units for each area, which any dispatch system can hold, keeps "
        f"{round_percent(min(kept, 1.0))} of this gain."
    ]


def _worse(report: "Report") -> list[str]:
    """The standards that are missed more often with the recommended dispatch, however little, if a table shows it."""
    certain, uncertain = list[str](), list[str]()
    for before, after in zip(report.solved.first.standards, report.solved.last.standards, strict=True):
        if not after.missed or not before.missed:
            continue
        fewer = larger_by(after.missed, before.missed)
        if fewer.value >= 0.0:
            continue
        shares, is_certain = (after.missed.value, before.missed.value), fewer.high < 0.0
        more, less = map(percent_words, shares)
        if more == less:
            if not is_certain or fewer.value > -NOTICED:
                continue
            more, less = (f"{100.0 * share:.2f} %" for share in shares)
        (certain if is_certain else uncertain).append(f"{rule_words(after.standard)}, missed {more} instead of {less}")
    if not certain and not uncertain:
        return []
    parts = ["Not every standard gets better." if certain else "Not every standard clearly gets better."]
    if certain:
        sure = "" if report.solved.exact else " (95 % sure of each by itself)"
        parts.append(f"Missed more often{sure}: {'; '.join(certain)}.")
    if uncertain:
        parts.append(f"Missed more often, though that may be chance: {'; '.join(uncertain)}.")
    return [" ".join(parts)]


def _absurd(report: "Report") -> str:
    """Whether a recommended unit comes from across town."""
    if not report.far:
        return (
            "Nothing looks absurd: with every unit in quarters no unit is sent from across town, or beyond a standard, "
            "where a closer one would do."
        )
    examples = []
    for one in report.far[:MOST_NAMED]:
        stations = [station.name or station.station_id for station in report.city.of_kind(one.kind).stations]
        of_type = f" ({one.type})" if one.type else ""
        examples.append(
            f"{report.city.name_of(one.node_id)}{of_type}, {one.kind} from {stations[one.station]} in "
            f"{minutes_words(one.minutes)} instead of {stations[one.closest]} in {minutes_words(one.closest_minutes)}"
        )
    more = f"; and {len(report.far) - MOST_NAMED} more" if len(report.far) > MOST_NAMED else ""
    return f"Look at these before you use it, a unit is sent from far away: {'; '.join(examples)}{more}."


def survival(rows: "Sequence[Row]") -> str:
    """Whether the gain survives all changes, in a sentence."""
    found = [verdict(row.gain) for row in rows]
    if found[0] != "better":
        better = [row.words for row, one in zip(rows, found, strict=True) if one == "better"]
        if not better:
            return "There is no gain as described, and none in any of these changes."
        return f"There is no gain as described, but there is one with: {'; '.join(better)}."
    lost = [row.words for row, one in zip(rows, found, strict=True) if one != "better"]
    if not lost:
        return "The recommended dispatch is better in every one of these changes."
    return f"The gain is not there, or cannot be told from chance, with: {'; '.join(lost)}."


def left_out(report: "Report") -> list[str]:
    """What the model leaves out, in plain words."""
    city = report.city
    fitted = _fitted_delay(report)
    return [
        "A unit is free and back in its station the moment it is done. In truth it drives home, and can be sent from "
        "the road. `runcard simulate` with the scenario for ways home shows what that changes.",
        "How long a unit is busy is random, and does not depend on how far it drove or on how many others went. "
        "Within one kind the policy is computed with one mean for all types of incidents.",
        "No unit is moved to cover another station, none is turned back or cancelled, and nobody asks for a second "
        "alarm. If too few units are free, the rest come from outside.",
        "Incidents come by themselves at a steady rate: no storms, no days with a pattern"
        + (
            " other than the times of the week under “What if”."
            if report.given.has_periods
            else ", no hours of the day."
        ),
        "Units drive the route that is shortest by mean time, whatever the traffic at that hour.",
        f"How often units on one road are held up together (shared delay {city.shared_delay:.2g}) is {fitted}",
        "Kinds do not stand in for one another: a ladder never counts as an engine.",
        "A standard counts from the dispatch of units. The time to answer and to sort the call comes before.",
    ]


def _fitted_delay(report: "Report") -> str:
    """Where the shared delay comes from."""
    numbers = (report.fit or {}).get("numbers", [])
    for one in numbers if isinstance(numbers, list) else ():
        if isinstance(one, dict) and one.get("name") == "shared_delay":
            try:
                low, high = float(one["low"]), float(one["high"])
            except (KeyError, TypeError, ValueError):
                break
            return f"fitted to the log of the department, and lies between {low:.2g} and {high:.2g} (95 %)."
    return "taken from city.toml: unless somebody measured it, it is a guess."
