"""Assessments in a notebook: what each plan misses, with its interval, beside its mean response, and a map."""

from collections.abc import Iterable
from math import ceil, floor

from runcard.assess.assessment import Assessment
from runcard.assess.outcome import StandardOutcome
from runcard.city.notebook import PLACES_NOTE, map_html, places_svg
from runcard.plan.words import certainty
from runcard.table import Table, html_note

MISSED, LATE = "missed standards per 100 incidents", "late, %"
RESPONSE = "mean response, min"
NOTE = "Response: until the first unit is there. The interval holds the exact number, whatever rounding did."


def assessment_html(found: Assessment) -> str:
    """The plans side by side, over the week and by period, as HTML."""
    parts = (_policies(found), _periods(found), _standards(found), _departures(found))
    return f"<div>{''.join(parts)}{html_note(NOTE)}</div>"


def _departures(found: Assessment) -> str:
    """A map of the places where the best of the others sends other units than the first plan, all units free."""
    city, first = found.city, found.first
    if len(found.outcomes) == 1:
        return map_html(city, lambda pixels: places_svg(city, pixels), PLACES_NOTE)
    best = min(found.outcomes[1:], key=lambda outcome: outcome.missed.value)
    departing: set[str] = set()
    for period, fleets in first.periods.items():
        for kind, fleet in fleets.items():
            problem, other = fleet.problem, best.periods[period][kind]
            for point, node_id in enumerate(problem.point_ids):
                if node_id not in departing:
                    teams = (sorted(of.policy.decide(problem.trucks, point).team) for of in (fleet, other))
                    departing |= {node_id} if next(teams) != next(teams) else set()
    same = {point.node_id for point in city.demand} - departing
    when = " in some period" if len(first.periods) > 1 else ""
    note = (
        f"Full dots: with every unit free, {best.name} sends others than {first.name}{when}. Circles: "
        "the same ones. The larger, the more incidents a day."
    )
    return map_html(city, lambda pixels: places_svg(city, pixels, hollow=same), note)


def _policies(found: Assessment) -> str:
    """A row for each plan; the one that misses the fewest stands out."""
    headings = ["policy", LATE if found.city.plain else MISSED, lies_in(found.proven), RESPONSE, "fewer than first, %"]
    rows = [
        [
            f"{outcome.name} (not converged)" if outcome.failed else outcome.name,
            f"{100.0 * outcome.missed.value:.4f}",
            ends_words(outcome.missed.low, outcome.missed.high),
            f"{outcome.first_minutes:.3f}",
            "" if outcome is found.first else f"{100.0 * found.improvement(outcome):.2f}",
        ]
        for outcome in found
    ]
    return Table(headings, rows, title=found.city.name, strong=_smallest(of.missed.value for of in found)).html()


def _standards(found: Assessment) -> str:
    """How often each plan misses each standard, and the mean time of the arrival that it is about."""
    if found.city.plain:
        return ""
    headings = ["missed, % of the incidents of the type"]
    for name in found.names:
        headings += [name, lies_in(found.proven), "mean, min"]
    rows = []
    for of_standard in zip(*(outcome.standards for outcome in found), strict=True):
        standard = of_standard[0].standard
        numbers = [cell for outcome in of_standard for cell in _standard_cells(outcome)]
        rows.append([f"{standard.type}, {standard.kind}: {standard.rule}", *numbers])
    return Table(headings, rows).html()


def _standard_cells(outcome: StandardOutcome) -> list[str]:
    missed = outcome.missed
    if missed is None:
        return ["no incidents", "", ""]
    minutes = "" if outcome.minutes is None else f"{outcome.minutes:.3f}"
    return [f"{100.0 * missed.value:.4f}", ends_words(missed.low, missed.high), minutes]


def _periods(found: Assessment) -> str:
    """What each plan misses in each period, beside its mean response there."""
    if not found.city.has_periods:
        return ""
    headings = ["period", "of all incidents, %"]
    for name in found.names:
        headings += [f"{name}: {LATE if found.city.plain else MISSED}", RESPONSE]
    rows = []
    for period, share in found.first.shares.items():
        outcomes = found.in_period(period).outcomes
        numbers = [cell for of in outcomes for cell in (f"{100.0 * of.missed.value:.4f}", f"{of.first_minutes:.3f}")]
        rows.append([period, f"{100.0 * share:.1f}", *numbers])
    return Table(headings, rows).html()


def lies_in(proven: bool) -> str:
    """What stands above an interval."""
    return f"{certainty(proven)} to lie in"


def ends_words(lower: float, upper: float) -> str:
    """An interval in percent that is sure to hold the given one: its ends are rounded down and up."""
    return f"{floor(1e7 * lower) / 1e5:.5f} to {ceil(1e7 * upper) / 1e5:.5f}"


def _smallest(numbers: Iterable[float]) -> set[int]:
    """Where the smallest of some numbers is."""
    listed = list(numbers)
    return {number for number, part in enumerate(listed) if part == min(listed)}
