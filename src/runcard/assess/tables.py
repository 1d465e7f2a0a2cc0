"""Assessments as tables, the same on a terminal and in a notebook; the best of each column stands out."""

from collections.abc import Mapping, Sequence

from runcard.assess.assessment import Assessment
from runcard.assess.outcome import FleetOutcome
from runcard.assess.why import PARTS, WhyMissed
from runcard.city.model import LATE, City
from runcard.city.parts import FIRST, LAST, MIDDLE
from runcard.plan.words import (
    ORDINALS,
    TINY,
    arrival_words,
    decimals_for,
    in_decimals,
    objective_words,
    outward,
    table_words,
)
from runcard.table import BEST, Cell, Row, Table, visible

EVERY_POLICY = "No policy that sends as many trucks as incidents ask for, or all that are idle,"
ROUNDING = 1e-9
"""Late fractions that differ by less are the same."""


def policy_table(found: Assessment, *, response: bool, above_best: bool = False, objective: bool = False) -> Table:
    """The plans side by side, with what is missed in all; the best of each column that has one stands out.

    With the mean response, how far above the best they are at most, and what they minimise, if wanted.
    """
    city, sure = found.city, found.sure
    missed, minutes = [of.missed.value for of in found], [of.first_minutes for of in found]
    decimals = decimals_for(100.0 * part for part in missed)
    per_day = decimals_for(city.incidents_per_day * part for part in missed)
    words = table_words(city)
    what = words.called
    headings = ["policy", words.heading, f"{sure}\ninterval{words.unit}", f"{what}\nper day"]
    some_more = max(missed) > missed[0] * (1.0 + ROUNDING)
    fewer = f"fewer {what}\n(-: more), %" if some_more else f"fewer\n{what}, %"
    headings += ["response\nmean min", fewer] if response else [fewer]
    headings += [*(["above best\nat most, %"] if above_best else []), "time\ns"]
    named = objective and city.objective != LATE
    if named:
        weight = city.objective.weight
        headings.append(f"{'minutes' if weight is None else f'late + {weight:g} min'},\n{sure}")
    rows: list[Row] = []
    for of, part, mean in zip(found, missed, minutes, strict=True):
        gap = found.gap_to_optimum(of)
        cells: list[str | Cell] = [
            policy_cell(of.name, converged=not of.failed),
            Cell(in_decimals(100.0 * part, decimals), BEST if part == min(missed) else ""),
            outward(of.missed.low, of.missed.high, decimals + 1),
            in_decimals(city.incidents_per_day * part, per_day),
        ]
        cells += [Cell(f"{mean:.3f}", BEST if mean == min(minutes) else "")] if response else []
        cells.append("" if of is found.first else fewer_words(found.improvement(of)))
        cells += [("" if gap is None else f"{100.0 * gap:.2f}")] if above_best else []
        cells.append(f"{of.seconds:.3f}")
        cells += [outward(of.cost.low, of.cost.high, 5, times=1)] if named else []
        rows.append(cells)
    return Table(headings, rows)


def standard_table(found: Assessment) -> Table:
    """How often each standard is missed by each plan; the best of each row stands out."""
    city = found.city
    per_day = {
        standard.type: sum(point.incidents_per_day for point in city.demand if point.type == standard.type)
        for standard in city.standards
    }
    rows: list[Row] = []
    for of_standard in zip(*(outcome.standards for outcome in found), strict=True):
        standard, has_minutes = of_standard[0].standard, of_standard[0].minutes is not None
        known = [of.missed.value for of in of_standard if of.missed is not None]
        decimals = decimals_for(100.0 * part for part in known)
        cells: list[str | Cell] = []
        for of in of_standard:
            if of.missed is None:
                cells.append("no incidents")
                continue
            part, style = of.missed.value, BEST if of.missed.value == min(known) else ""
            below = [outward(of.missed.low, of.missed.high, decimals + 1)]
            below += [] if of.minutes is None else [f"{of.minutes:.2f} min"]
            cells.append(Cell(in_decimals(100.0 * part, decimals), style, below=below))
        weight = f", weight {standard.weight:g}" if standard.weight != 1.0 else ""
        below = [f"{standard.rule}{weight}", *([f"{arrival_words(standard)} there, mean"] if has_minutes else [])]
        name = Cell(f"{standard.type}: {standard.kind}", below=below)
        rows.append([name, in_decimals(per_day[standard.type], 2), *cells])
    return Table(["standard", "incidents\nper day", *(visible(name) for name in found.names)], rows)


def period_table(found: Assessment) -> Table:
    """What each plan misses in each period; the best of each column stands out."""
    columns = [[of.missed.value for of in found.in_period(period)] for period in found.first.periods]
    decimals = decimals_for(100.0 * part for column in columns for part in column)
    rows: list[Row] = []
    for number, name in enumerate(found.names):
        cells = (
            Cell(in_decimals(100.0 * column[number], decimals), BEST if column[number] == min(column) else "")
            for column in columns
        )
        rows.append([name, *cells])
    return Table(["policy", *found.first.periods], rows)


def why_table(city: City, parts: Mapping[str, WhyMissed | None], *, heading: str = "policy") -> Table:
    """Why standards are missed, or incidents late, in parts that add up: a row for each that is known, by its name."""
    known = {name: why.document() for name, why in parts.items() if why is not None}
    decimals = decimals_for(100.0 * sum(why.values()) for why in known.values())
    rows: list[Row] = []
    for name, why in known.items():
        least = 0.5 * 10.0**-decimals if 100.0 * sum(why.values()) >= TINY else 0.0  # beside the others it is nothing
        rows.append(
            [name, *(in_decimals(x if (x := 100.0 * part) >= least else 0.0, decimals) for part in why.values())]
        )
    what = "Why late, in % of incidents" if city.plain else "Why missed, per 100 incidents"
    notes = [
        "Start: turnout and start alone take too long. Distance: the best units are too far, all of them at home.",
        "Busy: the best units are away. Choice: other units went than the best that were free.",
    ]
    return Table([heading, *PARTS], rows, title=f"{what}:", notes=notes)


def fewer_words(part: float) -> str:
    """The part of late incidents avoided, in percent; one that is negative can have any size."""
    share = round(100.0 * part, 2) + 0.0  # no -0.00
    return f"{share:.2f}" if share > -100.0 else f"{share:.1f}" if share > -1e5 else f"{share:.1e}"


def policy_cell(name: str, *, converged: bool) -> Cell:
    """The name of a policy in a table, with a warning if it did not converge."""
    return Cell(name, warning="" if converged else "not converged")


def arrivals_of(fleets: Sequence[FleetOutcome]) -> dict[str, str]:
    """The arrivals whose minutes are known, each with its word: the first, those that standards name, and the last."""
    between = sorted(name for name in fleets[0].evaluation.p90_minutes if name.startswith(MIDDLE))
    return {FIRST: FIRST} | {name: ORDINALS[int(name.removeprefix(MIDDLE)) - 1] for name in between} | {LAST: LAST}


def arrival_table(fleets: Sequence[FleetOutcome], names: Sequence[str], heading: str = "policy") -> Table:
    """The mean and the 90th percentile of the first arrival, of those between that standards name, and of the last; the
    best of each column stands out."""
    arrivals = arrivals_of(fleets)
    numbers = [[of.minutes[f"{name}_{which}"].value for name in arrivals for which in ("mean", "p90")] for of in fleets]
    best = [min(column) for column in zip(*numbers, strict=True)]
    rows: list[Row] = []
    for name, minutes in zip(names, numbers, strict=True):
        cells = zip(minutes, best, strict=True)
        rows.append([name, *(Cell(f"{mean:.2f}", BEST if mean == least else "") for mean, least in cells)])
    return Table([heading, *(f"{word}\n{of}" for word in arrivals.values() for of in ("mean", "90 %"))], rows)


def optimum_lines(found: Assessment) -> list[str]:
    """What the lower bound of the optimal policy proves, and how much each policy is above the best at most."""
    objective, of_standards = found.city.objective, not found.city.plain
    limit = f"{EVERY_POLICY} can be late less often than the lower end of optimal's interval."
    if of_standards:
        limit = f"{EVERY_POLICY} can miss fewer standards than the lower end of optimal's interval."
    if objective != LATE:
        limit = (
            f"{EVERY_POLICY} can bring {objective_words(objective)} below the lower end of optimal's interval of it."
        )
    gaps = [(outcome, found.gap_to_optimum(outcome)) for outcome in found if not outcome.optimum]
    words = [f"{outcome.name} {100.0 * gap:.2f} %" for outcome, gap in gaps if gap is not None]
    what = "Late more often than" if objective == LATE and not of_standards else "Above"
    return [limit, f"{what} the best possible, at most: {', '.join(words)}." if words else ""]


def rule_table(found: Assessment) -> Table:
    """The late fraction of each policy for the incidents of each rule."""
    fleets = found.fleets
    decimals = decimals_for(100.0 * late for fleet in fleets for late in fleet.late_by_rule.values())
    rows: list[Row] = [
        [
            policy_cell(outcome.name, converged=not outcome.failed),
            *(in_decimals(100.0 * late, decimals) for late in fleet.late_by_rule.values()),
        ]
        for outcome, fleet in zip(found, fleets, strict=True)
    ]
    return Table(["policy", *(rule.replace(" in ", "\nin ") for rule in fleets[0].late_by_rule)], rows)


def station_table(found: Assessment) -> Table:
    """The share of all trucks sent that comes from each station, and how busy its trucks are, for every policy."""
    evaluations = [fleet.evaluation for fleet in found.fleets]
    rows = [
        [
            station.station_id,
            str(station.trucks),
            *(f"{100.0 * of.dispatch_share[i]:6.2f}  {100.0 * of.busy_fractions[i]:6.2f}" for of in evaluations),
        ]
        for i, station in enumerate(found.city.stations)
    ]
    rows.append(["outside", "", *(f"{100.0 * of.outside_share:6.2f}  {'':6}" for of in evaluations)])
    headings = ["station", "trucks", *(f"{visible(name)}\nsent %  busy %" for name in found.names)]
    return Table(headings, rows, has_foot=True)
