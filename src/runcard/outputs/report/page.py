"""The report as one HTML file: it needs no other file, no network, and no picture."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import Any, Final

from runcard.assess.assessment import Assessment
from runcard.assess.auto import CARD, Effort
from runcard.assess.outcome import larger_by
from runcard.assess.steps import NO_STEPS, Steps
from runcard.assess.workers import HERE, Workers
from runcard.city.model import City
from runcard.interval import Interval
from runcard.output_file import check_output_file, write_whole
from runcard.outputs import fit_file
from runcard.outputs.areas import areas_of
from runcard.outputs.ground import ground_of
from runcard.outputs.report import words
from runcard.outputs.report.findings import Report, find
from runcard.outputs.report.layers import layers_of
from runcard.outputs.report.sensitivity import PART, TITLES, Row
from runcard.outputs.why import MEANT, NOT_KNOWN, why_rows
from runcard.page import page_of
from runcard.plan.words import CHANCE_ONLY, minutes_words, percent_words, price_words, rule_words, table_words
from runcard.policy.solve_options import SolveOptions

BAR_WIDTH: Final = 150.0
NARROW: Final = 5e-5
"""Half of an interval that is too narrow to be printed."""


def write_report(
    city: City,
    path: str | Path,
    *,
    comparison: Assessment | None = None,
    incidents: int | None = None,
    seed: int = 1,
    quick: bool = False,
    fit: Mapping[str, Any] | None = None,
    command: str = "",
    options: SolveOptions | None = None,
    steps: Steps = NO_STEPS,
    workers: Workers = HERE,
) -> Path:
    """The file that now holds the report of a city.

    An exact `comparison` of the city, of the policies `REPORTED`, is not made again. `incidents` are simulated for each
    policy where the city is too large to be solved exactly. A `quick` report leaves out what changes if the city is
    different. `fit` is what a fit wrote beside the city.
    """
    file = Path(path)
    check_output_file(file)
    effort = Effort(incidents=incidents, seed=seed, options=options or SolveOptions(), steps=steps, workers=workers)
    report = find(city, effort, comparison=comparison, quick=quick, fit=fit)
    steps.begin("writing the report")
    return write_whole(file, report_page(report, command=command).encode())


def report_page(report: Report, *, command: str = "") -> str:
    """The text of the page."""
    results, city = report.solved.outcomes, report.city
    areas = areas_of(city)
    times, unit = price_words(city)
    titles = [words.policy_title(one, number, len(results)) for number, one in enumerate(results)]
    return page_of(
        "report.html",
        map_data={"ground": ground_of(city, areas), "layers": layers_of(report, areas), "note": _map_note(report)},
        report=report,
        city=city,
        missed=table_words(city),
        words=words,
        fit_file=fit_file,
        chance_only=CHANCE_ONLY,
        titles=titles,
        why=why_rows(dict(zip(titles, (outcome.why_missed for outcome in results), strict=True))),
        meant=MEANT,
        why_not_known=NOT_KNOWN,
        rows=_standard_rows(report),
        kinds=_kind_rows(report),
        groups=_groups(report),
        gain_scale=_gain_scale(report.rows),
        price_times=times,
        price_unit=unit,
        most_price=max((one.price for one in report.stations), default=0.0),
        most_busy=max((max(one.busy_fractions) for one in report.stations), default=0.0),
        bar=_bar,
        settings=_settings(report),
        command=command,
        version=version("runcard"),
        python=platform.python_version(),
        with_card=any(one.name == CARD for one in results),
    )


def _map_note(report: Report) -> str:
    """What the map is about."""
    how = "exact" if report.solved.exact else f"counted over {report.solved.num_incidents:,} simulated incidents"
    return (
        f"Recommended dispatch. Chances and minutes of the long run are {how}; who goes is with every unit in quarters."
    )


@dataclass(frozen=True, kw_only=True)
class MissedCell:
    """How often something is missed under one policy, and the mean response beside it, in words."""

    missed: str
    interval: str
    minutes: str
    p90: str = ""
    change: str = ""
    """Better or worse than closest-first, where that is certain and large enough to be seen."""


def _standard_rows(report: Report) -> list[tuple[str, list[MissedCell]]]:
    """For each standard, and first for all together, what each policy does."""
    solved, exact, city = report.solved, report.solved.exact, report.city
    total = [
        MissedCell(
            missed=table_words(city).number(one.missed.value),
            interval=interval_words(one.missed, exact),
            minutes=minutes_words(one.first_minutes),
            change=_change(solved.fewer(one)),
        )
        for one in solved
    ]
    found = [(table_words(city).all_kinds or _late_rule(city), total)]
    for number, standard in enumerate(of.standard for of in solved.first.standards):
        cells = []
        for outcome in solved:
            before, one = solved.first.standards[number], outcome.standards[number]
            cells.append(
                MissedCell(
                    missed="no incidents" if one.missed is None else percent_words(one.missed.value),
                    interval="" if one.missed is None else interval_words(one.missed, exact),
                    minutes="–" if one.minutes is None else minutes_words(one.minutes),
                    change=_change(larger_by(one.missed, before.missed)) if before.missed and one.missed else "",
                )
            )
        found.append((rule_words(standard), cells))
    return found


def _late_rule(city: City) -> str:
    """When an incident of a city without standards is late."""
    rules = list(dict.fromkeys(standard.rule for standard in city.standards))
    return f"Late: not {rules[0]}" if len(rules) == 1 else f"Late, by {len(rules)} different standards"


def _change(fewer: Interval) -> str:
    """Whether less is missed than under closest-first, where that is certain."""
    if abs(fewer.value) < words.NOTICED or fewer.low <= 0.0 <= fewer.high:
        return ""
    return "fewer" if fewer.value > 0.0 else "more"


def interval_words(given: Interval, exact: bool) -> str:
    """The ends of an interval as percentages; nothing where they are the same when printed."""
    if exact and given.half < NARROW:
        return ""
    if not isfinite(given.low) or not isfinite(given.high):
        return "not known"
    low, high = (percent_words(end) for end in (given.low, given.high))
    return f"{low.removesuffix(' %')} to {high.removesuffix(' %')}"


def _kind_rows(report: Report) -> list[tuple[str, list[MissedCell]]]:
    """For each kind, the minutes until the first unit is there."""
    found = []
    for kind in report.city.kinds:
        cells = []
        for result in report.solved:
            one = result.fleets[kind]
            p90 = minutes_words(one.minutes["first_p90"].value) if "first_p90" in one.minutes else "–"
            cells.append(MissedCell(missed="", interval="", minutes=minutes_words(one.first_minutes), p90=p90))
        found.append((kind, cells))
    return found


def _groups(report: Report) -> list[tuple[str, list[Row]]]:
    """The rows of the sensitivity, by what they are about; the city as described is a group of its own."""
    titles = {"": "As described", **TITLES}
    groups = [(title, [row for row in report.rows if row.about == about]) for about, title in titles.items()]
    return [(title, rows) for title, rows in groups if rows]


@dataclass(frozen=True)
class Scale:
    """Where gains stand on a drawing, from 0 to `BAR_WIDTH`."""

    low: float
    high: float

    def at(self, gain: float) -> float:
        """The place of a gain; ends that are not known are cut."""
        part = (min(max(gain, self.low), self.high) - self.low) / (self.high - self.low)
        return round(BAR_WIDTH * part, 1)


def _gain_scale(rows: tuple[Row, ...]) -> Scale:
    """A scale that has room for all gains, and for 0."""
    gains = [row.gain for row in rows]
    ends = [end for gain in gains for end in (gain.low, gain.value, gain.high) if isfinite(end)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    room = 0.05 * (high - low) or 0.01
    return Scale(max(-1.0, low - room), high + room)


def _bar(value: float, most: float) -> float:
    """The width of a bar."""
    return round(BAR_WIDTH * max(0.0, value) / most, 1) if most > 0.0 else 0.0


def _settings(report: Report) -> list[tuple[str, str]]:
    """What the city says, and how the report was made, as pairs of name and words."""
    city, solved = report.city, report.solved
    kinds = {kind: city.of_kind(kind) for kind in solved.last.policies}

    def by_kind(words: Callable[[City], str]) -> str:
        return ", ".join(f"{kind} {words(of)}" if len(kinds) > 1 else words(of) for kind, of in kinds.items())

    recommended = ", ".join(f"{kind}: {policy.name}" for kind, policy in solved.last.policies.items())
    method = f"every state solved; intervals are {solved.sure}"
    if solved.num_incidents is not None:
        method = (
            f"{solved.num_incidents:,} incidents simulated for each policy, the same for all, and about "
            f"{PART * solved.num_incidents:,.0f} where the city is changed; seed {report.seed}; 95 %"
        )
    found = {
        "Areas, road nodes and road links": f"{len({one.node_id for one in city.demand}):,}, {len(city.nodes):,}, "
        f"{len(city.links):,}",
        "Incidents a day": f"{city.incidents_per_day:.4g}{' (mean of the week)' if report.given.has_periods else ''}",
        "Mean time a unit is busy": by_kind(lambda of: f"{of.mean_busy_minutes:.3g} min"),
        "Incidents per unit and busy time (load)": by_kind(lambda of: f"{of.load:.2g}"),
        "Driving times": f"{city.driving.model}, shared delay {city.shared_delay:.3g}",
        "What is made smallest": {"late": "missed standards", "minutes": "mean response"}.get(
            city.objective.minimise, "missed standards and minutes"
        ),
        "Recommended policy": recommended,
        "Method": method,
    }
    if any(one.weight != 1.0 for one in city.standards):
        found["Weights of standards"] = ", ".join(f"{rule_words(one)}: {one.weight:g}" for one in city.standards)
    return list(found.items())
