"""Where one more unit should stand, for the terminal: the best places side by side."""

from runcard.cli.show_whatif import MOST_FAULTS, print_faults
from runcard.cli.terminal import make_console, print_care
from runcard.outputs.whatif.one_more_words import one_more_headline, place_table, proof_words, see_more
from runcard.outputs.whatif.places import OneMore
from runcard.plan.words import city_line


def print_one_more(found: OneMore) -> None:
    """Print where one more unit should stand."""
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
