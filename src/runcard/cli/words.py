"""What was proven, and of what, in words."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from runcard.city.model import Objective
from runcard.outputs.words import TINY


def outward(lower: float, upper: float, decimals: int, *, times: int = 100) -> str:
    """An interval in percent that is sure to hold the given one: its ends are rounded down and up.

    Where all of it is tiny, its ends have four digits in scientific notation. With `times` 1 it is not in percent.
    """
    if 0.0 < times * upper < TINY:
        ends = ((lower, ROUND_FLOOR), (upper, ROUND_CEILING))
        low, high = (Context(prec=4, rounding=way).multiply(Decimal(end), times) for end, way in ends)
        return f"{low:.3e} to {high:.3e}" if low else f"0 to {high:.3e}"
    unit = Decimal(1).scaleb(-decimals)
    low = (Decimal(lower) * times).quantize(unit, ROUND_FLOOR)
    high = (Decimal(upper) * times).quantize(unit, ROUND_CEILING)
    return f"{low:f}-{high:f}"


def objective_words(objective: Objective) -> str:
    """What an objective makes smallest, such as "late fraction + 0.05 × mean response minutes"."""
    alone = {"late": "late fraction", "minutes": "mean response minutes"}
    both = f"late fraction + {objective.weight or 0.0:g} × mean response minutes"
    return alone.get(objective.minimise, both)


def proven_words(objective: Objective, lower: float, upper: float) -> str:
    """Where the mean cost of an incident is proven to lie, in words."""
    of_late = objective.minimise == "late"
    ends = outward(lower, upper, 6, times=100 if of_late else 1) + (" %" if of_late else "")
    return f"{objective_words(objective)} proven to lie in {ends}"
