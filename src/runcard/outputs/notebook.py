"""Comparisons in a notebook: what each policy misses, with its interval, beside its mean response, and a map."""

from collections.abc import Iterable, Sequence
from math import ceil, floor
from typing import Protocol

from runcard.city.model import City
from runcard.city.notebook import PLACES_NOTE, map_html, places_svg
from runcard.outputs.compare import Comparison, StandardResult
from runcard.outputs.department_comparison import DepartmentComparison
from runcard.outputs.week_comparison import WeekComparison
from runcard.plan.words import certainty
from runcard.table import Table, html_note

MISSED, LATE = "missed standards per 100 incidents", "late, %"
RESPONSE = "mean response, min"
NOTE = "Response: until the first unit is there. The interval holds the exact number, whatever rounding did."


class _Result(Protocol):
    """What the results of all comparisons have."""

    @property
    def name(self) -> str: ...
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def improvement_over_first(self) -> float: ...
    @property
    def converged(self) -> bool: ...


def comparison_html(comparison: Comparison) -> str:
    """The policies of one kind side by side, as HTML."""
    results = comparison.results
    missed = [one.evaluation.late_fraction for one in results]
    minutes = [one.evaluation.mean_response_minutes for one in results]
    of_standards = not comparison.city.plain
    table = _policies(comparison.city.name, results, missed, minutes, of_standards=of_standards, sure=comparison.proven)
    counted = [(one.name, one.standards if of_standards else ()) for one in results]
    standards = _standards(counted, sure=comparison.proven)
    return _together(table, standards, _departures(comparison.city, [comparison], results, missed))


def department_comparison_html(comparison: DepartmentComparison) -> str:
    """The policies of a department side by side, all kinds together, as HTML."""
    results = comparison.results
    minutes = [comparison.mean_minutes(number) for number in range(len(results))]
    missed = [one.missed for one in results]
    of_standards = not comparison.city.plain
    table = _policies(comparison.city.name, results, missed, minutes, of_standards=of_standards, sure=comparison.proven)
    counted = [(one.name, one.standards if of_standards else ()) for one in results]
    standards = _standards(counted, sure=comparison.proven)
    return _together(table, standards, _departures(comparison.city, comparison.kinds.values(), results, missed))


def week_comparison_html(comparison: WeekComparison) -> str:
    """The policies of a city with periods side by side, over the week and by period, as HTML."""
    results, of_standards = comparison.results, not comparison.city.plain
    missed, minutes = [one.missed for one in results], [one.mean_minutes for one in results]
    table = _policies(comparison.city.name, results, missed, minutes, of_standards=of_standards, sure=comparison.proven)
    standards = _standards([(one.name, one.standards) for one in results], sure=comparison.proven)
    kinds = [one for period in comparison.periods.values() for one in period.kinds.values()]
    departures = _departures(comparison.city, kinds, results, missed, when=" in some period")
    return _together(table, _periods(comparison), standards, departures)


def _together(*parts: str) -> str:
    return f"<div>{''.join(parts)}{html_note(NOTE)}</div>"


def _departures(
    city: City,
    comparisons: Iterable[Comparison],
    results: Sequence[_Result],
    missed: Sequence[float],
    *,
    when: str = "",
) -> str:
    """A map of the places where the best of the others sends other units than the first policy, all units free."""
    if len(results) == 1:
        return map_html(city, lambda pixels: places_svg(city, pixels), PLACES_NOTE)
    best = min(range(1, len(results)), key=missed.__getitem__)
    departing: set[str] = set()
    for one in comparisons:
        problem = one.problem
        first, other = one.results[0].policy, one.results[best].policy
        for point, node_id in enumerate(problem.point_ids):
            if node_id not in departing:
                teams = (sorted(policy.decide(problem.trucks, point).team) for policy in (first, other))
                departing |= {node_id} if next(teams) != next(teams) else set()
    same = {point.node_id for point in city.demand} - departing
    note = (
        f"Full dots: with every unit free, {results[best].name} sends others than {results[0].name}{when}. Circles: "
        "the same ones. The larger, the more incidents a day."
    )
    return map_html(city, lambda pixels: places_svg(city, pixels, hollow=same), note)


def _policies(
    title: str,
    results: Sequence[_Result],
    missed: Sequence[float],
    minutes: Sequence[float | None],
    *,
    of_standards: bool,
    sure: bool,
) -> str:
    """A row for each policy; the one that misses the fewest stands out."""
    headings = ["policy", MISSED if of_standards else LATE, lies_in(sure), RESPONSE, "fewer than first, %"]
    rows = []
    for one, part, mean in zip(results, missed, minutes, strict=True):
        name = one.name if one.converged else f"{one.name} (not converged)"
        fewer = "" if one is results[0] else f"{100.0 * one.improvement_over_first:.2f}"
        response = "" if mean is None else f"{mean:.3f}"
        rows.append([name, f"{100.0 * part:.4f}", ends_words(one.lower, one.upper), response, fewer])
    return Table(headings, rows, title=title, strong=_smallest(missed)).html()


def _standards(results: Sequence[tuple[str, Sequence[StandardResult]]], *, sure: bool) -> str:
    """How often each policy misses each standard, and the mean time of the arrival that it is about."""
    if not results[0][1]:
        return ""
    headings = ["missed, % of the incidents of the type"]
    for name, _ in results:
        headings += [name, lies_in(sure), "mean, min"]
    rows = []
    for of_standard in zip(*(found for _, found in results), strict=True):
        standard = of_standard[0].standard
        numbers = [cell for one in of_standard for cell in _standard_cells(one)]
        rows.append([f"{standard.type}, {standard.kind}: {standard.rule}", *numbers])
    return Table(headings, rows).html()


def _standard_cells(one: StandardResult) -> list[str]:
    if one.miss_fraction is None or one.lower is None or one.upper is None:
        return ["no incidents", "", ""]
    minutes = "" if one.mean_minutes is None else f"{one.mean_minutes:.3f}"
    return [f"{100.0 * one.miss_fraction:.4f}", ends_words(one.lower, one.upper), minutes]


def _periods(comparison: WeekComparison) -> str:
    """What each policy misses in each period, beside its mean response there."""
    headings = ["period", "of all incidents, %"]
    for name in comparison.names:
        headings += [f"{name}: {LATE if comparison.city.plain else MISSED}", RESPONSE]
    rows = []
    for period, one in comparison.periods.items():
        numbers = []
        for number, result in enumerate(one.results):
            numbers += [f"{100.0 * result.missed:.4f}", f"{one.mean_minutes(number):.3f}"]
        rows.append([period, f"{100.0 * comparison.weights[period]:.1f}", *numbers])
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
    return {number for number, one in enumerate(listed) if one == min(listed)}
