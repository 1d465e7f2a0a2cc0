"""What no policy can be better than, and how far from it policies are at most, for the terminal.

What is proven is rounded to the safe side: the bound down, what could be avoided up, and what is gained down.
"""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import isfinite

from runcard.assess.auto import CLOSEST
from runcard.assess.policy_choice import PolicyChoice, is_small, policy_note
from runcard.city.model import LATE, City
from runcard.cli.show_comparison import print_files
from runcard.cli.show_simulation import late_words
from runcard.cli.terminal import make_console
from runcard.outputs.bound import BoundedPolicy, CityBound, KindBound
from runcard.plan.words import TINY, city_line, counted, incidents_a_day, objective_words
from runcard.table import BEST, Cell, Row, Table

DIGITS = 3
"""Of a bound."""
NOTHING_FOUND = (
    "Nothing is known yet of what these {units} could do at best: the bound is 0. More --steps, or a larger "
    "--neighbourhood, may raise it."
)
ESTIMATED = (
    "This is estimated, not proven: the chances of being late come from a lattice, and how far they may be off, which "
    "the bound counts, is an estimate."
)
BY_CHANCE = "A simulated value below the bound is below it by chance; more --incidents bring it nearer to the truth."
NO_GAIN = "may be none"
"""Of the gain: it may be none, or less."""
ASSUMED = (
    "That is for ways that send as many {units} as an incident asks for, or all that are idle if they are fewer; one "
    "that may send fewer can be below."
)
EXACTLY = "The best possible itself can be computed for these {units}: runcard compare with the policy optimal."


def print_bound(city: City, found: CityBound, choices: Sequence[PolicyChoice]) -> None:
    """Print the bound of a city beside its policies, in a table and in a sentence, and then each kind of units."""
    console, of_standards = make_console(), not city.plain
    console.print(city_line(city), style="bold")
    print_files(choices)
    console.print(bound_table(found, of_standards=of_standards))
    units = f"{found.kinds[0].kind}s" if len(found.kinds) == 1 else "units"
    for line in bound_lines(found, units=units, of_standards=of_standards):
        console.print(line)
    if not found.proven:
        console.print(ESTIMATED)
    console.print()
    for one in found.kinds if len(found.kinds) > 1 else ():
        units = counted(one.city.num_trucks, one.kind)
        rate = incidents_a_day(one.city.incidents_per_day)
        console.print(f"{units}, {rate} that need them, load {one.city.load:.2g}", style="bold")
        console.print(bound_table(one, of_standards=of_standards))
    for one in found.kinds:
        console.print(f"{one.kind}: {work_words(one)}." if len(found.kinds) > 1 else f"Bound: {work_words(one)}.")
    console.print(
        f"Simulated: {counted(found.incidents, 'incident')} for each policy, seed {found.seed}; ± is half of a 95 % "
        "interval, and what could be avoided counts from its upper end."
    )
    shown: list[CityBound | KindBound] = [found, *found.kinds]
    if any(one.missed.value < part.lower for part in shown for one in part.policies):
        console.print(BY_CHANCE)
    for kind in found.kinds:
        if is_small(kind.city):
            console.print(EXACTLY.format(units=f"{kind.kind}s"))
        for choice in choices:
            if note := policy_note(kind.city, choice.name_for(kind.kind)):
                console.print(f"{kind.kind}: {note}" if len(found.kinds) > 1 else note)
    if city.objective != LATE:
        what = "missed standards" if of_standards else "the late fraction"
        console.print(f"Policies minimise {objective_words(city.objective)}; the bound is on {what} all the same.")
    if city.has_periods:
        console.print("Rates are the means of the week, not those of its periods.")


def bound_table(found: CityBound | KindBound, *, of_standards: bool) -> Table:
    """The bound, and what each policy reaches."""
    headings = ["policy", "missed\nper 100" if of_standards else "late\n%", "response\nmean min"]
    headings.append("avoidable,\nat most, %")
    has_share = any(one.share is not None for one in found.policies)
    if has_share:
        headings.append("has of the gain,\nat least, %")
    best = min(one.missed.value for one in found.policies)
    rows: list[Row] = [["no policy is below", percent_down(found.lower), *([""] * (len(headings) - 2))]]
    for one in found.policies:
        minutes = f"{one.mean_minutes:.3f}" if isfinite(one.mean_minutes) else ""
        style = BEST if one.missed.value == best else ""
        shares = ["" if one.share is None else share_words(one.share.low)] * has_share
        avoidable = tenths(one.gap_high, ROUND_CEILING)
        rows.append([Cell(one.name, style), late_words(one.missed), minutes, avoidable, *shares])
    return Table(headings, rows)


def bound_lines(found: CityBound | KindBound, *, units: str, of_standards: bool) -> list[str]:
    """What the bound means, in sentences for a chief."""
    lower = percent_down(found.lower)
    if lower == "0":
        return [NOTHING_FOUND.format(units=units)]
    if of_standards:
        lines = [f"No way of sending these {units} can miss fewer than {lower} standards per 100 incidents (weighted)."]
    else:
        lines = [f"No way of sending these {units} can be late at fewer than {lower} % of incidents."]
    others = [one for one in found.policies if one.name != CLOSEST]
    for one in others or found.policies:
        lines.append(gap_words(one, of_standards=of_standards))
    return [*lines, ASSUMED.format(units=units)]


def gap_words(one: BoundedPolicy, *, of_standards: bool) -> str:
    """How far from the best possible a policy is at most, in a sentence."""
    value = significant(100.0 * one.missed.value)
    reaches = f"misses {value} standards per 100 incidents" if of_standards else f"is late at {value} %"
    avoidable = tenths(one.gap_high, ROUND_CEILING)
    words = f"{one.name} {reaches}: at most {avoidable} % of these can be avoided by any other way"
    if one.share is not None and one.share.low > 0.0:
        gained = tenths(one.share.low, ROUND_FLOOR)
        words += f", and it has at least {gained} % of all that can be gained over {CLOSEST}"
    if one.share is not None and one.share.high < 0.0:
        words += f"; {CLOSEST} is better here"
    return words + "."


def share_words(low: float) -> str:
    """The part of the gain that a policy has at least, in percent; below 0 it says nothing."""
    low = round(low, 9) + 0.0
    return tenths(low, ROUND_FLOOR) if low >= 0.0 else NO_GAIN


def work_words(one: KindBound) -> str:
    """What was done for a bound: "10 neighbourhoods of 9 trucks, 300 steps, 93 s"."""
    found = one.found
    return (
        f"{counted(found.num_neighbourhoods, 'neighbourhood')} of {counted(found.neighbourhood, one.kind)}, "
        f"{counted(found.steps, 'step')}, {found.seconds:.1f} s"
    )


def percent_down(fraction: float) -> str:
    """A bound in percent, rounded down."""
    return significant(100.0 * fraction, ROUND_FLOOR)


def significant(number: float, rounding: str | None = None) -> str:
    """A number with three digits, in scientific notation if it is tiny."""
    if number <= 0.0:
        return "0"
    found = Context(prec=DIGITS, rounding=rounding).create_decimal_from_float(number)
    return f"{found:f}" if number >= TINY else f"{found:.{DIGITS - 1}e}"


def tenths(fraction: float, rounding: str) -> str:
    """A part in percent with one decimal, rounded to one side; "?" where it is not known."""
    if not isfinite(fraction):
        return "?"
    return f"{(100 * Decimal(fraction)).quantize(Decimal('0.1'), rounding) + 0:f}"
