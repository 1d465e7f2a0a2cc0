"""Why standards are missed, in words of the trade: the same in a report and in a what-if."""

from collections.abc import Mapping
from typing import Final

from runcard.assess.why import WhyMissed
from runcard.city.model import City
from runcard.plan.words import and_list, table_words

NOT_KNOWN: Final = "Too few incidents were simulated to say why."
MEANT: Final = {
    "start": "turnout and start alone take too long; crews that leave sooner would help",
    "distance": "the best units are too far, though every unit is in quarters; stations would help",
    "busy": "the best units are out on other calls; more units would help",
    "choice": "other units went than the best that were free, for later calls or by habit",
}
"""By part: when something is missed by it, and what would change that."""


BECAUSE: Final = {
    "start": "{} by turnout and start alone",
    "distance": "{} because the best units are too far even with every unit in quarters",
    "busy": "{} because these are busy",
    "choice": "{} because others are sent",
}


CALLED: Final = {"busy": "busy units"}


def why_sentence(city: City, why: WhyMissed, *, exact: bool = True) -> str:
    """The parts in a sentence, and how much of what is missed another way of sending units can avoid at most.

    Where they are not exact, but those of simulated incidents, that is about so much.
    """
    parts = why.document()
    reasons = [BECAUSE[name].format(_per_100(part)) for name, part in parts.items() if _per_100(part) != _per_100(0.0)]
    whole = f"Of {_per_100(sum(parts.values()))} {table_words(city).noun} {table_words(city).per}"
    most = f"{'' if exact else 'about '}{_per_100(why.busy + why.choice)}"
    most = f"no other way of sending the same units can avoid more than {most}"
    return f"{whole} there are {and_list(reasons)}: {most}." if reasons else ""


def why_change_words(before: WhyMissed, after: WhyMissed) -> str:
    """By how much each part changes, in a sentence; empty if none does."""
    old = before.document()
    changes = {name: part - old[name] for name, part in after.document().items()}
    words = [
        f"{_per_100(abs(part))} {'more' if part > 0.0 else 'fewer'} by {CALLED.get(name, name)}"
        for name, part in changes.items()
        if _per_100(abs(part)) != _per_100(0.0)
    ]
    return f"Per 100 incidents that is {and_list(words)}." if words else ""


def _per_100(part: float) -> str:
    return f"{100.0 * part:.2f}"


def why_rows(parts: Mapping[str, WhyMissed | None]) -> list[tuple[str, dict[str, float]]]:
    """The name and the parts of every row of the drawing; none where one of them is not known."""
    known = [(name, why.document()) for name, why in parts.items() if why is not None]
    return known if len(known) == len(parts) else []
