"""What no policy can be better than, and how far from it policies are at most, as a table and in words.

What is proven is rounded to the safe side: the bound down, what could be avoided up, and what is gained down.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import isfinite

from runcard.assess.auto import CLOSEST
from runcard.assess.outcome import Outcome
from runcard.mdp.bound import LowerBound
from runcard.outputs.bound import Bounded
from runcard.plan.words import TINY, counted, table_words
from runcard.simulate.tables import late_words
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


def bound_table(found: Bounded) -> Table:
    """The bound, and what each policy reaches."""
    headings = ["policy", table_words(found.city).heading, "response\nmean min"]
    headings.append("avoidable,\nat most, %")
    shares = [found.share(outcome) for outcome in found.beside]
    has_share = any(share is not None for share in shares)
    if has_share:
        headings.append("has of the gain,\nat least, %")
    best = min(outcome.missed.value for outcome in found.beside)
    rows: list[Row] = [["no policy is below", percent_down(found.lower), *([""] * (len(headings) - 2))]]
    for outcome, share in zip(found.beside, shares, strict=True):
        minutes = f"{outcome.first_minutes:.3f}" if isfinite(outcome.first_minutes) else ""
        style = BEST if outcome.missed.value == best else ""
        gained = ["" if share is None else share_words(share.low)] * has_share
        avoidable = tenths(found.gap(outcome, most=True), ROUND_CEILING)
        rows.append([Cell(outcome.name, style), late_words(found.missed(outcome)), minutes, avoidable, *gained])
    return Table(headings, rows)


def bound_lines(found: Bounded, *, units: str) -> list[str]:
    """What the bound means, in sentences for a chief."""
    lower = percent_down(found.lower)
    if lower == "0":
        return [NOTHING_FOUND.format(units=units)]
    lines = [f"No way of sending these {units} can {table_words(found.city).cannot.format(lower)}."]
    others = [outcome for outcome in found.beside if outcome.name != CLOSEST]
    lines += [gap_words(found, outcome) for outcome in others or found.beside]
    return [*lines, ASSUMED.format(units=units)]


def gap_words(found: Bounded, outcome: Outcome) -> str:
    """How far from the best possible a policy is at most, in a sentence."""
    value, share = significant(100.0 * outcome.missed.value), found.share(outcome)
    reaches = table_words(found.city).reaches.format(value)
    avoidable = tenths(found.gap(outcome, most=True), ROUND_CEILING)
    words = f"{outcome.name} {reaches}: at most {avoidable} % of these can be avoided by any other way"
    if share is not None and share.low > 0.0:
        gained = tenths(share.low, ROUND_FLOOR)
        words += f", and it has at least {gained} % of all that can be gained over {CLOSEST}"
    if share is not None and share.high < 0.0:
        words += f"; {CLOSEST} is better here"
    return words + "."


def share_words(low: float) -> str:
    """The part of the gain that a policy has at least, in percent; below 0 it says nothing."""
    low = round(low, 9) + 0.0
    return tenths(low, ROUND_FLOOR) if low >= 0.0 else NO_GAIN


def work_words(kind: str, found: LowerBound) -> str:
    """What was done for a bound: "10 neighbourhoods of 9 trucks, 300 steps, 93 s"."""
    return (
        f"{counted(found.num_neighbourhoods, 'neighbourhood')} of {counted(found.neighbourhood, kind)}, "
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
