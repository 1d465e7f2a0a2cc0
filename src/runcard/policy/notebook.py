"""Decisions in a notebook: the team that goes in bold, and below it what else could go."""

from runcard.policy.base import Decision, Option
from runcard.table import Table

PRICE = "Price: what taking these units now is expected to cost later. Sum: now and later together."


def decision_html(decision: Decision) -> str:
    """A decision that names stations, as HTML."""
    options: tuple[Option, ...] = (decision, *decision.alternatives)
    of_late = decision.cost is None
    headings = ["team", "late now, %", *([] if of_late else ["mean response, min"]), *price_headings(of_late)]
    rows = [
        [
            ", ".join(one.team),
            f"{100.0 * one.p_late:.3f}",
            *([] if of_late else ["" if one.minutes is None else f"{one.minutes:.2f}"]),
            *price_cells(one, of_late),
        ]
        for one in options
    ]
    note = f"{PRICE} Where there are standards, late counts the missed ones, each with its weight."
    return f"<div>{Table(headings, rows, notes=[note], strong=[0]).html()}</div>"


def price_headings(of_late: bool) -> list[str]:
    """The headings of price and sum."""
    return ["price, %", "sum, %"] if of_late else ["price", "sum"]


def price_cells(option: Option, of_late: bool) -> list[str]:
    """Price and sum, in percent if they are late incidents."""
    times = 100.0 if of_late else 1.0
    return [f"{times * number:.3f}" for number in (option.price, option.total)]
