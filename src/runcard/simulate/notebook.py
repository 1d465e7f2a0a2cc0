"""Simulations in a notebook: what each policy misses beside its mean response, both with 95 % intervals."""

from math import isfinite, isnan

from runcard.interval import Interval
from runcard.simulate.result import Simulation
from runcard.table import Table, html_note

INTERVAL = "95 % interval"


def simulation_html(found: Simulation) -> str:
    """A simulation as HTML: all kinds together, and every standard by itself."""
    headings = ["policy", "missed standards per 100 incidents" if found.order else "late, %", INTERVAL]
    for kind in found.kinds:
        headings += [f"mean response, {kind}, min" if found.order else "mean response, min", INTERVAL]
    headings += ["fewer than first, %", INTERVAL]
    rows = []
    for number, name in enumerate(found.names):
        of_kinds = [kind.policies[number] for kind in found.kinds.values()]
        response = [cell for result in of_kinds for cell in cells(result.minutes("first_mean"), 2)]
        gain = cells(found.improvement(number), 1, 100.0) if number else ["", ""]
        rows.append([name, *cells(found.missed(number), 3, 100.0), *response, *gain])
    standards = _standards(found) if found.order else ""
    title = f"{found.scenario.name}: {found.scenario.title}"
    return f"<div>{Table(headings, rows, title=title).html()}{standards}{_note(found)}</div>"


def _standards(found: Simulation) -> str:
    """How often each standard is missed by each policy."""
    by_policy = [found.standards(number) for number in range(len(found.names))]
    headings = ["missed, % of the incidents of the type"]
    for name in found.names:
        headings += [name, INTERVAL]
    rows = []
    for of_standard in zip(*by_policy, strict=True):
        standard = of_standard[0][0]
        numbers = [cell for _, missed in of_standard for cell in cells(missed, 3, 100.0)]
        rows.append([f"{standard.type}, {standard.kind}: {standard.rule}", *numbers])
    return Table(headings, rows).html()


def cells(given: Interval, decimals: int, times: float = 1.0) -> list[str]:
    """A mean and its interval, or that there is none."""
    if isnan(given.value):
        return ["no incidents", ""]
    ends = (f"{times * end:.{decimals}f}" if isfinite(end) else "?" for end in (given.low, given.high))
    return [f"{times * given.value:.{decimals}f}", " to ".join(ends)]


def _note(found: Simulation) -> str:
    """What was simulated, in words."""
    precise = "" if found.precise else " Not as precise as was asked for."
    same = f"{found.num_incidents:,} incidents, the same for every policy; seed {found.seed}."
    return html_note(f"{same}{precise} Response: until the first unit is there.")
