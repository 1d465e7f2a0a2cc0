"""What changes of a department change, for the terminal, and where one more unit should stand."""

from collections.abc import Sequence

from rich.console import Console

from runcard.assess.tables import why_table
from runcard.cli.terminal import make_console, print_care
from runcard.outputs.fit_file import AGREEMENT, FAULTS
from runcard.outputs.whatif.one_more_words import one_more_headline, place_table, proof_words, see_more
from runcard.outputs.whatif.page import losing_and_gaining
from runcard.outputs.whatif.places import OneMore
from runcard.outputs.whatif.result import Effect
from runcard.outputs.whatif.tables import area_table, standard_change_table, unit_table
from runcard.outputs.whatif.words import (
    a_year,
    area_words,
    arrival_lines,
    headline,
    method,
    policy_words,
    why_parts,
    why_words,
)
from runcard.plan.words import city_line

MOST_ROWS = 5
"""Areas that gain, areas that lose, and twice as many units."""
MOST_FAULTS = 3
"""Of a fit that are said before the numbers."""


def print_effect(effect: Effect) -> None:
    """Print what changes."""
    console = make_console()
    console.print(city_line(effect.before), style="bold")
    for line in effect.changes:
        console.print(f"- {line}", soft_wrap=True)
    console.print()
    print_care(effect.fit_faults, MOST_FAULTS)
    console.print(headline(effect), style="bold", soft_wrap=True)
    for line in arrival_lines(effect):
        console.print(line, soft_wrap=True)
    console.print(f"Closest-first: {headline(effect, 1)}", soft_wrap=True)
    console.print(" ".join([policy_words(effect), method(effect), *effect.notes]), soft_wrap=True)
    console.print()
    console.print("Missed, % of the incidents of each type, and mean minutes until the unit is there:", style="bold")
    console.print(standard_change_table(effect))
    if effect.policies[0].why_missed is not None:
        console.print(why_table(effect.before, why_parts(effect), heading=""))
    if why_words(effect):
        console.print(why_words(effect), soft_wrap=True)
    console.print()
    losers, gainers = losing_and_gaining(effect, MOST_ROWS)
    for title, areas in (("Areas that lose", losers), ("Areas that gain", gainers)):
        if areas:
            console.print(f"{title}, per 100 incidents, and the change {a_year(effect.period)}:", style="bold")
            console.print(area_table(effect, areas))
    if not effect.exact:
        console.print(area_words(effect), soft_wrap=True)
        console.print()
    console.print("How much of the time units are busy, %, the most changed first:", style="bold")
    console.print(unit_table(effect, 2 * MOST_ROWS))
    print_faults(console, effect.fit_faults)


def print_faults(console: Console, faults: Sequence[str]) -> None:
    """Print in which ways the city is badly fitted, if it is in more than were said before."""
    if len(faults) > MOST_FAULTS:
        console.print()
        console.print(AGREEMENT, style="bold")
        for line in (FAULTS, *(f"- {fault}" for fault in faults)):
            console.print(line, soft_wrap=True)


def print_one_more(found: OneMore) -> None:
    """Print where one more unit should stand: the best places side by side."""
    console = make_console()
    console.print(city_line(found.city_of_period), style="bold")
    console.print()
    print_care(found.fit_faults, MOST_FAULTS)
    console.print(one_more_headline(found), style="bold", soft_wrap=True)
    console.print(proof_words(found), soft_wrap=True)
    console.print()
    console.print(place_table(found))
    console.print(see_more(found), soft_wrap=True)
    print_faults(console, found.fit_faults)
