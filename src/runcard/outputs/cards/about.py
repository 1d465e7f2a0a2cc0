"""What a person who reads run cards must know, in the words of the trade: the same on every format."""

from runcard.outputs.cards.book import CardBook
from runcard.outputs.cards.depth import DepthTable
from runcard.outputs.fit_file import care_line
from runcard.plan.words import counted

MARK = "◆"
"""Beside what departs from closest-first."""

RULE = (
    "Go down the lines of the card. The first line that fits goes: each of its units is free, or its house has another "
    "free unit of the same kind, not on that line, which stands in for it.",
    "If no line fits, send the first free units in the fallback order, and call outside help for those still missing.",
)


def title_of(book: CardBook) -> str:
    """What the cards are of."""
    return f"Run cards of {book.city.name}" if book.city is not None else "Run cards"


def about_lines(book: CardBook) -> list[str]:
    """What the cards are, how they are read, and what they leave out."""
    departing = f"{book.num_departing:,} of {counted(len(book.cards), 'card')}"
    return [
        f"These cards were made from the policy {book.policy}. Each card is for one area, one type of incident and one "
        "kind of unit.",
        *RULE,
        "Line 1 is for every unit free. Each further line is for the likeliest moment at which no line above it fits; "
        "'when busy' names the units that are out then; in print they stand in brackets behind the line.",
        f"{MARK} marks a line that is not what closest-first sends. On {departing} line 1 departs from it: by the "
        "policy, keeping a unit back for the next call is worth more there than the minutes it would save now.",
        f"The gain of a line is in {book.counted} per 1,000 incidents, counted over this and the following incidents, "
        f"with the units out that the line is made for{_estimated(book)}; in print, that of line 1 where it departs.",
        "The district is that of the station closest to the area. Chances and minutes are those of the model, not a "
        "promise for one incident.",
        *filter(None, [care_line(book.fit_faults)]),
    ]


def _estimated(book: CardBook) -> str:
    """That the gain is an estimate, unless every kind has the optimal policy."""
    fleets = [fleet for by_kind in book.fleets.values() for fleet in by_kind.values()]
    if all(fleet.policy.name == "optimal" for fleet in fleets):
        return ""
    return ", as the policy estimates it (what it gains in all is to be measured: --measure)"


def depth_headings(table: DepthTable) -> list[str]:
    """The headings of the table of what depth is worth."""
    how = "exact" if table.exact else f"simulated, {table.incidents:,} incidents, 95 % intervals"
    return [f"{table.kind} ({how})", "missed standards per 100", "mean response, min", "gain kept, %"]


def depth_cells(table: DepthTable) -> list[list[str]]:
    """The rows of that table, in words."""
    found = []
    for row in table.rows:
        half = "" if table.exact else f" ± {100.0 * row.missed.half:.2f}"
        unknown = "no gain" if table.exact else "not clear"
        kept = unknown if row.kept is None else f"{100.0 * row.kept.value:.0f}"
        if row.kept is not None and row.kept.half > 0.0:
            kept += f" ± {100.0 * row.kept.half:.0f}"
        minutes = "" if row.minutes is None else f"{row.minutes:.2f}"
        found.append([row.name, f"{100.0 * row.missed.value:.3f}{half}", minutes, kept])
    return found
