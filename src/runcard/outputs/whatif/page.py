"""The page of a what-if: one HTML file that needs no network. Short words first, then tables, the map, and details."""

from typing import Final

from runcard.assess.area_changes import AreaChange
from runcard.assess.work_changes import WorkChange
from runcard.outputs import fit_file
from runcard.outputs.whatif import words
from runcard.outputs.whatif.layers import map_data
from runcard.outputs.whatif.result import Effect
from runcard.outputs.why import MEANT, why_rows
from runcard.page import page_of
from runcard.plan.words import table_words

MOST_AREAS: Final = 10
"""That gain, and that lose, in a table."""
LEAST_CHANGE: Final = {True: 5e-4, False: 2e-3}
"""Changes of missed standards per incident that are worth a row: 0.05 per 100, or 0.2 if they are simulated."""


def whatif_page(effect: Effect) -> str:
    """The text of the page."""
    losers, gainers = losing_and_gaining(effect)
    return page_of(
        "whatif.html",
        map_data=map_data(effect),
        effect=effect,
        words=words,
        fit_file=fit_file,
        missed=table_words(effect.before),
        why=why_rows(words.why_parts(effect)),
        meant=MEANT,
        tables={"losers": losers, "gainers": gainers},
        units=changed_units(effect),
    )


def losing_and_gaining(effect: Effect, most: int = MOST_AREAS) -> tuple[list[AreaChange], list[AreaChange]]:
    """The areas that lose the most in a year, and those that gain the most, where that is clear and not small."""
    least = LEAST_CHANGE[effect.exact]
    ranked = [area for area in effect.ranked_areas() if abs(area.more_missed.value) >= least and area.is_clear]
    losers = [area for area in ranked if area.more_missed.value > 0.0]
    gainers = [area for area in reversed(ranked) if area.more_missed.value < 0.0]
    return losers[:most], gainers[:most]


def changed_units(effect: Effect, most: int | None = None) -> list[WorkChange]:
    """The units of the kinds that change: those that come, go or move, then by how much their work changes."""

    def size(unit: WorkChange) -> float:
        if unit.busy_before is None or unit.busy_after is None or unit.station_before != unit.station_after:
            return 2.0
        return abs(unit.busy_after - unit.busy_before)

    found = sorted((unit for unit in effect.units if unit.kind in effect.changed_kinds), key=lambda one: -size(one))
    return found[:most]
